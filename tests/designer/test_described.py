"""Actions of the project file are edited with the tree: at once in the window, on disk when it is saved."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from designer.document.document import Document
from designer.document.draft import described_since
from designer.document.files import ChangedOutside, SaveFailed
from designer.document.project import describe, rewritten
from designer.document.recovery import Snapshot
from designer.workbench import Workbench
from engine import Json, load_project, write_tree
from tests.builders import action, terminal, tree

NOTE = {"kind": "setProperty", "parameters": {"property": "seen", "value": "yes"}}
WAIT: dict[str, Json] = {"kind": "sleep", "parameters": {"seconds": 1}}
PROJECT = """{
  "format": 1,
  "mine": {"kept":   [1,2]},

  "actions": {
    "note": {"kind": "setProperty", "parameters": {"property": "seen", "value": "yes"}},
    "other": {"kind": "sleep",   "parameters": {"seconds": 0.50}}
  }
}
"""
TREE = tree(note=action("note", success="end"), end=terminal("end"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree.json").write_bytes(write_tree(TREE))
    (tmp_path / "treewright.json").write_text(PROJECT)
    return tmp_path


def opened(bench: Workbench, path: Path) -> Document:
    document = Document.open(path)
    assert isinstance(document, Document)
    bench.add(document)
    return document


def value(text: str) -> dict[str, Json]:
    return {"kind": "setProperty", "parameters": {"property": "seen", "value": text}}


def done(document: Document) -> object:
    """What the action would set, as the document's catalog has it."""
    return getattr(document.catalog.actions["note"], "parameters").value  # noqa: B009 - one of several kinds


def on_disk(folder: Path) -> str:
    return (folder / "treewright.json").read_text()


def test_an_edit_is_known_at_once_and_written_with_the_tree_and_every_other_byte_stays(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("no"))
    assert bench.project(document).actions["note"] == value("no")
    assert done(document) == "no"
    assert not document.clean
    assert on_disk(folder) == PROJECT
    bench.save(document)
    assert on_disk(folder) == PROJECT.replace('"yes"', '"no"')
    assert document.clean


def test_a_step_is_undone_before_and_after_a_save(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("no"))
    assert document.undo_stack.undoText() == "Edit action note"
    document.undo()
    assert [document.clean, done(document)] == [True, "yes"]
    document.redo()
    bench.save(document)
    document.undo()
    assert not document.clean
    assert bench.project(document).actions["note"] == NOTE
    bench.save(document)
    assert on_disk(folder) == PROJECT


def test_what_is_typed_is_one_step_and_typing_it_back_is_none(bench, folder):
    document = opened(bench, folder / "tree.json")
    for text in ("n", "no", "now"):
        bench.describe_action(document, "note", value(text), merge="note")
    assert document.undo_stack.count() == 1
    bench.describe_action(document, "note", value("yes"), merge="note")
    assert document.undo_stack.count() == 0
    assert document.clean


def test_a_new_action_belongs_to_one_step_with_the_node_and_makes_the_file_that_is_not_there(bench, folder):
    (folder / "treewright.json").unlink()
    document = opened(bench, folder / "tree.json")
    assert any(p.code == "action-unknown" for p in document.check_now())
    bench.describe_action(document, "note", WAIT)
    assert not any(p.code == "action-unknown" for p in document.check_now())
    assert document.undo_stack.undoText() == "New action note"
    bench.save(document)
    assert load_project(folder).actions == {"note": WAIT}
    document.undo()
    bench.save(document)
    assert load_project(folder).actions == {}


def test_an_action_another_program_described_anew_is_not_overwritten_unasked(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("mine"))
    theirs = PROJECT.replace('"yes"', '"theirs"')
    (folder / "treewright.json").write_text(theirs)
    with pytest.raises(ChangedOutside) as raised:
        bench.save(document)
    assert raised.value.path.name == "treewright.json"
    assert on_disk(folder) == theirs
    assert not document.clean
    document.keep_mine()
    bench.save(document)
    assert on_disk(folder) == PROJECT.replace('"yes"', '"mine"')


def test_reloading_shows_what_another_program_wrote_and_undo_brings_mine_back(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("mine"))
    (folder / "treewright.json").write_text(PROJECT.replace('"yes"', '"theirs"'))
    document.reload()
    bench.look_outside()
    assert bench.project(document).actions["note"] == value("theirs")
    document.undo()
    assert bench.project(document).actions["note"] == value("mine")


def test_what_others_wrote_elsewhere_in_the_file_stays(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("mine"))
    (folder / "treewright.json").write_text(PROJECT.replace("0.50", "7"))
    bench.save(document)
    assert on_disk(folder) == PROJECT.replace("0.50", "7").replace('"yes"', '"mine"')


def test_another_tree_of_the_folder_has_an_edit_once_it_is_saved(bench, folder):
    (folder / "second.json").write_bytes(write_tree(TREE))
    first, second = opened(bench, folder / "tree.json"), opened(bench, folder / "second.json")
    bench.describe_action(first, "note", value("no"))
    assert done(second) == "yes"
    bench.save(first)
    assert done(second) == "no"


def test_a_file_that_is_no_project_any_more_keeps_the_save_from_doing_half(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("no"))
    (folder / "treewright.json").write_text("[")
    with pytest.raises(
        SaveFailed, match=r"treewright.json could not be saved: it is no project file any more"
    ):
        bench.save(document)
    assert on_disk(folder) == "["
    assert (folder / "tree.json").read_bytes() == write_tree(TREE)


def test_actions_are_described_only_where_there_is_a_file_to_keep_them_in(bench, folder):
    unsaved = Document(Document.new().draft)
    bench.add(unsaved)
    assert bench.may_describe(unsaved) == "Save the tree first. Its actions are kept beside it."
    (folder / "treewright.json").write_text('{"actions": {"a": {"kind": "nothing"}}}')
    broken = opened(bench, folder / "tree.json")
    assert "must be one of" in (bench.may_describe(broken) or "")


def test_a_snapshot_of_unsaved_work_keeps_described_actions(bench, folder):
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("no"))
    snapshot = Snapshot.unpacked(Snapshot.of(document).packed())
    assert not snapshot.is_saved()
    again = snapshot.opened()
    bench.remove(document)
    bench.add(again)
    assert bench.project(again).actions["note"] == value("no")
    bench.save(again)
    assert on_disk(folder) == PROJECT.replace('"yes"', '"no"')
    assert snapshot.is_saved()


def test_a_tree_saved_under_another_name_takes_along_what_was_described(bench, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    document = opened(bench, folder / "tree.json")
    bench.describe_action(document, "note", value("no"))
    bench.save(document, other / "tree.json")
    assert load_project(other).actions == {"note": value("no")}
    assert on_disk(folder) == PROJECT


def test_edits_that_lead_nowhere_are_none(bench, folder):
    draft = opened(bench, folder / "tree.json").draft
    there = describe(describe(draft, "a", None, WAIT), "b", None, WAIT)
    back = describe(describe(there, "a", WAIT, None), "b", WAIT, None)
    assert described_since(draft, back) == {}
    assert {key: (c.before, c.after) for key, c in described_since(there, draft).items()} == {
        "a": (WAIT, None),
        "b": (WAIT, None),
    }


# ------------------------------------------------------------------------------------------ the text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 1) | st.text(max_size=3),
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inside, max_size=4)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=2), JSON, max_size=5)
LAYOUTS = st.sampled_from([
    {"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}, {"separators": (" ,", " : ")}
])  # fmt: skip


@given(OBJECTS, OBJECTS, LAYOUTS, st.sampled_from(["", "\ufeff"]), st.sampled_from(["\n", "\r\n"]))
def test_a_rewritten_text_says_the_new_value_and_comes_back_to_itself(before, after, layout, mark, end):
    text = mark + json.dumps(before, ensure_ascii=False, **layout).replace("\n", end) + end
    there = rewritten(text, after)
    assert json.loads(there.removeprefix("\ufeff")) == after
    assert there.startswith(mark)
    assert rewritten(text, before) == text
    assert "\r" not in there.replace("\r\n", "") if end == "\n" else "\n" not in there.replace("\r\n", "")


@given(OBJECTS, LAYOUTS)
def test_members_that_are_the_same_keep_their_bytes(held, layout):
    marker = '"zz": [ 1 ,2,   {"x" :3} ]'
    body = json.dumps(held, **layout).removeprefix("{").removesuffix("}")
    text = f"{{{marker}{',' if held else ''}{body}}}"
    assert marker in rewritten(text, {"zz": [1, 2, {"x": 3}], "new": {"a": 1}})
