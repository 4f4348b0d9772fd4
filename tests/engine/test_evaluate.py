"""Running cases, and comparing what came of them with what was expected."""

import asyncio
from pathlib import Path

import pytest

import engine.evaluate
from engine import ScriptedDecider, Session, read_tree, runnable
from engine.evaluate import Case, CaseReport, find_cases, inputs_of, read_cases, run_case

SAMPLES = Path(__file__).parents[2] / "samples"
EVIDENCE = SAMPLES / "evidence-classification" / "tree.json"

COLLECTED = {
    "status": "success",
    "properties": {"evidenceCollected": "true"},
    "data": [{"id": "e", "source": "s", "type": "evidence", "content": "c"}],
}
GOOD = '{"answer": "supported"}'


def report_of(session: Session | None = None, /, **members: object) -> CaseReport:
    """How a case of the evidence tree goes, whose action is pinned unless said otherwise."""
    tree = runnable(read_tree(EVIDENCE.read_bytes()).tree)
    case = Case.model_validate({"id": "case", "actions": {"collect": COLLECTED}, **members})
    return asyncio.run(run_case(session or Session(), tree, case))


def test_the_front_is_sorted_and_all_of_it_is_there():
    names = engine.evaluate.__all__
    assert names == sorted(names)
    assert all(hasattr(engine.evaluate, name) for name in names)


def test_a_case_passes_when_everything_it_names_came_true():
    report = report_of(
        answers={"classify": "supported"},
        expect={
            "verdict": "supported",
            "outcome": "Terminal",
            "path": ["collect", "classify", "verify", "approved"],
            "answers": {"classify": "supported"},
        },
    )
    assert report.passed
    assert report.expected == report.got
    assert report.first_difference is None


def test_only_what_is_named_is_compared():
    report = report_of(answers={"classify": "unsupported"}, expect={"outcome": "Terminal"})
    assert report.passed
    assert report.got == {"outcome": "Terminal"}


def test_a_case_that_expects_nothing_passes_when_its_run_does_not_fail():
    assert report_of(answers={"classify": "supported"}).passed


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ({"verdict": "failed"}, "verdict: expected 'failed', got 'supported'"),
        ({"outcome": "Unknown", "verdict": "failed"}, "verdict: expected 'failed', got 'supported'"),
        ({"path": ["collect", "verify"]}, "path[1]: expected 'verify', got 'classify'"),
        ({"path": ["collect", "classify", "verify"]}, "path[3]: expected nothing, got 'approved'"),
        ({"answers": {"classify": "unknown"}}, "answers.classify: expected 'unknown', got 'supported'"),
    ],
)
def test_the_first_difference_says_where_it_is(expect, difference):
    report = report_of(answers={"classify": "supported"}, expect=expect)
    assert not report.passed
    assert report.first_difference == difference


def test_an_answer_that_was_never_asked_for_is_a_difference():
    report = report_of(
        actions={"collect": {"status": "permanentFailure"}}, expect={"answers": {"classify": "supported"}}
    )
    assert report.first_difference == "answers.classify: expected 'supported', got nothing"


def test_a_pinned_answer_counts_one_call_and_a_pinned_unknown_two():
    assert report_of(answers={"classify": "supported"}).result.usage.llm_calls == 1
    unknown = report_of(answers={"classify": "unknown"}, budget={"maxLlmCalls": 2}).result
    assert (unknown.outcome, unknown.usage.llm_calls) == ("Unknown", 2)


def test_replies_go_through_the_real_parser_and_are_asked_for_again():
    report = report_of(replies={"classify": ["no json", GOOD]}, budget={"maxLlmCalls": 2})
    assert [c.answer for c in report.result.classifications] == ["supported"]
    assert report.result.usage.llm_calls == 2


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"answers": {"classify": []}}, "'classify'"),
        ({"replies": {"classify": []}}, "'classify'"),
        ({"answers": {"classify": "supported"}, "conditions": {"verify": []}}, "'verify'"),
        ({"actions": {"collect": []}}, "'collect'"),
    ],
)
def test_a_list_that_is_used_up_fails_the_case_and_names_node_and_visit(members, what):
    report = report_of(**members)
    assert not report.passed
    assert report.first_difference is not None
    assert report.first_difference.startswith("The run failed: ")
    assert what in report.first_difference
    assert "visit 1" in report.first_difference


def test_a_question_for_nobody_fails_the_case():
    report = report_of()
    assert not report.passed
    assert "'classify'" in (report.first_difference or "")


def test_a_question_without_a_pin_goes_to_the_decider_there_is():
    session = Session(decider=ScriptedDecider({"classify": "unsupported"}))
    assert report_of(session, expect={"verdict": "unsupported"}).passed


def test_a_failure_that_was_expected_passes():
    assert report_of(expect={"outcome": "ValidationFailed"}).passed


def test_a_pinned_condition_is_marked_as_forced():
    report = report_of(
        answers={"classify": "supported"}, conditions={"verify": False}, expect={"verdict": "failed"}
    )
    assert report.passed
    forced = {visit.node: visit.forced for visit in report.result.path}
    assert forced["verify"]
    assert not forced["classify"]


def test_the_parameters_of_a_case_go_before_those_given_beside_it():
    inputs = inputs_of(Case(id="a", params={"one": "case"}), {"one": "default", "two": "default"})
    assert inputs.parameters == {"one": "case", "two": "default"}


def test_data_and_state_of_a_case_are_there_from_the_start():
    report = report_of(
        actions={"collect": {"status": "success"}},
        data=COLLECTED["data"],
        state={"known": "yes"},
        answers={"classify": "supported"},
        expect={"verdict": "supported"},
    )
    assert report.passed
    assert report.result.state_properties == {"known": "yes"}


def test_every_case_of_the_evidence_sample_passes():
    tree = read_tree(EVIDENCE.read_bytes()).tree
    cases, problems = read_cases(find_cases(EVIDENCE), tree)
    assert problems == ()
    assert len(cases) == 13
    plan = runnable(tree)
    for case in cases:
        report = asyncio.run(run_case(Session(), plan, case))
        assert report.passed, f"{case.id}: {report.first_difference}"
