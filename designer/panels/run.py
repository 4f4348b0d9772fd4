"""The answers panel: where the answers of a run come from, the question it waits with, and how it ended."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from designer.answers import AT_LENGTH, Answers, ask_to_trust
from designer.document.names import asked_for, one_line, titles_of
from designer.document.wording import ending
from designer.forms import Current, Empty, Field, Pages, Quote, Text, plain
from designer.running import LIVE, RunState, inside_words, name_of, place_of
from designer.tasks import launch
from designer.workbench import Untrusted, Workbench
from engine import UNKNOWN, ClassifyNode, Inquiry, NodeId, Question, Tree
from engine.counting import counted

WIDTH: Final = 260
"""Pixels below which questions and answers would be cut off."""
ROWS: Final = 6
"""Answers that are always in sight: five and ``unknown``."""
SHARE: Final = 0.44
"""The share of the window's height that a question and its answers may ask for."""
OTHERS: Final = 530
"""Pixels of the window's height for its bars and the panels above: asking for these would make it grow."""
_ROW: Final = 29
_GAP: Final = 5


class RunPanel(Pages):
    """While a question waits, its answers are buttons with the keys 1 to 9; 0 is ``unknown``."""

    def __init__(self, workbench: Workbench) -> None:
        page = QWidget()
        super().__init__(
            page, Empty("run", "No tree is open", "The questions of a run are asked and answered here.")
        )
        self.setObjectName("panel.run")
        self.setMinimumWidth(WIDTH)
        self._workbench, self._running = workbench, workbench.running
        self._untrusted: Untrusted | None = None
        self._named: tuple[Tree | None, Mapping[NodeId, str]] = (None, {})
        self._offered: object = None
        self.state = plain(wrap=True)
        self.state.setObjectName("run.state")
        self.state.setContentsMargins(12, 0, 12, 0)
        self._rest, self._asking = self._made_rest(), self._made_asking()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 10, 0, 0)
        layout.setSpacing(7)
        layout.addWidget(self.state)
        layout.addWidget(self._rest, 1)
        layout.addWidget(self._asking, 1)
        workbench.cases_changed.connect(lambda _: self._look_at_trust())
        workbench.trust_changed.connect(self._look_at_trust)
        self._running.sources_changed.connect(lambda _: self._look_at_trust())
        self._current = Current(workbench, self)
        self._current.drafted.connect(lambda _: self._refresh())
        self._current.checked.connect(lambda _: self._say())
        self._running.state_changed.connect(lambda _: self._refresh())
        self._running.trail_changed.connect(lambda _: self._follow())
        self._running.asked.connect(lambda _: self._show_question())
        self._current.announce()
        self._look_at_trust()
        self._show_question()

    def _made_rest(self) -> QWidget:
        """What is there while no question waits."""
        self.trust = QPushButton("Trust this folder…")
        self.trust.setObjectName("button.trust")
        self.trust.setToolTip("See what of this project waits for your trust")
        self.trust.setAutoDefault(False)
        self.trust.clicked.connect(self._ask_trust)
        self.source = Answers(self._workbench, AT_LENGTH, least=8)
        self.source.setObjectName("field.case")
        self.pinned = plain(role="label", wrap=True)
        self.inputs = _Inputs(self._workbench)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 0, 12, 12)
        column.setSpacing(6)
        column.addWidget(self.trust, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(plain("Answers come from", role="label"))
        for widget in (self.source, self.pinned, self.inputs):
            column.addWidget(widget)
        column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(page)
        return area

    def _made_asking(self) -> QWidget:
        """A question, which may be long and scrolls, and its answers, which stay in sight."""
        self.question = Quote(most=None)
        self.question.setObjectName("run.question")
        self.question.setAccessibleName("Question")
        self.instead = plain(role="label", wrap=True)
        self.reply = QLineEdit()
        self.reply.setObjectName("run.reply")
        self.reply.setAccessibleName("Your answer")
        self.reply.setPlaceholderText("Your answer, then Enter")
        self.reply.returnPressed.connect(lambda: self._running.answer(self.reply.text()))
        self._buttons = _Buttons()
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 0, 12, 10)
        column.setSpacing(8)
        column.addWidget(self.question)
        column.addWidget(self.instead)
        column.addWidget(self.reply)
        column.addWidget(self._buttons)
        column.addStretch(1)
        return page

    @property
    def answers(self) -> list[QPushButton]:
        """The buttons of the question that waits, in order."""
        return self._buttons.buttons

    def _look_at_trust(self) -> None:
        document = self._workbench.current
        self._untrusted = self._workbench.untrusted(document) if document else None
        self._refresh()

    def _refresh(self) -> None:
        case, document = self._running.case, self._workbench.current
        self.inputs.setEnabled(not self._running.active)
        self.show_content(document)
        self.trust.setVisible(self._untrusted is not None and not self._running.active)
        nodes = document.draft.tree.nodes if document else {}
        asking = [node_id for node_id, node in nodes.items() if isinstance(node, ClassifyNode)]
        if case is not None:
            pinned = sum(node_id in case.answers or node_id in case.replies for node_id in asking)
            live = document is not None and self._running.answering(document).otherwise == LIVE
            whom = f"ask {'the model' if live else 'you'}"
            rest = "" if pinned == len(asking) else f", the others {whom}"
            self.pinned.setText(f"{pinned} of {counted(len(asking), 'question')} pinned{rest}")
        else:
            notes = self._about_model(), self._workbench.case_trouble
            self.pinned.setText("\n".join(filter(None, notes)))
        self.pinned.setVisible(bool(self.pinned.text()))
        self.inputs.show_tree(document.draft.tree if document else Tree(), case.params if case else {})
        self._say()

    def _about_model(self) -> str | None:
        """Why the model a project names is not asked, where that is so."""
        document = self._workbench.current
        choice = self._workbench.model(document) if document else None
        if choice is None or choice.withheld is None:
            return choice.trouble if choice else None
        where = f"{name_of(choice.withheld)} at {place_of(choice.withheld)}"
        return f"The project names a model, {where}. It is not asked before you trust the folder."

    def _say(self) -> None:
        running, document = self._running, self._workbench.current
        trail = running.trail
        at = running.at
        where = self._title(trail.tree, at) if at is not None and trail.tree else "the first node"
        if running.active and running.document is not None and running.document is not document:
            where = f"{where}, in {running.document.title}"
        role = ""
        match running.state:
            case _ if running.past:
                words = f"This is the past: before {where}, step {running.step_number + 1}."
                role = "warn"
            case RunState.RUNNING if running.waiting is not None:
                waiting = running.waiting
                words = f"Asking {waiting.model} at {where}: {waiting.seconds:.0f} s. Stop gives it up."
            case RunState.RUNNING:
                words = f"Running: {where}{self._inside()}."
            case RunState.PAUSED:
                how = "at" if running.inside else "before"
                words = f"Paused {how} {where}{self._inside()}. {running.why or 'The clock stands still.'}"
            case RunState.ASKING:
                words = f"Waiting for your answer at {where}{self._inside()}."
            case RunState.ENDED if trail.result is not None:
                words = ending(trail.result)
                role = "good" if trail.result.outcome == "Terminal" else "warn"
            case _:
                reason = running.reason_not_ready(document)
                words = reason or "Ready. Run to the end, or step from node to node."
                role = "label"
        if self._is_outdated():
            words = f"{words} The tree was changed meanwhile; this run keeps the one it began with."
        if words != self.state.text() or role != self.state.property("role"):
            self.state.setText(words)
            self.state.setProperty("role", role)
            self.state.style().polish(self.state)
            # A dock asks only for the height of one line; the answers below would be cut off. And a label is
            # never less high than it had to be before.
            self.state.setMinimumHeight(0)
            self.state.setMinimumHeight(self.state.heightForWidth(self.width()))

    def _inside(self) -> str:
        """Where the run is within the node, to be read after its name."""
        words = inside_words(self._running.inside)
        return f": {words}" if words else ""

    def _is_outdated(self) -> bool:
        """Whether a run goes on with a tree that was changed since it began."""
        running = self._running
        begun, document = running.latest.tree, running.document
        return running.active and begun is not None and document is not None and document.draft.tree != begun

    def _title(self, tree: Tree, node_id: NodeId) -> str:
        if self._named[0] is not tree:
            self._named = (tree, titles_of(tree))
        return self._named[1].get(node_id, node_id)

    def _follow(self) -> None:
        """What is shown of the run is another moment of it."""
        if self._running.past or self._offered is not (self._running.question or self._running.inquiry):
            self._show_question()
        else:
            self._say()

    def _show_question(self) -> None:
        """Offer the answers of the question that waits, or of the moment of the past that is looked at."""
        question, inquiry, before = self._running.question, self._running.inquiry, self._past_question()
        ends = " The run that goes on ends then." if self._running.active else ""
        self.instead.setText(f"Answer something else to run again from here.{ends}")
        offered: object = (before.node, self._running.position) if before else self._waits_here()
        if offered is not None and offered == self._offered:
            self._say()
            return
        self._offered = offered
        # A question needs all the room there is, and both pages at once would make the window grow.
        page, other = (self._rest, self._asking) if offered is None else (self._asking, self._rest)
        other.hide()
        self.instead.setVisible(before is not None)
        self.reply.setVisible(inquiry is not None and offered is inquiry and not inquiry.choices)
        self._buttons.clear()
        if before is not None:
            self.question.show_value(before.task)
            for number, answer in enumerate((*before.answers, UNKNOWN), 1):
                key = "0" if answer == UNKNOWN else str(number) if number < 10 else ""
                words = f"{answer}, as it was" if answer == before.given else answer
                self._offer(words, key, partial(self._fork, answer), quiet=answer == UNKNOWN)
        elif question is not None and offered is not None:
            self.question.show_value(question.text)
            for number, answer in enumerate(question.answers, 1):
                key = str(number) if number < 10 else ""
                self._offer(answer, key, partial(self._running.answer, answer))
            self._offer(UNKNOWN, "0", partial(self._running.answer, None), quiet=True)
        elif inquiry is not None and offered is not None:
            self._offer_to_say(inquiry)
        self._say()
        page.show()
        self._ask_for_room()
        if self.reply.isVisible() and not isinstance(self.window().focusWidget(), QLineEdit | QPlainTextEdit):
            self.reply.setFocus(Qt.FocusReason.OtherFocusReason)

    def _offer_to_say(self, inquiry: Inquiry) -> None:
        """What an action asks: its choices, or a line to write in; and to give no answer, which fails it."""
        self.question.show_value(inquiry.text)
        self.reply.clear()
        for number, choice in enumerate(inquiry.choices, 1):
            self._offer(choice, str(number) if number < 10 else "", partial(self._running.answer, choice))
        if not inquiry.choices:
            self._offer("Answer", "", self.reply.returnPressed.emit)
        self._offer(
            "No answer", "0" if inquiry.choices else "", partial(self._running.answer, None), quiet=True
        )

    def _waits_here(self) -> Question | Inquiry | None:
        """What is asked, unless the past is looked at."""
        running = self._running
        return None if running.past else running.question or running.inquiry

    def _past_question(self) -> "_Answered | None":
        """The question that was answered next, at a moment of the past."""
        running = self._running
        tree, step = running.trail.tree, running.step_number
        node = tree.nodes.get(running.at or "") if tree is not None else None
        path = running.latest.path
        if not running.past or not isinstance(node, ClassifyNode) or step >= len(path):
            return None
        return _Answered(
            running.at or "", node.task or "", tuple(node.answers or ()), path[step].branch or ""
        )

    def _fork(self, answer: str) -> None:
        try:
            self._running.fork(self._running.step_number, answer=answer)
        except ValueError as error:
            self._workbench.trouble.emit(str(error))

    def _ask_for_room(self) -> None:
        """Let a question be read without scrolling, as far as the window allows it."""
        wanted = self._asking.sizeHint().height() if self._offered is not None else 0
        whole, words = self.window().height(), self.state.minimumHeight()
        self._asking.setMinimumHeight(min(wanted, max(1, min(round(whole * SHARE), whole - OTHERS) - words)))

    def _offer(self, words: str, key: str, give: Callable[[], None], *, quiet: bool = False) -> None:
        button = _Answer(words, key, "label" if quiet else "")
        button.clicked.connect(lambda _: give())
        self._buttons.add(button)

    def _ask_trust(self) -> None:
        if self._untrusted is not None:
            launch(ask_to_trust(self.window(), self._workbench, self._untrusted))


class _Answered(NamedTuple):
    """A question of the past, and the branch that was taken."""

    node: NodeId
    task: str
    answers: tuple[str, ...]
    given: str


class _Inputs(QWidget):
    """One field for each parameter the texts of the tree ask for; what a case gives is not asked for."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self.fields: dict[str, Field] = {}
        self._shown: object = None
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 4, 0, 0)
        self._rows.setSpacing(6)
        self._rows.addWidget(plain("Inputs", role="label"))
        self.hide()

    def show_tree(self, tree: Tree, given: Mapping[str, str]) -> None:
        """Ask for what the texts of this tree need and what is not given."""
        document = self._workbench.current
        names = tuple(name for name in asked_for(tree) if name not in given)
        anew, self._shown = self._shown is not document, document
        if names != tuple(self.fields):
            anew = True
            for field in self.fields.values():
                field.hide()
                field.deleteLater()
            self.fields = {name: self._field(name) for name in names}
            self.setVisible(bool(names))
        if anew and document is not None:
            defaults = self._workbench.default_parameters(document)
            for name, field in self.fields.items():
                if isinstance(field.editor, Text):
                    field.editor.setPlaceholderText(one_line(defaults.get(name)) or "Nothing is given yet")
                field.set_value(self._workbench.parameters.get(name, ""), anew=True)

    def _field(self, name: str) -> Field:
        field = Field(f"input.{name}", one_line(name), Text(lines=1, most=4), self._give)
        self._rows.addWidget(field)
        return field

    def _give(self, member: str, value: object, _merge: str) -> None:
        self._workbench.set_parameter(member.removeprefix("input."), str(value or ""))


class _Buttons(QScrollArea):
    """The answers, below each other; some of them are always in sight, many more scroll."""

    def __init__(self) -> None:
        super().__init__()
        self.buttons: list[QPushButton] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._page = QWidget()
        self._rows = QVBoxLayout(self._page)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(_GAP)
        self.setWidget(self._page)

    def clear(self) -> None:
        """Take all of them away."""
        while self.buttons:
            button = self.buttons.pop()
            self._rows.removeWidget(button)
            button.hide()
            button.deleteLater()

    def add(self, button: QPushButton) -> None:
        """Add one at the end."""
        self.buttons.append(button)
        self._rows.addWidget(button)
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(200, self._height(self.buttons))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._height(self.buttons[:ROWS]))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        # A page in a scroll area is not asked how high it must be for its width.
        self._page.setMinimumHeight(self._height(self.buttons))
        self.updateGeometry()

    def _height(self, buttons: list[QPushButton]) -> int:
        width = self.viewport().width()
        return sum(button.heightForWidth(width) + _GAP for button in buttons) - (_GAP if buttons else 0)


class _Answer(QPushButton):
    """A button as high as its words need, with its key at the right."""

    def __init__(self, words: str, key: str, role: str) -> None:
        super().__init__()
        self.setObjectName(f"answer.{words}")
        self.setAccessibleName(f"Answer {words}")
        self.setAutoDefault(False)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(10, 4, 6, 4)
        text = plain(words, role=role, wrap=True)
        text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._row.addWidget(text, 1)
        if key:
            self.setShortcut(QKeySequence(key))
            badge = plain(key, role="label", mono=True)
            badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
            badge.setFixedSize(20, 18)
            self._row.addWidget(badge)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def heightForWidth(self, width: int) -> int:
        return max(_ROW, self._row.heightForWidth(width))

    def sizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(self.width()))
