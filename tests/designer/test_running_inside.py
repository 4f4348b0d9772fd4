"""Inside an action that is no tree: any run within a run that says where it stops can be stepped through."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from designer.document.document import Document
from designer.document.draft import Draft
from designer.running import RunState, inside_words
from designer.tasks import cancel_all
from designer.workbench import Workbench
from engine import ActionContext, ActionResult, Caller, Phase, Stop, Usage
from tests.builders import action, terminal, tree
from tests.designer.waiting import until

TREE = tree(help=action("help", success="end"), end=terminal("end"))


class Turns:
    """Uses a tool twice, and stops before and after each use where somebody wants that."""

    usage = Usage()
    result = ActionResult(properties={"done": "yes"})

    def __init__(self, wanted: tuple[Phase, ...]) -> None:
        self._stops = self._all(wanted)

    async def _all(self, wanted: tuple[Phase, ...]) -> AsyncIterator[Stop]:
        for turn in (1, 2):
            for phase in wanted:
                if phase != "inside":
                    yield Stop("helper", phase, turn)

    def __aiter__(self) -> "Turns":
        return self

    async def __anext__(self) -> Stop:
        return await anext(self._stops)

    def cancel(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class Helper:
    key: str = "help"
    llm_calls: tuple[int, int] = (0, 0)

    async def execute(self, context: ActionContext) -> ActionResult:
        raise NotImplementedError

    def begin(self, context: ActionContext, caller: Caller) -> Turns:
        return Turns(caller.stops_inside)


def test_each_use_of_a_tool_can_be_stepped_to_and_all_of_them_passed(
    bench: Workbench, aloop: asyncio.AbstractEventLoop
):
    document = Document(Draft(TREE))
    bench.add(document)
    document.catalog = document.catalog.with_actions([Helper()])
    running = bench.running

    async def paused(words: str) -> None:
        await until(lambda: running.state is RunState.PAUSED and inside_words(running.inside) == words)
        assert running.at == "help"

    async def story() -> None:
        running.step_into(document)
        await paused("")
        for words in ("before it uses a tool", "after it has used a tool") * 2:
            running.step_into(document)
            await paused(f"inside it 'helper' {words}")
        running.step_out()
        await until(lambda: running.at == "end")
        assert running.inside == ()
        running.cancel()
        await running.ended()
        running.step(document)
        await paused("")
        running.step(document)
        await until(lambda: running.at == "end")
        assert running.trail.properties == {"done": "yes"}
        running.resume()
        await running.ended()
        await cancel_all()

    aloop.run_until_complete(story())
