"""The main job through the real window: author, check, fix, save, export, run, look back."""

import json
from pathlib import Path

import pytest

from designer import dialogs
from designer.document.draft import Place
from designer.panels.meters import Meter
from designer.panels.records import RecordsPanel
from designer.panels.transcripts import TranscriptsPanel
from designer.running import RunState
from engine import ClassifyNode, read_tree
from tests.journeys.driving import Driver, until

QUESTION, REFUND, REFUSE = "classify", "terminal", "terminal-2"


async def draw(person: Driver) -> None:
    """A question with two answers and two terminals; only the answers are connected."""
    assert person.window.run_command("file.new")
    for kind, x, y in (("classify", 0, 0), ("terminal", 500, -150), ("terminal", 500, 150)):
        person.window.canvas.add_requested.emit(kind, Place(x, y))
    assert list(person.document.draft.tree.nodes) == [QUESTION, REFUND, REFUSE]
    person.window.run_command("view.fit")
    await person.select(QUESTION)
    await person.type("task", "Is the refund justified?")
    for number, word in enumerate(("yes", "no")):
        await person.press("button.addAnswer")
        await person.type(f"answers.{number}", word)
    for node_id, verdict in ((REFUND, "refund"), (REFUSE, "refuse")):
        await person.select(node_id)
        await person.type("verdict", verdict)
    person.window.run_command("view.fit")
    await person.connect(QUESTION, "yes", REFUND)
    await person.connect(QUESTION, "no", REFUSE)


async def save(person: Driver) -> None:
    person.window.run_command("file.save")
    await until(lambda: person.document.clean)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The files the person picks in the save dialog, in turn."""
    paths = [tmp_path / "refund.json", tmp_path / "refund.export.json"]
    left = list(paths)

    async def ask_save(*_: object) -> Path:
        return left.pop(0)

    monkeypatch.setattr(dialogs, "ask_save", ask_save)
    return paths


def test_a_drawn_tree_holds_what_was_typed_and_dragged(travel):
    async def journey(person: Driver) -> None:
        await draw(person)
        node = person.document.draft.tree.nodes[QUESTION]
        assert isinstance(node, ClassifyNode)
        assert (node.task, node.answers) == ("Is the refund justified?", ("yes", "no"))
        assert dict(node.targets) == {"yes": REFUND, "no": REFUSE}

    travel(journey)


def test_a_missing_branch_shows_in_list_and_card_and_refuses_run_and_export(travel, chosen):
    async def journey(person: Driver) -> None:
        await draw(person)
        assert [(p.code, p.node) for p in person.errors()] == [("transitions-incomplete", QUESTION)]
        await until(lambda: person.card(QUESTION).marks.severity == "error")
        assert person.window.docks["problems"].windowTitle() == "Problems 1"
        assert person.window.run_command("run.start")
        assert person.running.state is RunState.IDLE
        assert person.window.message == "Fix the error under Problems first."
        await person.select(REFUND)
        person.window.run_command("file.export")
        await until(lambda: person.document.selection == {QUESTION})
        assert not chosen[0].exists()
        await person.connect(QUESTION, "unknown", REFUSE)
        assert person.errors() == []
        await until(lambda: person.card(QUESTION).marks.severity != "error")

    travel(journey)


def test_a_finished_tree_is_saved_exported_and_opens_equal(travel, chosen):
    saved, exported = chosen

    async def journey(person: Driver) -> None:
        await draw(person)
        await person.connect(QUESTION, "unknown", REFUSE)
        assert not person.document.clean
        await save(person)
        person.window.run_command("file.export")
        await until(exported.exists)
        assert json.loads(exported.read_bytes()) == json.loads(saved.read_bytes())
        draft = person.document.draft
        person.window.workbench.remove(person.document)
        person.window.open_path(saved)
        assert (person.document.draft.tree, person.document.draft.places) == (draft.tree, draft.places)
        assert read_tree(saved.read_bytes()).tree == draft.tree

    travel(journey)


def test_a_run_is_stepped_with_lights_and_meters_and_leaves_a_transcript_and_a_record(travel, chosen):
    async def journey(person: Driver) -> None:
        await draw(person)
        await person.connect(QUESTION, "unknown", REFUSE)
        await save(person)
        person.window.run_command("run.step")
        await until(lambda: person.running.state is RunState.PAUSED)
        assert person.card(QUESTION).marks.words == "paused"

        person.window.run_command("run.step")
        await until(lambda: person.running.state is RunState.ASKING)
        assert person.question.answers == ("yes", "no")
        await person.press("answer.no")
        await until(lambda: person.running.state is RunState.PAUSED)
        assert person.card(QUESTION).marks.words == "✓ 1"
        assert person.card(QUESTION).marks.taken == {"no"}
        assert person.card(REFUSE).marks.state == "paused"
        assert person.seen(Meter, "meter.llmCalls").value == 1
        assert person.seen(Meter, "meter.nodeVisits").value == 1

        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ENDED)
        assert (person.result.outcome, person.result.verdict) == ("Terminal", "refuse")
        assert person.seen(Meter, "meter.nodeVisits").value == 2

        transcript = person.running.transcript_path
        assert transcript is not None
        assert transcript.read_text().startswith("# Agent task")
        await person.show("transcripts")
        shelf = person.seen(TranscriptsPanel, "panel.transcripts")
        await until(lambda: shelf.table.model().rowCount() == 1)
        await person.show("records")
        records = person.seen(RecordsPanel, "panel.records")
        await until(lambda: records.table.model().rowCount() == 1)

    travel(journey)
