"""Faults in slots, painting, filters, items, undo and tasks: the program lives, the document is intact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from designer.document.files import save_tree
from tests.designer.drafts import triage

ROOT = Path(__file__).parent.parent.parent

LIVE = """
import asyncio, json, logging, sys
from pathlib import Path
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QGraphicsRectItem
from designer import app, tasks
from designer.canvas.items import NodeItem
from designer.document import edits
from designer.window import MainWindow

class Boom(Exception):
    pass

def boom(*_, **__):
    raise Boom

async def boom_later():
    raise Boom

class Filter(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.User:
            raise Boom
        return False

class Item(QGraphicsRectItem):
    def itemChange(self, change, value):
        raise Boom

failing = []
painted = NodeItem.paint
def paint(*given):
    if failing:
        boom()
    painted(*given)
NodeItem.paint = paint

def moved():
    item = Item()
    item.setFlag(Item.GraphicsItemFlag.ItemSendsGeometryChanges)
    item.setPos(1, 1)

def in_slot(window, document):
    window.commands["view.fit"].triggered.connect(boom)
    window.commands["view.fit"].trigger()

def in_timer(window, document):
    QTimer.singleShot(0, boom)

def in_paint(window, document):
    # Again and again: each repaint fails.
    failing.append(True)
    for wait in (0, 10, 20):
        QTimer.singleShot(wait, lambda: [item.update() for item in window.canvas.scene().items()])
    QTimer.singleShot(30, failing.clear)

def in_filter(window, document):
    window.filter = Filter()
    window.installEventFilter(window.filter)
    QApplication.postEvent(window, QEvent(QEvent.Type.User))

def in_item(window, document):
    QTimer.singleShot(0, moved)

def in_change(window, document):
    QTimer.singleShot(0, lambda: document.edit("Boom", boom))

def in_listener(window, document):
    document.changed.connect(boom)
    document.edit("Rename", lambda d: edits.set_tree_field(d, "name", "New"))
    document.changed.disconnect(boom)
    document.undo()

def in_undo(window, document):
    document.edit("Rename", lambda d: edits.set_tree_field(d, "name", "New"))
    document.changed.connect(boom)
    document.undo()
    document.changed.disconnect(boom)

def in_task(window, document):
    tasks.launch(boom_later())

def in_callback(window, document):
    asyncio.get_running_loop().call_soon(boom)

class Log(logging.Handler):
    def emit(self, record):
        entries.append(record.exc_info[0].__name__)

async def live(window):
    document = window.workbench.current
    logging.getLogger("designer.app").addHandler(Log())
    logging.getLogger("designer.app").propagate = False
    before = document.draft
    globals()[sys.argv[2]](window, document)
    await asyncio.sleep(0.1)
    document.edit("Rename", lambda d: edits.set_tree_field(d, "name", "Saved"))
    window.workbench.save(document)
    result = {
        "entries": entries,
        "alive": window.isVisible(),
        "told": window.message,
        "intact": document.draft == edits.set_tree_field(before, "name", "Saved"),
    }
    print(json.dumps(result))
    window.close()

entries = []
shown = MainWindow.show
def show(window):
    shown(window)
    asyncio.get_running_loop().create_task(live(window))
MainWindow.show = show
sys.exit(app.main(Path(sys.argv[1])))
"""


@pytest.mark.parametrize(
    "place",
    [
        "in_slot",
        "in_timer",
        "in_paint",
        "in_filter",
        "in_item",
        "in_change",
        "in_listener",
        "in_undo",
        "in_task",
        "in_callback",
    ],
)
def test_a_fault_is_one_entry_in_the_log_and_costs_nothing(tmp_path, place):
    path = save_tree(triage(), path=tmp_path / "tree.json").path
    done = subprocess.run(
        [sys.executable, "-c", LIVE, str(path), place],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["entries"], told["alive"], told["intact"]) == (["Boom"], True, True)
    assert told["told"] == "Something went wrong (Boom). Your work is still here; save it to be safe."
    assert b'"name": "Saved"' in path.read_bytes()
