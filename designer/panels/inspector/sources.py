"""In runs: where what a node gives comes from in the runs of this window, and what is pinned there."""

from collections.abc import Sequence
from html import escape
from itertools import count
from typing import Final, NamedTuple

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid

from designer import dialogs, theme
from designer.document.document import Document
from designer.document.files import SaveFailed
from designer.document.names import one_line
from designer.forms import Combo, Current, Note, plain
from designer.panels.inspector.pins import Pins, first_pin
from designer.running import ASK, LIVE, Answering, Pin, Recording, Source, pinned, replayed
from designer.tasks import launch
from engine import ActionNode, AnyNode, ClassifyNode, ConditionNode, NodeId, TerminalNode

_LIVE: Final[dict[type[AnyNode], str]] = {
    ClassifyNode: "the model",
    ActionNode: "execute it",
    ConditionNode: "check it",
}
_SCOPE: Final = "From the next run on, in this window only. It is not saved with the tree."


class _Offer(NamedTuple):
    """A source in words, None for the usual one, and why it cannot be chosen."""

    words: str
    source: Source | None
    reason: str | None = None


class InRuns(QWidget):
    """Of one node of the current document. It is no part of the tree: nothing here is an undo step."""

    def __init__(self, current: Current, kind: type[AnyNode]) -> None:
        super().__init__()
        self._current, self._workbench, self._running = current, current.workbench, current.workbench.running
        self._kind, self._node = kind, ""
        self._offers: Sequence[_Offer] = ()
        heading = plain("In runs")
        heading.setFont(theme.font(13, bold=True))
        caption = plain(f"The {'answer' if kind is ClassifyNode else 'result'} comes from", role="label")
        self._list = QStandardItemModel()
        self.source = Combo()
        self.source.setModel(self._list)
        self.source.setObjectName("field.source")
        self.source.setAccessibleName(caption.text())
        self.source.activated.connect(self._choose)
        self.note, self._kept = Note(), Note()
        self.pins = Pins(self._give)
        self.keep = QPushButton()
        self.keep.setObjectName("button.keepPins")
        self.keep.setProperty("quiet", True)
        self.keep.setAutoDefault(False)
        self.keep.clicked.connect(lambda: launch(self._keep()))
        scope = plain(_SCOPE, role="label", wrap=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 10, 0, 0)
        layout.setSpacing(6)
        for widget in (heading, caption, self.source, self.note, self.pins, scope):
            layout.addWidget(widget)
        layout.addWidget(self.keep, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._kept)
        # Bound methods: a connection to one ends with its widget, which goes with the kind of node.
        self._running.sources_changed.connect(self._follow)
        self._running.state_changed.connect(self._follow)
        self._running.runs_changed.connect(self._look_again)

    def show_node(self, node_id: NodeId, *, anew: bool) -> None:
        """Show where what this node gives comes from; nothing of a node that gives nothing."""
        self._node = node_id
        if anew:
            self._kept.say("")
        self._refresh(anew=anew)

    def _follow(self, _: object) -> None:
        self._refresh(anew=False)

    def _look_again(self) -> None:
        self._refresh(anew=False)

    def _refresh(self, *, anew: bool) -> None:
        document = self._current.document
        node = document.draft.tree.nodes.get(self._node) if document else None
        self.setVisible(self._kind in _LIVE)
        if document is None or not isinstance(node, self._kind) or self._kind not in _LIVE:
            return
        answering = self._running.answering(document)
        chosen = answering.chosen.get(self._node)
        self._offer(self._offered(document, answering, chosen))
        self.source.setCurrentIndex([offer.source for offer in self._offers].index(chosen))
        wrong = self._running.may_choose(document, self._node, chosen) if chosen else None
        self.note.say(wrong or "")
        pin = chosen.pin if chosen else None
        if pin is not None:
            self.pins.show_pin(node.branches(), pin, anew=anew or self.pins.isHidden())
        self.pins.setVisible(pin is not None)
        number = sum(source.pin is not None for source in answering.chosen.values())
        reason = self._workbench.may_keep_case(document) if number else None
        self.keep.setVisible(number > 0)
        self.keep.setText("Keep this pin as a case…" if number == 1 else f"Keep the {number} pins as a case…")
        self.keep.setEnabled(reason is None)
        self.keep.setToolTip(reason or "A case beside the tree gives the same again, in runs and in tests")

    # -- the choice

    def _offered(self, document: Document, answering: Answering, chosen: Source | None) -> list[_Offer]:
        usual = answering.choose(self._node, None).source_of(document.draft.tree, self._node) or LIVE
        case = f"case {one_line(answering.case.id, 60)}" if answering.case else ""
        sources = [ASK, LIVE, self._pin(document, chosen, usual)]
        sources += [replayed(recording) for recording in self._recordings(document, chosen)]
        offers = [_Offer(f"As usual: {case if usual.pin is not None else self._words(usual)}", None)]
        for source in sources:
            words, own = self._words(source), source == chosen
            reason = None if own else self._running.may_choose(document, self._node, source)
            offers.append(_Offer(f"{words[0].upper()}{words[1:]}", source, reason))
        return offers

    def _pin(self, document: Document, chosen: Source | None, usual: Source) -> Source:
        """The pin that is there, or what to begin with: what the case pins, else the first branch."""
        if chosen is not None and chosen.pin is not None:
            return chosen
        if usual.pin is not None and self._running.may_choose(document, self._node, usual) is None:
            return usual
        return pinned(first_pin(document.draft.tree.nodes[self._node]))

    def _recordings(self, document: Document, chosen: Source | None) -> list[Recording]:
        """The run that is chosen, and the one on show where it came to this node."""
        found = [chosen.recording] if chosen is not None and chosen.recording is not None else []
        shown = self._running.shown
        if shown is not None and shown.document is document and shown.recording.ended:
            found += [shown.recording] if shown.recording.visits(self._node) else []
        return list(dict.fromkeys(found))

    def _words(self, source: Source) -> str:
        if source.recording is not None:
            runs = self._running.runs
            return f"as in {next((r.name for r in runs if r.recording is source.recording), 'a former run')}"
        return {"live": _LIVE[self._kind], "ask": "ask me"}.get(source.kind, "pinned")

    def _offer(self, offers: Sequence[_Offer]) -> None:
        before, self._offers = self._offers, offers
        if [offer[::2] for offer in before] == [offer[::2] for offer in offers]:
            return
        with QSignalBlocker(self.source):
            self._list.clear()
            for offer in offers:
                item = QStandardItem(offer.words)
                item.setEnabled(offer.reason is None)
                item.setToolTip(f"<p>{escape(offer.reason)}</p>" if offer.reason else "")
                self._list.appendRow(item)

    def _choose(self, index: int) -> None:
        document, source = self._current.document, self._offers[index].source
        if document is not None:
            self._running.choose_source(document, self._node, source)

    def _give(self, pin: Pin) -> None:
        if self._current.document is not None:
            self._running.choose_source(self._current.document, self._node, pinned(pin))

    # -- keeping

    async def _keep(self) -> None:
        document, workbench = self._current.document, self._workbench
        if document is None:
            return
        nodes, taken = document.draft.tree.nodes.values(), workbench.case_ids(document)
        verdicts = [node.verdict for node in nodes if isinstance(node, TerminalNode) and node.verdict]
        asked = await dialogs.ask_case(
            self.window(),
            next(name for name in map("pinned-{}".format, count(1)) if name not in taken),
            taken,
            list(dict.fromkeys(verdicts)),
            self._verdict(document),
        )
        if asked is None:
            return
        try:
            path = workbench.keep_case(document, *asked)
        except SaveFailed as failed:
            said = str(failed), "error"
        else:
            said = f"Kept as {asked[0]} in {path.name}.", "info"
        if isValid(self):
            self._kept.say(*said)

    def _verdict(self, document: Document) -> str | None:
        """The verdict of the shown run, where it had these pins."""
        shown, chosen = self._running.shown, self._running.answering(document).chosen
        same = shown is not None and shown.document is document and shown.answering.chosen == chosen
        return shown.verdict if shown is not None and same else None
