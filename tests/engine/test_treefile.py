"""Tree files: what reading understands, what it reports, and the one canonical text of a tree."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from engine import jsontext
from engine.errors import DocumentRefused
from engine.tree import Budget, ClassifyNode, OpaqueNode, TerminalNode, TimeSpan, Tree
from engine.treefile import read_tree, schema, tree_hash, write_tree
from tests.builders import (
    as_bytes,
    as_json,
    budget,
    condition,
    cycle_tree,
    demo_tree,
    evidence_tree,
    one_terminal,
    terminal,
    tree,
    trees,
    with_at,
    without,
)

SCHEMA = Path(__file__).parents[2] / "resources" / "schema" / "tree.schema.json"
KNOWN = [one_terminal(), evidence_tree(), cycle_tree(), demo_tree(), Tree()]


def found(document: object) -> list[tuple[str, str]]:
    return [(p.code, p.pointer) for p in read_tree(as_bytes(document)).problems]


# ------------------------------------------------------------------------------------------ writing


def test_a_tree_is_written_in_the_canonical_layout():
    small = tree(
        start=condition("dataExists", parameters={"type": "fünf"}, then="end", otherwise="end"),
        end=terminal("done", name="End"),
    ).replace(name="Small", budget=Budget(max_llm_calls=0, max_elapsed_time=TimeSpan.parse("1.00:00:00.5")))
    assert (
        write_tree(small).decode()
        == """{
  "treeId": "test-tree",
  "version": 1,
  "name": "Small",
  "startNodeId": "start",
  "budget": {
    "maxLlmCalls": 0,
    "maxElapsedTime": "1.00:00:00.5000000"
  },
  "nodes": {
    "start": {
      "type": "condition",
      "predicateKey": "dataExists",
      "predicateParameters": {
        "type": "fünf"
      },
      "transitions": [
        {
          "condition": "true",
          "nextNodeId": "end"
        },
        {
          "condition": "false",
          "nextNodeId": "end"
        }
      ]
    },
    "end": {
      "type": "terminal",
      "name": "End",
      "verdict": "done"
    }
  }
}
"""
    )


@pytest.mark.parametrize("known", KNOWN)
def test_a_written_tree_is_read_again(known: Tree):
    reading = read_tree(write_tree(known))
    assert reading.tree == known
    assert reading.whole
    assert write_tree(reading.tree) == write_tree(known)


@given(trees())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_tree_is_read_again_and_written_the_same(any_tree: Tree):
    reading = read_tree(write_tree(any_tree))
    assert (reading.tree, reading.problems, reading.whole) == (any_tree, (), True)
    assert [*reading.tree.nodes] == [*any_tree.nodes]
    assert write_tree(reading.tree) == write_tree(any_tree)


@pytest.mark.soak
@given(trees())
@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_many_trees_are_read_again_and_written_the_same(any_tree: Tree):
    written = write_tree(any_tree)
    assert write_tree(read_tree(written).tree) == written


def test_unknown_members_are_kept_after_the_known_ones_at_every_level():
    document = as_json(demo_tree())
    paths: list[list[str | int]] = [
        [],
        ["budget"],
        ["nodes", "verify"],
        ["nodes", "verify", "transitions", 0],
    ]
    for path in paths:
        part: Any = document
        for step in path:
            part = part[step]
        copy = {
            "x-first": {"a": [1, 2.5, None]},
            **part,
            "tree_id": 1,
            "nextNode_id": "",
            "model_config": True,
        }
        document = with_at(document, path, copy) if path else copy
    written = write_tree(read_tree(as_bytes(document)).tree)
    assert json.loads(written) == document
    assert list(json.loads(written))[-4:] == ["x-first", "tree_id", "nextNode_id", "model_config"]
    assert read_tree(written).problems == ()


def test_an_empty_list_of_answers_is_kept():
    emptied = with_at(as_json(evidence_tree()), ["nodes", "classify", "answers"], [])
    assert json.loads(write_tree(read_tree(as_bytes(emptied)).tree)) == emptied


def test_the_hash_is_that_of_the_canonical_file():
    known = demo_tree()
    assert tree_hash(known) == hashlib.sha256(write_tree(known)).hexdigest()
    spread = json.dumps(as_json(known), indent=None, sort_keys=True).encode()
    assert tree_hash(read_tree(spread).tree) != tree_hash(known), "the order of nodes is kept"
    assert tree_hash(read_tree(json.dumps(as_json(known)).encode()).tree) == tree_hash(known)


# ------------------------------------------------------------------------------------------ reading


# L1
def test_a_single_terminal_is_read():
    reading = read_tree(write_tree(one_terminal()))
    assert isinstance(reading.tree.nodes["start"], TerminalNode)
    assert reading.tree.budget == budget()
    assert reading.problems == ()


# L26
def test_a_name_in_another_case_is_another_name():
    document = as_json(one_terminal())
    renamed = {"TreeId" if name == "treeId" else name: value for name, value in document.items()}
    reading = read_tree(as_bytes(renamed))
    assert [(p.code, p.pointer) for p in reading.problems] == [("member-missing", "/treeId")]
    assert reading.tree.unknown_members == {"TreeId": "test-tree"}


def test_a_python_spelling_is_not_a_name():
    document = without(as_json(one_terminal()), ["treeId"]) | {"tree_id": "test-tree"}
    assert found(document) == [("member-missing", "/treeId")]


def test_letter_case_of_kinds_does_not_matter_on_reading_and_is_gone_on_writing():
    document = with_at(as_json(demo_tree()), ["nodes", "classify", "type"], "Classify")
    document = with_at(document, ["budget", "onExceeded"], "HALT")
    reading = read_tree(as_bytes(document))
    assert reading.problems == ()
    assert write_tree(reading.tree) == write_tree(demo_tree())


# L15
@pytest.mark.parametrize(
    "path",
    [
        ["name"], ["description"], ["systemPrompt"], ["task"], ["budget"], ["version"],
        ["budget", "maxLlmCalls"], ["budget", "maxElapsedTime"], ["budget", "onExceeded"],
        ["nodes", "collect", "name"], ["nodes", "collect", "actionKey"], ["nodes", "collect", "transitions"],
        ["nodes", "collect", "task"], ["nodes", "verify", "predicateParameters"],
        ["nodes", "classify", "answers"], ["nodes", "approved", "verdict"], ["nodes"],
    ],
)  # fmt: skip
def test_null_counts_as_absent(path: list[str]):
    document = as_json(demo_tree())
    null = read_tree(as_bytes(with_at(document, path, None)))
    holder: Any = document
    for part in path[:-1]:
        holder = holder[part]
    absent = read_tree(as_bytes(without(document, path) if path[-1] in holder else document))
    assert null.problems == ()
    assert null.whole
    members = set(null.tree.nodes["collect"].unknown_members) if null.tree.nodes else set()
    assert members <= {"task"}
    if path != ["nodes", "collect", "task"]:
        assert null.tree == absent.tree


@pytest.mark.parametrize("name", ["treeId", "startNodeId"])
def test_a_tree_without_its_ids_is_told(name: str):
    document = as_json(one_terminal())
    assert found(without(document, [name])) == [("member-missing", f"/{name}")]
    assert found(with_at(document, [name], None)) == [("member-missing", f"/{name}")]


def test_a_node_without_a_type_is_kept_and_told():
    for document in (
        without(as_json(demo_tree()), ["nodes", "verify", "type"]),
        with_at(as_json(demo_tree()), ["nodes", "verify", "type"], None),
    ):
        reading = read_tree(as_bytes(document))
        assert [(p.code, p.pointer, p.node, p.field) for p in reading.problems] == [
            ("member-missing", "/nodes/verify/type", "verify", "type")
        ]
        assert isinstance(reading.tree.nodes["verify"], OpaqueNode)
        assert reading.whole


def test_a_node_of_a_foreign_type_is_kept():
    document = with_at(as_json(demo_tree()), ["nodes", "verify", "type"], "parallel")
    reading = read_tree(as_bytes(document))
    assert reading.problems == ()
    assert reading.whole
    assert json.loads(write_tree(reading.tree)) == document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["treeId"], 5), (["version"], "1"), (["version"], 1.0), (["version"], True), (["version"], 1.5),
        (["startNodeId"], ["collect"]), (["name"], 1), (["description"], {}), (["systemPrompt"], False),
        (["task"], []), (["budget"], []), (["budget"], "none"), (["nodes"], []), (["nodes"], "x"),
        (["budget", "maxNodeVisits"], "5"), (["budget", "maxLlmCalls"], True),
        (["budget", "maxContextTokens"], 100.0), (["budget", "maxElapsedTime"], 30),
        (["budget", "maxElapsedTime"], "30"), (["budget", "maxElapsedTime"], "PT30S"),
        (["budget", "maxElapsedTime"], "24:00:00"), (["budget", "maxElapsedTime"], "00:00:30.12345678"),
        (["budget", "onExceeded"], "stop"), (["budget", "onExceeded"], 0),
        (["nodes", "collect"], "action"), (["nodes", "collect"], 5), (["nodes", "collect"], []),
        (["nodes", "collect", "type"], 1), (["nodes", "collect", "actionKey"], 1),
        (["nodes", "collect", "name"], {}), (["nodes", "collect", "description"], []),
        (["nodes", "collect", "transitions"], {}), (["nodes", "collect", "transitions"], "success"),
        (["nodes", "collect", "transitions", 1], "failed"),
        (["nodes", "collect", "transitions", 1, "condition"], True),
        (["nodes", "collect", "transitions", 1, "nextNodeId"], 7),
        (["nodes", "classify", "task"], ["Is it?"]), (["nodes", "classify", "answers"], "supported"),
        (["nodes", "classify", "answers"], {"supported": 1}), (["nodes", "classify", "answers", 1], 1),
        (["nodes", "verify", "predicateKey"], ["dataExists"]),
        (["nodes", "verify", "predicateParameters"], ["evidence"]),
        (["nodes", "approved", "verdict"], True),
    ],
)  # fmt: skip
def test_a_wrong_type_is_told_and_the_rest_is_read(path: list[str | int], value: object):
    reading = read_tree(as_bytes(with_at(as_json(demo_tree()), path, value)))
    assert [(p.code, p.severity, p.pointer) for p in reading.problems] == [
        ("type-invalid", "error", jsontext.pointer(*path))
    ]
    assert not reading.whole
    if path[0] != "nodes":
        assert reading.tree.nodes == demo_tree().nodes
    elif len(path) > 1:
        assert [*reading.tree.nodes] == [*demo_tree().nodes]


def test_every_wrong_type_is_told_at_once():
    document = as_json(demo_tree())
    for path in (["version"], ["budget", "maxLlmCalls"], ["nodes", "verify", "name"], ["nodes", "failed"]):
        document = with_at(document, path, [])
    assert [pointer for _, pointer in found(document)] == [
        "/version", "/budget/maxLlmCalls", "/nodes/verify/name", "/nodes/failed",
    ]  # fmt: skip


def test_a_null_node_is_told_and_keeps_its_place():
    reading = read_tree(as_bytes(with_at(as_json(demo_tree()), ["nodes", "verify"], None)))
    assert [(p.code, p.node) for p in reading.problems] == [("node-null", "verify")]
    assert [*reading.tree.nodes] == [*demo_tree().nodes]
    assert not reading.whole


def test_a_null_transition_keeps_its_place():
    reading = read_tree(as_bytes(with_at(as_json(demo_tree()), ["nodes", "collect", "transitions", 0], None)))
    assert [t.condition for t in reading.tree.nodes["collect"].transitions] == [
        "", "transientFailure", "permanentFailure",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"),
    [("null", "tree-null"), ("[]", "type-invalid"), ('"tree"', "type-invalid"), ("5", "type-invalid")],
)
def test_a_document_that_is_no_object_is_read_as_an_empty_tree(text: str, code: str):
    reading = read_tree(text.encode())
    assert [(p.code, p.pointer) for p in reading.problems] == [(code, "")]
    assert reading.tree == Tree()
    assert not reading.whole


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"treeId": 1, "treeId": 2}', b"\xff", b'{"nodes": {"a": NaN}}']
)
def test_only_bytes_that_are_no_document_are_refused(data: bytes):
    with pytest.raises(DocumentRefused):
        read_tree(data)


def test_hostile_names_are_only_names():
    names = ["__class__", "__dict__", "model_config", "model_fields", "replace", "visit", "_x", "0", "$ref"]
    document = as_json(one_terminal()) | dict.fromkeys(names, 1)
    document = with_at(
        document, ["nodes", "start"], {"type": "terminal", "verdict": "v", **dict.fromkeys(names, 2)}
    )
    document["nodes"] |= {name: {"type": "terminal", "verdict": name} for name in names}
    assert json.loads(write_tree(read_tree(as_bytes(document)).tree)) == document


# ------------------------------------------------------------------------------------------ old spellings


def test_old_spellings_are_read_as_the_new_ones_and_told():
    document = as_json(demo_tree())
    nodes = document["nodes"]
    nodes["classify"] = {"type": "question", "question": nodes["classify"].pop("task"), **nodes["classify"]}
    nodes["classify"]["type"] = "Question"
    nodes["collect"]["actionName"] = nodes["collect"].pop("actionKey")
    nodes["verify"]["predicateName"] = nodes["verify"].pop("predicateKey")
    reading = read_tree(as_bytes(document))
    assert reading.tree == demo_tree()
    assert reading.whole
    assert [(p.code, p.severity, p.pointer) for p in reading.problems] == [
        ("spelling-old", "info", "/nodes/collect/actionKey"),
        ("spelling-old", "info", "/nodes/classify/type"),
        ("spelling-old", "info", "/nodes/classify/task"),
        ("spelling-old", "info", "/nodes/verify/predicateKey"),
    ]


def test_an_old_spelling_does_not_replace_a_new_one():
    document = with_at(as_json(demo_tree()), ["nodes", "classify", "question"], "Old?")
    reading = read_tree(as_bytes(document))
    assert reading.problems == ()
    node = reading.tree.nodes["classify"]
    assert isinstance(node, ClassifyNode)
    assert node.task == "Is this evidence relevant to {{subject}}?"
    assert node.unknown_members == {"question": "Old?"}


# ------------------------------------------------------------------------------------------ schema


def test_the_schema_in_the_repository_is_the_one_drawn_from_the_models():
    assert SCHEMA.read_bytes() == jsontext.write(schema())


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


@pytest.mark.parametrize("known", KNOWN[:-1])
def test_the_schema_accepts_valid_trees(validator: jsonschema.Draft202012Validator, known: Tree):
    validator.validate(as_json(known))


@given(any_tree=trees())
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_the_schema_accepts_any_valid_tree(any_tree: Tree):
    jsonschema.validate(as_json(any_tree), schema())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["treeId"], " "), (["version"], 0), (["version"], "1"), (["nodes"], {}), (["name"], ""),
        (["budget", "maxNodeVisits"], 0), (["budget", "maxLlmCalls"], -1),
        (["budget", "maxElapsedTime"], "00:00:00"), (["budget", "maxElapsedTime"], "30"),
        (["budget", "onExceeded"], "stop"), (["nodes", "collect", "type"], "question"),
        (["nodes", "collect", "actionKey"], None), (["nodes", "collect", "answers"], []),
        (["nodes", "collect", "transitions"], None), (["nodes", "classify", "answers"], ["a", "a"]),
        (["nodes", "classify", "answers"], ["unknown"]), (["nodes", "classify", "answers"], []),
        (["nodes", "failed", "transitions"], [{"condition": "a", "nextNodeId": "failed"}]),
        (["nodes", "collect", "transitions", 0, "nextNodeId"], ""),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_the_checks_refuse(
    validator: jsonschema.Draft202012Validator, path: list[str | int], value: object
):
    assert not validator.is_valid(with_at(as_json(demo_tree()), path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["budget"], None), (["budget", "maxElapsedTime"], None), (["task"], ""),
        (["budget", "maxLlmCalls"], 0),
        (["colour"], 1), (["nodes", "collect", "task"], None), (["nodes", "failed", "transitions"], []),
        (["budget", "maxElapsedTime"], "1.02:03:04.5"),
    ],
)  # fmt: skip
def test_the_schema_accepts_what_the_checks_accept(
    validator: jsonschema.Draft202012Validator, path: list[str | int], value: object
):
    validator.validate(with_at(as_json(demo_tree()), path, value))
