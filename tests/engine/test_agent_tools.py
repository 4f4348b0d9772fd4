"""Tools: how they are described, filled in, used again, and used once."""

import asyncio
import hashlib
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from engine.agent import (
    Agent,
    AgentContext,
    AgentRequest,
    AgentSettings,
    CacheAwareToolExecutor,
    DefaultToolExecutor,
    FunctionTool,
    IdempotentToolExecutor,
    ToolDefinition,
    ToolInvocation,
    ToolResult,
    tool,
)
from engine.catalog import Catalog
from engine.errors import CatalogError
from tests.engine.agents import DONE, Remembers, agent, calls, ended, request

pytestmark = pytest.mark.anyio


class Sort(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"


async def search(words: str, most: int = 5, sort: Sort = Sort.NEWEST, since: int | None = None) -> object:
    """Search the notes,
    all of them.

    Further words are for programmers.
    """
    return {"found": [words, most, sort, since]}


def used(function: Any = search, **arguments: Any) -> Any:
    return FunctionTool("search", function).invoke(ToolInvocation("search", arguments))


# ------------------------------------------------------------------------------------------ functions


def test_a_function_describes_itself():
    definition = FunctionTool("search", search).definition
    assert (definition.name, definition.description) == ("search", "Search the notes, all of them.")
    assert definition.parameters["required"] == ["words"]
    properties: Any = definition.parameters["properties"]
    assert properties["most"] == {"default": 5, "title": "Most", "type": "integer"}
    assert set(properties) == {"words", "most", "sort", "since"}
    assert "title" not in definition.parameters


def test_a_description_can_be_given():
    assert FunctionTool("search", search, "Finds notes.").definition.description == "Finds notes."


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ({"words": "a"}, '{"found": ["a", 5, "newest", null]}'),
        ({"words": "ü", "most": 2, "sort": "oldest"}, '{"found": ["ü", 2, "oldest", null]}'),
        ({"words": "a", "since": "", "unknown": 1}, '{"found": ["a", 5, "newest", null]}'),
    ],
)
async def test_a_function_gets_its_input_and_gives_json(arguments, output):
    assert await used(**arguments) == ToolResult(output)


async def test_text_and_results_are_given_as_they_are():
    async def says(words: str) -> object:
        return ToolResult(error="none") if words == "fail" else words

    assert await used(says, words="plain") == ToolResult("plain")
    assert await used(says, words="fail") == ToolResult(error="none")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "The input does not fit: 'words' is missing."),
        ({"words": 5, "most": "many"}, "'words' must be text"),
        ({"words": "a", "sort": "odd"}, "'sort' must be 'newest' or 'oldest'"),
    ],
)
async def test_input_that_does_not_fit_is_told_to_the_model(arguments, error):
    result = await used(**arguments)
    assert error in (result.error or "")


def test_a_function_must_be_one_a_model_can_call():
    def plain(words: str) -> str:
        return words

    async def positional(words: str, /) -> str:
        return words

    with pytest.raises(CatalogError, match="'search' must be an 'async def'"):
        _ = FunctionTool("search", plain).definition  # type: ignore[arg-type]
    with pytest.raises(CatalogError, match="parameters of the tool 'search' cannot be understood"):
        _ = FunctionTool("search", positional).definition


# ------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("name", ["", " ", "two words", "a.b", "x" * 65, "ü"])
def test_a_name_no_model_can_be_told_is_refused(name):
    with pytest.raises(CatalogError, match="1 to 64 letters"):
        Agent(tools=(Remembers(name),))


def test_names_that_differ_by_case_alone_are_refused():
    with pytest.raises(CatalogError, match="'Echo' stands twice"):
        Agent(tools=(Remembers("echo"), Remembers("Echo")))


def test_a_module_offers_tools(tmp_path: Path):
    file = tmp_path / "catalog.py"
    file.write_text(
        "from engine.agent import tool\n"
        "@tool('search', timeout=3, requires_approval=True)\n"
        "async def search(words: str) -> str:\n    '''Search.'''\n    return words\n"
    )
    (found,) = Catalog().with_module(file).tools.values()
    expected = ToolDefinition(
        name="search",
        description="Search.",
        parameters=found.definition.parameters,
        timeout=3,
        requires_approval=True,
    )
    assert found.definition == expected
    with pytest.raises(CatalogError, match="stands twice"):
        Catalog().with_module(file).with_module(file)


def test_a_module_whose_tool_cannot_be_called_is_named(tmp_path: Path):
    file = tmp_path / "catalog.py"
    file.write_text("from engine.agent import tool\n@tool('search')\ndef search(words): ...\n")
    with pytest.raises(CatalogError, match=r"catalog\.py: The tool 'search' must be an 'async def'"):
        Catalog().with_module(file)


async def test_a_decorated_function_is_still_a_function():
    @tool("double")
    async def double(number: int) -> int:
        return number * 2

    assert await double(4) == 8


def test_what_is_said_of_a_tool_has_defaults():
    bare = ToolDefinition(name="a")
    assert (bare.description, bare.parameters) == ("", {"type": "object", "properties": {}})
    assert (bare.timeout, bare.requires_approval, bare.parallelizable, bare.tags) == (None, False, False, ())
    assert {bare.category, bare.version, bare.cost_per_call, bare.danger_level, bare.authentication} == {None}


# ------------------------------------------------------------------------------------------ using them


def context(execution: str = "e1", parameters: dict[str, Any] | None = None, **settings: Any) -> AgentContext:
    asked = AgentRequest("goal", parameters=parameters or {})

    async def ask(_messages):
        raise AssertionError

    return AgentContext(
        execution, asked, "default", AgentSettings(**settings).within(asked.parameters), {}, ask
    )


class Hangs:
    """A tool that never comes back."""

    def __init__(self, timeout: float | None = None) -> None:
        self.definition = ToolDefinition(name="hangs", timeout=timeout)
        self.tries = 0
        self.asked = asyncio.Event()

    async def invoke(self, invocation: ToolInvocation) -> ToolResult:
        self.tries += 1
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("own", "given", "settings", "seconds"),
    [
        (0.01, {}, {}, "0.01"),
        (None, {}, {"tool_timeout_seconds": 0.02}, "0.02"),
        (0.01, {}, {"tool_timeout_seconds": 9}, "0.01"),
        (9, {"tool_timeout_seconds": 0.01}, {"tool_timeout_seconds": 9}, "0.01"),
    ],
)
async def test_the_time_out_is_that_of_the_request_else_the_tool_else_the_settings(
    own, given, settings, seconds
):
    result = await DefaultToolExecutor().execute(
        Hangs(own), ToolInvocation("hangs"), context(parameters=given, **settings)
    )
    assert result == ToolResult(error=f"Tool timed out after {seconds} s.")


async def test_time_outs_and_exceptions_are_tried_again_and_failures_are_not():
    hangs = Hangs(0.01)
    await DefaultToolExecutor().execute(hangs, ToolInvocation("hangs"), context(tool_max_retries=2))
    assert hangs.tries == 3
    mended = Remembers("t", RuntimeError("odd"), "fine")
    result = await DefaultToolExecutor().execute(mended, ToolInvocation("t"), context(tool_max_retries=1))
    assert (result, len(mended.invocations)) == (ToolResult("fine"), 2)
    failing = Remembers("t", ToolResult(error="no"), "fine")
    result = await DefaultToolExecutor().execute(failing, ToolInvocation("t"), context(tool_max_retries=1))
    assert (result, len(failing.invocations)) == (ToolResult(error="no"), 1)


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (RuntimeError("odd"), "Exception: odd"),
        (KeyError(), "Exception: KeyError"),
        (TimeoutError("inside"), "Exception: inside"),
        (SystemExit("bye"), "Exception: bye"),
        (asyncio.CancelledError(), "Exception: the tool was cancelled from inside."),
    ],
)
async def test_whatever_a_tool_raises_is_told_to_the_model(raised, error):
    result = await DefaultToolExecutor().execute(Remembers("t", raised), ToolInvocation("t"), context())
    assert result.error == error


async def test_a_tool_that_gives_no_result_has_failed():
    class Odd(Remembers):
        async def invoke(self, invocation):
            return "text"

    result = await DefaultToolExecutor().execute(Odd("t"), ToolInvocation("t"), context())
    assert result.error == "Exception: the tool returned no result."


async def test_a_cancellation_of_the_caller_is_passed_on():
    hangs = Hangs()
    task = asyncio.create_task(
        DefaultToolExecutor().execute(hangs, ToolInvocation("hangs"), context(tool_max_retries=5))
    )
    await hangs.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert hangs.tries == 1


# ------------------------------------------------------------------------------------------ once only


async def test_a12_the_same_call_is_made_once_in_a_scope_and_failures_are_not_kept():
    once = IdempotentToolExecutor()
    assert isinstance(once, CacheAwareToolExecutor)
    assert not isinstance(DefaultToolExecutor(), CacheAwareToolExecutor)
    works = Remembers("t", "1", "2")
    same = [ToolInvocation("t", {"a": 1, "b": 2}), ToolInvocation("t", {"b": 2, "a": 1})]
    assert await once.cached(works, same[0], context()) is None
    first, second = [await once.execute(works, each, context()) for each in same]
    assert (first, second, len(works.invocations)) == (ToolResult("1"), ToolResult("1"), 1)
    assert await once.cached(works, same[1], context()) == ToolResult("1")
    assert await once.execute(works, same[0], context("e2")) == ToolResult("2")
    fails = Remembers("f", ToolResult(error="no"), "fine")
    assert [(await once.execute(fails, ToolInvocation("f"), context())).success for _ in range(3)] == [
        False,
        True,
        True,
    ]
    assert len(fails.invocations) == 2


async def test_an_id_says_that_two_calls_are_the_same_and_a_scope_can_be_forgotten():
    once, works = IdempotentToolExecutor(scope=lambda _: "shared"), Remembers("t", "1", "2")
    for arguments in ({"a": 1}, {"a": 2}):
        result = await once.execute(works, ToolInvocation("t", arguments, "id-1"), context())
        assert result == ToolResult("1")
    once.forget("other")
    assert await once.cached(works, ToolInvocation("t", {}, "id-1"), context("e2")) == ToolResult("1")
    once.forget("shared")
    assert await once.execute(works, ToolInvocation("t", {}, "id-1"), context()) == ToolResult("2")


async def test_the_key_of_a_call_is_scope_tool_and_digest():
    once, works = IdempotentToolExecutor(), Remembers("t")
    given: list[dict[str, Any]] = [{}, {"b": [1, "ü"], "a": "x"}]
    for arguments in given:
        await once.execute(works, ToolInvocation("t", arguments), context())
    await once.execute(works, ToolInvocation("t", {}, "id-1"), context())
    pairs = 'a="x"&b=[1,"\\u00fc"]'
    digest = hashlib.sha256(pairs.encode()).hexdigest()[:16].upper()
    assert list(once._kept) == ["e1:t:empty", f"e1:t:{digest}", "e1:id-1"]


async def test_of_two_calls_at_once_the_first_result_is_kept():
    gate = asyncio.Event()

    class Waits(Remembers):
        async def invoke(self, invocation):
            result = await super().invoke(invocation)
            await gate.wait()
            return result

    once, waits = IdempotentToolExecutor(), Waits("t", "1", "2")
    both = [asyncio.create_task(once.execute(waits, ToolInvocation("t"), context())) for _ in range(2)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*both) == [ToolResult("1"), ToolResult("1")]


async def test_only_the_newest_results_are_kept():
    once, works = IdempotentToolExecutor(most=2), Remembers("t")
    for number in range(3):
        await once.execute(works, ToolInvocation("t", {"n": number}), context())
    kept = [await once.cached(works, ToolInvocation("t", {"n": number}), context()) for number in range(3)]
    assert kept == [None, ToolResult("done"), ToolResult("done")]


async def test_a12_in_a_run_a_repeated_call_is_made_once_and_another_run_makes_it_again():
    echo = Remembers("echo")
    made = agent(
        [calls(("echo", {"a": 1})), calls(("echo", {"a": 1})), DONE] * 2,
        tools=(echo,),
        executor=IdempotentToolExecutor(),
    )
    for uses in (1, 2):
        await ended(made)
        assert len(echo.invocations) == uses


# ------------------------------------------------------------------------------------------ approval


@pytest.mark.parametrize(("approved", "uses"), [(None, 0), (False, 0), (True, 1)])
async def test_a_tool_that_needs_an_approval_is_used_only_with_one(approved, uses):
    asked = []

    async def approve(invocation, context):
        asked.append(invocation.tool)
        return approved

    risky = Remembers("risky", requires_approval=True)
    made = agent([calls("risky"), DONE], tools=(risky,), approve=None if approved is None else approve)
    result = await ended(made)
    assert len(risky.invocations) == uses
    failed = "  risky failed: This tool needs an approval, which was not given."
    assert (failed in result.steps) is not bool(uses)
    assert ("Calling tool risky({})" in result.steps) is bool(uses)
    assert result.tool_calls == uses


async def test_a_request_says_how_often_a_tool_is_tried():
    flaky = Remembers("flaky", RuntimeError("odd"), "fine")
    made = agent([calls("flaky"), DONE], tools=(flaky,))
    result = await ended(made, request(parameters={"tool_max_retries": 1}))
    assert "  flaky succeeded: fine" in result.steps
