"""Any sequence of edits, undos, redos and saves keeps the promises of a document."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from designer.document import edits, rules
from designer.document.document import Document
from designer.document.draft import Place
from designer.document.files import design_bytes
from engine import NODE_TYPES, check, write_tree
from tests.designer.drafts import empty, triage

WORDS = st.sampled_from(["yes", "no", "unknown", "", "load", "ask", "ü \U0001f333", "true", "success"])
NUMBERS = st.integers(-2000, 2000)


def written(draft):
    return write_tree(draft.tree), design_bytes(draft)


class Authoring(RuleBasedStateMachine):
    """An author who does anything at all, one edit at a time."""

    @initialize(begin=st.sampled_from([empty, triage]))
    def begin(self, begin):
        self.folder = Path(tempfile.mkdtemp())
        self.document = Document(begin())
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
        self.document.deleteLater()
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
        self.document.save(self.folder / "tree.json")
        reopened = Document.open(self.folder / "tree.json")
        assert isinstance(reopened, Document)
        assert self.document.clean
        assert written(reopened.draft) == written(self.document.draft)

    @invariant()
    def everything_fits_together(self):
        draft = self.document.draft
        assert self.document.selection <= draft.tree.nodes.keys()
        assert draft.places.keys() == draft.tree.nodes.keys()
        assert self.document.check_now() == check(draft.tree)


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
