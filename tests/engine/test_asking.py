"""Who is asked: settings of a project and of a person together, what is refused, and which key goes where."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from engine import (
    AnthropicClient,
    Call,
    DeciderName,
    DeciderRefused,
    DeciderSettings,
    DecisionModelDecider,
    OpenAiClient,
    Project,
    Session,
    SystemOneClient,
    TextDecider,
    load_project,
    model_of,
    settings_of,
)
from engine.evaluate import Case, inputs_of
from tests.builders import classify, terminal, tree
from tests.engine.servers import completion, replies, serving

pytestmark = pytest.mark.anyio

LOCAL: Mapping[str, object] = {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1", "model": "small"}


def refused(
    decider: Mapping[str, object], own: Mapping[str, object] | None = None, *, trusted: bool = False
) -> DeciderRefused:
    with pytest.raises(DeciderRefused) as error:
        model_of(settings_of(decider, own or {}), own=(own or {}).keys(), trusted=trusted)
    return error.value


def test_without_a_decider_a_person_is_asked():
    assert settings_of(None) == DeciderSettings()
    assert settings_of(None).kind is DeciderName.ask
    with pytest.raises(ValueError, match="person"):
        model_of(settings_of(None))


def test_what_a_person_says_goes_before_what_a_project_says():
    settings = settings_of(LOCAL, {"model": "large", "fallbackModels": ["huge"]})
    assert (settings.model, settings.base_url) == ("large", LOCAL["baseUrl"])
    assert settings.fallback_models == ("huge",)


@pytest.mark.parametrize(
    ("decider", "client"),
    [
        (LOCAL, OpenAiClient),
        ({**LOCAL, "kind": "anthropic"}, AnthropicClient),
        ({**LOCAL, "kind": "systemone"}, SystemOneClient),
    ],
)
async def test_each_kind_has_its_client(decider, client):
    model = model_of(settings_of(decider), trusted=True)
    assert isinstance(model.client, client)
    assert isinstance(model.decider, DecisionModelDecider if client is SystemOneClient else TextDecider)
    assert (model.decider.model, model.client.model) == ("small", "small")
    await model.close()


@pytest.mark.parametrize(
    ("decider", "member", "reason"),
    [
        ({"kind": "oracle"}, "kind", "invalid"),
        ({"kind": "openai", "fallbackModels": [1]}, "fallbackModels", "invalid"),
        ({"kind": "openai", "model": "m"}, "baseUrl", "incomplete"),
        ({"kind": "openai", "baseUrl": "http://h"}, "model", "incomplete"),
        ({**LOCAL, "baseUrl": "nonsense"}, "baseUrl", "invalid"),
        ({**LOCAL, "keyEnv": "MODEL_KEY"}, "keyEnv", "untrusted"),
        ({**LOCAL, "kind": "anthropic", "structured": "json_object"}, "structured", "invalid"),
        ({**LOCAL, "kind": "typesafe", "stream": True}, "stream", "invalid"),
        ({**LOCAL, "kind": "typesafe"}, "baseUrl", "untrusted"),
        ({**LOCAL, "kind": "systemone", "baseUrl": "ftp://h"}, None, "invalid"),
    ],
)
def test_what_is_of_no_use_is_refused_with_the_member_to_blame(decider, member, reason, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")
    error = refused(decider)
    assert (error.member, error.reason) == (member, reason)
    assert "secret-key" not in str(error)


def test_a_key_is_sent_where_the_person_says_so_or_trusts_the_project(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "secret-key")
    project = {**LOCAL, "keyEnv": "MODEL_KEY"}
    own = {"baseUrl": "http://127.0.0.1:9", "keyEnv": "MODEL_KEY"}
    assert refused(project, {"keyEnv": "MODEL_KEY"}).member == "baseUrl"
    assert refused(project, {"baseUrl": "http://127.0.0.1:9"}).member == "keyEnv"
    for model in (
        model_of(settings_of(project, own), own=own),
        model_of(settings_of(project), trusted=True),
    ):
        assert "secret-key" not in repr(model)


def test_a_missing_key_is_named_by_its_variable():
    error = refused({**LOCAL, "keyEnv": "NOT_SET"}, trusted=True)
    assert (error.member, error.reason) == ("keyEnv", "invalid")
    assert "environment variable NOT_SET" in str(error)


def test_a_refusal_has_its_place_in_the_project_file(tmp_path: Path):
    (tmp_path / "treewright.json").write_text('{\n "decider": {"kind": "openai",\n  "structured": "xml"}}')
    project = load_project(tmp_path)
    with pytest.raises(DeciderRefused) as error:
        settings_of(project.decider)
    problem = error.value.problem(project)
    assert (problem.line, problem.pointer, problem.code) == (3, "/decider/structured", "decider-invalid")
    assert problem.message == str(error.value)
    whole = DeciderRefused("To ask a model, say where it is.", "model").problem(project, "Say more.")
    assert (whole.line, whole.pointer, whole.message) == (2, "/decider", "Say more.")
    assert DeciderRefused("No.").problem(Project()).line is None


def test_members_of_a_later_version_are_kept():
    settings = settings_of({**LOCAL, "mood": "calm"})
    assert settings.model_dump(by_alias=True, exclude_unset=True)["mood"] == "calm"


def test_only_a_decision_model_may_find_a_tree_unsuited():
    alike = tree(ask=classify("?", {"yes": "end", "Yes": "end"}, unknown="end"), end=terminal("done"))
    assert model_of(settings_of(LOCAL)).unsuited(alike) == ()
    found = model_of(settings_of({**LOCAL, "kind": "systemone"}), trusted=True).unsuited(alike)
    assert [problem.node for problem in found] == ["ask"]


@pytest.mark.socket
async def test_the_model_decides_along_its_chain_and_each_call_is_told():
    asked = tree(ask=classify("Is it?", {"yes": "end", "no": "end"}, unknown="end"), end=terminal("done"))
    calls: list[Call] = []
    acts = {"small": replies(b"{}", status=503), "large": replies(completion('{"answer": "yes"}'))}
    async with serving(by_model=acts) as server:
        settings = settings_of({**LOCAL, "baseUrl": server.url, "fallbackModels": ["large"]})
        model = model_of(settings, on_call=calls.append)
        result = await Session(decider=model.decider).start(asked, inputs_of(Case(id="x"), {})).finish()
        await model.close()
    assert (result.outcome, server.models) == ("Terminal", ["small", "large"])
    assert [(call.model, call.error is None) for call in calls] == [("small", False), ("large", True)]
