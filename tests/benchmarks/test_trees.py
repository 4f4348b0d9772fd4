"""Goals B-G1 to B-G4: reading, checking, editing and writing beside ``json`` on the same bytes."""

import json
import random
from collections.abc import Callable, Mapping

import pytest

from engine import Checker, Tree, check, jsontext, problems_of, read_tree, standard_catalog, write_tree
from tests.benchmarks.measuring import Goals, in_words, medians, percentile, timed

pytestmark = pytest.mark.bench

CATALOG = standard_catalog().with_external(["loadOrder"])
REACH = 30
"""How far ahead a branch leads: an author's joins are local."""


KINDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, object]]] = {
    "classify": (
        ("yes", "no", "unknown"),
        {"task": "Is the statement supported by the evidence?", "answers": ["yes", "no"]},
    ),
    "action": (("success", "transientFailure", "permanentFailure"), {"actionKey": "loadOrder"}),
    "condition": (
        ("true", "false"),
        {"predicateKey": "dataExists", "predicateParameters": {"type": "photo"}},
    ),
}


def document(size: int) -> dict[str, object]:
    """A valid tree of 2.9 branches and some 310 bytes a node; each tenth node has a way to the end."""
    chance = random.Random(size)
    ids = [*(f"n{number}" for number in range(size - 1)), *["end"] * REACH]
    nodes: dict[str, object] = {}
    for number in range(size - 1):
        kind = chance.choices([*KINDS], [5, 4, 1])[0]
        labels, members = KINDS[kind]
        targets = [ids[number + 1], *(ids[number + chance.randint(1, REACH)] for _ in labels[1:])]
        if number % 10 == 0:
            targets[-1] = "end"
        drawn = [
            {"condition": label, "nextNodeId": target} for label, target in zip(labels, targets, strict=True)
        ]
        nodes[ids[number]] = {"type": kind, "name": f"Step {number}", **members, "transitions": drawn}
    nodes["end"] = {"type": "terminal", "verdict": "done"}
    return {"treeId": "large", "version": 1, "startNodeId": "n0", "nodes": nodes}


def as_bytes(size: int) -> bytes:
    return json.dumps(document(size)).encode()


@pytest.mark.parametrize(("size", "rounds"), [(1_000, 15), (10_000, 9), (100_000, 3)])
def test_reading_and_checking(goals: Goals, monkeypatch: pytest.MonkeyPatch, size: int, rounds: int):
    # 100,000 nodes take 31 MB; the engine itself refuses files over 16 MB.
    monkeypatch.setattr(jsontext, "MAX_BYTES", 1 << 30)
    data = as_bytes(size)
    tree = read_tree(data).tree
    assert [p.code for p in check(tree, CATALOG) if p.severity != "info"] == []
    loads, read, checked, both, located = medians(
        lambda: json.loads(data),
        lambda: read_tree(data),
        lambda: check(tree, CATALOG),
        lambda: check(read_tree(data).tree, CATALOG),
        lambda: problems_of(read_tree(data), CATALOG),
        rounds=rounds,
    )
    nodes = f"{size:,} nodes"
    goals.most("B-G1", f"read + check / json.loads, {nodes}", both / loads, 5, note=f"{in_words(both)}")
    goals.figure("B-G1", f"read / json.loads, {nodes}", read / loads, "x", f"json.loads {in_words(loads)}")
    note = "with the places of one note"
    goals.figure("B-G1", f"read + problems_of / json.loads, {nodes}", located / loads, "x", note)
    if size == 10_000:
        goals.most("B-G2", f"check / json.loads, {nodes}", checked / loads, 3, note=in_words(checked))
    else:
        goals.figure("B-G2", f"check / json.loads, {nodes}", checked / loads, "x", in_words(checked))


def test_a_file_with_thousands_of_problems(goals: Goals):
    data = as_bytes(10_000)
    broken = data.replace(b'"actionKey": "loadOrder"', b'"actionKey": "nobody"')
    found = len(problems_of(read_tree(broken), CATALOG))
    loads, clean, many = medians(
        lambda: json.loads(data),
        lambda: problems_of(read_tree(data), CATALOG),
        lambda: problems_of(read_tree(broken), CATALOG),
        rounds=5,
    )
    note = f"{in_words(many)}; {in_words(clean)} with one note"
    goals.figure("B-G1", f"read + problems_of / json.loads, {found:,} problems", many / loads, "x", note)


def retargeted(chance: random.Random, tree: Tree) -> Tree:
    """One branch of one node leads elsewhere nearby: mostly ahead, sometimes back."""
    ids = [*tree.nodes]
    number = chance.randrange(len(ids) - 1)
    node = tree.nodes[ids[number]]
    ahead = chance.randint(1, REACH) if chance.random() < 0.9 else -chance.randint(1, REACH)
    target = ids[max(0, min(len(ids) - 1, number + ahead))]
    index = chance.randrange(1, len(node.transitions))
    drawn = [*node.transitions]
    drawn[index] = drawn[index].replace(next_node_id=target)
    return tree.replace(nodes={**tree.nodes, ids[number]: node.replace(transitions=tuple(drawn))})


@pytest.mark.parametrize(("size", "edits"), [(1_000, 1_000), (10_000, 1_000)])
def test_checking_again_after_each_edit(goals: Goals, size: int, edits: int):
    chance = random.Random(size)
    now = read_tree(as_bytes(size)).tree
    checker = Checker(CATALOG)
    checker.update(None, now)
    spent: list[float] = []
    for _ in range(edits):
        after = retargeted(chance, now)
        spent.append(timed(updating(checker, now, after)))
        now = after
    assert checker.update(now, now) == check(now, CATALOG)
    (fresh,) = medians(lambda: check(now, CATALOG), rounds=5)
    first, *others = spent
    median = percentile(others, 0.5)
    nodes = f"{size:,} nodes"
    goals.least("B-G3", f"full check / after an edit, {nodes}", fresh / median, 50, note=in_words(median))
    p99 = percentile(others, 0.99) * 1e3
    note = f"longest {in_words(max(others))}, the very first {in_words(first)}"
    if size == 10_000:
        goals.most("B-G3", f"after an edit, p99, {nodes}", p99, 2, "ms", note)
    else:
        goals.figure("B-G3", f"after an edit, p99, {nodes}", p99, "ms", note)


def updating(checker: Checker, before: Tree, after: Tree) -> Callable[[], object]:
    return lambda: checker.update(before, after)


def test_writing(goals: Goals):
    plain = document(10_000)
    data = write_tree(read_tree(as_bytes(10_000)).tree)
    tree = read_tree(data).tree
    assert write_tree(tree) == data
    dumps, indented, written = medians(
        lambda: json.dumps(plain), lambda: json.dumps(plain, indent=2), lambda: write_tree(tree)
    )
    note = f"json.dumps with indent {indented / dumps:.2g} x"
    goals.most("B-G4", "write / json.dumps, 10,000 nodes", written / dumps, 2, note=note)
