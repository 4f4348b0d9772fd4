"""Commands: one decorated method is an action, a shortcut, a reason and a row of the command list."""

import subprocess
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QVBoxLayout, QWidget

from designer.actions import Commands, command, commands_of, table


class Desk(QWidget):
    """An owner of commands with a canvas, a text beside it, and a log of what was done."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[object] = []
        self.refusals: list[str] = []
        self.reason: str | None = None
        self.canvas = QWidget()
        self.canvas.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.text = QPlainTextEdit("read me")
        self.text.setReadOnly(True)
        column = QVBoxLayout(self)
        column.addWidget(self.canvas)
        column.addWidget(self.text)
        self.commands = Commands(self, [self], {"canvas": self.canvas}, self.refusals.append)

    @command("file.save", "&Save…", ["Ctrl+S"], lambda desk: desk.reason, "Store the tree")
    def save(self):
        self.done.append("save")

    @command("edit.delete", "Delete", ["Del", "Backspace"], scope="canvas")
    def delete(self):
        self.done.append("delete")

    @command("view.grid", "Grid", checkable=True)
    def grid(self, shown):
        self.done.append(shown)


@pytest.fixture
def desk(qtbot):
    desk = Desk()
    qtbot.addWidget(desk)
    desk.show()
    desk.activateWindow()
    qtbot.waitUntil(desk.isActiveWindow)
    return desk


def test_a_command_runs_its_method_by_id(desk):
    assert desk.commands.run("file.save")
    assert desk.done == ["save"]
    with pytest.raises(KeyError):
        desk.commands.run("file.burn")


def test_a_command_that_may_not_be_run_says_why(desk):
    desk.reason = "There is nothing to save."
    assert not desk.commands.run("file.save")
    assert desk.done == []
    assert desk.commands["file.save"].toolTip() == "There is nothing to save."
    desk.reason = None
    desk.commands.refresh()
    assert desk.commands["file.save"].isEnabled()
    assert desk.commands["file.save"].toolTip() == "Store the tree (Ctrl+S)"


def test_a_command_that_became_impossible_since_the_last_refresh_is_refused(desk):
    desk.reason = "There is nothing to save."
    desk.commands["file.save"].trigger()
    assert (desk.done, desk.refusals) == ([], ["There is nothing to save."])


def test_a_checkable_command_gets_its_new_state(desk):
    desk.commands.run("view.grid")
    desk.commands.run("view.grid")
    assert desk.done == [True, False]


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace])
def test_editing_keys_work_in_their_widget_only(desk, qtbot, key):
    desk.text.setFocus()
    qtbot.keyClick(desk.text, key)
    assert desk.done == []
    desk.canvas.setFocus()
    qtbot.keyClick(desk.canvas, key)
    assert desk.done == ["delete"]


def test_keys_of_the_window_work_everywhere(desk, qtbot):
    desk.text.setFocus()
    qtbot.keyClick(desk.text, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert desk.done == ["save"]


def test_a_menu_holds_the_commands_in_the_order_asked_for(desk):
    menu = QMenu(desk)
    desk.commands.fill(menu, ["edit.delete", "", "file.save"])
    assert [action.objectName() for action in menu.actions()] == ["edit.delete", "", "file.save"]
    assert menu.actions()[1].isSeparator()


def test_an_action_is_named_for_its_command(desk):
    assert [(made.id, action.objectName()) for made, action in desk.commands] == [
        (id, id) for id in commands_of(Desk)
    ]


class Drawer:
    """A second owner, which is no widget."""

    def __init__(self) -> None:
        self.reason: str | None = "It is locked."
        self.opened = 0

    @command("drawer.open", "Open", when=lambda drawer: drawer.reason)
    def open(self):
        self.opened += 1


def test_commands_of_several_owners_keep_the_owners_order_and_each_asks_its_own(desk):
    drawer, refused = Drawer(), list[str]()
    commands = Commands(desk, [drawer, desk], {"canvas": desk.canvas}, refused.append)
    assert [made.id for made, _ in commands] == [*commands_of(Drawer), *commands_of(Desk)]
    assert [row[0] for row in table(Drawer, Desk)] == [made.id for made, _ in commands]
    assert not commands.run("drawer.open")
    assert refused == ["It is locked."]
    drawer.reason = None
    assert commands.run("drawer.open")
    assert drawer.opened == 1


def test_two_commands_of_one_id_are_refused(desk):
    with pytest.raises(ValueError, match=r"two commands are called drawer\.open"):
        Commands(desk, [Drawer(), Drawer()])


def test_the_table_of_commands_needs_no_application():
    assert table(Desk) == [
        ("file.save", "Save", "Ctrl+S"),
        ("edit.delete", "Delete", "Del, Backspace"),
        ("view.grid", "Grid", ""),
    ]
    program = (
        "from PySide6.QtCore import QCoreApplication\n"
        "from designer.actions import command, table\n"
        "class Owner:\n"
        "    @command('a.b', 'Title', ['F5'])\n"
        "    def run(self): ...\n"
        "print(table(Owner), QCoreApplication.instance())\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[('a.b', 'Title', 'F5')] None\n"
