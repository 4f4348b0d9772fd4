"""Files of a document: read whole or not at all, saved whole or not at all."""

import json
import os
import subprocess
import sys

import pytest

from designer.document import edits
from designer.document.draft import Note, Place
from designer.document.files import (
    ChangedOutside,
    SaveFailed,
    Stored,
    Unreadable,
    design_path,
    difference,
    open_tree,
    save_tree,
)
from engine import write_tree
from tests.designer.drafts import triage


@pytest.fixture
def path(tmp_path):
    """A saved tree."""
    return save_tree(triage(), path=tmp_path / "tree.json").path


def opened(path) -> Stored:
    stored = open_tree(path)
    assert isinstance(stored, Stored)
    return stored


def refused(path) -> Unreadable:
    unreadable = open_tree(path)
    assert isinstance(unreadable, Unreadable)
    return unreadable


def retitled(stored, name="Triage"):
    return edits.set_tree_field(stored.draft, "name", name)


def entries(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_saved_draft_reopens_equal(path):
    assert opened(path).draft == triage()


def test_a_place_is_one_line_of_whole_numbers_in_the_order_of_the_nodes(tmp_path):
    draft = edits.move_nodes(triage(), {"bad": Place(3.4, -7.6)})
    save_tree(draft, path=tmp_path / "tree.json")
    assert (tmp_path / "tree.design.json").read_text() == (
        '{\n  "format": 1,\n  "places": {\n    "load": [0, 0],\n    "ask": [330, 0],\n'
        '    "known": [660, 0],\n    "good": [990, 0],\n    "bad": [3, -8]\n  }\n}\n'
    )


def test_saving_an_unchanged_tree_touches_no_file_however_it_was_written(path):
    path.write_text(json.dumps(json.loads(path.read_bytes())))
    design_path(path).unlink()
    before = {entry: entry.stat() for entry in path.parent.iterdir()}
    stored = opened(path)
    assert save_tree(stored.draft, stored) is stored
    assert {entry: entry.stat() for entry in path.parent.iterdir()} == before


def test_moving_a_card_leaves_a_tree_of_another_tool_as_it_was_written(path):
    foreign = json.dumps(json.loads(path.read_bytes()))
    path.write_text(foreign)
    stored = opened(path)
    save_tree(edits.move_nodes(stored.draft, {"ask": Place(5, 5)}), stored)
    assert path.read_text() == foreign
    assert opened(path).draft.places["ask"] == Place(5, 5)


def test_members_of_the_design_that_are_not_ours_come_back_as_they_were(path):
    design = json.loads(design_path(path).read_bytes()) | {"remarks": [{"text": "ö"}], "view": {"zoom": 0.5}}
    design_path(path).write_text(json.dumps(design))
    stored = opened(path)
    save_tree(retitled(stored), stored)
    assert json.loads(design_path(path).read_bytes()) == design


def test_nodes_without_a_place_are_laid_out_around_the_others(path):
    design = json.loads(design_path(path).read_bytes())
    del design["places"]["bad"]
    design["places"]["nobody"] = [1, 1]
    design_path(path).write_text(json.dumps(design))
    places = opened(path).draft.places
    assert places.keys() == triage().tree.nodes.keys()
    assert places["ask"] == triage().places["ask"]


@pytest.mark.parametrize(
    "design",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"places": {"ask": [1]}}',
        b'{"places": {"ask": "far"}}',
        b'{"places": {"ask": [1, null]}}',
        b'{"view": NaN}',
        b'{"note": "\\ud800"}',
        b"[" * 100_000,
        b'{"places": {"ask": [1e999, 0]}}',
        b'{"places": {"ask": [1' + b"0" * 400 + b", 0]}}",
        b'{"format": "x"}',
        b'{"format": true}',
        b'{"format": 1.0}',
    ],
)
def test_a_design_that_cannot_be_used_costs_the_places_only_and_is_kept_aside(path, design):
    design_path(path).write_bytes(design)
    stored = opened(path)
    assert stored.draft.tree == triage().tree
    assert stored.draft.places.keys() == triage().places.keys()
    assert [p.code for p in stored.problems] == ["design-unreadable"]
    assert design_path(path).read_bytes() == design
    saved = save_tree(retitled(stored), stored)
    assert saved.problems == ()
    assert (path.parent / "tree.design.json.broken").read_bytes() == design
    assert opened(path).problems == ()


def test_a_design_of_a_newer_form_is_not_opened_because_saving_would_spoil_it(path):
    design_path(path).write_text('{"format": 2}')
    (problem,) = refused(path).problems
    assert problem.code == "design-newer"
    assert "tree.design.json is of form 2" in problem.message


@pytest.mark.parametrize("name", ["tree.json", "tree.design.json"])
def test_of_a_file_without_an_end_no_more_is_read_than_shows_its_size(path, name):
    path.with_name(name).unlink()
    path.with_name(name).symlink_to("/dev/zero")
    (problem,) = refused(path).problems
    assert problem.code == "json-too-large"
    assert "larger than 16 MB" in problem.message


def test_a_file_that_is_no_json_opens_as_text_with_the_place_of_the_fault(path):
    path.write_text('{\n  "treeId": oops\n}')
    unreadable = refused(path)
    assert unreadable.text == '{\n  "treeId": oops\n}'
    assert (unreadable.problems[0].line, unreadable.problems[0].column) == (2, 13)


def test_a_tree_with_a_part_of_the_wrong_type_is_not_opened_for_editing(path):
    path.write_text('{"treeId": "t", "version": "one", "startNodeId": "a", "nodes": {}}')
    unreadable = refused(path)
    assert ("type-invalid", "version") in [(p.code, p.field) for p in unreadable.problems]
    assert '"one"' in unreadable.text


@pytest.mark.parametrize("name", ["missing.json", "folder", "x" * 300])
def test_a_file_that_cannot_be_read_says_which_and_why(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (problem,) = refused(tmp_path / name).problems
    assert problem.code == "file-unreadable"
    assert name in problem.message


def test_saving_follows_a_link_and_keeps_the_mode(path, tmp_path):
    link = tmp_path / "link.json"
    path.chmod(0o640)
    link.symlink_to(path)
    stored = opened(link)
    save_tree(retitled(stored), stored)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert opened(path).draft.tree.name == "Triage"


def test_a_new_file_has_the_mode_every_new_file_has(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    assert save_tree(triage(), path=tmp_path / "t.json").path.stat().st_mode == usual.stat().st_mode


def test_a_write_protected_file_is_not_replaced(path):
    stored = opened(path)
    path.chmod(0o444)
    with pytest.raises(SaveFailed, match=r"tree\.json could not be saved: It is write-protected\."):
        save_tree(retitled(stored), stored)
    assert opened(path).draft == stored.draft


def test_a_file_changed_by_another_program_is_not_overwritten_unless_asked(path):
    stored = opened(path)
    theirs = write_tree(retitled(stored, "Theirs").tree)
    path.write_bytes(theirs)
    with pytest.raises(ChangedOutside) as caught:
        save_tree(retitled(stored, "Mine"), stored)
    assert caught.value.path == path
    assert path.read_bytes() == theirs
    save_tree(retitled(stored, "Mine"), stored, force=True)
    assert opened(path).draft.tree.name == "Mine"


def test_keeping_mine_restores_even_a_draft_without_edits(path):
    stored = opened(path)
    path.write_bytes(b"{}")
    with pytest.raises(ChangedOutside):
        save_tree(stored.draft, stored)
    save_tree(stored.draft, stored, force=True)
    assert opened(path).draft == stored.draft


def test_a_file_that_another_program_deleted_counts_as_changed(path):
    stored = opened(path)
    path.unlink()
    with pytest.raises(ChangedOutside):
        save_tree(stored.draft, stored)


def test_the_same_bytes_written_again_are_no_change(path):
    stored = opened(path)
    path.write_bytes(path.read_bytes())
    os.utime(path, (1, 1))
    save_tree(retitled(stored), stored)


def test_saving_under_another_name_leaves_the_first_file_alone(path, tmp_path):
    stored = opened(path)
    saved = save_tree(retitled(stored), stored, tmp_path / "other.json")
    assert opened(path).draft == stored.draft
    assert opened(saved.path).draft.tree.name == "Triage"
    assert (tmp_path / "other.design.json").exists()


def test_what_a_killed_save_left_behind_is_swept_and_nothing_else(path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = path.parent / f".tree.json.{dead.pid}-00ff.treewright-tmp"
    others = [
        path.parent / f".tree.json.{os.getppid()}-00ff.treewright-tmp",
        path.parent / f".other.json.{dead.pid}-00ff.treewright-tmp",
        path.parent / ".tree.json.treewright-tmp",
    ]
    for file in (left, *others):
        file.touch()
    open_tree(path)
    assert not left.exists()
    assert all(file.exists() for file in others)


NOTES = {
    "note": Note(Place(10, 20), 220, 110, '# Why\n\nBecause "so".'),
    "frame": Note(Place(-5, 0), 600, 300, "Asking", "frame", "warn"),
}


def test_notes_and_frames_are_lines_of_the_design_file_and_not_of_the_tree(path):
    stored = opened(path)
    tree = path.read_bytes()
    save_tree(edits.set_notes(stored.draft, NOTES), stored)
    assert opened(path).draft.notes == NOTES
    assert path.read_bytes() == tree
    lines = design_path(path).read_text().splitlines()
    assert sum("Because" in line for line in lines) == 1
    assert not any("notes" in line for line in opened(path).draft.design)
    save_tree(edits.set_notes(opened(path).draft, dict.fromkeys(NOTES)), opened(path))
    assert "notes" not in design_path(path).read_text()


@pytest.mark.parametrize(
    "note", ["5", "{}", '{"place": [1], "size": [1, 2]}', '{"place": ["a", 1], "size": [1, 2]}']
)
def test_a_note_that_cannot_be_read_costs_the_design_and_not_the_tree(path, note):
    design_path(path).write_text('{"format": 1, "notes": {"a": ' + note + "}}")
    stored = opened(path)
    assert [p.code for p in stored.problems] == ["design-unreadable"]
    assert stored.draft.tree == triage().tree


def test_a_difference_begins_with_what_it_means_and_then_shows_the_lines(path):
    mine = edits.rename_node(retitled(opened(path)), "ask", "question")
    lines = difference(mine, path).splitlines()
    assert lines[:5] == [
        "~ the tree",
        '    name: not set → "Triage"',
        "> ask is question (question)",
        "1 node renamed, 1 change of the tree itself.",
        "",
    ]
    assert '+  "name": "Triage",' in lines


def test_places_are_no_difference_of_meaning(path):
    mine = edits.move_nodes(opened(path).draft, {"bad": Place(5, 5)})
    lines = difference(mine, path).splitlines()
    assert lines[0].startswith("--- tree.design.json")
