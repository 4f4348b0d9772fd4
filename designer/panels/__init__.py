"""The panels: one list, from which the window makes docks, the View menu and the saved positions.

A panel is a widget made from the workbench; it sees nothing of the window and of other panels. Its window
title is the title of its dock and may change while it lives (``windowTitleChanged``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from PySide6.QtWidgets import QWidget

from designer.panels.agent_run import AgentRunPanel
from designer.panels.breakpoints import BreakpointsPanel
from designer.panels.cases import CasesPanel
from designer.panels.history import HistoryPanel
from designer.panels.inspector import Inspector
from designer.panels.log import LogPanel
from designer.panels.meters import MetersPanel
from designer.panels.outline import OutlinePanel
from designer.panels.palette import PalettePanel
from designer.panels.problems import ProblemsPanel
from designer.panels.records import RecordsPanel
from designer.panels.requests import RequestsPanel
from designer.panels.run import RunPanel
from designer.panels.runs import RunsPanel
from designer.panels.state import StatePanel
from designer.panels.transcripts import TranscriptsPanel
from designer.workbench import Workbench

Area: TypeAlias = Literal["left", "right", "right-mid", "right-low", "bottom"]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel and where it is at first; panels of one area are tabs, the first one in front."""

    id: str
    title: str
    area: Area
    make: Callable[[Workbench], QWidget]


PANELS: Final = (
    Panel("outline", "Outline", "left", OutlinePanel),
    Panel("palette", "Palette", "left", PalettePanel),
    Panel("breakpoints", "Breakpoints", "left", BreakpointsPanel),
    Panel("inspector", "Inspector", "right", Inspector),
    Panel("meters", "Budget", "right-mid", MetersPanel),
    Panel("state", "State", "right-mid", StatePanel),
    Panel("run", "Answers", "right-low", RunPanel),
    Panel("problems", "Problems", "bottom", ProblemsPanel),
    Panel("cases", "Cases", "bottom", CasesPanel),
    Panel("records", "Records", "bottom", RecordsPanel),
    Panel("transcripts", "Transcripts", "bottom", TranscriptsPanel),
    Panel("log", "Run log", "bottom", LogPanel),
    Panel("runs", "Runs", "bottom", RunsPanel),
    Panel("requests", "Requests", "bottom", RequestsPanel),
    Panel("agent", "Agent", "bottom", AgentRunPanel),
    Panel("history", "History", "bottom", HistoryPanel),
)
