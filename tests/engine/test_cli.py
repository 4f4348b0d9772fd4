"""The command line: exit codes, JSON shapes, and one clear message for every kind of bad input."""

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine import read_tree, tree_hash
from engine.cli import app

SAMPLES = Path(__file__).parents[2] / "samples"
EVIDENCE = SAMPLES / "evidence-classification" / "tree.json"
SSVC = SAMPLES / "ssvc-deployer" / "tree.json"
SUPPORTED = "Decision outcome: Terminal; verdict: supported; error: ; node visits: 4; LLM calls: 1"


class Said:
    """What a command printed, and its exit code."""

    def __init__(self, *args: object) -> None:
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def told(self) -> str:
        """Standard error as one line, without the frame around what is said of a wrong command line."""
        return " ".join(self.err.replace("│", " ").split())

    @property
    def last(self) -> str:
        return self.out.rstrip("\n").rpartition("\n")[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of one's own with the evidence sample in it."""
    folder = tmp_path / "project"
    shutil.copytree(EVIDENCE.parent, folder)
    return folder


@pytest.fixture
def change(project: Path):
    """Changes the text of the sample's tree and returns its path."""

    def change(old: str, new: str) -> Path:
        file = project / "tree.json"
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")
        return file

    return change


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- check ---------------------------------------------------------------------------------------------


def test_a_tree_without_errors_gives_code_0():
    said = Said("check", SSVC)
    assert (said.code, said.out, said.err) == (0, "No problems.\n", "")


def test_warnings_are_told_and_give_code_0():
    said = Said("check", EVIDENCE)
    assert said.code == 0
    assert said.out.splitlines()[0] == (
        f"{EVIDENCE}:16:7: warning: Action 'collectEvidence' for node 'collect' is not registered. "
        "[action-unknown] (node collect)"
    )
    assert said.last == "2 warnings, 1 info"


def test_with_trust_the_projects_own_action_is_known():
    said = Said("check", EVIDENCE, "--trust", "--json")
    assert "action-unknown" not in {item["code"] for item in said.json}


def test_the_items_of_all_files_are_one_flat_list(change):
    broken = change('"nextNodeId": "classify"', '"nextNodeId": "gone"')
    said = Said("check", EVIDENCE, broken, SSVC, "--json")
    assert said.code == 1
    assert {item["file"] for item in said.json} == {str(EVIDENCE), str(broken)}
    item = next(item for item in said.json if item["code"] == "target-missing")
    assert list(item) == [
        "file",
        "code",
        "severity",
        "node",
        "field",
        "pointer",
        "line",
        "column",
        "message",
    ]
    assert (item["severity"], item["node"], item["line"]) == ("error", "collect", 20)


@pytest.mark.parametrize("form", [["--json"], ["--format", "json"], ["--json", "--format", "json"]])
def test_a_list_without_items_is_a_document_too(form):
    said = Said("check", SSVC, *form)
    assert (said.json, said.err) == ([], "")


@pytest.mark.parametrize("form", ["sarif", "text"])
def test_two_forms_at_once_are_refused(form):
    said = Said("check", SSVC, "--json", "--format", form)
    assert (said.code, said.out) == (2, "")
    assert f"--json and --format {form} exclude each other" in said.told


def test_the_highest_code_wins(change, tmp_path):
    broken = change('"nextNodeId": "classify"', '"nextNodeId": "gone"')
    assert Said("check", SSVC, broken).code == 1
    assert Said("check", SSVC, tmp_path / "none.json", broken).code == 2


def test_sarif_holds_the_same_problems(change):
    broken = change('"nextNodeId": "classify"', '"nextNodeId": "gone"')
    log = Said("check", broken, "--format", "sarif").json
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    result = next(result for result in run["results"] if result["ruleId"] == "target-missing")
    assert result["level"] == "error"
    (location,) = result["locations"]
    assert location["physicalLocation"]["region"]["startLine"] == 20
    assert location["logicalLocations"][0]["name"] == "collect"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {r["ruleId"] for r in run["results"]}


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        (b"", "json-syntax", 1, 1),
        (b'{\n  "treeId": "a",\n}', "json-syntax", 3, 1),
        (b'{"treeId": "a", "treeId": "b"}', "json-duplicate-key", 1, 17),
        (b'{"version": NaN}', "json-number", 1, 13),
        (b'{"treeId": "\xff"}', "json-encoding", 1, 13),
        (b'{"treeId": "\\ud800"}', "json-surrogate", 1, 12),
        (b"[" * 100, "json-too-deep", 1, 65),
    ],
)
def test_what_is_no_json_document_gives_code_2_and_its_place(tmp_path, data, code, line, column):
    file = tmp_path / "tree.json"
    file.write_bytes(data)
    said = Said("check", file, "--json")
    assert said.code == 2
    (item,) = said.json
    assert (item["code"], item["line"], item["column"]) == (code, line, column)
    assert file.read_bytes() == data


@pytest.mark.parametrize("command", ["check", "run", "test", "export"])
def test_a_missing_file_gives_code_2_and_one_message(tmp_path, command):
    file = tmp_path / "none.json"
    said = Said(command, file)
    assert said.code == 2
    line, *more = [line for line in (said.out + said.err).splitlines() if "none.json" in line]
    assert more == ([f"{file}: There are errors, so no case was run."] if command == "test" else [])
    assert line == f"{file}:1:1: error: The file cannot be read: No such file or directory. [file-unreadable]"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"version": 1', '"version": "1"', "type-invalid"),
        ('"treeId": "evidence-classification",', "", "member-missing"),
        ('"type": "condition"', '"type": "loop"', "type-unsupported"),
        ('"predicateKey": "dataExists"', '"predicateKey": "gone"', "predicate-unknown"),
    ],
)
def test_a_document_with_errors_gives_code_1(change, old, new, code):
    said = Said("check", change(old, new), "--json")
    assert said.code == 1
    assert code in {item["code"] for item in said.json}


def test_a_document_that_is_no_object_gives_code_1(tmp_path):
    file = tmp_path / "tree.json"
    file.write_text("[]")
    assert Said("check", file).code == 1


def test_an_unknown_member_is_a_warning(change):
    said = Said("check", change('"version": 1,', '"version": 1, "owner": "us",'), "--json")
    assert said.code == 0
    item = next(item for item in said.json if item["field"] == "owner")
    assert item["severity"] == "warning"


def test_a_broken_project_file_is_told_once_for_all_its_trees(project):
    shutil.copy(project / "tree.json", project / "other.json")
    (project / "treewright.json").write_text('{"format": 2}')
    said = Said("check", project / "tree.json", project / "other.json", "--json")
    assert said.code == 1
    (item,) = [item for item in said.json if item["severity"] == "error"]
    assert item["file"] == str(project / "treewright.json")
    assert item["line"] == 1


@pytest.mark.parametrize(
    ("document", "code", "severity", "pointer", "place"),
    [
        ({"colour": 1, "catalog": []}, "member-unknown", "warning", "/colour", (2, 3)),
        ({"catalog": ["catalog.py", "../a.py"]}, "catalog-invalid", "error", "/catalog/1", (4, 5)),
        ({"format": 1, "external": []}, "project-invalid", "error", "/external", (3, 3)),
    ],
)
def test_what_is_wrong_with_a_project_is_told_at_its_place(project, document, code, severity, pointer, place):
    (project / "treewright.json").write_text(json.dumps(document, indent=2))
    said = Said("check", project / "tree.json", "--trust", "--json")
    assert said.code == (severity == "error")
    (item,) = [item for item in said.json if item["file"].endswith("treewright.json")]
    assert (item["code"], item["severity"], item["pointer"]) == (code, severity, pointer)
    assert (item["line"], item["column"]) == place


@pytest.mark.parametrize("document", [{"catalog": ["none.py"]}, {"format": 2}])
def test_what_only_a_whole_project_could_know_is_no_fault_of_the_tree(project, change, document):
    (project / "treewright.json").write_text(json.dumps(document))
    said = Said("check", change('"predicateKey": "dataExists"', '"predicateKey": "own"'), "--trust", "--json")
    assert [item["file"] for item in said.json if item["severity"] == "error"] == [
        str(project / "treewright.json")
    ]
    assert "action-unknown" not in {item["code"] for item in said.json}


def test_a_catalog_that_cannot_be_loaded_is_an_error(project):
    (project / "catalog.py").write_text("1 / 0\n")
    assert Said("check", project / "tree.json").code == 0
    said = Said("check", project / "tree.json", "--trust")
    assert said.code == 1
    assert "ZeroDivisionError" in said.out


def test_a_message_stays_on_its_line_whatever_a_tree_holds(change):
    said = Said("check", change('"nextNodeId": "classify"', '"nextNodeId": "go\\n\\u001b[31mne"'))
    assert "\x1b" not in said.out
    assert all(re.match(r".+tree\.json:\d+:\d+: |\d+ error", line) for line in said.out.splitlines())


# -- export --------------------------------------------------------------------------------------------


def test_export_prints_the_canonical_tree():
    said = Said("export", EVIDENCE)
    assert (said.code, said.out, said.err) == (0, EVIDENCE.read_text("utf-8"), "")


def test_export_writes_a_file(project, tmp_path):
    compact = json.dumps(json.loads(EVIDENCE.read_bytes()))
    (project / "tree.json").write_text(compact)
    out = tmp_path / "out.json"
    assert Said("export", project / "tree.json", out).code == 0
    assert out.read_bytes() == EVIDENCE.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out.json"]


@pytest.mark.parametrize(
    ("form", "begins"),
    [("json", "{"), ("mmd", "---\ntitle"), ("dot", "digraph"), ("html", "<!DOCTYPE html>")],
)
def test_the_name_of_the_file_or_the_format_says_what_is_exported(tmp_path, form, begins):
    named = Said("export", EVIDENCE, tmp_path / f"out.{form.upper()}")
    told = Said("export", EVIDENCE, tmp_path / "out", "--format", form)
    printed = Said("export", EVIDENCE, "--format", form)
    assert (named.code, named.out, named.err, told.code, told.err) == (0, "", "", 0, "")
    assert printed.out.startswith(begins)
    assert {path.read_text("utf-8") for path in tmp_path.iterdir()} == {printed.out}


def test_a_report_tells_what_runs_cost():
    assert "The smallest budget in which every end" in Said("export", EVIDENCE, "--format", "html").out


def test_export_is_refused_with_the_reason_while_there_are_errors(change, tmp_path):
    out = tmp_path / "out.json"
    said = Said("export", change('"nextNodeId": "classify"', '"nextNodeId": "gone"'), out)
    assert said.code == 1
    assert "target-missing" in said.err
    assert said.out == ""
    assert not out.exists()


@pytest.mark.parametrize("form", ["mmd", "dot", "html"])
def test_an_unfinished_tree_is_shown_as_it_is_and_its_errors_are_told(change, form):
    said = Said("export", change('"nextNodeId": "classify"', '"nextNodeId": "gone"'), "--format", form)
    assert said.code == 0
    assert "gone" in said.out
    assert "target-missing" in said.err
    assert said.err.endswith("It is shown as it is; it cannot be run.\n")


@pytest.mark.parametrize("form", ["json", "mmd", "dot", "html"])
def test_a_tree_with_a_part_that_cannot_be_understood_is_not_exported(change, form):
    said = Said("export", change('"type": "condition"', '"type": "condition", "name": 7'), "--format", form)
    assert (said.code, said.out) == (1, "")
    assert "type-invalid" in said.err


def test_export_to_a_place_that_cannot_be_written_is_one_message(tmp_path):
    said = Said("export", EVIDENCE, tmp_path / "none" / "out.json")
    assert said.code == 1
    assert said.err.count("\n") == 1
    assert "cannot be written" in said.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["tree.png"], "'.png' tells no form; name one with --format: json, mmd, dot, html."),
        (["tree.dot", "--format", "mmd"], "named as one that holds dot, but --format says mmd"),
    ],
)
def test_export_refuses_a_file_named_as_something_else(tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    said = Said("export", EVIDENCE, *args)
    assert (said.code, said.out) == (2, "")
    assert words in said.told
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_is_exported_to_stays_one(tmp_path):
    real, link = tmp_path / "real.mmd", tmp_path / "link.mmd"
    link.symlink_to(real)
    assert Said("export", EVIDENCE, link).code == 0
    assert link.is_symlink()
    assert real.read_text().startswith("---")


# -- test ----------------------------------------------------------------------------------------------


def test_all_published_rows_pass():
    said = Said("test", SSVC)
    assert (said.code, said.out, said.err) == (0, "72 passed, 0 failed\n", "")


def test_the_numbers_are_over_all_files():
    assert Said("test", SSVC, EVIDENCE).last == "85 passed, 0 failed"


def test_a_failed_case_gives_code_1_and_its_first_difference(project):
    case = {
        "id": "wrong",
        "actions": {"collect": {"status": "success"}},
        "answers": {"classify": "supported"},
        "expect": {"verdict": "supported"},
    }
    (project / "cases.jsonl").write_text(json.dumps(case))
    said = Said("test", project / "tree.json")
    assert said.code == 1
    assert said.out.splitlines() == [
        f"{project / 'tree.json'}: case wrong failed: verdict: expected 'supported', got 'failed'",
        "0 passed, 1 failed",
    ]
    document = Said("test", project / "tree.json", "--json")
    assert document.json == {
        "passed": 0,
        "failed": 1,
        "cases": [
            {
                "file": str(project / "tree.json"),
                "id": "wrong",
                "passed": False,
                "expected": {"verdict": "supported"},
                "got": {"verdict": "failed"},
                "firstDifference": "verdict: expected 'supported', got 'failed'",
            }
        ],
    }
    assert document.err.splitlines()[-1] == "0 passed, 1 failed"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ('{"id": "a", "tree": {"id": "another"}}', 1, "case-tree-other"),
        ('{"id": "a", "answers": {"classify": "maybe"}}', 1, "allowed are: supported, unsupported, unknown."),
        ('{"id": "a", "answers": {"gone": "maybe"}}', 1, "(node gone)"),
        ('{"id": "a",', 2, "json-syntax"),
    ],
)
def test_a_case_that_does_not_fit_has_failed_and_is_told_with_its_place(project, line, code, words):
    cases = project / "cases.jsonl"
    cases.write_text('{"id": "ok", "actions": {"collect": {"status": "permanentFailure"}}}\n' + line)
    said = Said("test", project / "tree.json")
    assert said.code == code
    (message,) = said.err.splitlines()
    assert message.startswith(f"{cases}:2:")
    assert words in message
    assert said.last == "1 passed, 1 failed"


def test_a_case_that_is_wrong_is_listed_by_its_id_with_what_it_expects(project):
    (project / "cases.jsonl").write_text(
        '{"id": "odd", "answers": {"classify": "maybe"}, "expect": {"verdict": "supported"}}\n'
        '{"id": "ok", "actions": {"collect": {"status": "permanentFailure"}}}\n'
        "{"
    )
    said = Said("test", project / "tree.json", "--json")
    assert said.code == 2
    assert (said.json["passed"], said.json["failed"]) == (1, 2)
    odd, ok, broken = said.json["cases"]
    assert (odd["id"], odd["passed"]) == ("odd", False)
    assert (odd["expected"], odd["got"]) == ({"verdict": "supported"}, {})
    assert "allowed are: supported, unsupported, unknown." in odd["firstDifference"]
    assert (ok["id"], ok["passed"]) == ("ok", True)
    assert (broken["id"], broken["expected"]) == ("line 3", {})


def test_of_two_cases_with_one_id_both_have_failed(project):
    case = '{"id": "a", "actions": {"collect": {"status": "permanentFailure"}}}\n'
    (project / "cases.jsonl").write_text(case * 2)
    said = Said("test", project / "tree.json", "--json")
    assert said.code == 1
    assert [(entry["id"], entry["passed"]) for entry in said.json["cases"]] == [("a", False), ("a", False)]
    assert "Lines 1 and 2 have the same id 'a'" in said.json["cases"][0]["firstDifference"]


@pytest.mark.parametrize("command", ["test", "run"])
def test_without_a_cases_file_both_its_places_are_named(project, command):
    (project / "cases.jsonl").unlink()
    tree = project / "tree.json"
    said = Said(command, tree, *(["--case", "a"] if command == "run" else []))
    assert said.code == 2
    words = "There are no cases: neither tree.cases.jsonl nor cases.jsonl is beside the tree."
    assert said.err.splitlines() == [f"{tree}: error: {words} [file-unreadable]"]
    assert said.out == ("0 passed, 0 failed\n" if command == "test" else "")


def test_a_cases_file_that_cannot_be_read_is_one_message(project):
    (project / "cases.jsonl").unlink()
    (project / "cases.jsonl").mkdir()
    said = Said("test", project / "tree.json")
    assert said.code == 2
    words = "error: The cases cannot be read: Is a directory. [file-unreadable]"
    assert said.err.splitlines() == [f"{project / 'cases.jsonl'}: {words}"]


def test_the_cases_of_a_tree_with_errors_are_not_run(change):
    broken = change('"nextNodeId": "classify"', '"nextNodeId": "gone"')
    said = Said("test", broken, SSVC)
    assert said.code == 1
    assert said.err.splitlines()[-1] == f"{broken}: There are errors, so no case was run."
    assert said.last == "72 passed, 0 failed"
    assert Said("test", broken).out == "0 passed, 0 failed\n"


# -- run -----------------------------------------------------------------------------------------------


def test_the_expected_line_of_the_evidence_sample():
    said = Said("run", EVIDENCE, "--case", "supported")
    assert said.code == 0
    assert said.out.splitlines() == [
        "collect: success",
        "classify: supported",
        "verify: true",
        "approved: supported",
        SUPPORTED,
    ]


def test_a_run_as_json_has_the_documented_members():
    said = Said("run", EVIDENCE, "--case", "supported", "--json")
    result = said.json
    assert said.code == 0
    assert list(result) == [
        "executionId",
        "treeId",
        "version",
        "treeHash",
        "outcome",
        "succeeded",
        "verdict",
        "error",
        "failureKind",
        "hadUnknown",
        "classifications",
        "usage",
        "limits",
        "stateProperties",
        "path",
        "transcript",
        "records",
    ]
    assert (result["outcome"], result["verdict"]) == ("Terminal", "supported")
    assert (result["usage"]["nodeVisits"], result["usage"]["llmCalls"]) == (4, 1)
    assert result["treeHash"] == tree_hash(read_tree(EVIDENCE.read_bytes()).tree)
    assert result["path"][-1] == {"node": "approved", "type": "terminal", "branch": None, "next": None}
    assert result["transcript"] == {"status": None, "path": None}
    assert result["records"] == 0
    assert said.err == ""


@pytest.mark.parametrize("case", ["unknown", "no-call-left-to-ask-again"])
def test_any_other_ending_than_a_terminal_gives_code_3(case):
    assert Said("run", EVIDENCE, "--case", case).code == 3


def test_an_action_that_is_neither_registered_nor_pinned_ends_the_run_before_its_first_visit(tmp_path):
    case = tmp_path / "cases.jsonl"
    case.write_text('{"id": "a", "answers": {"classify": "supported"}}')
    said = Said("run", EVIDENCE, "--cases", case, "--case", "a", "--transcript", "--json")
    assert said.code == 3
    result = said.json
    assert (result["outcome"], result["usage"]["nodeVisits"], result["path"]) == ("ValidationFailed", 0, [])
    assert Path(result["transcript"]["path"]).exists()
    assert "--trust" in said.err


def test_with_trust_the_action_of_the_catalog_is_used(tmp_path):
    case = tmp_path / "cases.jsonl"
    case.write_text('{"id": "a", "answers": {"classify": "supported"}}')
    said = Said("run", EVIDENCE, "--cases", case, "--case", "a", "--trust")
    assert said.last == SUPPORTED


def test_without_anybody_to_decide_the_first_question_is_named():
    said = Said("run", SSVC)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Nobody is there to decide node 'exploitation'")


def test_a_case_that_leaves_a_question_open_names_it(tmp_path):
    case = tmp_path / "cases.jsonl"
    case.write_text('{"id": "a", "answers": {"exploitation": "active"}}')
    said = Said("run", SSVC, "--cases", case, "--case", "a")
    assert said.code == 1
    assert "'system-exposure-active'" in said.err


def test_questions_no_pinned_way_leads_to_need_nobody():
    assert Said("run", SSVC, "--case", "row-71").last.startswith(
        "Decision outcome: Terminal; verdict: immediate"
    )


def test_nobody_is_asked_off_a_terminal():
    said = Said("run", SSVC, "--decider", "ask")
    assert said.code == 1
    assert "exploitation" in said.err


def test_a_tree_with_errors_is_not_started(change):
    said = Said("run", change('"nextNodeId": "classify"', '"nextNodeId": "gone"'), "--json")
    assert (said.code, said.out) == (1, "")
    assert "target-missing" in said.err


def test_a_case_that_is_not_there_is_told_with_those_that_are(tmp_path):
    said = Said("run", EVIDENCE, "--case", "suported")
    assert (said.code, said.out) == (1, "")
    assert "There is no case 'suported'. There are: supported, unsupported," in said.err
    assert said.err.endswith(" and 3 more.\n")
    file = tmp_path / "cases.jsonl"
    file.write_text('{"id": "a"}\n{\n[]')
    said = Said("run", EVIDENCE, "--cases", file, "--case", "b")
    assert said.code == 1
    assert said.err == (
        f"{file}: There is no case 'b'. There are: a. The ids of 2 lines, from line 2, cannot be read.\n"
    )


def test_what_is_wrong_with_other_cases_does_not_concern_a_run(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text(
        '{"id": "odd", "answers": {"gone": "x"}}\n{\n{"id": "twice"}\n{"id": "twice"}\n'
        '{"id": "a", "actions": {"collect": {"status": "permanentFailure"}}}'
    )
    said = Said("run", EVIDENCE, "--cases", file, "--case", "a")
    assert (said.code, said.err) == (0, "")
    for case, words in (("odd", "(node gone)"), ("twice", "Lines 3 and 4 have the same id 'twice'")):
        said = Said("run", EVIDENCE, "--cases", file, "--case", case, "--json")
        assert (said.code, said.out) == (1, "")
        assert all(words in line for line in said.err.splitlines())


def test_a_case_that_does_not_fit_is_told_with_its_place(tmp_path):
    case = tmp_path / "cases.jsonl"
    case.write_text('{"id": "a", "answers": {"classify": "maybe"}}')
    said = Said("run", EVIDENCE, "--cases", case, "--case", "a")
    assert said.code == 1
    assert said.err.startswith(f"{case}:1:25: error: ")


def test_a_missing_cases_file_is_one_message_for_a_run_too(tmp_path):
    said = Said("run", EVIDENCE, "--cases", tmp_path / "none.jsonl", "--case", "a")
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--param", "noequals"], "'noequals' is not of the form NAME=VALUE"),
        (["--param", "=3"], "'=3' is not of the form NAME=VALUE"),
        (["--param", "k=1", "--param", "k=2"], "'k' is given more than one value"),
        (["--case", "supported", "--case", "unknown"], "'--case': Give it once"),
        (["--case", "supported", "--json", "--cases", "a", "--cases", "b"], "'--cases': Give it once"),
        (["--cases", "cases.jsonl"], "--case"),
        (["--decider", "oracle"], "oracle"),
        (["--decider", "openai"], "--base-url URL --model NAME"),
        (["--decider", "anthropic"], "--base-url URL --model NAME"),
        (["--decider", "ask", "--model", "m"], "--decider ask means that you decide"),
        (["--model", "m"], "--base-url URL --model NAME"),
        (["--base-url", "http://x"], "--base-url URL --model NAME"),
        (["--fallback-model", "m"], "--base-url URL --model NAME"),
        (["--key-env", "HOME"], "--base-url URL --model NAME"),
        (["--base-url", "nonsense", "--model", "m"], "for --base-url: The address of a model must start"),
        (["--base-url", "ftp://x", "--model", "m"], "for --base-url: The address of a model must start"),
        (["--case", "supported", "--base-url", "nonsense", "--model", "m"], "must start with http://"),
        (["--base-url", "http://x", "--model", "m", "--key-env", "NOT_SET"], "environment variable NOT_SET"),
        (["--case", "supported", "--records", "decisions.txt"], "ends in .jsonl or .sqlite"),
    ],
)
def test_a_wrong_option_gives_code_2_and_the_reason(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = Said("run", EVIDENCE, *args)
    assert (said.code, said.out) == (2, "")
    assert words in said.told
    assert list(tmp_path.iterdir()) == []


def test_a_flag_given_twice_is_that_flag():
    assert Said("run", EVIDENCE, "--case", "supported", "--json", "--json").json["succeeded"]


def test_options_of_a_model_nobody_has_to_ask_do_no_harm():
    args = ["--base-url", "http://x", "--model", "m", "--param", "n=1"]
    assert Said("run", EVIDENCE, "--case", "supported", *args).last == SUPPORTED
    assert Said("run", EVIDENCE, "--case", "supported", "--decider", "ask").last == SUPPORTED


def test_a_parameter_of_the_command_line_goes_before_the_others(tmp_path):
    transcripts = tmp_path / "t"
    args = ["run", SSVC, "--case", "row-0", "--transcripts", transcripts]
    Said(*args)
    Said(*args, "--param", "cve=A hole = trouble")
    texts = [path.read_text("utf-8") for path in transcripts.iterdir()]
    assert sum("No description was given." in text for text in texts) == 1
    assert sum("A hole = trouble" in text for text in texts) == 1


def test_a_transcript_goes_to_the_data_folder_unless_a_folder_is_named(own_folders, tmp_path, monkeypatch):
    usual = Said("run", EVIDENCE, "--case", "supported", "--transcript")
    folder = own_folders / "data" / "treewright" / "transcripts"
    assert f"Transcripts: {folder}" in usual.out.splitlines()
    assert usual.last == SUPPORTED
    assert len(list(folder.iterdir())) == 1
    monkeypatch.chdir(tmp_path)
    named = Said("run", EVIDENCE, "--case", "supported", "--transcripts", "here", "--json")
    assert f"Transcripts: {tmp_path / 'here'}" in named.err
    assert named.json["transcript"]["status"] == "Completed"
    assert Path(named.json["transcript"]["path"]).parent == tmp_path / "here"


@pytest.mark.parametrize("option", ["--debug-transcripts", "--debug-transcript", "--transcript-debug"])
def test_a_debug_transcript_hides_nothing_and_wins(own_folders, option):
    Said("run", EVIDENCE, "--case", "supported", "--transcript", option)
    (file,) = (own_folders / "data" / "treewright" / "transcripts").iterdir()
    assert "**Debug mode:** `True`" in file.read_text("utf-8")


def test_pinned_decisions_are_recorded_when_a_store_is_named(tmp_path):
    store = tmp_path / "decisions.jsonl"
    for expected in (1, 2):
        said = Said("run", EVIDENCE, "--case", "supported", "--records", store, "--json")
        assert said.json["records"] == 1
        assert len(store.read_text("utf-8").splitlines()) == expected
    assert json.loads(store.read_text("utf-8").splitlines()[0])["provider"] == "scripted"


def test_a_run_is_recorded_in_a_database_too(tmp_path):
    store = tmp_path / "decisions.sqlite"
    for expected in (1, 2):
        assert Said("run", EVIDENCE, "--case", "supported", "--records", store, "--json").json["records"] == 1
        assert Said("records", "stats", store, "--json").json["decisions"] == expected


def test_a_store_that_cannot_be_used_is_one_message(tmp_path):
    said = Said("run", EVIDENCE, "--case", "supported", "--records", tmp_path / "none" / "decisions.jsonl")
    assert (said.code, said.out) == (1, "")
    assert said.err.count("\n") == 1


def test_the_erasure_key_comes_from_the_parameter_the_project_names(project, tmp_path):
    settings = {"trees": {"evidence-classification": {"erasureKeyParameter": "customer"}}}
    (project / "treewright.json").write_text(json.dumps({"format": 1, **settings}))
    store = tmp_path / "decisions.jsonl"
    Said("run", project / "tree.json", "--case", "supported", "--records", store, "--param", "customer=c-7")
    assert json.loads(store.read_text("utf-8"))["erasureKey"] == "c-7"
    store.unlink()
    Said("run", project / "tree.json", "--case", "supported", "--records", store, "--param", "customer=")
    assert json.loads(store.read_text("utf-8")).get("erasureKey") is None


@pytest.mark.parametrize(
    ("decider", "args", "words"),
    [
        ({"kind": "oracle"}, [], "'kind' of the decider must be one of ask, openai, anthropic"),
        (
            {"kind": "openai", "model": 1, "baseUrl": "http://x"},
            [],
            "'model' of the decider must be the name of a model",
        ),
        ({"kind": "openai", "model": "m"}, [], "--base-url URL --model NAME"),
        ({"kind": "openai", "model": "m", "baseUrl": "nonsense"}, [], "json:1:59: error: The address"),
        (
            {"kind": "openai", "model": "m", "baseUrl": "http://x", "keyEnv": "NOT_SET"},
            ["--trust"],
            "NOT_SET",
        ),
        ({"kind": "openai", "model": "m", "baseUrl": "http://x", "keyEnv": "HOME"}, [], "--trust"),
        ({"kind": "openai", "model": "m", "baseUrl": "http://x"}, ["--key-env", "HOME"], "--trust"),
        ({"kind": "anthropic", "model": "m", "baseUrl": "http://x", "keyEnv": "HOME"}, [], "--trust"),
        (
            {"kind": "anthropic", "model": "m", "baseUrl": "http://x", "structured": "json_schema"},
            [],
            "'structured' is for deciders of kind openai",
        ),
        ({"kind": "openai", "structured": "xml"}, [], "'structured' of the decider must be prompt, json"),
        ({"kind": "openai", "fallbackModels": "m"}, [], "must be a list of names"),
        ({"kind": "openai", "stream": 1}, [], "1:45: error: 'stream' of the decider must be true or false."),
    ],
)
def test_a_model_of_the_project_that_cannot_be_asked_is_one_message(project, decider, args, words):
    (project / "treewright.json").write_text(json.dumps({"format": 1, "decider": decider}))
    said = Said("run", project / "tree.json", *args)
    assert (said.code, said.out) == (1, "")
    assert words in said.err
    assert said.err.count("\n") == 1


def test_no_command_changes_anything_beside_the_tree(project):
    before = files_of(project)
    tree = project / "tree.json"
    for args in (
        ["check", tree, "--trust"],
        ["test", tree],
        ["bounds", tree],
        ["paths", tree],
        ["export", tree],
    ):
        Said(*args)
    Said("run", tree, "--case", "supported", "--trust", "--transcript")
    assert files_of(project) == before


def test_check_makes_the_safe_fixes_writes_the_file_and_tells_each(change):
    file = change('"version": 1', '"version": 0, "name": " "')
    said = Said("check", "--fix", file)
    assert (said.code, said.last) == (0, "2 warnings, 1 info")
    assert said.err.splitlines() == [
        f"{file}: fixed: Set the version to 1 [version-invalid]",
        f"{file}: fixed: Remove the empty name [name-blank]",
    ]
    assert file.read_bytes() == EVIDENCE.read_bytes()
    assert Said("check", "--fix", file).err == ""


def test_check_leaves_what_is_not_safe_and_what_it_cannot_understand(change):
    file = change('"nextNodeId": "verify"', '"nextNodeId": "gone"')
    before = file.read_bytes()
    said = Said("check", "--fix", file)
    assert (said.code, said.err) == (1, "")
    assert file.read_bytes() == before
    file.write_text('{"treeId": 7, "name": " ", "version": 0}', "utf-8")
    assert Said("check", "--fix", file).code == 1
    assert file.read_text("utf-8") == '{"treeId": 7, "name": " ", "version": 0}'


def test_check_writes_old_spellings_anew(change):
    file = change('"type": "classify",\n      "task"', '"type": "question",\n      "question"')
    assert Said("check", "--fix", file).code == 0
    assert file.read_bytes() == EVIDENCE.read_bytes()


def test_what_later_versions_bring_is_not_there_yet():
    said = Said("--help")
    commands = set(re.findall(r"^│ (\w+)  ", said.out, re.MULTILINE))
    assert commands == {"check", "run", "test", "bounds", "paths", "diff", "export", "records", "agents"}
