"""The actions made of what a project file says."""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass

from engine.actions import asking, files, texts, web  # noqa: F401 - each registers what its kinds do
from engine.actions.subtree import SubTreeAction
from engine.actions.work import Place, Refused, Work, act
from engine.budget import Usage
from engine.catalog import Action, ActionContext, ActionResult, LlmCalls
from engine.kinds import ListFolder, LoadRows, Parameters, ReadFile, SubTree, parameters_of
from engine.run import Caller, Stop
from engine.tree import Json


def made(key: str, entry: Mapping[str, Json], place: Place) -> Action:
    """The action an entry of a project file describes, which has no misfits."""
    parameters = parameters_of(entry)
    if isinstance(parameters, SubTree):
        return SubTreeAction(key, parameters, place)
    return ProjectAction(key, parameters, place)


@dataclass(frozen=True, slots=True)
class ProjectAction:
    """An action that is one coroutine: it asks no model, and there is no place inside to stop at."""

    key: str
    parameters: Parameters
    place: Place
    llm_calls: LlmCalls = (0, 0)

    @property
    def trouble(self) -> str | None:
        """Why it would fail at once, wherever it looks: its folder is not open to it."""
        if isinstance(self.parameters, ReadFile | ListFolder | LoadRows):
            try:
                self.place.root(self.parameters.folder)
            except Refused as refused:
                return str(refused)
        return None

    async def execute(self, context: ActionContext) -> ActionResult:
        """Do it on its own, outside of a run."""
        return await act(self.parameters, Work(self.place, context))

    def begin(self, context: ActionContext, caller: Caller) -> "_Whole":
        """Do it as a part of a run."""
        return _Whole(act(self.parameters, Work(self.place, context, caller)))


class _Whole:
    """A sub-run that goes from its beginning to its end."""

    usage = Usage()

    def __init__(self, work: Coroutine[object, None, ActionResult]) -> None:
        self._work = work
        self._result: ActionResult | None = None

    @property
    def result(self) -> ActionResult:
        if self._result is None:
            raise RuntimeError("It has not ended.")
        return self._result

    def __aiter__(self) -> "_Whole":
        return self

    async def __anext__(self) -> Stop:
        self._result = await self._work
        raise StopAsyncIteration

    def cancel(self) -> None:
        self._work.close()
