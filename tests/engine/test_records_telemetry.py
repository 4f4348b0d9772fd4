"""What OpenTelemetry reads of the recorders: totals with fixed words, and nothing of what was recorded."""

import json

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from engine import RecordingFailed
from engine.records import DecisionRecorder, Signal, expose_counters
from tests.engine.test_recorder import NOON, SECRET, Desk, confirmed, record, stalled

pytestmark = pytest.mark.anyio


class Readings:
    """What has been counted since, by instrument and result, as a collector sees it."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self._provider = MeterProvider([self._reader])
        expose_counters(self._provider)
        self._before = self._totals()

    def since(self) -> dict[tuple[str, str | None], int]:
        return {
            which: total - self._before[which]
            for which, total in self._totals().items()
            if total != self._before[which]
        }

    def all(self) -> set[tuple[str, str | None]]:
        return set(self._before)

    def text(self) -> str:
        data = self._reader.get_metrics_data()
        assert data is not None
        return data.to_json()

    def close(self) -> None:
        self._provider.shutdown()

    def _totals(self) -> dict[tuple[str, str | None], int]:
        totals = {}
        for metric in json.loads(self.text())["resource_metrics"][0]["scope_metrics"][0]["metrics"]:
            name = metric["name"].removeprefix("treewright.recording.")
            for point in metric["data"]["data_points"]:
                assert set(point["attributes"]) <= {"result"}
                totals[name, point["attributes"].get("result")] = point["value"]
        return totals


@pytest.fixture
def readings():
    made = Readings()
    yield made
    made.close()


async def test_every_counter_can_be_read_before_anything_was_counted(readings: Readings):
    assert readings.all() == {
        ("records", "written"),
        ("records", "dropped"),
        ("records", "failed"),
        ("outcomes", "written"),
        ("outcomes", "failed"),
        ("erasures", "written"),
        ("erasures", "failed"),
        ("log_failures", None),
    }
    assert readings.since() == {}


async def test_what_all_recorders_counted_is_read_as_one_total_each(readings: Readings):
    desk, other = Desk(), Desk(failing=["write", "outcome", "erase"])
    recorder = DecisionRecorder(desk, capacity=2)
    await stalled(desk, recorder)
    for number in range(3):
        recorder.record(record(number))
    desk.open.set()
    await recorder.close()
    async with DecisionRecorder(other) as failing:
        failing.record(record())
        await failing.add_outcome(confirmed())
        with pytest.raises(RecordingFailed):
            await failing.erase("customer")
        other.failing.clear()
        await failing.add_outcome(confirmed())
        await failing.erase("customer")
    assert readings.since() == {
        ("records", "written"): 3,
        ("records", "dropped"): 1,
        ("records", "failed"): 1,
        ("outcomes", "written"): 1,
        ("outcomes", "failed"): 1,
        ("erasures", "written"): 1,
        ("erasures", "failed"): 1,
    }


async def test_no_reading_tells_anything_of_what_was_recorded(readings: Readings):
    async with DecisionRecorder(Desk(failing=["outcome"])) as recorder:
        recorder.record(record(7431, SECRET))
        await recorder.add_outcome(Signal(SECRET, SECRET, NOON, SECRET, note=SECRET))
        await recorder.erase(SECRET)
        await recorder.erase_decision(SECRET)
    assert readings.since()
    assert "7431" not in readings.text()
