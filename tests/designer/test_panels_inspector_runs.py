"""In runs, at the end of the Node tab: where answers and results come from, pins, and cases made of them."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QDialog, QLineEdit, QPlainTextEdit, QPushButton, QWidget

from designer.document import edits, files
from designer.document.document import Document
from designer.panels.inspector import Inspector
from designer.running import ASK, LIVE, RunState, pinned, replayed
from designer.tasks import cancel_all
from engine.evaluate import Case, CaseResult, read_cases
from tests.designer.drafts import triage
from tests.designer.waiting import until


@pytest.fixture
def document(bench) -> Document:
    made = Document(triage())
    bench.add(made)
    return made


@pytest.fixture
def inspector(qtbot, bench, document) -> Inspector:
    made = Inspector(bench)
    qtbot.addWidget(made)
    made.resize(320, 900)
    made.show()
    return made


@pytest.fixture
def drive(aloop, bench):
    """Run a story in the loop, and end the run after it."""

    def run(story):
        async def whole():
            try:
                await story()
            finally:
                bench.running.cancel()
                await bench.running.ended()
                await cancel_all()

        aloop.run_until_complete(whole())

    return run


def find(inspector, name, kind=QWidget):
    (found,) = (w for w in inspector.findChildren(kind, name) if w.isVisible())
    return found


def there(inspector, name):
    return any(w.isVisible() for w in inspector.findChildren(QWidget, name))


def section(inspector):
    return find(inspector, "field.source", QComboBox).parentWidget()


def offers(inspector):
    combo = find(inspector, "field.source", QComboBox)
    return [combo.itemText(i) for i in range(combo.count())]


def refused(inspector):
    """The sources that cannot be chosen, and why."""
    combo = find(inspector, "field.source", QComboBox)
    return {
        combo.itemText(i): combo.itemData(i, Qt.ItemDataRole.ToolTipRole)
        for i in range(combo.count())
        if not combo.model().flags(combo.model().index(i, 0)) & Qt.ItemFlag.ItemIsEnabled
    }


def choose(inspector, name, text):
    combo = find(inspector, name, QComboBox)
    index = combo.findText(text)
    assert index >= 0
    combo.setCurrentIndex(index)
    combo.activated.emit(index)


def write(inspector, name, text):
    field = find(inspector, name)
    assert isinstance(field, QLineEdit | QPlainTextEdit)
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)


def source(bench, document, node):
    return bench.running.answering(document).chosen.get(node)


def test_each_node_that_gives_something_offers_where_it_comes_from(inspector, document):
    document.select({"ask"})
    assert offers(inspector) == ["As usual: ask me", "Ask me", "The model", "Pinned"]
    document.select({"load"})
    assert offers(inspector) == ["As usual: execute it", "Ask me", "Execute it", "Pinned"]
    document.select({"known"})
    assert offers(inspector) == ["As usual: check it", "Ask me", "Check it", "Pinned"]
    document.select({"good"})
    assert not there(inspector, "field.source")
    document.select({"ask", "load"})
    assert not there(inspector, "field.source")


def test_what_cannot_be_chosen_says_why(inspector, document):
    document.edit("Name", lambda d: edits.set_field(d, "ask", "name", "<b>Fine?</b>"))
    document.select({"ask"})
    assert refused(inspector) == {
        "The model": "<p>No model is set up that &#x27;&lt;b&gt;Fine?&lt;/b&gt;&#x27; could ask. "
        "Answer yourself, or pin the answer.</p>"
    }
    document.select({"load"})
    assert list(refused(inspector)) == ["Ask me"]
    assert "is no question" in refused(inspector)["Ask me"]


def test_as_usual_says_what_that_is(inspector, bench, document):
    document.select({"ask"})
    bench.running.choose_case(Case(id="row 7", answers={"ask": "no"}))
    assert offers(inspector)[0] == "As usual: case row 7"
    bench.running.choose_case(Case(id="row 8", replies={"ask": ("No.",)}))
    assert offers(inspector)[0] == "As usual: case row 8"
    bench.running.choose_case(Case(id="row 9"))
    assert offers(inspector)[0] == "As usual: ask me"
    bench.running.choose_otherwise(document, LIVE)
    assert offers(inspector)[0] == "As usual: the model"


def test_a_choice_is_told_to_the_run_and_is_no_step_of_the_document(inspector, bench, document):
    document.select({"ask"})
    choose(inspector, "field.source", "Ask me")
    assert source(bench, document, "ask") == ASK
    assert not there(inspector, "field.pin.0")
    choose(inspector, "field.source", "Pinned")
    assert source(bench, document, "ask") == pinned("yes")
    choose(inspector, "field.source", "As usual: ask me")
    assert source(bench, document, "ask") is None
    assert document.undo_stack.count() == 0
    assert document.clean


def test_pinning_begins_with_what_the_case_pins(inspector, bench, document):
    document.select({"ask"})
    bench.running.choose_case(Case(id="row 7", answers={"ask": ("no", "yes")}))
    choose(inspector, "field.source", "Pinned")
    assert source(bench, document, "ask") == pinned(("no", "yes"))
    bench.running.choose_source(document, "ask", None)
    bench.running.choose_case(Case(id="row 8", replies={"ask": ("No.",)}))
    choose(inspector, "field.source", "Pinned")
    assert source(bench, document, "ask") == pinned("yes")


@pytest.mark.parametrize(
    ("node", "words", "pin"),
    [
        ("ask", "no", "no"),
        ("ask", "unknown", "unknown"),
        ("known", "false", False),
        ("known", "true", True),
        ("load", "permanentFailure", CaseResult(status="permanentFailure")),
    ],
)
def test_every_way_on_can_be_pinned(inspector, bench, document, node, words, pin):
    document.select({node})
    choose(inspector, "field.source", "Pinned")
    choose(inspector, "field.pin.0", words)
    assert source(bench, document, node) == pinned(pin)


def test_visits_are_pinned_one_by_one(inspector, bench, document):
    document.select({"ask"})
    choose(inspector, "field.source", "Pinned")
    assert not there(inspector, "button.removeVisit.0")
    find(inspector, "button.addVisit", QPushButton).click()
    find(inspector, "button.addVisit", QPushButton).click()
    choose(inspector, "field.pin.1", "no")
    choose(inspector, "field.pin.2", "unknown")
    assert source(bench, document, "ask") == pinned(("yes", "no", "unknown"))
    find(inspector, "button.removeVisit.0").click()
    assert source(bench, document, "ask") == pinned(("no", "unknown"))
    find(inspector, "button.removeVisit.1").click()
    assert source(bench, document, "ask") == pinned("no")
    assert not there(inspector, "field.pin.1")


def test_the_whole_result_of_an_action_is_pinned(inspector, bench, document):
    document.select({"load"})
    choose(inspector, "field.source", "Pinned")
    write(inspector, "field.pin.0.summary", "One order")
    write(inspector, "field.pin.0.properties", '{"order": "A-17"}')
    write(
        inspector,
        "field.pin.0.data",
        '[{"type": "text", "id": "mail", "source": "crm", "content": "Hello"}]',
    )
    assert source(bench, document, "load").pin.model_dump(exclude_unset=True) == {
        "status": "success",
        "summary": "One order",
        "properties": {"order": "A-17"},
        "data": ({"id": "mail", "source": "crm", "type": "text", "content": "Hello"},),
    }
    assert find(inspector, "field.pin.0.data").toPlainText().startswith('[{"type"')
    assert not there(inspector, "field.pin.0.error")
    choose(inspector, "field.pin.0", "transientFailure")
    write(inspector, "field.pin.0.error", "Locked")
    assert source(bench, document, "load").pin.error == "Locked"
    assert not there(inspector, "field.pin.0.summary")
    choose(inspector, "field.pin.0", "success")
    assert source(bench, document, "load").pin.error is None
    assert find(inspector, "field.pin.0.summary").text() == "One order"


@pytest.mark.parametrize(
    ("member", "text", "words"),
    [
        ("properties", "{", 'Write an object of texts, for example {"order": "A-17"}.'),
        ("properties", "[1]", 'Write an object of texts, for example {"order": "A-17"}.'),
        ("properties", '{"n": 3}', "'n' is no text; write its value in quotation marks."),
        ("data", '{"id": "a"}', "Write a list of data items, for example [{"),
        ("data", "[", "Write a list of data items, for example [{"),
        ("data", "[3]", "Item 1 is no object with id, source, type and content."),
        ("data", '[{"id": "a"}]', "Item 1 needs 'source'."),
        (
            "data",
            '[{"id": "a", "source": "s", "type": "t", "content": 3}]',
            "Item 1 has a 'content' that is no text; write it in quotation marks.",
        ),
        (
            "data",
            '[{"id": "a", "source": "s", "type": "t", "content": "c", "size": "3"}]',
            "Item 1 has 'size', which no data item has.",
        ),
    ],
)
def test_json_that_is_no_result_stays_with_the_reason_and_pins_nothing_new(
    inspector, bench, document, member, text, words
):
    document.select({"load"})
    choose(inspector, "field.source", "Pinned")
    field = find(inspector, f"field.pin.0.{member}")
    write(inspector, f"field.pin.0.{member}", text)
    written = field.toPlainText()
    assert words.removesuffix(".") in field.parentWidget().note.text
    assert written.startswith(text[:3])
    assert source(bench, document, "load") == pinned(CaseResult(status="success"))


def test_empty_json_pins_nothing_and_is_not_taken_away_while_it_is_typed(inspector, bench, document):
    document.select({"load"})
    choose(inspector, "field.source", "Pinned")
    write(inspector, "field.pin.0.properties", "{}")
    assert find(inspector, "field.pin.0.properties").toPlainText() == "{}"
    assert source(bench, document, "load") == pinned(CaseResult(status="success"))


def test_nothing_of_one_node_is_shown_at_another(inspector, bench, document):
    document.edit("Type", lambda d: edits.change_kind(d, "known", "action"))
    document.select({"load"})
    choose(inspector, "field.source", "Pinned")
    write(inspector, "field.pin.0.properties", "{broken")
    document.select({"known"})
    assert offers(inspector)[0] == "As usual: execute it"
    assert find(inspector, "field.source", QComboBox).currentIndex() == 0
    choose(inspector, "field.source", "Pinned")
    assert find(inspector, "field.pin.0.properties").toPlainText() == ""
    document.select({"load"})
    assert find(inspector, "field.source", QComboBox).currentText() == "Pinned"


def test_a_pinned_answer_that_is_called_otherwise_now_is_said_to_be_missing(inspector, bench, document):
    document.select({"ask"})
    choose(inspector, "field.source", "Pinned")
    document.edit("Answers", lambda d: edits.set_answers(d, "ask", ["surely", "no"]))
    assert section(inspector).note.text.startswith("'yes', pinned at 'ask', is none of its answers")
    assert find(inspector, "field.pin.0", QComboBox).placeholderText() == "yes is missing"
    choose(inspector, "field.pin.0", "surely")
    assert section(inspector).note.text == ""
    assert source(bench, document, "ask") == pinned("surely")


def test_a_pin_follows_its_node_to_a_new_id(inspector, document):
    document.select({"ask"})
    choose(inspector, "field.source", "Pinned")
    document.edit("Rename", lambda d: edits.rename_node(d, "ask", "question"))
    assert find(inspector, "field.source", QComboBox).currentText() == "Pinned"


def test_a_recorded_run_is_offered_where_it_came_by(inspector, bench, document, drive):
    async def story():
        document.edit("Start", lambda d: edits.set_start(d, "ask"))
        document.edit("Remove", lambda d: edits.remove_nodes(d, {"load"}))
        document.select({"ask"})
        bench.running.start(document)
        await until(lambda: bench.running.state is RunState.ASKING)
        assert len(offers(inspector)) == 4
        bench.running.answer("yes")
        await until(lambda: bench.running.state is RunState.ENDED)
        assert offers(inspector)[4:] == ["As in Run 1"]
        choose(inspector, "field.source", "As in Run 1")
        assert source(bench, document, "ask") == replayed(bench.running.shown.recording)
        document.select({"known"})
        assert len(offers(inspector)) == 4
        bench.running.forget()
        document.select({"ask"})
        assert find(inspector, "field.source", QComboBox).currentText() == "As in Run 1"

    drive(story)


def test_the_choice_of_another_document_is_its_own(inspector, bench, document):
    document.select({"ask"})
    choose(inspector, "field.source", "Pinned")
    other = Document(triage())
    bench.add(other)
    other.select({"ask"})
    assert find(inspector, "field.source", QComboBox).currentIndex() == 0
    bench.show_document(document)
    assert find(inspector, "field.source", QComboBox).currentText() == "Pinned"


def test_choices_go_on_being_shown_after_other_kinds_of_nodes_were(inspector, bench, document):
    for node in ("ask", "load", "good", "known", "ask"):
        document.select({node})
    bench.running.choose_source(document, "ask", pinned("no"))
    assert find(inspector, "field.pin.0", QComboBox).currentText() == "no"


def test_the_field_can_be_gone_to(inspector, document):
    inspector.focus_field("ask", "source")
    assert inspector.focusWidget() is find(inspector, "field.source")


# -- pins as a case ------------------------------------------------------------------------------------


@pytest.fixture
def stored(bench, inspector, tmp_path) -> Document:
    """A document with a file, and a case beside it without a line end."""
    path = tmp_path / "triage.json"
    files.save_tree(triage(), None, path)
    (tmp_path / "cases.jsonl").write_bytes(b'{"id": "pinned-1", "answers": {"ask": "yes"}}')
    made = Document.open(path)
    assert isinstance(made, Document)
    bench.add(made)
    made.select({"ask"})
    return made


async def dialog_of(inspector):
    await until(lambda: inspector.findChildren(QDialog))
    (dialog,) = inspector.findChildren(QDialog)
    return dialog


def test_pins_are_kept_as_a_case_only_of_a_tree_that_has_a_file(inspector, bench, document):
    document.select({"ask"})
    assert not there(inspector, "button.keepPins")
    choose(inspector, "field.source", "Pinned")
    keep = find(inspector, "button.keepPins", QPushButton)
    assert keep.text() == "Keep this pin as a case…"
    assert not keep.isEnabled()
    assert keep.toolTip() == "Save the tree first. Its cases are kept beside it."
    bench.running.choose_source(document, "known", pinned(True))
    assert keep.text() == "Keep the 2 pins as a case…"


def test_pins_are_kept_as_a_line_beside_the_tree_under_a_name_that_is_free(
    inspector, bench, stored, drive, tmp_path
):
    async def story():
        choose(inspector, "field.source", "Pinned")
        bench.running.choose_source(stored, "load", pinned(CaseResult(status="success")))
        find(inspector, "button.keepPins", QPushButton).click()
        dialog = await dialog_of(inspector)
        name = dialog.findChild(QLineEdit, "case.name")
        keep = dialog.findChild(QPushButton, "button.keep")
        assert name.text() == "pinned-2"
        name.selectAll()
        QTest.keyClicks(name, "pinned-1")
        assert not keep.isEnabled()
        QTest.keyClick(name, Qt.Key.Key_Backspace)
        QTest.keyClicks(name, "9")
        verdict = dialog.findChild(QComboBox, "case.verdict")
        assert [verdict.itemText(i) for i in range(verdict.count())] == ["Any", "supported", "refused"]
        assert verdict.currentText() == "Any"
        verdict.setCurrentText("supported")
        keep.click()
        await until(lambda: len(bench.cases) == 2)
        assert section(inspector)._kept.text == "Kept as pinned-9 in cases.jsonl."

    drive(story)
    first, second = (tmp_path / "cases.jsonl").read_text().splitlines()
    assert first == '{"id": "pinned-1", "answers": {"ask": "yes"}}'
    assert json.loads(second) == {
        "id": "pinned-9",
        "answers": {"ask": "yes"},
        "actions": {"load": {"status": "success"}},
        "expect": {"verdict": "supported"},
    }
    assert read_cases(tmp_path / "cases.jsonl", stored.draft.tree)[1] == ()


def test_the_verdict_of_a_run_with_these_pins_is_proposed(inspector, bench, stored, drive):
    async def story():
        bench.running.choose_source(stored, "load", pinned(CaseResult(status="success")))
        bench.running.choose_source(stored, "ask", pinned("no"))
        bench.running.start(stored)
        await until(lambda: bench.running.state is RunState.ENDED)
        find(inspector, "button.keepPins", QPushButton).click()
        dialog = await dialog_of(inspector)
        assert dialog.findChild(QComboBox, "case.verdict").currentText() == "refused"
        dialog.reject()
        await until(lambda: not inspector.findChildren(QDialog))
        bench.running.choose_source(stored, "ask", pinned("yes"))
        find(inspector, "button.keepPins", QPushButton).click()
        dialog = await dialog_of(inspector)
        assert dialog.findChild(QComboBox, "case.verdict").currentText() == "Any"
        dialog.reject()
        await until(lambda: not inspector.findChildren(QDialog))
        assert len(bench.cases) == 1

    drive(story)


def test_a_kept_case_has_what_the_chosen_case_has_but_expects_what_was_said(bench, stored, tmp_path):
    bench.running.choose_case(
        Case.model_validate(
            {"id": "base", "state": {"order": "A"}, "conditions": {"known": True}, "expect": {"verdict": "x"}}
        )
    )
    bench.running.choose_source(stored, "ask", pinned("unknown"))
    bench.keep_case(stored, "new")
    assert json.loads((tmp_path / "cases.jsonl").read_text().splitlines()[1]) == {
        "id": "new",
        "state": {"order": "A"},
        "answers": {"ask": "unknown"},
        "conditions": {"known": True},
        "expect": {},
    }


def test_what_was_given_for_placeholders_is_kept_too(bench, stored, tmp_path):
    stored.edit("Task", lambda d: edits.set_field(d, "ask", "task", "Is {{thing}} fine?"))
    bench.set_parameter("thing", "it")
    bench.set_parameter("other", "not asked for")
    bench.running.choose_source(stored, "ask", pinned("no"))
    bench.keep_case(stored, "new")
    kept = json.loads((tmp_path / "cases.jsonl").read_text().splitlines()[1])
    assert kept["params"] == {"thing": "it"}


def test_a_first_case_makes_the_file(bench, stored, tmp_path):
    (tmp_path / "cases.jsonl").unlink()
    assert bench.case_ids(stored) == frozenset()
    bench.running.choose_source(stored, "ask", pinned("no"))
    assert bench.keep_case(stored, "new") == tmp_path / "cases.jsonl"
    assert (tmp_path / "cases.jsonl").read_text() == '{"id":"new","answers":{"ask":"no"}}\n'
    assert [case.id for case in bench.cases] == ["new"]


def test_renamed_nodes_are_saved_before_a_case_names_them(inspector, bench, stored):
    choose(inspector, "field.source", "Pinned")
    assert find(inspector, "button.keepPins", QPushButton).isEnabled()
    stored.edit("Rename", lambda d: edits.rename_node(d, "ask", "question"))
    assert not find(inspector, "button.keepPins", QPushButton).isEnabled()
    stored.save()
    stored.edit("Name", lambda d: edits.set_field(d, "question", "name", "Q"))
    assert find(inspector, "button.keepPins", QPushButton).isEnabled()


def test_a_file_that_cannot_be_written_is_left_as_it_was_and_said_so(
    inspector, bench, stored, drive, tmp_path, monkeypatch
):
    def full(*_: object) -> None:
        raise files.SaveFailed(tmp_path / "cases.jsonl", "No space left on device")

    async def story():
        monkeypatch.setattr("designer.workbench.add_line", full)
        choose(inspector, "field.source", "Pinned")
        find(inspector, "button.keepPins", QPushButton).click()
        dialog = await dialog_of(inspector)
        dialog.findChild(QPushButton, "button.keep").click()
        await until(lambda: section(inspector)._kept.text)
        assert "No space left on device" in section(inspector)._kept.text

    drive(story)
