"""The files of transcripts: names, modes, folders, and the list of what is there."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.run import Inputs
from engine.session import Session
from engine.transcript import FileSink, TranscriptOptions, list_transcripts
from engine.transcript.sinks import file_name
from engine.tree import Tree

pytestmark = pytest.mark.anyio

AT = datetime(2026, 9, 1, 10, 15, tzinfo=UTC)
TREE = Tree.model_validate(
    {"treeId": "t", "version": 1, "startNodeId": "n", "nodes": {"n": {"type": "terminal", "verdict": "v"}}}
)


def test_x21_a_name_is_the_time_and_the_goal() -> None:
    assert file_name(AT, "Decision tree: refund-triage") == "20260901-101500-Decision-tree-refund-triage.md"
    assert file_name(AT, "a" * 300) == f"20260901-101500-{'a' * 80}.md"
    assert file_name(AT, "?!/..") == "20260901-101500-task.md"
    assert file_name(AT, " Prüfung №7_x ") == "20260901-101500-Prüfung-7-x.md"


HOSTILE = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    "C:\\x",
    "CON",
    "NUL",
    "LPT9.log",
    ".hidden",
    "trailing. ",
    "a\x00b",
    "a\nb",
    "\u202egnp.exe",
    "👩‍👩‍👧",
    "",
]


@pytest.mark.parametrize("tree_id", HOSTILE)
async def test_no_tree_id_leads_out_of_the_folder(tree_id: str, tmp_path: Path) -> None:
    run = Session(transcript=TranscriptOptions(directory=tmp_path)).start(TREE.replace(tree_id=tree_id))
    await run.finish()
    assert run.transcript is not None
    assert run.transcript.path is not None
    assert run.transcript.path.parent == tmp_path
    assert run.transcript.path.is_file()


@given(st.text(st.characters()))
def test_a_name_is_one_plain_file_name_of_at_most_120_bytes(goal: str) -> None:
    name = file_name(AT, goal)
    assert name == Path(name).name
    assert name.startswith("20260901-101500-")
    assert not set(name) & set('/\\:*?"<>|\x00\n. '[:-2])
    assert len(name.replace(".md", "-100.md").encode()) <= 120


def test_files_and_new_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        sink = FileSink(tmp_path / "a" / "b" / "t.md")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(sink.path.stat().st_mode) == 0o600
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_appended_is_in_the_file_at_once(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "t.md")
    sink.append("é\n")
    assert sink.path.read_bytes() == "é\n".encode()
    sink.append("half \ud800 a pair")
    assert sink.path.read_text().endswith("half ? a pair")


def test_a_file_that_is_there_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("mine")
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "t-2.md").symlink_to(tmp_path / "elsewhere")
    sink = FileSink(tmp_path / "t.md")
    sink.append("x")
    assert sink.path == tmp_path / "t-3.md"
    assert (tmp_path / "t.md").read_text() == (tmp_path / "elsewhere").read_text() == "mine"


def test_a_file_that_became_a_link_is_refused(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "t.md")
    (tmp_path / "elsewhere").write_text("mine")
    sink.path.unlink()
    sink.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"."):
        sink.append("x")
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match=r"."):
        FileSink(tmp_path / "link" / "t.md")


def test_after_a_hundred_of_one_name_there_is_no_other(tmp_path: Path) -> None:
    for _ in range(100):
        FileSink(tmp_path / "t.md")
    assert (tmp_path / "t-100.md").exists()
    with pytest.raises(FileExistsError):
        FileSink(tmp_path / "t.md")


async def test_the_list_is_newest_first_and_tells_tree_and_outcome(tmp_path: Path) -> None:
    old = tmp_path / "20200101-000000-Decision-tree-old.md"
    old.write_text("an own builder wrote this")
    (tmp_path / "notes.md").write_text("not a transcript")
    (tmp_path / "20990101-000000-link.md").symlink_to(old)
    (tmp_path / "20209999-000000-no-such-day.md").write_text("")
    session = Session(transcript=TranscriptOptions(directory=tmp_path))
    await session.start(TREE, Inputs(properties={"long": "## Decision result\n" * 200})).finish()
    new, other = list_transcripts(tmp_path)
    assert (new.tree_id, new.outcome) == ("t", "Terminal")
    assert f"**Execution ID:** `{new.execution_id}`" in new.path.read_text()
    assert new.size == new.path.stat().st_size
    assert (other.path, other.tree_id, other.outcome, other.execution_id) == (old, None, None, None)
    assert other.when == datetime(2020, 1, 1).astimezone()


def test_what_is_known_and_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    kept, written = tmp_path / "20200101-000000-kept.md", tmp_path / "20200102-000000-written.md"
    kept.write_text("Decision tree: a\n")
    written.write_text("Decision tree: a\n")
    before = list_transcripts(tmp_path)
    written.write_text("Decision tree: another\n")
    after = list_transcripts(tmp_path, before)
    assert [info.tree_id for info in after] == ["another", "a"]
    assert after[1] is before[1]
    kept.unlink()
    assert list_transcripts(tmp_path, after) == after[:1]


def test_of_one_second_the_higher_number_is_the_newer(tmp_path: Path) -> None:
    for _ in range(11):
        FileSink(tmp_path / file_name(AT, "t"))
    numbers = [info.path.stem.removeprefix("20260901-101500-t") for info in list_transcripts(tmp_path)]
    assert numbers == ["-11", "-10", "-9", "-8", "-7", "-6", "-5", "-4", "-3", "-2", ""]


def test_a_folder_that_is_not_there_has_no_transcripts(tmp_path: Path) -> None:
    assert list_transcripts(tmp_path / "none") == ()
