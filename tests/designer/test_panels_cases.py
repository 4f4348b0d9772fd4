"""The cases panel: how cases stand with an edited tree, running them, making and migrating them."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from designer import casework, dialogs
from designer.document import edits
from designer.document.cases import in_words
from designer.document.document import Document
from designer.document.files import SaveFailed
from designer.panels.cases import CasesPanel
from designer.tasks import cancel_all
from designer.workbench import Workbench
from engine import ActionResult, FunctionAction, FunctionPredicate, standard_catalog
from engine.evaluate import missing
from tests.builders import action, as_bytes, as_json, classify, condition, terminal, tree
from tests.designer.waiting import until

PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "ask"}, unknown="ask", name="Size"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
)
PAID = {
    "id": "paid",
    "answers": {"gate": "yes", "size": "small"},
    "expect": {"verdict": "pay", "outcome": "Terminal", "path": ["gate", "size", "pay"]},
}
REFUSED = {"id": "refused", "answers": {"gate": "no"}, "expect": {"verdict": "refuse"}}


@pytest.fixture(autouse=True)
def at_once(monkeypatch) -> None:
    monkeypatch.setattr(casework, "SOON_MS", 0)


@pytest.fixture
def drive(aloop, bench):
    def run(story):
        async def whole():
            try:
                await story()
            finally:
                await cancel_all()
                bench.close()

        aloop.run_until_complete(whole())

    return run


@pytest.fixture
def panel(qtbot, bench) -> CasesPanel:
    panel = CasesPanel(bench)
    qtbot.addWidget(panel)
    panel.resize(1000, 260)
    panel.show()
    return panel


class Desk:
    """An open tree with cases beside it, and their panel."""

    def __init__(self, bench: Workbench, panel: CasesPanel, folder: Path, plan, *cases: object) -> None:
        self.bench, self.panel = bench, panel
        (folder / "plan.json").write_bytes(as_bytes(as_json(plan)))
        self.file = folder / "cases.jsonl"
        if cases:
            self.file.write_bytes(b"".join(c if isinstance(c, bytes) else line(c) for c in cases))
        opened = Document.open(folder / "plan.json")
        assert isinstance(opened, Document)
        self.document = opened
        bench.add(opened)

    @property
    def words(self) -> str:
        return self.panel.words.text()

    def states(self) -> list[tuple[str, str]]:
        return [(entry.name, self.panel._state(entry)) for entry in self.panel.work.listed.entries]

    def tried(self) -> list[str]:
        table = self.panel.table
        return [table.model().index(row, 3).data() for row in range(len(table.rows))]

    async def looked(self, count: int) -> None:
        await until(lambda: len(self.panel.table.rows) == count)

    async def settled(self) -> None:
        """Wait until the tree as it is now has been looked at."""
        work = self.panel.work
        await until(lambda: work._seen and work._seen.wanted.tree is self.document.draft.tree)
        await until(lambda: self.panel.table.rows is work.listed.entries)

    def edit(self, change, *arguments) -> None:
        assert self.document.edit("Edit", lambda draft: change(draft, *arguments))

    def press(self, name: str) -> None:
        self.panel._buttons[name].click()

    def may(self, name: str) -> str:
        """Empty when it may be pressed, else why not."""
        button = self.panel._buttons[name]
        return "" if button.isEnabled() else button.toolTip()


def line(case: object) -> bytes:
    return json.dumps(case).encode() + b"\n"


def test_the_cases_are_listed_with_what_they_expect(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, REFUSED)
        await desk.looked(2)
        assert desk.states() == [("paid", "Still valid"), ("refused", "Still valid")]
        assert [panel.table.model().index(row, 1).data() for row in (0, 1)] == ["pay", "refuse"]
        assert desk.words == "2 cases: 2 still valid. They take 3 of 6 branches."
        assert panel.windowTitle() == "Cases"
        assert not panel.stop.isVisible()

    drive(story)


def test_without_cases_it_says_what_they_are_for(drive, bench, panel, tmp_path):
    assert panel.empty.text == "No tree is open The cases beside an open tree are listed here."

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN)
        await until(lambda: not desk.may("addCases"))
        assert panel.empty.text.startswith("No cases yet A case fixes answers")
        assert desk.may("runAll") == "There are no cases yet."
        bench.add(Document.new())
        await until(lambda: desk.may("addCases"))

    drive(story)


def test_a_file_that_cannot_be_read_says_so(drive, bench, panel, tmp_path):
    async def story():
        (tmp_path / "cases.jsonl").mkdir()
        desk = Desk(bench, panel, tmp_path, PLAN)
        await until(lambda: panel.empty.text.startswith("No cases can be shown"))
        assert "Is a directory" in desk.may("addCases")

    drive(story)


def test_an_edit_tells_of_each_case_what_becomes_of_it(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, REFUSED)
        await desk.looked(2)
        desk.edit(edits.set_answers, "size", ("tiny", "large"))
        desk.edit(edits.set_field, "refuse", "verdict", "rejected")
        await desk.settled()
        assert desk.states() == [
            ("paid", "Can be migrated: 'size' takes 'tiny' instead of 'small'"),
            ("refused", "Broken: Verdict: expected 'refuse', got 'rejected'"),
        ]
        assert panel.windowTitle() == "Cases · 1 broken"
        assert desk.words == "2 cases: 1 can be migrated, 1 broken. They take 2 of 6 branches."
        desk.document.undo()
        desk.document.undo()
        await desk.settled()
        assert [state for _, state in desk.states()] == ["Still valid", "Still valid"]

    drive(story)


def test_a_broken_case_names_its_step_and_leads_to_the_node(drive, bench, panel, tmp_path):
    shown: list[str] = []
    bench.reveal_requested.connect(shown.append)

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, REFUSED)
        await desk.looked(2)
        desk.edit(edits.set_answers, "size", ("tiny", "little", "large"))
        for answer in ("tiny", "little"):
            connect = partial(edits.connect, source="size", branch=answer, target="pay")
            desk.document.edit("Connect", connect)
        await desk.settled()
        broken, valid = panel.work.listed.entries
        assert desk.states()[0][1] == "Broken at step 2, Size: 'small' is no branch of 'size' now."
        panel.table.opened.emit(valid)
        assert (shown, desk.document.selection) == ([], frozenset())
        cell = panel.table.visualRect(panel.table.model().index(0, 0)).center()
        QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, pos=cell)
        assert (shown, desk.document.selection) == (["size"], frozenset({"size"}))
        assert panel.table.row is broken

    drive(story)


def test_pins_of_nodes_that_are_gone_and_lines_that_are_no_cases_are_never_dropped(
    drive, bench, panel, tmp_path
):
    gone = {"id": "gone", "answers": {"nowhere": "yes"}}
    twice = {"id": "twice"}

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, gone, b"{\n", twice, twice, REFUSED)
        await desk.looked(5)
        states = dict(desk.states())
        assert "names node 'nowhere', which the tree does not have" in states["gone"]
        assert states["Line 2"].startswith("Broken: ")
        assert "have the same id 'twice'" in states["twice"]
        assert [entry.standing for entry in panel.work.listed.entries] == [*["broken"] * 4, "valid"]

    drive(story)


def test_while_the_tree_has_errors_it_tells_what_can_be_told(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, REFUSED)
        await desk.looked(2)
        desk.edit(edits.remove_nodes, {"size"})
        await desk.settled()
        assert [entry.standing for entry in panel.work.listed.entries] == ["broken", "open"]
        assert desk.states()[1] == ("refused", "Not known yet: The tree has errors.")
        assert desk.may("runAll") == desk.may("addCases") == "Mend the errors under Problems first."

    drive(story)


def test_a_renaming_that_is_not_saved_yet_breaks_nothing_but_is_not_written_into(
    drive, bench, panel, tmp_path
):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, REFUSED)
        await desk.looked(2)
        desk.edit(edits.rename_node, "size", "amount")
        await desk.settled()
        assert [entry.standing for entry in panel.work.listed.entries] == ["valid", "valid"]
        assert desk.may("addCases").startswith("Save the tree first.")
        bench.save(desk.document)
        await until(lambda: not desk.may("addCases"))
        assert b'"amount"' in desk.file.read_bytes()
        assert [entry.standing for entry in panel.work.listed.entries] == ["valid", "valid"]

    drive(story)


# -- running -------------------------------------------------------------------------------------------


def test_running_all_says_which_failed_and_how(drive, bench, panel, tmp_path):
    wrong = {**REFUSED, "id": "wrong", "expect": {"verdict": "pay"}}
    unfit = {"id": "unfit", "answers": {"gate": "perhaps"}}

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, wrong, unfit)
        await desk.looked(3)
        desk.press("runAll")
        await until(lambda: desk.words.startswith("1 passed, 2 failed."))
        assert desk.tried()[:2] == ["Passed", "Failed. Verdict: expected 'pay', got 'refuse'"]
        assert desk.tried()[2].startswith("Failed. Case 'unfit' gives node 'gate' the answer 'perhaps'")
        desk.edit(edits.set_field, "refuse", "verdict", "pay")
        await desk.settled()
        assert desk.tried()[0] == "Passed, before the last edit"
        assert desk.words.startswith("3 cases:")
        desk.press("runAll")
        await until(lambda: desk.words.startswith("2 passed, 1 failed."))

    drive(story)


def test_one_case_can_be_run_alone(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID, REFUSED)
        await desk.looked(2)
        assert desk.may("runCase") == "Choose a case first."
        panel.table.choose(1)
        desk.press("runCase")
        await until(lambda: desk.words.startswith("1 passed, 0 failed."))
        assert desk.tried() == ["", "Passed"]
        assert panel.table.row is panel.work.listed.entries[1]

    drive(story)


LOADING = tree(
    load=action("load", success="known", permanent="bad"),
    known=condition("isKnown", then="good", otherwise="bad"),
    good=terminal("good"),
    bad=terminal("bad"),
)
FOUND = {"id": "found", "expect": {"verdict": "good", "path": ["load", "known", "good"]}}


class Own:
    """Code of a project that counts how often it is asked, and may be held up."""

    def __init__(self, desk: Desk) -> None:
        self.asked: list[str] = []
        self.free = asyncio.Event()
        self.free.set()

        async def load(_context: object) -> ActionResult:
            self.asked.append("load")
            await self.free.wait()
            return ActionResult()

        def known(_context: object) -> bool:
            self.asked.append("known")
            return True

        desk.document.catalog = (
            standard_catalog()
            .with_actions([FunctionAction("load", load)])
            .with_predicates([FunctionPredicate("isKnown", known)])
        )


def test_code_of_the_project_runs_only_when_a_person_runs_the_case(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, LOADING, FOUND)
        own = Own(desk)
        await desk.looked(1)
        assert desk.states() == [("found", "Not known yet: It runs code of the project.")]
        assert desk.may("addCases").startswith("Run all first.")
        assert own.asked == []
        desk.press("runAll")
        await until(lambda: desk.words.startswith("1 passed, 0 failed."))
        assert own.asked == ["load", "known"]
        assert desk.states() == [("found", "Still valid")]
        assert desk.may("addCases") == ""

    drive(story)


def test_what_takes_long_says_how_far_it_is_and_can_be_cancelled(drive, bench, panel, tmp_path, monkeypatch):
    monkeypatch.setattr(panel.work._late, "interval", lambda: 0)
    panel.work._late.setInterval(0)
    pinned = {
        "id": "pinned",
        "actions": {"load": {"status": "permanentFailure"}},
        "expect": {"verdict": "bad"},
    }

    async def story():
        desk = Desk(bench, panel, tmp_path, LOADING, pinned, FOUND)
        own = Own(desk)
        own.free.clear()
        await desk.looked(2)
        desk.press("runAll")
        await until(lambda: desk.words == "Running case 2 of 2…")
        assert panel.stop.isVisible()
        assert desk.may("runAll") == "Wait until this is done, or cancel it."
        panel.stop.click()
        await until(lambda: not panel.work.busy)
        assert desk.words.startswith("Cancelled. 2 cases:")
        assert desk.tried() == ["Passed", ""]
        assert not panel.stop.isVisible()
        assert desk.may("runAll") == ""

    drive(story)


def test_another_document_ends_what_goes_on_for_this_one(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, LOADING, FOUND)
        own = Own(desk)
        own.free.clear()
        await desk.looked(1)
        desk.press("runAll")
        await until(lambda: own.asked)
        bench.add(Document.new())
        await until(lambda: not panel.work.busy)
        assert panel.work.listed.entries == ()
        bench.show_document(desk.document)
        await desk.looked(1)
        assert desk.tried() == [""]

    drive(story)


def test_a_panel_that_is_not_seen_looks_at_nothing(drive, bench, panel, tmp_path):
    panel.hide()

    async def story():
        Desk(bench, panel, tmp_path, PLAN, PAID)
        for _ in range(5):
            await asyncio.sleep(0.01)
        assert panel.work.listed.entries == ()
        panel.show()
        await until(lambda: panel.work.listed.entries)

    drive(story)


# -- writing -------------------------------------------------------------------------------------------


def test_missing_cases_are_written_after_those_that_are_there(drive, bench, panel, tmp_path):
    own = b'{"id": "own",   "answers": {"gate": "no"}, "expect": {"verdict": "refuse"}}\n'

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, own)
        await desk.looked(1)
        desk.press("addCases")
        await until(lambda: desk.words.startswith("4 cases added."))
        assert desk.file.read_bytes().startswith(own)
        assert desk.words.endswith("5 cases: 5 still valid. They take 6 of 6 branches.")
        assert [case.id for case in bench.cases] == ["own", "path-1", "path-2", "path-3", "path-4"]
        desk.press("runAll")
        await until(lambda: desk.words.startswith("5 passed, 0 failed."))
        desk.press("addCases")
        await until(lambda: desk.words.startswith("No case is missing."))

    drive(story)


def test_what_no_case_can_take_is_named_with_the_reason(drive, bench, panel, tmp_path):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN)
        desk.edit(edits.set_budget, "maxLlmCalls", 1)
        await until(lambda: not desk.may("addCases"))
        desk.press("addCases")
        await until(lambda: "added" in desk.words)
        assert (
            "gate → unknown cannot be taken: the limit of LLM calls must be 2 at least; it is 1."
            in desk.words
        )
        assert "So it is with" in desk.words

    drive(story)


def test_migrating_asks_once_and_writes_only_what_changes(drive, bench, panel, tmp_path, monkeypatch):
    asked: list[str] = []

    async def agree(_parent, title, _text, _buttons, *, detail):
        asked.append(f"{title} {detail}")
        return len(asked) > 1

    monkeypatch.setattr(dialogs, "ask", agree)

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, REFUSED, PAID)
        await desk.looked(2)
        assert desk.may("migrate") == "There is no case to migrate."
        desk.edit(edits.set_answers, "size", ("tiny", "large"))
        await desk.settled()
        before = desk.file.read_bytes()
        desk.press("migrate")
        await until(lambda: asked)
        assert asked == ["Migrate 1 case? paid: 'size' takes 'tiny' instead of 'small'"]
        assert desk.file.read_bytes() == before
        desk.press("migrate")
        await until(lambda: desk.words.startswith("1 case migrated."))
        assert desk.file.read_bytes().startswith(line(REFUSED))
        assert b'"size":"tiny"' in desk.file.read_bytes()
        assert [entry.standing for entry in panel.work.listed.entries] == ["valid", "valid"]

    drive(story)


def test_a_file_that_cannot_be_written_says_why(drive, bench, panel, tmp_path, monkeypatch):
    def fail(path: Path, _data: bytes) -> None:
        raise SaveFailed(path, "the disk is full")

    monkeypatch.setattr(casework, "save_bytes", fail)

    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID)
        await desk.looked(1)
        desk.press("addCases")
        await until(lambda: desk.words.startswith("cases.jsonl could not be written: the disk is full."))
        assert desk.file.read_bytes() == line(PAID)

    drive(story)


def test_cases_another_program_wrote_meanwhile_are_not_overwritten(
    drive, bench, panel, tmp_path, monkeypatch
):
    async def story():
        desk = Desk(bench, panel, tmp_path, PLAN, PAID)
        await desk.looked(1)
        found = missing

        def meanwhile(*arguments):
            desk.file.write_bytes(line(REFUSED))
            return found(*arguments)

        monkeypatch.setattr(casework, "missing", meanwhile)
        desk.press("addCases")
        await until(lambda: "have changed meanwhile" in desk.words)
        assert desk.file.read_bytes() == line(REFUSED)
        assert [entry.name for entry in panel.work.listed.entries] == ["refused"]

    drive(story)


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        ("verdict: expected 'a', got 'b'", "Verdict: expected 'a', got 'b'"),
        ("path[2]: expected 'a', got nothing", "Step 3: expected 'a', got nothing"),
        ("answers.a.b: expected 'a', got 'b'", "Answer at a.b: expected 'a', got 'b'"),
        ("The run failed: no", "The run failed: no"),
    ],
)
def test_differences_are_told_in_plain_words(difference: str, words: str):
    assert in_words(difference) == words
