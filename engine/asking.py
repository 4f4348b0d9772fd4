"""Who is asked when nothing else decides: the ``decider`` of a project or a person, made ready to be asked.

What a person says of their own goes before what a project says, and a project nobody trusts does not get to
choose which key is sent where.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, ValidationError
from pydantic.alias_generators import to_camel

from engine.errors import LlmError, Problem, TreewrightError
from engine.project import Project, TreeSettings
from engine.tree import Tree

if TYPE_CHECKING:
    from engine.deciders.systemone.client import DecisionClient
    from engine.deciders.systemone.decider import DecisionModelDecider
    from engine.deciders.systemone.endpoint import SystemOneClient
    from engine.deciders.text import TextDecider
    from engine.llm import LlmClient
    from engine.llm.failover import Call


class DeciderName(StrEnum):
    """Who can be asked: a person, language models by their protocol, decision models by their provider.

    ``heuristic`` asks nobody: it counts words, on this machine.
    """

    @staticmethod
    def _generate_next_value_(name: str, *_: object) -> str:
        return name.replace("_", "-")

    ask = auto()
    openai = auto()
    anthropic = auto()
    typesafe = auto()
    openrouter = auto()
    openrouter_decisions = auto()
    cloudflare = auto()
    ollama = auto()
    openai_decisions = auto()
    systemone = auto()
    heuristic = auto()

    @property
    def is_decision_model(self) -> bool:
        """Whether it is asked for a choice, and not for a text."""
        return self not in (DeciderName.ask, DeciderName.openai, DeciderName.anthropic)


class DeciderSettings(BaseModel):
    """Who is asked, and where. A key is never a part of it, only the variable it is found under.

    Members of a later version are kept.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    kind: DeciderName = DeciderName.ask
    base_url: str | None = None
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    key_env: str | None = None
    structured: Literal["json_schema", "json_object", "prompt"] = "prompt"
    stream: StrictBool = False
    retries: Annotated[StrictInt, Field(ge=0, le=10)] | None = None


_HOLDS: Final = {
    "kind": f"one of {', '.join(DeciderName)}",
    "baseUrl": "the address of a model",
    "model": "the name of a model",
    "fallbackModels": "a list of names of models",
    "keyEnv": "the name of an environment variable",
    "structured": "prompt, json_object or json_schema",
    "stream": "true or false",
    "retries": "a number from 0 to 10",
}

RefusedReason: TypeAlias = Literal["invalid", "incomplete", "untrusted"]


class DeciderRefused(TreewrightError):
    """Nobody can be asked by these settings.

    ``member`` is the one to blame, by its name in a project file, or None for all of them together.
    ``incomplete`` are settings that lack something, ``untrusted`` those of a project that may not say which
    key is sent where. The text never holds a key.
    """

    def __init__(self, message: str, member: str | None = None, reason: RefusedReason = "invalid") -> None:
        super().__init__(message)
        self.member, self.reason = member, reason

    def problem(self, project: Project, message: str = "") -> Problem:
        """It as an error of a project's decider, with its place; in other words if these are given."""
        named = [self.member] if self.member in (project.decider or {}) and self.member else []
        return project.error("decider-invalid", message or str(self), "decider", *named)


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A model that decides, and the client through which it is asked; close it when nobody asks any more."""

    decider: "TextDecider | DecisionModelDecider"
    client: "LlmClient | DecisionClient"

    def unsuited(self, tree: Tree) -> tuple[Problem, ...]:
        """Why this tree cannot be decided by it, if so: errors only."""
        from engine.deciders.systemone.decider import DecisionModelDecider

        return self.decider.unsuited(tree) if isinstance(self.decider, DecisionModelDecider) else ()

    async def close(self) -> None:
        """Give back connections."""
        await self.client.close()


def settings_of(
    decider: Mapping[str, object] | None, own: Mapping[str, object] = MappingProxyType({})
) -> DeciderSettings:
    """What a project says of its decider, with what a person says of their own before it.

    Both by the names of a project file. Raises :class:`DeciderRefused`.
    """
    try:
        return DeciderSettings.model_validate({**(decider or {}), **own}, by_alias=True, by_name=False)
    except ValidationError as error:
        member = str(error.errors()[0]["loc"][0])
        raise DeciderRefused(f"'{member}' of the decider must be {_HOLDS[member]}.", member) from None


def model_of(
    settings: DeciderSettings,
    trees: Mapping[str, TreeSettings] = MappingProxyType({}),
    *,
    own: Collection[str] = (),
    trusted: bool = False,
    on_call: "Callable[[Call], None] | None" = None,
) -> AskedModel:
    """The model these settings name, with its key; nothing is sent yet.

    ``own`` are the members the person gave, by their names in a project file; all others are those of a
    project, which is ``trusted`` or not. ``trees`` are the settings of the project's trees. ``on_call`` is
    told of each call of a language model. A keyring may keep whoever reads a key waiting.

    Raises :class:`DeciderRefused`; ``ValueError`` where a person is to be asked.
    """
    if settings.kind is DeciderName.ask:
        raise ValueError("a person is no model")
    if settings.kind.is_decision_model:
        from engine.deciders.systemone.decider import DecisionModelDecider

        model = _offline(settings) or _decision_client(settings, own, trusted=trusted)
        return AskedModel(DecisionModelDecider(model, trees), model)
    from engine.deciders.text import TextDecider
    from engine.llm.failover import Failover

    client = _client(settings, own, trusted=trusted)
    pipeline = Failover(client, on_call)
    return AskedModel(TextDecider(client, client.model, settings.fallback_models, pipeline=pipeline), client)


def _client(settings: DeciderSettings, own: Collection[str], *, trusted: bool) -> "LlmClient":
    from engine.llm.anthropic import AnthropicClient
    from engine.llm.openai import OpenAiClient

    url, model, stream = settings.base_url, settings.model, settings.stream
    if not url or not model:
        message = "To ask a model, say where it is and what it is called."
        raise DeciderRefused(message, "model" if url else "baseUrl", "incomplete")
    key = None
    if settings.key_env:
        # A stranger's project must not have a key sent to where it likes.
        if not trusted and not {"baseUrl", "keyEnv"} <= set(own):
            raise _untrusted("baseUrl" if "keyEnv" in own else "keyEnv")
        key = _key(settings.key_env)
    with _blaming("baseUrl"):
        if settings.kind is DeciderName.openai:
            return OpenAiClient(url, model, key, settings.structured, stream=stream)
        if settings.structured != "prompt":
            message = "'structured' is for deciders of kind openai; leave it out."
            raise DeciderRefused(message, "structured")
        return AnthropicClient(url, model, key, stream=stream)


def _offline(settings: DeciderSettings) -> "DecisionClient | None":
    """The client that counts words, where that is meant; there is nothing to say of it."""
    from engine.deciders.offline import HeuristicClient

    if settings.kind is not DeciderName.heuristic:
        return None
    for name in type(settings).model_fields:
        if name != "kind" and name in settings.model_fields_set:
            member = to_camel(name)
            raise DeciderRefused(f"'{member}' is for models, and this asks none; leave it out.", member)
    return HeuristicClient()


def _decision_client(settings: DeciderSettings, own: Collection[str], *, trusted: bool) -> "SystemOneClient":
    """The client of a decision model, which may know its address, its model and the variable of its key."""
    from engine.deciders.systemone.client import RetryPolicy
    from engine.deciders.systemone.endpoint import PROFILES, SystemOneClient, SystemOneSettings

    for name in ("structured", "stream", "fallback_models"):
        if name in settings.model_fields_set:
            member = to_camel(name)
            raise DeciderRefused(f"'{member}' is for language models; leave it out.", member)
    ours = ("keyEnv" in own or not settings.key_env) and ("baseUrl" in own or not settings.base_url)
    if not ours and not trusted and (settings.key_env or PROFILES[settings.kind].key_variable):
        raise _untrusted("keyEnv" if settings.key_env and "keyEnv" not in own else "baseUrl")
    key = _key(settings.key_env) if settings.key_env else ""
    try:
        return SystemOneClient(
            SystemOneSettings(
                profile=settings.kind,
                base_url=settings.base_url or "",
                model=settings.model or "",
                key=key,
                retry=RetryPolicy() if settings.retries is None else RetryPolicy(retries=settings.retries),
            )
        )
    except ValueError as error:
        raise DeciderRefused(str(error)) from None


def _untrusted(member: str) -> DeciderRefused:
    return DeciderRefused("This says which key is sent where.", member, "untrusted")


def _key(variable: str) -> str:
    from engine.llm.keys import key_from

    with _blaming("keyEnv"):
        return key_from(variable)


@contextmanager
def _blaming(member: str) -> Iterator[None]:
    """Blames a member of the settings for what cannot be asked because of it."""
    try:
        yield
    except LlmError as error:
        raise DeciderRefused(str(error), member) from None
