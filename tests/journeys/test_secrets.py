"""What nobody may find: an erased state in the profile; a key or a state in logs, titles, settings, texts."""

import asyncio
import json
import logging
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from typer.testing import CliRunner

from designer import dialogs
from designer.document import edits
from designer.document.folders import state_folder
from designer.panels.records import RecordsPanel
from designer.settings import Settings, cache_folder, data_folder, settings_path
from engine.cli import app
from engine.records import load_records
from tests.engine.servers import completion, replies, serving
from tests.engine.test_records_telemetry import Readings
from tests.journeys.driving import Driver, until
from tests.journeys.test_models import name_model, opened, run
from tests.journeys.test_records import dialog, in_full, press, words
from tests.journeys.test_records import opened as records_of

pytestmark = pytest.mark.socket

SAMPLE = Path(__file__).parents[2] / "samples" / "evidence-classification"
KEY = "key-canary-5150"
STATE = "state-canary-8807"
SAID = "The product page says the export to CSV is part of every plan."


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample with a state of our own, in a folder the person trusts."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    folder = tmp_path / "sample"
    shutil.copytree(SAMPLE, folder)
    (folder / "cases.jsonl").unlink()
    catalog = folder / "catalog.py"
    catalog.write_text(catalog.read_text().replace(SAID, STATE))
    tree = folder / "tree.json"
    tree.write_text(tree.read_text().replace('"maxLlmCalls": 1', '"maxLlmCalls": 3'))
    Settings(trusted_folders=(folder.resolve(),)).save()
    return tree


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below a folder, and what archives hold."""
    for file in folder.rglob("*"):
        if file.is_file():
            yield file, file.read_bytes()
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                yield from ((file / name, archive.read(name)) for name in archive.namelist())


def holding(folder: Path, *secrets: str) -> set[str]:
    """The files that hold one of these."""
    sought = [secret.encode() for secret in secrets]
    return {str(file) for file, data in contents(folder) if any(one in data for one in sought)}


async def answered(person: Driver, sample: Path, *, kept_in: Path | None = None) -> None:
    """Have a model answer, which quotes what it was asked, and keep the run as a file."""
    reply = {"answer": "supported", "observation": f"It says {STATE}.", "confidence": "high"}
    async with serving(replies(completion(json.dumps(reply)))) as server:
        name_model(sample, server.url, keyEnv="MODEL_KEY")
        await opened(person, sample)
        await run(person)
    assert person.result.verdict == "supported"
    if kept_in is not None:
        assert person.window.run_command("run.save-log")
        await until(kept_in.exists)


def confirm(panel: RecordsPanel) -> None:
    """Click the first answer of the shown decision."""
    spot = panel.detail.bars.rect().topLeft()
    spot.setY(5)
    QTest.mouseClick(panel.detail.bars, Qt.MouseButton.LeftButton, pos=spot)


@pytest.mark.parametrize("name", ["records.sqlite", "mine.jsonl"])
def test_no_byte_of_an_erased_state_is_left_in_the_profile(travel, sample, own_folders, monkeypatch, name):
    ids: list[str] = []
    store = data_folder() / name
    Settings.load().changed(records_path=store).save()
    log = data_folder() / "runs" / "kept.jsonl"

    async def chosen(*_: object) -> Path:
        return log

    monkeypatch.setattr(dialogs, "ask_save", chosen)
    log.parent.mkdir(parents=True)

    async def journey(person: Driver) -> None:
        await answered(person, sample, kept_in=log)
        await person.show("transcripts")
        panel = await records_of(person, 1)
        panel.bar.text.setFocus()
        QTest.keyClicks(panel.bar.text, STATE)
        QTest.keyClick(panel.bar.text, Qt.Key.Key_Return)
        await until(lambda: panel.counted.text().startswith("1 of") or len(panel.model.rows) == 1)
        await until(lambda: panel._told is not None)
        ids.append(in_full(panel).decision.record.decision_id)
        confirm(panel)
        await until(lambda: panel.detail.told is not None and panel.detail.told.decision.confirmed)
        panel.detail.buttons["test"].click()
        await until(sample.with_name("cases.jsonl").exists)
        person.document.edit("Name", lambda draft: edits.set_tree_field(draft, "name", "Other"))
        await until(lambda: list(state_folder().rglob("*.zip")), ticks=2000)
        found = holding(own_folders, STATE)
        assert str(log) in found
        assert any(file.endswith(".md") for file in found)
        assert found & {str(store), f"{store}-wal"}
        # The index of a record file, else the store itself.
        assert {Path(file).suffix for file in holding(own_folders, *ids)} & {".sqlite", ".sqlite-wal"}
        assert holding(sample.parent, STATE) >= {str(sample.with_name("cases.jsonl"))}
        panel.table.setFocus()
        QTest.keyClick(panel.table, Qt.Key.Key_Delete)
        await press(await dialog(person), "button.one")
        report = await dialog(person)
        assert "Nothing of it is left" in words(report)
        await press(report, "button.OK")
        assert holding(own_folders, STATE, *ids) == set()

    travel(journey)
    assert holding(own_folders, STATE, *ids) == set()
    done = CliRunner().invoke(app, ["records", "compact", str(store)])
    assert done.exit_code == 0, done.output
    assert holding(own_folders, STATE, *ids) == set()
    assert STATE not in sample.with_name("cases.jsonl").read_text()


# -- keys and states where they have no business ----------------------------------------------------------

FAILING = {
    "refused, quoting the key": replies({"error": {"message": f"bad key {KEY}"}}, status=401),
    "over, quoting the state": replies({"error": {"message": STATE, "code": STATE}}, status=500),
    "no JSON": replies(f"<p>{KEY} {STATE}</p>".encode(), content_type="text/html"),
    "led away": replies(b"", status=302, headers={"location": f"http://127.0.0.1:9/?k={KEY}&s={STATE}"}),
    # What a model says itself is told to whoever asked it.
    "no answer": replies(completion("I cannot tell.")),
}


def test_neither_key_nor_state_is_in_a_log_a_title_a_setting_or_a_text_of_an_error(
    travel, sample, own_folders, caplog, monkeypatch
):
    caplog.set_level(logging.DEBUG)
    readings = Readings()
    titles: set[str] = set()
    shown: list[str] = []

    def look(person: Driver) -> None:
        titles.update(widget.windowTitle() for widget in QApplication.allWidgets())
        shown.extend((person.window.message, repr(person.window.workbench.records.recorder.counters)))

    async def journey(person: Driver) -> None:
        records = person.window.workbench.records
        person.window.workbench.trouble.connect(lambda told: shown.append(str(told)))
        for act in FAILING.values():
            async with serving(act) as server:
                name_model(sample, server.url, keyEnv="MODEL_KEY")
                await opened(person, sample)
                await run(person)
            look(person)
            shown.extend((str(person.result.error), repr(person.result.failure_kind)))
        await answered(person, sample)
        look(person)
        await records.recorder.flush()
        panel = await records_of(person, len(FAILING) + 1)
        await until(lambda: panel._told is not None)
        shown.append(repr(in_full(panel).decision))

        async def fails(*_: object) -> None:
            raise OSError(f"{KEY} {STATE}")

        for call in ("write_all", "outcome", "erase_decision"):
            monkeypatch.setattr(records._sink, call, fails)
        await answered(person, sample)
        await until(lambda: records.recorder.counters.failed == 1)
        confirm(panel)
        await until(lambda: records.recorder.counters.outcomes_failed == 1)
        panel.table.setFocus()
        QTest.keyClick(panel.table, Qt.Key.Key_Delete)
        await press(await dialog(person), "button.one")
        report = await dialog(person)
        assert "The erasure is not confirmed" in words(report)
        await press(report, "button.OK")
        look(person)
        person.window.workbench.settings.changed(theme="dark").save()

    travel(journey)
    failed = {
        f"The record store failed at '{call}' (OSError)." for call in ("write", "outcome", "erase-decision")
    }
    assert failed <= {entry.getMessage() for entry in caplog.records}
    assert readings.since()["records", "failed"] == 1
    metrics = readings.text()
    readings.close()
    said = {"logs": caplog.text, "titles": "\n".join(titles), "texts": "\n".join(shown), "metrics": metrics}
    for secret in (KEY, STATE):
        assert [where for where, text in said.items() if secret in text] == []
        for folder in (settings_path().parent, cache_folder(), state_folder()):
            assert holding(folder, secret) == set()
    assert holding(own_folders, KEY) == set()


COMMAND = "import logging; logging.basicConfig(level=logging.DEBUG); from engine.cli import main; main()"


@pytest.mark.anyio
async def test_neither_key_nor_state_is_said_by_a_command_that_fails(sample, tmp_path, own_folders):
    store = tmp_path / "records.jsonl"

    def command(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *map(str, arguments)],
            env=os.environ,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr
        return (done.stdout + done.stderr).decode()

    failures = ("refused, quoting the key", "over, quoting the state")
    for name in failures:
        async with serving(FAILING[name]) as server:
            name_model(sample, server.url, keyEnv="MODEL_KEY")
            told = await asyncio.to_thread(command, "run", sample, "--trust", "--records", store)
        assert "DEBUG" in told
        assert KEY not in told
        assert STATE not in told
    assert len(load_records(store).decisions) == len(failures)
    assert KEY.encode() not in store.read_bytes()
    with store.open("ab") as file:
        file.write(f'{{"kind":"record","{STATE}":"{KEY}"\n'.encode())
    for arguments in (("stats", store), ("erase", store, "--key", STATE, "--yes"), ("compact", store)):
        told = await asyncio.to_thread(command, "records", *arguments)
        assert KEY not in told
    assert holding(own_folders, KEY, STATE) == set()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
