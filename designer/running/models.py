"""The model that is asked live: which one it is for a tree, asking it in a run, and trying it out."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from designer.document.names import one_line
from designer.tasks import aside
from engine import (
    UNKNOWN,
    AskedModel,
    Budget,
    Call,
    ClassifyNode,
    Decider,
    DeciderName,
    DeciderRefused,
    DeciderSettings,
    Decision,
    LlmError,
    NodeId,
    Project,
    Question,
    Session,
    TerminalNode,
    TimeSpan,
    Transition,
    Tree,
    model_of,
    settings_of,
)

_WORDS: Final = 120
"""Characters of a name or an address that are shown."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model that is asked for the trees of a project, None for none.

    ``withheld`` is the model of a project whose folder is not trusted; it is not asked. ``trouble`` says why
    what a project says of its model is of no use.
    """

    settings: DeciderSettings | None = None
    project: Project = field(default_factory=Project)
    withheld: DeciderSettings | None = None
    trouble: str | None = None

    @property
    def name(self) -> str:
        """What the model is called; empty for none."""
        return name_of(self.settings) if self.settings else ""


def choose_model(
    project: Project, own: DeciderSettings, *, trusted: bool, trouble: str | None = None
) -> ModelChoice:
    """The model of a project, else the person's own.

    A project nobody trusts has its model asked only where the person has that very address set up, and then
    with the person's key: else it could have texts, or a key, sent to where it likes. One that has words
    counted sends nothing. ``trouble`` says why the project could not be read.
    """
    mine = own if names_a_model(own) else None
    try:
        theirs = settings_of(project.decider)
        if mine is not None and not trusted and _same_place(theirs, mine):
            theirs = settings_of(project.decider, {"baseUrl": mine.base_url, "keyEnv": mine.key_env})
            trusted = True
    except DeciderRefused as refused:
        place = refused.problem(project)
        return ModelChoice(mine, project, trouble=f"treewright.json, line {place.line}: {refused}")
    if theirs.kind is DeciderName.ask:
        return ModelChoice(mine, project, trouble=trouble)
    if not trusted and theirs.kind is not DeciderName.heuristic:
        return ModelChoice(mine, project, withheld=theirs)
    return ModelChoice(theirs, project)


def names_a_model(settings: DeciderSettings) -> bool:
    """Whether a model is named completely enough to be asked."""
    return settings.kind is not DeciderName.ask and all(_usual(settings))


def name_of(settings: DeciderSettings) -> str:
    """What the model of these settings is called."""
    return one_line(_usual(settings)[1], _WORDS) or settings.kind


def place_of(settings: DeciderSettings) -> str:
    """Where these settings have questions sent."""
    return one_line(_usual(settings)[0], _WORDS) or settings.kind


def _usual(settings: DeciderSettings) -> tuple[str, str]:
    """Address and name of the model; for a decision model those of its provider, unless others are given."""
    url, model = settings.base_url or "", settings.model or ""
    if settings.kind is DeciderName.heuristic:
        return "this computer", "words in common"
    if not settings.kind.is_decision_model:
        return url, model
    from engine import PROFILES

    profile = PROFILES[settings.kind]
    return url or profile.base_url or "", model or profile.model or ""


def _same_place(one: DeciderSettings, other: DeciderSettings) -> bool:
    return one.kind is other.kind and (one.base_url or "").rstrip("/") == (other.base_url or "").rstrip("/")


# -- asking --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waiting:
    """A model that was asked and has not answered yet; ``since`` is a moment of the monotonic clock."""

    model: str
    node: NodeId
    since: float

    @property
    def seconds(self) -> float:
        """How long it has been waited for."""
        return time.monotonic() - self.since


class LiveModel:
    """The decider of one run. The key is looked up and the client made when the first question comes.

    So a run that is all pinned needs neither. ``heard`` is told of each call of a language model. Close it
    when the run is over.
    """

    def __init__(self, choice: ModelChoice, heard: Callable[[Call], None] | None = None) -> None:
        self._choice, self._heard = choice, heard
        self._model: AskedModel | None = None
        self._decider: Decider | None = None
        self.waiting: Waiting | None = None
        """Whom this run waits for now."""

    def for_run(self) -> "LiveModel":
        """Itself: it is made for one run."""
        return self

    async def decide(self, question: Question) -> Decision:
        """Ask the model. ``LlmError`` also where it is not set up as it should be."""
        self.waiting = Waiting(self._choice.name, question.node, time.monotonic())
        try:
            if self._decider is None:
                self._decider = await self._opened()
            return await self._decider.decide(question)
        finally:
            self.waiting = None

    async def close(self) -> None:
        """Give back connections."""
        if self._model is not None:
            await self._model.close()

    async def _opened(self) -> Decider:
        settings, trees = self._choice.settings or DeciderSettings(), self._choice.project.trees
        # A keyring may ask the person to be unlocked, and the window must not stand still meanwhile.
        make = partial(model_of, settings, trees, trusted=True, on_call=self._heard)
        try:
            self._model = await aside(make)
        except DeciderRefused as refused:
            raise LlmError(str(refused), kind="request", transient=False) from None
        return self._model.decider.for_run()


# -- trying out ----------------------------------------------------------------------------------------

_SECONDS: Final = 60


def _trial() -> Tree:
    branches = tuple(Transition(condition=each, next_node_id="end") for each in ("yes", "no", UNKNOWN))
    question = ClassifyNode(task="Is water wet?", answers=("yes", "no"), transitions=branches)
    return Tree(
        tree_id="trial",
        version=1,
        start_node_id="question",
        task="Answer a simple question.",
        budget=Budget(max_llm_calls=2, max_elapsed_time=TimeSpan.of_seconds(_SECONDS)),
        nodes={"question": question, "end": TerminalNode(verdict="done")},
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of asking a model one small question. ``failure`` is what kept it from being asked."""

    seconds: float
    answer: str | None = None
    tokens: int = 0
    failure: str | None = None


async def try_out(settings: DeciderSettings) -> Trial:
    """Ask a model one small question, as a run would; cancel the task to give the request up."""
    began, live = time.monotonic(), LiveModel(ModelChoice(settings))
    run = Session(decider=live).start(_trial())
    try:
        result = await run.finish()
    finally:
        await live.close()
    if result.outcome == "Cancelled":
        raise asyncio.CancelledError
    seconds = time.monotonic() - began
    failed = result.outcome != "Terminal" and not result.classifications
    return Trial(
        seconds,
        next((each.answer for each in result.classifications), None),
        result.usage.total_tokens,
        (result.error or result.outcome) if failed else None,
    )
