"""The application: its event loop, its one window, and the order in which both end."""

import asyncio
import gc
import logging
import sys
from functools import partial
from pathlib import Path
from types import CodeType, TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication

# After PySide6: qasync takes the binding it finds imported.
import qasync  # isort: skip

from designer import tasks, theme
from designer.settings import Settings

if TYPE_CHECKING:
    from designer.window import MainWindow

log = logging.getLogger(__name__)

_COLLECT_MS = 1000


class _Loop(qasync.QEventLoop):  # type: ignore[misc]  # qasync has no types
    """qasync's loop, which also closes asynchronous generators that are left early."""

    def run_forever(self) -> object:
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(
            firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook
        )
        try:
            return super().run_forever()
        finally:
            sys.set_asyncgen_hooks(*before)


class _Collector(QObject):
    """Collects garbage in the window's thread only.

    Python collects wherever it happens to allocate. A cycle that holds a widget, torn down in a worker
    thread, ends the process in Qt.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thresholds = gc.get_threshold()
        gc.disable()
        self._timer = QTimer(self, interval=_COLLECT_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> None:
        """Collect the oldest generation that is due, as Python itself would."""
        due = [count > limit for count, limit in zip(gc.get_count(), self._thresholds, strict=True)]
        if any(due):
            gc.collect(max(i for i, is_due in enumerate(due) if is_due))


def make_loop(app: QApplication) -> asyncio.AbstractEventLoop:
    """The one event loop of this process: asyncio on top of Qt. A second one can crash qasync.

    From now on garbage is collected in this thread only.
    """
    # When everything is logged it would log what is handed to threads and what they give back: states, texts.
    logging.getLogger("qasync").setLevel(logging.WARNING)
    loop: asyncio.AbstractEventLoop = _Loop(app)
    asyncio.set_event_loop(loop)
    _Collector(app)
    return loop


def put_away() -> None:
    """Delete now what was to be deleted later: only a running loop does so, and the exit comes first."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def create(path: Path | None = None) -> "MainWindow":
    """The main window, on a file or on the start page; needs a running loop and does not show itself."""
    from designer.window import MainWindow

    app = QApplication.instance()
    if not isinstance(app, QApplication):
        raise TypeError("There is no QApplication yet; make one, and its loop with make_loop().")
    # Qt must not end the loop under our feet: whoever made it ends it when everything is put away.
    app.setQuitOnLastWindowClosed(False)
    settings = Settings.load()
    theme.apply(app, settings.theme)
    with theme.undressed(app):
        window = MainWindow(settings)
    if path is not None:
        window.open_path(path)
    tasks.launch(_offers(window))
    return window


async def _offers(window: "MainWindow") -> None:
    """Offer what an earlier program left undone."""
    from designer.panels.records import RecordsPanel

    await window.filing.offer_recovery()
    records = window.panels["records"]
    if isinstance(records, RecordsPanel):
        await records.offer_erasures()


def main(path: Path | None = None) -> int:
    """Show the window and stay until it is closed; the exit code of the process."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Treewright")
    app.setOrganizationName("Treewright")
    app.setDesktopFileName("treewright")
    loop = make_loop(app)
    try:
        loop.run_until_complete(_session(path))
    finally:
        put_away()
        asyncio.set_event_loop(None)
        loop.close()
    return 0


async def _session(path: Path | None) -> None:
    closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    window = create(path)
    window.closed.connect(partial(closed.set_result, None))
    _report_to(window)
    window.show()
    QTimer.singleShot(_COLLECT_MS, _settle)  # when there is something to see and to do
    await closed
    await tasks.cancel_all()
    await window.workbench.records.close()
    window.deleteLater()


def _settle() -> None:
    """Keep modules and the window out of later collections: they stay, and looking at them takes long."""
    gc.collect()
    gc.freeze()


def _report_to(window: "MainWindow") -> None:
    """Let a fault in a slot cost nothing but a sentence: the window stays, the trace goes to the log.

    A fault that comes again and again, while painting for instance, is logged once.
    """
    logged: set[tuple[type[BaseException], CodeType | None, int]] = set()

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        last = trace
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = (kind, last.tb_frame.f_code, last.tb_lineno) if last else (kind, None, 0)
        if place not in logged:
            logged.add(place)
            log.error("A fault in the window.", exc_info=(kind, error, trace))
        window.tell(f"Something went wrong ({kind.__name__}). Your work is still here; save it to be safe.")

    def from_loop(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            hook(type(error), error, error.__traceback__)
        else:
            log.error("A fault in the event loop: %s", context.get("message"))

    sys.excepthook = hook
    asyncio.get_running_loop().set_exception_handler(from_loop)
