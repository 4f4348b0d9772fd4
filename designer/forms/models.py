"""Where a model is and how it is reached: the fields, and a try with one small question."""

import os
import re
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget
from shiboken6 import isValid

from designer.document.wording import remedy
from designer.forms.combos import Combo
from designer.forms.texts import Note, plain
from designer.running import Trial, name_of, names_a_model, place_of, try_out
from designer.tasks import launch
from engine import UNKNOWN, DeciderName, DeciderSettings

if TYPE_CHECKING:
    import asyncio

_KINDS: Final = {
    DeciderName.ask: "No model",
    DeciderName.openai: "Language model, OpenAI protocol",
    DeciderName.anthropic: "Language model, Anthropic protocol",
    DeciderName.typesafe: "Decision model, TypeSafe",
    DeciderName.openrouter: "Decision model, OpenRouter",
    DeciderName.openrouter_decisions: "Decision model, OpenRouter decisions",
    DeciderName.cloudflare: "Decision model, Cloudflare",
    DeciderName.ollama: "Decision model, Ollama",
    DeciderName.openai_decisions: "Decision model, OpenAI decisions",
    DeciderName.systemone: "Decision model, another server",
    DeciderName.heuristic: "No model, words in common are counted",
}
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_INCOMPLETE: Final = "Say where the model is and what it is called."
_TICK_MS: Final = 200


class ModelForm(QWidget):
    """Fields for the settings of a model; ``checked`` tells whether they can be used as they are.

    A key has no field: it is named by its variable, so nothing here is a secret.
    """

    checked = Signal(object)

    def __init__(self, settings: DeciderSettings) -> None:
        super().__init__()
        self._before = settings
        self._kind = Combo(least=24)
        self._kind.addItems(list(_KINDS.values()))
        # Who opens this without a model wants one.
        kind = DeciderName.openai if settings.kind is DeciderName.ask else settings.kind
        self._kind.setCurrentIndex(list(_KINDS).index(kind))
        self._address, self._model = QLineEdit(settings.base_url), QLineEdit(settings.model)
        self._key = QLineEdit(settings.key_env)
        self._fallbacks = QLineEdit(", ".join(settings.fallback_models))
        self._key.setPlaceholderText("None: the server needs no key")
        self._fallbacks.setPlaceholderText("None")
        self._note, self._tried = Note(), Note()
        self._try = QPushButton("Test")
        self._try.setObjectName("button.test")
        self._try.setToolTip("Ask the model one small question now")
        self._try.setAutoDefault(False)
        self._try.clicked.connect(self._press)
        self._began = 0.0
        self._trying: asyncio.Task[None] | None = None
        self._clock = QTimer(self, interval=_TICK_MS)
        self._clock.timeout.connect(self._tell_time)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        rows = {
            "kind": ("Kind", self._kind),
            "address": ("Address", self._address),
            "name": ("Model", self._model),
            "fallbacks": ("Models to ask when it fails, separated by commas", self._fallbacks),
            "key": ("Environment variable that holds the key", self._key),
        }
        for id_, (label, field) in rows.items():
            field.setObjectName(f"model.{id_}")
            field.setAccessibleName(label)
            column.addWidget(plain(label, role="label"))
            column.addWidget(field)
            if isinstance(field, QLineEdit):
                field.textEdited.connect(lambda _: self.check())
        about = "The key itself is not kept here. A keyring may hold it under the name of the variable."
        column.addWidget(plain(about, role="label", wrap=True))
        column.addWidget(self._note)
        row = QHBoxLayout()
        row.addWidget(self._try)
        row.addWidget(self._tried, 1)
        column.addLayout(row)
        self._kind.currentIndexChanged.connect(lambda _: self.check())

    @property
    def settings(self) -> DeciderSettings:
        """What the fields say. Members that have no field are as they were, where the kind is."""
        kind = list(_KINDS)[self._kind.currentIndex()]
        given: dict[str, object] = {
            "kind": kind,
            "base_url": self._address.text().strip(),
            "model": self._model.text().strip(),
            "key_env": self._key.text().strip(),
            "fallback_models": self._names(),
        }
        if kind is DeciderName.ask:
            return DeciderSettings()
        if kind is DeciderName.heuristic:
            return DeciderSettings(kind=kind)
        if kind.is_decision_model:
            given.pop("fallback_models")
        kept = self._before.model_dump(exclude_unset=True) if kind is self._before.kind else {}
        chosen = {name: value for name, value in given.items() if value}
        return DeciderSettings.model_validate({**{n: v for n, v in kept.items() if n not in given}, **chosen})

    def check(self) -> None:
        """See whether the fields can be used, and say what is missing."""
        kind = list(_KINDS)[self._kind.currentIndex()]
        asks = kind is not DeciderName.ask
        for field in (self._address, self._model, self._key):
            field.setEnabled(asks and kind is not DeciderName.heuristic)
        self._fallbacks.setEnabled(asks and not kind.is_decision_model)
        usual = DeciderSettings(kind=kind)
        own = asks and kind.is_decision_model
        self._address.setPlaceholderText(_usual(place_of(usual), kind) if own else "http://localhost:8080/v1")
        self._model.setPlaceholderText(_usual(name_of(usual), kind) if own else "")
        fault = self._fault()
        self._note.say(fault, "info" if fault == _INCOMPLETE else "error")
        self._try.setEnabled(self._trying is not None or (asks and not fault))
        self._try.setText("Test" if self._trying is None else "Stop")
        if self._trying is None:
            self._tried.say("")
        self.checked.emit(not fault)

    def _fault(self) -> str:
        settings, variable = self.settings, self._key.text().strip()
        if settings.kind is DeciderName.ask:
            return ""
        if not names_a_model(settings):
            return _INCOMPLETE
        if variable and variable not in os.environ and not _VARIABLE.fullmatch(variable):
            return "This is to be the name of a variable, in capitals, and never the key itself."
        return ""

    def _names(self) -> tuple[str, ...]:
        return tuple(filter(None, (name.strip() for name in self._fallbacks.text().split(","))))

    # -- trying

    def _press(self) -> None:
        if self._trying is not None:
            self._trying.cancel()
        else:
            self._began = time.monotonic()
            self._trying = launch(self._attempt(self.settings))
            self._clock.start()
            self.check()
            self._tell_time()

    async def _attempt(self, settings: DeciderSettings) -> None:
        said = ("Stopped.", "info")
        try:
            said = _told(await try_out(settings), settings)
        finally:
            if isValid(self):
                self._trying = None
                self._clock.stop()
                self.check()
                self._tried.say(*said)

    def _tell_time(self) -> None:
        self._tried.say(f"Asking: {time.monotonic() - self._began:.0f} s", "info")

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._trying is not None and not event.spontaneous():
            self._trying.cancel()


def _usual(told: str, kind: DeciderName) -> str:
    return "" if told == kind else f"Usual: {told}"


def _told(trial: Trial, settings: DeciderSettings) -> tuple[str, str]:
    """What came of a try in words, and how bad it is."""
    if trial.failure is not None:
        return f"{trial.failure} {remedy(trial.failure)}".strip(), "error"
    took = f"after {trial.seconds:.1f} s"
    if trial.answer in (None, UNKNOWN):
        words = f"{name_of(settings)} replied {took}, but not with one of the allowed answers."
        return f"{words} Another model may do better.", "warning"
    tokens = f", {trial.tokens} tokens" if trial.tokens else ""
    return f"It works: {name_of(settings)} answered {took}{tokens}.", "info"
