"""Transcripts of runs: rows X of the runtime's conformance cases."""

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from engine.budget import Limits, SystemClock, Usage
from engine.catalog import ActionResult
from engine.data import DataItem
from engine.events import ActionCompleted, Event, RunEnded, RunResult, RunStarted
from engine.run import Inputs, Pins, Run
from engine.session import Session
from engine.transcript import (
    Builder,
    MarkdownBuilder,
    RunTranscript,
    TranscriptDecorator,
    TranscriptOptions,
    TranscriptPolicy,
    TranscriptSink,
    open_transcript,
)
from engine.transcript.sections import Action, Header, Result
from engine.tree import Tree

pytestmark = pytest.mark.anyio

AT = datetime(2026, 9, 1, tzinfo=UTC)
SECRET = "customer-4711"
OK = '{"answer":"supported","observation":"seen","confidence":"high"}'


def tree_of(**action: object) -> Tree:
    """Act, ask, test, and end; what is given goes to the action node."""

    def to(**branches: str) -> list[dict[str, str]]:
        return [{"condition": label, "nextNodeId": target} for label, target in branches.items()]

    return Tree.model_validate(
        {
            "treeId": "refund-triage",
            "version": 3,
            "startNodeId": "collect",
            "task": "Look after {{customer}}.",
            "nodes": {
                "collect": {
                    "type": "action",
                    "actionKey": "loadOrder",
                    "transitions": to(success="ask", transientFailure="no", permanentFailure="no"),
                    **action,
                },
                "ask": {
                    "type": "classify",
                    "task": "Is it supported?",
                    "answers": ["supported", "unsupported"],
                    "transitions": to(supported="check", unsupported="no", unknown="no"),
                },
                "check": {
                    "type": "condition",
                    "predicateKey": "dataExists",
                    "predicateParameters": {"type": "evidence"},
                    "transitions": to(true="yes", false="no"),
                },
                "yes": {"type": "terminal", "verdict": "approved"},
                "no": {"type": "terminal", "verdict": "rejected"},
            },
        }
    )


def evidence(content: str = "An invoice", metadata: Mapping[str, str] | None = None) -> DataItem:
    created = datetime(2026, 9, 1, 8, tzinfo=UTC)
    return DataItem("e-1", "mail", "evidence", content, created, "loadOrder", metadata or {})


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mask(text: str) -> str:
    return text.replace(SECRET, "[REDACTED]")


async def run_with(
    options: TranscriptOptions,
    *,
    tree: Tree | None = None,
    result: ActionResult | None = None,
    replies: tuple[str, ...] = (OK,),
    properties: Mapping[str, object] | None = None,
    **inputs,
) -> Run:
    pins = Pins(
        actions={"collect": result or ActionResult(data=(evidence(),))}, replies={"ask": list(replies)}
    )
    inputs = {"parameters": {"customer": SECRET}, **inputs}
    run = Session(transcript=options).start(
        tree or tree_of(), Inputs(properties=properties or {}, pins=pins, **inputs)
    )
    await run.finish()
    return run


async def text_of(folder: Path, **run) -> str:
    """The transcript of a run whose redactor masks one secret."""
    options = run.pop("options", TranscriptOptions(directory=folder, redactor=mask))
    done = await run_with(options, **run)
    assert done.transcript is not None
    assert done.transcript.status == "Completed"
    assert done.transcript.path is not None
    return done.transcript.path.read_text(encoding="utf-8")


class ListSink:
    """Keeps the pieces of a transcript."""

    def __init__(self, path: Path) -> None:
        self.path, self.pieces, self.calls = path, list[str](), list[str]()

    def append(self, text: str) -> None:
        self.pieces.append(text)

    def complete(self) -> None:
        self.calls.append("complete")

    def close(self) -> None:
        self.calls.append("close")


class Sinks:
    """Makes sinks and remembers them."""

    def __init__(self) -> None:
        self.made: list[ListSink] = []

    def __call__(self, path: Path) -> TranscriptSink:
        self.made.append(ListSink(path))
        return self.made[-1]

    @property
    def text(self) -> str:
        (sink,) = self.made
        return "".join(sink.pieces)


async def test_x1_a_transcript_shows_the_run_and_not_the_secret(tmp_path: Path) -> None:
    result = ActionResult(
        data=(evidence(f"about {SECRET}"),), properties={"who": SECRET}, summary=f"found {SECRET}"
    )
    text = await text_of(tmp_path, result=result)
    for heading in (
        "# Agent task",
        "## Request",
        "## Decision task",
        "### Decision action: `loadOrder`",
        "### Decision LLM attempt 1",
        "### Parsed classification",
        "## Decision result",
        "### State properties",
        "### Selected path",
        "### Decision budget",
    ):
        assert f"{heading}\n" in text
    assert "[REDACTED]" in text
    assert SECRET not in text
    assert "## Debug" not in text
    assert [Path(name).suffix for name in names_in(tmp_path)] == [".md"]


async def test_x2_debug_mode_keeps_everything(tmp_path: Path) -> None:
    text = await text_of(
        tmp_path,
        options=TranscriptOptions(directory=tmp_path, debug=True, redactor=None),
        parameters={"customer": SECRET, "area": "north"},
    )
    assert "**Debug mode:** `True`" in text
    assert f"## Debug request parameters\n\n```\narea: north\ncustomer: {SECRET}\n```\n" in text
    assert f"Look after {SECRET}." in text


async def test_x3_an_own_builder_and_sink_get_redacted_texts(tmp_path: Path) -> None:
    class Shouting(TranscriptDecorator):
        def action(self, section: Action) -> str:
            return super().action(section).replace("### Decision action:", "### APPLICATION ACTION:")

    sinks = Sinks()
    options = TranscriptOptions(directory=tmp_path / "t", redactor=mask, builder=Shouting, sink=sinks)
    run = await run_with(
        options, tree=tree_of(name=f"Load {SECRET}"), result=ActionResult(summary=f"Loaded {SECRET}")
    )
    assert "### APPLICATION ACTION: `Load [REDACTED]`\n" in sinks.text
    assert "loadOrder" not in sinks.text
    assert "**Outcome:**\n\n```\nLoaded [REDACTED]\n```\n" in sinks.text
    assert sinks.made[0].calls == ["complete", "close"]
    assert run.transcript is not None
    assert (run.transcript.status, run.transcript.path) == ("Completed", sinks.made[0].path)
    assert not (tmp_path / "t").exists()


def _key_masking(text: str) -> str:
    return re.sub("secret-key-.", "[STATE-KEY]", text.replace("secret-value", "[STATE-VALUE]"))


async def test_x4_state_properties_are_redacted_and_come_before_the_path(tmp_path: Path) -> None:
    options = TranscriptOptions(directory=tmp_path, redactor=_key_masking)
    text = await text_of(tmp_path, options=options, properties={"secret-key-1": "secret-value"})
    assert "**[STATE-KEY]:** `[STATE-VALUE]`" in text
    assert text.index("### State properties") < text.index("### Selected path")


async def test_x5_keys_that_look_alike_once_redacted_both_stay(tmp_path: Path) -> None:
    options = TranscriptOptions(directory=tmp_path, redactor=_key_masking)
    values = {"secret-key-1": "one", "secret-key-2": Decimal("1234.5")}
    text = await text_of(tmp_path, options=options, properties=values)
    assert "**[STATE-KEY]:** `one`" in text
    assert "**[STATE-KEY]:** `1234.5`" in text


async def test_x6_state_properties_are_limited(tmp_path: Path) -> None:
    policy = TranscriptPolicy(
        state_properties=2, state_property_key_length=40, state_property_value_length=40
    )
    options = TranscriptOptions(directory=tmp_path, policy=policy)
    text = await text_of(
        tmp_path, options=options, properties={"a" * 50: "v", "b": "w" * 50, "c": "not shown"}
    )
    assert "a" * 40 + "[state property key truncated]" in text
    assert "w" * 40 + "[state property value truncated]" in text
    assert "**[state properties omitted]:** `1`" in text
    assert "not shown" not in text.partition("### State properties")[2]


async def test_x7_long_texts_are_cut(tmp_path: Path) -> None:
    policy = TranscriptPolicy(
        content_length=10,
        message_length=20,
        response_length=30,
        metadata_entries=1,
        metadata_key_length=3,
        metadata_value_length=4,
        produced_items=1,
    )
    item = evidence("x" * 50, {"longest": "longer still", "other": "o"})
    text = await text_of(
        tmp_path,
        options=TranscriptOptions(directory=tmp_path, policy=policy),
        result=ActionResult(data=(item, item), summary="s" * 50),
    )
    for shown in (
        "Content: " + "x" * 10 + "[content truncated]",
        "lon[metadata key truncated]=long[metadata value truncated], [metadata entries omitted: 1]",
        "[produced data items omitted: 1]",
        "s" * 10 + "[outcome summary truncated]",
        "[message content truncated]",
        OK[:30] + "[response content truncated]",
    ):
        assert shown in text
    assert "x" * 11 not in text


async def test_x8_without_a_redactor_there_is_no_transcript(tmp_path: Path) -> None:
    run = await run_with(TranscriptOptions(directory=tmp_path / "t", redactor=None))
    assert run.transcript is not None
    assert (run.transcript.status, run.transcript.path) == ("RedactorUnavailable", None)
    assert run.result.succeeded
    assert not (tmp_path / "t").exists()


def _nothing() -> Builder:
    return None  # type: ignore[return-value]


def _no_builder() -> Builder:
    raise RuntimeError("canary")


def _no_sink(_path: Path) -> TranscriptSink:
    raise RuntimeError("canary")


@pytest.mark.parametrize(
    "wrong",
    [
        {"builder": _no_builder},
        {"builder": _nothing},
        {"sink": _no_sink},
        {"sink": lambda _path: None},
        {"directory": Path("relative")},
        {"directory": Path("/dev/null/t")},
        {"redactor": lambda _text: None},
        {"redactor": lambda text: text[999999999]},
    ],
)
async def test_x9_what_cannot_be_opened_is_unavailable_and_the_run_goes_on(
    wrong, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = replace(TranscriptOptions(directory=tmp_path / "t"), **wrong)
    run = await run_with(options)
    assert run.transcript is not None
    assert (run.transcript.status, run.transcript.path) == ("Unavailable", None)
    assert run.result.succeeded
    assert "without a transcript" in caplog.text
    assert "canary" not in caplog.text


async def test_x10_a_fence_is_longer_than_any_in_the_text(tmp_path: Path) -> None:
    text = await text_of(tmp_path, result=ActionResult(summary="a ``` b ```` c"))
    assert "\n`````\na ``` b ```` c\n`````\n" in text


async def test_x11_a_fenced_reply_reads_like_a_plain_one(tmp_path: Path) -> None:
    shown = [
        (await text_of(tmp_path, replies=(reply,))).partition("**Raw LLM output:**")[2].partition("###")[0]
        for reply in (OK, f"```json\n{OK}\n```", f"```\n{OK}\n```", f"````\r\n{OK}\r\n````\n")
    ]
    assert set(shown) == {shown[0]}
    assert f"\n\n```json\n{OK}\n```\n" in shown[0]


async def test_x12_an_empty_reply_is_shown_as_empty(tmp_path: Path) -> None:
    text = await text_of(tmp_path, replies=("", " "))
    assert text.count("```json\n(empty)\n```") == 2


async def test_x13_an_open_fence_stays_as_it_is(tmp_path: Path) -> None:
    text = await text_of(tmp_path, replies=(f"```json\n{OK}", OK))
    assert f"````json\n```json\n{OK}\n````" in text


@pytest.mark.parametrize("name", [None, "", "  "])
def test_x14_an_action_without_a_name_is_called_by_its_key(name: str | None, tmp_path: Path) -> None:
    sinks = Sinks()
    acted = ActionCompleted(
        execution_id="e",
        at=AT,
        node="collect",
        visit=1,
        name=name,
        action_key="loadOrder",
        status="success",
        summary=None,
        error=None,
        produced=(),
        changed={},
    )
    ended(TranscriptOptions(directory=tmp_path, sink=sinks), acted)
    assert "### Decision action: `loadOrder`" in sinks.text


async def test_x15_outcome_and_error_are_both_shown(tmp_path: Path) -> None:
    text = await text_of(
        tmp_path, result=ActionResult("transientFailure", summary="Half of it", error="It broke")
    )
    assert "**Status:** `TransientFailure (pinned)`" in text
    assert "**Outcome:**\n\n```\nHalf of it\n```" in text
    assert "**Error:**\n\n```\nIt broke\n```" in text


async def test_x16_without_state_properties_there_is_no_heading_for_them(tmp_path: Path) -> None:
    assert "State properties" not in await text_of(tmp_path)


async def test_x17_labels_are_escaped_and_values_of_several_lines_fenced(tmp_path: Path) -> None:
    text = await text_of(
        tmp_path, properties={"unsafe*key": "one\ntwo", "![x](file:///dev/zero)\n": "v", "tick": "a`b"}
    )
    assert "**unsafe\\*key:**\n\n```\none\ntwo\n```" in text
    assert "**\\![x](file:///dev/zero)\\n:** `v`" in text
    assert "**tick:**\n\n```\na`b\n```" in text


async def test_x19_each_run_has_its_own_file(tmp_path: Path) -> None:
    class Still(SystemClock):
        def now(self) -> datetime:
            return datetime(2026, 9, 1, 10, 15, tzinfo=UTC)

    session = Session(clock=Still(), transcript=TranscriptOptions(directory=tmp_path))
    trees = (tree_of(), tree_of(), tree_of().replace(tree_id="other"))
    runs = [session.start(tree) for tree in trees]
    await asyncio.gather(*(run.finish() for run in runs))
    local = Still().now().astimezone().strftime("%Y%m%d-%H%M%S")
    assert names_in(tmp_path) == [
        f"{local}-Decision-tree-other.md",
        f"{local}-Decision-tree-refund-triage-2.md",
        f"{local}-Decision-tree-refund-triage.md",
    ]
    for run in runs:
        assert run.transcript is not None
        assert run.transcript.path is not None
        assert run.execution_id in run.transcript.path.read_text()
        assert run.execution_id not in run.transcript.path.name


# -- what the sections hold ----------------------------------------------------------------------------


async def test_the_path_is_numbered_and_conditions_show_what_they_test(tmp_path: Path) -> None:
    text = re.sub(r"\d+ms", "0ms", await text_of(tmp_path))
    assert (
        "### Selected path\n\n"
        "1. `collect` (Action, 0ms, forced) -- `success` --> `ask`\n"
        "2. `ask` (Classify, 0ms) -- `supported` --> `check`\n"
        '3. `check` (Condition [Predicate: `dataExists`; Parameters: `{"type":"evidence"}`], 0ms)'
        " -- `true` --> `yes`\n"
        "4. `yes` (Terminal, 0ms) -- terminal\n"
    ) in text


async def test_produced_data_has_a_line_a_field(tmp_path: Path) -> None:
    text = await text_of(
        tmp_path, result=ActionResult(data=(evidence("An invoice", {"page": "2", "x": "y"}),))
    )
    assert (
        "**Produced evidence/data:**\n\n```\nId: e-1\nType: evidence\nSource: mail\nContent: An invoice\n"
        "Created: 2026-09-01T08:00:00+00:00\nAction: loadOrder\nMetadata: page=2, x=y\n```\n"
    ) in text
    bare = ActionResult(data=(DataItem("e", "s", "t", "c"),))
    assert "Created: (none)\nAction: (none)\nMetadata: none\n" in await text_of(tmp_path, result=bare)


async def test_a_classification_leads_to_its_record(tmp_path: Path) -> None:
    run = await run_with(TranscriptOptions(directory=tmp_path))
    assert run.transcript is not None
    assert run.transcript.path is not None
    text = run.transcript.path.read_text()
    assert f"**Decision ID:** `{run.result.classifications[0].decision_id}`" in text
    assert "**Answer:** `supported`" in text
    assert "**Attempt:** `1`" in text
    assert "**Observation:**\n\n```\nseen\n```" in text


async def test_an_unusable_reply_says_why_and_the_result_is_unknown(tmp_path: Path) -> None:
    text = await text_of(tmp_path, replies=("no", "{}"))
    assert "### Decision LLM attempt 2" in text
    assert "**Not usable:**\n\n```\nnot_json\n```" in text
    assert "**Answer:** `unknown`" in text
    assert "**Succeeded:** `False`" in text


async def test_a_tree_with_errors_leaves_a_transcript_too(tmp_path: Path) -> None:
    text = await text_of(tmp_path, tree=tree_of().replace(start_node_id="nowhere"))
    assert "**Outcome:** `ValidationFailed`" in text
    assert "(no node was visited)" in text
    assert "**Node visits:** `0`" in text


async def test_a_cancelled_run_has_a_whole_transcript(tmp_path: Path) -> None:
    pins = Pins(actions={"collect": ActionResult()})
    run = Session(transcript=TranscriptOptions(directory=tmp_path)).start(tree_of(), Inputs(pins=pins))
    run.cancel()
    assert run.transcript is not None
    assert run.transcript.status == "Completed"
    assert run.transcript.path is not None
    assert "**Outcome:** `Cancelled`" in run.transcript.path.read_text()


async def test_a_run_that_was_not_asked_for_one_has_no_transcript(tmp_path: Path) -> None:
    run = await run_with(TranscriptOptions(directory=None))
    assert run.transcript is not None
    assert (run.transcript.status, run.transcript.path) == (None, None)


def test_a_run_that_never_begins_leaves_no_file(tmp_path: Path) -> None:
    transcript = open_transcript(TranscriptOptions(directory=tmp_path), "refund-triage", SystemClock())
    assert transcript.status is None
    assert list(tmp_path.iterdir()) == []


# -- what goes wrong meanwhile -------------------------------------------------------------------------


class Clumsy(TranscriptDecorator):
    """A builder that fails at one section."""

    def action(self, section: Action) -> str:
        raise ValueError("canary")


class Mute(TranscriptDecorator):
    def action(self, section: Action) -> str:
        return None  # type: ignore[return-value]


class Full(ListSink):
    def append(self, text: str) -> None:
        if "Parsed classification" in text:
            raise OSError("canary")
        super().append(text)


class Unfinished(ListSink):
    def complete(self) -> None:
        raise OSError("canary")


@pytest.mark.parametrize(
    "wrong", [{"builder": Clumsy}, {"builder": Mute}, {"sink": Full}, {"sink": Unfinished}]
)
async def test_trouble_on_the_way_ends_the_transcript_and_not_the_run(
    wrong, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = await run_with(replace(TranscriptOptions(directory=tmp_path), **wrong))
    assert run.transcript is not None
    assert (run.transcript.status, run.transcript.path) == ("FinalizationFailed", None)
    assert run.result.succeeded
    assert len(run.result.path) == 4
    assert "canary" not in caplog.text


async def test_nothing_is_written_after_trouble_and_the_sink_is_closed(tmp_path: Path) -> None:
    sinks = Sinks()
    await run_with(TranscriptOptions(directory=tmp_path, builder=Clumsy, sink=sinks))
    assert "## Decision task" in sinks.text
    assert "Decision result" not in sinks.text
    assert sinks.made[0].calls == ["close"]


@pytest.mark.parametrize("gives", [None, "raises"])
async def test_a_redactor_that_fails_on_the_way_lets_nothing_through(
    gives: str | None, tmp_path: Path
) -> None:
    def redactor(text: str) -> str | None:
        if SECRET not in text:
            return text
        if gives:
            raise ValueError(text)
        return None

    sinks = Sinks()
    run = await run_with(TranscriptOptions(directory=tmp_path, redactor=redactor, sink=sinks))
    assert run.transcript is not None
    assert run.transcript.status == "FinalizationFailed"
    assert SECRET not in sinks.text
    assert run.result.succeeded


async def test_a_redactor_that_hangs_is_not_asked_again(tmp_path: Path) -> None:
    class Moved(SystemClock):
        seconds = 0.0

        def monotonic(self) -> float:
            return self.seconds

    clock, asked = Moved(), list[str]()

    def slow(text: str) -> str:
        asked.append(text)
        clock.seconds += 2
        return text

    session = Session(transcript=TranscriptOptions(directory=tmp_path, redactor=slow), clock=clock)
    run = session.start(tree_of())
    await run.finish()
    assert run.transcript is not None
    assert run.transcript.status == "Unavailable"
    assert len(asked) == 1


@pytest.mark.parametrize("limit", ["content_length", "produced_items", "total_characters"])
def test_a_limit_that_is_not_positive_is_refused_before_the_run(limit: str) -> None:
    with pytest.raises(ValueError, match=limit):
        TranscriptPolicy(**{limit: 0})


# -- the limit in all ----------------------------------------------------------------------------------


async def limited(
    tmp_path: Path, total: int | None, result: ActionResult | None = None
) -> tuple[list[str], str]:
    """The pieces after the header, and their text, of a run whose sections may take so many characters."""
    sinks = Sinks()
    policy = TranscriptPolicy(total_characters=total)
    await run_with(TranscriptOptions(directory=tmp_path, policy=policy, sink=sinks), result=result)
    pieces = sinks.made[0].pieces[1:]
    return pieces, "".join(pieces)


async def test_a_section_that_leaves_no_room_for_the_result_is_left_out_and_counted(tmp_path: Path) -> None:
    whole, _ = await limited(tmp_path, None)
    overview, action, *_, result = whole
    pieces, text = await limited(tmp_path, len(overview) + len(action) + len(result))
    assert pieces[:2] == [overview, action]
    assert len(text) <= len(overview) + len(action) + len(result)
    _, text = await limited(tmp_path, 4000, ActionResult(data=(evidence(),), summary="x" * 4000))
    assert "**Decision transcript sections omitted:** `1`" in text
    assert "### Decision action" not in text
    assert "### Parsed classification" in text


@pytest.mark.parametrize("total", [1, 54, 55, 200, 700])
async def test_a_result_that_does_not_fit_is_cut_and_says_so(total: int, tmp_path: Path) -> None:
    _, text = await limited(tmp_path, total)
    assert len(text) <= total
    assert text.endswith("[decision result omitted due to total transcript limit]"[:total])


async def test_without_a_limit_everything_is_written(tmp_path: Path) -> None:
    _, text = await limited(tmp_path, None)
    assert "omitted" not in text


# -- builders ------------------------------------------------------------------------------------------


class Silent(TranscriptDecorator):
    """Leaves out how a run ended."""

    def result(self, section: Result) -> str:
        return ""


def ended(options: TranscriptOptions, *events: Event) -> RunTranscript:
    """A transcript that was told of a start, these events and an end."""
    tree = tree_of()
    transcript = open_transcript(options, tree.tree_id, SystemClock())
    transcript(
        RunStarted(
            execution_id="e",
            at=AT,
            tree=tree,
            tree_hash="h",
            limits=Limits(),
            parameters={},
            properties={},
            data=(),
        )
    )
    result = RunResult(
        execution_id="e",
        tree_id=tree.tree_id,
        version=1,
        tree_hash="h",
        outcome="Terminal",
        verdict="v",
        error=None,
        failure_kind=None,
        exceeded=None,
        had_unknown=False,
        classifications=(),
        usage=Usage(),
        limits=Limits(),
        state_properties={},
        path=(),
    )
    for event in (*events, RunEnded(execution_id="e", at=AT, result=result)):
        transcript(event)
    return transcript


def test_a_result_counts_as_written_only_where_the_builder_gave_a_text(tmp_path: Path) -> None:
    assert ended(TranscriptOptions(directory=tmp_path)).has_result
    silent = ended(TranscriptOptions(directory=tmp_path, builder=Silent))
    assert silent.status == "Completed"
    assert not silent.has_result


def test_an_empty_section_is_not_appended(tmp_path: Path) -> None:
    sinks = Sinks()
    ended(TranscriptOptions(directory=tmp_path, builder=Silent, sink=sinks))
    assert "" not in sinks.made[0].pieces


def test_a_decorator_may_wrap_another_and_passes_on_every_section() -> None:
    class Marked(TranscriptDecorator):
        def header(self, section: Header) -> str:
            return "> " + super().header(section)

    section = Header("e", datetime(2026, 9, 1, tzinfo=UTC), debug=False, goal="g")
    assert Marked(Marked()).header(section) == "> > " + MarkdownBuilder().header(section)
    own = {name for name in vars(MarkdownBuilder) if not name.startswith("_")}
    assert own == {name for name in vars(TranscriptDecorator) if not name.startswith("_")}


def test_the_log_says_no_more_than_what_kind_of_trouble_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ended(TranscriptOptions(directory=tmp_path, builder=_no_builder))
    assert caplog.messages == ["The run goes on without a transcript: Unavailable (RuntimeError)."]
