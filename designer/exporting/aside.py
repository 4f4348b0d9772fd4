"""An export made aside: only one thread can draw with Qt, so a large tree gets a process of its own.

Both ends are here. The process is told everything, marks of runs and colours included, and so makes the same
bytes as the window itself. It sees no file.
"""

import asyncio
import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from PySide6.QtCore import QProcess, QProcessEnvironment

from designer.exporting.forms import FORMS, Subject
from designer.tasks import aside
from engine import TreewrightError

_AT_ONCE: Final = 20
"""So many nodes are drawn before anybody notices; another process takes half a second to start."""
_PROGRAM: Final = ("-m", "designer.exporting")


class ExportFailed(TreewrightError):
    """A form could not be made."""

    def __init__(self) -> None:
        super().__init__("Something went wrong while it was made. The tree and the disk are unchanged.")


async def make(subject: Subject, suffix: str) -> bytes:
    """The bytes of a tree in the form of this suffix; the event loop goes on meanwhile.

    Raises ``ExportFailed``; the reason is in the log. Nothing goes on when it is cancelled.
    """
    if len(subject.draft.tree.nodes) <= _AT_ONCE:
        return FORMS[suffix].write(subject)
    return await _made_aside(await aside(lambda: _order(subject, suffix)))


def fill(order: bytes) -> bytes:
    """Carry out an order, in the process aside."""
    # It came through a pipe from the process that started this one.
    suffix, subject = pickle.loads(order)  # noqa: S301
    return FORMS[suffix].write(subject)


async def _made_aside(order: bytes) -> bytes:
    # Through a file: a pipe would have its many megabytes pass through the window's thread.
    try:
        with TemporaryDirectory(prefix="treewright-") as folder:
            made = Path(folder) / "made"
            await _run(order, made)
            return await aside(made.read_bytes)
    except OSError as error:
        raise ExportFailed from error


async def _run(order: bytes, into: Path) -> None:
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def heed(state: QProcess.ProcessState) -> None:
        if state is QProcess.ProcessState.NotRunning and not ended.done():
            ended.set_result(None)

    process = QProcess()
    process.setProcessEnvironment(_environment())
    process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
    process.setStandardOutputFile(str(into))
    process.stateChanged.connect(heed)
    try:
        process.start(sys.executable, _PROGRAM)
        process.write(order)
        process.closeWriteChannel()
        await ended
        started = process.error() is not QProcess.ProcessError.FailedToStart
        whole = process.exitStatus() is QProcess.ExitStatus.NormalExit and process.exitCode() == 0
        if not (started and whole):
            raise ExportFailed
    finally:
        if process.state() is not QProcess.ProcessState.NotRunning:
            process.kill()
            process.waitForFinished()
        process.deleteLater()


def _order(subject: Subject, suffix: str) -> bytes:
    # A catalog holds functions of other people's modules, which stay in this process.
    costs = subject.bounds() if suffix == "html" else None
    return pickle.dumps((suffix, replace(subject, catalog=None, costs=costs)))


def _environment() -> QProcessEnvironment:
    """That of this process, for one that has no screen and finds the same modules."""
    environment = QProcessEnvironment.systemEnvironment()
    environment.insert("QT_QPA_PLATFORM", "offscreen")
    environment.insert("PYTHONPATH", os.pathsep.join(sys.path))
    return environment
