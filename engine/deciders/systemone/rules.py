"""What is wrong with a set of questions, before anybody is asked; and how sure is sure."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from engine.deciders.asked import AskedQuestion
from engine.errors import Problem
from engine.jsontext import Json

MAX_DEPTH: Final = 60
"""How deep state, instructions and descriptions may nest; the request around them needs the rest."""

Tier: TypeAlias = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class ConfidenceTiers:
    """Three tiers of confidence; each border belongs to the tier above it. ``ValueError`` for bad borders."""

    medium: float = 0.5
    high: float = 0.9

    def __post_init__(self) -> None:
        for name, border in (("medium", self.medium), ("high", self.high)):
            if not 0 <= border <= 1:
                raise ValueError(f"The border '{name}' is a number from 0 to 1.")
        if self.medium > self.high:
            raise ValueError("The border 'medium' is not above 'high'.")

    def of(self, confidence: float) -> Tier:
        """The tier of a confidence; one that is no number is low."""
        if confidence >= self.high:
            return "high"
        return "medium" if confidence >= self.medium else "low"


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """How much a provider takes: the fewest and the most of each, and what it cannot do without."""

    questions: tuple[int, float] = (1, math.inf)
    options: tuple[int, float] = (1, math.inf)
    levels: tuple[int, float] = (1, math.inf)
    needs_instructions: bool = False
    needs_both_sides: bool = False
    """Whether a noul that describes yes must describe no, and the other way round."""


_GUIDANCE: Final = QuestionLimits(options=(2, 255), levels=(2, 10))


def check_questions(
    questions: Mapping[str, AskedQuestion], *, state: Json = None, limits: QuestionLimits | None = None
) -> tuple[Problem, ...]:
    """Everything wrong with a set of questions; what is an error must not be asked.

    A problem's node is the key of its question. Names in back-ticks are looked for in a state that has
    members. What a provider's limits forbid is an error; the rest has the numbers of the published rules.
    """
    found = list(_set_problems(questions, limits))
    for key, question in questions.items():
        for code, severity, field, message in (
            *_option_problems(question),
            *_content_problems(question, state),
            *_limit_problems(question, limits),
        ):
            found.append(Problem(code, severity, message, node=key, field=field))
    return tuple(found)


def depth_of(value: Json) -> int:
    """How deep a value nests: 0 for text and numbers, 1 for a list of them."""
    depth, layer = 0, [value]
    while holders := [held for held in layer if isinstance(held, dict | list)]:
        depth, layer = depth + 1, [inner for holder in holders for inner in _inside(holder)]
    return depth


_Found: TypeAlias = tuple[str, Literal["error", "warning", "info"], str | None, str]
"""Code, severity, member and message of a problem of one question."""


def _set_problems(questions: Mapping[str, AskedQuestion], limits: QuestionLimits | None) -> Iterator[Problem]:
    fewest, most = (limits or QuestionLimits()).questions
    if not fewest <= len(questions) <= most:
        yield Problem("MIN005", "error", f"{len(questions)} questions are asked; {_range(fewest, most)}.")
    if "" in questions:
        yield Problem("MIN106", "error", "A question has an empty key.", node="")


def _option_problems(question: AskedQuestion) -> Iterator[_Found]:
    options = question.options
    if not options and question.kind in _EMPTY:
        code, said = _EMPTY[question.kind]
        yield code, "error", "criteria", said
    if "" in options:
        yield "MIN106", "error", "criteria", "An option has an empty key."
    if options and (said := _misfit(question, _GUIDANCE) or ""):
        yield "MIN005", "warning", "criteria", said
    if bare := [option for option in options if _criteria(question).get(option, "") is None]:
        yield "MIN006", "info", "criteria", f"Not described: {', '.join(bare)}."


_EMPTY: Final = {
    "choice": ("MIN001", "The choice has no options."),
    "score": ("MIN002", "The score has no levels."),
}


def _content_problems(question: AskedQuestion, state: Json) -> Iterator[_Found]:
    descriptions = _descriptions(question)
    if question.kind == "noul" and question.instructions is None and not descriptions:
        yield "MIN003", "error", "instructions", "The question asks nothing: it has no instructions."
    for field, contents in (("instructions", [question.instructions]), ("criteria", descriptions)):
        if any(depth_of(content) > MAX_DEPTH for content in contents):
            yield "MIN108", "error", field, f"Values are nested more than {MAX_DEPTH} deep."
            continue
        if any(map(_is_blank, contents)):
            yield "MIN003", "warning", field, "A text is blank, or a value is empty."
        if isinstance(state, dict):
            for name in dict.fromkeys(name for content in contents for name in _named(content)):
                if name not in state:
                    yield "MIN004", "warning", field, f"'{name}' is no member of the state."


def _limit_problems(question: AskedQuestion, limits: QuestionLimits | None) -> Iterator[_Found]:
    if limits is None:
        return
    if question.options and (said := _misfit(question, limits)):
        yield "MIN005", "error", "criteria", said
    if limits.needs_instructions and question.instructions is None:
        yield "MIN003", "error", "instructions", "The provider needs instructions."
    if limits.needs_both_sides and question.kind == "noul" and len(_descriptions(question)) == 1:
        yield "MIN003", "error", "criteria", "The provider needs a description of both yes and no."


def _misfit(question: AskedQuestion, limits: QuestionLimits) -> str | None:
    """What is wrong with the number of options or levels, if anything."""
    fewest, most = limits.options if question.kind == "choice" else limits.levels
    count, what = len(question.options), "options" if question.kind == "choice" else "levels"
    return None if fewest <= count <= most else f"There are {count} {what}; {_range(fewest, most)}."


def _range(fewest: int, most: float) -> str:
    return f"at least {fewest} is right" if math.isinf(most) else f"{fewest} to {most:g} are right"


def _criteria(question: AskedQuestion) -> Mapping[str, Json]:
    return question.criteria if isinstance(question.criteria, dict) else {}


def _descriptions(question: AskedQuestion) -> list[Json]:
    """What describes the options, the levels, or yes and no."""
    criteria = question.criteria
    every = criteria if isinstance(criteria, list) else list(_criteria(question).values())
    return [description for description in every if description is not None]


def _is_blank(content: Json) -> bool:
    return not (content.strip() if isinstance(content, str) else content is None or content)


def _named(content: Json) -> Iterator[str]:
    """The members of the state that texts name in back-ticks, without what is inside those."""
    if isinstance(content, str):
        yield from (re.split(r"[.\[]", name, maxsplit=1)[0] for name in re.findall(r"`([^`\s]+)`", content))
    elif isinstance(content, dict | list):
        for inner in _inside(content):
            yield from _named(inner)


def _inside(value: dict[str, Json] | list[Json]) -> list[Json]:
    return list(value.values()) if isinstance(value, dict) else value
