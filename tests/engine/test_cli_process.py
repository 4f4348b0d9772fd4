"""The command line as a process of its own: pipes, a terminal, Ctrl+C, and a model server."""

import asyncio
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.cli import app
from tests.engine.servers import DONE, chunk, completion, replies, said, serving, streams

ROOT = Path(__file__).parents[2]
EVIDENCE = "samples/evidence-classification/tree.json"
SSVC = "samples/ssvc-deployer/tree.json"
ENGINE = (sys.executable, "-m", "engine")


def run(*args: str, code: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONIOENCODING": code}
    return subprocess.run([*ENGINE, *args], cwd=ROOT, env=env, capture_output=True, timeout=60, check=False)


class Terminal:
    """The engine on a terminal: its questions and problems are read from there, its output from a pipe."""

    def __init__(self, *args: str, env: Mapping[str, str] | None = None) -> None:
        self._near, far = pty.openpty()
        # Who runs the tests in the background may have told them to ignore this signal; a terminal does not.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self._process = subprocess.Popen(
                [*ENGINE, *args],
                cwd=ROOT,
                stdin=far,
                stderr=far,
                stdout=subprocess.PIPE,
                env={**os.environ, "TERM": "xterm", **(env or {})},
            )
        finally:
            signal.signal(signal.SIGINT, before)
        os.close(far)
        self.seen = ""

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + 30
        while words not in self.seen:
            ready, _, _ = select.select([self._near], [], [], deadline - time.monotonic())
            assert ready, f"{words!r} did not come; seen: {self.seen}"
            self.seen += os.read(self._near, 4096).decode()

    def type(self, text: str) -> None:
        self.seen = ""
        os.write(self._near, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl+C, and again after a while, as a person does when nothing seems to happen."""
        for _ in range(5):
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                continue
            return

    def ended(self) -> tuple[int, str]:
        out, _ = self._process.communicate(timeout=30)
        os.close(self._near)
        return self._process.returncode, out.decode()


def test_a_process_ends_with_the_exit_code_and_the_numbers():
    said = run("test", SSVC)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"72 passed, 0 failed\n", b"")


@pytest.mark.parametrize(
    "args",
    [
        ("check", "--json", EVIDENCE, SSVC),
        ("check", "--format", "sarif", EVIDENCE),
        ("test", "--json", EVIDENCE),
        ("run", "--json", "--case", "unknown", "--transcript", EVIDENCE),
        ("export", EVIDENCE),
    ],
)
def test_what_a_machine_reads_is_one_document_and_nothing_else(args):
    said = run(*args)
    json.loads(said.stdout)
    assert b"\x1b" not in said.stdout + said.stderr


def test_off_a_terminal_nothing_is_coloured():
    said = run("check", EVIDENCE)
    assert b"warning" in said.stdout
    assert b"\x1b" not in said.stdout


@pytest.mark.parametrize(
    ("env", "coloured"),
    [({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": "", "TERM": "dumb"}, False)],
    ids=["coloured", "NO_COLOR", "dumb"],
)
def test_on_a_terminal_there_are_colours_unless_they_are_not_wanted(tmp_path, env, coloured):
    (tmp_path / "tree.json").write_text("{}")
    terminal = Terminal("test", str(tmp_path / "tree.json"), env=env)
    terminal.wait_for("no case was run.")
    assert terminal.ended() == (1, "0 passed, 0 failed\n")
    assert "error" in terminal.seen
    assert ("\x1b" in terminal.seen) == coloured


COMMANDS = [
    ("check", EVIDENCE),
    ("check", "--json", EVIDENCE),
    ("test", SSVC),
    ("export", EVIDENCE),
    ("run", "--case", "row-0", SSVC),
    ("run", "--case", "row-0", "--json", SSVC),
]


def written_to(output: int, *args: str) -> tuple[int, str]:
    """The exit code, and what was told, of a command whose output goes to this descriptor."""
    said = subprocess.run(
        [*ENGINE, *args], cwd=ROOT, stdout=output, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(output)
    return said.returncode, said.stderr.decode()


def closed_pipe() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_pipe_nobody_reads_ends_a_command_quietly(args):
    assert written_to(closed_pipe(), *args) == (141, "")


@pytest.mark.parametrize("args", [*COMMANDS, ("--help",), ("run", "--help")], ids=" ".join)
def test_a_disk_without_room_is_one_message(args):
    said = written_to(os.open("/dev/full", os.O_WRONLY), *args)
    assert said == (1, "The output cannot be written: No space left on device.\n")


def test_messages_nobody_reads_change_nothing():
    said = subprocess.run(
        [*ENGINE, "run", SSVC], cwd=ROOT, stderr=(pipe := closed_pipe()), timeout=60, check=False
    )
    os.close(pipe)
    assert said.returncode == 1


@pytest.mark.parametrize("output", ["pipe", "disk"])
def test_a_run_whose_steps_cannot_be_printed_ends_with_its_transcript_finished(output, tmp_path):
    descriptor = closed_pipe() if output == "pipe" else os.open("/dev/full", os.O_WRONLY)
    written_to(descriptor, "run", SSVC, "--case", "row-0", "--transcripts", str(tmp_path))
    (transcript,) = tmp_path.iterdir()
    assert "Cancelled" in transcript.read_text("utf-8")


def test_a_terminal_that_cannot_show_a_character_does_not_end_the_program(tmp_path):
    file = tmp_path / "tree.json"
    file.write_text('{"treeId": "a", "漢": 1}', "utf-8")
    said = run("check", str(file), code="latin-1")
    assert said.returncode == 1
    assert b"\\u6f22" in said.stdout


def test_the_command_line_loads_neither_qt_nor_what_it_does_not_need():
    names = ("PySide6", "qasync", "designer", "httpx", "networkx")
    code = f"import sys, engine.cli; print([name for name in {names} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_person_is_asked_on_a_terminal_until_the_answer_is_one_of_the_allowed():
    terminal = Terminal("run", SSVC, "--param", "cve=A hole in the router")
    terminal.wait_for("A hole in the router")
    terminal.wait_for("Answer, or Enter for unknown: ")
    assert "The present state of exploitation" in terminal.seen
    assert "2  public poc" in terminal.seen
    terminal.type("perhaps\n")
    terminal.wait_for("Type a number or an answer, or press Enter alone for unknown.")
    for answer in ("ACTIVE", "3", "2", "very high"):
        terminal.wait_for("Answer, or Enter for unknown: ")
        terminal.type(f"{answer}\n")
    code, out = terminal.ended()
    assert code == 0
    assert out.splitlines() == [
        "exploitation: active",
        "system-exposure-active: open",
        "automatable-active-open: yes",
        "human-impact-active-open-yes: very high",
        "immediate: immediate",
        "Decision outcome: Terminal; verdict: immediate; error: ; node visits: 5; LLM calls: 4",
    ]


@pytest.mark.parametrize("typed", ["", "unknown", "Unknown"])
def test_enter_alone_or_the_word_means_unknown_for_one_call(typed):
    terminal = Terminal("run", SSVC, "--json")
    terminal.wait_for("Answer, or Enter for unknown: ")
    terminal.type(f"{typed}\n")
    code, out = terminal.ended()
    assert code == 3
    result = json.loads(out)
    assert (result["outcome"], result["verdict"]) == ("Unknown", "needs-a-person")
    assert result["error"].endswith("No allowed answer was chosen.")
    assert (result["classifications"][0]["attempts"], result["usage"]["llmCalls"]) == (1, 1)


@pytest.mark.parametrize("way", ["interrupt", "end of input"])
def test_leaving_a_question_ends_the_run_as_cancelled_with_its_transcript_finished(way, tmp_path):
    terminal = Terminal("run", SSVC, "--json", "--transcripts", str(tmp_path))
    terminal.wait_for("Answer, or Enter for unknown: ")
    if way == "interrupt":
        terminal.interrupt()
    else:
        terminal.type("\x04")
    code, out = terminal.ended()
    assert code == 3
    result = json.loads(out)
    assert result["outcome"] == "Cancelled"
    assert result["transcript"]["status"] == "Completed"
    assert "Cancelled" in Path(result["transcript"]["path"]).read_text("utf-8")


@pytest.mark.socket
def test_a_model_is_asked_with_the_key_of_the_named_variable(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")
    arguments = ["run", EVIDENCE, "--trust", "--model", "small", "--key-env", "MODEL_KEY", "--json"]

    async def asked():
        async with serving(replies(completion('{"answer": "supported"}'))) as server:
            command = [*arguments, "--base-url", f"{server.url}/v1"]
            return server, await asyncio.to_thread(CliRunner().invoke, app, command)

    monkeypatch.chdir(ROOT)
    server, said = asyncio.run(asked())
    result = json.loads(said.stdout)
    assert said.exit_code == 0
    assert (result["verdict"], result["usage"]["llmCalls"]) == ("supported", 1)
    assert "authorization: Bearer secret-key" in server.heads[0]
    assert "secret-key" not in said.output


@pytest.mark.socket
def test_a_model_that_cannot_be_reached_ends_the_run_with_its_name(monkeypatch):
    monkeypatch.chdir(ROOT)
    arguments = ["run", EVIDENCE, "--trust", "--model", "small", "--base-url", "http://127.0.0.1:9/v1"]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 3
    assert said.stdout.splitlines()[-1].startswith("Decision outcome: ValidationFailed; verdict: ; error: ")


@pytest.mark.socket
def test_a_model_of_another_kind_is_asked_as_the_project_says(tmp_path, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")
    shutil.copytree((ROOT / EVIDENCE).parent, tmp_path / "project")
    tree = tmp_path / "project" / "tree.json"

    async def asked(kind, act, *more):
        async with serving(act) as server:
            decider = {
                "kind": kind,
                "baseUrl": server.url,
                "model": "small",
                "keyEnv": "MODEL_KEY",
                "stream": True,
            }
            project = json.loads((tree.parent / "treewright.json").read_text())
            (tree.parent / "treewright.json").write_text(json.dumps({**project, "decider": decider}))
            command = ["run", str(tree), "--trust", "--json", *more]
            return server, await asyncio.to_thread(CliRunner().invoke, app, command)

    answer = '{"answer": "supported"}'
    for kind, act, more, path in [
        ("openai", streams(chunk(answer, "stop"), DONE), (), "/v1/chat/completions"),
        ("anthropic", streams(*said(answer)), (), "/v1/messages"),
        ("anthropic", streams(*said(answer)), ("--model", "large"), "/v1/messages"),
        ("openai", streams(*said(answer)), ("--decider", "anthropic"), "/v1/messages"),
    ]:
        server, told = asyncio.run(asked(kind, act, *more))
        assert told.exit_code == 0, told.output
        assert server.heads[0].startswith(f"POST {path} ")
        assert "secret-key" in server.heads[0]
        assert server.models == [more[1] if "--model" in more else "small"]


@pytest.mark.socket
def test_a_model_that_fails_is_told_of_also_where_the_next_one_answers(monkeypatch):
    monkeypatch.chdir(ROOT)
    arguments = ["run", EVIDENCE, "--trust", "--model", "one", "--fallback-model", "two", "--json"]

    async def asked():
        good = replies(completion('{"answer": "supported"}'))
        async with serving(by_model={"one": replies(b"{}", status=503), "two": good}) as server:
            return await asyncio.to_thread(CliRunner().invoke, app, [*arguments, "--base-url", server.url])

    said = asyncio.run(asked())
    assert said.exit_code == 0
    assert json.loads(said.stdout)["usage"]["llmCalls"] == 1
    assert re.search(r"^Model 'one' failed after \d+\.\d s: .*HTTP 503", said.stderr, re.MULTILINE)
