"""Files put in place whole: the old one or the new one, and nothing beside it."""

import stat
from pathlib import Path

import pytest

from engine.files import in_place_of


def put(path: Path, data: bytes, *, private: bool = False) -> None:
    with in_place_of(path, private=private) as file:
        file.write(data)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_there_whole_and_alone(tmp_path: Path):
    put(tmp_path / "a", b"new")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a", b"new")]


@pytest.mark.parametrize(("private", "kept"), [(False, 0o640), (True, 0o600)])
def test_a_file_that_is_there_keeps_its_mode_unless_it_shall_be_private(
    tmp_path: Path, private: bool, kept: int
):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    put(path, b"new", private=private)
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


def test_a_new_private_file_is_for_its_owner_only(tmp_path: Path):
    put(tmp_path / "a", b"new", private=True)
    assert mode(tmp_path / "a") == 0o600


def test_a_link_stays_one(tmp_path: Path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    put(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path: Path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail() -> None:
        with in_place_of(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a", b"old")]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        put(tmp_path / "no" / "a", b"new")
