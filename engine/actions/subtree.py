"""The kind that runs another tree: a run within the run, pulled with it and bounded by it."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from engine.actions.work import Place, Refused, Work, read
from engine.analysis import bounds
from engine.budget import Usage
from engine.catalog import ActionContext, ActionResult, ActionStatus, Catalog, LlmCalls
from engine.checks import Runnable, problems_of, runnable
from engine.data import DataItem
from engine.errors import DocumentRefused, cause_of
from engine.events import RunResult
from engine.jsontext import MAX_BYTES
from engine.kinds import SubTree
from engine.run import Caller, Inputs, Run, Stop
from engine.tree import ActionNode, ClassifyNode, Tree
from engine.treefile import Reading, read_tree

DEEPEST: Final = 8
"""How many runs may wait for each other."""


@dataclass(frozen=True, slots=True)
class _File:
    """A tree file as it was when it was looked at."""

    path: Path
    stamp: tuple[int, ...]


_Family: TypeAlias = Mapping[_File, Reading]
"""The tree files a run of an action may come to, the action's own first."""


@dataclass(frozen=True, eq=False)
class SubTreeAction:
    """Runs a tree file of the project, with the catalog of the project.

    The file is read anew when it has changed: what is in it counts when the action is begun.
    """

    key: str
    parameters: SubTree
    place: Place
    _known: dict[tuple[_File, ...], LlmCalls] = field(default_factory=dict, repr=False)

    @property
    def llm_calls(self) -> LlmCalls:
        """The calls one visit makes, by the bounds of the inner tree and within its own budget.

        There are none where it cannot be run, since it then fails at once.
        """
        try:
            family = self.family()
        except Refused:
            return (0, 0)
        files = tuple(family)
        calls = self._known.get(files)
        if calls is None:
            calls = _calls(family[files[0]].tree, self.place.catalog())
            self._known.clear()
            self._known[files] = calls
        return calls

    @property
    def trouble(self) -> str | None:
        """Why it cannot be run as the files are now; None when it can."""
        try:
            for file, reading in self.family().items():
                _proven(reading, self.place.catalog(), file.path.name)
        except Refused as refused:
            return str(refused)
        return None

    @property
    def asks(self) -> bool:
        """Whether a run of it may come to a question."""
        with suppress(Refused):
            nodes = (node for reading in self.family().values() for node in reading.tree.nodes.values())
            return any(isinstance(node, ClassifyNode) for node in nodes)
        return False

    async def execute(self, context: ActionContext) -> ActionResult:
        """Refused: only a run can have a run inside."""
        raise Refused(f"The action '{self.key}' is done only as a part of a run.")

    def begin(self, context: ActionContext, caller: Caller) -> "_Inner":
        """The run of the inner tree."""
        return _Inner(self, Work(self.place, context, caller), caller)

    def family(self) -> _Family:
        """All files it may come to; :class:`Refused` where one of them cannot be read, or leads back."""
        family: dict[_File, Reading] = {}
        self._gather((), family)
        return family

    def _gather(self, above: tuple[_File, ...], family: dict[_File, Reading]) -> None:
        file, reading = self._reading()
        if file in above:
            names = ", ".join(one.path.name for one in (*above[above.index(file) :], file))
            raise Refused(f"These trees would run each other without end: {names}.")
        if len(above) >= DEEPEST:
            raise Refused(f"More than {DEEPEST} trees would wait for each other.")
        if file in family:
            return
        family[file] = reading
        actions = self.place.catalog().actions
        keys = {node.action_key or "" for node in reading.tree.nodes.values() if isinstance(node, ActionNode)}
        for key in sorted(keys):
            inner = actions.get(key)
            if isinstance(inner, SubTreeAction):
                inner._gather((*above, file), family)  # noqa: SLF001 - one of its own kind

    def _reading(self) -> tuple[_File, Reading]:
        shown = self.parameters.tree
        path = self.place.find(".", shown, shown)
        try:
            found = path.stat()
        except OSError as error:
            raise Refused(f"The tree '{shown}' cannot be read: {cause_of(error)}.") from None
        file = _File(path, (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size))
        return file, _read(file, shown)


@lru_cache(maxsize=64)
def _read(file: _File, shown: str) -> Reading:
    try:
        return read_tree(read(file.path, MAX_BYTES, shown))
    except DocumentRefused as refused:
        raise Refused(f"'{shown}' is no tree: {refused}") from None


def _proven(reading: Reading, catalog: Catalog, shown: str) -> Runnable:
    faults = [problem for problem in problems_of(reading, catalog) if problem.severity == "error"]
    if faults:
        raise Refused(f"The tree '{shown}' has errors: {faults[0].message}")
    return runnable(reading.tree, catalog)


def _calls(tree: Tree, catalog: Catalog) -> LlmCalls:
    known = bounds(tree, catalog)
    most = known.limits.llm_calls
    if known.start is None:
        return (0, most)
    calls = known.start.llm_calls
    return (min(calls.min, most), most if calls.max is None else min(calls.max, most))


class _Inner:
    """A run of the inner tree, as the sub-run of an action."""

    def __init__(self, action: SubTreeAction, work: Work, caller: Caller) -> None:
        self._action, self._work, self._caller = action, work, caller
        self._inputs = Inputs()
        self._run: Run | None = None
        self._result: ActionResult | None = None

    @property
    def usage(self) -> Usage:
        return Usage() if self._run is None else self._run.usage

    @property
    def result(self) -> ActionResult:
        if self._result is None:
            raise RuntimeError("It has not ended.")
        return self._result

    def __aiter__(self) -> "_Inner":
        return self

    async def __anext__(self) -> Stop:
        if self._run is None:
            self._run = self._begun(await asyncio.to_thread(self._tree))
        try:
            return await self._run.__anext__()
        except StopAsyncIteration:
            self._result = self._ended(self._run, self._run.result)
            raise

    def cancel(self) -> None:
        if self._run is not None:
            self._run.cancel()

    def _tree(self) -> Runnable:
        if self._caller.depth >= DEEPEST:
            raise Refused(f"{DEEPEST} trees wait for each other already.")
        reading = next(iter(self._action.family().values()))
        return _proven(reading, self._caller.parts.catalog, self._action.parameters.tree)

    def _begun(self, tree: Runnable) -> Run:
        caller, context, asked = self._caller, self._work.context, self._action.parameters
        properties, data = context.properties, tuple(context.data)
        self._inputs = Inputs(
            {
                **context.parameters,
                **{name: self._work.text(text) for name, text in asked.parameters.items()},
            },
            {there: properties[here] for there, here in asked.properties_in.items() if here in properties},
            tuple(_renamed(data, asked.data_in)),
            erasure_key=caller.erasure_key,
        )
        parts = caller.parts
        return Run(
            tree,
            self._inputs,
            replace(parts, decider=parts.sub_decider or parts.decider, sub_decider=None),
            observers=caller.observers,
            stops_inside=caller.stops_inside,
            caller=caller,
        )

    def _ended(self, run: Run, result: RunResult) -> ActionResult:
        asked, tree = self._action.parameters, self._action.parameters.tree
        if result.outcome not in ("Terminal", "Unknown"):
            status: ActionStatus = "transientFailure" if result.failure_kind == "llm" else "permanentFailure"
            return ActionResult(status, error=f"The tree '{tree}' ended as {result.outcome}: {result.error}")
        for here, there in asked.properties_out.items():
            if there in result.state_properties:
                self._work.context.properties[here] = result.state_properties[there]
        added = run.data[len(self._inputs.data) :]
        return ActionResult(
            data=tuple(_renamed(added, asked.data_out)),
            properties={asked.verdict_property: result.verdict or ""},
            summary=f"The tree '{tree}' came to the verdict '{result.verdict}'.",
        )


def _renamed(data: Iterable[DataItem], types: Mapping[str, str]) -> Iterator[DataItem]:
    """The data that is handed over, type by type: each type there is to be, and the one it has."""
    for new, old in types.items():
        yield from (replace(item, type=new) for item in data if item.type == old)
