"""The graph of an execution, made from its events, and its picture."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from engine import Event, NodeVisited, event_of, execution_graph, json_of
from tests.builders import budget, demo_tree, evidence_tree
from tests.engine.deciding import BAD, OK
from tests.engine.runs import SlowClient, VirtualClock, collect, ended

pytestmark = pytest.mark.anyio

LATER = datetime(2026, 12, 1, tzinfo=UTC)


async def events(**parts) -> list[Event]:
    events: list[Event] = []
    tree = evidence_tree().replace(budget=budget(calls=2, tokens=4000))
    await ended(tree, [BAD, OK], actions=[collect()], events=events, **parts)
    return events


async def test_the_steps_of_a_run_stand_in_a_chain_from_start_to_end():
    graph = execution_graph(await events(), LATER)
    assert [(node.id, node.kind, node.label) for node in graph.nodes] == [
        ("start", "Start", "Start"),
        ("step3", "DecisionNode", "Decision action: collectEvidence (Success)"),
        ("step4", "DecisionNode", "Decision node: collect (Action)"),
        ("step6", "LlmCall", "LLM call: own-model (attempt 1)"),
        ("step7", "LlmCall", "LLM call: own-model (attempt 2)"),
        ("step8", "DecisionNode", "Decision classification: supported"),
        ("step9", "DecisionNode", "Decision node: classify (Classify)"),
        ("step11", "DecisionNode", "Decision node: approved (Terminal)"),
        ("step12", "End", "Terminal"),
    ]
    ids = [node.id for node in graph.nodes]
    assert [(edge.source, edge.target, edge.label) for edge in graph.edges] == [
        (source, target, None) for source, target in pairwise(ids)
    ]
    assert (graph.final_status, graph.generated_at) == ("Terminal", LATER)


async def test_the_graph_of_an_unfinished_run_ends_in_a_node_of_its_own():
    told = (await events())[:5]
    graph = execution_graph(told)
    assert (graph.nodes[-1].id, graph.nodes[-1].label, graph.final_status) == ("end", "Running", "Running")
    assert graph.execution_id == told[0].execution_id


async def test_a_graph_can_be_made_from_kept_records():
    told = await events()
    assert execution_graph([event_of(json_of(e)) for e in told], LATER) == execution_graph(told, LATER)


async def test_a_limit_that_was_passed_is_a_step():
    clock, told = VirtualClock(), list[Event]()
    tree = demo_tree().replace(budget=budget(visits=10, tokens=4000, on_exceeded="warn"))
    await ended(tree, SlowClient(clock, 11, [OK]), actions=[collect()], clock=clock, events=told)
    passed = [node for node in execution_graph(told).nodes if node.kind == "Policy"]
    assert {node.label for node in passed} == {"Limit passed: elapsedTime"}


def test_no_events_make_no_graph():
    with pytest.raises(ValueError, match="without events"):
        execution_graph([])


async def test_the_picture_has_boxes_for_the_ends_and_rhombs_for_decisions():
    lines = execution_graph(await events()).mermaid().splitlines()
    assert lines[:2] == ["graph TB", '    Start["Start"]']
    assert '    Step4{"Decision node: collect #40;Action#41;"}' in lines
    assert '    Step12["Terminal"]' in lines
    assert lines[-1] == "    Step11 --> Step12"


async def test_a_label_cannot_close_its_quotes_or_its_box():
    told = await events()
    visited = next(e for e in told if isinstance(e, NodeVisited))
    nasty = 'a"]; click b <script>`{end}\n%% c#quot;'
    picture = execution_graph([replace(visited, visit=replace(visited.visit, node=nasty))]).mermaid()
    line = picture.splitlines()[2]
    opening, label, closing = line.split('"')
    assert (opening, closing) == ("    Step1{", "}")
    assert not set('[]{}()<>`%"') & set(label)
    assert "a#34;#93;#59; click b #60;script#62;#96;#123;end#125; #37;#37; c#35;quot#59;" in label


async def test_no_id_is_the_word_that_ends_a_block():
    picture = execution_graph((await events())[:3]).mermaid()
    assert "    End[" in picture
    assert " end" not in picture
