"""The open document: one gesture is one undo step, the dirty flag is honest, the problems are fresh."""

import os
import random
from functools import partial

import pytest

from designer.document import edits
from designer.document.document import Document
from designer.document.draft import Place
from designer.document.files import (
    ChangedOutside,
    SaveFailed,
    Unreadable,
    design_path,
    previous,
    previous_path,
    save_tree,
)
from engine import Catalog, standard_catalog, write_tree
from tests.designer.drafts import targets, triage


@pytest.fixture
def document(qapp):
    return Document(triage())


@pytest.fixture
def stored(qapp, tmp_path):
    """A document that has a file."""
    document = Document.open(save_tree(triage(), path=tmp_path / "tree.json").path)
    assert isinstance(document, Document)
    return document


def heard(signal):
    """What a signal sends from now on."""
    sent: list[tuple[object, ...]] = []
    signal.connect(lambda *values: sent.append(values))
    return sent


def retask(document, task, merge=None):
    document.edit("Edit task", lambda d: edits.set_field(d, "ask", "task", task), merge)


def drag(document, x, merge="drag 1"):
    document.edit("Move", lambda d: edits.move_nodes(d, {"ask": Place(x, 0)}), merge)


def test_an_edit_is_one_step_with_a_name_that_can_be_taken_back(document):
    first = document.draft
    assert document.edit("Connect", lambda d: edits.connect(d, "ask", "yes", "bad"))
    assert document.undo_stack.undoText() == "Connect"
    assert targets(document.draft, "ask")["yes"] == "bad"
    document.undo()
    assert document.draft is first
    document.redo()
    assert targets(document.draft, "ask")["yes"] == "bad"


def test_an_edit_that_changes_nothing_makes_no_step(document):
    changes = heard(document.changed)
    assert not document.edit("Connect", lambda d: edits.connect(d, "ask", "yes", "good"))
    assert (document.undo_stack.count(), document.clean, changes) == (0, True, [])


def test_an_edit_that_fails_leaves_the_document_as_it_was(document):
    first = document.draft
    with pytest.raises(KeyError):
        document.edit("Rename", lambda d: edits.rename_node(d, "nobody", "x"))
    assert (document.draft, document.undo_stack.count()) == (first, 0)


def test_whoever_listens_gets_the_draft_before_and_after(document):
    first, changes = document.draft, heard(document.changed)
    retask(document, "Really?")
    document.undo()
    assert [(a is first, b is first) for a, b in changes] == [(True, False), (False, True)]


def test_the_moves_of_one_drag_are_one_step(document):
    for x in range(400, 450):
        drag(document, x)
    assert document.undo_stack.count() == 1
    drag(document, 500, merge="drag 2")
    assert document.undo_stack.count() == 2
    document.undo()
    assert document.draft.places["ask"].x == 449
    document.undo()
    assert document.draft.places["ask"].x == 330


def test_a_drag_back_to_where_it_began_leaves_no_step(document):
    drag(document, 400)
    drag(document, 330)
    assert (document.undo_stack.count(), document.clean) == (0, True)


@pytest.mark.parametrize(
    "between",
    [
        lambda d: d.select(["load"]),
        lambda d: d.end_gesture(),
        lambda d: (d.undo(), d.redo()),
        lambda d: d.edit("Start", lambda draft: edits.set_start(draft, "ask")),
    ],
)
def test_typing_in_one_field_is_one_step_until_something_else_happens(document, between):
    retask(document, "R", "task of ask")
    retask(document, "Re", "task of ask")
    assert document.undo_stack.count() == 1
    between(document)
    steps = document.undo_stack.count()
    retask(document, "Rea", "task of ask")
    assert document.undo_stack.count() == steps + 1


def test_a_merged_step_that_python_would_call_unchanged_is_kept(document):
    def put(value, merge):
        document.edit("Edit", lambda d: edits.set_parameter(d, "known", "n", value), merge)

    put(1, "first")
    for value in (2, True):
        put(value, "second")
    assert document.undo_stack.count() == 2
    put(1, "second")
    assert document.undo_stack.count() == 1


def test_the_selection_follows_a_renamed_node_and_forgets_a_removed_one(document):
    document.select({"ask", "load", "nobody"})
    assert document.selection == {"ask", "load"}
    document.edit("Rename", lambda d: edits.rename_node(d, "ask", "question"))
    assert document.selection == {"question", "load"}
    document.edit("Delete", lambda d: edits.remove_nodes(d, ["load"]))
    assert document.selection == {"question"}
    document.undo()
    document.undo()
    assert document.selection <= document.draft.tree.nodes.keys()


def test_a_node_just_added_is_selected(document):
    document.select(["ask"])
    selections = heard(document.selection_changed)
    document.edit("Add", lambda d: edits.add_node(d, "terminal", Place(0, 0)))
    assert document.selection == {"terminal"}
    assert selections == [({"terminal"},)]


def test_an_edit_of_something_else_keeps_the_selection(document):
    document.select(["ask"])
    selections = heard(document.selection_changed)
    retask(document, "Really?")
    assert (document.selection, selections) == ({"ask"}, [])


def test_selecting_the_same_again_says_nothing(document):
    document.select(["ask"])
    selections = heard(document.selection_changed)
    document.select(("ask", "ask"))
    assert selections == []


def test_a_document_is_dirty_exactly_while_it_differs_from_its_last_save(stored):
    said = heard(stored.saved_changed)
    assert stored.clean
    retask(stored, "a")
    assert not stored.clean
    stored.undo()
    assert stored.clean
    stored.redo()
    stored.save()
    assert stored.clean
    stored.undo()
    assert not stored.clean
    stored.save()
    stored.redo()
    assert not stored.clean
    assert len(said) == 7


def test_typing_on_after_a_save_is_a_step_of_its_own(stored):
    retask(stored, "a", "task")
    stored.save()
    retask(stored, "ab", "task")
    assert not stored.clean
    stored.undo()
    assert stored.clean


def test_a_new_document_is_empty_clean_and_has_no_file(qapp):
    document = Document.new()
    assert (document.path, document.clean, dict(document.draft.tree.nodes)) == (None, True, {})


def test_saving_gives_a_new_document_its_file(document, tmp_path):
    said = heard(document.saved_changed)
    document.save(tmp_path / "new.json")
    assert document.path == tmp_path / "new.json"
    assert len(said) == 1
    reopened = Document.open(document.path)
    assert isinstance(reopened, Document)
    assert reopened.draft == document.draft


def test_a_save_that_fails_leaves_the_document_dirty(stored):
    retask(stored, "a")
    stored.path.chmod(0o444)
    with pytest.raises(SaveFailed):
        stored.save()
    assert not stored.clean
    stored.path.chmod(0o644)
    stored.save()
    assert stored.clean


def test_a_save_over_the_work_of_another_program_must_be_asked_for(stored):
    stored.path.write_text("{}")
    retask(stored, "a")
    with pytest.raises(ChangedOutside):
        stored.save()
    assert not stored.clean
    stored.save(force=True)
    assert stored.clean


def test_what_cannot_be_edited_opens_as_its_text(qapp, tmp_path):
    (tmp_path / "notes.json").write_text("no tree")
    unreadable = Document.open(tmp_path / "notes.json")
    assert isinstance(unreadable, Unreadable)
    assert unreadable.text == "no tree"


def test_problems_appear_soon_after_an_edit_and_go_with_it(document, qtbot):
    document.check_now()
    with qtbot.waitSignal(document.problems_changed, timeout=2000):
        document.edit("Disconnect", lambda d: edits.disconnect(d, "ask", "yes"))
    assert any(p.node == "ask" and p.severity == "error" for p in document.problems)
    document.undo()
    assert not any(p.severity == "error" for p in document.check_now())


def test_many_edits_are_checked_once(document, qtbot):
    document.check_now()
    found = heard(document.problems_changed)
    for branch in ("yes", "no", "unknown"):
        document.edit("Disconnect", lambda d, b=branch: edits.disconnect(d, "ask", b))
    assert found == []
    qtbot.waitUntil(lambda: bool(found))
    assert len(found) == 1


def test_another_catalog_brings_other_problems(document):
    assert document.catalog.predicates.keys() == standard_catalog().predicates.keys()
    assert "predicate-unknown" not in {p.code for p in document.check_now()}
    document.catalog = Catalog()
    assert "predicate-unknown" in {p.code for p in document.check_now()}


def test_oddities_of_the_files_are_problems_until_the_document_is_saved(stored):
    design_path(stored.path).write_text("oops")
    document = Document.open(stored.path)
    assert isinstance(document, Document)
    assert "design-unreadable" in {p.code for p in document.check_now()}
    retask(document, "a")
    document.save()
    assert "design-unreadable" not in {p.code for p in document.check_now()}


def test_fifty_documents_come_and_go(qapp):
    for _ in range(50):
        document = Document(triage())
        document.edit("Start", partial(edits.set_start, node_id="ask"))
        document.undo()
        document.deleteLater()


# ------------------------------------------------------------------------------------------ other programs


def written_by_another(document, task="Theirs?"):
    """Another program changes the tree file; the draft it wrote."""
    theirs = edits.set_field(document.draft, "ask", "task", task)
    document.path.write_bytes(write_tree(theirs.tree))
    return theirs


def test_a_change_by_another_program_is_told_by_content_and_not_by_time(stored):
    data = stored.path.read_bytes()
    stored.path.write_bytes(data)
    assert not stored.changed_outside()
    before = stored.path.stat()
    stored.path.write_bytes(data.replace(b"fine", b"good"))
    os.utime(stored.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert stored.changed_outside()
    stored.path.write_bytes(data)
    assert not stored.changed_outside()


def test_reloading_shows_what_the_disk_holds_and_undo_brings_my_work_back(stored):
    retask(stored, "Mine?")
    mine, theirs = stored.draft, written_by_another(stored)
    assert stored.reload() is None
    assert (stored.draft, stored.clean, stored.changed_outside()) == (theirs, True, False)
    stored.undo()
    assert (stored.draft, stored.clean) == (mine, False)
    stored.save()
    stored.undo()
    stored.redo()
    assert stored.draft == mine


def test_reloading_what_is_here_already_makes_no_step(stored):
    written_by_another(stored)
    retask(stored, "Theirs?")
    stored.reload()
    assert (stored.undo_stack.count(), stored.clean) == (1, True)
    stored.undo()
    assert not stored.clean


def test_a_file_that_is_no_tree_any_more_is_not_reloaded(stored):
    retask(stored, "Mine?")
    mine = stored.draft
    stored.path.write_text("{")
    assert isinstance(stored.reload(), Unreadable)
    assert (stored.draft, stored.clean) == (mine, False)


@pytest.mark.parametrize("change", [lambda path: path.write_text("{}"), lambda path: path.unlink()])
def test_keeping_mine_overwrites_what_was_seen_and_asks_again_about_what_comes_later(stored, change):
    change(stored.path)
    stored.keep_mine()
    assert (stored.changed_outside(), stored.clean) == (False, False)
    stored.path.write_text("[]")
    assert stored.changed_outside()
    with pytest.raises(ChangedOutside):
        stored.save()
    stored.keep_mine()
    stored.save()
    assert stored.clean
    reopened = Document.open(stored.path)
    assert isinstance(reopened, Document)
    assert reopened.draft == stored.draft


def test_deciding_later_is_not_asked_again_before_saving_or_another_change(stored):
    written_by_another(stored)
    stored.put_off()
    assert not stored.changed_outside()
    with pytest.raises(ChangedOutside):
        stored.save()
    written_by_another(stored, "Once more?")
    assert stored.changed_outside()


def test_the_version_a_save_replaced_can_be_brought_back(stored):
    first = stored.draft
    retask(stored, "Second?")
    stored.save()
    assert previous(stored.path, stored.draft) == first
    third = written_by_another(stored, "Third?")
    stored.keep_mine()
    stored.save()
    assert previous(stored.path, stored.draft) == third


def test_moving_cards_keeps_the_version_of_the_tree_that_is_kept(stored):
    first = stored.draft
    retask(stored, "Second?")
    stored.save()
    drag(stored, 77)
    stored.save()
    kept = previous(stored.path, stored.draft)
    assert kept is not None
    assert kept.tree == first.tree


def test_a_document_that_is_read_only_says_why_and_stays_as_it_is(stored):
    retask(stored, "Mine?")
    mine, said = stored.draft, heard(stored.refused)
    stored.read_only = "It is open elsewhere."
    retask(stored, "More?")
    stored.undo()
    stored.redo()
    assert (stored.draft, said) == (mine, [("It is open elsewhere.",)] * 3)
    stored.read_only = None
    stored.undo()
    assert stored.clean


def test_a_draft_that_stands_in_no_file_stays_unsaved_whatever_is_undone(document):
    retask(document, "Mine?")
    document.mark_unsaved()
    document.undo()
    assert not document.clean


@pytest.mark.parametrize("seed", range(100))
def test_two_editors_in_turns_never_overwrite_each_other_silently(qapp, tmp_path, seed):
    chance = random.Random(seed)
    path = save_tree(triage(), path=tmp_path / "tree.json").path
    editors = []
    for _ in range(2):
        editor = Document.open(path)
        assert isinstance(editor, Document)
        editors.append(editor)
    known = dict.fromkeys(editors, path.read_bytes())
    for number in range(12):
        editor, there = chance.choice(editors), path.read_bytes()
        retask(editor, f"Number {number}?")
        stale = there != known[editor]
        assert editor.changed_outside() is stale
        if stale:
            with pytest.raises(ChangedOutside):
                editor.save()
            assert path.read_bytes() == there
            if chance.random() < 0.5:
                editor.reload()
                known[editor] = there
                continue
            editor.keep_mine()
        editor.save()
        assert previous_path(path).read_bytes() == there
        known[editor] = path.read_bytes()


def test_what_is_written_back_by_hand_is_clean_though_it_took_steps(stored):
    changes = heard(stored.saved_changed)
    task = stored.draft.tree.nodes["ask"].task
    retask(stored, "Really?", "one visit")
    assert not stored.clean
    retask(stored, task, "another visit")
    assert (stored.clean, stored.undo_stack.count(), len(changes)) == (True, 2, 2)
    stored.undo()
    assert not stored.clean
    stored.redo()
    stored.mark_unsaved()
    assert not stored.clean


def test_problems_are_told_in_plain_words(document):
    document.edit("Disconnect", lambda draft: edits.disconnect(draft, "ask", "no"))
    assert "Nothing follows 'no' yet." in [problem.message for problem in document.check_now()]
