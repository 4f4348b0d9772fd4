"""What every test stands on: no screen, one event loop, and folders of its own."""

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["QT_API"] = "pyside6"

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from designer import theme
from designer.app import make_loop, put_away

MUCH = 20_000


def pytest_collection_finish() -> None:
    """What stays for the whole session is not looked through again by every later collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for this test alone: nothing it stores reaches the person's own folders."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    return home


@pytest.fixture(autouse=True)
def no_garbage(request: pytest.FixtureRequest) -> Iterator[None]:
    """With an event loop garbage is collected by its timer alone, which most tests never let fire.

    What a test drops without deleting it, a scene or a widget, is taken down before the next one begins; a
    widget that stays even so is one that every person who works long enough collects.
    """
    yield
    if "qapp" in request.fixturenames:
        put_away()
        left = QApplication.topLevelWidgets()
        for widget in left:
            widget.deleteLater()
        assert not left, left
    elif gc.get_count()[0] > MUCH:
        gc.collect()


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> Iterator[QApplication]:
    """The application, dressed once for all tests."""
    theme.apply(qapp, "light")
    # As the program itself does: the last window that a test closes must not end the loop of the others.
    qapp.setQuitOnLastWindowClosed(False)
    yield qapp
    # Off the screen Qt keeps what was copied until after Python has ended, and then ends the process with it.
    qapp.clipboard().clear()


@pytest.fixture(scope="session")
def qloop(qapp: QApplication) -> Iterator[asyncio.AbstractEventLoop]:
    """The one event loop of the process: a loop for each test crashes qasync 0.28."""
    loop = make_loop(qapp)
    yield loop
    put_away()
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def aloop(qloop: asyncio.AbstractEventLoop) -> Iterator[asyncio.AbstractEventLoop]:
    """The event loop, without what the test left running on it."""
    asyncio.set_event_loop(qloop)  # a test that ran a loop of its own has left none
    yield qloop
    left = asyncio.all_tasks(qloop)
    for task in left:
        task.cancel()
    if left:
        qloop.run_until_complete(asyncio.wait(left, timeout=1))
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
