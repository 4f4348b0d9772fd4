"""Plain words for what the engine reports: problems of a tree, and how a run ended.

The engine speaks of members and codes, as its command line and other programs need it. A person reads the
sentences of this table instead; what it does not know is shown as the engine says it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from designer.document.names import kind_name, label_of
from engine import UNKNOWN, AnyNode, ClassifyNode, Problem, RunResult, Tree
from engine.counting import counted

_Telling: TypeAlias = Callable[["_Place"], str]

_LIMITS: Final = {
    "nodeVisits": "the limit of node visits",
    "llmCalls": "the limit of LLM calls",
    "elapsedTime": "the time limit",
}
_BEGINNING: Final = frozenset({"nodes-empty", "start-missing"})
"""What is true of every tree that has just been begun, and no fault of anybody."""


def in_plain_words(problems: Iterable[Problem], tree: Tree) -> tuple[Problem, ...]:
    """The problems of this tree with messages for people; that it is still empty is none."""
    begun = frozenset() if tree.nodes else _BEGINNING
    return tuple(_told(problem, tree) for problem in problems if problem.code not in begun)


def ending(result: RunResult) -> str:
    """How a run ended, why, and with which verdict, in one or two sentences."""
    match result.outcome:
        case "Terminal":
            return f"Ended with the verdict {result.verdict}."
        case "Unknown":
            return f"Ended with the verdict {result.verdict}, after a question that got no allowed answer."
        case "BudgetExhausted":
            return f"Stopped by {_LIMITS.get(result.exceeded or '', 'the budget')}, before a verdict."
        case "Cancelled":
            return "Stopped before a verdict, as you asked."
        case _ if result.failure_kind == "llm":
            error = result.error or ""
            return " ".join(filter(None, ("Stopped: the model could not be asked.", error, remedy(error))))
        case _:
            return f"Stopped: {result.error or result.outcome}"


def unused(code: str) -> str:
    """Why a reply of a model could not be used; a code nobody knows is shown as it is."""
    return _UNUSED.get(code, code)


_UNUSED: Final = {
    "empty": "it is empty",
    "not_json": "it is no JSON",
    "leading_text": "there is text before the JSON object",
    "trailing_text": "there is text after the JSON object",
    "two_values": "there is more than one JSON object",
    "too_deep": "it is nested too deep",
    "duplicate_key": "a member is there twice",
    "root_not_object": "it is no JSON object",
    "answer_missing": "it has no answer",
    "answer_not_string": "its answer is no text",
    "not_allowed": "its answer is none of the allowed ones",
    "truncated": "it was cut off at its limit",
    "refused": "the model refused",
    "filtered": "the provider held it back",
    "pinned": "unknown is pinned",
}


def remedy(error: str) -> str:
    """What can be done about a model that could not be asked, given what was said of it; may be empty."""
    return next((words for pattern, words in _REMEDIES.items() if re.search(pattern, error)), "")


_REMEDIES: Final = {
    r"holds a key": "Set the variable and start Treewright from there, or put the key into your keyring.",
    r"HTTP 40[13]|key was not accepted|header is not valid": "Check the key, and that it fits this address.",
    r"HTTP 402|insufficient_quota|billing": "See to the account the key belongs to.",
    r"HTTP 404": "Check the address and the name of the model.",
    r"HTTP 3\d\d": "Give the address this one leads to.",
    r"HTTP 413|context_length|context_size": "Ask for less at once, or choose a model that reads more.",
    r"HTTP 429|too many requests": "Wait a moment, or name another model to ask when this one fails.",
    r"HTTP (408|425|5\d\d)|overloaded": "Try again later, or name another model to ask when this one fails.",
    r"HTTP 4\d\d": "Check the kind of model and its name.",
    r"could not be reached": "Check the address, and that the server runs and can be reached from here.",
    r"within [\d.]+ s|in time|fell silent": "Try again, or choose a model that answers sooner.",
    r"JSON|no HTTP|without an answer|cannot be read": "Check the kind of model and its address.",
    r"was lost|cut off|before it was complete": "Try again.",
    r"where it is and what it is called": "Do so under Run, Model, or in the project file.",
}
"""By the engine's words, in the order they are looked for."""


class _Place:
    """A problem with what stands at its place."""

    def __init__(self, problem: Problem, tree: Tree) -> None:
        self.problem = problem
        self.node: AnyNode | None = tree.nodes.get(problem.node or "")
        self.path = [part.replace("~1", "/").replace("~0", "~") for part in problem.pointer.split("/")[1:]]
        self.end = self.path[-1] if self.path else ""

    @property
    def answer(self) -> str:
        """The answer the problem is about."""
        answers = self.node.answers or () if isinstance(self.node, ClassifyNode) else ()
        return answers[int(self.end)] if self.end.isdecimal() and int(self.end) < len(answers) else ""

    @property
    def branch(self) -> str:
        """The label of the transition the problem is about."""
        number = next((int(part) for part in self.path[3:4] if part.isdecimal()), -1)
        drawn = self.node.transitions if self.node else ()
        return drawn[number].condition if 0 <= number < len(drawn) else ""

    @property
    def target(self) -> str:
        """Where that transition leads."""
        drawn = self.node.transitions if self.node else ()
        return next((t.next_node_id for t in drawn if t.condition == self.branch), "")

    @property
    def numbers(self) -> list[str]:
        """The numbers of the engine's message, in its order."""
        return re.findall(r"\d+", self.problem.message)


def _told(problem: Problem, tree: Tree) -> Problem:
    telling = _SENTENCES.get(problem.code)
    if telling is None:
        return problem
    return replace(problem, message=telling if isinstance(telling, str) else telling(_Place(problem, tree)))


def _branches(at: _Place) -> str:
    if at.node is None:
        return at.problem.message
    branches, drawn = at.node.branches(), [t.condition for t in at.node.transitions]
    loose = [branch for branch in dict.fromkeys(branches) if branch not in drawn]
    stray = [label for label in dict.fromkeys(drawn) if label not in branches]
    owner = "answer" if isinstance(at.node, ClassifyNode) else "result"
    sentences = (
        f"Nothing follows {_listed(loose)} yet." if loose else "",
        f"{_listed(stray)} {'belongs' if len(stray) == 1 else 'belong'} to no {owner}." if stray else "",
    )
    return " ".join(filter(None, sentences)) or at.problem.message


def _listed(words: Sequence[str]) -> str:
    *first, last = (f"'{word}'" for word in words)
    return f"{', '.join(first)} and {last}" if first else last


def _misfit(at: _Place) -> str:
    reason = at.problem.message.rpartition(f" of node '{at.problem.node}' ")[2]
    return f"{label_of(at.path[3])} {reason}" if at.path[3:] else f"What the predicate is given {reason}"


def _out(at: _Place) -> str:
    visits, calls, *_ = at.numbers
    ends = at.problem.message.partition("no run ends at ")[2]
    allowed = f"{counted(int(visits), 'node visit')} and {counted(int(calls), 'LLM call')}"
    return f"With {allowed} no run ends at {ends}"


def _calls(at: _Place) -> str:
    limit, *asks = at.numbers
    questions = f"{asks[0]} questions or more" if asks else "a question"
    return f"One way asks {questions}, each up to twice, and the limit is {counted(int(limit), 'LLM call')}."


_SENTENCES: Final[dict[str, str | _Telling]] = {
    "action-key-missing": "Choose an action.",
    "action-unknown": lambda at: f"There is no action '{getattr(at.node, 'action_key', '')}' here.",
    "answer-like-unknown": lambda at: f"'{at.answer}' reads like the branch '{UNKNOWN}', always there.",
    "answer-reserved": f"The branch '{UNKNOWN}' is always there and is no answer of its own.",
    "answer-spaces": lambda at: f"'{at.answer}' begins or ends with a blank, so no reply can match it.",
    "answers-alike": lambda at: f"'{at.answer}' cannot be told from an answer before it.",
    "answers-duplicate": lambda at: f"'{at.answer}' is an answer twice.",
    "answers-missing": lambda at: "An answer is empty." if at.end.isdecimal() else "Add at least one answer.",
    "budget-calls-tight": _calls,
    "budget-calls-zero": "No LLM calls are allowed, so a run ends at the first question.",
    "budget-context-short": lambda at: (
        f"A prompt may have {at.numbers[0]} tokens; that of a question takes {at.numbers[-1]} at least."
    ),
    "budget-invalid": "A limit must be more than nothing; only LLM calls may be 0.",
    "budget-terminals-out": _out,
    "budget-visits-short": lambda at: (
        f"The shortest way to an end visits {at.numbers[1]} nodes, and the limit is {at.numbers[0]}."
    ),
    "cycle-bounded": "A circle begins here that only the budget ends.",
    "description-blank": "The description holds only blanks.",
    "field-forbidden": lambda at: (
        f"{label_of(at.end)} is no field of this kind ({kind_name(at.node.type if at.node else None)})."
    ),
    "member-unknown": lambda at: f"The field '{at.end}' is not known here; it is kept and ignored.",
    "name-blank": "The name holds only blanks.",
    "no-terminal-path": "No way from here leads to an end.",
    "node-description-blank": "The description holds only blanks.",
    "node-id-blank": "A node needs an id.",
    "node-name-blank": "The name holds only blanks.",
    "nodes-empty": "No nodes yet.",
    "predicate-key-missing": "Choose a predicate.",
    "predicate-parameter-missing": lambda at: f"{label_of(at.end)} is still to be given.",
    "predicate-parameter-type": _misfit,
    "predicate-parameter-unknown": lambda at: f"The predicate takes no parameter '{at.end}'.",
    "predicate-unknown": lambda at: f"There is no predicate '{getattr(at.node, 'predicate_key', '')}' here.",
    "retry-hot-loop": "A failure for now leads straight back here, with no pause in between.",
    "start-missing": "No node to start at yet.",
    "start-unknown": "The node to start at is not there.",
    "target-missing": lambda at: f"'{at.branch}' leads to '{at.target}', which is not there.",
    "task-missing": "Write what is asked.",
    "terminal-transitions": "A terminal ends the run and leads nowhere.",
    "transition-duplicate": lambda at: f"Two branches are called '{at.branch}'.",
    "transition-invalid": "A branch has no label, or leads to nothing.",
    "transitions-incomplete": _branches,
    "tree-id-missing": "The tree needs an id.",
    "type-unsupported": "This kind of node is not known here.",
    "unreachable": "No way from the start leads here.",
    "verdict-missing": "Write the verdict.",
    "verdict-repeated": lambda at: f"Several terminals give the verdict '{getattr(at.node, 'verdict', '')}'.",
    "version-invalid": "The version must be 1 or more.",
}
"""For each code of a problem the sentence, or what makes it."""
