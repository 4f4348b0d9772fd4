"""Traces: where else a decision is kept, found by its id in files of every kind, and wiped."""

import asyncio
from pathlib import Path
from zipfile import ZipFile

import pytest

from designer.traces import Ids, Trace, traces_of, wipe
from engine import ClassificationCompleted
from engine.evaluate import write_run_log
from tests.engine.recordings import recorded_run

ID = "01a1b2c3-d4e5-7f60-8a1b-000000000007"
OTHER = "01a1b2c3-d4e5-7f60-8a1b-000000000008"
RUN, OTHER_RUN = "20261102-081530-claims.md", "20261102-081531-claims.md"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A folder with a file of every kind that names the decision, and one that names another."""
    folder = tmp_path / "profile"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / RUN).write_text(f"Decision ID: {ID}\n")
    (folder / OTHER_RUN).write_text(f"Decision ID: {OTHER}\n")
    (folder / "cases.jsonl").write_text(f'{{"id": "record-{ID}"}}\n{{"id": "a"}}\n')
    with ZipFile(folder / "snapshot.zip", "w") as archive:
        archive.writestr("about.json", "{}")
        archive.writestr("tree.json", f'"{ID}"')
    with ZipFile(folder / "mine.zip", "w") as archive:
        archive.writestr("notes.md", ID)
    (folder / "mine.md").write_text(f"I looked at {ID}.")
    (folder / "notes.txt").write_text(f"see {ID}")
    (folder / "records.sqlite").write_text(ID)
    return folder


def found(profile: Path, ids: Ids, **more) -> dict[str, str]:
    traces = traces_of(ids, [profile], more.get("beside", []), profile / "records.sqlite")
    return {trace.path.name: trace.kind for trace in traces}


@pytest.mark.parametrize("ids", [{ID}, {ID, "no uuid"}])
def test_every_kind_of_file_is_found_by_the_id(profile: Path, ids: set[str]):
    assert found(profile, Ids(ids)) == {
        RUN: "transcript",
        "cases.jsonl": "lines",
        "snapshot.zip": "recovery",
        "mine.zip": "other",
        "mine.md": "other",
        "notes.txt": "other",
    }


def test_an_id_across_the_border_of_two_reads_is_found(tmp_path: Path):
    path = tmp_path / RUN
    path.write_bytes(b"x" * ((1 << 20) - 10) + ID.encode())
    assert found(tmp_path, Ids({ID})) == {RUN: "transcript"}


def test_beside_trees_only_line_files_are_looked_at(profile: Path, tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.cases.jsonl").write_text(f'{{"id": "record-{ID}"}}\n')
    (project / "b.md").write_text(ID)
    traces = traces_of(Ids({ID}), [], [project], profile / "records.sqlite")
    assert [trace.path.name for trace in traces] == ["a.cases.jsonl"]


def test_wiping_removes_what_quotes_it_and_leaves_the_rest(profile: Path):
    ids = Ids({ID})
    traces = traces_of(ids, [profile], [], profile / "records.sqlite")
    said = {trace.path.name: wipe(trace, ids) for trace in traces}
    assert said == {
        RUN: None,
        "cases.jsonl": None,
        "snapshot.zip": None,
        **dict.fromkeys(("mine.zip", "mine.md", "notes.txt"), "it is of no kind this program knows"),
    }
    assert (profile / "cases.jsonl").read_text() == '{"id": "a"}\n'
    assert (profile / OTHER_RUN).exists()
    assert found(profile, ids) == dict.fromkeys(("mine.zip", "mine.md", "notes.txt"), "other")


def test_a_run_log_is_blanked_or_goes(tmp_path: Path):
    for seed in range(120):
        log = asyncio.run(recorded_run(seed))
        made = [e.classification.decision_id for e in log.events if isinstance(e, ClassificationCompleted)]
        if len(set(made)) > 1:
            break
    path = tmp_path / "run.jsonl"
    write_run_log(path, log)
    first, ids = Ids(set(made[:1])), Ids(set(made))
    (trace,) = traces_of(first, [tmp_path], [], tmp_path / "s.sqlite")
    assert trace == Trace(path, "run log")
    assert wipe(trace, first) is None
    assert traces_of(first, [tmp_path], [], tmp_path / "s.sqlite") == ()
    assert wipe(trace, ids) is None
    assert not path.exists()


def test_the_line_before_a_last_one_that_goes_keeps_its_end(tmp_path: Path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'{"id": "a\xe2\x80\xa8"}\n{"id": "b \r x"}\n' + f'{{"id": "{ID}"}}'.encode())
    assert wipe(Trace(path, "lines"), Ids({ID})) is None
    assert path.read_bytes() == b'{"id": "a\xe2\x80\xa8"}\n{"id": "b \r x"}\n'


def test_a_file_that_cannot_be_changed_is_told(tmp_path: Path):
    assert wipe(Trace(tmp_path / "none.jsonl", "run log"), Ids({ID})) == "No such file or directory"
