"""The recorder: its queue, its writer, what it promises about both (facts R of the record rules)."""

import asyncio
import logging
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from engine import RecorderClosed, RecordingFailed
from engine.records import (
    AskedQuestion,
    BatchSink,
    Confirmed,
    DecisionRecorder,
    MemorySink,
    NoulAnswer,
    Outcome,
    Record,
    Signal,
)

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
SECRET = "canary-7431"


def record(number: int = 0, key: str | None = None) -> Record:
    return Record(
        decision_id=f"d{number}",
        erasure_key=key,
        started=NOON,
        latency_ms=1,
        provider="typesafe",
        endpoint="https://decisions.example/",
        default_model="m",
        questions={"q": AskedQuestion("noul", "Is it?")},
        state=SECRET,
        answers=(NoulAnswer("q", 0.9, 0.8),),
    )


def confirmed(number: int = 0) -> Outcome:
    return Confirmed(f"d{number}", "reviewer", NOON, {"q": True})


class Desk:
    """A sink that notes every call, and waits before each while its door is shut."""

    def __init__(self, failing: Sequence[str] = ()) -> None:
        self.calls: list[str] = []
        self.open = asyncio.Event()
        self.open.set()
        self.failing, self.inside, self.most = set(failing), 0, 0
        self.mood: Callable[[], set[str]] = lambda: self.failing

    async def _call(self, name: str, what: str) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
            await asyncio.sleep(0)
            if name in self.mood():
                raise OSError(f"{SECRET} cannot be kept")
            self.calls.append(f"{name} {what}")
        finally:
            self.inside -= 1

    async def write(self, record: Record) -> None:
        await self._call("write", record.decision_id)

    async def outcome(self, outcome: Outcome) -> None:
        await self._call("outcome", outcome.decision_id)

    async def erase_key(self, key: str) -> None:
        await self._call("erase", key)

    async def erase_decision(self, decision_id: str) -> None:
        await self._call("erase-decision", decision_id)


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def stalled(desk: Desk, recorder: DecisionRecorder) -> None:
    """The writer in a call that does not return, the queue empty."""
    desk.open.clear()
    recorder.record(record(100))
    await settled()


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str, str]]:
    return [(vars(entry)["event"], entry.levelname, entry.getMessage()) for entry in caplog.records]


async def test_recorders_share_nothing_and_one_recorder_never_calls_its_sink_twice_at_once():  # R07
    desk = Desk()
    async with DecisionRecorder(desk) as recorder:
        for number in range(50):
            recorder.record(record(number))
            await asyncio.sleep(0)
        await recorder.flush()
    assert desk.most == 1
    assert desk.calls == [f"write d{number}" for number in range(50)]


async def test_a_full_queue_drops_records_and_says_how_many(caplog: pytest.LogCaptureFixture):  # R21
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=2)
    await stalled(desk, recorder)
    for number in range(3):
        recorder.record(record(number))
    assert said(caplog) == [(1009, "WARNING", "The record queue was full: 1 dropped.")]
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100", "write d0", "write d1"]
    assert recorder.counters.written == 3
    assert recorder.counters.dropped == 1


async def test_drops_are_logged_once_a_second_with_their_sum(caplog: pytest.LogCaptureFixture):
    class Clock:
        seconds = 0.0

        def now(self) -> datetime:
            return NOON + timedelta(seconds=self.seconds)

        def monotonic(self) -> float:
            return self.seconds

        async def sleep(self, seconds: float) -> None:
            raise AssertionError

    clock, desk = Clock(), Desk()
    recorder = DecisionRecorder(desk, capacity=1, clock=clock)
    await stalled(desk, recorder)
    for number in range(11):
        recorder.record(record(number))
    clock.seconds = 1.5
    recorder.record(record(11))
    recorder.record(record(12))
    desk.open.set()
    await recorder.close()
    assert [text for _, _, text in said(caplog)] == [
        "The record queue was full: 1 dropped.",
        "The record queue was full: 10 dropped.",
        "The record queue was full: 1 dropped.",
    ]
    assert recorder.counters.dropped == 12


async def test_an_outcome_waits_for_space_and_is_not_lost():  # R22
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=1)
    await stalled(desk, recorder)
    recorder.record(record(1))
    adding = asyncio.create_task(recorder.add_outcome(confirmed()))
    await settled()
    assert not adding.done()
    desk.open.set()
    await adding
    await recorder.close()
    assert desk.calls == ["write d100", "write d1", "outcome d0"]


async def test_an_erasure_cancelled_before_there_was_space_is_never_run():  # R23
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=1)
    await stalled(desk, recorder)
    recorder.record(record(1))
    erasing = asyncio.create_task(recorder.erase("customer"))
    await settled()
    erasing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await erasing
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100", "write d1"]
    assert recorder.counters.erasures_written == recorder.counters.erasures_failed == 0


async def test_an_erasure_cancelled_after_it_was_queued_is_run_all_the_same():
    desk = Desk()
    recorder = DecisionRecorder(desk)
    await stalled(desk, recorder)
    erasing = asyncio.create_task(recorder.erase("customer"))
    await settled()
    erasing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await erasing
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100", "erase customer"]
    assert recorder.counters.erasures_written == 1


async def test_an_outcome_returns_when_it_is_queued():  # R24
    desk = Desk()
    recorder = DecisionRecorder(desk)
    await stalled(desk, recorder)
    await asyncio.wait_for(recorder.add_outcome(confirmed()), 1)
    assert desk.calls == []
    desk.open.set()
    await recorder.close()


async def test_an_erasure_returns_when_the_sink_has_run_it():  # R25
    desk = Desk()
    recorder = DecisionRecorder(desk)
    desk.open.clear()
    recorder.record(record(1, "customer"))
    erasing = asyncio.create_task(recorder.erase("customer"))
    await settled()
    assert not erasing.done()
    desk.open.set()
    await erasing
    assert desk.calls == ["write d1", "erase customer"]
    await recorder.erase_decision("d1")
    assert desk.calls[-1] == "erase-decision d1"
    await recorder.close()


async def test_a_record_never_gets_ahead_of_an_erasure_that_waits():  # R26
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=2)
    await stalled(desk, recorder)
    recorder.record(record(1))
    await recorder.add_outcome(confirmed(1))
    erasing = asyncio.create_task(recorder.erase("customer"))
    await settled()
    recorder.record(record(2, "customer"))
    desk.open.set()
    await erasing
    await recorder.close()
    assert desk.calls == ["write d100", "write d1", "outcome d1", "erase customer"]
    assert recorder.counters.dropped == 1


async def test_an_erasure_the_sink_refuses_is_told_without_the_key(caplog: pytest.LogCaptureFixture):  # R27
    async with DecisionRecorder(Desk(failing=["erase"])) as recorder:
        with pytest.raises(RecordingFailed) as failure:
            await recorder.erase(SECRET)
        assert isinstance(failure.value.__cause__, OSError)
        assert SECRET not in str(failure.value)
        assert recorder.counters.erasures_failed == 1
    assert said(caplog) == [(1010, "WARNING", "The record store failed at 'erase' (OSError).")]


async def test_a_record_the_sink_refuses_does_not_stop_the_next(caplog: pytest.LogCaptureFixture):  # R28
    desk = Desk(failing=["write"])
    async with DecisionRecorder(desk) as recorder:
        recorder.record(record(1))
        await recorder.flush()
        desk.failing.clear()
        recorder.record(record(2))
    assert desk.calls == ["write d2"]
    assert (recorder.counters.failed, recorder.counters.written) == (1, 1)
    assert said(caplog) == [(1010, "WARNING", "The record store failed at 'write' (OSError).")]


async def test_an_outcome_the_sink_refuses_is_counted_and_its_caller_not_bothered():  # R29
    async with DecisionRecorder(Desk(failing=["outcome"])) as recorder:
        await recorder.add_outcome(confirmed())
        await recorder.flush()
    assert recorder.counters.outcomes_failed == 1
    assert recorder.counters.outcomes_written == 0


async def test_a_flush_returns_when_all_before_it_was_handed_on():  # R30
    desk = Desk()
    async with DecisionRecorder(desk) as recorder:
        for number in range(9):
            recorder.record(record(number))
        await recorder.flush()
        assert len(desk.calls) == 9


async def test_closing_writes_what_is_queued_in_order():  # R31
    desk = Desk()
    recorder = DecisionRecorder(desk)
    for number in range(5):
        recorder.record(record(number))
    await recorder.close()
    await recorder.close()
    assert desk.calls == [f"write d{number}" for number in range(5)]


@pytest.mark.socket
async def test_closing_gives_up_on_a_sink_that_hangs_and_counts_what_is_lost(
    caplog: pytest.LogCaptureFixture,
):  # R32, R33
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=3, flush_timeout=0.05)
    await stalled(desk, recorder)
    recorder.record(record(1))
    await recorder.add_outcome(confirmed(1))
    erasing = asyncio.create_task(recorder.erase("customer"))
    flushing = asyncio.create_task(recorder.flush())
    await settled()
    await recorder.close()
    with pytest.raises(RecordingFailed):
        await erasing
    with pytest.raises(RecordingFailed):
        await flushing
    assert said(caplog) == [
        (
            1012,
            "ERROR",
            "The recorder ran out of time: lost 2 records, 1 outcomes, 1 erasures and 1 flushes.",
        )
    ]
    counters = recorder.counters
    assert (counters.dropped, counters.outcomes_failed, counters.erasures_failed) == (2, 1, 1)
    assert desk.calls == []


@pytest.mark.socket
async def test_a_sink_that_will_not_be_cancelled_is_left_and_counted_once():
    class Stubborn(Desk):
        async def write(self, record: Record) -> None:
            while not self.open.is_set():
                try:
                    await self.open.wait()
                except asyncio.CancelledError:
                    continue
            await super().write(record)

    desk = Stubborn()
    recorder = DecisionRecorder(desk, flush_timeout=0.05)
    await stalled(desk, recorder)
    await recorder.close()
    desk.open.set()
    await settled()
    assert (recorder.counters.dropped, recorder.counters.written) == (1, 0)


async def test_after_closing_records_are_dropped_in_silence(caplog: pytest.LogCaptureFixture):  # R34
    recorder = DecisionRecorder(Desk())
    await recorder.close()
    recorder.record(record())
    assert recorder.counters.dropped == 1
    assert not caplog.records


async def test_after_closing_everything_else_is_refused():  # R35
    recorder = DecisionRecorder(Desk())
    await recorder.close()
    for asking in (
        recorder.add_outcome(confirmed()),
        recorder.erase("customer"),
        recorder.erase_decision("d1"),
        recorder.flush(),
    ):
        with pytest.raises(RecorderClosed):
            await asking


@pytest.mark.socket
async def test_a_sink_that_fails_while_it_is_cancelled_is_logged(caplog: pytest.LogCaptureFixture):  # R36
    class Broken(Desk):
        async def write(self, record: Record) -> None:
            try:
                await self.open.wait()
            except asyncio.CancelledError:
                raise OSError(SECRET) from None

    desk = Broken()
    recorder = DecisionRecorder(desk, flush_timeout=0.05)
    await stalled(desk, recorder)
    await recorder.close()
    assert said(caplog)[0] == (1010, "WARNING", "The record store failed at 'cancel' (OSError).")
    assert [event for event, _, _ in said(caplog)] == [1010, 1012]
    assert recorder.counters.dropped == 1


async def test_a_log_that_fails_never_stops_the_recorder():  # R37
    class Mute(logging.Logger):
        def log(self, *args: object, **more: object) -> None:
            raise OSError

    desk = Desk(failing=["write"])
    async with DecisionRecorder(desk, logger=Mute("mute")) as recorder:
        recorder.record(record(1))
        recorder.record(record(2))
        await recorder.flush()
    assert recorder.counters.failed == 2
    assert recorder.counters.log_failures == 2


async def test_a_sink_that_cancels_itself_is_a_sink_that_failed():
    class Cancelling(Desk):
        async def write(self, record: Record) -> None:
            raise asyncio.CancelledError

    async with DecisionRecorder(Cancelling()) as recorder:
        recorder.record(record(1))
        await recorder.add_outcome(confirmed())
        await recorder.flush()
    assert (recorder.counters.failed, recorder.counters.outcomes_written) == (1, 1)


async def test_nothing_secret_is_logged(caplog: pytest.LogCaptureFixture):
    everything = ["write", "outcome", "erase", "erase-decision"]
    recorder = DecisionRecorder(Desk(failing=everything), capacity=5)
    with caplog.at_level(logging.DEBUG):
        recorder.record(record(1, SECRET))
        await recorder.add_outcome(Signal(SECRET, SECRET, NOON, SECRET, note=SECRET))
        for asking in (recorder.erase(SECRET), recorder.erase_decision(SECRET)):
            with pytest.raises(RecordingFailed) as failure:
                await asking
            assert SECRET not in str(failure.value)
        await recorder.close()
    assert len(caplog.records) == 4
    assert SECRET not in caplog.text
    assert SECRET not in repr(recorder) + repr(recorder.counters)


class Batches(Desk):
    """A sink that takes many records at once."""

    def __init__(self, failing: Sequence[str] = ()) -> None:
        super().__init__(failing)
        self.batches: list[int] = []

    async def write_all(self, records: Sequence[Record]) -> None:
        await self._call("write", " ".join(record.decision_id for record in records))
        self.batches.append(len(records))


async def test_a_sink_that_can_gets_many_records_at_once_and_never_across_anything_else():
    desk = Batches()
    assert isinstance(desk, BatchSink)
    recorder = DecisionRecorder(desk)
    await stalled(desk, recorder)
    for number in range(3):
        recorder.record(record(number))
    await recorder.add_outcome(confirmed(2))
    recorder.record(record(3))
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100", "write d0 d1 d2", "outcome d2", "write d3"]
    assert recorder.counters.written == 5


async def test_one_record_that_cannot_be_kept_takes_no_other_of_its_batch_along():
    class Picky(Batches):
        async def _call(self, name: str, what: str) -> None:
            if "d2" in what.split():
                raise OSError(f"{SECRET} cannot be kept")
            await super()._call(name, what)

    desk = Picky()
    recorder = DecisionRecorder(desk)
    await stalled(desk, recorder)
    for number in range(4):
        recorder.record(record(number))
    await recorder.add_outcome(confirmed(3))
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100", "write d0", "write d1", "write d3", "outcome d3"]
    assert (recorder.counters.written, recorder.counters.failed) == (4, 1)


async def test_each_record_of_a_batch_that_cannot_be_kept_has_failed_and_is_told(
    caplog: pytest.LogCaptureFixture,
):
    recorder = DecisionRecorder(Batches(failing=["write"]))
    for number in range(7):
        recorder.record(record(number))
    await recorder.close()
    assert recorder.counters.failed == 7
    assert [event for event, _, _ in said(caplog)] == [1010] * 7


@pytest.mark.parametrize(("capacity", "seconds"), [(0, 1), (-1, 1), (1, 0), (1, -2)])
async def test_a_recorder_with_no_room_or_no_time_is_refused(capacity: int, seconds: float):
    with pytest.raises(ValueError, match="recorder"):
        DecisionRecorder(MemorySink(), capacity=capacity, flush_timeout=seconds)


@pytest.mark.parametrize("seed", range(25))
async def test_every_record_offered_is_written_dropped_or_failed(seed: int):  # R73
    chance = random.Random(seed)

    desk = Batches() if seed % 2 else Desk()
    desk.mood = lambda: {n for n in ("write", "outcome", "erase") if chance.random() < 0.2}
    recorder = DecisionRecorder(desk, capacity=chance.randint(1, 6))
    offered, outcomes, erasures, asked = 0, 0, 0, []
    for number in range(300):
        match chance.random():
            case share if share < 0.7:
                recorder.record(record(number))
                offered += 1
            case share if share < 0.85:
                asked.append(asyncio.create_task(recorder.add_outcome(confirmed(number))))
                outcomes += 1
            case _:
                asked.append(asyncio.create_task(recorder.erase(f"k{number}")))
                erasures += 1
        for _ in range(chance.randint(0, 3)):
            await asyncio.sleep(0)
    await asyncio.gather(*asked, return_exceptions=True)
    await recorder.close()
    counters = recorder.counters
    assert offered == counters.written + counters.dropped + counters.failed
    assert outcomes == counters.outcomes_written + counters.outcomes_failed
    assert erasures == counters.erasures_written + counters.erasures_failed
    numbers = [
        int(word.lstrip("dk")) for call in desk.calls if call.startswith("write") for word in call.split()[1:]
    ]
    assert numbers == sorted(numbers)


class Stalled(Desk):
    """A sink that never returns from a call."""

    def __init__(self) -> None:
        super().__init__()
        self.open.clear()


class Counting(Desk):
    """A sink that keeps numbers only; it takes its time over one call in so many, or fails."""

    def __init__(self, *, slow: int = 0, fails: Callable[[int], bool] = lambda _: False) -> None:
        super().__init__()
        self.kept: Counter[str] = Counter()
        self._slow, self._fails, self._calls = slow, fails, 0

    async def _call(self, name: str, what: str) -> None:
        self._calls += 1
        if self._slow and self._calls % self._slow == 0:
            for _ in range(5):
                await asyncio.sleep(0)
        if self._fails(self._calls):
            raise OSError(SECRET)
        self.kept[name] += 1


SINKS: dict[str, Callable[[int], Desk]] = {
    "stalled": lambda _: Stalled(),
    "slow": lambda _: Counting(slow=3),
    "throwing": lambda _: Counting(fails=lambda _: True),
    "recovering": lambda count: Counting(fails=lambda call: call < count // 4),
}


async def stand_up_to(kind: str, count: int) -> DecisionRecorder:
    """Offer so many records to a sink of this kind, and now and then an outcome and an erasure."""
    desk = SINKS[kind](count)
    # What is logged would be kept by the test's own handlers and counted as the recorder's memory.
    quiet = logging.getLogger("quiet")
    quiet.setLevel(logging.CRITICAL)
    recorder = DecisionRecorder(desk, flush_timeout=0.2, logger=quiet)
    every, asked = count // 20, list[asyncio.Task[None]]()
    tracemalloc.start()
    for number in range(count):
        recorder.record(record(number))
        if number % every == 0:
            asked.append(asyncio.create_task(recorder.add_outcome(confirmed(number))))
            asked.append(asyncio.create_task(recorder.erase(f"customer-{number}")))
        if number % 50 == 0:
            await asyncio.sleep(0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000
    await asyncio.wait_for(recorder.close(), 10)
    told = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)
    counters = recorder.counters
    assert counters.written + counters.dropped + counters.failed == count
    assert counters.outcomes_written + counters.outcomes_failed == 20
    assert counters.erasures_written + counters.erasures_failed == 20
    # Whoever asked was told: of an erasure always, of an outcome where it could not even be queued.
    assert sum(isinstance(one, RecordingFailed) for one in told[1::2]) == counters.erasures_failed
    assert all(one is None or isinstance(one, RecordingFailed) for one in told)
    if isinstance(desk, Counting):
        assert desk.kept["write"] == counters.written
        assert desk.kept["outcome"] == counters.outcomes_written
        assert desk.kept["erase"] == counters.erasures_written
    return recorder


@pytest.mark.socket
@pytest.mark.parametrize("kind", SINKS)
async def test_of_twenty_thousand_records_none_is_unaccounted_for_whatever_the_sink_does(kind: str):
    counters = (await stand_up_to(kind, 20_000)).counters
    match kind:
        case "stalled":
            assert (counters.written, counters.failed) == (0, 0)
        case "slow":
            assert (counters.failed, counters.outcomes_failed, counters.erasures_failed) == (0, 0, 0)
            assert counters.written > 0
        case "throwing":
            assert (counters.written, counters.outcomes_written, counters.erasures_written) == (0, 0, 0)
            assert counters.failed > 0
        case _:
            assert counters.failed > 0
            assert counters.written > 0
            assert counters.erasures_written > 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", SINKS)
async def test_of_a_million_records_none_is_unaccounted_for_whatever_the_sink_does(kind: str):
    await stand_up_to(kind, 1_000_000)


async def test_an_outcome_that_is_still_queued_can_be_taken_back():
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=1)
    await stalled(desk, recorder)
    first, second = confirmed(1), confirmed(2)
    await recorder.add_outcome(first)
    waiting = asyncio.ensure_future(recorder.add_outcome(second))
    await settled()
    assert recorder.take_back(first)
    await settled()
    assert waiting.done()
    assert recorder.take_back(second)
    assert not recorder.take_back(second)
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100"]
    assert (recorder.counters.written, recorder.counters.outcomes_written) == (1, 0)
    assert recorder.counters.outcomes_failed == 0


async def test_an_outcome_that_waits_for_space_can_be_taken_back_too():
    desk = Desk()
    recorder = DecisionRecorder(desk, capacity=1)
    await stalled(desk, recorder)
    await recorder.add_outcome(confirmed(1))
    waits = confirmed(2)
    waiting = asyncio.ensure_future(recorder.add_outcome(waits))
    await settled()
    assert recorder.take_back(waits)
    await waiting
    desk.open.set()
    await recorder.close()
    assert desk.calls == ["write d100", "outcome d1"]


async def test_an_idle_recorder_has_no_task_and_begins_again():
    desk = Desk()
    recorder = DecisionRecorder(desk)
    for number in range(2):
        recorder.record(record(number))
        await recorder.flush()
        await settled()
        assert not [task for task in asyncio.all_tasks() if task.get_name() == "recorder"]
    await recorder.close()
    assert desk.calls == ["write d0", "write d1"]
