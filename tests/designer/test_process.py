"""The program as a process of its own: it lives through many turns of its loop and ends in good order."""

import os
import subprocess
import sys
from pathlib import Path

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


def test_twenty_thousand_turns_cost_no_references_and_the_process_ends_with_0(own_folders: Path):
    """PySide6 6.12 on Python 3.11 fails here: it drops references to None until the process aborts."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIVE, str(resource("samples/ssvc-deployer/tree.json"))],
        capture_output=True,
        text=True,
        timeout=110,
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "plugin does not support" not in line]
    assert (done.returncode, complaints) == (0, [])
    assert done.stdout == "lost references: 0\n"
