"""The actions a project file describes, as they are edited: a part of the draft, written with the tree.

Like the new names of nodes they follow every undo step, and only what differs is written when the tree is
saved: every other byte of the project file stays.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from designer.document.draft import ActionEntry, Described, Draft, described_since, same_entry
from engine import Json, Project

FILE_NAME: Final = "treewright.json"
_EMPTY: Final = '{\n  "format": 1\n}\n'
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_MARK: Final = "\ufeff"
_READER: Final = json.JSONDecoder()
_STEP: Final = "  "


def project_path(path: Path) -> Path:
    """The project file that counts for a tree file: the one beside it, every link followed."""
    return path.resolve().with_name(FILE_NAME)


def describe(draft: Draft, key: str, before: ActionEntry | None, after: ActionEntry | None) -> Draft:
    """With another description of an action, None for none; the same draft where that changes nothing."""
    if same_entry(before, after):
        return draft
    earlier, last = draft.described[:-1], draft.described[-1:]
    if not last or last[0].key != key:
        return replace(draft, described=(*draft.described, Described(key, before, after)))
    # What is typed is one change, however many letters it has.
    joined = () if same_entry(last[0].before, after) else (Described(key, last[0].before, after),)
    return replace(draft, described=(*earlier, *joined))


def as_described(project: Project, saved: Draft, draft: Draft) -> Project:
    """The project as the draft has it, given the one that was there when the other draft was saved."""
    changes = described_since(saved, draft)
    if not changes:
        return project
    actions = dict(project.actions)
    for key, change in changes.items():
        if change.after is None:
            actions.pop(key, None)
        else:
            actions[key] = change.after
    return project.replace(actions=actions)


def others_wrote(data: bytes | None, changes: Mapping[str, Described]) -> bool:
    """Whether another program has described one of these actions anew, in the bytes of a project file."""
    actions = _document(data).get("actions")
    there = actions if isinstance(actions, dict) else {}
    return any(
        key in there
        and not same_entry(there[key], change.before)
        and not same_entry(there[key], change.after)
        for key, change in changes.items()
    )


def with_actions(data: bytes | None, changes: Mapping[str, Described]) -> bytes:
    """A project file with these changes; None stands for none that is there yet.

    ``ValueError`` when the bytes are no project file.
    """
    document = _document(data)
    held = document.get("actions", {})
    if not isinstance(held, dict):
        raise ValueError("its actions are no object")  # noqa: TRY004 - what is wrong with a file
    gone = {key for key, change in changes.items() if change.after is None}
    actions = {key: entry for key, entry in held.items() if key not in gone}
    actions |= {key: change.after for key, change in changes.items() if change.after is not None}
    return rewritten(_text(data), {**document, "actions": actions}).encode()


def _text(data: bytes | None) -> str:
    return _EMPTY if data is None else data.decode()


def _document(data: bytes | None) -> dict[str, Json]:
    document = json.loads(_text(data).removeprefix(_MARK))
    if not isinstance(document, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - what is wrong with a file
    return document


# -- the least that has to be written --------------------------------------------------------------------


def rewritten(text: str, value: Json) -> str:
    """A JSON text made to say another value, in which only what differs is written anew."""
    start = len(text) - len(text.removeprefix(_MARK))
    parts, last = list[str](), 0
    for at, end, new in sorted(_edits(text, _skip(text, start), value), key=lambda edit: edit[:2]):
        parts += [text[last:at], new]
        last = end
    return "".join([*parts, text[last:]])


class _Member(NamedTuple):
    """Where a member of an object stands: its name begins ``at``, its value from ``start`` to ``end``."""

    name: str
    at: int
    start: int
    end: int


def _edits(text: str, at: int, new: Json) -> Iterator[tuple[int, int, str]]:
    """The pieces of the text to replace, so that the value there becomes the new one."""
    old, end = _READER.raw_decode(text, at)
    if same_entry(old, new):
        return
    if not isinstance(old, dict) or not isinstance(new, dict):
        inline = isinstance(old, dict | list) and "\n" not in text[at:end]
        yield at, end, _spelled(new, "" if inline else _margin(text, at))
        return
    members = list(_members(text, at))
    kept = [member for member in members if member.name in new]
    for member in kept:
        yield from _edits(text, member.start, new[member.name])
    for member, following in pairwise(members):
        if member.name not in new and kept and member.at < kept[-1].at:
            yield member.at, following.at, ""
    added = [(name, each) for name, each in new.items() if name not in old]
    if not added and len(members) == len(kept):
        return
    begin = kept[-1].end if kept else at + 1
    finish = members[-1].end if members else at + 1
    yield begin, finish if added or kept else end - 1, "".join(_added(text, at, members, kept, added))
    if added and not members and "\n" not in text[at:end]:
        yield end - 1, end - 1, _margin(text, at)


def _added(
    text: str, at: int, members: list[_Member], kept: list[_Member], added: list[tuple[str, Json]]
) -> Iterator[str]:
    """New members as they are written after those that stay, each below the other as the others are."""
    if members:
        gap = text[: members[-1].at]
        gap = gap[len(gap.rstrip(" \t\r\n")) :] or " "
    else:
        margin = _margin(text, at)
        gap = margin + _STEP if margin else ""
    margin = gap if "\n" in gap else ""
    for number, (name, value) in enumerate(added):
        comma = "," if kept or number else ""
        blank = gap if margin or comma else ""
        yield f"{comma}{blank}{json.dumps(name, ensure_ascii=False)}: {_spelled(value, margin)}"


def _members(text: str, at: int) -> Iterator[_Member]:
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, colon = _READER.raw_decode(text, at)
        start = _skip(text, _skip(text, colon) + 1)
        _, end = _READER.raw_decode(text, start)
        yield _Member(name, at, start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _margin(text: str, at: int) -> str:
    """The line end and the indentation of the line of this place; nothing where all stands on one line."""
    if "\n" not in text.rstrip():
        return ""
    begin = text.rfind("\n", 0, at) + 1
    return f"{_line_end(text)}{text[begin : _skip(text, begin)]}"


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _spelled(value: Json, margin: str) -> str:
    """A value, on several lines where there is a margin to begin them with."""
    if not margin:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=2).replace("\n", margin)
