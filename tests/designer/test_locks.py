"""Locks between programs: one holder, none after its death, and a former holder that knows."""

import signal
import subprocess
import sys

import pytest

from designer.document.locks import acquire, seize

HOLDING = """
import sys
from pathlib import Path
from designer.document.locks import acquire
lock = acquire(Path(sys.argv[1]))
print(lock is not None, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "locks" / "tree"


def test_a_lock_has_one_holder_until_it_is_given_back(path):
    lock = acquire(path)
    assert lock is not None
    assert (lock.held, acquire(path)) == (True, None)
    lock.release()
    lock.release()
    assert (lock.held, path.exists()) == (False, False)
    assert acquire(path) is not None


def test_a_forgotten_lock_is_free(path):
    assert acquire(path) is not None
    assert acquire(path) is not None


def test_another_program_holds_a_lock_until_it_dies(path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"True\n"
    assert acquire(path) is None
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert path.exists()
    lock = acquire(path)
    assert lock is not None
    assert lock.held


def test_whoever_is_taken_over_sees_it_and_does_not_remove_the_new_lock(path):
    first = acquire(path)
    assert first is not None
    second = seize(path)
    assert (first.held, second.held) == (False, True)
    first.release()
    assert (second.held, acquire(path)) == (True, None)
    assert [entry.name for entry in path.parent.iterdir()] == ["tree"]


def test_a_lock_is_for_its_owner_alone(path):
    lock = acquire(path)
    assert lock is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_locked_the_system_says_why(tmp_path):
    (tmp_path / "locks").touch()
    with pytest.raises(OSError, match="File exists"):
        acquire(tmp_path / "locks" / "tree")
