"""Any sequence of edits, undos, redos, saves and reloads keeps the promises of a document."""

import gc
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from PySide6.QtCore import QCoreApplication, QEvent

from designer import theme
from designer.canvas.overlay import Overlay
from designer.canvas.scene import Scene
from designer.document import clipboard, edits, rules
from designer.document.document import Document
from designer.document.draft import Note, Place
from designer.document.files import design_bytes
from designer.document.recovery import Snapshot
from designer.document.wording import in_plain_words
from engine import NODE_TYPES, check, write_tree
from tests.designer.drafts import empty, triage
from tests.designer.test_canvas_scene import assert_shows

WORDS = st.sampled_from(["yes", "no", "unknown", "", "load", "ask", "ü \U0001f333", "true", "success"])
NUMBERS = st.integers(-2000, 2000)


def written(draft):
    return write_tree(draft.tree), design_bytes(draft)


class Authoring(RuleBasedStateMachine):
    """An author who does anything at all, one edit at a time, while another program writes the file."""

    @initialize(begin=st.sampled_from([empty, triage]))
    def begin(self, begin):
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "tree.json"
        self.document = Document(begin())
        self.scene = Scene(theme.LIGHT)
        self.first = written(self.document.draft)

    def teardown(self):
        stack, last = self.document.undo_stack, written(self.document.draft)
        at_end = not stack.canRedo()
        while stack.canUndo():
            self.document.undo()
        assert written(self.document.draft) == self.first
        while stack.canRedo():
            self.document.redo()
        assert written(self.document.draft) == last or not at_end
        self.show()
        self.document.deleteLater()
        self.scene.deleteLater()
        del self.document, self.scene
        # One test plays thousands of these, and what it keeps of each is not looked through every time.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect(1)
        shutil.rmtree(self.folder)

    def node(self, data):
        return data.draw(st.sampled_from([*self.document.draft.tree.nodes, "nobody"]))

    def edit(self, change, merge=None):
        before, steps = self.document.draft, self.document.undo_stack.count()
        try:
            changed = self.document.edit("Edit", change, merge)
        except (KeyError, ValueError):
            assert (self.document.draft, self.document.undo_stack.count()) == (before, steps)
        else:
            assert changed == (self.document.draft is not before)
            self.ids_are_stable(before.tree.nodes, self.document.draft.tree.nodes)

    def ids_are_stable(self, before, after):
        """Nodes keep their ids and their order; only what is added comes last, and a new name in place."""
        kept = [i for i in before if i in after]
        assert [i for i in after if i in before] == kept
        if len(before) == len(after):
            assert sum(a != b for a, b in zip(before, after, strict=True)) <= 1
        elif len(after) > len(before):
            assert list(after)[: len(before)] == list(before)

    def show(self):
        self.scene.show(self.document.draft, Overlay(), self.document.selection)
        assert_shows(self.scene, self.document.draft)

    @rule(kind=st.sampled_from(sorted(NODE_TYPES)), x=NUMBERS, y=NUMBERS, base=st.none() | WORDS)
    def add(self, kind, x, y, base):
        self.edit(lambda d: edits.add_node(d, kind, Place(x, y), base))

    @rule(data=st.data())
    def remove(self, data):
        gone = {self.node(data), self.node(data)}
        self.edit(lambda d: edits.remove_nodes(d, gone))

    @rule(data=st.data(), x=NUMBERS, y=NUMBERS, merge=st.none() | st.sampled_from(["drag 1", "drag 2"]))
    def move(self, data, x, y, merge):
        node = self.node(data)
        self.edit(lambda d: edits.move_nodes(d, {node: Place(x, y)}), merge)

    @rule(data=st.data(), branch=WORDS)
    def connect(self, data, branch):
        source, target = self.node(data), self.node(data)
        if rules.may_connect(self.document.draft, source, branch, target) is None:
            self.edit(lambda d: edits.connect(d, source, branch, target))

    @rule(data=st.data(), branch=WORDS)
    def disconnect(self, data, branch):
        node = self.node(data)
        self.edit(lambda d: edits.disconnect(d, node, branch))

    @rule(data=st.data(), new=WORDS)
    def rename(self, data, new):
        old = self.node(data)
        if rules.may_rename(self.document.draft, old, new) is None:
            self.edit(lambda d: edits.rename_node(d, old, new))

    @rule(
        data=st.data(),
        outgoing=st.booleans(),
        cut=st.booleans(),
        at=st.none() | st.builds(Place, NUMBERS, NUMBERS),
    )
    def copy_and_paste(self, data, outgoing, cut, at):
        ids = {self.node(data), self.node(data)}
        clip = clipboard.take(self.document.draft, ids)
        if cut:
            self.edit(lambda d: edits.remove_nodes(d, ids))
        if clip.nodes:
            text = clipboard.spell(clip)
            self.edit(lambda d: clipboard.put(d, clipboard.read(text), at, outgoing=outgoing))

    @rule(data=st.data(), kind=st.sampled_from(["action", "classify", "condition"]), branch=WORDS)
    def insert(self, data, kind, branch):
        source = self.node(data)
        if rules.may_connect(self.document.draft, source, branch, source) is None:
            self.edit(lambda d: edits.insert_node(d, source, branch, kind, Place(0, 0), room=22))

    @rule(data=st.data(), remove=st.booleans())
    def detach(self, data, remove):
        ids = {self.node(data), self.node(data)}
        if rules.may_detach(self.document.draft, ids) is None:
            self.edit(
                lambda d: edits.remove_nodes(edits.heal(d, ids), ids) if remove else edits.detach(d, ids)
            )

    @rule(data=st.data(), kind=st.sampled_from(sorted(NODE_TYPES)))
    def change_kind(self, data, kind):
        node = self.node(data)
        self.edit(lambda d: edits.change_kind(d, node, kind))

    @rule(name=st.sampled_from("ab"), text=WORDS, x=NUMBERS, kind=st.sampled_from([None, "note", "frame"]))
    def note(self, name, text, x, kind):
        note = kind and Note(Place(x, 0), 200, 100, text, kind)
        self.edit(lambda d: edits.set_notes(d, {name: note}))

    @rule(data=st.data())
    def go_back_or_forth(self, data):
        self.document.go_to(data.draw(st.integers(0, self.document.undo_stack.count())))

    @rule(data=st.data(), answers=st.lists(WORDS, max_size=4), merge=st.none() | st.just("answers"))
    def answers(self, data, answers, merge):
        node = self.node(data)
        self.edit(lambda d: edits.set_answers(d, node, answers), merge)

    @rule(data=st.data(), member=st.sampled_from(["name", "task", "verdict", "actionKey"]), text=WORDS)
    def member(self, data, member, text):
        node = self.node(data)
        self.edit(lambda d: edits.set_field(d, node, member, text), f"{node} {member}")

    @rule(data=st.data(), value=st.sampled_from([True, 1, 1.0, None, "", [], {"a": False}]))
    def parameter(self, data, value):
        node = self.node(data)
        self.edit(lambda d: edits.set_parameter(d, node, "p", value), "parameter")

    @rule(member=st.sampled_from(["maxLlmCalls", "maxNodeVisits"]), value=st.none() | st.integers(-1, 3))
    def budget(self, member, value):
        self.edit(lambda d: edits.set_budget(d, member, value))

    @rule(data=st.data())
    def start(self, data):
        node = self.node(data)
        self.edit(lambda d: edits.set_start(d, node))

    @rule(steps=st.integers(1, 5))
    def undo(self, steps):
        for _ in range(steps):
            self.document.undo()

    @rule(steps=st.integers(1, 5))
    def redo(self, steps):
        for _ in range(steps):
            self.document.redo()

    @rule(data=st.data())
    def select(self, data):
        self.document.select({self.node(data), self.node(data)})

    @rule()
    def save(self):
        if self.document.path and self.document.changed_outside():
            self.document.keep_mine()
        self.document.save(self.path)
        reopened = Document.open(self.path)
        assert isinstance(reopened, Document)
        assert (self.document.clean, self.document.changed_outside()) == (True, False)
        assert written(reopened.draft) == written(self.document.draft)
        assert list(reopened.draft.tree.nodes) == list(self.document.draft.tree.nodes)

    @precondition(lambda self: self.document.path)
    @rule(data=st.data(), title=WORDS)
    def write_outside(self, data, title):
        there = Document.open(self.path)
        assert isinstance(there, Document)
        there.edit("Rename", lambda d: edits.set_tree_field(d, "name", title))
        there.edit("Remove", lambda d: edits.remove_nodes(d, {self.node(data)}))
        self.path.write_bytes(write_tree(there.draft.tree))

    @precondition(lambda self: self.document.path)
    @rule()
    def reload(self):
        mine = written(self.document.draft)
        steps = self.document.undo_stack.index()
        assert self.document.reload() is None
        there = Document.open(self.path)
        assert isinstance(there, Document)
        assert written(self.document.draft) == written(there.draft)
        assert (self.document.clean, self.document.changed_outside()) == (True, False)
        if self.document.undo_stack.index() != steps:
            self.document.undo()
            assert written(self.document.draft) == mine
            self.document.redo()

    @rule()
    def recover(self):
        snapshot = Snapshot.unpacked(Snapshot.of(self.document).packed())
        recovered = snapshot.opened()
        assert written(recovered.draft) == written(self.document.draft)
        assert recovered.clean <= (self.document.path is not None and snapshot.is_saved())

    @invariant()
    def everything_fits_together(self):
        self.show()
        draft = self.document.draft
        assert self.document.selection <= draft.tree.nodes.keys()
        assert draft.places.keys() == draft.tree.nodes.keys()
        assert self.document.check_now() == in_plain_words(check(draft.tree), draft.tree)


def play(examples):
    run_state_machine_as_test(
        Authoring,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


def test_two_hundred_sequences_of_edits_keep_every_promise(qapp):
    play(200)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_sequences_of_edits_keep_every_promise(qapp):
    play(10_000)
