"""New names of nodes in the files beside a tree: written where a node is meant, and nowhere else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evaluate import files_naming_nodes, renamed_cases, renamed_project
from tests.builders import json_values, words

CASE = {
    "id": "ask",
    "params": {"ask": "ask"},
    "answers": {"ask": "ask", "other": ["ask"]},
    "replies": {"ask": ["ask"]},
    "conditions": {"ask": True},
    "actions": {"ask": {"status": "success", "properties": {"ask": "ask"}}},
    "expect": {"verdict": "ask", "path": ["ask", "other", "ask"], "answers": {"ask": "ask"}},
}


def test_a_case_names_the_node_anew_wherever_it_means_the_node():
    after = json.loads(renamed_cases(json.dumps(CASE).encode(), "tree", {"ask": "question"}))
    assert after == {
        "id": "ask",
        "params": {"ask": "ask"},
        "answers": {"question": "ask", "other": ["ask"]},
        "replies": {"question": ["ask"]},
        "conditions": {"question": True},
        "actions": {"question": {"status": "success", "properties": {"ask": "ask"}}},
        "expect": {
            "verdict": "ask",
            "path": ["question", "other", "question"],
            "answers": {"question": "ask"},
        },
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{ "id":"a" ,"answers":{"ask" :"yes"}}\r\n', b'{ "id":"a" ,"answers":{"new" :"yes"}}\r\n'),
        (b'\xef\xbb\xbf{"answers": {"ask": "\\u00fc"}}', b'\xef\xbb\xbf{"answers": {"new": "\\u00fc"}}'),
        (b'{"answers": {"\\u0061sk": "yes"}}', b'{"answers": {"new": "yes"}}'),
        (
            '{"id": "ü", "expect": {"path": ["ask"]}}'.encode(),
            '{"id": "ü", "expect": {"path": ["new"]}}'.encode(),
        ),
        (b'\n\n{"answers": {"ask": 1}}\n\n', b'\n\n{"answers": {"new": 1}}\n\n'),
        (b'{"answers": {"ask": 1}}\n{"answers', b'{"answers": {"new": 1}}\n{"answers'),
    ],
)
def test_every_other_byte_of_a_case_stays(before, after):
    assert renamed_cases(before, "tree", {"ask": "new"}) == after


@pytest.mark.parametrize(
    "line",
    [
        b'{"answers": {"ask": "yes"',
        b'{"answers": {"ask": NaN}}',
        b'{"answers": {"ask": 1, "ask": 2}}',
        b'{"answers": {"ask": "\xff"}}',
        b'{"tree": {"id": "another"}, "answers": {"ask": "yes"}}',
        b'{"answers": {"ask": "yes", "new": "no"}}',
        b'["ask"]',
        b'"ask"',
        b'{"answers": "ask", "expect": "ask"}',
        b'{"expect": {"path": "ask", "answers": null}, "tree": 5}',
    ],
)
def test_a_line_that_cannot_be_read_or_is_of_another_tree_stays_as_it_is(line):
    data = b'{"answers": {"ask": "yes"}}\n' + line + b"\n"
    assert renamed_cases(data, "tree", {"ask": "new"}) == b'{"answers": {"new": "yes"}}\n' + line + b"\n"


def test_a_case_that_names_its_tree_follows_that_tree():
    case = b'{"tree": {"id": "tree", "version": 1}, "answers": {"ask": "yes"}}'
    assert b'"new"' in renamed_cases(case, "tree", {"ask": "new"})


def test_names_can_be_swapped():
    swap = {"a": "b", "b": "a"}
    before = b'{"answers": {"a": "1", "b": "2"}, "expect": {"path": ["a", "b", "a"]}}'
    after = renamed_cases(before, "tree", swap)
    assert after == b'{"answers": {"b": "1", "a": "2"}, "expect": {"path": ["b", "a", "b"]}}'
    assert renamed_cases(after, "tree", swap) == before


def test_the_settings_of_a_node_follow_and_keep_their_layout():
    before = """{"format":1,

  "trees": {"tree": {"classify": {"ask" : {"minConfidence": 0.50}}},
 "ask": {"classify": {"ask": {}}}}}"""
    after = renamed_project(before.encode(), "tree", {"ask": 'q"\n'})
    assert after.decode() == before.replace('"ask" :', r'"q\"\n" :')


def test_the_files_are_the_cases_of_the_tree_and_the_project_of_its_folder(tmp_path):
    tree = tmp_path / "tree.json"
    assert [path.name for path in files_naming_nodes(tree)] == ["cases.jsonl", "treewright.json"]
    (tmp_path / "tree.cases.jsonl").touch()
    assert [path.name for path in files_naming_nodes(tree)] == ["tree.cases.jsonl", "treewright.json"]


@given(st.dictionaries(words, json_values, max_size=4), words, words, st.booleans())
def test_any_pins_can_be_renamed_there_and_back(pins, new, extra, escape):
    old = next(iter(pins), extra)
    case = json.dumps({"id": "a", "answers": pins, "x": {old: old}}, ensure_ascii=escape).encode()
    there = renamed_cases(case, "tree", {old: new})
    if new in pins or old not in pins:
        assert there == case
    else:
        assert list(json.loads(there)["answers"].items()) == [
            (new if i == old else i, v) for i, v in pins.items()
        ]
        back = renamed_cases(there, "tree", {new: old})
        assert json.loads(back) == json.loads(case)
