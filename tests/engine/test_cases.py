"""Cases: one JSON line each, strict, and held against their tree."""

import json
from pathlib import Path

import pytest

from engine import Tree, read_tree, tree_hash
from engine.evaluate import Case, Expectation, find_cases, read_cases, read_lines, write_case

SAMPLES = Path(__file__).parents[2] / "samples"
EVIDENCE = SAMPLES / "evidence-classification" / "tree.json"


@pytest.fixture
def tree() -> Tree:
    return read_tree(EVIDENCE.read_bytes()).tree


@pytest.fixture
def read(tmp_path: Path, tree: Tree):
    """Reads lines as the cases of the evidence tree."""

    def read(*lines: object):
        file = tmp_path / "cases.jsonl"
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        file.write_bytes("\n".join(texts).encode())
        return read_cases(file, tree)

    return read


def only_problem(read, *lines: object):
    _, (problem,) = read(*lines)
    return problem


def test_a_case_may_have_no_more_than_an_id(read):
    assert read({"id": "a"}) == ((Case(id="a"),), ())


def test_a_case_holds_every_kind_of_pin(read):
    cases, problems = read(
        {
            "id": "all",
            "tree": {"id": "evidence-classification", "version": 1},
            "params": {"subject": "x"},
            "state": {"n": 1, "list": [None]},
            "data": [{"id": "d", "source": "s", "type": "evidence", "content": "c", "metadata": {"k": "v"}}],
            "answers": {"classify": ["supported", "unknown"]},
            "conditions": {"verify": [True, False]},
            "actions": {"collect": [{"status": "transientFailure", "error": "e"}, {"status": "success"}]},
            "budget": {"maxNodeVisits": 3, "maxElapsedTime": "00:00:01", "onExceeded": "warn"},
            "expect": {
                "verdict": "supported",
                "outcome": "Terminal",
                "path": ["collect"],
                "answers": {"classify": "unknown"},
            },
        }
    )
    assert problems == ()
    assert cases[0].answers == {"classify": ("supported", "unknown")}


def test_writing_a_case_gives_the_line_it_was_read_from(tree):
    file = find_cases(EVIDENCE)
    cases, _ = read_cases(file, tree)
    assert [json.loads(write_case(case)) for case in cases] == [
        json.loads(line) for line in file.read_text("utf-8").splitlines()
    ]


def test_what_is_not_set_is_not_written():
    assert write_case(Case(id="a", expect=Expectation(verdict="v"))) == '{"id":"a","expect":{"verdict":"v"}}'


def test_blank_lines_are_skipped_and_counted(read):
    problem = only_problem(read, "", "  \r", {"id": "a"}, "\t", {"id": "b", "x": 1})
    assert problem.line == 5


def test_only_a_line_feed_ends_a_line(read):
    cases, problems = read({"id": "a\u2028b"}, {"id": "c\u0085d"}, '{"id": "e"}\r')
    assert [case.id for case in cases] == ["a\u2028b", "c\u0085d", "e"]
    assert problems == ()


def test_a_broken_line_is_told_with_its_place_and_the_others_are_read(read):
    cases, (problem,) = read({"id": "a"}, '{"id": "b",, }', {"id": "c"})
    assert [case.id for case in cases] == ["a", "c"]
    assert (problem.code, problem.line, problem.column) == ("json-syntax", 2, 12)


def test_all_that_is_wrong_with_a_case_is_told_each_at_its_own_place(read):
    _, problems = read({"id": "a", "params": {"x": 1}, "state": [], "data": [{"id": "d", "colour": "red"}]})
    assert [(p.pointer, p.line, p.column) for p in problems] == [
        ("/params/x", 1, 24),
        ("/state", 1, 33),
        ("/data/0/source", 1, 55),
        ("/data/0/type", 1, 55),
        ("/data/0/content", 1, 55),
        ("/data/0/colour", 1, 67),
    ]


def test_of_a_file_without_an_end_no_more_is_read_than_shows_its_size(tree):
    cases, (problem,) = read_cases(Path("/dev/zero"), tree)
    assert cases == ()
    assert (problem.code, problem.message) == (
        "file-unreadable",
        "The cases cannot be read: The file is larger than 16 MB.",
    )


def test_a_missing_file_is_one_problem(tmp_path, tree):
    cases, (problem,) = read_cases(tmp_path / "none.jsonl", tree)
    assert cases == ()
    assert problem.code == "file-unreadable"
    assert "No such file" in problem.message


@pytest.mark.parametrize(
    ("case", "pointer", "words"),
    [
        ([], "", "A case must be an object."),
        ({"verdict": "x"}, "/id", "'id' is missing."),
        ({"id": " "}, "/id", "'id' is wrong: it is blank."),
        ({"id": 5}, "/id", "'id' must be text; 'id' holds a name."),
        ({"id": "a", "expct": {}}, "/expct", "'expct' is not known."),
        ({"id": "a", "expect": {"verdct": "x"}}, "/expect/verdct", "'expect.verdct' is not known."),
        (
            {"id": "a", "expect": {"outcome": "Done"}},
            "/expect/outcome",
            "must be 'Terminal', 'Unknown'",
        ),
        ({"id": "a", "expect": {"path": ["a", 1]}}, "/expect/path/1", "'expect.path.1' must be text"),
        ({"id": "a", "tree": {"id": "t", "version": True}}, "/tree/version", "must be a whole number"),
        ({"id": "a", "tree": {"id": "t", "version": 1.0}}, "/tree/version", "must be a whole number"),
        ({"id": "a", "budget": {"maxLlmCalls": True}}, "/budget/maxLlmCalls", "must be a whole number"),
        ({"id": "a", "budget": {"maxLlmCalls": 1.0}}, "/budget/maxLlmCalls", "must be a whole number"),
        ({"id": "a", "conditions": {"verify": 1}}, "/conditions/verify", "must be true or false or a list"),
        ({"id": "a", "conditions": {"verify": [True, 1]}}, "/conditions/verify/1", "must be true or false"),
        ({"id": "a", "params": {"n": 1}}, "/params/n", "a text for each parameter"),
        ({"id": "a", "data": [{"id": "d"}]}, "/data/0/source", "'data.0.source' is missing."),
        ({"id": "a", "answers": {"classify": 1}}, "/answers/classify", "for each node an answer"),
        ({"id": "a", "conditions": {"verify": "true"}}, "/conditions/verify", "true or false"),
        ({"id": "a", "actions": {"collect": {}}}, "/actions/collect/status", "is missing"),
        ({"id": "a", "actions": {"collect": 5}}, "/actions/collect", "a result with a status"),
        ({"id": "a", "actions": {"collect": {"status": "ok"}}}, "/actions/collect/status", "'success'"),
        (
            {"id": "a", "actions": {"collect": [{"status": "success"}, {"status": "ok"}]}},
            "/actions/collect/1/status",
            "'actions.collect.1.status' must be 'success'",
        ),
        ({"id": "a", "budget": {"maxNodeVisits": "3"}}, "/budget/maxNodeVisits", "limits as a tree has"),
        ({"id": "a", "budget": {"visits": 3}}, "/budget/visits", "'budget.visits' is not known."),
        ({"id": "a", "budget": {"maxNodeVisits": 0}}, "/budget/maxNodeVisits", "must be positive"),
        (
            {"id": "a", "budget": {"maxElapsedTime": "-00:00:01"}},
            "/budget/maxElapsedTime",
            "must be positive",
        ),
    ],
)
def test_what_is_no_case_is_told_once_with_its_place(read, case, pointer, words):
    problem = next(iter(read(case)[1]))
    assert problem.code == "case-invalid"
    assert problem.pointer == pointer
    assert words in problem.message
    assert problem.line == 1
    assert problem.column is not None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"id": "another"}, "the id is 'another', here it is 'evidence-classification'"),
        ({"id": "evidence-classification", "version": 2}, "the version is '2', here it is '1'"),
        ({"id": "evidence-classification", "hash": "0" * 64}, "the hash is '000"),
    ],
)
def test_a_case_for_another_tree_is_refused(read, other, words):
    problem = only_problem(read, {"id": "a", "tree": other})
    assert problem.code == "case-tree-other"
    assert words in problem.message


def test_a_case_for_this_very_tree_is_taken(read, tree):
    cases, problems = read({"id": "a", "tree": {"id": tree.tree_id, "version": 1, "hash": tree_hash(tree)}})
    assert len(cases) == 1
    assert problems == ()


@pytest.mark.parametrize(
    "members",
    [
        {"answers": {"gone": "supported"}},
        {"replies": {"gone": ["{}"]}},
        {"conditions": {"gone": True}},
        {"actions": {"gone": {"status": "success"}}},
        {"expect": {"path": ["collect", "gone"]}},
        {"expect": {"answers": {"gone": "supported"}}},
    ],
)
def test_an_unknown_node_is_an_error_wherever_it_is_named(read, members):
    problem = only_problem(read, {"id": "a", **members})
    assert (problem.code, problem.node) == ("case-node-unknown", "gone")
    assert "'gone'" in problem.message


@pytest.mark.parametrize(
    ("members", "node"),
    [
        ({"answers": {"verify": "supported"}}, "verify"),
        ({"replies": {"collect": []}}, "collect"),
        ({"conditions": {"classify": True}}, "classify"),
        ({"actions": {"approved": {"status": "success"}}}, "approved"),
        ({"expect": {"answers": {"verify": "supported"}}}, "verify"),
    ],
)
def test_a_pin_belongs_to_a_node_of_its_kind(read, members, node):
    problem = only_problem(read, {"id": "a", **members})
    assert (problem.code, problem.node) == ("case-node-type", node)


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"answers": {"classify": "Supported"}}, "/answers/classify"),
        ({"answers": {"classify": ["supported", "Supported"]}}, "/answers/classify/1"),
        ({"expect": {"answers": {"classify": "Supported"}}}, "/expect/answers/classify"),
    ],
)
def test_an_answer_that_is_not_allowed_is_told_with_those_that_are(read, members, pointer):
    problem = only_problem(read, "", {"id": "a", **members})
    assert problem.pointer == pointer
    assert (problem.code, problem.node, problem.line) == ("case-answer-unknown", "classify", 2)
    assert problem.message.endswith("allowed are: supported, unsupported, unknown.")


def test_answers_and_replies_for_one_node_exclude_each_other(read):
    problem = only_problem(read, {"id": "a", "answers": {"classify": "unknown"}, "replies": {"classify": []}})
    assert (problem.code, problem.node) == ("case-pins-both", "classify")


def test_of_cases_with_one_id_none_is_taken_and_each_is_told_of(read):
    cases, problems = read({"id": "a"}, {"id": "b"}, {"id": "a", "params": {"x": "y"}})
    assert [case.id for case in cases] == ["b"]
    assert [(p.code, p.line, p.column) for p in problems] == [
        ("case-id-duplicate", 1, 2),
        ("case-id-duplicate", 3, 2),
    ]
    assert {p.message for p in problems} == {"Lines 1 and 3 have the same id 'a'; each case needs its own."}


def test_a_case_that_is_wrong_takes_its_id_too(read):
    cases, problems = read({"id": "a"}, {"id": "a", "expct": {}})
    assert cases == ()
    assert [p.code for p in problems] == ["case-id-duplicate", "case-invalid", "case-id-duplicate"]


def test_many_lines_with_one_id_are_told_in_a_short_sentence(read):
    _, problems = read(*[{"id": "a"}] * 100)
    assert problems[-1].message.startswith("Lines 1, 2, 3, 4 and 96 more have the same id")


def test_of_a_case_that_is_wrong_id_and_expectation_are_told_where_they_can_be_read(tmp_path, tree):
    file = tmp_path / "cases.jsonl"
    lines = [
        {"id": "a", "expct": {}, "expect": {"verdict": "v"}},
        {"id": 1, "expect": {"verdict": "v"}},
        {"id": "c", "expect": {"verdict": 1}},
        [],
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n{")
    read = read_lines(file, tree)
    assert [line.number for line in read] == [1, 2, 3, 4, 5]
    assert [line.id for line in read] == ["a", None, "c", None, None]
    assert [line.expected.verdict for line in read] == ["v", "v", None, None, None]
    assert all(line.case is None and line.problems for line in read)


def test_cases_named_after_the_tree_go_before_those_of_the_folder(tmp_path):
    assert find_cases(tmp_path / "a.json") == tmp_path / "cases.jsonl"
    (tmp_path / "a.cases.jsonl").touch()
    assert find_cases(tmp_path / "a.json") == tmp_path / "a.cases.jsonl"
    assert find_cases(tmp_path / "b.json") == tmp_path / "cases.jsonl"


def test_what_a_case_brings_is_not_shown_by_its_repr():
    case = Case(id="a", params={"name": "private"}, state={"key": "private"}, answers={"n": "private"})
    assert "private" not in repr(case)
