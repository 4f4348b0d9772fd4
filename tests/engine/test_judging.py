"""Judging: what becomes of the cases of a file when its tree is edited, and which ones are missing."""

import asyncio

from engine import Budget, Session, Tree, runnable, standard_catalog
from engine.evaluate import CaseLine, Judgement, judge, lines_of, missing, rewritten_cases, write_case
from tests.builders import as_bytes, classify, terminal, tree

CATALOG = standard_catalog()
PLAN = tree(
    gate=classify("Is it covered?", {"yes": "size", "no": "refuse"}, unknown="ask"),
    size=classify("How large is it?", {"small": "pay", "large": "ask"}, unknown="ask"),
    pay=terminal("pay"),
    refuse=terminal("refuse"),
    ask=terminal("ask"),
)
PAID = {
    "id": "paid",
    "answers": {"gate": "yes", "size": "small"},
    "expect": {"verdict": "pay", "outcome": "Terminal", "path": ["gate", "size", "pay"]},
}


def judged(case: object, tree: Tree) -> Judgement:
    line = as_line(case, tree)
    return asyncio.run(judge(Session(catalog=CATALOG), runnable(tree, CATALOG), line))


def as_line(case: object, tree: Tree) -> CaseLine:
    data = case if isinstance(case, bytes) else as_bytes(case).replace(b"\n", b"")
    (line,) = lines_of(data, tree)
    return line


def with_answers(*answers: str) -> Tree:
    targets = {answer: "pay" if answer != "large" else "ask" for answer in answers}
    size = classify("How large is it?", targets, unknown="ask")
    return PLAN.replace(nodes={**PLAN.nodes, "size": size})


def test_a_case_that_passes_goes_on_as_it_is():
    judgement = judged(PAID, PLAN)
    assert (judgement.broken, judgement.changes, judgement.moved) == (None, (), None)
    assert judgement.report is not None
    assert judgement.report.passed
    assert judgement.taken == {("gate", "yes"), ("size", "small")}


def test_a_case_that_does_not_fit_is_brought_along_and_takes_what_it_takes_then():
    judgement = judged(PAID, with_answers("tiny", "large"))
    assert judgement.report is None
    assert judgement.changes == ("'size' takes 'tiny' instead of 'small'",)
    assert judgement.taken == {("gate", "yes"), ("size", "tiny")}
    assert judgement.case is not None
    assert judgement.case.answers == {"gate": "yes", "size": "tiny"}


def test_a_case_nothing_plain_can_be_done_for_is_broken_at_a_step():
    judgement = judged(PAID, with_answers("tiny", "little", "large"))
    assert (judgement.step, judgement.broken) == (2, "'small' is no branch of 'size' now.")
    assert judgement.taken == frozenset()


def test_a_run_that_leaves_the_expected_path_breaks_the_case_where_it_leaves_it():
    judgement = judged(PAID, PLAN.replace(budget=Budget(max_llm_calls=1)))
    assert judgement.step == 2
    assert judgement.broken == "verdict: expected 'pay', got nothing"


def test_a_case_without_a_path_is_broken_at_no_step():
    case = {"id": "a", "answers": {"gate": "no"}, "expect": {"verdict": "pay"}}
    judgement = judged(case, PLAN)
    assert (judgement.step, judgement.broken) == (None, "verdict: expected 'pay', got 'refuse'")


def test_a_line_that_is_no_case_is_broken_too():
    judgement = judged(b"{", PLAN)
    assert judgement.case is None
    assert judgement.broken


def test_missing_cases_take_what_is_not_taken_under_ids_that_are_free():
    covered, new = missing(PLAN, {("gate", "yes"), ("size", "small")}, {"path-1"})
    assert covered.left == ()
    assert [case.id for case in new] == ["path-2", "path-3", "path-4", "path-5"]
    assert missing(PLAN, {(s.node, s.branch) for walk in missing(PLAN)[0].walks for s in walk.steps})[1] == ()
    assert all(judged(write_case(case).encode(), PLAN).broken is None for case in new)


def test_a_rewritten_file_keeps_every_other_line():
    line = as_line(PAID, PLAN)
    assert line.case is not None
    data = b'\n{"id": "own",  "answers": {}}\r\n# no case\n\n'
    text = write_case(line.case).encode()
    assert rewritten_cases(data, {}) == b'\n{"id": "own",  "answers": {}}\r\n# no case\n'
    assert rewritten_cases(data, {3: line.case}, [line.case]) == (
        b'\n{"id": "own",  "answers": {}}\r\n' + text + b"\n" + text + b"\n"
    )
    assert rewritten_cases(b"", {}, [line.case]) == text + b"\n"
    assert rewritten_cases(b" \n", {}) == b""
