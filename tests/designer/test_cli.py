"""The console script: the engine's commands, the window, pictures, and the main job without a screen."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import designer.app
from designer.cli import app
from engine.records import load_records

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "samples" / "evidence-classification" / "tree.json"
SSVC = ROOT / "samples" / "ssvc-deployer" / "tree.json"
PNG = b"\x89PNG\r\n\x1a\n"


def said(*args: object) -> Result:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """What the window would have been opened on."""
    files: list[Path | None] = []

    def main(path: Path | None = None) -> int:
        files.append(path)
        return 0

    monkeypatch.setattr(designer.app, "main", main)
    return files


def test_the_engines_commands_are_there_too():
    commands = set(re.findall(r"^│ (\w+)  ", said("--help").stdout, re.MULTILINE))
    others = {"check", "run", "test", "bounds", "paths", "diff", "export", "records", "agents"}
    assert commands == {"open"} | others
    assert said("test", SSVC).stdout == "72 passed, 0 failed\n"
    assert said("check", SSVC).stdout == "No problems.\n"


@pytest.mark.parametrize("args", [[EVIDENCE], ["open", EVIDENCE], ["open", EVIDENCE.parent / "none.json"]])
def test_a_file_alone_is_opened(opened, args):
    assert said(*args).exit_code == 0
    assert opened == [args[-1]]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("chek", "Did you mean 'check'?"),
        ("nosuchcommand", "Commands: "),
        ("x" * 300, "Commands: "),
        ("none.json", "Commands: "),
    ],
)
def test_a_word_that_is_neither_a_command_nor_a_file_is_refused(opened, word, hint):
    result = said(word)
    assert result.exit_code == 2
    told = "".join(result.stderr.replace("│", " ").split())
    assert f"Thereisnocommandandnofile'{word}'.{hint.replace(' ', '')}" in told
    assert opened == []


@pytest.mark.parametrize("args", [[], ["open"]])
def test_without_a_file_the_window_opens_empty(opened, args):
    assert said(*args).exit_code == 0
    assert opened == [None]


def test_without_a_screen_the_window_is_refused_in_one_sentence(opened, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    result = said(EVIDENCE)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "--headless" in result.stderr
    assert opened == []


def test_every_command_of_the_window_is_listed_with_its_title_and_keys():
    rows = [line.split("\t") for line in said("open", "--list-commands").stdout.splitlines()]
    assert ["file.new", "New tree", "Ctrl+N"] in rows
    assert all(len(row) == 3 and "." in row[0] and row[1] for row in rows)


def test_export_prints_the_canonical_tree():
    assert said("export", EVIDENCE).stdout == EVIDENCE.read_text("utf-8")


def test_a_picture_is_written_in_light_and_dark(qapp, tmp_path):
    for name, options in (("light.png", []), ("dark.png", ["--dark", "--scale", "1"])):
        result = said("export", EVIDENCE, tmp_path / name, *options)
        assert (result.exit_code, result.output) == (0, "")
    light, dark = (tmp_path / name for name in ("light.png", "dark.png"))
    assert light.read_bytes().startswith(PNG)
    assert dark.read_bytes().startswith(PNG)
    assert light.stat().st_size > dark.stat().st_size


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_what_is_no_text_needs_a_file(form):
    result = said("export", EVIDENCE, "--format", form)
    assert result.exit_code == 2
    assert "OUT" in result.stderr


FORMS = {
    "png": PNG,
    "PNG": PNG,
    "svg": b"<?xml",
    "pdf": b"%PDF",
    "html": b"<!DOCTYPE html>",
    "json": b"{",
    "mmd": b"---\ntitle",
    "dot": b"digraph",
}


@pytest.mark.parametrize("suffix", FORMS)
def test_what_is_written_follows_the_name_of_the_file(qapp, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    result = said("export", EVIDENCE, out)
    assert (result.exit_code, result.output) == (0, "")
    assert out.read_bytes().startswith(FORMS[suffix])


def test_a_report_has_the_picture_and_what_runs_cost(qapp):
    report = said("export", SSVC, "--format", "html").stdout
    assert report.count("<svg ") == 1
    assert "Within the limits" in report


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["tree.png", "--format", "svg"], "holds png, but --format says svg"),
        (["tree.json", "--format", "png"], "holds json, but --format says png"),
        (["tree.jpg"], "'.jpg' tells no form; name one with --format: json, html, pdf, svg, png, mmd, dot."),
        (["--dark"], "--dark: It is for pdf, svg, png."),
        (["tree.html", "--dark"], "--dark: It is for pdf, svg, png."),
        (["--scale", "2"], "--scale: It is for pdf, svg, png."),
    ],
)
def test_export_refuses_options_that_contradict_each_other(tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    result = said("export", EVIDENCE, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def unfinished(tmp_path):
    """The sample with a branch that leads to no node."""
    file = tmp_path / "tree.json"
    file.write_text(EVIDENCE.read_text("utf-8").replace('"nextNodeId": "verify"', '"nextNodeId": "gone"'))
    return file


def test_a_tree_for_other_programs_is_refused_while_there_are_errors(unfinished, tmp_path):
    out = tmp_path / "out.json"
    result = said("export", unfinished, out)
    assert result.exit_code == 1
    assert "target-missing" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("form", ["svg", "html", "png", "pdf", "mmd", "dot"])
def test_an_unfinished_tree_is_shown_as_it_is_and_its_errors_are_told(qapp, unfinished, tmp_path, form):
    out = tmp_path / f"out.{form}"
    result = said("export", unfinished, out)
    assert result.exit_code == 0
    assert "target-missing" in result.stderr
    assert "It is shown as it is" in result.stderr
    assert form not in ("svg", "html", "mmd", "dot") or "gone" in out.read_text("utf-8")


@pytest.mark.parametrize("form", ["svg", "html"])
def test_a_tree_with_a_part_that_cannot_be_understood_is_not_drawn(tmp_path, form):
    file, out = tmp_path / "tree.json", tmp_path / f"out.{form}"
    file.write_text(
        EVIDENCE.read_text("utf-8").replace('"type": "condition"', '"type": "condition", "name": 7')
    )
    result = said("export", file, out)
    assert result.exit_code == 1
    assert "type-invalid" in result.stderr
    assert not out.exists()


def test_the_main_job_without_a_screen_leaves_transcript_records_and_picture(tmp_path):
    env = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    result = subprocess.run(
        [sys.executable, "-m", "designer", "--headless", str(SSVC)],
        cwd=ROOT,
        env={**env, "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = result.stdout.splitlines()
    assert lines[0] == f"{SSVC}: 23 nodes, no errors"
    assert "exploitation: none" in lines
    assert "Decision outcome: Terminal; verdict: defer; error: ; node visits: 5; LLM calls: 4" in lines
    named = dict(line.split(": ", 1) for line in lines[-3:])
    transcript, records, picture = (Path(named[name]) for name in ("Transcript", "Records", "Picture"))
    assert "Decision tree: ssvc-deployer" in transcript.read_text("utf-8")
    assert len(load_records(records).decisions) == 4
    assert picture.read_bytes().startswith(PNG)
    assert {path.parent.parent for path in (transcript, records, picture)} == {
        tmp_path / "treewright" / "headless"
    }


def test_the_main_job_is_refused_for_a_tree_with_errors(tmp_path):
    file = tmp_path / "tree.json"
    file.write_text("{}")
    result = said("--headless", file)
    assert result.exit_code == 1
    assert "member-missing" in result.stderr


def test_the_main_job_says_when_there_is_no_case(tmp_path):
    file = tmp_path / "tree.json"
    file.write_bytes(EVIDENCE.read_bytes())
    result = said("--headless", file)
    assert result.exit_code == 2
    assert "neither tree.cases.jsonl nor cases.jsonl is beside the tree" in result.stderr
    for text, words in (("", "It is empty."), ("[]", "A case must be an object.")):
        (tmp_path / "cases.jsonl").write_text(text)
        result = said("--headless", file)
        assert result.exit_code == 1
        assert f"cases.jsonl: There is no case to run. {words}" in result.stderr
