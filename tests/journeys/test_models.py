"""Runs that a real model answers: chosen, asked, waited for, given up, failing, and never asked unasked."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPushButton

from designer import dialogs
from designer.panels.meters import MetersPanel
from designer.running import LIVE, RunState
from designer.settings import Settings, settings_path
from designer.tasks import cancel_all
from engine import AskedModel, DeciderSettings
from tests.engine.servers import Act, completion, message, replies, serving, silence
from tests.journeys.driving import Driver, by_hand, until

pytestmark = pytest.mark.socket

SAMPLE = Path(__file__).parents[2] / "samples" / "evidence-classification"
USAGE = {"prompt_tokens": 300, "completion_tokens": 40}
SUPPORTED = completion('{"answer": "supported"}', usage=USAGE)
GOOD = replies(SUPPORTED)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The sample in a folder of its own, which the person trusts."""
    shutil.copytree(SAMPLE, tmp_path / "sample")
    Settings(trusted_folders=((tmp_path / "sample").resolve(),)).save()
    return tmp_path / "sample" / "tree.json"


def name_model(tree: Path, url: str, **more: object) -> None:
    """Have the project of a tree name a model."""
    file = tree.with_name("treewright.json")
    decider = {"kind": "openai", "baseUrl": url, "model": "small", **more}
    file.write_text(json.dumps({**json.loads(file.read_text()), "decider": decider}))


def my_model(url: str, **more: object) -> None:
    """Have the person set up a model of their own."""
    mine = {"kind": "openai", "base_url": url, "model": "mine", **more}
    own = DeciderSettings.model_validate(mine)
    Settings.load().changed(decider=own).save()


async def opened(person: Driver, tree: Path) -> None:
    person.window.workbench.settings = Settings.load()
    person.window.open_path(tree)
    await person.show("run")


async def run(person: Driver) -> None:
    assert person.window.run_command("run.start"), person.window.message
    await until(lambda: person.running.state in (RunState.ENDED, RunState.ASKING))


def answers(person: Driver) -> QComboBox:
    return person.seen(QComboBox, "field.case")


async def choose(person: Driver, entry: str) -> None:
    box = answers(person)
    index = box.findText(entry)
    assert index >= 0, [box.itemText(i) for i in range(box.count())]
    box.setCurrentIndex(index)
    await by_hand(lambda: box.activated.emit(index))


def state(person: Driver) -> str:
    return person.seen(QLabel, "run.state").text()


# ------------------------------------------------------------------------------------------ answering


def test_the_model_of_a_trusted_project_answers_with_its_tokens_counted(travel, sample, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")

    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            name_model(sample, server.url, keyEnv="MODEL_KEY")
            await opened(person, sample)
            assert answers(person).currentText() == "The model small"
            assert person.seen(QComboBox, "answers").currentText() == "model small"
            await run(person)
            assert "authorization: Bearer secret-key" in server.heads[0]
        assert person.result.verdict == "supported"
        usage = person.running.trail.usage
        assert (usage.llm_calls, usage.input_tokens, usage.output_tokens) == (1, 300, 40)
        assert "secret-key" not in person.window.message + state(person)
        assert person.window.findChild(MetersPanel) is not None

    travel(journey)


def test_the_persons_own_model_answers_where_the_project_names_none(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(replies(message('{"answer": "unsupported"}'))) as server:
            my_model(server.url, kind="anthropic")
            await opened(person, sample)
            assert answers(person).currentText() == "The model mine"
            await run(person)
            assert server.heads[0].startswith("POST /v1/messages ")
        assert person.result.verdict == "unsupported"

    travel(journey)


def test_who_answers_is_chosen_for_the_document_and_kept_while_it_is_open(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            name_model(sample, server.url)
            await opened(person, sample)
            await choose(person, "Me: ask each question")
            await run(person)
            assert person.running.state is RunState.ASKING
            assert not person.seen(QComboBox, "answers").isEnabled()
            person.running.cancel()
            await person.running.ended()
            assert server.bodies == []
            person.window.run_command("file.new")
            assert answers(person).currentText() == "Me: ask each question"
            person.window.workbench.show_document(person.window.workbench.documents[0])
            assert answers(person).currentText() == "Me: ask each question"
            await choose(person, "The model small")
            assert person.running.answering(person.document).otherwise == LIVE
            await run(person)
            assert len(server.bodies) == 1

    travel(journey)


def test_the_model_can_be_chosen_for_one_question_alone(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            name_model(sample, server.url)
            await opened(person, sample)
            await choose(person, "Me: ask each question")
            await person.select("classify")
            source = person.seen(QComboBox, "field.source")
            source.setCurrentIndex(source.findText("The model"))
            await by_hand(lambda: source.activated.emit(source.currentIndex()))
            assert person.card("classify").marks.source == "model"
            await run(person)
            assert len(server.bodies) == 1
        assert person.result.verdict == "supported"

    travel(journey)


def test_what_a_case_pins_is_not_asked_and_needs_no_key(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            name_model(sample, server.url, keyEnv="NOT_SET")
            await opened(person, sample)
            await choose(person, "Case supported")
            await run(person)
            assert person.result.verdict == "supported"
            assert server.bodies == []

    travel(journey)


def test_the_next_model_answers_when_one_fails_and_the_person_is_told(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(by_model={"small": replies(b"{}", status=503), "large": GOOD}) as server:
            name_model(sample, server.url, fallbackModels=["large"])
            await opened(person, sample)
            told: list[str] = []
            person.window.workbench.trouble.connect(told.append)
            await run(person)
            assert server.models == ["small", "large"]
        assert person.result.verdict == "supported"
        (words,) = told
        assert words.startswith("The model 'small' failed after ")
        assert "HTTP 503" in words

    travel(journey)


# ------------------------------------------------------------------------------------------ waiting


def test_a_request_in_flight_is_told_of_and_given_up_on_stop(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(silence) as server:
            name_model(sample, server.url)
            await opened(person, sample)
            assert person.window.run_command("run.start")
            await server.asked.wait()
            await until(lambda: "Asking small at classify: " in state(person))
            assert "Stop gives it up" in state(person)
            waiting = person.running.waiting
            assert waiting is not None
            assert waiting.seconds >= 0
            assert person.window.run_command("run.stop")
            await person.running.ended()
            assert person.result.outcome == "Cancelled"
            assert person.running.waiting is None
            assert state(person) == "Stopped before a verdict, as you asked."

    travel(journey)


def test_a_run_that_is_closed_with_its_window_gives_its_request_up(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(silence) as server:
            name_model(sample, server.url)
            await opened(person, sample)
            assert person.window.run_command("run.start")
            await server.asked.wait()
            person.window.workbench.remove(person.document)
            await person.running.ended()
            assert person.running.state is RunState.IDLE

    travel(journey)


def test_the_connections_of_a_run_are_given_back_however_it_ends(travel, sample, monkeypatch):
    closed: list[str] = []
    close = AskedModel.close

    async def noted(model: AskedModel) -> None:
        await close(model)
        closed.append(person_of[0].running.state)

    monkeypatch.setattr(AskedModel, "close", noted)
    person_of: list[Driver] = []

    async def journey(person: Driver) -> None:
        person_of.append(person)
        async with serving(GOOD, replies(b"{}", status=404), silence) as server:
            name_model(sample, server.url)
            await opened(person, sample)
            for ended in (1, 2):
                await run(person)
                await until(partial(lambda ended: len(closed) == ended, ended))
            server.asked.clear()
            assert person.window.run_command("run.start")
            await server.asked.wait()
            await cancel_all()
            assert closed == [RunState.ENDED] * 3

    travel(journey)


# ------------------------------------------------------------------------------------------ failing


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (replies({"error": {"code": "invalid_api_key"}}, status=401), "Check the key, and that it fits"),
        (replies(b"{}", status=404), "Check the address and the name of the model."),
        (replies(b"{}", status=429), "Wait a moment, or name another model"),
        (replies(b"{}", status=500), "Try again later, or name another model"),
        (replies(b"<html>", content_type="text/html"), "Check the kind of model and its address."),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_with_what_can_be_done(travel, sample, act: Act, words):
    async def journey(person: Driver) -> None:
        async with serving(act) as server:
            name_model(sample, server.url)
            await opened(person, sample)
            await run(person)
        assert person.result.failure_kind == "llm"
        assert state(person).startswith("Stopped: the model could not be asked. ")
        assert words in state(person)
        assert person.window.message == state(person)

    travel(journey)


def test_a_key_that_is_missing_is_named_by_its_variable_and_nothing_is_sent(travel, sample):
    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            name_model(sample, server.url, keyEnv="NOT_SET")
            await opened(person, sample)
            await run(person)
            assert server.bodies == []
        assert "Neither the environment variable NOT_SET nor a keyring holds a key." in state(person)
        assert "Set the variable and start Treewright from there" in state(person)

    travel(journey)


def test_a_project_that_says_nonsense_of_its_model_is_told_with_its_line(travel, sample):
    async def journey(person: Driver) -> None:
        name_model(sample, "http://127.0.0.1:9", kind="oracle")
        await opened(person, sample)
        texts = [label.text() for label in person.window.findChildren(QLabel)]
        assert any(
            t.startswith("treewright.json, line 1: 'kind' of the decider must be one of") for t in texts
        )
        assert answers(person).itemText(1) == "Set up a model…"

    travel(journey)


# ------------------------------------------------------------------------------------------ trust


def test_a_folder_nobody_trusts_has_nothing_sent_anywhere(travel, sample, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")
    asked: list[dict[str, object]] = []

    async def refuse(*_: object, **what: object) -> bool:
        asked.append(what)
        return False

    monkeypatch.setattr(dialogs, "ask_trust", refuse)

    async def journey(person: Driver) -> None:
        async with serving(GOOD) as tripwire:
            file = sample.with_name("treewright.json")
            file.write_text("{}")
            name_model(sample, tripwire.url, keyEnv="MODEL_KEY")
            Settings().save()
            await opened(person, sample)
            assert answers(person).itemText(1) == "Set up a model…"
            texts = [label.text() for label in person.window.findChildren(QLabel)]
            assert any("It is not asked before you trust the folder." in text for text in texts)
            await person.press("button.trust")
            await until(lambda: asked)
            assert asked == [{"code": False, "model": f"small at {tripwire.url}", "outside": ()}]
            person.running.choose_otherwise(person.document, LIVE)
            await choose(person, "Case supported")
            person.running.choose_case(None)
            monkeypatch.setattr(type(person.document), "check_now", lambda _: ())
            person.running.start(person.document)
            await until(lambda: person.running.state in (RunState.ASKING, RunState.IDLE))
            person.running.cancel()
            await person.running.ended()
            assert tripwire.heads == []

    travel(journey)


def test_a_folder_that_is_trusted_has_its_model_asked_from_then_on(travel, sample, monkeypatch):
    async def agree(*_: object, **_what: object) -> bool:
        return True

    monkeypatch.setattr(dialogs, "ask_trust", agree)

    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            sample.with_name("treewright.json").write_text("{}")
            name_model(sample, server.url)
            Settings().save()
            await opened(person, sample)
            await person.press("button.trust")
            await until(lambda: answers(person).currentText() == "The model small")
            assert Settings.load().trusted_folders == (sample.parent.resolve(),)

    travel(journey)


def test_a_stranger_may_name_a_model_only_where_the_persons_own_is_and_gets_its_key_only(
    travel, sample, monkeypatch
):
    monkeypatch.setenv("MINE", "my-key")
    monkeypatch.setenv("OTHER", "other-key")
    monkeypatch.setattr(dialogs, "ask_trust", _refuse)

    async def journey(person: Driver) -> None:
        async with serving(GOOD) as server:
            name_model(sample, f"{server.url}/", keyEnv="OTHER")
            Settings().save()
            my_model(server.url, key_env="MINE")
            await opened(person, sample)
            model = person.window.workbench.model(person.document)
            assert (model.name, model.withheld) == ("small", None)
            assert model.settings is not None
            assert (model.settings.base_url, model.settings.key_env) == (server.url, "MINE")

    travel(journey)


async def _refuse(*_: object, **_what: object) -> bool:
    return False


# ------------------------------------------------------------------------------------------ setting up


async def fill(person: Driver, **texts: str) -> None:
    await until(lambda: any(f.isVisible() for f in person.window.findChildren(QLineEdit, "model.address")))
    kind = person.seen(QComboBox, "model.kind")
    kind.setCurrentIndex(kind.findText("Language model, OpenAI protocol"))
    for name, text in texts.items():
        field = person.seen(QLineEdit, f"model.{name}")
        field.setText(text)
        field.textEdited.emit(text)


def shown(person: Driver) -> str:
    return " ".join(
        label.text() for label in person.seen(QComboBox, "model.kind").window().findChildren(QLabel)
    )


def test_a_model_is_set_up_tried_and_used(travel, sample, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")

    async def journey(person: Driver) -> None:
        async with serving(replies(completion('{"answer": "yes"}')), GOOD) as server:
            await opened(person, sample)
            await choose(person, "Set up a model…")
            await fill(person, address=server.url, name="small", key="MODEL_KEY", fallbacks="large, , huge")
            await person.press("button.test")
            await until(lambda: "It works: small answered" in shown(person))
            await person.press("button.save")
            await until(lambda: answers(person).currentText() == "The model small")
            stored = json.loads(settings_path().read_text())["decider"]
            assert stored == {
                "kind": "openai",
                "base_url": server.url,
                "model": "small",
                "key_env": "MODEL_KEY",
                "fallback_models": ["large", "huge"],
            }
            assert "secret-key" not in settings_path().read_text()
            await run(person)
            assert person.result.verdict == "supported"
            assert server.models == ["small", "small"]

    travel(journey)


def test_a_try_says_what_failed_and_can_be_stopped(travel):
    async def journey(person: Driver) -> None:
        async with serving(replies(b"{}", status=404), silence) as server:
            assert person.window.run_command("run.model")
            await fill(person, address=server.url, name="small")
            await person.press("button.test")
            await until(lambda: "Check the address and the name of the model." in shown(person))
            server.asked.clear()
            await person.press("button.test")
            await server.asked.wait()
            assert person.seen(QPushButton, "button.test").text() == "Stop"
            assert "Asking:" in shown(person)
            await person.press("button.test")
            await until(lambda: "Stopped." in shown(person))
            server.asked.clear()
            await person.press("button.test")
            await server.asked.wait()
            await person.press("button.cancel")
            await until(lambda: not person.window.findChildren(QComboBox, "model.kind"))
        assert Settings.load().decider == DeciderSettings()

    travel(journey)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"address": "", "name": "small"}, "Say where the model is and what it is called."),
        ({"address": "http://h", "name": "m", "key": "sk-4tQz7"}, "never the key itself"),
    ],
)
def test_what_cannot_be_used_cannot_be_saved(travel, texts, words):
    async def journey(person: Driver) -> None:
        assert person.window.run_command("run.model")
        await fill(person, **texts)
        assert words in shown(person)
        assert not person.seen(QPushButton, "button.save").isEnabled()
        assert not person.seen(QPushButton, "button.test").isEnabled()

    travel(journey)
