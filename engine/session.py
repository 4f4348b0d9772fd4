"""A session: the parts a run is made of, put together once and used for many runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from secrets import token_hex
from types import MappingProxyType
from typing import Final

from engine.budget import DEFAULT_LIMITS, Clock, Limits, SystemClock
from engine.catalog import Action, Catalog, Person
from engine.checks import Runnable
from engine.conversation import ContextBuilder, Conversation, SlidingConversation, build_context
from engine.data import BoundedDataPolicy, DataPolicy
from engine.deciders import Decider
from engine.deciders.scripted import ScriptedDecider
from engine.deciders.text import TextDecider
from engine.errors import LlmError
from engine.events import Observer
from engine.events.journal import Journal, Publisher, observers_of
from engine.llm import Completion, LlmClient, Request
from engine.llm.deadline import TimedClient
from engine.llm.failover import Pipeline
from engine.predicates import standard_catalog
from engine.records import DecisionRecorder, Source, recorded, uuid7
from engine.run import Inputs, Parts, Phase, Pins, Run
from engine.transcript import TranscriptOptions, open_transcript
from engine.tree import Tree


def _new_id() -> str:
    return token_hex(16)


@dataclass(frozen=True, kw_only=True)
class Session:
    """Everything a run needs besides its tree and inputs; a part handed over replaces the default.

    Who decides what is not pinned: the ``decider``, else a text model reached through the ``pipeline``, else
    one asked by the ``client``, with failover when ``model`` and ``fallbacks`` are both named; else nobody.
    Where two of these are handed over, the first in this order counts. Each completion of the client may take
    ``call_timeout`` seconds.

    ``throttle_delay`` and ``retry_delay`` are in seconds: the wait of a throttled run that has passed a
    limit, and the wait before a failure of the moment leads back to a node that was visited before.
    ``new_conversation`` makes a conversation for each run (``TypeError`` for one that is made already). The
    ``journal`` is given every event before the ``publisher`` and anybody else. Decisions go to the
    ``recorder``, pinned ones only with ``record_scripted``; who made the recorder closes it. Actions that ask
    somebody ask the ``person``; without one they fail.
    """

    client: LlmClient | None = None
    model: str | None = None
    fallbacks: tuple[str, ...] = ()
    pipeline: Pipeline | None = None
    call_timeout: float = 60.0
    decider: Decider | None = None
    catalog: Catalog = field(default_factory=standard_catalog)
    limits: Limits = DEFAULT_LIMITS
    throttle_delay: float = 0.1
    retry_delay: float = 0.0
    clock: Clock = field(default_factory=SystemClock)
    data_policy: DataPolicy = field(default_factory=BoundedDataPolicy)
    build_context: ContextBuilder = build_context
    new_conversation: Callable[[], Conversation] = SlidingConversation
    new_id: Callable[[], str] = _new_id
    new_decision_id: Callable[[datetime], str] = uuid7
    journal: Journal | None = None
    publisher: Publisher | None = None
    trace_id: str | None = None
    correlation_id: str | None = None
    person: Person | None = None
    recorder: DecisionRecorder | None = None
    record_scripted: bool = False
    transcript: TranscriptOptions | None = None

    def __post_init__(self) -> None:
        if not callable(self.new_conversation):
            raise TypeError("Each run needs a conversation of its own: hand over a factory that makes one.")

    def start(
        self,
        tree: Tree | Runnable,
        inputs: Inputs | None = None,
        *,
        actions: Iterable[Action] = (),
        observers: Iterable[Observer] = (),
        stops_inside: Iterable[Phase] = (),
    ) -> Run:
        """A run that has not begun: pull it. The actions are instances of this run only.

        A tree with errors gives a run that ends ``ValidationFailed`` without a visit. Raises
        ``CatalogError`` when an action repeats a key.
        """
        inputs, parts = inputs or _NOTHING, self._parts
        if inputs.pins.answers or inputs.pins.replies:
            # Pins name nodes of this tree; one that an action runs may have others of the same name.
            parts = replace(parts, decider=self._deciding(inputs.pins), sub_decider=parts.decider)
        if actions:
            parts = replace(parts, catalog=self.catalog.with_actions(actions))
        transcript = None
        if self.transcript is not None:
            document = tree.tree if isinstance(tree, Runnable) else tree
            transcript = open_transcript(self.transcript, document.tree_id, self.clock)
        return Run(
            tree,
            inputs,
            parts,
            observers=[
                *observers_of(self.journal, self.publisher),
                *observers,
                *([] if transcript is None else [transcript]),
            ],
            stops_inside=stops_inside,
            transcript=transcript,
        )

    @cached_property
    def _parts(self) -> Parts:
        return Parts(
            decider=self._deciding(Pins()),
            new_id=self.new_id,
            new_decision_id=self.new_decision_id,
            catalog=self.catalog,
            limits=self.limits,
            throttle_delay=self.throttle_delay,
            retry_delay=self.retry_delay,
            clock=self.clock,
            data_policy=self.data_policy,
            build_context=self.build_context,
            new_conversation=self.new_conversation,
            trace_id=self.trace_id,
            correlation_id=self.correlation_id,
            person=self.person,
        )

    @cached_property
    def _asked(self) -> Decider | None:
        if self.decider is not None:
            return self.decider
        if self.client is None and self.pipeline is None:
            return None
        client = _Nameless() if self.client is None else TimedClient(self.client, self.call_timeout)
        return TextDecider(client, self.model, self.fallbacks, pipeline=self.pipeline)

    def _deciding(self, pins: Pins) -> Decider:
        decider = self._asked
        if decider is None or pins.answers or pins.replies:
            decider = ScriptedDecider(pins.answers, pins.replies, otherwise=decider)
        if self.recorder is None:
            return decider
        return recorded(
            decider,
            self.recorder,
            source=_source(self._asked),
            scripted=self.record_scripted,
            clock=self.clock,
        )


_NOTHING: Final = Inputs(MappingProxyType({}), MappingProxyType({}))


def _source(asked: object) -> Source | None:
    """Who is asked, where it can say so."""
    return asked if isinstance(asked, Source) else None


class _Nameless:
    """Stands where a pipeline was handed over and no client: it has no name and is never asked."""

    provider, endpoint, model = "pipeline", "", ""

    async def complete(self, request: Request) -> Completion:
        raise LlmError("There is no client.", kind="request", transient=False)

    async def close(self) -> None:
        """Nothing is open."""
