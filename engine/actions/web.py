"""The kind that asks a web address."""

import json

from engine.actions.work import Refused, Work, act, found
from engine.catalog import ActionResult, ActionStatus
from engine.errors import FetchFailed
from engine.http import FetchRequest, HostRule, HttpReply, fetch
from engine.kinds import HttpRequest


@act.register
async def http_request(parameters: HttpRequest, work: Work) -> ActionResult:
    """Ask, and keep the status and the text that came; the branch tells how it went."""
    request = FetchRequest(
        work.address(parameters.url), parameters.method, _body(parameters, work), _headers(parameters, work)
    )
    try:
        reply = await fetch(
            request,
            [HostRule.parse(host) for host in parameters.hosts],
            total_deadline=parameters.timeout,
            max_bytes=parameters.max_bytes,
            redirects=parameters.redirects,
        )
    except FetchFailed as error:
        status: ActionStatus = "transientFailure" if error.transient else "permanentFailure"
        return ActionResult(status, error=str(error))
    came = f"The answer was {reply.status}."
    status = "success" if parameters.any_status else _branch(reply.status)
    wrong = None if status == "success" else came
    kept = ActionResult()
    if parameters.property or parameters.data_type:
        # What follows in an address may be a key, and data is shown to models.
        place = request.url.partition("?")[0]
        text = _text(reply)
        if text is not None:
            kept = found(work, [(place, text)], place, (parameters.property, parameters.data_type))
        elif status == "success":
            status = "permanentFailure"
            wrong = "The answer is no text, or in an encoding that is not known."
    told = {parameters.status_property: str(reply.status)} if parameters.status_property else {}
    return ActionResult(status, kept.data, {**kept.properties, **told}, came, wrong)


def _headers(parameters: HttpRequest, work: Work) -> dict[str, str]:
    headers = {"content-type": "application/json"} if parameters.body_type == "json" else {}
    for name, template in parameters.headers.items():
        value = work.location(template)
        if not value.isascii() or not value.isprintable():
            raise Refused(f"The header '{name}' would hold characters that no header can hold.")
        headers[name.lower()] = value
    return headers


def _body(parameters: HttpRequest, work: Work) -> bytes | None:
    if parameters.body is None:
        return None
    escaped = _within_quotes if parameters.body_type == "json" else str
    return work.location(parameters.body, escaped).encode(errors="replace")


def _within_quotes(value: str) -> str:
    return json.dumps(value)[1:-1]


def _branch(status: int) -> ActionStatus:
    if 200 <= status < 300:
        return "success"
    passing = status in (408, 425, 429) or (500 <= status < 600 and status not in (501, 505))
    return "transientFailure" if passing else "permanentFailure"


def _text(reply: HttpReply) -> str | None:
    """The text that came; None where it is in no encoding of text that is known here."""
    _, _, said = reply.content_type.lower().partition("charset=")
    charset = said.partition(";")[0].strip(" \"'") or "utf-8"
    try:
        return reply.body.decode(_CHARSETS[charset])
    except (KeyError, UnicodeDecodeError):
        return None


_CHARSETS = {
    "utf-8": "utf-8-sig",
    "utf8": "utf-8-sig",
    "us-ascii": "ascii",
    "iso-8859-1": "cp1252",
    "windows-1252": "cp1252",
}
