"""Disks that fail: whatever goes wrong, the old file stands, the document is unsaved, the cause is told."""

import errno
import json
import os
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from designer import resource
from designer.document import edits
from designer.document.document import Document
from designer.document.draft import Place
from designer.document.files import SaveFailed, design_path, save_tree
from designer.document.recovery import Recovery, Snapshot
from engine import Session, TranscriptOptions, read_tree
from engine.evaluate import find_cases, inputs_of, read_cases
from engine.records import DecisionRecorder, JsonlSink
from tests.designer.drafts import triage

ROOT = Path(__file__).parent.parent.parent
SSVC = resource("samples/ssvc-deployer/tree.json")

CALLS = ["open", "write", "fsync", "close", "replace", "mkdir"]
CAUSES = [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE]
AT_MOST = 40


class Disk:
    """A disk whose nth call of a kind fails: that one only, or every one from then on."""

    def __init__(self, patch, call: str, cause: int, number: int, *, lasting: bool) -> None:
        self.count, self.number, self.lasting = 0, number, lasting
        self.resting = self.failed = False
        self.error = OSError(cause, os.strerror(cause))
        fdopen = os.fdopen
        if call in ("write", "close"):
            patch.setattr(os, "fdopen", lambda *given: Failing(fdopen(*given), call, self))
        if call != "close":
            patch.setattr(os, call, self.failing(getattr(os, call)))

    def failing(self, call):
        def wrapped(*given, **named):
            self.check()
            return call(*given, **named)

        return wrapped

    def check(self) -> None:
        self.count += not self.resting
        if not self.resting and (self.count == self.number or (self.lasting and self.count > self.number)):
            self.failed = True
            raise OSError(self.error.errno, self.error.strerror)


class Failing:
    """An open file on that disk."""

    def __init__(self, file, call: str, disk: Disk) -> None:
        self.file, self.call, self.disk = file, call, disk

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        if self.call == "close":
            self.disk.check()

    def write(self, data: bytes):
        if self.call == "write":
            half = self.file.write(data[: len(data) // 2])
            self.file.flush()
            self.disk.check()
            return half + self.file.write(data[half:])
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()

    def fileno(self):
        return self.file.fileno()


def disks(call, *, lasting):
    """The same disk failing one call later each time, until it does not fail any more."""
    for number in range(1, AT_MOST):
        for cause in CAUSES:
            with pytest.MonkeyPatch.context() as patch:
                disk = Disk(patch, call, cause, number, lasting=lasting)
                yield disk
        if not disk.failed:
            return
    raise AssertionError("The work never came to an end.")


def edited(path) -> Document:
    document = Document.open(path)
    assert isinstance(document, Document)
    document.edit("Rename", lambda d: edits.set_tree_field(d, "name", "New"))
    document.edit("Move", lambda d: edits.move_nodes(d, {"ask": Place(5, 5)}))
    return document


def refusal(work) -> str:
    """What is said when the work cannot be done; nothing when it can."""
    try:
        work()
    except (SaveFailed, OSError) as error:
        return str(error)
    return ""


def files_in(folder):
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}


# ------------------------------------------------------------------------------------------ saving


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("call", CALLS)
def test_saving_on_a_failing_disk_leaves_the_old_file_and_says_why(qapp, tmp_path, call, lasting):
    path = save_tree(triage(), path=tmp_path / "tree.json").path
    old = files_in(tmp_path)
    refusals = 0
    for disk in disks(call, lasting=lasting):
        document = edited(path)
        refused = refusal(document.save)
        if refused:
            refusals += 1
            now = files_in(tmp_path)
            # Where even moving back fails, new places beside the old tree are harmless.
            assert now["tree.json"] == old["tree.json"]
            assert now == old or (call, lasting) == ("replace", True)
            assert any(refused.startswith(f"{name} could not be saved: ") for name in old)
            assert disk.error.strerror in refused
        # Without a refusal, what failed was only there to help: the backup, or settling the folder.
        assert document.clean is not bool(refused)
        disk.resting = True
        document.save()
        reopened = Document.open(path)
        assert isinstance(reopened, Document)
        assert reopened.draft == document.draft
        for name, data in old.items():
            (tmp_path / name).write_bytes(data)
    assert refusals >= (0 if call == "mkdir" else len(CAUSES))


@pytest.mark.parametrize("call", CALLS)
def test_saving_a_new_tree_on_a_failing_disk_leaves_nothing(qapp, tmp_path, call):
    for number, disk in enumerate(disks(call, lasting=False)):
        folder = tmp_path / str(number)
        folder.mkdir() if call != "mkdir" else subprocess.run(["mkdir", folder], check=True)
        document = Document(triage())
        refused = refusal(partial(document.save, folder / "tree.json"))
        if refused:
            assert (files_in(folder), document.path) == ({}, None)
            assert disk.error.strerror in refused
        else:
            assert sorted(files_in(folder)) == ["tree.design.json", "tree.json"]


def test_a_version_of_another_program_that_cannot_be_kept_is_not_overwritten(qapp, tmp_path, own_folders):
    path = save_tree(triage(), path=tmp_path / "tree.json").path
    document = edited(path)
    path.write_bytes(b"{}")
    document.keep_mine()
    (own_folders / "state").write_text("in the way")
    with pytest.raises(SaveFailed, match=r"tree\.json .*: what it would replace cannot be kept \(.+\)\."):
        document.save()
    assert path.read_bytes() == b"{}"


# ------------------------------------------------------------------------------------------ the others


@pytest.mark.parametrize("call", CALLS)
def test_a_snapshot_on_a_failing_disk_leaves_the_one_before(qapp, tmp_path, call):
    path = save_tree(triage(), path=tmp_path / "tree.json").path
    old, new = Snapshot.of(edited(path)), Snapshot.of(edited(path))
    refusals = 0
    for number, disk in enumerate(disks(call, lasting=False)):
        disk.resting = True
        program = Recovery(tmp_path / "recovery" / str(number))
        if call != "mkdir":
            program.keep("one", old).result()
        disk.resting = False
        refused = refusal(program.keep("one", new).result)
        refusals += bool(refused)
        kept = new if not refused else None if call == "mkdir" else old
        assert disk.error.strerror in (refused or disk.error.strerror)
        disk.resting = True
        found = [file.read_bytes() for file in (tmp_path / "recovery").glob(f"{number}/*/*.zip")]
        assert [Snapshot.unpacked(data) for data in found] == [one for one in [kept] if one]
        program.keep("one", new).result()
        program.drop("one").result()
        program.close()
    assert refusals >= len(CAUSES)


@pytest.mark.parametrize("call", ["open", "write", "close", "mkdir"])
def test_a_run_on_a_failing_disk_goes_on_without_its_transcript(aloop, tmp_path, call, caplog):
    tree = read_tree(SSVC.read_bytes()).tree
    case = read_cases(find_cases(SSVC), tree)[0][0]
    without = 0
    for number, _disk in enumerate(disks(call, lasting=False)):
        session = Session(transcript=TranscriptOptions(directory=tmp_path / f"of-{number}"))
        run = session.start(tree, inputs_of(case))
        result = aloop.run_until_complete(run.finish())
        assert (result.outcome, result.verdict) == ("Terminal", case.expect.verdict)
        assert run.transcript is not None
        without += run.transcript.status != "Completed"
    assert without >= len(CAUSES)


def test_a_run_on_a_failing_disk_loses_only_the_records_that_were_hit(aloop, tmp_path):
    tree = read_tree(SSVC.read_bytes()).tree
    case = read_cases(find_cases(SSVC), tree)[0][-1]
    path = tmp_path / "records.jsonl"
    for disk in disks("write", lasting=False):
        path.unlink(missing_ok=True)
        sink = JsonlSink(path)
        recorder = DecisionRecorder(sink)
        run = Session(recorder=recorder, record_scripted=True).start(tree, inputs_of(case))
        result = aloop.run_until_complete(run.finish())
        aloop.run_until_complete(recorder.close())
        sink.close()
        assert (result.outcome, result.verdict) == ("Terminal", case.expect.verdict)
        lines = [json.loads(line) for line in path.read_text().splitlines() if line]
        assert len(lines) == result.usage.llm_calls - disk.failed


# ------------------------------------------------------------------------------------------ real ones


def test_a_full_disk_keeps_the_old_file(qapp, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("A small file system cannot be mounted here.")
    try:
        path = save_tree(triage(), path=full / "tree.json").path
        old = files_in(full)
        document = edited(path)
        document.edit("Fill", lambda d: edits.set_tree_field(d, "description", "x" * 100_000))
        with pytest.raises(SaveFailed, match=r"tree\.json could not be saved: No space left on device\."):
            document.save()
        assert (files_in(full), document.clean) == (old, False)
        document.undo()
        document.save()
        assert document.clean
    finally:
        subprocess.run(["umount", full], check=True)


AS_SOMEBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

AS_NOBODY = """
import sys
from pathlib import Path
from designer.document import edits
from designer.document.files import SaveFailed, open_tree, save_tree
stored = open_tree(Path(sys.argv[1]))
try:
    save_tree(edits.set_tree_field(stored.draft, "name", "New"), stored)
except SaveFailed as failed:
    print(failed)
"""


@pytest.mark.parametrize("mode", [0o555, 0o755])
def test_a_folder_one_may_not_write_to_keeps_its_file(qapp, mode):
    if os.getuid() != 0:
        pytest.skip("Only root can become somebody else; everybody else sees this in the other tests.")
    # The folders of the other tests are closed to everybody else.
    with TemporaryDirectory() as open_to_all, TemporaryDirectory() as home:
        folder = Path(open_to_all)
        path = save_tree(triage(), path=folder / "tree.json").path
        path.chmod(0o666)
        folder.chmod(mode)
        os.chown(home, 65534, 65534)
        old = files_in(folder)
        done = subprocess.run(
            [*AS_SOMEBODY, sys.executable, "-c", AS_NOBODY, path],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "HOME": home, "XDG_STATE_HOME": home, "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
        )
        now = files_in(folder)
    if "setpriv" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("Another user cannot run this Python here.")
    assert done.stderr == ""
    assert done.stdout == (
        "tree.json could not be saved: Permission denied. The file on the disk is unchanged.\n"
    )
    assert now == old


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("x" * 251 + ".json", "File name too long"),
        ("x" * 245 + ".json", "File name too long"),
        ("folder", "Is a directory"),
        ("missing/tree.json", "No such file or directory"),
        ("file.txt/tree.json", "Not a directory"),
        ("loop.json", "Too many levels of symbolic links"),
    ],
)
def test_a_target_that_cannot_be_is_refused_with_its_name_and_the_cause(qapp, tmp_path, name, cause):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.txt").touch()
    (tmp_path / "loop.json").symlink_to("loop.json")
    before = sorted(entry.name for entry in tmp_path.iterdir())
    document = Document(triage())
    with pytest.raises(SaveFailed) as caught:
        document.save(tmp_path / name)
    assert cause in str(caught.value)
    assert Path(name).name.removesuffix(".json") in str(caught.value)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before
    assert document.path is None


@pytest.mark.parametrize("name", ["x" * 238 + ".json", "ü" * 119 + ".json", "\U0001f333" * 59 + ".json"])
def test_the_longest_names_the_system_takes_can_be_saved_twice(qapp, tmp_path, name):
    document = Document(triage())
    document.save(tmp_path / name)
    document.edit("Rename", lambda d: edits.set_tree_field(d, "name", "New"))
    document.save()
    reopened = Document.open(tmp_path / name)
    assert isinstance(reopened, Document)
    assert reopened.draft == document.draft
    assert len(list(tmp_path.iterdir())) == 2
    assert design_path(tmp_path / name).exists()


def test_what_is_kept_beside_is_for_its_owner_alone(qapp, tmp_path, own_folders):
    mask = os.umask(0)
    try:
        path = save_tree(triage(), path=tmp_path / "tree.json").path
        edited(path).save()
    finally:
        os.umask(mask)
    kept = list((own_folders / "state").rglob("*"))
    modes = {(entry.is_dir(), stat.S_IMODE(entry.stat().st_mode)) for entry in kept}
    assert modes == {(True, 0o700), (False, 0o600)}
