"""The program as a process of its own: it lives through many turns of its loop and ends in good order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from designer import resource

TICKS = 20_000
ROOT = Path(__file__).parent.parent.parent

LIVE = f"""
import asyncio, sys
from PySide6.QtCore import QTimer
from designer import app
from designer.window import MainWindow

before = [0]

async def live(window):
    before[0] = sys.getrefcount(None)
    for _ in range({TICKS}):
        await asyncio.sleep(0)
    for _ in range(1000):
        QTimer.singleShot(0, lambda: None)
    await asyncio.sleep(0.05)
    print("lost references:", max(0, before[0] - sys.getrefcount(None)) // 100)
    window.close()

shown = MainWindow.show
def show(window):
    shown(window)
    asyncio.get_running_loop().create_task(live(window))
MainWindow.show = show

from pathlib import Path
sys.exit(app.main(Path(sys.argv[1])))
"""

STOPPING = """
import asyncio, random, sys
from collections import Counter
from pathlib import Path
from designer import app
from designer.running import RunState
from designer.window import MainWindow
from engine import RunEnded

async def stop_everywhere(window):
    running, ends = window.workbench.running, Counter()
    for seed in range(int(sys.argv[2])):
        chance = random.Random(seed)
        window.run_command(chance.choice(["run.start", "run.step", "run.step-question"]))
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
            if running.state is RunState.ASKING:
                running.answer(chance.choice(running.question.answers))
            elif running.state is RunState.PAUSED:
                window.run_command("run.step")
        window.run_command("run.stop")
        await running.ended()
        events = running.shown.recording.events
        assert sum(isinstance(event, RunEnded) for event in events) == 1
        assert isinstance(events[-1], RunEnded)
        ends[running.shown.outcome] += 1
    print("some were stopped:", ends["Cancelled"] > 0)
    window.run_command("run.step")
    window.close()

shown = MainWindow.show
def show(window):
    shown(window)
    asyncio.get_running_loop().create_task(stop_everywhere(window))
MainWindow.show = show
sys.exit(app.main(Path(sys.argv[1])))
"""


def outcome_of(program: str, *args: str, seconds: int = 110) -> tuple[int, list[str], str]:
    """How a process with the window ends: its code, what it complained of, and what it printed."""
    sample = resource("samples/ssvc-deployer/tree.json")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(sample), *args],
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "plugin does not support" not in line]
    return done.returncode, complaints, done.stdout


def test_twenty_thousand_turns_cost_no_references_and_the_process_ends_with_0(own_folders: Path):
    """PySide6 6.12 on Python 3.11 fails here: it drops references to None until the process aborts."""
    assert outcome_of(LIVE) == (0, [], "lost references: 0\n")


def test_runs_that_are_stopped_at_any_moment_leave_a_process_that_ends_with_0(own_folders: Path):
    assert outcome_of(STOPPING, "8") == (0, [], "some were stopped: True\n")


@pytest.mark.soak
def test_five_hundred_runs_that_are_stopped_leave_a_process_that_ends_with_0(own_folders: Path):
    assert outcome_of(STOPPING, "500", seconds=900) == (0, [], "some were stopped: True\n")
