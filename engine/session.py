"""A session: the parts a run is made of, put together once and used for many runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import uuid4

from engine.budget import DEFAULT_LIMITS, Clock, Limits, SystemClock
from engine.catalog import Action, Catalog
from engine.checks import Runnable
from engine.conversation import ContextBuilder, Conversation, SlidingConversation, build_context
from engine.data import BoundedDataPolicy, DataPolicy
from engine.deciders import Decider
from engine.deciders.scripted import ScriptedDecider
from engine.events import Observer
from engine.predicates import standard_catalog
from engine.records import Sink, Source, recorded, uuid7
from engine.run import Inputs, Parts, Phase, Run
from engine.transcript import TranscriptOptions, open_transcript
from engine.tree import Tree


def _new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True, kw_only=True)
class Session:
    """Everything a run needs besides its tree and inputs; a part handed over replaces the default.

    Without a decider only pinned answers decide. ``throttle_delay`` is in seconds. Records go to
    ``records``, those of pinned answers only with ``record_scripted``.
    """

    decider: Decider | None = None
    catalog: Catalog = field(default_factory=standard_catalog)
    limits: Limits = DEFAULT_LIMITS
    throttle_delay: float = 0.1
    clock: Clock = field(default_factory=SystemClock)
    data_policy: DataPolicy = field(default_factory=BoundedDataPolicy)
    build_context: ContextBuilder = build_context
    new_conversation: Callable[[], Conversation] = SlidingConversation
    new_id: Callable[[], str] = _new_id
    new_decision_id: Callable[[datetime], str] = uuid7
    records: Sink | None = None
    record_scripted: bool = False
    transcript: TranscriptOptions | None = None

    def with_decider(self, decider: Decider | None) -> "Session":
        """This session with somebody else deciding."""
        return replace(self, decider=decider)

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
        inputs = inputs or Inputs()
        transcript = None
        if self.transcript is not None:
            document = tree.tree if isinstance(tree, Runnable) else tree
            transcript = open_transcript(self.transcript, document.tree_id, self.clock)
        decider: Decider = ScriptedDecider(inputs.pins.answers, inputs.pins.replies, otherwise=self.decider)
        if self.records is not None:
            source = self.decider if isinstance(self.decider, Source) else None
            decider = recorded(
                decider, self.records, source=source, scripted=self.record_scripted, clock=self.clock
            )
        parts = Parts(
            decider=decider,
            new_id=self.new_id,
            new_decision_id=self.new_decision_id,
            catalog=self.catalog.with_actions(actions),
            limits=self.limits,
            throttle_delay=self.throttle_delay,
            clock=self.clock,
            data_policy=self.data_policy,
            build_context=self.build_context,
            new_conversation=self.new_conversation,
        )
        return Run(
            tree,
            inputs,
            parts,
            observers=[*observers, *([] if transcript is None else [transcript])],
            stops_inside=stops_inside,
            transcript=transcript,
        )
