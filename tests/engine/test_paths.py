"""Paths: cases that take every step a case can take, and what an edit of the tree makes of a case."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import (
    AnyNode,
    Budget,
    Session,
    Tree,
    read_tree,
    runnable,
    standard_catalog,
    tree_hash,
    write_tree,
)
from engine.analysis import Cover, cover
from engine.evaluate import (
    Case,
    CaseResult,
    CaseTree,
    Expectation,
    case_for,
    migrate,
    read_lines,
    run_case,
    write_case,
)
from tests.builders import action, classify, condition, cycle_tree, demo_tree, evidence_tree, terminal, tree
from tests.engine.small_trees import DECLARED, Explorer, enumerated, small_trees, whole
from tests.engine.test_cli import EVIDENCE, SAMPLES, Said

CATALOG = standard_catalog().with_external([*DECLARED, "collectEvidence", "load"], ["chosen", "isWeekend"])


def taken(cover: Cover) -> set[tuple[str, str]]:
    return {(step.node, step.branch) for walk in cover.walks for step in walk.steps}


def left(cover: Cover) -> dict[tuple[str, str], str]:
    return {(left.step.node, left.step.branch): left.reason for left in cover.left}


def written(tree: Tree, cover: Cover, file: Path) -> list[Case]:
    """The cases of a cover, as they are read from a file."""
    made = [case_for(walk, f"path-{n}", tree) for n, walk in enumerate(cover.walks)]
    file.write_text("".join(f"{write_case(case)}\n" for case in made), "utf-8")
    assert [line.case for line in read_lines(file, tree)] == made
    return made


async def check_runs(tree: Tree, cover: Cover, cases: list[Case]) -> None:
    """Each case passes, takes the steps of its walk, and says how it ends."""
    plan = runnable(tree, CATALOG)
    for walk, case in zip(cover.walks, cases, strict=True):
        report = await run_case(Session(catalog=CATALOG), plan, case)
        assert report.first_difference is None
        path = report.result.path
        assert [(v.node, v.branch) for v in path if v.branch] == [(s.node, s.branch) for s in walk.steps]
        assert {"path", "outcome"} <= case.expect.model_fields_set
        assert (case.expect.verdict is None) == (case.expect.outcome == "BudgetExhausted")


def check_cover(tree: Tree, can: set[tuple[str, str]], file: Path) -> None:
    """Exactly what can be taken is taken; the rest is listed."""
    found = cover(tree)
    every = {(name, branch) for name, node in tree.nodes.items() for branch in node.branches()}
    assert taken(found) == can
    assert left(found).keys() == every - can
    assert (found.covered, found.total) == (len(can), len(every))
    asyncio.run(check_runs(tree, found, written(tree, found, file)))


def limits(tree: Tree) -> dict[str, int]:
    budget = tree.budget or Budget()
    return {"visits": budget.max_node_visits or 0, "calls": budget.max_llm_calls or 0}


# -- every step there is -------------------------------------------------------------------------------

many = settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
some = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@some
@given(small_trees())
def test_every_step_that_can_be_taken_is_taken(tmp_path: Path, tree: Tree):
    can = enumerated(tree, whole, pinned=True, **limits(tree)).taken()
    check_cover(tree, can, tmp_path / "cases.jsonl")


@few
@given(small_trees())
def test_every_step_that_some_run_takes_is_taken(tmp_path: Path, tree: Tree):
    can = asyncio.run(Explorer(tree, whole, pinned=True).explore()).taken()
    check_cover(tree, can, tmp_path / "cases.jsonl")


@pytest.mark.soak
@many
@given(small_trees())
def test_every_step_that_some_run_takes_is_taken_in_many_trees(tmp_path: Path, tree: Tree):
    can = asyncio.run(Explorer(tree, whole, pinned=True).explore()).taken()
    check_cover(tree, can, tmp_path / "cases.jsonl")


@some
@given(small_trees())
def test_a_walk_ends_at_a_terminal_unless_a_step_of_it_cannot(tree: Tree):
    found, seen = cover(tree), enumerated(tree, whole, pinned=True, **limits(tree))
    ending = {
        (state.node, branch)
        for state, onward in seen.steps.items()
        for branch, after in onward
        if after in seen.ending()
    }
    ended = [walk for walk in found.walks if walk.terminal is not None]
    assert {(step.node, step.branch) for walk in ended for step in walk.steps} == ending
    for walk in found.walks:
        if walk.terminal is None:
            assert any((step.node, step.branch) not in ending for step in walk.steps)


@some
@given(small_trees())
def test_no_walk_could_be_left_out(tree: Tree):
    found = cover(tree)
    for walks in (found.walks, [walk for walk in found.walks if walk.terminal is not None]):
        for walk in walks:
            others = tuple(other for other in walks if other is not walk)
            if walk.terminal is None or walks is not found.walks:
                assert taken(replace(found, walks=others)) != taken(replace(found, walks=tuple(walks)))


@some
@given(small_trees(), st.integers(0, 3))
def test_what_is_taken_already_needs_no_walk(tree: Tree, number: int):
    fresh = cover(tree)
    there = taken(replace(fresh, walks=fresh.walks[:number]))
    rest = cover(tree, there)
    assert taken(rest) | there == taken(fresh)
    assert rest.left == fresh.left
    assert all({(s.node, s.branch) for s in walk.steps} - there for walk in rest.walks)


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*/tree.json")), ids=lambda path: path.parent.name)
def test_the_walks_of_a_sample_take_all_its_budget_allows(sample: Path, tmp_path: Path):
    tree = read_tree(sample.read_bytes()).tree
    can = enumerated(tree, whole, pinned=True, **limits(tree)).taken()
    check_cover(tree, can, tmp_path / "cases.jsonl")


# -- one by one ----------------------------------------------------------------------------------------


def cases(tree: Tree) -> list[str]:
    return [write_case(case_for(walk, f"path-{n}", tree)) for n, walk in enumerate(cover(tree).walks, 1)]


def test_a_case_pins_every_branch_and_expects_its_path_and_its_end():
    assert cases(demo_tree().replace(budget=Budget(max_llm_calls=2)))[0] == (
        '{"id":"path-1","answers":{"classify":"supported"},"conditions":{"verify":true},'
        '"actions":{"collect":{"status":"success"}},'
        '"expect":{"verdict":"supported","outcome":"Terminal",'
        '"path":["collect","classify","verify","approved"]}}'
    )


def test_a_case_pins_also_what_a_run_would_not_begin_without():
    offered = tree(
        a=classify("A?", {"yes": "b", "no": "c"}, unknown="end"),
        b=action("load", success="d"),
        c=condition("isWeekend", then="end", otherwise="end"),
        d=condition("dataExists", parameters={"type": "x"}, then="end", otherwise="end"),
        end=terminal("done"),
    )
    unknown = next(case for case in cases(offered) if '"a":"unknown"' in case)
    assert '"conditions":{"c":true},"actions":{"b":{"status":"success"}}' in unknown


def test_a_node_that_is_visited_again_is_pinned_by_visit_where_that_differs():
    circling = tree(ask=classify("Again?", {"yes": "ask", "no": "end"}, unknown="end"), end=terminal("done"))
    assert '"answers":{"ask":["yes","no"]}' in cases(circling)[0]
    waiting = tree(load=action("load", success="end", transient="load"), end=terminal("done"))
    assert '"load":[{"status":"transientFailure"},{"status":"permanentFailure"}]' in "".join(cases(waiting))


def test_unknown_needs_room_for_the_second_call():
    assert left(cover(evidence_tree())) == {
        ("classify", "unknown"): "maxLlmCalls must be 2 at least; it is 1."
    }


def test_what_is_too_far_away_is_left_and_so_is_what_keeps_to_one_limit_only():
    far = tree(
        a=condition("chosen", then="b", otherwise="c"),
        b=classify("B?", {"yes": "d"}, unknown="d"),
        c=condition("chosen", then="e", otherwise="e"),
        e=condition("chosen", then="d", otherwise="d"),
        d=classify("D?", {"yes": "end"}, unknown="end"),
        end=terminal("done"),
    )
    late = left(cover(far.replace(budget=Budget(max_node_visits=2, max_llm_calls=9))))
    assert late.keys() == {("e", "true"), ("e", "false"), ("d", "yes"), ("d", "unknown")}
    assert set(late.values()) == {"maxNodeVisits must be 3 at least; it is 2."}
    both = left(cover(far.replace(budget=Budget(max_node_visits=3, max_llm_calls=2))))
    assert both == {("d", "unknown"): "maxNodeVisits is 3 and maxLlmCalls is 2; no way to it fits into both."}


def test_a_step_that_only_runs_the_budget_ends_can_take_has_a_case_that_expects_so():
    assert cases(cycle_tree().replace(budget=Budget(max_node_visits=1, max_llm_calls=2))) == [
        '{"id":"path-1","answers":{"ask":"loop"},"expect":{"outcome":"BudgetExhausted","path":["ask"]}}',
        '{"id":"path-2","answers":{"ask":"unknown"},"expect":{"outcome":"BudgetExhausted","path":["ask"]}}',
    ]


def test_branches_side_by_side_need_no_more_cases_than_there_are_branches():
    nodes: dict[str, AnyNode] = {
        name: classify("A?", {"yes": after, "no": after, "maybe": after}, unknown=after)
        for name, after in pairwise(["a", "b", "c", "d", "end"])
    }
    assert len(cover(tree(nodes, end=terminal("done"))).walks) == 4


def test_a_tree_that_ends_at_once_needs_no_case():
    assert cover(tree(end=terminal("done"))) == Cover((), (), 0)


def test_an_unfinished_tree_is_covered_as_far_as_it_goes():
    unfinished = tree(
        a=classify("A?", {"yes": "end", "no": "gone"}, unknown="end"),
        alone=action("load", success="end"),
        end=terminal("done"),
    )
    found = cover(unfinished)
    assert taken(found) == {("a", "yes"), ("a", "unknown")}
    assert set(left(found).values()) == {"No way leads there."}


def test_a_budget_without_end_makes_no_endless_cases():
    endless = tree(
        a=condition("chosen", then="b", otherwise="q"),
        b=condition("chosen", then="a", otherwise="a"),
        q=classify("Q?", {"yes": "r"}, unknown="a"),
        r=classify("R?", {"yes": "end"}, unknown="a"),
        end=terminal("done"),
    ).replace(budget=Budget(max_node_visits=10**9, max_llm_calls=2))
    assert max(len(walk.steps) for walk in cover(endless).walks) < 10


# -- after an edit -------------------------------------------------------------------------------------

SUPPORTED = Case.model_validate(
    {
        "id": "supported",
        "answers": {"classify": "supported"},
        "conditions": {"verify": True},
        "actions": {"collect": {"status": "success", "properties": {"read": "yes"}}},
        "expect": {
            "verdict": "supported",
            "outcome": "Terminal",
            "path": ["collect", "classify", "verify", "approved"],
            "answers": {"classify": "supported"},
        },
    }
)


def edited(nodes: Mapping[str, AnyNode | None], tree: Tree | None = None) -> Tree:
    """The demo tree with some nodes others, new, or gone."""
    every = {**(tree or demo_tree()).nodes, **nodes}
    return demo_tree().replace(nodes={name: node for name, node in every.items() if node is not None})


def renamed(old: str, new: str, tree: Tree | None = None) -> Tree:
    """The demo tree, or another, with another name for a node."""
    before, names = tree or demo_tree(), {old: new}
    nodes = {
        names.get(name, name): node.replace(
            transitions=tuple(
                t.replace(next_node_id=names.get(t.next_node_id, t.next_node_id)) for t in node.transitions
            )
        )
        for name, node in before.nodes.items()
    }
    return before.replace(nodes=nodes, start_node_id=names.get(before.start_node_id, before.start_node_id))


def passes(case: Case, tree: Tree) -> bool:
    plan = runnable(tree, CATALOG)
    return asyncio.run(run_case(Session(catalog=CATALOG), plan, case)).passed


def followed(case: Case, tree: Tree) -> tuple[Case, list[str]]:
    """The case and how it was brought along; it passes."""
    migration = migrate(case, tree)
    assert (migration.broken, migration.step) == (None, None)
    assert passes(migration.case, tree)
    return migration.case, list(migration.changes)


def broken(case: Case, tree: Tree) -> tuple[int | None, str | None]:
    migration = migrate(case, tree)
    assert migration.case is case
    assert not passes(case, tree)
    return migration.step, migration.broken


def test_a_case_an_edit_does_not_touch_stays_as_it_is():
    assert followed(SUPPORTED, edited({"rejected": terminal("no")})) == (SUPPORTED, [])


@pytest.mark.parametrize("old", ["collect", "classify", "verify", "approved"])
def test_a_node_with_another_name_is_followed(old: str):
    case, changes = followed(SUPPORTED, renamed(old, "new"))
    assert changes == [f"'{old}' is called 'new'"]
    assert case.expect.path == tuple("new" if node == old else node for node in SUPPORTED.expect.path or ())
    assert old not in {*case.answers, *case.conditions, *case.actions, *(case.expect.answers or {})}
    assert case.actions[case.expect.path[0]] == SUPPORTED.actions["collect"]


def test_a_node_that_was_taken_out_is_left_out():
    answers = {"supported": "approved", "unsupported": "rejected"}
    shorter = edited({"verify": None, "classify": classify("Is it?", answers, unknown="unknown")})
    case, changes = followed(SUPPORTED, shorter)
    assert changes == ["'verify' left out"]
    assert case.expect.path == ("collect", "classify", "approved")
    assert case.conditions == {}


def test_a_node_that_was_put_in_between_is_gone_through():
    answers = {"supported": "sure", "unsupported": "rejected"}
    longer = edited(
        {
            "classify": classify("Is it?", answers, unknown="unknown"),
            "sure": classify("Sure?", {"no": "rejected", "yes": "verify"}, unknown="unknown"),
        }
    )
    case, changes = followed(SUPPORTED, longer.replace(budget=None))
    assert changes == ["'sure' comes before 'verify' and takes 'yes'"]
    assert case.answers == {"classify": "supported", "sure": "yes"}
    assert case.expect.path == ("collect", "classify", "sure", "verify", "approved")


def test_a_node_put_before_the_start_is_gone_through():
    first = edited({"open": action("load", success="collect")}).replace(start_node_id="open")
    case, changes = followed(SUPPORTED, first)
    assert changes == ["'open' comes before 'collect' and takes 'success'"]
    assert case.expect.path is not None
    assert case.expect.path[0] == "open"


def test_an_answer_with_another_name_is_taken():
    answers = {"yes": "verify", "unsupported": "rejected"}
    case, changes = followed(SUPPORTED, edited({"classify": classify("?", answers, unknown="unknown")}))
    assert changes == ["'classify' takes 'yes' instead of 'supported'"]
    assert case.answers == {"classify": "yes"}
    assert case.expect.answers == {"classify": "yes"}


def test_an_answer_that_is_gone_breaks_the_case_at_its_step():
    either = {"yes": "verify", "surely": "verify", "unsupported": "rejected"}
    two = edited({"classify": classify("?", either, unknown="unknown")})
    assert broken(SUPPORTED, two) == (2, "'supported' is no branch of 'classify' now.")
    none = {
        "verify": None,
        "approved": None,
        "classify": classify("?", {"no": "rejected"}, unknown="unknown"),
    }
    assert broken(SUPPORTED, edited(none)) == (2, "'supported' is no branch of 'classify' now.")


def test_a_branch_that_leads_elsewhere_breaks_the_case_at_the_step_after_it():
    other = condition("dataExists", parameters={"type": "evidence"}, then="rejected", otherwise="approved")
    assert broken(SUPPORTED, edited({"verify": other})) == (
        4,
        "After 'verify' comes 'rejected', not 'approved'.",
    )


def test_a_detour_over_a_node_that_was_there_before_breaks_the_case():
    there = edited(
        {
            "sure": classify("Sure?", {"yes": "verify"}, unknown="unknown"),
            "collect": action("collectEvidence", success="classify", transient="sure", permanent="failed"),
        }
    )
    assert followed(SUPPORTED, there.replace(budget=None))[1] == []
    answers = {"supported": "sure", "unsupported": "rejected"}
    detour = edited({"classify": classify("?", answers, unknown="unknown")}, there)
    assert broken(SUPPORTED, detour) == (3, "After 'classify' comes 'sure', not 'verify'.")


def test_another_verdict_breaks_the_case():
    assert broken(SUPPORTED, edited({"approved": terminal("fine")})) == (
        4,
        "The verdict is 'fine' now, not 'supported'.",
    )


def test_a_node_that_became_a_terminal_breaks_the_case():
    assert broken(SUPPORTED, edited({"verify": terminal("v"), "approved": None})) == (
        3,
        "'verify' is a terminal now.",
    )


def test_a_terminal_that_leads_on_breaks_the_case():
    onward = edited({"approved": action("load", success="done"), "done": terminal("supported")})
    assert broken(SUPPORTED, onward) == (4, "'approved' is no terminal now.")


def test_a_question_that_became_a_condition_is_pinned_as_one():
    checked = condition("dataExists", parameters={"type": "evidence"}, then="verify", otherwise="rejected")
    case, changes = followed(SUPPORTED, edited({"classify": checked, "unknown": None}))
    assert changes == ["'classify' takes 'true' instead of 'supported'"]
    assert (case.answers, case.conditions["classify"]) == ({}, True)


def test_what_a_case_leaves_to_the_run_stays_so():
    loose = SUPPORTED.model_copy(update={"conditions": {}})
    assert migrate(loose, renamed("verify", "test")).case.conditions == {}
    away = condition("dataExists", parameters={"type": "evidence"}, then="failed", otherwise="rejected")
    gone = edited({"verify": away, "approved": None})
    assert broken(loose, gone) == (3, "No branch of 'verify' leads to 'approved'.")


def test_replies_follow_their_node():
    spoken = SUPPORTED.model_copy(
        update={"answers": {}, "replies": {"classify": ('{"answer": "supported"}',)}}
    )
    case, _ = followed(spoken, renamed("classify", "judge"))
    assert list(case.replies) == ["judge"]


def test_visits_that_differ_stay_apart():
    def circling(name: str, answer: str) -> Tree:
        ask = classify("Again?", {answer: name, "no": "end"}, unknown="end")
        return tree({name: ask}, end=terminal("done"))

    case = case_for(cover(circling("ask", "yes")).walks[0], "again", circling("ask", "yes"))
    assert case.answers == {"ask": ("yes", "no")}
    moved, changes = followed(case, circling("question", "yes"))
    assert moved.answers == {"question": ("yes", "no")}
    assert changes == ["'ask' is called 'question'"]
    moved, changes = followed(case, circling("ask", "once more"))
    assert moved.answers == {"ask": ("once more", "no")}


def test_a_new_action_the_run_does_not_come_to_is_pinned():
    more = edited({"rejected": action("tell", success="failed")})
    case, changes = followed(SUPPORTED, more)
    assert changes == ["'rejected' is pinned, although the run does not come to it"]
    assert case.actions["rejected"] == CaseResult(status="success")


def test_the_tree_a_case_names_is_the_one_of_now():
    named = SUPPORTED.model_copy(update={"tree": CaseTree(id="demo-evidence-tree", version=1, hash="0")})
    later = demo_tree().replace(version=2)
    case, changes = followed(named, later)
    assert case.tree == CaseTree(id="demo-evidence-tree", version=2, hash=tree_hash(later))
    assert changes == ["it is for the tree as it is now"]
    other = migrate(named, demo_tree().replace(tree_id="another"))
    assert (other.case, other.step) == (named, None)
    assert "is for another tree" in (other.broken or "")


def test_a_case_without_a_path_is_broken_by_a_node_that_is_gone():
    no_path = SUPPORTED.model_copy(update={"expect": Expectation(verdict="supported")})
    assert followed(no_path, demo_tree()) == (no_path, [])
    assert broken(no_path, renamed("classify", "judge")) == (
        None,
        "Case 'supported' names node 'classify', which the tree does not have.",
    )


def test_a_case_that_expects_the_budget_to_end_it_is_followed_as_far():
    short = cycle_tree().replace(budget=Budget(max_node_visits=1, max_llm_calls=2))
    case = case_for(cover(short).walks[0], "short", short)
    assert followed(case, short) == (case, [])
    more = {"on": "ask", "stop": "done"}
    other = short.replace(nodes={**short.nodes, "ask": classify("?", more, unknown="done")})
    assert broken(case, other) == (1, "'loop' is no branch of 'ask' now.")


@some
@given(small_trees(), st.data())
def test_cases_follow_a_node_that_gets_another_name(tree: Tree, data: st.DataObject):
    old = data.draw(st.sampled_from(list(tree.nodes)))
    now = renamed(old, "another", tree)
    for number, walk in enumerate(cover(tree).walks):
        case = case_for(walk, f"path-{number}", tree)
        migration = migrate(case, now)
        assert migration.broken is None
        assert migration.case.expect.path == tuple("another" if node == old else node for node in walk.path)
        assert passes(migration.case, now)


# -- on the command line -------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The evidence sample's tree in a folder of its own, without cases."""
    return Path(shutil.copy(EVIDENCE, tmp_path / "tree.json"))


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*/tree.json")), ids=lambda path: path.parent.name)
def test_the_cases_written_for_a_sample_pass(sample: Path, tmp_path: Path):
    file = Path(shutil.copy(sample, tmp_path / "tree.json"))
    said = Said("paths", file, "--out", tmp_path / "cases.jsonl")
    assert (said.code, said.err) == (0, "")
    number = len((tmp_path / "cases.jsonl").read_text().splitlines())
    assert said.out.startswith(f"{number} new cases written to ")
    found = cover(read_tree(sample.read_bytes()).tree)
    assert said.last == f"{found.covered} of {found.total} transitions covered by {number} cases"
    assert Said("test", file).last == f"{number} passed, 0 failed"


def test_without_a_file_to_write_the_ways_are_told(file: Path):
    said = Said("paths", file)
    assert said.out.splitlines()[0] == "path-1: collect success, classify supported, verify true, approved"
    assert said.out.splitlines()[-2:] == [
        "not taken: classify unknown: maxLlmCalls must be 2 at least; it is 1.",
        "7 of 8 transitions covered by 5 cases",
    ]
    assert [path.name for path in file.parent.iterdir()] == ["tree.json"]


def test_a_way_the_budget_ends_is_told_as_such(tmp_path: Path):
    file = tmp_path / "tree.json"
    file.write_bytes(write_tree(cycle_tree().replace(budget=Budget(max_node_visits=1, max_llm_calls=1))))
    assert "path-1: ask loop, the budget is used up" in Said("paths", file).out


def test_cases_that_are_there_are_kept_and_the_missing_are_added(file: Path):
    out = file.with_name("cases.jsonl")
    own = '{"id": "path-1",  "actions": {"collect": {"status": "permanentFailure"}}}'
    out.write_text(f"\n{own}\n\n")
    said = Said("paths", file, "-o", out)
    assert said.out.splitlines()[0] == "1 case there: 1 still valid, 0 migrated, 0 broken"
    assert said.last == "7 of 8 transitions covered by 5 cases"
    lines = out.read_text().splitlines()
    assert lines[:2] == ["", own]
    assert '"id":"path-2"' in lines[2]
    assert Said("test", file).last == "5 passed, 0 failed"
    again = Said("paths", file, "-o", out)
    assert again.out.splitlines()[1] == f"0 new cases written to {out}"
    assert out.read_text().splitlines() == lines


def test_after_an_edit_each_case_is_valid_or_migrated_or_broken(file: Path):
    out = file.with_name("cases.jsonl")
    Said("paths", file, "-o", out)
    before = out.read_text().splitlines()
    text = (
        file.read_text().replace('"verify"', '"check"').replace('"verdict": "unsupported"', '"verdict": "no"')
    )
    file.write_text(text)
    told = Said("paths", file)
    assert told.code == 1
    assert told.out.splitlines() == [
        "case path-1: migrated: 'verify' is called 'check'",
        "case path-4: broken at step 3: The verdict is 'no' now, not 'unsupported'.",
        "case path-5: migrated: 'verify' is called 'check'",
        "5 cases there: 2 still valid, 2 migrated, 1 broken",
        "path-6: collect success, classify unsupported, rejected",
        "not taken: classify unknown: maxLlmCalls must be 2 at least; it is 1.",
        "7 of 8 transitions covered by 5 cases",
    ]
    assert out.read_text().splitlines() == before
    assert Said("paths", file, "-o", out).code == 1
    after = out.read_text().splitlines()
    assert [line == was for line, was in zip(after, before, strict=False)] == [False, True, True, True, False]
    assert Said("test", file).last == "5 passed, 1 failed"


def test_a_case_that_fails_for_another_reason_is_broken(file: Path):
    case = '{"id":"a","actions":{"collect":{"status":"success"}},"answers":{"classify":"unsupported"}'
    out = file.with_name("cases.jsonl")
    out.write_text(case + ',"budget":{"maxNodeVisits":1},"expect":{"verdict":"unsupported"}}\n')
    said = Said("paths", file, "-o", out)
    assert said.code == 1
    assert said.out.splitlines()[0] == "case a: broken: verdict: expected 'unsupported', got nothing"


@pytest.mark.parametrize(("line", "code"), [("{", 2), ('{"answers": {}}', 1), ('{"id":"a"}\n{"id":"a"}', 1)])
def test_a_file_with_lines_that_are_no_cases_is_left_alone(file: Path, line: str, code: int):
    out = file.with_name("mine.jsonl")
    out.write_text(line)
    said = Said("paths", file, "-o", out)
    assert (said.code, said.out) == (code, "")
    assert f"{out}:1:" in said.err
    assert out.read_text() == line
    tree = Said("paths", file, "-o", file)
    assert (tree.code, file.read_bytes()) == (2, EVIDENCE.read_bytes())


def test_cases_that_cannot_be_read_or_written_are_told(file: Path):
    folder = file.with_name("folder")
    folder.mkdir()
    assert "cannot be read" in Said("paths", file, "-o", folder).told
    assert Said("paths", file, "-o", folder).code == 2
    said = Said("paths", file, "-o", folder / "none" / "cases.jsonl")
    assert said.code == 1
    assert "cannot be written" in said.told


def test_a_tree_with_errors_has_no_paths(tmp_path: Path):
    file = tmp_path / "tree.json"
    file.write_bytes(write_tree(tree(a=terminal("a"), b=terminal("b"))))
    assert (Said("paths", file).code, Said("paths", file).out) == (1, "")
