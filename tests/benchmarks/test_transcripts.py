"""Goal E-G4: a transcript is shown at once, however long it is, and the window goes on meanwhile.

What a transcript takes is told in processor time, as on a machine that has nothing else to do.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from designer.panels.transcripts import TranscriptsPanel
from designer.panels.transcripts.reader import Reader
from designer.settings import Settings
from designer.tasks import cancel_all
from designer.workbench import Workbench
from engine import TranscriptInfo, list_transcripts
from tests.benchmarks.measuring import Goals

pytestmark = [pytest.mark.bench, pytest.mark.usefixtures("qapp")]

ATTEMPT = """
### Decision LLM attempt 1

**Node:** `exploitation`

**Input messages:**

#### Message 1: `user`

```
Which value of exploitation fits best?
The present state of exploitation of the vulnerability, as far as it is known to the deployer.
{text}
```

**Raw LLM output:**

```json
{{"answer": "active", "observation": "It has been seen in the wild, see https://example.com/advisory."}}
```

**Finish reason:** `stop`
**Model:** `m-large`

### Parsed classification

**Node:** `exploitation`
**Answer:** `active`

1. `exploitation` (Classify, 212ms) -- `active` --> `automatable`
2. `automatable` (Classify, 198ms) -- `yes` --> `immediate`
"""
SECTION = ATTEMPT.format(text="An attacker can read files of others without any right of their own.\n" * 9)
HEAD = "# Agent task\n\n**Execution ID:** `run`  \n"


def written(folder: Path, size: int) -> TranscriptInfo:
    """A transcript of about so many characters."""
    text = HEAD + SECTION * (size // len(SECTION))
    (folder / "20261102-081530-Decision-tree-t.md").write_text(text)
    return list_transcripts(folder)[0]


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    folder = tmp_path / "transcripts"
    folder.mkdir()
    return Workbench(Settings(transcripts_folder=folder, records_path=tmp_path / "records.sqlite"))


@pytest.fixture
def panel(bench: Workbench, qtbot: QtBot) -> TranscriptsPanel:
    made = TranscriptsPanel(bench)
    qtbot.addWidget(made)
    made.resize(1020, 400)
    return made


async def holds(done: Callable[[], object]) -> None:
    while not done():  # noqa: ASYNC110 - it is the window that is looked at
        await asyncio.sleep(0.001)


async def shown(reader: Reader, info: TranscriptInfo, done: Callable[[], object]) -> float:
    """Milliseconds of processor time, of both threads, until this holds and is on the screen."""
    reader.show_file(None)
    await asyncio.sleep(0.1)
    began = time.process_time()
    reader.show_file(info)
    await holds(done)
    reader.view.viewport().repaint()
    return (time.process_time() - began) * 1e3


def median(aloop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[float]], rounds: int = 7) -> float:
    async def measured() -> float:
        await work()
        times = [await work() for _ in range(rounds)]
        await cancel_all()
        return statistics.median(times)

    return aloop.run_until_complete(measured())


def on_screen(reader: Reader) -> bool:
    """Whether more is drawn than there is room for."""
    return reader.view.verticalScrollBar().maximum() > 0


def test_e_g4_a_transcript_of_100_000_characters(
    aloop: asyncio.AbstractEventLoop, goals: Goals, bench: Workbench, panel: TranscriptsPanel
) -> None:
    info = written(bench.transcripts_folder, 100_000)
    panel.show()
    reader = panel.reader
    last = info.size - 200

    def whole() -> bool:
        return bool(reader.view.lines) and reader.view.lines[-1].at >= last

    goals.most(
        "E-G4",
        "100k characters, first screen",
        median(aloop, lambda: shown(reader, info, lambda: on_screen(reader))),
        50,
        "ms",
    )
    goals.most(
        "E-G4", "100k characters, all of them", median(aloop, lambda: shown(reader, info, whole)), 150, "ms"
    )


@pytest.mark.parametrize(("size", "words"), [(1_000_000, "1M"), (100_000_000, "100M")])
def test_e_g4_the_first_screen_of_a_long_one(
    aloop: asyncio.AbstractEventLoop,
    goals: Goals,
    bench: Workbench,
    panel: TranscriptsPanel,
    size: int,
    words: str,
) -> None:
    info = written(bench.transcripts_folder, size)
    panel.show()
    reader = panel.reader
    took = median(aloop, lambda: shown(reader, info, lambda: on_screen(reader)))
    goals.most("E-G4", f"{words} characters, first screen", took, 50, "ms")


def longest_stall(aloop: asyncio.AbstractEventLoop, work: Awaitable[None]) -> float:
    """The longest time, in milliseconds, that the window heard nothing while this went on."""
    ticks = [time.perf_counter()]
    timer = QTimer(interval=1)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))
    timer.start()

    async def whole() -> None:
        await asyncio.sleep(0.05)
        ticks[:] = [time.perf_counter()]
        await work
        await cancel_all()

    aloop.run_until_complete(whole())
    timer.stop()
    return max(b - a for a, b in pairwise(ticks)) * 1e3


def test_the_window_goes_on_while_a_large_one_is_scanned_and_searched(
    aloop: asyncio.AbstractEventLoop, goals: Goals, bench: Workbench, panel: TranscriptsPanel
) -> None:
    info = written(bench.transcripts_folder, 100_000_000)
    panel.show()
    reader = panel.reader

    async def opening() -> None:
        reader.show_file(info)
        await holds(lambda: reader.scanned)

    async def searching() -> None:
        panel.sought.setText("nowhere to be found")
        await holds(lambda: panel.found.progress.text() == "0 found in 1 transcript")

    began = time.perf_counter()
    goals.most("E-G4", "100M characters opened, longest stall", longest_stall(aloop, opening()), 50, "ms")
    opened = time.perf_counter()
    goals.most("E-G4", "100M characters searched, longest stall", longest_stall(aloop, searching()), 50, "ms")
    goals.figure("E-G4", "100M characters: sections found in", opened - began, "s")
    goals.figure("E-G4", "100M characters: searched in", time.perf_counter() - opened, "s")


def test_the_window_goes_on_while_thousands_are_listed(
    aloop: asyncio.AbstractEventLoop, goals: Goals, bench: Workbench, panel: TranscriptsPanel
) -> None:
    for number in range(5_000):
        name = f"20261102-{number // 3600:02}{number // 60 % 60:02}{number % 60:02}-Decision-tree-t.md"
        (bench.transcripts_folder / name).write_text(HEAD + SECTION * 4)

    panel.show()

    async def listing() -> None:
        panel.reload()
        await holds(lambda: len(panel.table.rows) == 5_000)
        QApplication.processEvents()

    began = time.perf_counter()
    goals.most("E-G4", "5,000 transcripts listed, longest stall", longest_stall(aloop, listing()), 50, "ms")
    goals.figure("E-G4", "5,000 transcripts listed in", time.perf_counter() - began, "s")
