"""The command line as a process of its own: pipes, a terminal, Ctrl+C, and a model server."""

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.cli import app
from tests.engine.servers import completion, replies, serving

ROOT = Path(__file__).parents[2]
EVIDENCE = "samples/evidence-classification/tree.json"
SSVC = "samples/ssvc-deployer/tree.json"
ENGINE = (sys.executable, "-m", "engine")


def run(*args: str, code: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONIOENCODING": code}
    return subprocess.run([*ENGINE, *args], cwd=ROOT, env=env, capture_output=True, timeout=60, check=False)


class Terminal:
    """The engine on a terminal: its questions and problems are read from there, its output from a pipe."""

    def __init__(self, *args: str) -> None:
        self._near, far = pty.openpty()
        self._process = subprocess.Popen(
            [*ENGINE, *args], cwd=ROOT, stdin=far, stderr=far, stdout=subprocess.PIPE
        )
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
        self._process.send_signal(signal.SIGINT)

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
    terminal.wait_for("That is none of them.")
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


def test_enter_alone_means_unknown():
    terminal = Terminal("run", SSVC, "--json")
    terminal.wait_for("Answer, or Enter for unknown: ")
    terminal.type("\n")
    code, out = terminal.ended()
    assert code == 3
    result = json.loads(out)
    assert (result["outcome"], result["verdict"]) == ("Unknown", "needs-a-person")


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
