"""Programs killed while they save or edit: no file is harmed, and only the last two seconds can be lost."""

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from designer.document.files import Stored, open_tree, save_tree
from designer.document.folders import state_folder
from designer.document.recovery import Recovery
from tests.designer.drafts import triage

ROOT = Path(__file__).parent.parent.parent
AT_ONCE = 5
"""So many programs edit side by side, each a file of its own; none must take what another keeps."""

SAVING = """
import sys
from pathlib import Path
from designer.document import edits
from designer.document.files import open_tree, save_tree
stored = open_tree(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(10**9):
    stored = save_tree(edits.set_tree_field(stored.draft, "name", str(number) * 20_000), stored)
"""

EDITING = """
import asyncio, sys, time
from pathlib import Path
from designer import app
from designer.document import edits
from designer.window import MainWindow

RESTS = sys.argv[2] == "rests"

async def live(window):
    document = window.workbench.current
    for number in range(1, 10**9):
        document.edit("Rename", lambda d: edits.set_tree_field(d, "name", str(number)))
        print(number, time.monotonic(), flush=True)
        # Without a rest the snapshot is due although the edits never stop.
        await asyncio.sleep(1.3 if RESTS and number % 5 == 0 else 0.1)

shown = MainWindow.show
def show(window):
    shown(window)
    asyncio.get_running_loop().create_task(live(window))
MainWindow.show = show
app.main(Path(sys.argv[1]))
"""


def kill_while_saving(path, after):
    saving = subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, cwd=ROOT)
    assert saving.stdout is not None
    saving.stdout.readline()
    time.sleep(after)
    saving.send_signal(signal.SIGKILL)
    saving.communicate()


def check_kills_while_saving(folder, kills):
    path = save_tree(triage(), path=folder / "tree.json").path
    for number in range(kills):
        kill_while_saving(path, 0.002 * (number % 40))
        stored = open_tree(path)
        assert isinstance(stored, Stored)
        name = stored.draft.tree.name or ""
        number_saved = name[: len(name) // 20_000]
        assert name == number_saved * (20_000 if name else 0)
        assert sorted(entry.name for entry in folder.iterdir()) == ["tree.design.json", "tree.json"]


def check_kills_while_editing(folder, kills):
    for first in range(0, kills, AT_ONCE):
        paths = [save_tree(triage(), path=folder / f"{first + i}.json").path for i in range(AT_ONCE)]
        before = {path: path.read_bytes() for path in paths}
        editing = {path: start_editing(path, rests=i % 2 == 0) for i, path in enumerate(paths)}
        lines = {path: child.stdout.readline() for path, child in editing.items()}
        time.sleep(2.2)
        killed = {}
        for i, (path, child) in enumerate(editing.items()):
            time.sleep(0.17 + 0.03 * (first + i) % 0.1)
            child.send_signal(signal.SIGKILL)
            killed[path] = time.monotonic()
        for path, child in editing.items():
            lines[path] += child.communicate()[0]
        check_recovery(lines, killed)
        assert {path: path.read_bytes() for path in paths} == before


def start_editing(path, *, rests):
    return subprocess.Popen(
        [sys.executable, "-c", EDITING, str(path), "rests" if rests else "never"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )


def check_recovery(lines, killed):
    with Recovery(state_folder() / "recovery").left() as left:
        assert left.damaged == ()
        recovered = {found.snapshot.path: int(found.snapshot.draft.tree.name or 0) for found in left.found}
        assert recovered.keys() == killed.keys()
        for path, text in lines.items():
            edits = [line.split() for line in text.splitlines() if line.count(" ") == 1]
            made = {int(number): float(at) for number, at in edits}
            # On a busy machine the program itself comes late to its next edit, and to its snapshot as well.
            late = max(0.0, *(b - a - 1.3 for a, b in pairwise(made.values())))
            due = max((n for n, at in made.items() if at <= killed[path] - 2 - late), default=0)
            assert recovered[path] >= due
        for found in left.found:
            found.discard()


def test_ten_kills_while_saving_leave_a_whole_file_and_no_litter(tmp_path):
    check_kills_while_saving(tmp_path, 10)


def test_ten_kills_while_editing_lose_two_seconds_at_most_and_harm_no_file(tmp_path):
    check_kills_while_editing(tmp_path, 10)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_hundred_kills_while_saving_leave_a_whole_file_and_no_litter(tmp_path):
    check_kills_while_saving(tmp_path, 200)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_kills_while_editing_lose_two_seconds_at_most_and_harm_no_file(tmp_path):
    check_kills_while_editing(tmp_path, 100)
