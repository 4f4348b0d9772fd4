"""The list of problems is complete and fresh, and leads to the node and its field wherever they are shown."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from designer import dialogs, resource
from designer.panels.problems import ProblemsPanel
from engine import Problem, check
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_editing import key

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, CTRL = Qt.Key, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one's own, whose code the person does not trust yet."""

    async def refuse(*_: object) -> bool:
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
