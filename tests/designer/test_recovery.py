"""Recovery: what is not saved is kept close behind the last edit, offered once, and never put over a file."""

import json
import os
import stat
from datetime import UTC, datetime
from io import BytesIO
from zipfile import ZipFile

import pytest
from PySide6.QtCore import QObject
from shiboken6 import delete

from designer.document import edits, recovery
from designer.document.document import Document
from designer.document.draft import Note, Place
from designer.document.files import design_path, save_tree
from designer.document.folders import state_folder
from designer.document.recovery import Keeper, Recovery, Snapshot, SnapshotRefused
from tests.designer.drafts import triage
from tests.designer.waiting import until


@pytest.fixture
def soon(monkeypatch):
    """The same order of things in a hundredth of the time."""
    monkeypatch.setattr(recovery, "QUIET_MS", 10)
    monkeypatch.setattr(recovery, "LATEST_MS", 18)


@pytest.fixture
def folder():
    return state_folder() / "recovery"


@pytest.fixture
def path(tmp_path):
    return save_tree(triage(), path=tmp_path / "tree.json").path


def opened(path) -> Document:
    document = Document.open(path)
    assert isinstance(document, Document)
    return document


def retask(document, task):
    document.edit("Edit task", lambda d: edits.set_field(d, "ask", "task", task))


def changed(path=None, task="Mine?") -> Document:
    document = opened(path) if path else Document(triage())
    retask(document, task)
    return document


def died_with(folder, *documents):
    """What a program leaves that dies with these documents."""
    program = Recovery(folder)
    for number, document in enumerate(documents):
        program.keep(str(number), Snapshot.of(document)).result()
    program._thread.shutdown()
    assert program._lock is not None
    program._lock._close()


def left(folder):
    with Recovery(folder).left() as found:
        return found


def snapshots(folder):
    return sorted(folder.glob("*/*.zip"))


# ------------------------------------------------------------------------------------------ a snapshot


def test_a_snapshot_holds_both_files_as_saving_would_write_them(qapp, path):
    document = changed(path)
    data = Snapshot.of(document).packed()
    document.save()
    with ZipFile(BytesIO(data)) as archive:
        assert archive.read("tree.json") == path.read_bytes()
        assert archive.read("tree.design.json") == design_path(path).read_bytes()


def test_a_snapshot_comes_back_equal_with_notes_and_unfinished_work(qapp, path):
    document = changed(path)
    document.edit("Add", lambda d: edits.add_node(d, "classify", Place(7, 7)))
    note = Note(Place(1, 2), 100, 50, "Why — ü")
    document.edit("Note", lambda d: type(d)(d.tree, d.places, d.design, {"n": note}))
    snapshot = Snapshot.of(document)
    assert Snapshot.unpacked(snapshot.packed()) == snapshot


def repacked(data, **parts):
    with ZipFile(BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, part in (members | parts).items():
            if part is not None:
                archive.writestr(name, part)
    return buffer.getvalue()


def about(data, **members):
    """The same archive that says something else about itself."""
    with ZipFile(BytesIO(data)) as archive:
        said = json.loads(archive.read("about.json"))
    return repacked(data, **{"about.json": json.dumps(said | members)})


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: data[:0], "not whole"),
        (lambda data: data[: len(data) // 2], "not whole"),
        (lambda data: b"\0" * len(data), "not whole"),
        (lambda data: data.replace(b"Mine?", b"Yours"), "not whole"),
        (lambda data: repacked(data, **{"tree.json": b"{"}), "its tree cannot be read"),
        (lambda data: repacked(data, **{"tree.json": b'{"version": "x"}'}), "its tree cannot be read"),
        (lambda data: repacked(data, **{"tree.design.json": b"["}), "its tree cannot be read"),
        (lambda data: repacked(data, **{"tree.json": None}), "no snapshot of this program"),
        (lambda data: repacked(data, **{"about.json": b"[]"}), "no snapshot of this program"),
        (lambda data: about(data, at="noon"), "no snapshot of this program"),
        (lambda data: about(data, marks=[]), "no snapshot of this program"),
        (lambda data: about(data, format=2), "a newer version"),
    ],
)
def test_a_damaged_snapshot_is_refused_with_a_reason_and_kept_aside(qapp, folder, path, spoil, reason):
    died_with(folder, changed(path))
    (file,) = snapshots(folder)
    spoiled = spoil(file.read_bytes())
    file.write_bytes(spoiled)
    with pytest.raises(SnapshotRefused, match=reason):
        Snapshot.unpacked(spoiled)
    found = left(folder)
    assert found.found == ()
    assert reason in found.damaged[0]
    assert [kept.read_bytes() for kept in (folder / "damaged").iterdir()] == [spoiled]
    assert left(folder) == recovery.Left()


def test_any_flipped_bit_is_refused_or_changes_nothing(qapp, path):
    snapshot = Snapshot.of(changed(path))
    data = snapshot.packed()
    for at in range(0, len(data), 7):
        spoiled = bytearray(data)
        spoiled[at] ^= 1 << at % 8
        try:
            read = Snapshot.unpacked(bytes(spoiled))
        except SnapshotRefused:
            continue
        assert read == snapshot


# ------------------------------------------------------------------------------------------ recovering


def test_recovering_opens_a_changed_document_of_the_same_file_and_leaves_the_file_alone(qapp, folder, path):
    before, document = path.read_bytes(), changed(path)
    died_with(folder, document)
    (found,) = left(folder).found
    recovered = found.snapshot.opened()
    assert (recovered.draft, recovered.path, recovered.clean) == (document.draft, path, False)
    assert (path.read_bytes(), recovered.changed_outside()) == (before, False)
    recovered.undo()
    assert (recovered.draft, recovered.clean) == (triage(), True)
    recovered.redo()
    recovered.save()
    assert opened(path).draft == document.draft


def test_a_file_changed_after_the_crash_is_not_overwritten_by_what_is_recovered(qapp, folder, path):
    died_with(folder, changed(path))
    other = changed(path, "Later?")
    other.save()
    (found,) = left(folder).found
    assert found.snapshot.is_overtaken()
    recovered = found.snapshot.opened()
    assert recovered.changed_outside()
    recovered.keep_mine()
    recovered.save()
    assert opened(path).draft == recovered.draft


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_text("{")])
def test_work_on_a_file_that_is_gone_or_unreadable_is_recovered_and_stays_unsaved(qapp, folder, path, spoil):
    document = changed(path)
    died_with(folder, document)
    spoil(path)
    (found,) = left(folder).found
    recovered = found.snapshot.opened()
    assert (recovered.draft, recovered.path, recovered.clean) == (document.draft, path, False)
    recovered.undo()
    assert (recovered.draft, recovered.clean) == (document.draft, False)


def test_a_document_that_never_had_a_file_is_recovered_as_one(qapp, folder):
    document = changed()
    died_with(folder, document)
    (found,) = left(folder).found
    recovered = found.snapshot.opened()
    assert (recovered.draft, recovered.path, recovered.clean) == (document.draft, None, False)
    assert found.snapshot.name == "triage"


def test_what_was_saved_just_before_the_end_is_not_offered(qapp, folder, path):
    document = changed(path)
    died_with(folder, document)
    document.save()
    assert left(folder).found == ()
    assert list(folder.iterdir()) == []


def test_the_latest_work_comes_first(qapp, folder, path):
    died_with(folder, changed(path, "First?"))
    died_with(folder, changed(path, "Second?"), changed())
    times = [found.snapshot.at for found in left(folder).found]
    assert len(times) == 3
    assert times == sorted(times, reverse=True)


def test_what_is_left_for_later_is_offered_again_and_what_is_discarded_is_gone(qapp, folder, path):
    died_with(folder, changed(path), changed())
    with Recovery(folder).left() as found:
        found.found[0].discard()
    (later,) = left(folder).found
    with Recovery(folder).left():
        later.discard()
    assert list(folder.iterdir()) == []


# ------------------------------------------------------------------------------------------ two programs


def test_what_a_running_program_keeps_is_not_offered_to_another(qapp, folder, path):
    running = Recovery(folder)
    running.keep("one", Snapshot.of(changed(path))).result()
    assert left(folder) == recovery.Left()
    assert len(snapshots(folder)) == 1
    running.drop("one")
    running.close()
    assert list(folder.iterdir()) == []


def test_what_one_program_is_offered_another_is_not(qapp, folder, path):
    died_with(folder, changed(path))
    with Recovery(folder).left() as found:
        assert len(found.found) == 1
        assert left(folder) == recovery.Left()
    assert len(left(folder).found) == 1


def test_snapshots_are_for_their_owner_alone_whatever_the_mask(qapp, folder, path):
    mask = os.umask(0)
    try:
        died_with(folder, changed(path))
    finally:
        os.umask(mask)
    modes = {stat.S_IMODE(entry.stat().st_mode) for entry in (folder, *folder.rglob("*")) if entry.is_file()}
    folders = {stat.S_IMODE(entry.stat().st_mode) for entry in (folder, *folder.rglob("*")) if entry.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


# ------------------------------------------------------------------------------------------ keeping


def keeping(aloop, folder, document, journey):
    """Keep a document while the journey goes on."""

    async def whole():
        program = Recovery(folder)
        owner = QObject()
        keeper = Keeper(document, program, owner)
        try:
            await journey(keeper)
        finally:
            delete(owner)  # with its timers
            program.close()

    aloop.run_until_complete(whole())


def test_the_two_seconds_are_kept_to():
    assert recovery.QUIET_MS <= 1000
    assert recovery.LATEST_MS < 2000


def test_a_snapshot_follows_the_edits_and_goes_when_all_is_undone_or_saved(aloop, soon, folder, path):
    document = opened(path)

    async def journey(_keeper):
        for settle in (document.undo, document.save):
            retask(document, "Mine?")
            await until(lambda: snapshots(folder))
            assert Snapshot.unpacked(snapshots(folder)[0].read_bytes()).draft == document.draft
            settle()
            await until(lambda: not snapshots(folder))

    keeping(aloop, folder, document, journey)
    assert list(folder.iterdir()) == []


def test_who_never_stops_editing_has_a_snapshot_all_the_same(aloop, monkeypatch, soon, folder, path):
    monkeypatch.setattr(recovery, "QUIET_MS", 10_000)
    document = opened(path)

    def edited():
        retask(document, f"{document.undo_stack.count()}?")
        return snapshots(folder)

    async def journey(_keeper):
        await until(edited)

    keeping(aloop, folder, document, journey)


def test_closing_a_document_removes_its_snapshot(aloop, soon, folder, path):
    async def journey(keeper):
        keeper.keep().result()
        assert len(snapshots(folder)) == 1
        keeper.close()

    keeping(aloop, folder, changed(path), journey)
    assert list(folder.iterdir()) == []


def test_a_document_without_changes_leaves_no_trace(aloop, soon, folder, path):
    async def journey(_keeper):
        document.select(["ask"])

    document = opened(path)
    keeping(aloop, folder, document, journey)
    assert not folder.exists()


def test_when_no_snapshot_can_be_written_it_is_said_once_and_tried_again(aloop, soon, folder, path):
    folder.parent.mkdir(parents=True)
    folder.touch()
    said: list[object] = []

    async def journey(keeper):
        keeper.failed.connect(said.append)
        await until(lambda: said)
        for _ in range(2):
            with pytest.raises(OSError, match="File exists"):
                keeper.keep().result()
            await until(lambda: not keeper._look_soon.isActive())
        assert said == ["Changes are not kept for recovery: File exists. Save them to be safe."]
        folder.unlink()
        await until(lambda: snapshots(folder))

    keeping(aloop, folder, changed(path), journey)
    assert len(said) == 1


def test_a_snapshot_knows_when_it_was_taken(qapp):
    before = datetime.now(UTC)
    assert before <= Snapshot.of(changed()).at <= datetime.now(UTC)
