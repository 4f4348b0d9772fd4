"""What two versions of a tree differ in: as meant by who edited it, in words, and on the command line."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from engine import Transition, Tree, difference_lines, difference_page, read_tree, summary_of, write_tree
from engine.analysis import BranchChange, Difference, FieldChange, NodeChange, compare
from engine.cli import app
from tests.builders import action, as_bytes, as_json, classify, evidence_tree, terminal, tree, trees
from tests.engine.pages import ROOT, examples, run_example
from tests.hostile import hostile_trees


def shop() -> Tree:
    return tree(
        load=action("loadOrder", success="fits", transient="load", permanent="person"),
        fits=classify("Does it fit?", {"yes": "pay", "no": "person"}, unknown="person"),
        pay=terminal("refund"),
        person=terminal("needs a person"),
    )


def changed(before: Tree, **nodes: object) -> Tree:
    """The tree with these nodes otherwise; None is none."""
    kept = {**before.nodes, **nodes}
    return before.replace(nodes={node_id: node for node_id, node in kept.items() if node is not None})


def renamed(before: Tree, names: Mapping[str, str]) -> Tree:
    """The tree with other ids everywhere."""
    nodes = {
        names.get(node_id, node_id): node.replace(
            transitions=tuple(
                t.replace(next_node_id=names.get(t.next_node_id, t.next_node_id)) for t in node.transitions
            )
        )
        for node_id, node in before.nodes.items()
    }
    return before.replace(nodes=nodes, start_node_id=names.get(before.start_node_id, before.start_node_id))


def only(difference: Difference, *parts: str) -> None:
    """These parts of a difference have something in them, and no others."""
    members = ("fields", "added", "removed", "renamed", "changed")
    assert [member for member in members if getattr(difference, member)] == list(parts)


@given(trees())
def test_a_tree_differs_in_nothing_from_itself_however_it_is_laid_out(one: Tree):
    document = as_json(one)
    document["nodes"] = dict(reversed(document["nodes"].items()))
    for node in document["nodes"].values():
        if node.get("transitions"):
            node["transitions"].reverse()
    labels = [[t.condition for t in node.transitions] for node in one.nodes.values()]
    if any(len(set(names)) < len(names) for names in labels):
        return  # of repeated labels the first counts, so that their order says something
    other = read_tree(as_bytes(dict(reversed(document.items())))).tree
    assert compare(one, other).is_empty
    assert summary_of(compare(one, other)) == "Both say the same."


def test_a_field_that_is_changed_is_told_with_both_values():
    before = shop()
    after = changed(before, fits=before.nodes["fits"].replace(task="Does it fit well?"))
    found = compare(before, after)
    only(found, "changed")
    field = FieldChange("task", "Does it fit?", "Does it fit well?")
    assert found.changed == (NodeChange("fits", "fits", fields=(field,)),)


def test_true_is_not_one_and_a_member_that_is_not_known_counts():
    document = as_json(shop())
    document["nodes"]["load"]["retries"] = 1
    before = read_tree(as_bytes(document)).tree
    document["nodes"]["load"]["retries"] = True
    found = compare(before, read_tree(as_bytes(document)).tree)
    assert found.changed[0].fields == (FieldChange("retries", 1, True),)


def test_a_branch_that_leads_elsewhere_is_told_with_both_ends():
    before = shop()
    after = changed(before, fits=classify("Does it fit?", {"yes": "person", "no": "person"}, unknown="pay"))
    found = compare(before, after)
    only(found, "changed")
    assert found.changed[0].branches == (
        BranchChange("yes", "pay", "person"),
        BranchChange("unknown", "person", "pay"),
    )


def test_the_order_of_answers_is_a_change_and_that_of_branches_is_none():
    before = shop()
    found = compare(
        before,
        changed(before, fits=classify("Does it fit?", {"no": "person", "yes": "pay"}, unknown="person")),
    )
    (one,) = found.changed
    assert one.fields == (FieldChange("answers", ["yes", "no"], ["no", "yes"]),)
    assert not one.branches
    assert '    answers: now in the order ["no", "yes"]' in list(difference_lines(found))


def test_limits_start_and_texts_are_changes_of_the_tree_itself():
    before = evidence_tree()
    limits = before.budget.replace(max_llm_calls=7) if before.budget else None
    after = before.replace(task="Look.", start_node_id="classify", budget=limits)
    found = compare(before, after)
    only(found, "fields")
    assert {one.field for one in found.fields} == {"task", "startNodeId", "budget.maxLlmCalls"}


@given(trees(), st.data())
def test_nodes_with_other_ids_are_known_again(one: Tree, data: st.DataObject):
    some = data.draw(st.sets(st.sampled_from(sorted(one.nodes)))) if one.nodes else set()
    names = {node_id: f"{node_id}-new" for node_id in some if f"{node_id}-new" not in one.nodes}
    other = renamed(one, names)
    found = compare(one, other)
    assert not found.added
    assert not found.removed
    assert {old for old, _ in found.renamed} == set(names)
    if len({write_tree(one.replace(nodes={"x": node})) for node in one.nodes.values()}) == len(one.nodes):
        assert dict(found.renamed) == names
        only(found, *(["renamed"] if names else []))


def test_a_node_with_another_id_and_another_text_is_known_by_its_place():
    before = shop()
    named = renamed(before, {"fits": "check"})
    after = changed(named, check=named.nodes["check"].replace(task="Is it all right?"))
    found = compare(before, after)
    only(found, "renamed", "changed")
    assert found.renamed == (("fits", "check"),)
    assert found.changed == (
        NodeChange("fits", "check", fields=(FieldChange("task", "Does it fit?", "Is it all right?"),)),
    )


def test_another_node_at_the_place_of_one_is_another_node():
    before = shop()
    after = changed(before, pay=None, sent=terminal("sent on"))
    fits = after.nodes["fits"]
    leads = tuple(
        Transition(condition=t.condition, next_node_id="sent" if t.next_node_id == "pay" else t.next_node_id)
        for t in fits.transitions
    )
    found = compare(before, changed(after, fits=fits.replace(transitions=leads)))
    assert (found.added, found.removed, found.renamed) == (("sent",), ("pay",), ())
    assert found.changed[0].branches == (BranchChange("yes", "pay", "sent"),)


@given(trees(), st.data())
def test_the_difference_is_exactly_the_edits_that_were_made(one: Tree, data: st.DataObject):
    nodes = dict(one.nodes)
    edits = st.sampled_from(["leave", "describe", "rename", "remove", "lead"])
    plan = {node_id: data.draw(edits) for node_id in nodes}
    names = {i: f"{i}'" for i, edit in plan.items() if edit == "rename"}
    gone = {i for i, edit in plan.items() if edit == "remove"}
    for node_id, edit in plan.items():
        if edit == "describe":
            nodes[node_id] = nodes[node_id].replace(description=f"about {node_id}")
        elif edit == "lead":
            ends = tuple(t.replace(next_node_id="elsewhere") for t in nodes[node_id].transitions)
            nodes[node_id] = nodes[node_id].replace(transitions=ends)
    kept = {node_id: node for node_id, node in nodes.items() if node_id not in gone}
    after = renamed(one.replace(nodes=kept), names)
    after = after.replace(nodes={**after.nodes, "brand-new": terminal("brand new")})
    found = compare(one, after)
    # A node that looks like one that was removed may be taken for it; everything else is certain.
    assert len(found.removed) == len(gone)
    assert len(found.renamed) == len(names)
    assert found.added == ("brand-new",)
    told = {change.before: change for change in found.changed}
    for node_id, edit in plan.items():
        if edit == "describe" and one.nodes[node_id].description != f"about {node_id}":
            assert [field.field for field in told[node_id].fields] == ["description"]
        if edit == "lead" and one.nodes[node_id].targets:
            assert {b.after for b in told[node_id].branches} <= {"elsewhere"}


@given(hostile_trees(), hostile_trees())
def test_any_two_trees_can_be_compared_and_told(one: Tree, other: Tree):
    found = compare(one, other)
    assert all(line == " ".join(line.splitlines()) for line in difference_lines(found))
    page = difference_page(found, "a.json", "b.json")
    assert "<script" not in page.lower()
    assert json.loads(json.dumps(found.as_json()))["same"] is found.is_empty


@pytest.mark.anyio
async def test_the_example_of_the_help_page_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for code in examples(ROOT / "resources" / "help" / "comparing.md")["In the library"]:
        await run_example(code, names)
    assert names["lines"] == ["~ the tree", "    version: 1 → 2"]


# -- the command


def written(folder: Path, name: str, one: Tree) -> str:
    path = folder / name
    path.write_bytes(write_tree(one))
    return str(path)


def diff(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["diff", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_tells_line_by_line(tmp_path: Path):
    before = shop()
    named = renamed(before, {"fits": "check"})
    after = changed(
        named, check=named.nodes["check"].replace(task="Does it fit into the box as it is today, or not?")
    )
    code, out, err = diff(written(tmp_path, "a.json", before), written(tmp_path, "b.json", after))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "> fits is check (question)",
        "~ check (question)",
        "    task:",
        '      - "Does it fit?"',
        '      + "Does it fit into the box as it is today, or not?"',
        "1 node renamed, 1 node changed.",
    ]


def test_the_command_gives_one_json_document_or_a_page(tmp_path: Path):
    before = shop()
    a, b = written(tmp_path, "a.json", before), written(tmp_path, "b.json", changed(before, pay=None))
    code, out, _ = diff(a, b, "--format", "json")
    assert code == 0
    assert json.loads(out)["removed"] == ["pay"]
    code, out, _ = diff(a, b, "--format", "html")
    assert code == 0
    assert out.startswith("<!DOCTYPE html>")
    assert "Removed" in out


def test_where_they_differ_the_code_says_so_if_it_is_asked_to(tmp_path: Path):
    a = written(tmp_path, "a.json", shop())
    b = written(tmp_path, "b.json", changed(shop(), pay=None))
    assert diff(a, a, "--exit-code")[:2] == (0, "Both say the same.\n")
    assert diff(a, b, "--exit-code")[0] == 1


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"{", 2, "bad.json:1:2: "),
        (b'{"nodes": {"a": {"type": "classify", "task": 7}}}', 1, "cannot be understood"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_place(tmp_path: Path, content: bytes, code: int, said: str):
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    ended, out, err = diff(written(tmp_path, "a.json", shop()), str(bad))
    assert (ended, out) == (code, "")
    assert said in err


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    code, out, err = diff(str(tmp_path / "none.json"), str(tmp_path / "none.json"))
    assert (code, out) == (2, "")
    assert "No such file or directory" in err


def test_an_earlier_version_is_taken_from_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "tree.json", shop())
    for command in (
        ["init", "-q"],
        ["add", "tree.json"],
        ["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first"],
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    written(tmp_path, "tree.json", changed(shop(), pay=None))
    assert diff("HEAD:tree.json", "tree.json") == (0, "- pay “refund” (terminal)\n1 node removed.\n", "")
    code, out, err = diff("HEAD:other.json", "tree.json")
    assert (code, out) == (2, "")
    assert "HEAD:other.json cannot be read" in err
