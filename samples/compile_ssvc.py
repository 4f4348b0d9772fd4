"""Compiles a decision table of SSVC into a decision tree, and its published rows into cases.

Run as a script it writes the tree and the cases of the sample ``ssvc-deployer`` anew::

    python samples/compile_ssvc.py

A table gives an outcome for every combination of values. The full tree asks for every value in turn; the
reduced one, which decides the same, asks only what still matters, and shares what is equal.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from engine import (
    UNKNOWN,
    Budget,
    ClassifyNode,
    NodeId,
    TerminalNode,
    TimeSpan,
    Transition,
    Tree,
    write_tree,
)
from engine.evaluate import Case, Expectation, write_case

Way: TypeAlias = tuple[str, ...]
"""Values by which one gets somewhere, in the order of the table's decision points."""

Row: TypeAlias = tuple[Way, str]
"""One value for each decision point, and the outcome."""

SAMPLE: Final = Path(__file__).parent / "ssvc-deployer"
TABLE: Final = "deployer_patch_application_priority_1_0_0"


@dataclass(frozen=True)
class Point:
    """A decision point as published: values in order, each with its meaning, names in lower case."""

    name: str
    meaning: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A decision table: an outcome for every combination of the points' values."""

    name: str
    meaning: str
    points: tuple[Point, ...]
    outcome: Point
    outcomes: Mapping[Way, str]


def read_table(document: bytes) -> Table:
    """The table in CERT/CC's JSON form (schema 2.0.0)."""
    published = json.loads(document)
    by_key = published["decision_points"]
    points = {
        key: Point(
            point["name"],
            point["definition"],
            {value["name"].lower(): value["definition"] for value in point["values"]},
        )
        for key, point in by_key.items()
    }
    names = {
        key: {value["key"]: value["name"].lower() for value in point["values"]}
        for key, point in by_key.items()
    }
    outcome = published["outcome"]
    asked = [key for key in points if key != outcome]
    return Table(
        published["name"],
        published["definition"],
        tuple(points[key] for key in asked),
        points[outcome],
        {
            tuple(names[key][row[key]] for key in asked): names[outcome][row[outcome]]
            for row in published["mapping"]
        },
    )


def read_rows(text: str, table: Table) -> dict[int, Row]:
    """The rows of the table's CSV form, by their number."""
    rows = {}
    for line in csv.DictReader(io.StringIO(text)):
        # A column is headed by a name and a version: "Exploitation v1.1.0".
        by_name = {heading.rpartition(" v")[0]: value for heading, value in line.items()}
        way = tuple(by_name[point.name] for point in table.points)
        rows[int(line["row"])] = (way, by_name[table.outcome.name])
    return rows


def compile_tree(table: Table, tree_id: str, *, reduced: bool = True) -> Tree:
    """The tree that decides as the table does. It asks about the vulnerability given as ``{{cve}}``."""
    start = _grown(table, (), reduced=reduced)
    if not isinstance(start, Question):
        raise TypeError(f"Every row of '{table.name}' has the same outcome; there is nothing to ask.")
    ways: dict[Question, list[Way]] = {}
    for question, way in _walk(table, start, ()):
        ways.setdefault(question, []).append(way)
    questions = sorted(ways, key=lambda question: question.depth)
    ids = _ids(table, questions, ways)
    depth = len(table.points)
    return Tree(
        tree_id=tree_id,
        version=1,
        name=f"SSVC: {table.name.lower()}",
        description=f"{table.meaning.rstrip('.')}, compiled from the table CERT/CC publishes.",
        start_node_id=ids[start],
        system_prompt=SYSTEM_PROMPT,
        task=f"Find the {table.name.lower()} of this vulnerability: {{{{cve}}}}",
        budget=Budget(
            max_node_visits=depth + 1,
            max_llm_calls=2 * depth,
            max_elapsed_time=TimeSpan.of_seconds(1800),
            max_context_tokens=4000,
            on_exceeded="halt",
        ),
        nodes={
            **{ids[q]: _node(table.points[q.depth], q, ways[q], ids) for q in questions},
            **{
                _slug(verdict): TerminalNode(name=verdict.capitalize(), verdict=verdict)
                for verdict in _outcomes(table)
            },
            NEEDS_A_PERSON: TerminalNode(name="Needs a person", verdict=NEEDS_A_PERSON),
        },
    )


def case_of(number: int, row: Row, table: Table, tree: Tree) -> Case:
    """The case of a row: its values are the answers on the way they take through the tree."""
    way, outcome = row
    values = {_title(point): value for point, value in zip(table.points, way, strict=True)}
    answers: dict[NodeId, str | tuple[str, ...]] = {}
    node_id = tree.start_node_id
    while isinstance(node := tree.nodes[node_id], ClassifyNode):
        answers[node_id] = answer = values[node.name or ""]
        node_id = node.targets[answer]
    return Case(id=f"row-{number}", answers=answers, expect=Expectation(verdict=outcome, outcome="Terminal"))


NEEDS_A_PERSON: Final = "needs-a-person"

SYSTEM_PROMPT: Final = (
    "You help to judge how urgent a vulnerability is, one question at a time, by the definitions of SSVC. "
    "Go by what the text says and by what is widely known of the software; where neither decides, do not "
    "guess. "
    "Choose exactly one allowed answer and return JSON with answer, observation and confidence."
)


@dataclass(frozen=True)
class Question:
    """A decision point asked at one place: what follows each value. ``way`` keeps equal places apart."""

    depth: int
    branches: tuple["Question | str", ...]
    way: Way | None


def _grown(table: Table, way: Way, *, reduced: bool) -> Question | str:
    if len(way) == len(table.points):
        return table.outcomes[way]
    values = table.points[len(way)].values
    branches = tuple(_grown(table, (*way, value), reduced=reduced) for value in values)
    if reduced and len(set(branches)) == 1:
        return branches[0]
    return Question(len(way), branches, None if reduced else way)


def _walk(table: Table, question: Question, way: Way) -> Iterator[tuple[Question, Way]]:
    yield question, way
    for value, branch in zip(table.points[question.depth].values, question.branches, strict=True):
        if isinstance(branch, Question):
            yield from _walk(table, branch, (*way, value))


def _ids(
    table: Table, questions: list[Question], ways: Mapping[Question, list[Way]]
) -> dict[Question, NodeId]:
    """A question one way leads to is named after that way, one that several ways share gets a number."""
    ids: dict[Question, NodeId] = {}
    shared: Counter[str] = Counter()
    for question in questions:
        point = _slug(table.points[question.depth].name)
        if len(ways[question]) > 1:
            shared[point] += 1
            ids[question] = f"{point}-{shared[point]}"
        else:
            ids[question] = _slug(" ".join((point, *ways[question][0])))
    return ids


def _node(point: Point, question: Question, ways: list[Way], ids: Mapping[Question, NodeId]) -> ClassifyNode:
    meanings = "\n".join(f'- {value}: "{meaning}"' for value, meaning in point.values.items())
    targets = [ids[b] if isinstance(b, Question) else _slug(b) for b in question.branches]
    return ClassifyNode(
        name=_title(point),
        description="Asked after: " + "; or ".join(", ".join(way) for way in ways) + "." if ways[0] else None,
        # The question comes first: a card shows no more than its beginning.
        task=f'Which value of {point.name.lower()} fits best?\n"{point.meaning}"\n{meanings}',
        answers=tuple(point.values),
        transitions=tuple(
            Transition(condition=branch, next_node_id=target)
            for branch, target in zip((*point.values, UNKNOWN), (*targets, NEEDS_A_PERSON), strict=True)
        ),
    )


def _outcomes(table: Table) -> list[str]:
    given = set(table.outcomes.values())
    return [outcome for outcome in table.outcome.values if outcome in given]


def _title(point: Point) -> str:
    return point.name.capitalize()


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def main() -> None:
    """Write the tree and the cases of the sample anew."""
    table = read_table((SAMPLE / "data" / f"{TABLE}.json").read_bytes())
    rows = read_rows((SAMPLE / "data" / f"{TABLE}.csv").read_text("utf-8"), table)
    tree = compile_tree(table, "ssvc-deployer")
    (SAMPLE / "tree.json").write_bytes(write_tree(tree))
    cases = [write_case(case_of(number, row, table, tree)) for number, row in rows.items()]
    (SAMPLE / "cases.jsonl").write_text("".join(f"{case}\n" for case in cases), "utf-8")


if __name__ == "__main__":
    main()
