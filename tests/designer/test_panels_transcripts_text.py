"""The text of a transcript: its Markdown line by line, its sections and pages, and words found in it."""

import os
import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer.panels.transcripts import markdown
from designer.panels.transcripts.markdown import LONGEST, Run, lines_of
from designer.panels.transcripts.search import Hit, Searched, hits_in, search
from designer.panels.transcripts.sections import CHUNK, PAGE, Page, Section, opened, read, scan
from tests.hostile import TEXTS

MARKS = "".join(TEXTS) + "#`*_[]()!<>\\~-+|\r\n \t1.\0\u202e"


def told(text: str | bytes, fence: bytes = b"") -> list[tuple[str, int, str]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [(x.kind, x.level, "".join(run.text for run in x.runs)) for x in lines_of(data, 0, fence)]


def runs(text: str) -> tuple[Run, ...]:
    (line,) = lines_of(text.encode())
    return line.runs


# --- lines


def test_each_line_is_told_for_what_it_is():
    text = (
        "# One\n\nwords\n- a\n  - b\n3. c\n> quote\n---\n| a | b |\n```json\n# code\n\n```\n###### six ##\n"
    )
    assert told(text) == [
        ("heading", 1, "One"),
        ("text", 0, "words"),
        ("item", 0, "•\ta"),
        ("item", 1, "•\tb"),
        ("item", 0, "3.\tc"),
        ("quote", 1, "quote"),
        ("rule", 0, ""),
        ("row", 0, "| a | b |"),
        ("code", 0, "# code"),
        ("code", 0, ""),
        ("heading", 6, "six"),
    ]


def test_a_gap_is_where_something_ended():
    lines = list(lines_of(b"a\n\nb\n```\nc\nd\n```\ne\n"))
    assert [line.gap for line in lines] == [False, True, True, False, True]


def test_a_fence_is_closed_by_one_as_long_of_its_kind():
    assert told("````\n```\n~~~~\n````\nout\n") == [
        ("code", 0, "```"),
        ("code", 0, "~~~~"),
        ("text", 0, "out"),
    ]
    assert told("``` a`b\nno fence\n")[1] == ("text", 0, "no fence")
    assert told("in\n~~~\nout\n", b"~~~") == [("code", 0, "in"), ("text", 0, "out")]


def test_words_have_looks():
    assert runs("**Node:** `a b` *so* _or so_ \\*not\\*") == (
        Run("Node:", "strong"),
        Run(" "),
        Run("a b", "code"),
        Run(" "),
        Run("so", "slanted"),
        Run(" "),
        Run("or so", "slanted"),
        Run(" "),
        Run("*"),
        Run("not"),
        Run("*"),
    )


def test_code_ends_at_as_many_ticks_and_nowhere_else():
    assert runs("`` a`b `` `open ```x") == (Run("a`b", "code"), Run(" `open ```x"))


def test_a_link_shows_its_address():
    assert runs("[here](https://example.com/a)") == (
        Run("here", "plain", "https://example.com/a"),
        Run(" (https://example.com/a)", "faint", "https://example.com/a"),
    )
    assert runs("see https://example.com/a.")[1] == Run(
        "https://example.com/a", "plain", "https://example.com/a"
    )
    assert runs("<https://example.com>")[1] == Run("https://example.com", "plain", "https://example.com")


@pytest.mark.parametrize(
    "text",
    [
        "[click](file:///etc/hostname)",
        "[click](javascript:alert(1))",
        "[click](data:text/html,x)",
        "[click](//example.com/share)",
        "[click](ftp://example.com)",
        "[click](https://example.com/\u202egpj.exe)",
        "![x](file:///dev/zero)",
        "![x](http://127.0.0.1:9/a.png)",
        "<img src=x onerror=alert(1)>",
    ],
)
def test_what_is_no_address_of_the_web_is_no_link(text):
    assert not [run for run in runs(text) if run.link]
    assert "\u202e" not in "".join(run.text for run in runs(text))


def test_a_picture_is_told_in_words():
    assert runs("![x](file:///dev/zero)") == (Run("x"), Run(" (picture: file:///dev/zero)", "faint"))


def test_characters_that_hide_are_spelled_out():
    assert runs("a\u202eb\0\0\u200bc") == (
        Run("a"),
        Run("⟨U+202E⟩", "hidden"),
        Run("b"),
        Run("⟨U+0000 U+0000 U+200B⟩", "hidden"),
        Run("c"),
    )
    assert runs("\0" * 1500) == (Run("⟨U+0000 U+0000 U+0000 U+0000 and 1,496 more⟩", "hidden"),)
    assert told("👩\u200d👩 é\u0301 עברית\n") == [("text", 0, "👩\u200d👩 é\u0301 עברית")]


def test_deep_lists_and_quotes_end_at_some_depth():
    assert (
        max(level for _, level, _ in told("\n".join("  " * n + "- x" for n in range(900))))
        == markdown.DEEPEST
    )
    assert told(">" * 1500 + " x")[0][1] == markdown.DEEPEST


def test_long_lines_are_broken_at_a_blank_or_else_between_characters():
    words = b"word " * 1000
    pieces = list(lines_of(words))
    assert all(line.size <= LONGEST for line in pieces)
    assert [line.at for line in pieces[:2]] == [0, pieces[0].size]
    assert all("".join(run.text for run in line.runs).endswith("word") for line in pieces)
    (first, *rest) = lines_of("ä".encode() * 5000)
    assert first.runs[0].text == "ä" * (LONGEST // 2)
    assert sum(len(line.runs[0].text) for line in (first, *rest)) == 5000


def test_what_is_no_utf8_is_shown_as_far_as_it_is():
    assert told(b"a\xff\xfeb\r\n") == [("text", 0, "a\ufffd\ufffdb")]


@given(st.text(st.sampled_from(MARKS), max_size=400))
def test_no_text_is_lost_or_makes_a_line_of_its_own(text):
    data = text.encode()
    for line in lines_of(data, 7):
        shown = "".join(run.text for run in line.runs)
        assert not re.search("[\n\r\0\u2028\u2029\u202e]", shown)
        source = data[line.at - 7 : line.at - 7 + line.size]
        assert b"\n" not in source
        if line.kind in {"code", "row"}:
            words = [run.text for run in line.runs if run.look != "hidden"]
            assert all(word in source.decode() for word in words)


@pytest.mark.parametrize(
    "piece", ["[", "![", "[a](", "`", "` ``", "*", "**a", "_", "a_", "\\", "- ", "> ", "|", "#"]
)
def test_endless_marks_are_read_in_no_time(piece):
    assert told("x " + piece * (LONGEST // len(piece)) * 3)


# --- sections and pages


def parts(path):
    found = list(scan(path))
    return [p for p in found if isinstance(p, Section)], [p for p in found if isinstance(p, Page)]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "t.md"


def test_sections_are_the_headings_outside_of_fences(file):
    file.write_text("# One\n\n```\n# code\n```\n ## Two `x` ##\n#no\n### \n~~~\n## code\n")
    sections, pages = parts(file)
    assert [(s.level, s.title) for s in sections] == [(1, "One"), (2, "Two x"), (3, "")]
    assert file.read_bytes()[sections[1].at :].startswith(b" ## Two")
    assert pages == [Page(0, file.stat().st_size, b"")]


def test_an_empty_file_is_one_page(file):
    file.write_bytes(b"")
    assert parts(file) == ([], [Page(0, 0, b"")])


@pytest.mark.parametrize("seed", range(5))
def test_pages_follow_each_other_and_know_the_fence_they_begin_in(file, seed):
    chance = random.Random(seed)
    kinds = ("# heading\n", "```\n", "````\n", "text\n", "x" * 7000 + "\n", "- item\n" * 90, "y" * 150_000)
    file.write_text("".join(chance.choices(kinds, weights=(3, 3, 1, 9, 9, 9, 1), k=900)))
    sections, pages = parts(file)
    assert pages[0].start == 0
    assert pages[-1].end == file.stat().st_size
    assert all(a.end == b.start for a, b in pairwise(pages))
    assert max(page.end - page.start for page in pages) <= 2 * PAGE + 2 * CHUNK + 150_000
    whole = [s.at for s in sections]
    shown = [
        line.at
        for page in pages
        for line in lines_of(read(file, page.start, page.end), page.start, page.fence)
        if line.kind == "heading"
    ]
    # A page may begin within a line, where what looks like a heading is none.
    assert set(whole) <= set(shown)
    assert len(set(shown) - set(whole)) <= len(pages)


def test_a_page_ends_at_a_heading_where_it_can(file):
    file.write_text("".join(f"# {number}\n{'text ' * 2000}\n" for number in range(60)))
    sections, pages = parts(file)
    assert len(pages) > 3
    assert {page.start for page in pages} <= {section.at for section in sections}


def test_a_line_without_end_is_cut_between_characters(file):
    file.write_text("ä€𝄞" * 90_000)
    _, pages = parts(file)
    assert len(pages) > 2
    text = "".join(read(file, page.start, page.end).decode() for page in pages)
    assert text == "ä€𝄞" * 90_000


def test_only_plain_files_are_opened(tmp_path, file):
    file.write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(file)
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=r"."):
            opened(path)


# --- words


def hits(path, words):
    return [hit for hit in hits_in(path, words) if hit is not None]


def test_words_are_found_in_any_case_with_their_line(file):
    file.write_text("one\n\tA Straße here\r\nanother STRASSE, straße\n")
    found = hits(file, "STRAßE")
    assert [hit.line for hit in found] == ["A Straße here", "another STRASSE, straße"]
    assert [file.read_bytes()[hit.at :][:3].lower() for hit in found] == [b"str", b"str"]


def test_only_the_part_of_a_long_line_around_the_words_is_given(file):
    file.write_text("x" * 10_000 + "needle" + "y" * 10_000)
    (hit,) = hits(file, "needle")
    assert hit.at == 10_000
    assert hit.line == "… " + "x" * 18 + "needle" + "y" * 160


@pytest.mark.parametrize("words", ["needle", "ä", "n"])
def test_words_are_found_once_wherever_the_pieces_of_a_file_end(file, words):
    chance = random.Random(3)
    data = b"".join(
        words.encode() + bytes(chance.choices(b"abc \n\xff\xc3", k=chance.randrange(900))) for _ in range(900)
    )
    file.write_bytes(data)
    expected = [m.start() for m in re.finditer(re.escape(words.encode()), data)]
    assert [hit.at for hit in hits(file, words)] == expected


def test_hidden_characters_are_spelled_in_hits_too(file):
    file.write_bytes(b"a \xff\0 needle \xe2\x80\xae\n")
    assert hits(file, "needle")[0].line == "a \ufffd⟨U+0000⟩ needle ⟨U+202E⟩"


def test_files_are_searched_in_their_order_and_those_that_cannot_be_read_have_no_hits(tmp_path):
    first, second = tmp_path / "a.md", tmp_path / "b.md"
    first.write_text("x\nword")
    second.write_text("word word")
    found = [each for each in search([first, tmp_path / "none.md", second], "word") if each is not None]
    assert [each.path.name if isinstance(each, Hit) else each.files for each in found] == [
        "a.md",
        1,
        2,
        "b.md",
        "b.md",
        3,
    ]
    assert found[1] == Searched(1)
