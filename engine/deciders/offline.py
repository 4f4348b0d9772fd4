"""Decision clients that ask nobody: one answers by a script, one by the words options and state share."""

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from engine.deciders import ProbabilitySource
from engine.deciders.asked import (
    Answer,
    AskedQuestion,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    TokenUsage,
    choice_confidence,
    likeliest,
    noul_confidence,
    one_hot,
    score_confidence,
)
from engine.deciders.systemone.client import DecisionError, DecisionRequest, DecisionResult, ModelInfo
from engine.deciders.systemone.rules import check_questions
from engine.jsontext import Json

_FREE: Final = TokenUsage(0, 0, 0.0)


class _Offline(ABC):
    """A client without an endpoint; what it says costs nothing."""

    provider, endpoint, model = "", "", ""
    source: ProbabilitySource = "model"

    async def evaluate(self, request: DecisionRequest) -> DecisionResult:
        """Answer at once."""
        problems = check_questions(request.questions)
        if wrong := next((problem for problem in problems if problem.severity == "error"), None):
            return DecisionResult(error=DecisionError("InvalidQuestions", f"{wrong.code}: {wrong.message}"))
        try:
            answers = tuple(self._answers(request))
        except LookupError as error:
            return DecisionResult(error=DecisionError("InvalidResponse", str(error.args[0])))
        return DecisionResult(
            answers=answers, served_model=self.model, usage=_FREE, probability_source=self.source
        )

    @abstractmethod
    def _answers(self, request: DecisionRequest) -> Iterable[Answer]:
        """The answers, in the order of the questions; ``LookupError`` says why there are none."""

    async def list_models(self) -> Sequence[ModelInfo]:
        """There is one."""
        return (ModelInfo(self.model),)

    async def close(self) -> None:  # noqa: B027 - there is nothing to close in either
        """Nothing is open."""


def distributed(key: str, kind: str, probabilities: Sequence[float]) -> Answer:
    """The answer to a choice or a score with these probabilities; of several highest ones the first wins."""
    chosen, whole = likeliest(probabilities), tuple(probabilities)
    if kind == "choice":
        return ChoiceAnswer(key, chosen, choice_confidence(whole), whole)
    expected = sum(level * probability for level, probability in enumerate(whole))
    return ScoreAnswer(key, chosen, expected, score_confidence(whole), whole)


# -- by a script ---------------------------------------------------------------------------------------

Script: TypeAlias = Callable[[DecisionRequest], Mapping[str, str | float]]
"""Gives the option of each choice or score and the probability of each noul that has one to give, by key."""

UNLIKELY: Final = 0.1
"""How likely yes is where a script does not say."""


class ScriptedClient(_Offline):
    """Answers as a script says. What it leaves out is the first option, or no.

    What it says and was not offered is no answer: the decision fails.
    """

    provider, model = "scripted", "script"
    source = "onehot"

    def __init__(self, script: Script) -> None:
        self._script = script

    def _answers(self, request: DecisionRequest) -> Iterator[Answer]:
        says = self._script(request)
        for key, asked in request.questions.items():
            said = says.get(key)
            if asked.kind == "noul":
                probability = said if isinstance(said, float) else UNLIKELY
                yield NoulAnswer(key, probability, noul_confidence(probability))
                continue
            options = asked.options
            if said is not None and said not in options:
                raise LookupError(f"The script answers '{key}' with what was not offered.")
            index = 0 if said is None else options.index(str(said))
            yield distributed(key, asked.kind, one_hot(index, len(options)))


# -- by words ------------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_STEM: Final = 5
"""Letters by which a word is told from others: so a price and prices are the same."""
_COMMON: Final = frozenset(
    _WORD.findall(
        "and are but can each for from had has have how its many may more much not one only out than that "
        "the their them then there they this was were what when where which who will with"
    )
)
_NAMED: Final = re.compile(r"«[^«»]+»")
_LEAST: Final = 0.05
"""What an option is worth that has no word in common, so that nothing is impossible."""
_HALF: Final = 1.5
"""Words in common from which yes is as likely as no."""


class HeuristicClient(_Offline):
    """Answers by counting words: an option is the likelier the more of its words the state has.

    Words that all options have tell nothing. Of a state with an ``objective`` only that counts, and each line
    of ``done`` that begins with an option makes it half as likely. A noul about something named in guillemets
    is about the lines of the state that have the name. It understands nothing; it lets samples run where
    there is no model.
    """

    provider, model = "heuristic", "word-overlap"

    def _answers(self, request: DecisionRequest) -> Iterator[Answer]:
        state = request.state
        objective = state.get("objective") if isinstance(state, dict) else None
        topic = _words(_text(state if objective is None else objective))
        lines = tuple(_lines(state))
        nouls = [key for key, asked in request.questions.items() if asked.kind == "noul"]
        likely = dict(
            zip(nouls, _telling(_subject(request.questions[key], lines) for key in nouls), strict=True)
        )
        for key, asked in request.questions.items():
            if asked.kind == "noul":
                shared = len(topic & likely[key])
                probability = shared / (shared + _HALF)
                yield NoulAnswer(key, probability, noul_confidence(probability))
                continue
            named = list(_described(asked))
            told = _telling(f"{name} {said}" for name, said in named)
            scores = [
                _score(topic, words) / 2 ** sum(line.startswith(f"{name} ") for line in lines)
                for (name, _), words in zip(named, told, strict=True)
            ]
            yield distributed(key, asked.kind, [score / sum(scores) for score in scores])


def _score(topic: frozenset[str], words: frozenset[str]) -> float:
    return (_LEAST + len(topic & words) / math.sqrt(len(words) or 1)) ** 2


def _telling(texts: Iterable[str]) -> list[frozenset[str]]:
    """The words of each text that are not in all of them."""
    every = [_words(text) for text in texts]
    shared: frozenset[str] = frozenset.intersection(*every) if len(every) > 1 else frozenset()
    return [words - shared for words in every]


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text.lower()) if word not in _COMMON)


def _described(asked: AskedQuestion) -> Iterator[tuple[str, str]]:
    """The options of a choice, or the levels of a score, each with what is said of it."""
    criteria = asked.criteria
    said = criteria.values() if isinstance(criteria, dict) else criteria
    return zip(asked.options, map(_text, said if isinstance(said, Iterable) else ()), strict=True)


def _subject(asked: AskedQuestion, lines: Sequence[str]) -> str:
    """What a noul is about."""
    instructions = _text(asked.instructions)
    names = _NAMED.findall(instructions)
    return " ".join(line for line in lines if any(name in line for name in names)) or instructions


def _lines(state: Json) -> Iterator[str]:
    """The texts of a state, however deep."""
    if isinstance(state, str):
        yield state
    elif isinstance(state, dict | list):
        for inner in state.values() if isinstance(state, dict) else state:
            yield from _lines(inner)


def _text(content: Json) -> str:
    if content is None:
        return ""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
