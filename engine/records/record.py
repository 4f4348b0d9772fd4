"""What is kept of a decision, what later became of it, and the wish to forget it: frozen values.

A value that could not be written is refused when it is made (``ValueError``), so that every value has a line.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from engine.deciders import ProbabilitySource, UnknownReason
from engine.deciders.asked import Answer, AskedQuestion, ErrorKind, TokenUsage
from engine.jsontext import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlace:
    """Where in which run a decision was made, and what the run did with it.

    The recorded answer is what the model said, ``transition`` what the run followed. ``llm_calls`` and
    ``failover`` say what it took.
    """

    tree_id: str
    tree_version: int
    tree_hash: str | None = None
    execution_id: str = field(repr=False)
    node: str
    visit: int
    transition: str | None = None
    unknown_reason: UnknownReason | None = None
    min_confidence: float | None = None
    probability_source: ProbabilitySource | None = None
    stated_confidence: str | None = None
    llm_calls: int = 1
    failover: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One decision: what was asked about which state, and either the answers or why there are none.

    Questions are in the order they were asked. ``state`` is text, an object or an array, already redacted.
    """

    decision_id: str = field(repr=False)
    erasure_key: str | None = field(default=None, repr=False)
    started: datetime
    latency_ms: float
    provider: str
    endpoint: str
    default_model: str
    requested_model: str | None = None
    served_model: str | None = None
    response_id: str | None = None
    upstream_provider: str | None = None
    usage: TokenUsage | None = None
    cached: bool = False
    questions: Mapping[str, AskedQuestion] = field(repr=False)
    state: Json = field(repr=False)
    image_count: int = 0
    image_hashes: tuple[str, ...] = ()
    answers: tuple[Answer, ...] | None = None
    error_kind: ErrorKind | None = None
    refused_keys: tuple[str, ...] = ()
    tree: TreePlace | None = None

    def __post_init__(self) -> None:
        _held(self.decision_id, "decisionId")
        _zoned(self.started, "started")
        if (self.answers is None) == (self.error_kind is None):
            raise ValueError("A record has either answers or an error kind.")


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Somebody gave the right answers to some of a decision's questions.

    An answer is the option of a choice, the level of a score, true or false for a noul.
    """

    decision_id: str = field(repr=False)
    source: str
    at: datetime
    answers: Mapping[str, str | int | bool] = field(repr=False)

    def __post_init__(self) -> None:
        _held(self.decision_id, "decisionId")
        _held(self.source, "source")
        _zoned(self.at, "at")
        if not self.answers:
            raise ValueError("The member 'confirmed' must not be empty.")
        if any(isinstance(answer, int) and answer < 0 for answer in self.answers.values()):
            raise ValueError("A level in 'confirmed' must not be negative.")


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that happened after a decision; never an expected answer."""

    decision_id: str = field(repr=False)
    source: str
    at: datetime
    name: str
    value: float | None = None
    note: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _held(self.decision_id, "decisionId")
        _held(self.source, "source")
        _held(self.name, "name")
        _zoned(self.at, "at")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError("The member 'value' must be finite.")


Outcome: TypeAlias = Confirmed | Signal

RETRACTED: Final = "retracted"
"""The signal that takes back what was confirmed before it or, where its note names a signal, that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The wish to forget one decision, or all decisions with an erasure key, and their outcomes."""

    key: str | None = field(default=None, repr=False)
    decision_id: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.key is None) == (self.decision_id is None):
            raise ValueError("An erasure names either a key or a decision.")


Item: TypeAlias = Record | Outcome | Erasure
"""What one line of a record file holds."""


def _held(text: str, member: str) -> None:
    if not text:
        raise ValueError(f"The member '{member}' must not be empty.")


def _zoned(at: datetime, member: str) -> None:
    if at.utcoffset() is None:
        raise ValueError(f"The member '{member}' needs a time zone.")
