"""Decision models on the command line: chosen, refused with one message, and trusted with a key or not."""

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine import PROFILES, DeciderName
from engine.cli import app
from engine.records import load_records
from tests.engine.systemone import Endpoint, endpoint

EVIDENCE = Path(__file__).parents[2] / "samples" / "evidence-classification"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for profile in PROFILES.values():
        for variable in (profile.key_variable, profile.base_variable, profile.model_variable):
            if variable is not None:
                monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "project"
    shutil.copytree(EVIDENCE, folder)
    return folder


@pytest.fixture
def server() -> Iterator[Endpoint]:
    """A server in a thread of its own: a command runs a loop of its own."""
    loop, told, done = asyncio.new_event_loop(), list[Endpoint](), threading.Event()
    leave = asyncio.Event()

    async def serve() -> None:
        async with endpoint() as there:
            told.append(there)
            done.set()
            await leave.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert done.wait(10)
    yield told[0]
    loop.call_soon_threadsafe(leave.set)
    thread.join(10)
    loop.close()


def said(*args: object) -> tuple[int, str, str]:
    """Exit code, output, and what was said on standard error, on one line."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, " ".join(result.stderr.replace("│", " ").split())


def decided_by(project: Path, **decider: object) -> Path:
    (project / "treewright.json").write_text(
        json.dumps({"format": 1, "catalog": ["catalog.py"], "decider": decider})
    )
    return project / "tree.json"


def test_every_profile_can_be_chosen():
    assert set(DeciderName) - set(PROFILES) == {"ask", "openai", "anthropic", "heuristic"}
    assert set(PROFILES) < set(DeciderName)


def test_a_decision_model_decides_and_is_recorded(project, server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-key")
    store = project / "records.jsonl"
    file = decided_by(project, kind="typesafe", retries=0)
    options = ["--base-url", server.url, "--key-env", "MY_KEY", "--records", store, "--json", "--trust"]
    code, out, err = said("run", file, *options)
    assert code == 0, err
    result = json.loads(out)
    assert (result["outcome"], result["usage"]["llmCalls"], result["records"]) == ("Terminal", 1, 1)
    assert result["classifications"][0]["probabilities"][0] == 0.8
    assert server.heard[0].headers["authorization"] == "Bearer secret-key"
    (decision,) = load_records(store).decisions
    assert (decision.record.provider, decision.record.endpoint) == ("typesafe", server.url)
    assert "secret-key" not in store.read_text() + out + err


def test_a_server_without_a_key_needs_an_address_and_a_model(project, server):
    options = ["--decider", "systemone", "--base-url", server.url, "--model", "local", "--trust"]
    code, out, err = said("run", project / "tree.json", *options)
    assert code == 0, err
    assert out.splitlines()[-1].startswith("Decision outcome: Terminal; verdict: supported")
    assert "authorization" not in server.heard[0].headers


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--decider", "systemone"], "the profile has no address of its own"),
        (["--decider", "systemone", "--base-url", "ftp://h"], "starts with http:// or https://"),
        (["--decider", "systemone", "--base-url", "http://h"], "Say what the model is called"),
        (["--decider", "typesafe", "--fallback-model", "m"], "'fallbackModels' is for language models"),
        (["--decider", "typesafe", "--key-env", "NOT_THERE"], "NOT_THERE"),
    ],
)
def test_options_that_do_not_fit_are_one_message(project, options, words):
    code, out, err = said("run", project / "tree.json", *options)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("decider", "words"),
    [
        ({"kind": "systemone"}, "the profile has no address of its own"),
        ({"kind": "typesafe", "structured": "json_object"}, "'structured' is for language models"),
        ({"kind": "typesafe", "stream": True}, "'stream' is for language models"),
        ({"kind": "typesafe", "retries": 11}, "'retries' of the decider must be a number from 0 to 10"),
        ({"kind": "typesafe", "baseUrl": "https://elsewhere.example/"}, "which key is sent where"),
        ({"kind": "typesafe", "keyEnv": "AWS_SECRET_ACCESS_KEY"}, "which key is sent where"),
        ({"kind": "systemone", "baseUrl": "https://h/", "keyEnv": "SECRET"}, "which key is sent where"),
    ],
)
def test_a_project_that_asks_a_decision_model_is_refused_with_its_place(project, decider, words):
    code, out, err = said("run", decided_by(project, **decider))
    assert (code, out) == (1, "")
    assert words in err
    assert "treewright.json:1:" in err


def test_a_tree_whose_answers_it_cannot_tell_apart_is_refused(project):
    file = project / "tree.json"
    text = file.read_text("utf-8")
    file.write_text(text.replace('"unsupported"', '"Supported"'), "utf-8")
    code, out, err = said("run", file, "--decider", "typesafe", "--trust")
    assert (code, out) == (1, "")
    assert "cannot tell 'supported' and 'Supported' of node 'classify' apart. [answers-alike]" in err


def test_a_model_that_cannot_be_asked_is_told_without_its_words(project, server):
    url = f"{server.url}elsewhere/"
    options = ["--decider", "systemone", "--base-url", url, "--model", "m", "--trust"]
    code, out, _ = said("run", project / "tree.json", *options)
    assert code == 3
    assert f"error: {url}: the request was refused (HTTP 404). (model: m)" in out
    assert "Not Found" not in out
