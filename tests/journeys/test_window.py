"""The window itself: opening what cannot be opened, closing, running what comes along, and its commands."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QWidget

from designer import dialogs, resource
from designer.actions import table
from designer.running import RunState
from designer.settings import Settings
from designer.window import OWNERS
from tests.builders import as_bytes, as_json, condition_tree
from tests.journeys.driving import Driver, until

EVIDENCE = resource("samples/evidence-classification/tree.json")
SSVC = resource("samples/ssvc-deployer/tree.json")


def answering(monkeypatch: pytest.MonkeyPatch, name: str, answer: object) -> list[tuple[object, ...]]:
    """Answer this dialog; what it was asked."""
    asked: list[tuple[object, ...]] = []

    async def reply(_parent: object, *rest: object, **_named: object) -> object:
        asked.append(rest)
        return answer

    monkeypatch.setattr(dialogs, name, reply)
    return asked


# ------------------------------------------------------------------------------------------ opening


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{ not json", "Line 1"),
        (b'{"treeId": "a", "treeId": "b"}', "Line 1, column 17"),
        (b'{"treeId": 5, "version": 1, "startNodeId": "a", "nodes": {}}', "Line 1"),
        (b"\xff\xfe", "cannot be edited as a tree"),
    ],
)
def test_a_file_that_is_no_tree_is_shown_as_text_with_the_place_and_kept(travel, tmp_path, data, words):
    path = tmp_path / "broken.json"
    path.write_bytes(data)

    async def journey(person: Driver) -> None:
        page = person.window.pages.text
        assert page.isVisible()
        assert words in page.problems
        assert person.window.workbench.current is None
        assert not person.window.run_command("file.save")

    travel(journey, path)
    assert path.read_bytes() == data


def test_a_file_that_is_not_there_is_told_and_nothing_is_made(travel, tmp_path):
    path = tmp_path / "missing.json"

    async def journey(person: Driver) -> None:
        assert "missing.json" in person.window.pages.text.problems

    travel(journey, path)
    assert list(tmp_path.iterdir()) == []


def test_members_nobody_knows_are_warned_about_and_kept(travel, tmp_path):
    document = as_json(condition_tree())
    document["colour"] = "blue"
    path = tmp_path / "tree.json"
    path.write_bytes(as_bytes(document))

    async def journey(person: Driver) -> None:
        person.document.check_now()
        assert [p.code for p in person.document.problems if p.severity == "warning"][:1] == ["member-unknown"]
        person.document.edit(
            "Rename", lambda draft: type(draft)(draft.tree.replace(name="New"), draft.places)
        )
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)

    travel(journey, path)
    assert b'"colour": "blue"' in path.read_bytes()


def test_opening_a_file_twice_shows_the_document_that_is_open(travel):
    async def journey(person: Driver) -> None:
        person.window.open_path(SSVC)
        assert len(person.window.workbench.documents) == 1

    travel(journey, SSVC)


def test_an_opened_file_is_among_the_recent_ones(travel):
    async def journey(person: Driver) -> None:
        assert Settings.load().recent_files == (SSVC,)

    travel(journey, SSVC)


def test_cases_of_another_tree_are_told_and_left_out(travel, tmp_path):
    path = tmp_path / "tree.json"
    path.write_bytes(SSVC.read_bytes())
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "tree": {"id": "another"}}\n{"id": "b"}\n')

    async def journey(person: Driver) -> None:
        assert [case.id for case in person.window.workbench.cases] == ["b"]
        assert "cases.jsonl, line 1" in (person.window.workbench.case_trouble or "")

    travel(journey, path)


# ------------------------------------------------------------------------------------------ closing


@pytest.mark.parametrize(("choice", "closes"), [("discard", True), ("cancel", False)])
def test_closing_a_changed_tree_asks_first(travel, monkeypatch, choice, closes):
    asked = answering(monkeypatch, "ask_save_changes", choice)

    async def journey(person: Driver) -> None:
        person.window.run_command("file.new")
        person.add("terminal")
        person.window.close()
        await until(lambda: asked)
        await until(lambda: person.window.isHidden() is closes)
        assert bool(person.window.workbench.documents) is not closes

    travel(journey)


def test_closing_without_changes_does_not_ask(travel, monkeypatch):
    asked = answering(monkeypatch, "ask_save_changes", "cancel")

    async def journey(person: Driver) -> None:
        person.window.close()
        await until(person.window.isHidden)
        assert asked == []

    travel(journey, SSVC)


def test_closing_ends_a_run_that_waits_for_an_answer(travel):
    async def journey(person: Driver) -> None:
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ASKING)
        outcomes = person.outcomes()
        person.window.close()
        await until(person.window.isHidden)
        assert outcomes == ["Cancelled"]

    travel(journey, SSVC)


def test_a_file_changed_outside_is_not_overwritten_without_asking(travel, tmp_path, monkeypatch):
    path = tmp_path / "tree.json"
    path.write_bytes(SSVC.read_bytes())
    asked = answering(monkeypatch, "ask_changed_outside", None)

    async def journey(person: Driver) -> None:
        path.write_bytes(b"{}")
        person.document.edit(
            "Rename", lambda draft: type(draft)(draft.tree.replace(name="New"), draft.places)
        )
        person.window.run_command("file.save")
        await until(lambda: asked)
        assert not person.document.clean

    travel(journey, path)
    assert path.read_bytes() == b"{}"


# ------------------------------------------------------------------------------------------ running


def test_a_case_of_the_sample_runs_to_its_published_verdict_with_its_path_lit(travel):
    async def journey(person: Driver) -> None:
        bench = person.window.workbench
        case = bench.cases[-1]
        bench.running.choose_case(case)
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == case.expect.verdict == "immediate"
        for visit in person.result.path:
            assert person.card(visit.node).marks.visits == 1
        assert person.window.message == "Ended with the verdict immediate."

    travel(journey, SSVC)


def test_the_code_of_a_project_runs_only_after_the_person_agreed(travel, monkeypatch):
    asked = answering(monkeypatch, "ask_trust", answer=True)

    async def journey(person: Driver) -> None:
        await until(lambda: asked)
        await until(lambda: person.running.reason_not_ready(person.document) is None)
        assert Settings.load().trusted_folders == (EVIDENCE.parent,)
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ASKING)
        await person.press("answer.supported")
        await until(lambda: person.running.state is RunState.ENDED)
        assert person.result.verdict == "supported"
        assert (person.result.usage.node_visits, person.result.usage.llm_calls) == (4, 1)

    travel(journey, EVIDENCE)


def test_a_refused_folder_is_opened_without_its_code(travel, monkeypatch):
    asked = answering(monkeypatch, "ask_trust", answer=False)

    async def journey(person: Driver) -> None:
        await until(lambda: asked)
        reason = person.running.reason_not_ready(person.document)
        assert reason is not None
        assert "'collectEvidence'" in reason
        assert Settings.load().trusted_folders == ()

    travel(journey, EVIDENCE)


# ------------------------------------------------------------------------------------------ commands


def test_every_command_has_an_id_a_title_and_keys_of_its_own():
    commands = table(*OWNERS)
    ids = [id_ for id_, _, _ in commands]
    keys = [key for _, _, shown in commands for key in shown.split(", ") if key]
    assert len(set(ids)) == len(ids)
    assert len(set(keys)) == len(keys)
    assert all(title for _, title, _ in commands)


def test_the_list_of_commands_is_what_the_window_has(travel):
    async def journey(person: Driver) -> None:
        assert [made.id for made, _ in person.window.commands] == [id_ for id_, _, _ in table(*OWNERS)]

    travel(journey)


def test_every_command_can_be_asked_for_on_the_start_page(travel, monkeypatch):
    answering(monkeypatch, "ask_open", None)

    async def journey(person: Driver) -> None:
        skipped = {"file.quit", "file.open-sample", "file.new"}
        for id_, _, _ in table(*OWNERS):
            if id_ not in skipped:
                person.window.run_command(id_)
        assert person.window.isVisible()

    travel(journey)


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_the_chosen_appearance_is_kept(travel, mode):
    async def journey(person: Driver) -> None:
        person.window.run_command(f"view.{mode}")
        assert Settings.load().theme == mode

    travel(journey, SSVC)


def test_undo_and_redo_go_through_the_window(travel):
    async def journey(person: Driver) -> None:
        before = person.document.draft
        person.window.run_command("edit.layout")
        person.add("condition")
        while person.window.run_command("edit.undo"):
            pass
        assert person.document.draft == before
        assert person.document.clean

    travel(journey, SSVC)


def test_the_wheel_takes_no_focus_anywhere(travel):
    async def journey(person: Driver) -> None:
        for node in person.document.draft.tree.nodes:
            await person.select(node)
            wheeled = [
                (type(part).__name__, part.objectName())
                for part in person.window.findChildren(QWidget)
                if part.focusPolicy() is Qt.FocusPolicy.WheelFocus
            ]
            assert wheeled == []

    travel(journey, EVIDENCE)


def test_a_run_names_its_steps_as_every_list_does(travel, monkeypatch):
    async def journey(person: Driver) -> None:
        steps: list[list[tuple[str, bool]]] = []
        monkeypatch.setattr(person.window.canvas, "set_breadcrumb", steps.append)
        person.window.run_command("run.start")
        await until(lambda: person.running.state is RunState.ASKING)
        person.running.answer("active")
        await until(lambda: len(steps[-1]) > 2 and person.running.state is RunState.ASKING)
        assert steps[-1] == [("Exploitation", False), ("active", True), ("System exposure · active", False)]
        answers = person.seen(QComboBox, "answers")
        assert [answers.itemText(i) for i in range(3)] == ["ask me", "set up a model…", "row-0"]
        person.running.cancel()

    travel(journey, SSVC)
