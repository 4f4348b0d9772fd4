"""Actions made and edited with forms, through the real window: no programming and no JSON."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from designer import dialogs
from designer.panels.problems import ProblemsPanel
from designer.running import RunState
from engine import Json, load_project
from tests.engine.servers import listening
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_debugging_bounds import words

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

SAMPLE = Path(__file__).parents[2] / "samples" / "url-check"
KEY = Qt.Key
KINDS = ["setProperty", "templateToProperty", "readFile", "listFolder", "loadRows", "httpRequest"]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The sample without what its actions do."""
    folder = tmp_path / "url-check"
    shutil.copytree(SAMPLE, folder)
    project = folder / "treewright.json"
    described = json.loads(project.read_text())
    del described["actions"]
    project.write_text(json.dumps(described, indent=2) + "\n")
    return folder / "tree.json"


def focused(person: Driver) -> QWidget:
    window = QApplication.activeModalWidget() or person.window
    widget = window.focusWidget()
    assert widget is not None
    return widget


async def keys(person: Driver, *strokes: str | Qt.Key) -> None:
    """Type texts and press keys where the focus is."""

    def act() -> None:
        for stroke in strokes:
            if isinstance(stroke, str):
                QTest.keyClicks(focused(person), stroke)
            else:
                QTest.keyClick(focused(person), stroke)

    await by_hand(act)


async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A small page, whatever was asked."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\nConnection: close\r\n\r\nA form to log in")
    await writer.drain()
    writer.close()


async def active(person: Driver) -> None:
    person.window.activateWindow()
    await until(person.window.isActiveWindow)


async def begin(person: Driver) -> QListWidget:
    """Press the button that asks for a new action; the list of kinds, which has the focus."""
    await active(person)
    button = person.seen(QPushButton, "button.newAction")
    button.setFocus()
    await keys(person, KEY.Key_Space)
    await until(lambda: any(w.isVisible() for w in person.window.findChildren(QListWidget, "action.kinds")))
    kinds = person.seen(QListWidget, "action.kinds")
    await until(lambda: focused(person) is kinds)
    return kinds


def texts(person: Driver) -> list[str]:
    return [label.text() for label in person.window.findChildren(QLabel) if label.isVisible()]


def given(person: Driver) -> dict[str, Json]:
    """The parameters of the action that fetches."""
    parameters = person.window.workbench.project(person.document).actions["fetchPage"]["parameters"]
    assert isinstance(parameters, dict)
    return parameters


def unknown(person: Driver) -> list[str | None]:
    return [p.node for p in person.document.check_now() if p.code == "action-unknown"]


def field(person: Driver, name: str) -> QLineEdit | QPlainTextEdit:
    found = person.seen(QWidget, f"field.action.{name}")
    assert isinstance(found, QLineEdit | QPlainTextEdit)
    return found


def rewrite(editor: QLineEdit | QPlainTextEdit, text: str) -> None:
    editor.setFocus()
    editor.selectAll()
    QTest.keyClicks(editor, text)


@pytest.mark.socket
def test_the_sample_is_described_with_the_forms_alone_and_passes_its_cases(travel, bare: Path):
    async def journey(person: Driver) -> None:
        assert unknown(person) == ["fetch", "note"]
        await person.select("fetch")
        assert person.seen(QPushButton, "button.newAction").text() == "Describe this action…"
        await begin(person)
        await keys(person, *[KEY.Key_Down] * KINDS.index("httpRequest"), KEY.Key_Tab)
        assert isinstance(named := focused(person), QLineEdit)
        assert named.text() == "fetchPage"
        assert not person.seen(QPushButton, "button.add").isEnabled()
        assert "Still to be given: URL, Hosts." in texts(person)
        await keys(person, KEY.Key_Tab, "{{url}}", KEY.Key_Tab, "example.com", KEY.Key_Return, "127.0.0.1")
        rewrite(field(person, "timeout"), "soon")
        assert "Write a number, for example 0.5." in texts(person)
        assert "Put right first: Timeout." in texts(person)
        rewrite(field(person, "timeout"), "20")
        rewrite(field(person, "statusProperty"), "status")
        rewrite(field(person, "dataType"), "page")
        await keys(person, KEY.Key_Return)
        await until(lambda: unknown(person) == ["note"])
        await person.select("note")
        await begin(person)
        await keys(person, *[KEY.Key_Down] * KINDS.index("templateToProperty"), KEY.Key_Tab, KEY.Key_Tab)
        await keys(person, "checked", KEY.Key_Tab, "{{url}} answered {{status}}.")
        await person.press("button.add")
        await until(lambda: unknown(person) == [])
        assert person.document.undo_stack.count() == 2

        await person.show("cases")
        await until(lambda: person.seen(QPushButton, "button.runAll").isEnabled())
        await person.press("button.runAll")
        await until(lambda: words(person).startswith("7 passed, 0 failed."))
        assert load_project(bare.parent).actions == {}
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)
        ours, sample = load_project(bare.parent), load_project(SAMPLE)
        assert ours.actions["notePage"] == sample.actions["notePage"]
        assert ours.actions["fetchPage"] == {
            "kind": "httpRequest",
            "parameters": {
                "url": "{{url}}",
                "hosts": ["example.com", "127.0.0.1"],
                "timeout": 20,
                "statusProperty": "status",
                "dataType": "page",
            },
        }
        assert ours.parameters == sample.parameters

        async with listening(page) as port:
            await person.show("run")
            await person.type("input.url", f"http://127.0.0.1:{port}/page")
            person.window.run_command("run.start")
            await until(lambda: person.running.state is RunState.ASKING)
            await person.press("answer.yes")
            await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "as expected"
        assert person.result.state_properties["checked"] == f"http://127.0.0.1:{port}/page answered 200."

    travel(journey, bare)


def test_what_does_not_fit_is_said_at_its_field_and_never_reaches_the_tree(travel, bare: Path):
    shutil.copy(SAMPLE / "treewright.json", bare.parent)

    async def journey(person: Driver) -> None:
        await active(person)
        bench = person.window.workbench
        await person.select("fetch")
        before = bench.project(person.document).actions["fetchPage"]
        for name, wrong, said in (
            ("hosts", "no host at all", "Entry 1: a host is written"),
            ("timeout", "1000", "Timeout must be at most 300."),
            ("url", " ", "It is blank."),
        ):
            rewrite(field(person, name), wrong)
            assert any(text.startswith(said) for text in texts(person)), texts(person)
            assert bench.project(person.document).actions["fetchPage"] == before
            await keys(person, KEY.Key_Escape)
        rewrite(field(person, "timeout"), "5")
        assert given(person)["timeout"] == 5
        person.window.run_command("edit.undo")
        assert bench.project(person.document).actions["fetchPage"] == before

    travel(journey, bare)


def test_parameters_that_are_not_set_are_folded_and_nothing_written_unsets_one(travel, bare: Path):
    shutil.copy(SAMPLE / "treewright.json", bare.parent)

    async def journey(person: Driver) -> None:
        await active(person)
        await person.select("fetch")
        assert not any(w.isVisible() for w in person.window.findChildren(QWidget, "field.action.headers"))
        assert person.seen(QPushButton, "button.moreParameters").text() == "6 more parameters…"
        await person.press("button.moreParameters")
        rewrite(field(person, "headers"), "Accept = text/html")
        assert given(person)["headers"] == {"Accept": "text/html"}
        await keys(person, KEY.Key_A)
        editor = field(person, "headers")
        editor.selectAll()
        await keys(person, KEY.Key_Delete)
        assert "headers" not in given(person)

    travel(journey, bare)


def test_an_action_that_would_fail_at_once_is_a_warning_at_its_nodes(travel, bare: Path):
    outside = {"kind": "readFile", "parameters": {"path": "a.txt", "folder": "..", "property": "text"}}
    inner = {"kind": "subTree", "parameters": {"tree": "gone.json", "verdictProperty": "v"}}
    bare.with_name("treewright.json").write_text(
        json.dumps({"actions": {"fetchPage": outside, "notePage": inner}})
    )

    async def journey(person: Driver) -> None:
        panel = person.window.findChild(ProblemsPanel)
        assert panel is not None
        await until(lambda: len(panel.table.rows) >= 2)
        found = {p.node: p.message for p in person.document.problems if p.code == "action-unusable"}
        assert found.keys() == {"fetch", "note"}
        assert "is outside the project's own" in found["fetch"]
        assert "'gone.json' cannot be read" in found["note"]
        await person.select("note")
        rewrite(field(person, "tree"), "tree.json")
        await until(lambda: "cannot be read" not in str(person.document.problems))

    travel(journey, bare)


def test_an_action_another_program_changed_meanwhile_is_asked_about_by_its_file(
    travel, bare: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copy(SAMPLE / "treewright.json", bare.parent)
    project = bare.with_name("treewright.json")
    answers, asked, shown = ["difference", "keep"], list[str](), list[str]()

    async def ask(_parent: object, name: str, *, gone: bool) -> str:
        assert not gone
        asked.append(name)
        return answers.pop(0)

    async def show(_parent: object, _name: str, text: str) -> None:
        shown.append(text)

    monkeypatch.setattr(dialogs, "ask_changed_outside", ask)
    monkeypatch.setattr(dialogs, "show_difference", show)

    async def journey(person: Driver) -> None:
        await person.select("note")
        rewrite(field(person, "property"), "mine")
        theirs = project.read_text().replace('"checked"', '"theirs"')
        project.write_text(theirs)
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)
        assert asked == ["treewright.json", "treewright.json"]
        assert '+        "property": "mine",' in shown[0]
        assert project.read_text() == theirs.replace('"theirs"', '"mine"')

    travel(journey, bare)
