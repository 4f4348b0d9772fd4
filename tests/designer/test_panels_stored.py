"""Transcripts and records: lists of what runs left, and one of them shown so that it can do no harm."""

import asyncio
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QGuiApplication, QTextDocument
from PySide6.QtWidgets import QLabel, QPushButton

from designer.panels.records import Bar, RecordsPanel, answer_of, bars_of, outcome_of
from designer.panels.transcripts import (
    LONGEST,
    PAGE,
    MarkdownView,
    TranscriptsPanel,
    harmless,
    read_page,
)
from designer.settings import Settings
from designer.tasks import cancel_all
from designer.workbench import Workbench
from engine.records import (
    AskedQuestion,
    ChoiceAnswer,
    Confirmed,
    NoulAnswer,
    Record,
    RecordedDecision,
    Signal,
    TokenUsage,
    TreePlace,
    line_of,
)
from tests.designer.waiting import until

AT = datetime(2026, 11, 2, 8, 15, 30, tzinfo=UTC)


def record(number=1, **changes):
    usual = Record(
        decision_id=f"decision-{number}",
        started=AT + timedelta(seconds=number),
        latency_ms=212,
        provider="openai",
        endpoint="https://decisions.example/",
        default_model="m",
        usage=TokenUsage(300, 109),
        questions={"automatable": AskedQuestion("choice", "Can it be automated?", {"no": None, "yes": None})},
        state={"data": ["<b>text</b>"]},
        answers=(ChoiceAnswer("automatable", 1, 0.52, (0.44, 0.56)),),
        tree=TreePlace(
            tree_id="t", tree_version=1, execution_id="run-1", node="automatable", visit=1, transition="yes"
        ),
    )
    return replace(usual, **changes)


def confirmed(answer):
    return Confirmed("decision-1", "designer", AT, {"automatable": answer})


@pytest.fixture
def bench(qtbot, tmp_path) -> Workbench:
    return Workbench(Settings(transcripts_folder=tmp_path / "transcripts", records_path=tmp_path / "r.jsonl"))


@pytest.fixture
def drive(aloop):
    """Run a story in the loop, and end what it left behind."""

    def run(story):
        async def whole():
            try:
                await story()
            finally:
                await cancel_all()

        aloop.run_until_complete(whole())

    return run


def shown(qtbot, panel):
    qtbot.addWidget(panel)
    panel.resize(1000, 260)
    panel.show()
    return panel


def write(bench: Workbench, *lines: bytes) -> None:
    bench.records_path.write_bytes(b"\n".join((*lines, b"")))


# --- transcripts


def transcript(bench: Workbench, name: str, text: str, age: float = 0) -> None:
    bench.transcripts_folder.mkdir(exist_ok=True)
    file = bench.transcripts_folder / name
    file.write_text(text)
    os.utime(file, (AT.timestamp() - age, AT.timestamp() - age))


def test_transcripts_are_listed_newest_first_and_other_files_are_not(qtbot, bench, drive):
    transcript(bench, "20261102-081530-Decision-tree-old.md", "old", age=60)
    transcript(bench, "20261102-081630-Decision-tree-new.md", "new")
    transcript(bench, "notes.txt", "no transcript")
    (bench.transcripts_folder / "20261102-081730-link.md").symlink_to("/etc/hostname")

    async def story():
        panel = shown(qtbot, TranscriptsPanel(bench))
        await until(lambda: len(panel.table.rows) == 2)
        assert [row.path.stem[-3:] for row in panel.table.rows] == ["new", "old"]

    drive(story)


def test_the_newest_transcript_is_shown_at_once(qtbot, bench, drive):
    transcript(bench, "20261102-081530-one.md", "# Heading\n\nwords")

    async def story():
        panel = shown(qtbot, TranscriptsPanel(bench))
        await until(lambda: "words" in panel.view.toPlainText())
        assert panel.table.row.path.stem == "20261102-081530-one"
        panel.findChild(QPushButton, "button.copyPath").click()
        assert QGuiApplication.clipboard().text() == str(panel.table.row.path)

    drive(story)


def test_a_new_transcript_appears_when_it_is_stored(qtbot, bench, drive):
    transcript(bench, "20261102-081530-one.md", "first", age=60)

    async def story():
        panel = shown(qtbot, TranscriptsPanel(bench))
        await until(lambda: len(panel.table.rows) == 1)
        transcript(bench, "20261102-081630-two.md", "second")
        bench.stored.emit()
        await until(lambda: [t.path.stem[-3:] for t in panel.table.rows] == ["two", "one"])
        assert panel.table.row.path.stem == "20261102-081530-one"

    drive(story)


def test_without_transcripts_it_says_how_they_come_about(bench, qtbot):
    panel = TranscriptsPanel(bench)
    qtbot.addWidget(panel)
    assert panel.currentWidget() is panel.empty
    assert "Run a tree" in panel.empty.text


@pytest.mark.parametrize(
    "text",
    [
        "![x](file:///dev/zero)",
        "![x](file:///etc/hostname) ![y](http://127.0.0.1:9/a.png)",
        '<img src="file:///dev/zero"><script>alert(1)</script>',
        "[click](file:///etc/hostname)",
        "![x](data:image/png;base64,AAAA)",
    ],
)
def test_nothing_a_transcript_names_is_loaded_or_followed(qtbot, text):
    view = MarkdownView()
    qtbot.addWidget(view)
    view.resize(300, 200)
    view.show()
    view.show_text(text)
    view.grab()
    assert not view.openLinks()
    assert not view.openExternalLinks()
    assert view.source().isEmpty()
    html = view.document().toHtml()
    assert "<script" not in html
    assert view.toPlainText() == text or "<" not in text


def test_every_resource_is_an_empty_picture(qtbot):
    view = MarkdownView()
    qtbot.addWidget(view)
    kind = QTextDocument.ResourceType.ImageResource
    picture = view.loadResource(kind.value, QUrl("file:///dev/zero"))
    assert (picture.width(), picture.height()) == (1, 1)
    assert picture.pixelColor(0, 0).alpha() == 0


def test_endless_words_are_broken():
    words = harmless("a" * (5 * LONGEST) + " short")
    assert max(map(len, words.split())) == LONGEST
    assert words.replace(" ", "") == "a" * (5 * LONGEST) + "short"


def test_a_long_transcript_is_read_in_pages_cut_at_line_ends(tmp_path):
    file = tmp_path / "long.md"
    text = "".join(f"line {number} ä\n" for number in range(60_000))
    file.write_text(text)
    pages = [read_page(file, number) for number in range(read_page(file, 0)[1])]
    assert len(pages) > 2
    assert "".join(page for page, _ in pages) == text
    assert all(page.endswith("\n") for page, _ in pages)


def test_a_page_without_line_ends_and_an_empty_file_are_read_too(tmp_path):
    file = tmp_path / "odd.md"
    file.write_bytes(b"x" * (2 * PAGE + 5))
    assert "".join(read_page(file, number)[0] for number in range(3)) == "x" * (2 * PAGE + 5)
    file.write_bytes(b"")
    assert read_page(file, 0) == ("", 1)
    file.write_bytes(b"\xff\xfe broken")
    assert "broken" in read_page(file, 0)[0]


def test_the_pages_of_a_transcript_can_be_turned(qtbot, bench, drive):
    transcript(bench, "20261102-081530-long.md", "".join(f"line {n}\n\n" for n in range(40_000)))

    async def story():
        panel = shown(qtbot, TranscriptsPanel(bench))
        earlier, later = (panel.findChild(QPushButton, f"button.{name}") for name in ("earlier", "later"))
        await until(lambda: panel.view.toPlainText().startswith("line 0\n"))
        assert not earlier.isEnabled()
        later.click()
        await until(lambda: not panel.view.toPlainText().startswith("line 0\n"))
        earlier.click()
        await until(lambda: panel.view.toPlainText().startswith("line 0\n"))

    drive(story)


# --- records


def test_records_are_listed_newest_first_and_the_first_is_shown(qtbot, bench, drive):
    write(bench, line_of(record(1)), line_of(record(2, answers=None, error_kind="Timeout", tree=None)))

    async def story():
        panel = shown(qtbot, RecordsPanel(bench))
        await until(lambda: panel.table.rows)
        assert [d.record.decision_id for d in panel.table.rows] == ["decision-2", "decision-1"]
        assert panel.table.row.record.decision_id == "decision-2"
        assert panel.counted.text() == "2 records"
        panel.table.choose(1)
        words = " ".join(label.text() for label in panel.detail.findChildren(QLabel))
        assert "212 ms · 409 tokens" in words
        assert "decision-1" in words
        assert "run-1" in words
        assert "<b>text</b>" in panel.detail.state.toPlainText()
        assert panel.detail.state.isReadOnly()

    drive(story)


def test_bad_lines_are_counted_and_the_rest_is_shown(qtbot, bench, drive):
    write(bench, line_of(record(1)), b"{broken", line_of(record(2)))

    async def story():
        panel = shown(qtbot, RecordsPanel(bench))
        await until(lambda: panel.table.rows)
        assert len(panel.table.rows) == 2
        assert panel.counted.text().startswith("2 records · 1 line could not be read (line 2: ")
        assert "broken" not in panel.counted.text()

    drive(story)


def test_a_record_appears_when_it_is_stored(qtbot, bench, drive):
    write(bench, line_of(record(1)))

    async def story():
        panel = shown(qtbot, RecordsPanel(bench))
        await until(lambda: panel.table.rows)
        write(bench, line_of(record(1)), line_of(record(2)))
        bench.stored.emit()
        await until(lambda: len(panel.table.rows) == 2)
        assert panel.table.row.record.decision_id == "decision-1"

    drive(story)


def test_without_records_it_says_how_they_come_about(qtbot, bench, drive):
    async def story():
        panel = shown(qtbot, RecordsPanel(bench))
        await asyncio.sleep(0.02)
        assert panel.currentWidget() is panel.empty
        assert "Run a tree" in panel.empty.text

    drive(story)


def test_a_hidden_panel_reads_nothing(bench, qtbot):
    panel = RecordsPanel(bench)
    qtbot.addWidget(panel)
    write(bench, line_of(record(1)))
    bench.stored.emit()
    assert panel.table.rows == ()


def test_the_answer_a_run_followed_is_the_one_shown():
    assert answer_of(record()) == "yes"
    assert answer_of(record(tree=None)) == "yes"
    assert answer_of(record(tree=None, answers=None, error_kind="Timeout")) == "—"


@pytest.mark.parametrize(
    ("decision", "words", "tone"),
    [
        (RecordedDecision(record()), "", None),
        (RecordedDecision(record(), (confirmed("yes"),)), "confirmed yes", "good"),
        (RecordedDecision(record(), (confirmed("yes"), confirmed("no"))), "confirmed no", "bad"),
        (RecordedDecision(record(), (Signal("decision-1", "engine", AT, "paid"),)), "paid", "secondary"),
        (RecordedDecision(record(answers=None, error_kind="Timeout")), "no answer: Timeout", "bad"),
    ],
)
def test_what_became_of_a_decision_is_told_in_a_few_words(decision, words, tone):
    assert outcome_of(decision) == (words, tone)


def test_possible_answers_are_bars_with_the_given_and_the_confirmed_marked():
    assert bars_of(RecordedDecision(record(), (confirmed("no"),))) == (
        Bar("no", 0.44, given=False, confirmed=True),
        Bar("yes", 0.56, given=True, confirmed=False),
    )
    noul = record(
        questions={"q": AskedQuestion("noul", "Is it?")}, answers=(NoulAnswer("q", 0.25, 0.5),), tree=None
    )
    assert bars_of(RecordedDecision(noul)) == (Bar("yes", 0.25), Bar("no", 0.75, given=True))
    unanswered = record(answers=None, error_kind="Timeout")
    assert [bar.share for bar in bars_of(RecordedDecision(unanswered))] == [None, None]


def test_ten_thousand_records_are_listed(qtbot, bench, drive):
    write(bench, *(line_of(record(number)) for number in range(10_000)))

    async def story():
        panel = shown(qtbot, RecordsPanel(bench))
        await until(lambda: len(panel.table.rows) == 10_000, tries=4000)
        assert panel.counted.text() == "10,000 records"
        panel.grab()

    drive(story)


def test_who_knows_no_probabilities_gave_one_answer_and_no_shares(qtbot, bench):
    place = replace(record().tree, probability_source="onehot")
    person = record(answers=(ChoiceAnswer("automatable", 1, 1.0, (0.0, 1.0)),), tree=place)
    assert bars_of(RecordedDecision(person, ())) == (Bar("yes", None, given=True),)
    panel = RecordsPanel(bench)
    qtbot.addWidget(panel)
    panel.detail.show_decision(RecordedDecision(person, (confirmed("no"),)))
    assert panel.detail.bars.accessibleName() == "no, confirmed; yes, given"
    assert not panel.detail.bars.grab().isNull()


def test_headings_and_lists_of_a_transcript_have_air_around_them(qtbot):
    view = MarkdownView()
    qtbot.addWidget(view)
    view.show_text("# One\n\nText\n\n- a\n- b\n\nText\n\n## Two\n")
    blocks, block = [], view.document().begin()
    while block.isValid():
        look = block.blockFormat()
        blocks.append((block.text(), look.topMargin() > 0, look.bottomMargin() > 0))
        block = block.next()
    assert [b for b in blocks if b[0] != "Text"] == [
        ("One", False, True),
        ("a", True, False),
        ("b", False, True),
        ("Two", True, True),
    ]
