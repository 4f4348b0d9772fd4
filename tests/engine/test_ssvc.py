"""All seven decision tables of SSVC: every published row comes out of the tree compiled from its table."""

import asyncio
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

from engine import ClassifyNode, Session, check, read_tree, runnable, write_tree
from engine.evaluate import find_cases, read_cases, run_case, write_case

SAMPLES = Path(__file__).parents[2] / "samples"
DATA = Path(__file__).parents[1] / "data" / "ssvc"
DEPLOYER = SAMPLES / "ssvc-deployer"

ROWS = {
    "deployer_patch_application_priority_1_0_0": 72,
    "supplier_patch_development_priority_1_0_0": 36,
    "coordinator_triage_1_0_0": 192,
    "coordinator_publish_decision_table_1_0_0": 27,
    "utility_1_0_0": 4,
    "human_impact_1_0_0": 16,
    "public_safety_impact_1_0_0": 4,
}


compiler = SimpleNamespace(**run_path(str(SAMPLES / "compile_ssvc.py"), run_name="compile_ssvc"))


def published(name: str):
    """A table and its rows, which are read from two different files."""
    deployer = DEPLOYER / "data"
    document, text = (
        (deployer / f"{name}.{form}" if name.startswith("deployer") else DATA / form / f"{name}.{form}")
        for form in ("json", "csv")
    )
    table = compiler.read_table(document.read_bytes())
    return table, compiler.read_rows(text.read_text("utf-8"), table)


@pytest.mark.parametrize("reduced", [True, False], ids=["reduced", "full"])
@pytest.mark.parametrize("name", ROWS)
def test_every_row_of_the_table_comes_out_of_the_tree(name, reduced):
    table, rows = published(name)
    tree = compiler.compile_tree(table, "ssvc-test", reduced=reduced)
    assert len(rows) == ROWS[name]
    plan, session = runnable(tree), Session()

    async def run_all():
        cases = [compiler.case_of(number, row, table, tree) for number, row in rows.items()]
        return [await run_case(session, plan, case) for case in cases]

    for report in asyncio.run(run_all()):
        assert report.passed, f"{report.id}: {report.first_difference}"


@pytest.mark.parametrize("reduced", [True, False], ids=["reduced", "full"])
@pytest.mark.parametrize("name", ROWS)
def test_a_compiled_tree_has_neither_errors_nor_warnings(name, reduced):
    tree = compiler.compile_tree(published(name)[0], "ssvc-test", reduced=reduced)
    assert [p for p in check(tree) if p.severity != "info"] == []


@pytest.mark.parametrize("name", ROWS)
def test_the_full_tree_asks_every_point_on_every_way(name):
    table, rows = published(name)
    tree = compiler.compile_tree(table, "ssvc-test", reduced=False)
    for number, row in rows.items():
        assert len(compiler.case_of(number, row, table, tree).answers) == len(table.points)


def test_the_reduced_tree_shares_what_is_equal():
    table, _ = published("deployer_patch_application_priority_1_0_0")
    questions = [
        sum(
            isinstance(n, ClassifyNode)
            for n in compiler.compile_tree(table, "t", reduced=reduced).nodes.values()
        )
        for reduced in (True, False)
    ]
    assert questions == [18, 1 + 3 + 9 + 18]


def test_answers_are_spelled_as_published_and_unknown_needs_a_person():
    tree = read_tree((DEPLOYER / "tree.json").read_bytes()).tree
    start = tree.nodes["exploitation"]
    assert isinstance(start, ClassifyNode)
    assert start.answers == ("none", "public poc", "active")
    for node in tree.nodes.values():
        if isinstance(node, ClassifyNode):
            assert node.targets["unknown"] == "needs-a-person"


def test_the_sample_is_what_the_script_makes_of_the_published_table():
    table, rows = published("deployer_patch_application_priority_1_0_0")
    tree = compiler.compile_tree(table, "ssvc-deployer")
    assert (DEPLOYER / "tree.json").read_bytes() == write_tree(tree)
    cases = [write_case(compiler.case_of(number, row, table, tree)) for number, row in rows.items()]
    assert (DEPLOYER / "cases.jsonl").read_text("utf-8").splitlines() == cases


def test_the_sample_brings_ten_descriptions_to_judge():
    tree = read_tree((DEPLOYER / "tree.json").read_bytes()).tree
    cases, problems = read_cases(DEPLOYER / "cve.jsonl", tree)
    assert problems == ()
    assert len(cases) == 10
    assert all(case.params["cve"] and not case.answers for case in cases)


def test_the_cases_of_the_sample_are_beside_it():
    assert find_cases(DEPLOYER / "tree.json") == DEPLOYER / "cases.jsonl"
