"""Questions for a decision model: yes or no, one of some options, one of some levels, alone or as a class.

A set of questions is a mapping from keys to questions, asked together about one state. A class of questions
is such a set whose instances hold the answers, each of the type its question asks for.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import ClassVar, Final, Generic, Self, TypeAlias, TypeVar, cast, overload

from engine.deciders.asked import Answer, AskedQuestion, ChoiceAnswer, NoulAnswer, ScoreAnswer
from engine.deciders.systemone.client import DecisionClient, DecisionFailed, DecisionRequest, Image
from engine.jsontext import Json

Content: TypeAlias = str | dict[str, Json] | list[Json]
"""What instructions and descriptions can be: text, or JSON that holds more than one value."""

A_co = TypeVar("A_co", ChoiceAnswer, ScoreAnswer, covariant=True)
V = TypeVar("V")
E = TypeVar("E", bound=Enum)


@dataclass(frozen=True, slots=True)
class Chosen(Generic[A_co, V]):
    """The answer to a choice or a score, with what there was to choose from."""

    answer: A_co
    choices: tuple[V, ...]

    @property
    def value(self) -> V:
        """The option, or the most probable level."""
        return self.choices[self.answer.chosen_index]

    @property
    def confidence(self) -> float:
        """How sure the model is, from 0 to 1."""
        return self.answer.confidence

    @property
    def probabilities(self) -> dict[V, float]:
        """How likely each of them is."""
        return dict(zip(self.choices, self.answer.probabilities, strict=True))


class Noul(AskedQuestion):
    """Asks for yes or no; what either means can be described. ``ValueError`` for what cannot be asked."""

    def __init__(
        self, instructions: Content | None = None, *, yes: Content | None = None, no: Content | None = None
    ) -> None:
        described = {"true": _content(yes), "false": _content(no)}
        criteria: Json = {answer: content for answer, content in described.items() if content is not None}
        super().__init__("noul", _content(instructions), criteria or None)

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: "QuestionSet", owner: type) -> NoulAnswer: ...
    def __get__(self, holder: "QuestionSet | None", owner: type) -> "Self | NoulAnswer":
        return self if holder is None else cast("NoulAnswer", holder.answer_to(self))


class Choice(AskedQuestion, Generic[V]):
    """Asks for one of some options: names, names with descriptions, or the members of an enumeration.

    The key of a member is its name in small letters, and a text as its value describes it. ``ValueError`` for
    what cannot be asked, and for an option named twice.
    """

    choices: tuple[V, ...]

    @overload
    def __init__(self: "Choice[E]", instructions: Content | None, options: type[E]) -> None: ...
    @overload
    def __init__(
        self: "Choice[str]",
        instructions: Content | None,
        options: Mapping[str, Content | None] | Iterable[str],
    ) -> None: ...
    def __init__(
        self,
        instructions: Content | None,
        options: type[Enum] | Mapping[str, Content | None] | Iterable[str],
    ) -> None:
        named: list[tuple[str, Content | None]]
        if isinstance(options, type):
            named = [(snake_case(member.name), _description(member)) for member in options]
        elif isinstance(options, Mapping):
            named = list(options.items())
        else:
            named = [(option, None) for option in options]
        criteria = {option: _content(description) for option, description in named}
        if len(criteria) < len(named):
            raise ValueError("MIN106: An option is named more than once.")
        super().__init__("choice", _content(instructions), criteria)
        choices = tuple(options) if isinstance(options, type) else tuple(criteria)
        object.__setattr__(self, "choices", choices)

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: "QuestionSet", owner: type) -> Chosen[ChoiceAnswer, V]: ...
    def __get__(self, holder: "QuestionSet | None", owner: type) -> "Self | Chosen[ChoiceAnswer, V]":
        return self if holder is None else Chosen(cast("ChoiceAnswer", holder.answer_to(self)), self.choices)


class Score(AskedQuestion, Generic[V]):
    """Asks for one of some levels, described from the lowest: a list, or the members of an enumeration.

    A text as the value of a member describes it; numbers as values say which level each member is, and then
    its name describes it. ``ValueError`` for what cannot be asked, and for numbers that leave a level out.
    """

    choices: tuple[V, ...]

    @overload
    def __init__(self: "Score[E]", instructions: Content | None, levels: type[E]) -> None: ...
    @overload
    def __init__(self: "Score[int]", instructions: Content | None, levels: Sequence[Content]) -> None: ...
    def __init__(self, instructions: Content | None, levels: type[Enum] | Sequence[Content]) -> None:
        if isinstance(levels, type):
            choices: Sequence[object] = _in_order(levels)
            described: Sequence[Content] = [
                _description(level) or _in_words(level) for level in _in_order(levels)
            ]
        else:
            choices, described = range(len(levels)), levels
        super().__init__("score", _content(instructions), [_content(level) for level in described])
        object.__setattr__(self, "choices", tuple(choices))

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: "QuestionSet", owner: type) -> Chosen[ScoreAnswer, V]: ...
    def __get__(self, holder: "QuestionSet | None", owner: type) -> "Self | Chosen[ScoreAnswer, V]":
        return self if holder is None else Chosen(cast("ScoreAnswer", holder.answer_to(self)), self.choices)


class QuestionSet:
    """The base of a class whose attributes are questions, and whose instances hold their answers.

    ::

        class Triage(QuestionSet):
            is_urgent = Noul("Does this convey urgency?")
            queue = Choice("Which queue should handle this?", Lane)

        triage = await Triage.evaluate(client, "The app crashes when I pay.")
        triage.is_urgent.probability, triage.queue.value

    The key of a question is its name in small letters: ``IsUrgent`` and ``is_urgent`` have the same one, and
    a class that has both is refused (``ValueError``).
    """

    questions: ClassVar[Mapping[str, AskedQuestion]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = [(snake_case(n), asked) for n, asked in vars(cls).items() if isinstance(asked, AskedQuestion)]
        if len(dict(own)) < len(own):
            raise ValueError("MIN106: Two questions have the same key.")
        cls.questions = MappingProxyType({**cls.questions, **dict(own)})

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = {answer.key: answer for answer in answers}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._answers)})"

    def answer_to(self, question: AskedQuestion) -> Answer:
        """The answer to one of the questions of the class."""
        return next(self._answers[key] for key, asked in self.questions.items() if asked is question)

    @classmethod
    async def evaluate(
        cls,
        client: DecisionClient,
        state: Json,
        *,
        model: str | None = None,
        images: Iterable[Image] = (),
    ) -> Self:
        """Ask all questions of the class at once; :class:`DecisionFailed` where there are no answers."""
        result = await client.evaluate(DecisionRequest(state, cls.questions, model, tuple(images)))
        if result.error is not None:
            raise DecisionFailed(result.error, client.endpoint)
        return cls(result.answers or ())


def snake_case(name: str) -> str:
    """A name in small letters with its words parted by low lines: ``IsUrgent`` is ``is_urgent``."""
    return _BETWEEN_WORDS.sub("_", name).lower()


_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _content(content: object) -> Json:
    if content is None or isinstance(content, str | dict | list):
        return cast("Json", content)
    raise ValueError("What is asked is text, an object or a list.")


def _description(member: Enum) -> str | None:
    return member.value if isinstance(member.value, str) else None


def _in_words(member: Enum) -> str:
    return snake_case(member.name).replace("_", " ")


def _in_order(levels: type[E]) -> list[E]:
    """The members by level: by their numbers where all have one, else as they are written."""
    members = list(levels)
    numbers = [member.value for member in members if isinstance(member.value, int)]
    if not numbers:
        return members
    if sorted(numbers) != list(range(len(members))):
        raise ValueError("MIN104: The numbers of the levels are 0, 1, 2 and so on, and none is missing.")
    return sorted(members, key=lambda member: member.value)
