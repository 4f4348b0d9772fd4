"""What a transcript must not keep: named members, keys and tokens, whatever they stand in."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.budget import SystemClock
from engine.transcript import REDACTED, shipped_redactor
from engine.transcript.composer import as_text
from engine.transcript.redaction import Screen, without_named_secrets

screen = Screen(shipped_redactor, SystemClock())

NAMES = [
    "authorization",
    "Proxy-Authorization",
    "cookie",
    "Set-Cookie",
    "api-key",
    "apiKey",
    "api_key",
    "x-api-key",
    "access_token",
    "accessToken",
    "refresh-token",
    "clientSecret",
    "PASSWORD",
    "secret",
    "token",
    # what only ends in one of these
    "openai_api_key",
    "OpenAIApiKey",
    "openaiapikey",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_KEY",
    "myPassword",
    "db-password",
    "X-Auth-Token",
    "github.token",
    "client secret",
    "AWS_SECRET_ACCESS_KEY",
    "sessionCookie",
]
INNOCENT = [
    "monkey",
    "key",
    "erasureKey",
    "actionKey",
    "primary_key",
    "secret-key-1",
    "keyboard",
    "tokenCount",
    "maxTokens",
    "inputTokens",
    "secretary",
    "passwordRules",
    "authorizationUrl",
    "cookieConsent",
    "MONKEY",
]
SECRETS = [
    "Bearer abcdef123456",
    "sk-abcdefghijklmnop1234",
    "sk-proj-abc_def-1234567890",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0123456789",
    "xoxb-1234567890-abcdef",
    "AKIAABCDEFGHIJKLMNOP",
    "AIza" + "b" * 35,
    "hf_abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_named_member_is_redacted_at_any_depth(name: str) -> None:
    document = {"keep": "this", "in": [{name: "canary"}, {name: {"deeper": "canary"}}]}
    text = without_named_secrets(json.dumps(document))
    assert text == json.dumps(
        {"keep": "this", "in": [{name: REDACTED}, {name: REDACTED}]}, separators=(",", ":")
    )


@pytest.mark.parametrize("name", INNOCENT)
@pytest.mark.parametrize("shape", ['{{"{}":"shown"}}', '"{}": "shown"', "{}=shown&x=1", "{}: shown"])
def test_a_name_that_only_holds_such_a_word_hides_nothing(name: str, shape: str) -> None:
    text = shape.format(name)
    assert without_named_secrets(text) == text
    assert screen("shown", name) == "shown"


@pytest.mark.parametrize("name", NAMES)
def test_a_named_member_is_redacted_in_json_inside_json(name: str) -> None:
    inner = json.dumps({name: "canary", "keep": 1})
    assert "canary" not in without_named_secrets(json.dumps({"body": inner}))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "shape",
    [
        'The reply was {{"{}": "canary 1"}} and no JSON',
        "The reply was {{'{}': 'canary'}}",
        'Escaped: {{\\"{}\\": \\"canary 1\\"}}',
        "{}=canary&x=1",
        "{}: canary",
        "line one\n{}: canary\nline three",
        'cut off: {{"{}": "canary and no end',
    ],
)
def test_a_named_value_is_redacted_in_running_text(name: str, shape: str) -> None:
    assert "canary" not in without_named_secrets(shape.format(name))


def test_a_header_is_redacted_to_the_end_of_its_line() -> None:
    assert without_named_secrets("Cookie: a=canary; b=canary\nHost: x") == f"Cookie: {REDACTED}\nHost: x"
    assert without_named_secrets("Authorization: Basic canary") == f"Authorization: {REDACTED}"


@pytest.mark.parametrize(
    "text", ["1.50", '"quoted"', "null", "A token of thanks", "secretary: Ann", "[a", "{"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert screen(text) == text


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("shape", ["{}", "see {} there", "({})", '"{}"', "key={}", "/{}/"])
def test_what_looks_like_a_secret_is_masked(secret: str, shape: str) -> None:
    assert secret not in shipped_redactor(shape.format(secret))
    assert REDACTED in shipped_redactor(shape.format(secret))


def test_a_password_in_an_address_is_masked() -> None:
    assert shipped_redactor("postgres://ann:canary@db/x") == f"postgres://{REDACTED}@db/x"


def test_the_value_of_a_sensitive_name_is_never_shown() -> None:
    assert {screen("canary", name) for name in NAMES} == {REDACTED}
    assert screen("canary", "colour") == "canary"


def test_without_a_redactor_everything_is_shown() -> None:
    everything = Screen(None, SystemClock())
    assert everything("token=canary", "password") == "token=canary"


PLANTED = 1000


def test_planted_secrets_do_not_leak() -> None:
    """G22: in values, in keys, escaped, in errors, between other text."""
    chance = random.Random(22)
    shapes = [
        lambda s: s,
        lambda s: json.dumps({"value": s}),
        lambda s: json.dumps({s: 1}),
        lambda s: json.dumps({"body": json.dumps({"inner": [s]})}),
        lambda s: f"ValueError: cannot use {s!r} here",
        lambda s: f"<a href='https://x/?k={s}'>",
        lambda s: f"{'filler ' * 50}{s} {'filler ' * 50}",
    ]
    for number in range(PLANTED):
        body = "".join(chance.choices("abcdefghijkmnpqrstuvwxyz23456789", k=24))
        secret = chance.choice(("sk-", "ghp_", "hf_", "xoxb-")) + body
        assert body not in screen(chance.choice(shapes)(secret)), number


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = screen(text)
    assert screen(once) == once


def test_a_very_long_text_is_cut_before_it_is_looked_at() -> None:
    seen: list[int] = []

    def redactor(text: str) -> str:
        seen.append(len(text))
        return text

    text = Screen(redactor, SystemClock())("word " * 1_000_000)
    assert text.endswith(" [text too long]")
    assert max(seen) < 300_000


# -- state properties as text --------------------------------------------------------------------------


def test_state_properties_read_the_same_in_whatever_order_they_are_held() -> None:
    assert as_text("as it is") == "as it is"
    assert as_text({"b": [2, 1], "a": None}) == as_text({"a": None, "b": [1, 2]}) == "{a: (null), b: [1, 2]}"
    assert as_text(1.5) == "1.5"


def test_state_properties_are_bounded_in_depth_and_breadth_and_may_hold_themselves() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert as_text(loop) == "[[reference cycle detected]]"
    assert as_text(list(range(101))).endswith(", [items omitted]]")
    deep: object = "x"
    for _ in range(12):
        deep = [deep]
    assert as_text(deep) == "[" * 10 + "[maximum nesting depth reached]" + "]" * 10
