"""Bounds: what runs can cost equals what runs of the real engine and a plain enumeration show."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine.analysis
from engine import (
    ActionContext,
    ActionResult,
    AnyNode,
    Budget,
    Catalog,
    FunctionAction,
    Tree,
    check,
    read_tree,
    standard_catalog,
    write_tree,
)
from engine.analysis import Bound, Range, bounds
from tests.builders import action, classify, condition, cycle_tree, evidence_tree, terminal, tree
from tests.engine.runs import Does
from tests.engine.small_trees import (
    DECLARED,
    Explorer,
    Key,
    Seen,
    enumerated,
    options,
    small_trees,
    starting_at,
    whole,
    within,
    without_calls,
    without_visits,
)
from tests.engine.test_cli import EVIDENCE, Said

ROOT = Path(__file__).parents[2]
CATALOG = standard_catalog().with_external(DECLARED, ["chosen"])
MUCH = 10**6

Explore = Callable[[Tree, Key, int, int], Seen]
"""Everything runs of a tree do, with states of one key taken as alike, within visits and calls."""


def in_theory(tree: Tree, key: Key, visits: int, calls: int) -> Seen:
    return enumerated(tree, key, visits=visits, calls=calls)


def in_runs(tree: Tree, key: Key, visits: int, calls: int) -> Seen:
    return asyncio.run(Explorer(within(tree, visits, calls), key).explore())


def spread(costs: Iterable[int], limit: int) -> Range:
    """From the least to the most there is; with more than the limit, round a circle, there is no most."""
    found = set(costs)
    return Range(min(found), None if max(found) > limit else max(found))


def costs(tree: Tree, explore: Explore) -> dict[str, tuple[Range, Range]]:
    """The visits and the calls of all ways from the start to each terminal, and to any of them as ''.

    Who goes round no circle visits each node once at most; who can go round one can also come to an end
    before the double of that.
    """
    visits, calls = len(tree.nodes), sum(max(o.calls for o in options(n)) for n in inner(tree))
    long = explore(tree, without_calls, 2 * visits, MUCH).ends
    dear = explore(tree, without_visits, MUCH, 2 * calls).ends
    return {
        name: (
            spread((end.visits for end in long if name in ("", end.node)), visits),
            spread((end.calls for end in dear if name in ("", end.node)), calls),
        )
        for name in ("", *(end.node for end in long))
    }


def inner(tree: Tree) -> list[AnyNode]:
    return [node for node in tree.nodes.values() if node.branches()]


def check_bounds(tree: Tree, explore: Explore, nodes: Iterable[str]) -> None:
    """Every bound is the one that was found by going every way."""
    found, budget = bounds(tree, CATALOG), tree.budget or Budget()
    own = explore(tree, whole, budget.max_node_visits or 0, budget.max_llm_calls or 0)
    by_terminal = costs(tree, explore)
    to_any = by_terminal.pop("")
    assert {name: (b.visits, b.llm_calls) for name, b in found.terminals.items()} == by_terminal
    assert {name for name, b in found.terminals.items() if b.reachable_in_budget} == own.terminals()
    assert {name for name, b in found.nodes.items() if b.reachable_in_budget} == {
        state.node for state in own.ending()
    }
    assert found.start == found.nodes[tree.start_node_id]
    assert (found.start.visits, found.start.llm_calls) == to_any
    for name in nodes:
        bound = found.nodes[name]
        assert (bound.visits, bound.llm_calls) == costs(starting_at(tree, name), explore)[""]
    assert found.smallest_budget is not None
    visits, calls = found.smallest_budget.max_node_visits or 0, found.smallest_budget.max_llm_calls or 0
    every = set(found.terminals)
    assert explore(tree, whole, visits, calls).terminals() == every
    assert visits == 1 or explore(tree, whole, visits - 1, calls).terminals() != every
    assert calls == 0 or explore(tree, without_visits, MUCH, calls - 1).terminals() != every


# -- by every way there is -----------------------------------------------------------------------------

many = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
some = settings(max_examples=100, deadline=None)
few = settings(max_examples=50, deadline=None)


@some
@given(small_trees())
def test_bounds_are_those_of_every_way_there_is(tree: Tree):
    check_bounds(tree, in_theory, tree.nodes)


@few
@given(small_trees())
def test_bounds_are_those_of_runs_that_try_everything(tree: Tree):
    check_bounds(tree, in_runs, ())


@pytest.mark.soak
@many
@given(small_trees(), st.data())
def test_bounds_are_those_of_runs_of_many_trees(tree: Tree, data: st.DataObject):
    check_bounds(tree, in_theory, tree.nodes)
    check_bounds(tree, in_runs, [data.draw(st.sampled_from(sorted(tree.nodes)))])


# -- one by one ----------------------------------------------------------------------------------------


def test_a_question_is_asked_once_at_best_and_twice_at_worst_and_unknown_takes_both():
    found = bounds(evidence_tree())
    assert found.terminals == {
        "approved": Bound(Range(3, 3), Range(1, 2), reachable_in_budget=True),
        "unknown": Bound(Range(3, 3), Range(2, 2), reachable_in_budget=False),
        "failed": Bound(Range(2, 2), Range(0, 0), reachable_in_budget=True),
    }
    assert found.start == Bound(Range(2, 3), Range(0, 2), reachable_in_budget=True)
    assert found.nodes["classify"] == Bound(Range(2, 2), Range(1, 2), reachable_in_budget=True)
    assert found.smallest_budget == Budget(max_node_visits=3, max_llm_calls=2)


def test_a_cycle_with_a_question_is_bounded_by_the_budget_only():
    found = bounds(cycle_tree())
    assert found.start == Bound(Range(2, None), Range(2, None), reachable_in_budget=False)


def test_a_cycle_without_a_question_bounds_the_calls_all_the_same():
    circling = tree(
        ask=classify("Again?", {"yes": "wait"}, unknown="wait"),
        wait=condition("dataExists", parameters={"type": "x"}, then="end", otherwise="wait"),
        end=terminal("done"),
    )
    found = bounds(circling)
    assert found.start == Bound(Range(3, None), Range(1, 2), reachable_in_budget=True)


def test_the_least_visits_and_the_least_calls_may_be_those_of_different_ways():
    either = tree(
        a=condition("dataExists", parameters={"type": "x"}, then="b", otherwise="c"),
        b=classify("B?", {"yes": "end"}, unknown="end"),
        c=action("load", success="d"),
        d=action("load", success="end"),
        end=terminal("done"),
    )
    assert bounds(either).start == Bound(Range(3, 4), Range(0, 2), reachable_in_budget=True)
    tight = either.replace(budget=Budget(max_node_visits=3, max_llm_calls=0))
    assert bounds(tight).start == Bound(Range(3, 4), Range(0, 2), reachable_in_budget=False)
    assert bounds(tight).smallest_budget == Budget(max_node_visits=4, max_llm_calls=0)


def test_an_action_costs_what_it_declares_itself_or_the_project_declares_for_it():
    loading = tree(a=action("load", success="end"), end=terminal("done"))

    def calls(catalog: Catalog) -> Range:
        start = bounds(loading, catalog).start
        assert start is not None
        return start.llm_calls

    external = Catalog().with_external({"load": (1, 3)})
    assert calls(Catalog()) == Range(0, 0)
    assert calls(external) == Range(1, 3)
    assert calls(external.with_actions([FunctionAction("load", nothing)])) == Range(1, 3)
    assert calls(external.with_actions([FunctionAction("load", nothing, (0, 5))])) == Range(0, 5)
    assert calls(external.with_actions([Does("load")])) == Range(1, 3)


async def nothing(context: ActionContext) -> ActionResult:
    return ActionResult()


def test_what_a_node_has_left_counts_for_what_is_reached_from_it():
    late = tree(
        a=classify("A?", {"yes": "b", "no": "end"}, unknown="end"),
        b=classify("B?", {"yes": "good"}, unknown="end"),
        good=terminal("good"),
        end=terminal("done"),
    ).replace(budget=Budget(max_node_visits=3, max_llm_calls=1))
    reached = {node: bound.reachable_in_budget for node, bound in bounds(late).nodes.items()}
    assert reached == {"a": True, "b": False, "good": False, "end": True}


def test_what_no_way_leads_to_and_what_leads_nowhere_is_left_out():
    unfinished = tree(
        a=classify("A?", {"yes": "end", "no": "gone"}, unknown="b"),
        b=action("load", success="b"),
        end=terminal("done"),
        alone=terminal("alone"),
    )
    found = bounds(unfinished)
    assert set(found.terminals) == {"end"}
    assert set(found.nodes) == {"a", "end"}
    assert found.start == Bound(Range(2, 2), Range(1, 2), reachable_in_budget=True)


@pytest.mark.parametrize("nothing", [Tree(), Tree(start_node_id="a"), tree(a=action("load", success="a"))])
def test_a_tree_without_a_way_to_an_end_has_no_bounds(nothing: Tree):
    found = bounds(nothing)
    assert found.as_json() == {"terminals": {}, "nodes": {}, "start": None, "smallestBudget": None}


def test_long_trees_are_no_trouble():
    ids = [f"q{n}" for n in range(5000)]
    asking = {name: classify("A?", {"yes": after}, unknown=after) for name, after in pairwise([*ids, "end"])}
    found = bounds(tree(asking, end=terminal("done"))).start
    assert found == Bound(Range(5001, 5001), Range(5000, 10000), reachable_in_budget=False)


@some
@given(small_trees())
def test_the_checks_say_it_is_tight_when_one_way_of_questions_may_take_more_calls_than_there_are(tree: Tree):
    start, calls = bounds(tree).start, (tree.budget or Budget()).max_llm_calls or 0
    codes = [problem.code for problem in check(tree, CATALOG)]
    assert start is not None
    if start.llm_calls.max is not None and calls > 0:
        assert ("budget-calls-tight" in codes) == (start.llm_calls.max > calls)


@some
@given(small_trees())
def test_the_checks_warn_of_exactly_the_terminals_out_of_the_budget(tree: Tree):
    out = [name for name, bound in bounds(tree, CATALOG).terminals.items() if not bound.reachable_in_budget]
    found = {problem.code: problem.message for problem in check(tree, CATALOG)}
    if not {"budget-visits-short", "budget-calls-zero"} & found.keys():
        assert ("budget-terminals-out" in found) == bool(out)
        assert all(f"'{name}'" in found["budget-terminals-out"] for name in out)


def test_the_front_is_sorted_and_all_of_it_is_there_without_loading_the_graph_library():
    names = engine.analysis.__all__
    assert names == sorted(names)
    code = (
        "import sys, engine.analysis; "
        "[getattr(engine.analysis, name) for name in engine.analysis.__all__]; "
        "print('networkx' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.strip() == "False"
    assert engine.bounds is bounds


# -- on the command line -------------------------------------------------------------------------------


def test_the_json_has_a_range_for_each_terminal_each_node_and_the_start():
    said = Said("bounds", EVIDENCE, "--json")
    assert said.code == 0
    assert said.json == bounds(read_tree(EVIDENCE.read_bytes()).tree).as_json()
    assert list(said.json) == ["terminals", "nodes", "start", "smallestBudget"]
    assert said.json["terminals"]["failed"] == {
        "visits": {"min": 2, "max": 4},
        "llmCalls": {"min": 0, "max": 2},
        "reachableInBudget": True,
    }
    assert said.json["start"] == said.json["nodes"]["collect"]
    assert said.json["smallestBudget"] == {"maxNodeVisits": 4, "maxLlmCalls": 2}
    assert "a text model decides" in said.told


def test_the_table_says_the_same_in_words():
    said = Said("bounds", EVIDENCE)
    assert (said.code, said.err) == (0, "")
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert lines[0] == "Budget: 10 node visits, 1 LLM call"
    assert "From the start to node visits LLM calls within the budget" in lines
    assert "unknown 3 2 no" in lines
    assert "collect 2 to 4 0 to 2 yes" in lines
    assert "Smallest budget that lets every terminal be reached: 4 node visits and 2 LLM calls" in lines
    assert "a text model decides" in said.last


def test_the_table_says_what_only_the_budget_bounds(tmp_path: Path):
    file = tmp_path / "tree.json"
    file.write_bytes(write_tree(cycle_tree()))
    said = Said("bounds", file)
    assert "2 or more" in said.out
    assert "'or more': there is a cycle" in said.out


def test_a_tree_with_errors_and_a_file_without_a_tree_have_no_bounds(tmp_path: Path):
    file = tmp_path / "tree.json"
    file.write_bytes(write_tree(tree(a=terminal("a"), b=terminal("b"))))
    assert (Said("bounds", file, "--json").code, Said("bounds", file, "--json").out) == (1, "")
    file.write_text("{")
    assert (Said("bounds", file).code, Said("bounds", file).out) == (2, "")
    assert Said("bounds", tmp_path / "none.json").code == 2


def test_with_trust_the_projects_own_action_says_what_it_costs(tmp_path: Path):
    folder = tmp_path / "project"
    shutil.copytree(EVIDENCE.parent, folder)
    catalog = folder / "catalog.py"
    catalog.write_text(catalog.read_text().replace('Evidence")', 'Evidence", llm_calls=(0, 3))'))
    calls = [
        Said("bounds", folder / "tree.json", "--json", *more).json["start"] for more in ((), ("--trust",))
    ]
    assert [bound["llmCalls"] for bound in calls] == [{"min": 0, "max": 2}, {"min": 0, "max": 5}]
    project = folder / "treewright.json"
    project.write_text('{"format": 1, "external": {"actions": {"collectEvidence": {"llmCalls": [1, 1]}}}}')
    assert Said("bounds", folder / "tree.json", "--json").json["start"]["llmCalls"] == {"min": 1, "max": 3}


def test_calls_declared_the_wrong_way_round_are_refused(tmp_path: Path):
    (tmp_path / "treewright.json").write_text('{"format": 1, "catalog": ["catalog.py"]}')
    (tmp_path / "tree.json").write_bytes(write_tree(tree(end=terminal("done"))))
    code = "from engine import action\n@action('load', llm_calls=(2, 1))\nasync def load(context): ...\n"
    (tmp_path / "catalog.py").write_text(code)
    said = Said("bounds", tmp_path / "tree.json", "--trust")
    assert said.code == 1
    assert (
        "the action 'load' must say its fewest LLM calls, then its most, as in llm_calls=(0, 2)." in said.told
    )
