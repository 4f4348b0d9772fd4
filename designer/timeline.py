"""The timeline under the canvas: the steps of the shown run, and a handle to look at any moment of it."""

from typing import Final

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QSlider, QToolButton

from designer.forms import plain
from designer.workbench import Workbench
from engine.counting import counted

_WORDS: Final = 170
"""Pixels for the sentence, so that the slider stays where it is."""


class Timeline(QFrame):
    """There for every tree: no run moves the canvas. A moment of the past is told in words and colour."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("timeline")
        self._workbench, self._running = workbench, workbench.running
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setObjectName("timeline.slider")
        self.slider.setAccessibleName("Step of the run")
        self.slider.setPageStep(5)
        self.slider.valueChanged.connect(self._running.go_to_step)
        self.words = plain()
        self.words.setObjectName("timeline.words")
        self.words.setFixedWidth(_WORDS)
        self.words.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(10, 4, 10, 4)
        self._row.setSpacing(6)
        self._row.addWidget(self.slider, 1)
        self._row.addWidget(self.words)
        self._running.trail_changed.connect(lambda _: self._refresh())
        self._running.state_changed.connect(lambda _: self._refresh())
        self._running.runs_changed.connect(self._refresh)
        workbench.current_changed.connect(lambda _: self._refresh())
        self._refresh()

    def place_buttons(self, back: QAction, forward: QAction, newest: QAction) -> None:
        """Put the commands of looking at the past around the slider."""
        for at, action in ((0, back), (2, forward), (4, newest)):
            button = QToolButton()
            button.setDefaultAction(action)
            button.setAutoRaise(True)
            button.setIconSize(QSize(18, 18))
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._row.insertWidget(at, button)

    def _refresh(self) -> None:
        running = self._running
        self.setVisible(self._workbench.current is not None)
        mine = running.document is self._workbench.current and running.length > 0
        last, step = (running.step_count, running.step_number) if mine else (0, 0)
        with QSignalBlocker(self.slider):
            self.slider.setMaximum(last)
            self.slider.setValue(step)
        self.slider.setEnabled(last > 0)
        self.words.setText(self._told() if mine else "Not run yet")
        past = "past" if mine and running.past else ""
        if self.property("state") != past:
            self.setProperty("state", past)
            for widget in (self, self.words):
                widget.style().polish(widget)

    def _told(self) -> str:
        running = self._running
        over = running.latest.result is not None
        # A run that is over has one moment more than visits: its end.
        visits = len(running.latest.path) if over else running.step_count + 1
        number = running.step_number + 1
        if over and not running.past:
            return f"The end, after {counted(visits, 'step')}"
        where = f"step {number} of {visits}" if number <= visits else "before the end"
        if running.past:
            return f"The past: {where}"
        return f"{where.capitalize()}{', inside it' if running.inside else ''}"
