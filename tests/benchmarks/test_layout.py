"""Goals D-G1 and D-G2: automatic layout, beside ``dot`` where it is installed."""

import json
import shutil
import statistics
import subprocess
from bisect import bisect_left, insort

import pytest

from designer.document.cells import Cells
from designer.document.draft import Place
from designer.document.layout import arrange
from engine import NodeId, Tree
from tests.benchmarks.forest import joined, pooled, sizes_of
from tests.benchmarks.measuring import Goals, in_words, timed

pytestmark = pytest.mark.bench

DOT = shutil.which("dot")


def links(tree: Tree) -> list[tuple[NodeId, NodeId]]:
    return [
        (source, target)
        for source, node in tree.nodes.items()
        for target in dict.fromkeys(node.targets.values())
        if target in tree.nodes and target != source
    ]


def overlaps(tree: Tree, places: dict[NodeId, Place]) -> int:
    sizes, cells, found = sizes_of(tree), Cells[NodeId](), 0
    for node_id, place in places.items():
        w, h = sizes[node_id]
        box = (place.x + 0.5, place.y + 0.5, w - 1, h - 1)
        found += len(cells.near(box))
        cells.put(node_id, box)
    return found


def crossings(columns: dict[NodeId, float], heights: dict[NodeId, float], tree: Tree) -> int:
    """How often straight lines between neighbouring columns cross; longer lines are cut at each column."""
    order = sorted(set(columns.values()))
    rank = {x: i for i, x in enumerate(order)}
    between: list[list[tuple[float, float]]] = [[] for _ in order]
    for source, target in links(tree):
        a, b = (source, target) if columns[source] < columns[target] else (target, source)
        first, last = rank[columns[a]], rank[columns[b]]
        for step in range(first, last):
            shares = ((step + i - first) / (last - first) for i in (0, 1))
            rise = heights[b] - heights[a]
            start, end = (heights[a] + rise * share for share in shares)
            between[step].append((start, end))
    found = 0
    for lines in between:
        seen: list[float] = []
        for _, end in sorted(lines):
            found += len(seen) - bisect_left(seen, end)
            insort(seen, end)
    return found


def ours(tree: Tree) -> tuple[int, float]:
    sizes = sizes_of(tree)
    spent = timed(lambda: arrange(tree, sizes))
    places = arrange(tree, sizes)
    middles = {i: place.y + sizes[i][1] / 2 for i, place in places.items()}
    return crossings({i: place.x for i, place in places.items()}, middles, tree), spent


def dots(tree: Tree) -> tuple[int, float]:
    sizes = sizes_of(tree)
    lines = ["digraph { rankdir=LR; node [shape=box fixedsize=true];"]
    lines += [f'"{i}" [width={w / 72} height={h / 72}];' for i, (w, h) in sizes.items()]
    lines += [f'"{source}" -> "{target}";' for source, target in links(tree)]
    text = "\n".join([*lines, "}"])
    command = [DOT or "dot", "-Tjson0"]
    spent = timed(lambda: subprocess.run(command, input=text, capture_output=True, text=True, check=True))
    made = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    at = {o["name"]: tuple(map(float, o["pos"].split(","))) for o in json.loads(made)["objects"]}
    return crossings({i: at[i][0] for i in at}, {i: at[i][1] for i in at}, tree), spent


@pytest.mark.parametrize("size", [100, 1_000, 10_000])
def test_layout(goals: Goals, size: int):
    tree = joined(size)
    sizes, nodes = sizes_of(tree), f"{size:,} nodes"
    places = arrange(tree, sizes)
    goals.most("D-G1", f"overlapping cards, {nodes}", overlaps(tree, places), 0, "")
    assert arrange(tree, sizes) == places
    spent = statistics.median(timed(lambda: arrange(tree, sizes)) for _ in range(3))
    seconds = {10_000: 1.0}.get(size)
    if seconds:
        goals.most("D-G2", f"laying out {nodes}", spent, seconds, "s")
    else:
        goals.figure("D-G2", f"laying out {nodes}", spent * 1e3, "ms")


@pytest.mark.skipif(DOT is None, reason="dot is not installed")
@pytest.mark.parametrize(("size", "seeds"), [(100, 10), (1_000, 5)])
def test_beside_dot(goals: Goals, size: int, seeds: int):
    ratios, speeds = [], []
    for seed in range(seeds):
        tree = joined(size, seed)
        (mine, seconds), (best, longer) = ours(tree), dots(tree)
        ratios.append(mine / max(best, 1))
        speeds.append(longer / seconds)
    goals.most("D-G1", f"crossings / those of dot, {size:,} nodes", statistics.median(ratios), 1.6)
    if size == 1_000:
        goals.least("D-G2", f"time of dot / ours, {size:,} nodes", statistics.median(speeds), 3)


def test_shared_terminals(goals: Goals):
    tree = pooled(1_000)
    sizes = sizes_of(tree)
    spent = statistics.median(timed(lambda: arrange(tree, sizes)) for _ in range(3))
    goals.most("D-G2", "laying out 1,000 nodes that share their terminals", spent * 1e3, 250, "ms")
    goals.most("D-G1", "overlapping cards with shared terminals", overlaps(tree, arrange(tree, sizes)), 0, "")


def test_a_part_of_a_large_tree(goals: Goals):
    tree = joined(10_000)
    sizes = sizes_of(tree)
    places = arrange(tree, sizes)
    part = list(tree.nodes)[4_000:4_100]
    origin = Place(min(places[i].x for i in part), min(places[i].y for i in part))
    stay = {i: place for i, place in places.items() if i not in set(part)}
    spent = [timed(lambda: arrange(tree, sizes, stay, origin=origin)) for _ in range(5)]
    after = arrange(tree, sizes, stay, origin=origin)
    assert all(after[i] == place for i, place in stay.items())
    note = in_words(statistics.median(spent))
    goals.most("D-G2", "laying out 100 of 10,000 nodes anew", statistics.median(spent) * 1e3, 16, "ms", note)
    goals.most("D-G1", "cards the part covers", overlaps(tree, after), 0, "")
