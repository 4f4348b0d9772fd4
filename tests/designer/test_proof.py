"""The proof of a budget: worked out aside, for the tree that is there, and told in plain words."""

import asyncio
import threading

import pytest

from designer import proof as proving
from designer.document import edits
from designer.document.document import Document
from designer.document.draft import Draft, Place
from designer.document.names import titles_of
from designer.panels.meters import MetersPanel
from designer.proof import Proof, verdict_on
from designer.tasks import cancel_all
from engine import AnyNode, Budget, Tree, bounds
from tests.builders import classify, condition, cycle_tree, one_terminal, terminal, tree
from tests.designer.waiting import until

PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "ask"}, unknown="ask"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
).replace(budget=Budget(max_node_visits=5, max_llm_calls=8))


@pytest.fixture(autouse=True)
def at_once(monkeypatch) -> None:
    monkeypatch.setattr(proving, "SOON_MS", 0)
    monkeypatch.setattr(proving, "LATE_MS", 60_000)
    bounds(PLAN)  # the first time it loads what it needs, which may take as long as a whole story


@pytest.fixture
def document(qapp) -> Document:
    return Document(Draft(PLAN))


@pytest.fixture
def drive(aloop, bench):
    def run(story):
        async def whole():
            try:
                await story()
            finally:
                bench.running.cancel()
                await bench.running.ended()
                await cancel_all()
                bench.close()

        aloop.run_until_complete(whole())

    return run


class Gate:
    """Bounds of a document that are worked out only when they are let through."""

    def __init__(self, document: Document) -> None:
        self.asked: list[Tree] = []
        self._document = document
        self._open = threading.Semaphore(0)

    def __call__(self, tree, catalog):
        if catalog is self._document.catalog:
            self.asked.append(tree)
            self._open.acquire()
        return bounds(tree, catalog)

    def let(self) -> None:
        self._open.release()


@pytest.fixture
def gate(monkeypatch, document) -> Gate:
    gate = Gate(document)
    monkeypatch.setattr(proving, "bounds", gate)
    return gate


def texts(proof: Proof) -> dict[str, str]:
    return {node: cost.text for node, cost in proof.costs.items()}


def test_each_node_is_told_what_is_to_come_and_each_terminal_what_it_took(drive, document):
    async def story():
        proof = Proof()
        proof.follow(document)
        await until(lambda: proof.bounds)
        assert texts(proof) == {
            "gate": "1\N{EN DASH}4 calls · 2\N{EN DASH}3 visits",
            "size": "1\N{EN DASH}2 calls · 2 visits",
            "pay": "after 2\N{EN DASH}4 calls · 3 visits",
            "refuse": "after 1\N{EN DASH}2 calls · 2 visits",
            "ask": "after 2\N{EN DASH}4 calls · 2\N{EN DASH}3 visits",
        }
        assert proof.costs["size"].words == "From here to an end: 1\N{EN DASH}2 LLM calls and 2 visits."
        assert not any(cost.beyond for cost in proof.costs.values())

    drive(story)


def test_an_edit_is_proven_anew_and_undo_gives_the_old_words_back(drive, document):
    async def story():
        proof = Proof()
        proof.follow(document)
        await until(lambda: proof.bounds)
        before = texts(proof)
        document.edit("Budget", lambda draft: edits.set_budget(draft, "maxLlmCalls", 1))
        await until(lambda: proof.costs["pay"].beyond)
        assert proof.costs["pay"].text == "out of budget · after 2+ calls · 3+ visits"
        assert proof.costs["pay"].words.endswith("No run that keeps to the budget comes here and to an end.")
        assert not proof.costs["refuse"].beyond
        document.undo()
        await until(lambda: texts(proof) == before)

    drive(story)


def test_what_is_found_of_a_tree_that_is_gone_is_dropped(drive, document, gate):
    async def story():
        proof, heard = Proof(), []
        proof.follow(document)
        proof.changed.connect(lambda: heard.append(proof.bounds))
        await until(lambda: gate.asked)
        document.edit("Budget", lambda draft: edits.set_budget(draft, "maxLlmCalls", 1))
        gate.let()
        await until(lambda: len(gate.asked) == 2)
        assert heard == []
        gate.let()
        await until(lambda: heard)
        assert proof.bounds is not None
        assert proof.bounds.limits.llm_calls == 1
        assert gate.asked == [PLAN, document.draft.tree]

    drive(story)


def test_moving_a_card_proves_nothing_anew(drive, document, gate):
    async def story():
        proof = Proof()
        proof.follow(document)
        gate.let()
        await until(lambda: proof.bounds)
        document.edit("Move", lambda draft: edits.move_nodes(draft, {"gate": Place(11, 11)}))
        for _ in range(5):
            await asyncio.sleep(0.01)
        assert len(gate.asked) == 1

    drive(story)


def test_what_takes_long_is_said_and_nothing_old_is_shown_meanwhile(drive, document, gate, monkeypatch):
    monkeypatch.setattr(proving, "LATE_MS", 10)

    async def story():
        proof = Proof()
        proof.follow(document)
        await until(lambda: proof.late)
        gate.let()
        await until(lambda: proof.bounds)
        assert not proof.late
        document.edit("Budget", lambda draft: edits.set_budget(draft, "maxLlmCalls", 1))
        await until(lambda: proof.late)
        assert (proof.bounds, proof.costs) == (None, {})
        gate.let()
        await until(lambda: proof.bounds)

    drive(story)


def test_a_window_that_goes_waits_for_no_proof(aloop, document, gate):
    async def story():
        proof = Proof()
        proof.follow(document)
        await until(lambda: gate.asked)
        await cancel_all()
        proof.follow(None)

    aloop.run_until_complete(story())
    assert not asyncio.all_tasks(aloop)
    gate.let()


def words(tree: Tree) -> str:
    return verdict_on(bounds(tree), titles_of(tree))


def test_a_budget_that_is_enough_is_said_to_be():
    assert words(PLAN) == (
        "At worst 4 LLM calls and 3 visits; the budget allows 8 and 5. Every question can be asked twice. "
        "The least for every verdict is 2 LLM calls and 3 visits."
    )


def test_what_a_small_budget_keeps_out_of_reach_is_named():
    small = PLAN.replace(budget=Budget(max_node_visits=2, max_llm_calls=1))
    assert words(small) == (
        "At worst 4 LLM calls and 3 visits; the budget allows 1 and 2. Not every question can be asked "
        "twice. The longest way is cut short. Out of reach: pay, ask. "
        "The least for every verdict is 2 LLM calls and 3 visits."
    )


def test_many_terminals_out_of_reach_are_counted():
    targets = {f"a{n}": f"end{n}" for n in range(6)}
    ends: dict[str, AnyNode] = {f"end{n}": terminal(f"verdict {n}") for n in range(6)}
    nodes = {"gate": classify("Which?", targets, unknown="end0"), **ends}
    none = tree(nodes).replace(budget=Budget(max_llm_calls=0))
    assert "Out of reach: verdict 0, verdict 1, verdict 2 and 3 more." in words(none)


def test_a_circle_has_no_limit_but_the_budget():
    circle = cycle_tree().replace(budget=Budget(max_node_visits=5, max_llm_calls=4))
    assert words(circle) == (
        "At best 2 LLM calls and 2 visits; the budget allows 4 and 5. There is a circle, and no limit but "
        "the budget. The least for every verdict is 2 LLM calls and 2 visits."
    )
    (ask, done) = proving._costs(bounds(circle)).values()
    assert (ask.text, done.text) == (
        "2+ calls · no limit but the budget",
        "after 2+ calls · no limit but the budget",
    )


def test_a_tree_without_questions_costs_no_calls():
    plain = tree(
        known=condition("propertyExists", parameters={"key": "x"}, then="yes", otherwise="no"),
        yes=terminal("yes"),
        no=terminal("no"),
    )
    assert words(plain).startswith(
        "At worst 0 LLM calls and 2 visits; the budget allows 10 and 20. The least"
    )
    assert proving._costs(bounds(plain))["known"].text == "no calls · 2 visits"
    assert words(one_terminal()).startswith("At worst 0 LLM calls and 1 visit;")


def test_a_tree_that_leads_nowhere_says_so():
    assert words(Tree()) == "No way leads from the start to a terminal yet."


@pytest.fixture
def panel(qtbot, bench) -> MetersPanel:
    panel = MetersPanel(bench)
    qtbot.addWidget(panel)
    panel.resize(320, 420)
    panel.show()
    return panel


def test_the_meters_say_what_is_proven_and_offer_to_raise_only_a_budget_that_is_too_small(
    drive, panel, bench, document
):
    async def story():
        bench.add(document)
        await until(panel.proof.isVisible)
        assert panel.proof.text() == words(PLAN)
        assert not panel.sentence.isVisible()
        assert "a text model decides" in panel.proof.toolTip()
        assert not panel.use.isVisible()
        document.edit("Budget", lambda draft: edits.set_budget(draft, "maxLlmCalls", 1))
        await until(panel.use.isVisible)
        panel.use.click()
        assert document.undo_stack.count() == 2
        assert document.draft.tree.budget == Budget(max_node_visits=5, max_llm_calls=2)
        await until(lambda: not panel.use.isVisible())
        assert "the budget allows 2 and 5" in panel.proof.text()
        document.undo()
        await until(panel.use.isVisible)

    drive(story)


def test_while_a_run_goes_on_the_meters_speak_of_the_run(drive, panel, document, bench):
    async def story():
        bench.add(document)
        await until(panel.proof.isVisible)
        bench.running.start(document)
        await until(lambda: bench.running.question)
        assert "Waiting for your answer" in panel.sentence.text()
        assert not panel.proof.isVisible()
        assert not panel.use.isVisible()
        bench.running.answer("no")
        await until(lambda: bench.running.trail.result)
        await until(panel.proof.isVisible)
        assert panel.sentence.text() == "The run is over."

    drive(story)
