"""The lines people read while an agent works, byte for byte."""

import pytest

from engine.agent import IdempotentToolExecutor, ToolCompleted, ToolResult, ToolStarted
from engine.agent.progress import calling, came_back, content, decision
from engine.llm import Completion
from tests.engine.agents import DONE, Remembers, agent, calls, client_of, ended, events, lines, names, of

pytestmark = pytest.mark.anyio

PAGE = "## Pricing Plans\nFree, Pro"
URL = {"url": "https://test.example.com/pricing"}


async def test_the_lines_of_a_run_are_those_of_the_table():
    fetch = Remembers("fetch_url", PAGE, ToolResult(error="timeout"))
    made = agent(
        [
            calls(("fetch_url", URL), content="Let me check the pricing page directly"),
            calls(("fetch_url", URL)),
            Completion(None),
            DONE,
        ],
        tools=(fetch,),
        settings={"model": "configured-model"},
    )
    run = await events(made)
    assert lines(run) == [
        "  Let me check the pricing page directly",
        '  [configured-model] Decision: fetch_url — "https://test.example.com/pricing"',
        'Calling tool fetch_url({"url":"https://test.example.com/pricing"})',
        "  fetch_url succeeded: ## Pricing Plans",
        '  [configured-model] Decision: fetch_url — "https://test.example.com/pricing"',
        'Calling tool fetch_url({"url":"https://test.example.com/pricing"})',
        "  fetch_url failed: timeout",
        "Turn 2 produced no content and no tool calls.",
        "LLM returned final response.",
    ]
    assert run[-1].result.steps == tuple(lines(run))


async def test_a5_a_cached_result_is_no_use_of_the_tool_and_the_model_gets_all_of_it():
    long = PAGE + "x" * 500
    fetch = Remembers("fetch_url", long)
    made = agent(
        [calls(("fetch_url", URL)), calls(("fetch_url", URL)), DONE],
        tools=(fetch,),
        executor=IdempotentToolExecutor(),
    )
    run = await events(made)
    assert lines(run)[3:] == [
        '  [LLM] Decision: fetch_url — "https://test.example.com/pricing"',
        "  fetch_url reused cached result: ## Pricing Plans",
        "LLM returned final response.",
    ]
    assert (len(fetch.invocations), run[-1].result.tool_calls) == (1, 1)
    assert (len(of(ToolStarted, run)), len(of(ToolCompleted, run))) == (1, 1)
    assert client_of(made).requests[-1].messages[-1].content == long
    # The cached call adds no event of any kind to those of an answer: calls, chunks and lines are all.
    after = names(run)[names(run).index("ToolCompleted") + 1 :]
    assert set(after) == {"TurnStarted", "LlmCalled", "LlmCallCompleted", "ModelChunk", "AgentRunCompleted"}


async def test_a_cached_failure_is_said_to_be_one():
    class Kept:
        async def execute(self, tool, invocation, context):
            raise AssertionError

        async def cached(self, tool, invocation, context):
            return ToolResult(error="gone")

    result = await ended(agent([calls("echo"), DONE], tools=(Remembers("echo"),), executor=Kept()))
    assert result.steps[1] == "  echo reused cached failure: gone"


async def test_a6_without_a_model_the_label_is_llm():
    result = await ended(agent([calls(("echo", {"n": 1})), DONE], tools=(Remembers("echo"),)))
    assert result.steps[0] == '  [LLM] Decision: echo — "1"'


async def test_a3_long_content_beside_calls_is_cut():
    result = await ended(agent([calls("echo", content="r" * 600), DONE], tools=(Remembers("echo"),)))
    assert (len(result.steps[0]), result.steps[0][:3], result.steps[0][-4:]) == (505, "  r", "r...")


async def test_a4_long_output_is_shown_by_100_characters_of_its_first_line():
    made = agent([calls("echo"), DONE], tools=(Remembers("echo", "o" * 150),))
    result = await ended(made)
    preview = result.steps[2].removeprefix("  echo succeeded: ")
    assert (len(preview), preview) == (100, "o" * 97 + "...")
    assert client_of(made).requests[-1].messages[-1].content == "o" * 150


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, None),
        (" \n ", None),
        ("  a\nb  ", "  a\nb"),
        ('{"reasoning": " I will look. ", "x": 1}', "  I will look."),
        ('{"reasoning": 5}', '  {"reasoning": 5}'),
        ('{"reasoning": ""}', None),
        ('{"reasoning"', '  {"reasoning"'),
        ('["reasoning"]', '  ["reasoning"]'),
        ("r" * 500, "  " + "r" * 500),
    ],
)
def test_of_a_json_object_with_reasoning_only_that_is_shown(text, line):
    assert content(text) == line


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"path": "p", "query": "q", "uri": "i", "url": "u"}, '"u"'),
        ({"path": "p", "query": "q", "uri": "i"}, '"i"'),
        ({"path": "p", "query": "q"}, '"q"'),
        ({"a": "first", "path": "p"}, '"p"'),
        ({"url": {"a": 1}, "b": "second", "B": "capital"}, '"capital"'),
        ({"z": 1.5, "y": ["no"]}, '"1.5"'),
        ({"z": True}, '"true"'),
        ({"a": ""}, '""'),
        ({"a": 'say "hi" \\ now'}, r'"say \"hi\" \\ now"'),
        ({"a": " two\r\nlines "}, '"two  lines"'),
        ({"a": "x" * 200}, '"' + "x" * 200 + '"'),
        ({"a": "x" * 201}, '"' + "x" * 197 + '..."'),
        ({}, "(no scalar argument)"),
        ({"a": [1], "b": {"c": 2}}, "(no scalar argument)"),
    ],
)
def test_a_decision_names_the_argument_that_says_most(arguments, shown):
    assert decision("m", "tool", arguments) == f"  [m] Decision: tool — {shown}"


@pytest.mark.parametrize(("model", "label"), [(None, "LLM"), (" ", "LLM"), (" m ", "m")])
def test_a_decision_names_the_model(model, label):
    assert decision(model, "tool", {"a": 1}) == f'  [{label}] Decision: tool — "1"'


def test_a_call_shows_its_arguments_as_compact_json():
    assert calling("t", {"a": "ü", "b": [1, {"c": None}]}) == 'Calling tool t({"a":"ü","b":[1,{"c":null}]})'
    assert calling("t", {}) == "Calling tool t({})"


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        (None, ""),
        ("", ""),
        (" \n ", ""),
        ("\nsecond", ""),
        ("  first  \r\nsecond", ": first"),
        ("o" * 100, ": " + "o" * 100),
        ("o" * 101, ": " + "o" * 97 + "..."),
    ],
)
@pytest.mark.parametrize(("cached", "verb"), [(False, "succeeded"), (True, "reused cached result")])
def test_a_result_is_shown_by_its_first_line(output, summary, cached, verb):
    assert came_back("t", ToolResult(output), cached=cached) == f"  t {verb}{summary}"
