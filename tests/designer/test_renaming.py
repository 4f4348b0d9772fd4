"""A renamed node is followed by the cases and the project of its folder when the tree is saved."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from designer.document import edits, files
from designer.document.document import Document
from designer.document.draft import Draft, new_names
from designer.document.files import SaveFailed
from designer.document.recovery import Snapshot
from engine import write_tree
from engine.evaluate import read_cases
from tests.designer.drafts import empty, triage

pytestmark = pytest.mark.usefixtures("qapp")

CASES = (
    '{"id": "fine", "answers": {"ask": "yes"}, "expect": {"path": ["load", "ask", "good"]}}\n'
    "this is no case\n"
    '{"id":"bad",  "conditions":{"known":[false]}, "expect":{"answers":{"ask":"no"}}}\n'
)
PROJECT = '{"format": 1,\n\n  "trees": {"triage": {"classify": {"ask": {"minConfidence": 0.50}}}}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree.json").write_bytes(write_tree(triage().tree))
    (tmp_path / "cases.jsonl").write_text(CASES)
    (tmp_path / "treewright.json").write_text(PROJECT)
    return tmp_path


def opened(path: Path) -> Document:
    document = Document.open(path)
    assert isinstance(document, Document)
    return document


def rename(document: Document, *names: tuple[str, str]) -> None:
    for old, new in names:
        document.edit("Rename node", partial(edits.rename_node, old=old, new=new))


def texts(folder: Path) -> tuple[str, str]:
    return (folder / "cases.jsonl").read_text(), (folder / "treewright.json").read_text()


def test_cases_and_settings_follow_on_save_and_every_other_byte_stays(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    assert texts(folder) == (CASES, PROJECT)
    document.save()
    assert texts(folder) == (CASES.replace('"ask"', '"question"'), PROJECT.replace('"ask"', '"question"'))
    assert document.stored
    assert [path.name for path in document.stored.renamed_in] == ["cases.jsonl", "treewright.json"]
    cases, problems = read_cases(folder / "cases.jsonl", document.draft.tree)
    assert ([case.id for case in cases], [p.line for p in problems]) == (["fine", "bad"], [2])


def test_a_save_without_a_new_name_writes_nothing_beside_the_tree(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"), ("question", "ask"))
    document.edit("Rename tree", lambda draft: edits.set_tree_field(draft, "name", "Triage"))
    stamps = [(folder / name).stat().st_mtime_ns for name in ("cases.jsonl", "treewright.json")]
    document.save()
    assert [(folder / name).stat().st_mtime_ns for name in ("cases.jsonl", "treewright.json")] == stamps
    assert document.stored
    assert document.stored.renamed_in == ()


def test_undoing_a_rename_before_saving_needs_nothing(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    document.undo()
    document.edit("Rename tree", lambda draft: edits.set_tree_field(draft, "name", "Triage"))
    document.save()
    assert texts(folder) == (CASES, PROJECT)


def test_undoing_a_rename_after_saving_and_saving_again_brings_every_byte_back(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    document.save()
    document.undo()
    document.save()
    assert texts(folder) == (CASES, PROJECT)
    document.redo()
    document.save()
    assert texts(folder)[0] == CASES.replace('"ask"', '"question"')


def test_swapped_names_and_chains_of_names_are_followed(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "t"), ("known", "ask"), ("t", "known"), ("load", "a"), ("a", "b"), ("b", "c"))
    document.save()
    first, _, third, _ = texts(folder)[0].split("\n")
    assert json.loads(first) == {
        "id": "fine",
        "answers": {"known": "yes"},
        "expect": {"path": ["c", "known", "good"]},
    }
    assert third == '{"id":"bad",  "conditions":{"ask":[false]}, "expect":{"answers":{"known":"no"}}}'
    for _ in range(6):
        document.undo()
    document.save()
    assert texts(folder) == (CASES, PROJECT)


def test_each_name_is_followed_however_saves_undo_and_other_names_alternate(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "a"))
    document.save()
    document.undo()
    rename(document, ("ask", "b"))
    document.save()
    assert texts(folder) == (CASES.replace('"ask"', '"b"'), PROJECT.replace('"ask"', '"b"'))
    document.undo()
    document.save()
    assert texts(folder) == (CASES, PROJECT)


def test_of_cases_two_trees_share_each_follows_its_own(folder: Path):
    other = replace(triage(), tree=triage().tree.replace(tree_id="other"))
    (folder / "other.json").write_bytes(write_tree(other.tree))
    lines = [json.dumps({"id": i, "tree": {"id": i}, "answers": {"ask": "yes"}}) for i in ("triage", "other")]
    (folder / "cases.jsonl").write_text("\n".join(lines))
    first, second = opened(folder / "tree.json"), opened(folder / "other.json")
    rename(first, ("ask", "mine"))
    rename(second, ("ask", "yours"))
    first.save()
    second.save()
    assert [json.loads(line)["answers"] for line in texts(folder)[0].split("\n")] == [
        {"mine": "yes"},
        {"yours": "yes"},
    ]


def test_what_another_program_wrote_meanwhile_stays(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    (folder / "cases.jsonl").write_text(CASES + '{"id": "third", "answers": {"ask": "no"}}\n')
    (folder / "treewright.json").unlink()
    document.save()
    assert (folder / "cases.jsonl").read_text().endswith('{"id": "third", "answers": {"question": "no"}}\n')
    assert not (folder / "treewright.json").exists()


def test_when_one_of_the_files_cannot_be_written_none_is(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    (folder / "cases.jsonl").chmod(0o444)
    with pytest.raises(SaveFailed, match=r"cases\.jsonl could not be saved: It is write-protected"):
        document.save()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert not document.clean
    (folder / "cases.jsonl").chmod(0o644)
    document.save()
    assert texts(folder)[0] == CASES.replace('"ask"', '"question"')


def test_a_tree_saved_under_another_name_leaves_the_cases_of_the_first(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    document.save(folder / "copy.json")
    assert texts(folder) == (CASES, PROJECT)


def test_what_was_renamed_before_and_after_reading_the_file_again_is_told_apart(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "saved"))
    document.save()
    rename(document, ("saved", "unsaved"))
    document.reload()
    assert "saved" in document.draft.tree.nodes
    document.undo()
    assert "unsaved" in document.draft.tree.nodes
    document.save()
    assert texts(folder)[0] == CASES.replace('"ask"', '"unsaved"')
    for _ in range(2):
        document.undo()
    document.save()
    assert texts(folder) == (CASES, PROJECT)


def test_a_name_given_before_a_crash_is_followed_by_what_is_recovered(folder: Path):
    document = opened(folder / "tree.json")
    rename(document, ("ask", "question"))
    recovered = Snapshot.unpacked(Snapshot.of(document).packed()).opened()
    recovered.save()
    assert texts(folder) == (CASES.replace('"ask"', '"question"'), PROJECT.replace('"ask"', '"question"'))
    recovered.undo()
    recovered.save()
    assert texts(folder) == (CASES, PROJECT)


def test_only_nodes_that_are_still_there_have_new_names():
    def renamed(draft: Draft, *names: tuple[str, str]) -> Draft:
        for old, new in names:
            draft = edits.rename_node(draft, old, new)
        return draft

    first = triage()
    after = edits.remove_nodes(renamed(first, ("ask", "a"), ("known", "k")), ["k"])
    assert new_names(first, after) == {"ask": "a"}
    assert new_names(after, first) == {"a": "ask"}
    assert new_names(first, first) == new_names(empty(), first) == {}
    assert files.Stored(Path("x"), first).renamed_in == ()
