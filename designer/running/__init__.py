"""Running a document: driving a run, stopping it, looking back at it, and who answers meanwhile."""

from designer.running.answering import (
    ASK,
    LIVE,
    Answering,
    Pin,
    Source,
    SourceKind,
    may_answer,
    pinned,
    replayed,
    source_words,
)
from designer.running.controller import Prepare, RunController, RunState
from designer.running.hits import Hit, fault_of_condition, fault_of_message
from designer.running.inside import Level, inside_words
from designer.running.models import (
    LiveModel,
    ModelChoice,
    Trial,
    Waiting,
    choose_model,
    name_of,
    names_a_model,
    place_of,
    try_out,
)
from designer.running.recording import Recording
from designer.running.runs import ListedRun, LogLine

__all__ = [
    "ASK",
    "LIVE",
    "Answering",
    "Hit",
    "Level",
    "ListedRun",
    "LiveModel",
    "LogLine",
    "ModelChoice",
    "Pin",
    "Prepare",
    "Recording",
    "RunController",
    "RunState",
    "Source",
    "SourceKind",
    "Trial",
    "Waiting",
    "choose_model",
    "fault_of_condition",
    "fault_of_message",
    "inside_words",
    "may_answer",
    "name_of",
    "names_a_model",
    "pinned",
    "place_of",
    "replayed",
    "source_words",
    "try_out",
]
