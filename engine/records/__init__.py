"""Decision records: what was asked and answered, what became of it, and forgetting it again.

Every public name is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.deciders.asked import Answer as Answer
    from engine.deciders.asked import AskedQuestion as AskedQuestion
    from engine.deciders.asked import ChoiceAnswer as ChoiceAnswer
    from engine.deciders.asked import ErrorKind as ErrorKind
    from engine.deciders.asked import NoulAnswer as NoulAnswer
    from engine.deciders.asked import ScoreAnswer as ScoreAnswer
    from engine.deciders.asked import TokenUsage as TokenUsage
    from engine.records.browser import RecordBrowser as RecordBrowser
    from engine.records.codec import RecordProblem as RecordProblem
    from engine.records.codec import item_of as item_of
    from engine.records.codec import line_of as line_of
    from engine.records.ids import uuid7 as uuid7
    from engine.records.ledger import RecordedDecision as RecordedDecision
    from engine.records.lock import StoreInUse as StoreInUse
    from engine.records.moving import Copied as Copied
    from engine.records.moving import RecordFile as RecordFile
    from engine.records.moving import Store as Store
    from engine.records.moving import browsed as browsed
    from engine.records.moving import copy_records as copy_records
    from engine.records.moving import open_store as open_store
    from engine.records.reader import BadLine as BadLine
    from engine.records.reader import Reading as Reading
    from engine.records.reader import load_records as load_records
    from engine.records.reader import read_records as read_records
    from engine.records.record import RETRACTED as RETRACTED
    from engine.records.record import Confirmed as Confirmed
    from engine.records.record import Erasure as Erasure
    from engine.records.record import Item as Item
    from engine.records.record import Outcome as Outcome
    from engine.records.record import Record as Record
    from engine.records.record import Signal as Signal
    from engine.records.record import TreePlace as TreePlace
    from engine.records.recorder import BatchSink as BatchSink
    from engine.records.recorder import Counters as Counters
    from engine.records.recorder import DecisionRecorder as DecisionRecorder
    from engine.records.recorder import process_counters as process_counters
    from engine.records.redaction import DROP as DROP
    from engine.records.redaction import Redact as Redact
    from engine.records.redaction import digested as digested
    from engine.records.redaction import masked as masked
    from engine.records.scope import RecordingScope as RecordingScope
    from engine.records.scope import recording as recording
    from engine.records.sinks import JsonlSink as JsonlSink
    from engine.records.sinks import MemorySink as MemorySink
    from engine.records.sinks import Sink as Sink
    from engine.records.sqlite import SqliteSink as SqliteSink
    from engine.records.stage import Source as Source
    from engine.records.stage import recorded as recorded
    from engine.records.stage import recorded_client as recorded_client
    from engine.records.table import Needle as Needle
    from engine.records.table import Order as Order
    from engine.records.table import RecordFilter as RecordFilter
    from engine.records.table import RecordRow as RecordRow
    from engine.records.table import RecordTable as RecordTable
    from engine.records.table import StoreRefused as StoreRefused
    from engine.records.telemetry import expose_counters as expose_counters

_HOMES: Final = {
    ".deciders.asked": "Answer AskedQuestion ChoiceAnswer ErrorKind NoulAnswer ScoreAnswer TokenUsage",
    "browser": "RecordBrowser",
    "codec": "RecordProblem item_of line_of",
    "ids": "uuid7",
    "ledger": "RecordedDecision",
    "lock": "StoreInUse",
    "moving": "Copied RecordFile Store browsed copy_records open_store",
    "reader": "BadLine Reading load_records read_records",
    "record": "RETRACTED Confirmed Erasure Item Outcome Record Signal TreePlace",
    "recorder": "BatchSink Counters DecisionRecorder process_counters",
    "redaction": "DROP Redact digested masked",
    "scope": "RecordingScope recording",
    "sinks": "JsonlSink MemorySink Sink",
    "sqlite": "SqliteSink",
    "stage": "Source recorded recorded_client",
    "table": "Needle Order RecordFilter RecordRow RecordTable StoreRefused",
    "telemetry": "expose_counters",
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  (the table above is the list)


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'engine.records' has no attribute {name!r}")
    return getattr(import_module(f".{home}", __name__), name)
