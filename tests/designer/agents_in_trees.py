"""A tree one of whose actions is an agent, for tests of what is shown of that."""

from collections.abc import Callable
from typing import Any

from designer.document.document import Document
from designer.document.draft import Draft, Place
from designer.workbench import Workbench
from engine import ActionContext, ActionResult, Caller, Stop, Usage, standard_catalog
from engine.agent import Agent, AgentRequest, AgentRun
from tests.builders import action, terminal, tree

TREE = tree(
    look=action("research", success="again", permanent="lost", name="Look it up"),
    again=action("research", success="end", permanent="lost", name="Look once more"),
    end=terminal("found"),
    lost=terminal("lost"),
)


class _Step:
    """A run of an agent as a step of a tree's."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run

    def __aiter__(self) -> "_Step":
        return self

    async def __anext__(self) -> Stop:
        return await self._run.__anext__()

    def cancel(self) -> None:
        self._run.cancel()

    @property
    def usage(self) -> Usage:
        return self._run.usage

    @property
    def result(self) -> ActionResult:
        found = self._run.result
        if found.success:
            return ActionResult(summary=found.output)
        return ActionResult("permanentFailure", error=found.reasoning)


class Research:
    """An action that is an agent: another one each time it is done, if there are several."""

    key, llm_calls = "research", (0, 20)

    def __init__(self, *agents: Agent | Callable[[], Agent], **request: Any) -> None:
        self._agents, self._request = list(agents), request

    async def execute(self, context: ActionContext) -> ActionResult:
        raise NotImplementedError

    def begin(self, _context: ActionContext, caller: Caller) -> _Step:
        made = self._agents.pop(0) if len(self._agents) > 1 else self._agents[0]
        run = (made if isinstance(made, Agent) else made()).start(
            AgentRequest("What does it cost?", **self._request),
            max_llm_calls=caller.left.llm_calls,
            observers=caller.observers,
            stops_inside=caller.stops_inside,
        )
        return _Step(run)


def document_of(bench: Workbench, *agents: Agent | Callable[[], Agent], **request: Any) -> Document:
    """An open document of the tree whose two actions are these agents."""
    places = {node: Place(330 * number, 0) for number, node in enumerate(TREE.nodes)}
    document = Document(Draft(TREE, places))
    bench.add(document)
    document.catalog = standard_catalog().with_actions([Research(*agents, **request)])
    return document
