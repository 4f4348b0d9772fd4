"""Actions as a project file describes them: checked with their places, and known to every command."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine import (
    KINDS,
    Inputs,
    Project,
    ProjectError,
    catalog_of,
    load_project,
    misfits,
    read_tree,
    write_tree,
)
from engine.cli import _undecidable
from engine.project import FILE_NAME
from engine.run import Pins
from tests.builders import action, as_bytes, classify, terminal, tree
from tests.engine.acting import catalog, doing, entry, page, web
from tests.engine.deciding import FakeClient
from tests.engine.runs import ended
from tests.engine.test_cli import Said
from tests.engine.test_cli_process import Terminal

SAMPLE = Path(__file__).parents[2] / "samples" / "url-check"


def project(folder: Path, **actions: Any) -> Path:
    """A project with these actions and a tree that does ``it``."""
    (folder / FILE_NAME).write_bytes(as_bytes({"format": 1, "actions": actions}))
    (folder / "tree.json").write_bytes(write_tree(doing()))
    return folder / "tree.json"


# -- what fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_tells_a_form_what_to_ask(name: str):
    schema = KINDS[name].model_json_schema()
    assert schema["description"]
    assert all(field.get("description") for field in schema["properties"].values())
    assert set(schema.get("required", ())) <= set(schema["properties"])
    assert schema["additionalProperties"] is False


NOWHERE = "it needs a 'property' or a 'dataType' for what it finds"
NO_HOST = "a host is written example.com, *.example.com or 127.0.0.1, perhaps with :8080"


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ({"a": {"kind": "readFile", "parameters": {"path": "x", "property": "p"}}}, []),
        ({"a": {}}, [("/actions/a", "'actions.a.kind' is missing.")]),
        ({"a": {"kind": 5}}, [("/actions/a/kind", "'actions.a.kind' must be text.")]),
        (
            {"a": {"kind": "Ask"}},
            [("/actions/a/kind", f"'actions.a.kind' must be one of {', '.join(KINDS)}.")],
        ),
        ({"a": {"kind": "sleep", "more": 1}}, [("/actions/a/more", "'actions.a.more' is not known.")]),
        (
            {"a/b": {"kind": "sleep", "parameters": {"seconds": -1}}},
            [("/actions/a~1b/parameters/seconds", "'actions.a/b.parameters.seconds' must be at least 0.")],
        ),
        (
            {"a": {"kind": "readFile", "parameters": {"path": "x"}}},
            [
                (
                    "/actions/a/parameters",
                    f"'actions.a.parameters' is wrong: {NOWHERE}.",
                )
            ],
        ),
        (
            {
                "a": {"kind": "sleep", "parameters": {"secs": 1}},
                "b": {"kind": "httpRequest", "parameters": {"url": "u", "hosts": ["http://x"]}},
            },
            [
                ("/actions/a/parameters", "'actions.a.parameters.seconds' is missing."),
                ("/actions/a/parameters/secs", "'actions.a.parameters.secs' is not known."),
                (
                    "/actions/b/parameters/hosts/0",
                    f"'actions.b.parameters.hosts.0' is wrong: {NO_HOST}.",
                ),
            ],
        ),
        ({" ": {"kind": "sleep", "parameters": {"seconds": 1}}}, [("/actions/ ", "An action needs a key.")]),
    ],
)
def test_all_that_does_not_fit_is_told_with_its_place(
    tmp_path: Path, entries: dict[str, Any], found: list[tuple[str, str]]
):
    file = project(tmp_path, **entries)
    said = Said("check", file, "--json")
    told = [item for item in said.json if item["code"] == "action-invalid"]
    pointers = [(item["pointer"], item["message"]) for item in told]
    assert [message for _, message in pointers] == [message for _, message in found]
    assert said.code == (1 if found else 0)
    assert all(item["line"] > 1 and item["column"] > 1 and item["severity"] == "error" for item in told)
    assert bool(Project(actions=entries).wrong_actions()) == bool(found)


def test_a_place_is_where_the_wrong_value_stands(tmp_path: Path):
    project(tmp_path, it=entry("sleep", seconds="long"))
    with pytest.raises(ProjectError) as caught:
        load_project(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (7, 9)
    assert (
        str(caught.value) == f"{tmp_path / FILE_NAME}:7:9: 'actions.it.parameters.seconds' must be a number."
    )


def test_values_are_never_told_in_what_is_wrong_with_them():
    secret = "sk-canary-0123456789"
    for name in KINDS:
        for path, reason in misfits(
            {"kind": name, "parameters": {"url": [secret], "path": 5, "text": {}}}
        ).items():
            assert secret not in f"{path}{reason}"


def test_a_program_cannot_hand_in_what_does_not_fit(tmp_path: Path):
    with pytest.raises(ProjectError, match=r"must be one of"):
        catalog_of(Project(actions={"a": {"kind": "nothing"}}), tmp_path, trusted=False)


# -- every command knows them --------------------------------------------------------------------------


def test_a_described_action_needs_no_trust_and_no_registration(tmp_path: Path):
    file = project(tmp_path, it=entry("setProperty", property="a", value="1"))
    assert Said("check", file).last == "No problems."
    ran = Said("run", file, "--json")
    assert (ran.code, ran.json["verdict"], ran.json["stateProperties"]) == (0, "done", {"a": "1"})
    (tmp_path / "cases.jsonl").write_text('{"id": "live", "expect": {"verdict": "done"}}\n')
    assert Said("test", file).last == "1 passed, 0 failed"
    assert Said("paths", file).code == 0
    assert Said("bounds", file).code == 0
    assert Said("export", file).code == 0


def test_a_key_that_is_in_the_python_code_too_is_an_error_with_its_place(tmp_path: Path):
    file = project(tmp_path, it=entry("sleep", seconds=0))
    (tmp_path / "catalog.py").write_text(
        "from engine import ActionResult, action\n\n"
        "@action('it')\nasync def it(context):\n    return ActionResult()\n"
    )
    document = {"catalog": ["catalog.py"], "actions": {"it": entry("sleep", seconds=0)}}
    (tmp_path / FILE_NAME).write_bytes(as_bytes(document))
    said = Said("check", file, "--trust", "--json")
    (item,) = [item for item in said.json if item["severity"] == "error"]
    assert (item["code"], item["pointer"], item["line"]) == ("action-invalid", "/actions/it", 6)
    assert item["message"] == "The action 'it' is in the project's Python code, too."
    assert Said("check", file).code == 0


def test_a_tree_inside_is_looked_at_by_check_and_counted_by_bounds(tmp_path: Path):
    file = project(tmp_path, it=entry("subTree", tree="inner.json", verdictProperty="v"))
    said = Said("check", file, "--json")
    (item,) = said.json
    assert (said.code, item["code"], item["severity"], item["pointer"]) == (
        0, "action-unusable", "warning", "/actions/it",
    )  # fmt: skip
    assert item["message"] == "The tree 'inner.json' cannot be read: No such file or directory."
    asking = tree(ask=classify("Well?", {"yes": "end"}, unknown="end"), end=terminal("x"))
    (tmp_path / "inner.json").write_bytes(write_tree(asking))
    assert Said("check", file).last == "No problems."
    assert Said("bounds", file, "--json").json["start"]["llmCalls"] == {"min": 1, "max": 2}


@pytest.mark.parametrize(
    "described",
    [
        entry("readFile", folder="..", path="x", property="p"),
        entry("listFolder", folder="..", property="p"),
        entry("loadRows", folder="..", path="x.csv", dataType="row"),
    ],
)
def test_check_tells_of_a_folder_outside_until_the_project_is_trusted(
    tmp_path: Path, described: dict[str, Any]
):
    file = project(tmp_path, it=described)
    (item,) = Said("check", file, "--json").json
    assert (item["code"], item["severity"], item["pointer"]) == ("action-unusable", "warning", "/actions/it")
    assert item["message"] == "The folder '..' is outside the project's own, and the project is not trusted."
    assert Said("check", file, "--trust").last == "No problems."


def test_questions_inside_need_somebody_who_decides(tmp_path: Path):
    file = project(tmp_path, it=entry("subTree", tree="inner.json", verdictProperty="v"))
    asking = tree(ask=classify("Well?", {"yes": "end"}, unknown="end"), end=terminal("x"))
    (tmp_path / "inner.json").write_bytes(write_tree(asking))
    said = Said("run", file)
    assert (said.code, "Nobody is there to decide node 'do'" in said.told) == (1, True)
    quiet = catalog(tmp_path, it=entry("sleep", seconds=0))
    assert _undecidable(tree(do=action("it", success="end"), end=terminal("x")), quiet, Pins()) is None


def test_off_a_terminal_nobody_is_asked(tmp_path: Path):
    file = project(tmp_path, it=entry("ask", text="Well?", property="a"))
    assert Said("run", file, "--json").json["verdict"] == "never"


@pytest.mark.parametrize(
    ("choices", "typed", "kept"),
    [
        ([], "a word", "a word"),
        (["red", "blue"], "2", "blue"),
        (["red", "blue"], "RED", "red"),
        ([], "", None),
    ],
)
def test_on_a_terminal_the_person_types(tmp_path: Path, choices: list[str], typed: str, kept: str | None):
    file = project(tmp_path, it=entry("ask", text="Which {{one}}?", property="a", choices=choices))
    there = Terminal("run", str(file), "--param", "one=colour", "--json")
    there.wait_for("Which colour?")
    there.wait_for("Answer, or Enter for none: ")
    there.type(f"{typed}\n")
    code, out = there.ended()
    assert code == 0
    assert json.loads(out)["stateProperties"].get("a") == kept


# -- the sample ----------------------------------------------------------------------------------------


def test_the_sample_has_no_problem_and_its_cases_pass():
    assert Said("check", SAMPLE / "tree.json").last == "No problems."
    assert Said("test", SAMPLE / "tree.json").last == "7 passed, 0 failed"
    assert load_project(SAMPLE).catalog == ()


@pytest.mark.anyio
@pytest.mark.socket
@pytest.mark.parametrize(
    ("path", "reply", "verdict", "visited"),
    [
        ("/", '{"answer": "yes"}', "as expected", ["fetch", "note", "read", "good"]),
        ("/", '{"answer": "no"}', "something else", ["fetch", "note", "read", "other"]),
        ("/moved", '{"answer": "yes"}', "as expected", ["fetch", "note", "read", "good"]),
        ("/away", "", "broken", ["fetch", "broken"]),
        ("/none", "", "broken", ["fetch", "broken"]),
        ("/busy", "", "unreachable", ["fetch", "unreachable"]),
    ],
)
async def test_the_sample_asks_a_real_server(path: str, reply: str, verdict: str, visited: list[str]):
    says = {
        "/": page("<h1>Login</h1>"),
        "/moved": page(status=301, location="/"),
        "/away": page(status=302, location="http://not-listed.test/"),
        "/none": page("nothing", status=404),
        "/busy": page(status=503),
    }
    made = catalog_of(load_project(SAMPLE), SAMPLE, trusted=False)
    client = FakeClient([reply])
    async with web(says) as there:
        url = there.url + path
        result = await ended(
            read_tree((SAMPLE / "tree.json").read_bytes()).tree,
            client,
            catalog=made,
            inputs=Inputs({"url": url, "expected": "a login form"}),
        )
    assert (result.verdict, [visit.node for visit in result.path]) == (verdict, visited)
    if reply:
        asked = " ".join(message.content for message in client.requests[0].messages)
        assert "Does the page show a login form?" in asked
        assert "<h1>Login</h1>" in asked
        assert result.state_properties == {"status": "200", "checked": f"{url} answered 200."}


def test_the_help_page_tells_of_every_kind_and_every_parameter():
    page_ = (SAMPLE.parents[1] / "resources" / "help" / "actions.md").read_text("utf-8")
    rows = [line.split("|") for line in page_.splitlines() if line.startswith("| `")]
    told = {cells[1].strip(" `"): cells[3] for cells in rows}
    assert list(told) == list(KINDS)
    for name, parameters in told.items():
        properties = KINDS[name].model_json_schema()["properties"]
        assert set(re.findall(r"`(\w+)`", parameters)) == set(properties)
