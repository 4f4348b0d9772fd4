"""Searching a draft: where a text is found in nodes, notes and the tree itself, and putting another there."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from designer.document import edits
from designer.document.draft import Draft
from engine import ActionNode, AnyNode, ClassifyNode, ConditionNode, NodeId, TerminalNode

Sought: TypeAlias = re.Pattern[str]
"""What is looked for."""

Part: TypeAlias = Literal["node", "note", "tree"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A text in which something was found.

    It is of a node or a note by its id, or of the tree; ``field`` is its JSON member, or ``id``.
    """

    part: Part
    id: str
    field: str


def pattern_of(text: str, *, word: bool = False, expression: bool = False) -> Sought:
    """What to look for, in any case; ``ValueError`` says what is wrong with a regular expression."""
    source = text if expression else re.escape(text)
    try:
        return re.compile(rf"\b(?:{source})\b" if word else source, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"This is no regular expression: {error.msg}.") from None


def find(draft: Draft, pattern: Sought) -> tuple[Hit, ...]:
    """Where it is found: the tree's own texts, then nodes in their order, then notes."""
    return tuple(hit for hit, texts in _texts(draft) if any(map(pattern.search, texts)))


def put(draft: Draft, pattern: Sought, text: str, *, expression: bool = False) -> Draft:
    r"""With the text in place of everything that is found.

    In a regular expression ``\1`` stands for its first group. A branch follows its answer and everything
    that names a node its new id; an id, a key or an answer that would be blank or taken stays as it is.
    ``ValueError`` where the text names a group there is none of.
    """
    put_in = text if expression else text.replace("\\", r"\\")
    try:
        for hit, old in list(_texts(draft)):
            new = tuple(pattern.sub(put_in, text) for text in old)
            if new != old and hit.field != "id":
                draft = _with(draft, hit, new)
        for node_id in list(draft.tree.nodes):
            name = pattern.sub(put_in, node_id)
            if name != node_id and name.strip() and name not in draft.tree.nodes:
                draft = edits.rename_node(draft, node_id, name)
    except (re.error, IndexError) as error:
        raise ValueError(f"This cannot be put there: {error}.") from None
    return draft


def _texts(draft: Draft) -> Iterator[tuple[Hit, tuple[str, ...]]]:
    """Every text with its place; answers and parameters are several at one place."""
    tree = draft.tree
    own = {"name": tree.name, "description": tree.description}
    own |= {"systemPrompt": tree.system_prompt, "task": tree.task}
    for field, text in own.items():
        if text:
            yield Hit("tree", "", field), (text,)
    for node_id, node in tree.nodes.items():
        yield Hit("node", node_id, "id"), (node_id,)
        for field, texts in _texts_of(node):
            yield Hit("node", node_id, field), tuple(text for text in texts if text is not None)
    for name, note in draft.notes.items():
        yield Hit("note", name, "text"), (note.text,)


def _texts_of(node: AnyNode) -> Iterator[tuple[str, Iterable[str | None]]]:
    yield "name", (node.name,)
    yield "description", (node.description,)
    match node:
        case ClassifyNode():
            yield "task", (node.task,)
            yield "answers", node.answers or ()
        case ActionNode():
            yield "actionKey", (node.action_key,)
        case ConditionNode():
            yield "predicateKey", (node.predicate_key,)
            values = (node.predicate_parameters or {}).values()
            yield "predicateParameters", (value for value in values if isinstance(value, str))
        case TerminalNode():
            yield "verdict", (node.verdict,)


def _with(draft: Draft, hit: Hit, texts: tuple[str, ...]) -> Draft:
    match hit:
        case Hit("note"):
            return edits.set_notes(draft, {hit.id: replace(draft.notes[hit.id], text=texts[0])})
        case Hit("tree"):
            return edits.set_tree_field(draft, hit.field, texts[0])
        case Hit(_, _, "answers"):
            fits = len(set(texts)) == len(texts) and all(map(str.strip, texts))
            return edits.set_answers(draft, hit.id, texts) if fits else draft
        case Hit(_, _, "predicateParameters"):
            return _with_parameters(draft, hit.id, texts)
        case _ if not texts[0].strip() and hit.field in _NEVER_BLANK:
            return draft
        case _:
            return edits.set_field(draft, hit.id, hit.field, texts[0])


_NEVER_BLANK: Final = {"actionKey", "predicateKey", "verdict", "task"}


def _with_parameters(draft: Draft, node_id: NodeId, texts: Iterable[str]) -> Draft:
    """With these in place of the parameters that are texts."""
    node = draft.tree.nodes[node_id]
    given = (node.predicate_parameters or {}) if isinstance(node, ConditionNode) else {}
    names = (name for name, value in given.items() if isinstance(value, str))
    for name, text in zip(list(names), texts, strict=True):
        draft = edits.set_parameter(draft, node_id, name, text)
    return draft
