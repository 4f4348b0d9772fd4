"""Goals A-G1 to A-G4 and A-G6: what a run costs beside the same work by hand."""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer

from engine import Event, Inputs, Runnable, write_tree
from tests.benchmarks import work
from tests.benchmarks.measuring import Goals, awaited_medians, in_words, medians, percentile

pytestmark = pytest.mark.bench

WAIT = 0.05


def times(count: int, one: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
    """Do it so many times, one after the other."""

    async def all_of_them() -> None:
        for _ in range(count):
            await one()

    return all_of_them


def test_a_decision_beside_the_same_lines_by_hand(goals: Goals):
    session, tree = work.session(), work.decision()
    bare, full = awaited_medians(
        times(2000, work.bare), times(100, lambda: work.journaled(session, tree).finish()), rounds=51
    )
    bare, full = bare / 2000, full / 100
    note = f"{in_words(full)} a run, bare {in_words(bare)}"
    goals.most("A-G1", "full run / bare json run", full / bare, 8, note=note)


def test_what_an_event_costs(goals: Goals):
    session, tree = work.session(), work.decision()
    events: list[object] = []
    asyncio.run(session.start(tree, observers=[events.append]).finish())

    def observed(count: int) -> Callable[[], Awaitable[None]]:
        observers = [deque[Event](maxlen=9).append] * count
        return times(50, lambda: session.start(tree, observers=observers).finish())

    none, one, many = (
        spent / 50 / len(events) * 1e6 for spent in awaited_medians(*map(observed, (0, 1, 101)), rounds=101)
    )
    note = f"{(many - one) / 100:.2g} us for each observer more"
    goals.most("A-G6", "an event, made and told", one - none, 1, "us", note)


def test_a_loop_beside_a_lean_interpreter(goals: Goals):
    session, small, large = work.session(), work.loop(1_000), work.loop(100_000)

    def visits(count: int, tree: Runnable) -> Callable[[], Awaitable[object]]:
        inputs = Inputs(properties={"left": count // 2})
        return lambda: work.journaled(session, tree, inputs, last=256).finish()

    lean, full = awaited_medians(lambda: work.Lean(10_000).run(), visits(1_000, small), rounds=101)
    (long,) = awaited_medians(visits(100_000, large), rounds=5)
    full, lean, long = full / 1_000, lean / 10_000, long / 100_000
    goals.most("A-G2", "loop, a visit", full * 1e6, 2, "us")
    goals.most("A-G2", "loop visit / lean interpreter", full / lean, 6, note=f"lean {in_words(lean)}")
    goals.most("A-G2", "visit of 100,000 / visit of 1,000", long / full, 1.5, note=in_words(long))


def at_once(count: int, one: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(count)))

    return all_of_them


def parked(count: int, one: Callable[[], Awaitable[object]]) -> float:
    """KiB a run takes while it waits for its model."""

    async def while_waiting() -> float:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        tasks = [asyncio.ensure_future(one()) for _ in range(count)]
        # By then all have begun, and none has been answered.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        taken = tracemalloc.get_traced_memory()[0] - before
        await asyncio.gather(*tasks)
        return taken / count / 1024

    tracemalloc.start()
    try:
        return asyncio.run(while_waiting())
    finally:
        tracemalloc.stop()


def test_ten_thousand_runs_at_once(goals: Goals):
    session, tree = work.session(WAIT), work.decision()
    bare, full = awaited_medians(
        at_once(10_000, lambda: work.bare(WAIT)),
        at_once(10_000, lambda: work.journaled(session, tree).finish()),
        rounds=3,
    )
    note = f"{in_words(full)}, bare {in_words(bare)}, ideal 50 ms"
    goals.most("A-G3", "10,000 runs at once / bare", full / bare, 2.5, note=note)
    slow = work.session(2.0)
    ours = parked(1_000, lambda: work.journaled(slow, tree).finish())
    floor = parked(1_000, lambda: work.bare(2.0))
    goals.most("A-G3", "memory of a waiting run", ours, 4, "KiB", note=f"bare {floor:.2g} KiB")
    goals.most("A-G3", "memory of a waiting run / bare", ours / floor, 2.5)


FIRST_VERDICT = """
import asyncio, sys
from pathlib import Path
from engine import Inputs, Pins, Session, read_tree, catalog_of
tree = read_tree(Path(sys.argv[1]).read_bytes()).tree
pins = Pins(answers={"ask": "supported"})
result = asyncio.run(Session().start(tree, Inputs(pins=pins)).finish())
assert result.verdict == "approved", result
"""


def test_from_nothing_to_the_first_verdict(goals: Goals, tmp_path: Path):
    file = tmp_path / "tree.json"
    tree = work.decision().tree
    nodes = {name: node for name, node in tree.nodes.items() if name in {"ask", "approved", "failed"}}
    ask = nodes["ask"].replace(
        transitions=work.to({"supported": "approved", "unsupported": "failed", "unknown": "failed"})
    )
    file.write_bytes(write_tree(tree.replace(start_node_id="ask", nodes=nodes | {"ask": ask})))

    def process(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code, str(file)], check=True)

    bare, empty, first = medians(
        process("import asyncio, json"), process("import engine"), process(FIRST_VERDICT), rounds=9
    )
    goals.most("A-G4", "first verdict / bare process", first / bare, 5, note=f"bare {in_words(bare)}")
    goals.figure("A-G4", "import engine / bare process", empty / bare, "x")


def test_a_window_stays_alive_beside_a_thousand_runs(goals: Goals, aloop: asyncio.AbstractEventLoop):
    session, tree = work.session(0.5), work.decision()
    ticks: list[float] = []
    timer = QTimer()
    timer.setInterval(16)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))

    async def runs_after(begin: float) -> None:
        await asyncio.sleep(begin)
        while timer.isActive() or not ticks:
            await work.journaled(session, tree).finish()

    async def while_they_run() -> None:
        all_of_them = asyncio.gather(*(runs_after(number / 2_000) for number in range(1_000)))
        # By then all have begun.
        await asyncio.sleep(0.6)
        timer.start()
        await asyncio.sleep(5)
        timer.stop()
        await all_of_them

    aloop.run_until_complete(while_they_run())
    gaps = [(after - before) * 1e3 for before, after in pairwise(ticks)]
    note = f"median {statistics.median(gaps):.3g} ms, {len(gaps)} ticks"
    goals.most("A-G6", "window tick beside 1,000 runs, p99", percentile(gaps, 0.99), 25, "ms", note=note)
