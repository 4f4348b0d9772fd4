"""Every replaceable part, as the help page shows it: one short example each, and what comes of it.

The examples stand in ``resources/help/library.md``; a test here runs one and looks at what it made.
"""

import ast
import json
from typing import Any

import pytest

from engine import (
    AttemptCompleted,
    CatalogError,
    ChainPipeline,
    Completion,
    Event,
    Inputs,
    Pins,
    ScriptedDecider,
    Session,
    SlidingConversation,
    event_of,
)
from tests.builders import budget, evidence_tree
from tests.engine.deciding import OK, FakeClient, unavailable
from tests.engine.pages import LIBRARY, ROOT, examples, run_example
from tests.engine.runs import Does, VirtualClock, collect, ended

pytestmark = pytest.mark.anyio

EXAMPLES = examples(LIBRARY)
FIRST = "A run from beginning to end"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch, tmp_path):
    """Examples name files of the project and write where they stand."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def shown(title: str, *before: str) -> dict[str, Any]:
    """The names an example leaves behind, run after the first one and those it goes on from."""
    names: dict[str, Any] = {}
    for each in dict.fromkeys((FIRST, *before, title)):
        for code in EXAMPLES[each]:
            await run_example(code, names)
    return names


async def asked(names: dict[str, Any]) -> str:
    """The user message of the example's session."""
    events: list[Event] = []
    run = names["session"].start(
        names["tree"], names["inputs"], actions=[names["CollectEvidence"]()], observers=[events.append]
    )
    await run.finish()
    attempt = next(e.attempt for e in events if isinstance(e, AttemptCompleted))
    return attempt.messages[-1].content


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_is_short_and_uses_the_front_door_only(title):
    for code in EXAMPLES[title]:
        lines = [line for line in code.splitlines() if line.strip()]
        assert len(lines) < 16 if title == FIRST else len(lines) < 15
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine"):
                assert node.module in ("engine", "engine.analysis", "engine.records", "engine.evaluate")


async def test_the_first_example_reaches_its_verdict():
    result = (await shown(FIRST))["result"]
    assert (result.outcome, result.verdict) == ("Terminal", "supported")


async def test_an_own_action_adds_data_and_state():
    names = await shown("An action")
    assert names["result"].verdict == "supported"
    assert names["result"].state_properties == {"read": "true"}


async def test_an_own_predicate_decides_a_condition():
    result = (await shown("A predicate"))["result"]
    assert (result.verdict, result.path[2].branch) == ("supported", "true")


async def test_an_own_client_is_asked():
    result = (await shown("A client"))["result"]
    assert (result.verdict, result.usage.llm_calls) == ("supported", 1)


async def test_an_own_pipeline_that_takes_the_chain_is_asked_along_it():
    names = await shown("A pipeline", "A client")
    assert names["result"].verdict == "supported"
    assert names["session"].pipeline.asked == ["small"]


async def test_an_own_decider_decides():
    result = (await shown("A decider"))["result"]
    assert (result.verdict, result.usage.llm_calls) == ("supported", 0)


async def test_an_own_data_policy_chooses_what_is_shown():
    names = await shown("A data policy")
    assert "The invoice is attached." in await asked(names)
    names["inputs"] = names["inputs"].__class__(
        pins=names["inputs"].pins, data=(names["DataItem"]("old", "desk", "note", "Nobody reads this."),)
    )
    assert "Nobody reads this." not in await asked(names)


async def test_an_own_data_policy_can_give_display_values():
    names = await shown("A data policy with display values")
    assert "from a source: The invoice is attached." in await asked(names)


async def test_an_own_context_builder_writes_the_messages():
    names = await shown("A context builder")
    assert "Facts: evidence: The invoice is attached." in await asked(names)


async def test_an_own_conversation_is_made_for_each_run():
    names = await shown("A conversation")
    assert names["result"].verdict == "supported"
    assert isinstance(names["session"].new_conversation(), SlidingConversation)


async def test_an_own_journal_is_given_every_event():
    names = await shown("A journal")
    records = [json.loads(line) for line in names["journal"].lines]
    assert len(records) == names["journal"].latest(names["result"].execution_id)
    assert {(r["traceId"], r["correlationId"]) for r in records} == {("service-1", "request-123")}
    assert [type(event_of(r)).__name__ for r in records][-1] == "RunEnded"


async def test_an_own_publisher_announces_what_happens():
    assert (await shown("A publisher"))["seen"] == ["collect", "classify", "verify", "approved"]


async def test_the_graph_of_an_execution_is_made_from_its_journal():
    assert (await shown("The graph of an execution"))["picture"].startswith("graph TB\n")


async def test_an_own_transcript_builder_writes_every_section(capsys):
    names = await shown("A transcript builder")
    assert names["run"].transcript.status == "Completed"
    text = names["run"].transcript.path.read_text()
    assert [line.split(":")[0] for line in text.splitlines()] == [
        "Header",
        "Overview",
        "Action",
        "Attempt",
        "Classification",
        "Result",
    ]
    assert "Completed" in capsys.readouterr().out


async def test_a_transcript_decorator_changes_one_section_only():
    names = await shown("A transcript decorator")
    text = names["run"].transcript.path.read_text()
    assert "### Application action:" in text
    assert "## Decision result" in text


async def test_an_own_transcript_sink_makes_no_file(at_the_root):
    names = await shown("A transcript sink")
    (text,) = names["kept"].values()
    assert "## Decision result" in text
    assert not (at_the_root / "transcripts").exists()


async def test_own_record_sinks_and_ids_are_used():
    names = await shown("A record sink, a clock and ids")
    assert names["result"].execution_id == "run-1"
    assert len(names["sink"].decisions) == 1


# ------------------------------------------------------------------------------------------ who goes first


async def test_a_decider_goes_before_a_pipeline_and_a_pipeline_before_a_client():
    class Own:
        async def complete(self, _request):
            return Completion(OK)

    client, parts = FakeClient([OK]), dict[str, Any](actions=[collect()], clock=VirtualClock())
    decided = await ended(
        evidence_tree(),
        decider=ScriptedDecider({"classify": "supported"}),
        pipeline=Own(),
        client=client,
        **parts,
    )
    piped = await ended(evidence_tree(), decider=None, pipeline=Own(), client=client, **parts)
    assert decided.succeeded
    assert piped.succeeded
    assert client.requests == []


async def test_pins_go_before_whoever_decides():
    client = FakeClient([OK])
    inputs = Inputs(pins=Pins(answers={"classify": "unknown"}))
    tree = evidence_tree().replace(budget=budget(calls=2))
    result = await ended(tree, decider=None, client=client, actions=[collect()], inputs=inputs)
    assert (result.outcome, client.requests) == ("Unknown", [])


async def test_where_nobody_decides_a_question_ends_the_run_with_a_plain_reason():
    result = await ended(evidence_tree(), decider=None, actions=[collect()])
    assert (result.outcome, result.failure_kind) == ("ValidationFailed", "validation")
    assert "nobody else is there to decide" in (result.error or "")


async def test_one_client_serves_many_runs_of_a_session_and_each_has_its_own_chain():
    client = FakeClient([unavailable(), OK, unavailable(), OK])
    session = Session(client=client, model="a", fallbacks=("b",), clock=VirtualClock())
    for _ in range(2):
        assert (await session.start(evidence_tree(), actions=[collect()]).finish()).succeeded
    assert client.models == ["a", "b", "a", "b"]


async def test_a_pipeline_that_does_not_take_the_chain_gets_no_failover():  # F9
    class Plain:
        calls = 0

        async def complete(self, _request):
            self.calls += 1
            raise unavailable()

    plain = Plain()
    result = await ended(
        evidence_tree(),
        actions=[collect()],
        decider=None,
        pipeline=plain,
        model="fake-x",
        fallbacks=("fake-y",),
    )
    assert (result.error, plain.calls) == ("HTTP 503 (model: fake-x)", 1)


async def test_a_pipeline_that_takes_the_chain_gets_failover():
    class Along:
        async def complete(self, request):
            raise AssertionError

        async def complete_along(self, request, chain):
            assert chain.advance()
            return Completion(OK, model=chain.model)

    along = Along()
    assert isinstance(along, ChainPipeline)
    events: list[Event] = []
    await ended(
        evidence_tree(),
        actions=[collect()],
        decider=None,
        pipeline=along,
        model="a",
        fallbacks=("b",),
        events=events,
    )
    assert [e.attempt.model for e in events if isinstance(e, AttemptCompleted)] == ["b"]


# ------------------------------------------------------------------------------------------ refused


def test_a_conversation_that_is_made_already_is_refused():
    with pytest.raises(TypeError, match="factory"):
        Session(new_conversation=SlidingConversation())  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["", "  ", "collectEvidence"])
def test_a_blank_or_repeated_action_key_is_refused(key):
    with pytest.raises(CatalogError, match="duplicate or empty key"):
        Session().start(evidence_tree(), actions=[collect(), Does(key)])


async def test_actions_belong_to_one_run():
    session = Session(client=FakeClient([OK, OK]), clock=VirtualClock())
    assert (await session.start(evidence_tree(), actions=[collect()]).finish()).succeeded
    result = await session.start(evidence_tree()).finish()
    assert result.error == "Action 'collectEvidence' for node 'collect' is not registered."
