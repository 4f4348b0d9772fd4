"""The list of problems is complete and fresh, and leads to the node and its field wherever they are shown."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from designer import dialogs, resource
from designer.document import edits
from designer.panels.problems import ProblemsPanel
from engine import Problem, check, write_tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import key

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one's own, whose code the person does not trust yet."""

    async def refuse(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(dialogs, "ask_trust", refuse)
    sample = resource("samples/evidence-classification/tree.json").parent
    return Path(shutil.copytree(sample, tmp_path / "evidence")) / "tree.json"


def listed(person: Driver) -> list[Problem]:
    rows = person.seen(ProblemsPanel, "panel.problems").table.rows
    return [row for row in rows if isinstance(row, Problem)]


def codes(person: Driver) -> set[tuple[str, str | None, str | None]]:
    return {(p.code, p.node, p.field) for p in listed(person)}


def everything(person: Driver) -> set[tuple[str, str | None, str | None]]:
    found = check(person.document.draft.tree, person.document.catalog)
    return {(p.code, p.node, p.field) for p in found}


def test_the_list_is_fresh_after_every_edit_undo_save_and_change_of_the_catalog(travel, evidence):
    async def journey(person: Driver) -> None:
        window, document = person.window, person.document
        await person.show("problems")
        first = codes(person)
        assert first == everything(person)
        assert any(code == "action-unknown" for code, _, _ in first)
        window.workbench.trust(evidence.parent)
        await until(lambda: codes(person) == everything(person) != first)
        known = codes(person)
        assert not any(code == "action-unknown" for code, _, _ in known)
        (end, *_) = [i for i, node in document.draft.tree.nodes.items() if node.type == "terminal"]
        document.select({end})
        await key(person, KEY.Key_Delete)
        await until(lambda: codes(person) != known)
        broken = codes(person)
        assert broken == everything(person)
        window.run_command("file.save")
        await until(lambda: document.clean)
        await until(lambda: codes(person) == broken)
        await key(person, KEY.Key_Z, CTRL)
        await until(lambda: codes(person) == known)
        await key(person, KEY.Key_Y, CTRL)
        await until(lambda: codes(person) == broken)
        window.run_command("file.new")
        await until(lambda: not listed(person))

    travel(journey, evidence)


def test_a_problem_opens_the_panel_and_the_tab_that_hide_its_field(travel, evidence):
    async def journey(person: Driver) -> None:
        window, document = person.window, person.document
        (question, *_) = [i for i, node in document.draft.tree.nodes.items() if node.type == "classify"]
        document.select({question})
        await person.type("task", " ")
        document.select(())
        await person.show("problems")
        await until(lambda: any((p.node, p.field) == (question, "task") for p in listed(person)))
        window.docks["inspector"].hide()
        table = person.seen(ProblemsPanel, "panel.problems").table
        row = next(n for n, p in enumerate(listed(person)) if (p.node, p.field) == (question, "task"))
        spot = table.visualRect(table.model().index(row, 0)).center()
        await by_hand(lambda: QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=spot))
        assert window.docks["inspector"].isVisible()
        assert document.selection == {question}
        assert window.focusWidget().objectName() == "field.task"

    travel(journey, evidence)


def offer(person: Driver) -> QMenu:
    """The menu that is open on a problem."""
    return person.seen(QMenu, "menu.problem")


def test_a_problem_is_fixed_by_keyboard_as_one_step_and_undo_brings_every_byte_back(travel, evidence):
    async def journey(person: Driver) -> None:
        document = person.document
        document.edit("Break", lambda draft: edits.disconnect(draft, "classify", "unsupported"))
        broken = write_tree(document.draft.tree)
        await person.show("problems")
        table = person.seen(ProblemsPanel, "panel.problems").table
        await until(lambda: any(p.code == "transitions-incomplete" for p in listed(person)))
        table.choose(next(n for n, p in enumerate(listed(person)) if p.code == "transitions-incomplete"))
        table.setFocus()
        await by_hand(lambda: QTest.keyClick(table, KEY.Key_Period, CTRL))
        await until(lambda: table.window().findChild(QMenu, "menu.problem") is not None)
        menu = offer(person)
        assert menu.actions()[0].text() == "Lead 'unsupported' to a new terminal"
        await by_hand(lambda: QTest.keyClick(menu, KEY.Key_Down))
        await by_hand(lambda: QTest.keyClick(menu, KEY.Key_Return))
        await until(lambda: document.draft.tree.nodes["classify"].targets.get("unsupported") == "undecided")
        assert document.undo_stack.undoText() == "Lead 'unsupported' to a new terminal"
        assert "undecided" in document.draft.places
        await until(lambda: not any(p.code == "transitions-incomplete" for p in listed(person)))
        await key(person, KEY.Key_Z, CTRL)
        assert write_tree(document.draft.tree) == broken

    travel(journey, evidence)


def test_all_problems_of_one_kind_are_fixed_at_once(travel, evidence):
    async def journey(person: Driver) -> None:
        document = person.document
        before = write_tree(document.draft.tree)
        document.edit(
            "Blank",
            lambda draft: edits.set_field(
                edits.set_field(draft, "collect", "name", " "), "verify", "name", " "
            ),
        )
        await person.show("problems")
        table = person.seen(ProblemsPanel, "panel.problems").table
        await until(lambda: sum(p.code == "node-name-blank" for p in listed(person)) == 2)
        table.choose(next(n for n, p in enumerate(listed(person)) if p.code == "node-name-blank"))
        row = table.currentIndex().row()
        spot = table.visualRect(table.model().index(row, 3)).center()
        await by_hand(lambda: QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=spot))
        await until(lambda: table.window().findChild(QMenu, "menu.problem") is not None)
        menu = offer(person)
        (every,) = [action for action in menu.actions() if action.text() == "Fix all 2 problems of this kind"]
        await by_hand(every.trigger)
        await until(lambda: not any(p.code == "node-name-blank" for p in listed(person)))
        assert write_tree(document.draft.tree) == before
        menu.close()

    travel(journey, evidence)


def test_a_problem_is_copied_with_its_place(travel, evidence):
    async def journey(person: Driver) -> None:
        person.document.edit("Blank", lambda draft: edits.set_field(draft, "verify", "name", " "))
        await person.show("problems")
        table = person.seen(ProblemsPanel, "panel.problems").table
        await until(lambda: any(p.code == "node-name-blank" for p in listed(person)))
        table.choose(next(n for n, p in enumerate(listed(person)) if p.code == "node-name-blank"))
        table.setFocus()
        await by_hand(lambda: QTest.keyClick(table, KEY.Key_C, CTRL))
        assert QGuiApplication.clipboard().text() == ("The name holds only blanks. (verify · Name)")

    travel(journey, evidence)
