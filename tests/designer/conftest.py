"""What the tests of the designer share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from designer.settings import Settings
from designer.workbench import Workbench


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Workbench]:
    """A workbench with nothing on it, whose stores are in the test's own folder."""
    made = Workbench(Settings(transcripts_folder=tmp_path / "t", records_path=tmp_path / "r.jsonl"))
    yield made
    made.deleteLater()
