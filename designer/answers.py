"""The choice of who answers the next run, as panel and toolbar offer it, and setting up a model for it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QWidget

from designer import dialogs
from designer.document.names import one_line
from designer.forms import Combo, ModelForm
from designer.running import ASK, LIVE
from designer.workbench import Untrusted, Workbench

_NAME: Final = 60


class AnswersWords(NamedTuple):
    """How one list names its entries; ``model`` and ``case`` are given what theirs is called."""

    me: str
    model: str
    none: str
    case: str


AT_LENGTH: Final = AnswersWords("Me: ask each question", "The model {}", "Set up a model…", "Case {}")
IN_SHORT: Final = AnswersWords("ask me", "model {}", "set up a model…", "{}")


class Answers(Combo):
    """A person, a model, or a case beside the tree. What a case leaves open goes to who was chosen before.

    The choice belongs to the current document, for as long as it is open.
    """

    def __init__(self, workbench: Workbench, words: AnswersWords, caption: str = "", *, least: int) -> None:
        super().__init__(caption, least=least)
        self._workbench, self._running, self._words = workbench, workbench.running, words
        self.setAccessibleName("Where answers come from")
        self.setToolTip("Where the answers of the next run come from")
        self.activated.connect(self._choose)
        workbench.cases_changed.connect(self._list)
        self._running.state_changed.connect(self._show)
        self._running.sources_changed.connect(self._list)
        self._list()

    def _list(self, _: object = None) -> None:
        document = self._workbench.current
        model = self._workbench.model(document).name if document else ""
        words = self._words
        entries = [words.me, words.model.format(one_line(model, _NAME)) if model else words.none]
        entries += [words.case.format(one_line(case.id, 80)) for case in self._workbench.cases]
        if entries != [self.itemText(index) for index in range(self.count())]:
            with QSignalBlocker(self):
                self.clear()
                self.addItems(entries)
        self._show()

    def _show(self, _: object = None) -> None:
        document, case, cases = self._workbench.current, self._running.case, self._workbench.cases
        self.setEnabled(not self._running.active)
        usual = self._running.answering(document).otherwise if document else ASK
        chosen = {ASK: 0, LIVE: 1}.get(usual, -1)
        self.setCurrentIndex(cases.index(case) + 2 if case in cases else chosen)

    def _choose(self, index: int) -> None:
        document, running = self._workbench.current, self._running
        if document is None:
            return
        if index > 1:
            running.choose_case(self._workbench.cases[index - 2])
        elif index == 1 and self._workbench.model(document).settings is None:
            self._show()
            self._workbench.model_requested.emit()
        else:
            running.choose_otherwise(document, LIVE if index else ASK)
            running.choose_case(None)


async def ask_to_trust(parent: QWidget, workbench: Workbench, untrusted: Untrusted) -> None:
    """Let the person say whether a folder is trusted, and keep that."""
    folder, code, model, outside = untrusted
    answer = await dialogs.ask_trust(parent, folder, code=code, model=model, outside=outside)
    if answer:
        workbench.trust(folder)
    elif answer is not None:
        workbench.decline(folder)


async def set_up_model(parent: QWidget, workbench: Workbench, tell: Callable[[str], object]) -> None:
    """Let the person say which model is theirs, and keep that."""
    form = ModelForm(workbench.settings.decider)
    if not await dialogs.ask_model(parent, form):
        return
    try:
        workbench.change_settings(decider=form.settings)
    except OSError as error:
        tell(f"The model holds until you quit; it could not be kept: {error}.")
