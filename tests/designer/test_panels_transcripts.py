"""The transcripts panel: a list of files, one of them shown page by page, words found in it and in all."""

import asyncio
import os
import threading
from datetime import datetime

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication, QTextCursor, QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from designer import dialogs, theme
from designer.document.document import Document
from designer.document.draft import Draft
from designer.panels.transcripts import TranscriptsPanel
from designer.panels.transcripts.panel import size_in_words
from designer.panels.transcripts.sections import Page
from designer.panels.transcripts.view import Spot, TranscriptView
from designer.running import RunState
from designer.tasks import cancel_all
from tests.builders import classify, terminal, tree
from tests.designer.waiting import until
from tests.hostile import TEXTS

TREE = tree(gate=classify("Is it?", {"yes": "end"}, unknown="end"), end=terminal("end"))
RESULT = "\n## Decision result\n\n**Outcome:** `Terminal`  \n"


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


@pytest.fixture
def view(qtbot):
    made = TranscriptView()
    qtbot.addWidget(made)
    made.resize(500, 300)
    made.show()
    return made


@pytest.fixture
def opened(monkeypatch):
    """The addresses the desktop was asked to open."""
    asked: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: asked.append(url.toString()))
    return asked


def write(bench, name, text):
    bench.transcripts_folder.mkdir(exist_ok=True)
    file = bench.transcripts_folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def headed(run, text=""):
    return f"# Agent task\n\n**Execution ID:** `{run}`  \n\n{text}{RESULT}"


def shown(qtbot, bench):
    panel = TranscriptsPanel(bench)
    qtbot.addWidget(panel)
    panel.resize(1100, 320)
    panel.show()
    return panel


def text_of(panel):
    return panel.reader.view.toPlainText()


def names(panel):
    return [row.path.stem.rpartition("-")[2] for row in panel.table.rows]


def press(panel, name):
    panel.findChild(QPushButton, f"button.{name}").click()


def draw(aloop, view, text, spot=Spot(0)):  # noqa: B008  (frozen)
    data = text if isinstance(text, bytes) else text.encode()
    aloop.run_until_complete(view.draw(Page(0, len(data), b""), data, spot))


# --- the list


def test_transcripts_are_listed_newest_first_and_other_files_are_not(qtbot, bench, drive):
    year = datetime.now().astimezone().year
    write(bench, "20011102-081530-Decision-tree-old.md", headed("r1"))
    write(bench, f"{year}0102-081630-Decision-tree-new.md", "new")
    write(bench, "notes.txt", "no transcript")
    (bench.transcripts_folder / f"{year}0102-081730-link.md").symlink_to("/etc/hostname")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: names(panel) == ["new", "old"])
        cells = [[panel.table.model().index(row, c).data() for c in range(4)] for row in range(2)]
        assert cells[0] == ["02 Jan 08:16", f"{year}0102-081630-Decision-tree-new", "", "3 B"]
        assert cells[1][::2] == ["02 Nov 2001", "Terminal"]

    drive(story)


def test_a_narrow_list_says_no_sizes_and_needs_no_scrolling_sideways(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", "first")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: panel.table.rows)
        for width, sizes in ((1400, True), (640, False)):
            panel.resize(width, 400)
            await until(lambda: panel.table.isColumnHidden(3) is not sizes)  # noqa: B023 - at once
            await until(lambda: panel.table.horizontalScrollBar().maximum() == 0)
            assert panel.table.columnWidth(1) > 50

    drive(story)


def test_the_newest_transcript_is_shown_at_once(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", "# Heading\n\nwords")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: text_of(panel) == "Heading\nwords")
        assert panel.reader.info.path.stem == "20261102-081530-one"

    drive(story)


def test_a_new_transcript_appears_when_it_is_stored(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", "first")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: names(panel) == ["one"])
        write(bench, "20261102-081630-two.md", "second")
        bench.stored.emit()
        await until(lambda: names(panel) == ["two", "one"])
        assert panel.table.row.path.stem == "20261102-081530-one"
        await until(lambda: text_of(panel) == "first")

    drive(story)


def test_what_another_program_writes_appears_by_itself(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", "first")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: names(panel) == ["one"])
        write(bench, "20261102-081630-two.md", "second")
        await until(lambda: names(panel) == ["two", "one"])

    drive(story)


def test_a_shown_transcript_that_grows_is_shown_as_it_is_now(qtbot, bench, drive):
    file = write(bench, "20261102-081530-one.md", "first\n")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: text_of(panel) == "first")
        with file.open("a") as more:
            more.write("second\n" + RESULT)
        bench.stored.emit()
        await until(lambda: "second" in text_of(panel))
        assert panel.table.row.outcome == "Terminal"

    drive(story)


def test_without_transcripts_it_says_how_they_come_about(bench, qtbot):
    panel = TranscriptsPanel(bench)
    qtbot.addWidget(panel)
    assert panel.currentWidget() is panel.empty
    assert "Run a tree" in panel.empty.text


def test_a_hidden_panel_reads_nothing(bench, qtbot):
    panel = TranscriptsPanel(bench)
    qtbot.addWidget(panel)
    write(bench, "20261102-081530-one.md", "first")
    bench.stored.emit()
    assert panel.table.rows == ()


def test_the_list_is_filtered_by_name(qtbot, bench, drive):
    for name in ("081530-Decision-tree-cars", "081630-Decision-tree-Boats", "081730-Decision-tree-cars-2"):
        write(bench, f"20261102-{name}.md", name)

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: len(panel.table.rows) == 3)
        panel.named.setText("tree BOAT")
        assert names(panel) == ["Boats"]
        panel.named.setText("cars")
        assert names(panel) == ["2", "cars"]
        panel.named.clear()
        assert len(panel.table.rows) == 3

    drive(story)


def test_thousands_are_listed_and_only_those_that_changed_are_read_again(qtbot, bench, drive, monkeypatch):
    bench.transcripts_folder.mkdir()
    for number in range(3000):
        name = f"20261102-00{number // 60:02}{number % 60:02}-t.md"
        (bench.transcripts_folder / name).write_text(headed(f"r{number}"))

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: len(panel.table.rows) == 3000)
        before = panel.table.rows[5]
        bench.stored.emit()
        await until(lambda: panel.table.rows[5] is before and panel.table.row is not None)
        panel.grab()

    drive(story)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (20_000, "20 KB"),
        (100 << 20, "100 MB"),
        (3 << 29, "1.5 GB"),
    ],
)
def test_sizes_have_few_digits(size, words):
    assert size_in_words(size) == words


# --- one transcript


def test_sections_are_listed_and_lead_to_their_text(qtbot, bench, drive):
    text = "".join(f"## Section {number}\n\n" + "words\n" * 30 for number in range(20))
    write(bench, "20261102-081530-one.md", text)

    async def story():
        panel = shown(qtbot, bench)
        reader = panel.reader
        await until(lambda: len(reader.sections.sections) == 20)
        await until(lambda: len(reader.view.lines) == 20 * 31)
        assert reader.sections.current == 0
        reader.sections.setCurrentIndex(reader.sections.model().index(7, 0))
        await until(lambda: reader.view.place == text.index("## Section 7"))
        bar = reader.view.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        assert reader.sections.current == 9

    drive(story)


def test_only_the_page_in_view_is_drawn_and_pages_can_be_turned(qtbot, bench, drive):
    write(bench, "20261102-081530-long.md", "".join(f"line {n}\n\n" for n in range(60_000)))

    async def story():
        panel = shown(qtbot, bench)
        view = panel.reader.view
        earlier, later = (panel.findChild(QPushButton, f"button.{name}") for name in ("earlier", "later"))
        await until(lambda: view.lines and later.isVisible())
        assert not earlier.isEnabled()
        later.click()
        await until(lambda: view.lines and view.lines[0].at > 0)
        assert view.document().blockCount() < 20_000
        earlier.click()
        await until(lambda: view.lines and view.lines[0].at == 0)

    drive(story)


def write_large(file, size):
    line = b"The quick brown fox jumps over the lazy dog, and nothing comes of it.\n"
    with file.open("wb") as out:
        for number in range(size // 100_000):
            out.write(f"# Part {number}\n\n```\n".encode() + line * (100_000 // len(line)) + b"```\n")
        out.write(b"## The end\n\nlast words\n")


@pytest.mark.parametrize("size", [5_000_000, pytest.param(100_000_000, marks=pytest.mark.soak)])
def test_a_large_transcript_opens_at_once_at_any_place(qtbot, bench, drive, size):
    bench.transcripts_folder.mkdir()
    write_large(bench.transcripts_folder / "20261102-081530-large.md", size)

    async def story():
        panel = shown(qtbot, bench)
        reader = panel.reader
        await until(lambda: reader.view.lines)
        assert text_of(panel).startswith("Part 0\nThe quick")
        await until(
            lambda: reader.sections.sections and reader.sections.sections[-1].title == "The end", 4000
        )
        reader.sections.setCurrentIndex(reader.sections.model().index(len(reader.sections.sections) - 1, 0))
        await until(lambda: "last words" in text_of(panel))
        reader.finding.open_bar()
        QTest.keyClicks(reader.finding.field, "PART 7")
        await until(
            lambda: reader.finding.count.text().startswith("1 of") and "Part 7" in text_of(panel), 4000
        )
        assert reader.view.document().characterCount() < 500_000

    drive(story)


def test_a_line_without_end_can_be_looked_at(qtbot, bench, drive):
    file = write(bench, "20261102-081530-line.md", b"x" * 1_000_000)
    os.truncate(file, 20_000_000)

    async def story():
        panel = shown(qtbot, bench)
        view = panel.reader.view
        await until(lambda: view.lines)
        assert set(text_of(panel)) == {"x", "\n"}
        panel.reader._go(Spot(15_000_000))
        await until(lambda: "⟨U+0000 U+0000" in text_of(panel), 4000)

    drive(story)


@pytest.mark.soak
def test_a_line_of_a_gigabyte_can_be_looked_at(qtbot, bench, drive):
    file = write(bench, "20261102-081530-line.md", b"x" * 1_000_000)
    os.truncate(file, 1 << 30)

    async def story():
        panel = shown(qtbot, bench)
        view = panel.reader.view
        await until(lambda: view.lines)
        panel.reader._go(Spot((1 << 30) - 5))
        await until(lambda: panel.reader.scanned and view.lines and view.lines[-1].at > 1 << 29, 20_000)

    drive(story)


# --- safety


@pytest.mark.parametrize(
    "text",
    [
        "![x](file:///dev/zero)",
        "![x](file:///etc/hostname) ![y](http://127.0.0.1:9/a.png)",
        '<img src="file:///dev/zero"><script>alert(1)</script>',
        "[click](file:///etc/hostname) [click](javascript:alert(1))",
        "![x](data:image/png;base64,AAAA)",
        "[a]: file:///dev/zero\n![a]",
        "[here](https://example.com/) https://example.com/a.png",
        "\x00\ufdd0\ufdd1\ufffc\u2029\u2028",
    ],
)
def test_nothing_a_transcript_names_is_loaded_or_followed(aloop, view, text, monkeypatch):
    asked = []
    monkeypatch.setattr(TranscriptView, "loadResource", lambda *of: asked.append(of))
    draw(aloop, view, text)
    view.grab()
    assert asked == []
    assert not view.openLinks()
    assert not view.openExternalLinks()
    assert view.source().isEmpty()
    assert "<img" not in view.toHtml()
    assert "<script" not in view.toHtml()


def test_every_resource_is_an_empty_picture(view):
    kind = QTextDocument.ResourceType.ImageResource
    picture = view.loadResource(kind.value, QUrl("file:///dev/zero"))
    assert (picture.width(), picture.height()) == (1, 1)
    assert picture.pixelColor(0, 0).alpha() == 0


@pytest.mark.parametrize("fence", ["", "```\n"])
@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_each_line_is_one_block_whatever_is_in_it(aloop, view, number, fence):
    draw(aloop, view, f"{fence}{TEXTS[number]}\n")
    view.grab()
    assert view.document().blockCount() == max(1, len(view.lines))
    assert not any(hidden in view.toPlainText() for hidden in "\0\u202e\u2066\ufeff")


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "```\n" + "b" * 1_000_000, "ä" * 500_000, "- " * 200_000, "**a" * 200_000],
    ids=["word", "code", "letters", "lists", "marks"],
)
def test_a_million_characters_without_an_end_are_drawn_in_short_lines(aloop, view, text):
    data = text.encode()[:131_072]
    draw(aloop, view, data)
    assert max(line.size for line in view.lines) <= 2000


def test_a_deep_list_stays_in_view(aloop, view):
    draw(aloop, view, "\n".join("  " * depth + "- deep" for depth in range(500)))
    assert view.horizontalScrollBar().maximum() == 0


def test_copying_takes_the_plain_text_that_is_seen(aloop, view):
    draw(aloop, view, "**bold** \u202e [x](https://example.com)\n")
    view.selectAll()
    view.copy()
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == "bold ⟨U+202E⟩ x (https://example.com)"
    assert not data.hasHtml()


@pytest.mark.parametrize("agreed", [True, False])
def test_an_address_is_opened_only_after_a_prompt(qtbot, bench, drive, opened, monkeypatch, agreed):
    write(bench, "20261102-081530-one.md", "https://exämple.com/a")
    prompts = []

    async def ask(_parent, title, _text, _buttons, *, detail):
        prompts.append((title, detail))
        return agreed

    monkeypatch.setattr(dialogs, "ask", ask)

    async def story():
        panel = shown(qtbot, bench)
        view = panel.reader.view
        await until(lambda: text_of(panel))
        assert not opened
        cursor = QTextCursor(view.document().firstBlock())
        cursor.movePosition(QTextCursor.MoveOperation.NextCharacter, n=4)
        spot = view.cursorRect(cursor).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=spot)
        await until(lambda: prompts)
        await asyncio.sleep(0.01)
        assert prompts == [("Open this address?", "https://xn--exmple-cua.com/a")]
        assert bool(opened) is agreed

    drive(story)


def test_a_file_that_was_erased_is_told_in_a_sentence(qtbot, bench, drive):
    one = write(bench, "20261102-081530-one.md", "first")
    write(bench, "20261102-081430-two.md", "second")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: text_of(panel) == "first")
        one.unlink()
        bench.stored.emit()
        await until(lambda: names(panel) == ["two"])
        assert panel.reader.empty.isVisible()
        assert panel.reader.empty.text == "This transcript is gone It was moved or erased."
        assert text_of(panel) == ""
        panel.table.choose(0)
        await until(lambda: text_of(panel) == "second")

    drive(story)


def test_a_file_that_goes_while_it_is_read_is_told_too(qtbot, bench, drive):
    long = write(bench, "20261102-081530-long.md", "line\n" * 100_000)

    async def story():
        panel = shown(qtbot, bench)
        reader = panel.reader
        await until(lambda: reader.view.lines and panel.findChild(QPushButton, "button.later").isVisible())
        long.unlink()
        press(panel, "later")
        await until(lambda: "gone" in reader.empty.text)
        assert reader.info is None
        press(panel, "copyMarkdown")

    drive(story)


def test_a_file_that_became_something_else_is_not_read(qtbot, bench, drive):
    long = write(bench, "20261102-081530-long.md", "line\n" * 100_000)

    async def story():
        panel = shown(qtbot, bench)
        reader = panel.reader
        await until(lambda: reader.view.lines and panel.findChild(QPushButton, "button.later").isVisible())
        long.unlink()
        os.mkfifo(long)
        press(panel, "later")
        await until(lambda: "cannot be read It is no plain file." in reader.empty.text)

    drive(story)


def test_bytes_that_are_no_text_are_shown_as_far_as_they_are(qtbot, bench, drive):
    write(bench, "20261102-081530-odd.md", b"\xff\xfe\0broken \xed\xa0\x80 end\n# \xc3\n")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: "broken" in text_of(panel))
        assert text_of(panel).startswith("\ufffd\ufffd⟨U+0000⟩broken")
        assert panel.reader.sections.model().index(0, 0).data() == "\ufffd"

    drive(story)


# --- finding


def test_words_in_the_shown_transcript_are_gone_through(qtbot, bench, drive):
    lines = [f"line {n} {'Needle' if n % 10_000 == 7 else 'hay'}\n" for n in range(40_000)]
    write(bench, "20261102-081530-one.md", "".join(lines))

    async def story():
        panel = shown(qtbot, bench)
        view, finding = panel.reader.view, panel.reader.finding
        await until(lambda: view.lines)
        panel.table.setFocus()
        QTest.keyClick(panel.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
        assert finding.isVisible()
        QTest.keyClicks(finding.field, "needle")
        await until(lambda: finding.count.text() == "1 of 4")
        marked = []

        def mark():
            marks = view.extraSelections()
            return marks[0].cursor.block().text() if marks else ""

        for _ in range(4):
            await until(lambda: mark() and mark() not in marked)
            marked.append(mark())
            QTest.keyClick(finding.field, Qt.Key.Key_Return)
        assert marked == [f"line {n} Needle" for n in (7, 10_007, 20_007, 30_007)]
        await until(lambda: mark() == "line 7 Needle")
        QTest.keyClick(finding.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        await until(lambda: mark() == "line 30007 Needle")
        assert finding.count.text() == "4 of 4"
        QTest.keyClicks(finding.field, "s")
        await until(lambda: finding.count.text() == "Not found")
        QTest.keyClick(finding.field, Qt.Key.Key_Escape)
        assert not finding.isVisible()
        assert view.hasFocus()

    drive(story)


@pytest.mark.parametrize(
    ("text", "at", "marked"),
    [
        ("a𝄞 word **word** `word`", 0, (4, 8)),
        ("a𝄞 word **word** `word`", 8, (9, 13)),
        ("see [w](https://word.com) word", 0, (15, 19)),
    ],
)
def test_the_words_that_were_found_are_marked_where_they_are_shown(aloop, view, text, at, marked):
    data = text.encode()
    at = data.index(b"word", at)
    draw(aloop, view, text, Spot(at, "WORD"))
    (mark,) = view.extraSelections()
    assert (mark.cursor.selectionStart(), mark.cursor.selectionEnd()) == marked


def test_where_the_text_does_not_have_the_words_their_line_is_marked(aloop, view):
    draw(aloop, view, "one **a** two", Spot(4, "**a"))
    (mark,) = view.extraSelections()
    assert mark.cursor.selectedText() == "one a two"


def test_all_transcripts_are_searched_and_a_hit_opens_its_file_there(qtbot, bench, drive):
    for number in range(30):
        text = "hay\n" * 5000 + (f"the Needle of {number}\n" if number % 10 == 0 else "")
        write(bench, f"20261102-0815{number:02}-{number}.md", text + "hay\n" * 5000)

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: len(panel.table.rows) == 30)
        QTest.keyClicks(panel.sought, "needle")
        await until(lambda: panel.found.progress.text() == "3 found in 30 transcripts")
        hits = panel.found.table.rows
        assert [hit.line for hit in hits] == ["the Needle of 20", "the Needle of 10", "the Needle of 0"]
        assert panel.found.table.model().index(0, 0).data() == "2026-11-02 08:15"
        await until(lambda: not panel.found.cancel.isVisible())
        QTest.keyClick(panel.sought, Qt.Key.Key_Return)
        QTest.keyClick(panel.found.table, Qt.Key.Key_Down)
        QTest.keyClick(panel.found.table, Qt.Key.Key_Return)
        view = panel.reader.view
        await until(view.extraSelections)
        assert view.extraSelections()[0].cursor.block().text() == "the Needle of 10"
        assert panel.reader.finding.field.text() == "needle"
        assert view.hasFocus()
        await until(lambda: panel.reader.finding.count.text() == "1 of 1")
        bench.stored.emit()
        await asyncio.sleep(0.05)
        assert panel.reader.info.path.stem.endswith("-10")
        panel.sought.clear()
        await until(panel.table.isVisible)

    drive(story)


def test_a_search_can_be_left(qtbot, bench, drive, monkeypatch):
    write(bench, "20261102-081530-one.md", "word")
    held = threading.Event()

    def endless(_paths, _words):
        while not held.wait(0.001):
            yield None

    monkeypatch.setattr("designer.panels.transcripts.found.search", endless)

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: panel.table.rows)
        panel.sought.setText("word")
        await until(panel.found.cancel.isVisible)
        press(panel, "cancelSearch")
        assert panel.found.progress.text() == "Stopped, 0 found"
        assert not panel.found.cancel.isVisible()
        held.set()

    drive(story)


def test_more_hits_than_can_be_looked_through_are_not_listed(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", "word\n" * 7000)

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: panel.table.rows)
        panel.sought.setText("word")
        await until(lambda: panel.found.progress.text().startswith("The first 5,000 found"))
        assert len(panel.found.table.rows) == 5000

    drive(story)


# --- verbs


SECTIONS = "# One\n\n```json\n{}\n[]\n```\n\n## In one\n\nwords\n\n# Two\n"


def test_a_section_is_copied_as_markdown_with_those_in_it(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", SECTIONS)

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: len(panel.reader.sections.sections) == 3 and text_of(panel))
        QGuiApplication.clipboard().clear()
        press(panel, "copyMarkdown")
        await until(QGuiApplication.clipboard().text)
        assert QGuiApplication.clipboard().text() == SECTIONS.removesuffix("# Two\n")

    drive(story)


@pytest.mark.parametrize(
    ("first", "last", "copied"),
    [
        (0, 1, "# One\n\n```json\n{}\n```"),
        (1, 2, "{}\n[]"),
        (2, 3, "```\n[]\n```\n\n## In one"),
        (3, 4, "## In one\n\nwords"),
    ],
)
def test_selected_lines_are_copied_as_markdown(aloop, view, first, last, copied):
    draw(aloop, view, SECTIONS)
    cursor = QTextCursor(view.document().findBlockByNumber(first))
    cursor.setPosition(
        view.document().findBlockByNumber(last).position() + 1, QTextCursor.MoveMode.KeepAnchor
    )
    view.setTextCursor(cursor)
    assert view.selected_markdown == copied


def test_the_folder_is_opened(qtbot, bench, drive, opened):
    write(bench, "20261102-081530-one.md", "words")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: text_of(panel))
        panel.findChild(QAction, "transcript.folder").trigger()
        assert opened == [f"file://{bench.transcripts_folder}"]

    drive(story)


def test_the_run_and_the_records_of_a_transcript_can_be_shown(qtbot, bench, drive):
    document = Document(Draft(TREE))
    bench.add(document)
    wanted: list[str] = []
    bench.records_requested.connect(wanted.append)

    async def story():
        bench.running.start(document)
        await until(lambda: bench.running.state in (RunState.ENDED, RunState.ASKING))
        bench.running.cancel()
        await bench.running.ended()
        panel = shown(qtbot, bench)
        await until(lambda: panel.reader.info and panel.reader.info.execution_id)
        run, records = (panel.findChild(QAction, f"transcript.{name}") for name in ("run", "records"))
        assert run.isEnabled()
        bench.running.forget()
        run.trigger()
        assert bench.running.shown is bench.running.runs[0]
        records.trigger()
        assert wanted == [bench.running.runs[0].trail.execution_id]

    drive(story)


def test_a_transcript_of_another_session_has_no_run_to_be_shown(qtbot, bench, drive):
    write(bench, "20261102-081530-one.md", headed("another"))
    write(bench, "20261102-081430-two.md", "no run is told")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: text_of(panel))
        run, records = (panel.findChild(QAction, f"transcript.{name}") for name in ("run", "records"))
        assert (run.isEnabled(), records.isEnabled()) == (False, True)
        panel.table.choose(1)
        assert (run.isEnabled(), records.isEnabled()) == (False, False)

    drive(story)


def test_the_text_follows_the_theme(qtbot, bench, drive, qapp):
    write(bench, "20261102-081530-one.md", "# Heading\n\nwords\n")

    async def story():
        panel = shown(qtbot, bench)
        await until(lambda: len(panel.reader.view.lines) == 2)
        theme.apply(qapp, "dark")
        try:
            await until(lambda: theme.DARK.text.lower() in panel.reader.view.toHtml())
        finally:
            theme.apply(qapp, "light")

    drive(story)


def test_headings_and_blocks_have_air_before_them(aloop, view):
    draw(aloop, view, "Text\n# One\nText\n\n- a\n- b\n\nText\n")
    block, air = view.document().begin(), []
    while block.isValid():
        air.append(block.blockFormat().topMargin() > 0)
        block = block.next()
    assert air == [False, True, False, True, False, True]
