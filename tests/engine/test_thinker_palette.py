"""The rules of a palette, each with a palette that breaks it, and what a legal one tells."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from engine.agent import Artifact, DecisionTool, ListArtifact, PaletteError
from tests.engine.thinkers import Judge, Note, Split, Verdict, thinker

A = TypeVar("A", bound=Artifact)


@dataclass(frozen=True)
class Other(Artifact):
    alias: ClassVar[str] = "other"


@dataclass(frozen=True)
class Twin(Artifact):
    alias: ClassVar[str] = "note"


@dataclass(frozen=True)
class Nameless(Artifact):
    pass


class Special(Verdict):
    alias: ClassVar[str] = "special"


class Giving(DecisionTool[Note, A], Generic[A]):
    """A family of tools that take a note and give something."""

    description = "Gives something."

    async def run(self, artifact: Note, /) -> A:
        raise NotImplementedError


def problems(**palette: Any) -> list[str]:
    """What is wrong with a palette, each with its rule."""
    with pytest.raises(PaletteError) as refused:
        thinker(**palette)
    assert all(problem.severity == "error" for problem in refused.value.problems)
    assert all(problem.message in str(refused.value) for problem in refused.value.problems)
    return [f"{problem.code}: {problem.message}" for problem in refused.value.problems]


def test_p1_every_entry_is_a_tool():
    assert problems(palette=[Split, str]) == ["P1: Tool 'str': it is no DecisionTool."]
    assert problems(palette=[Split(None)])[0] == "P1: Tool 'Split': it is no DecisionTool."  # type: ignore[arg-type]


def test_p2_a_tool_takes_an_artifact():
    class Wrong(DecisionTool[str, Other]):  # type: ignore[type-var]
        name = "wrong"

        async def run(self, artifact, /):
            raise NotImplementedError

    assert problems(palette=[Wrong]) == [
        "P2: Tool 'Wrong': what it takes is no artifact: 'str' is no artifact."
    ]


def test_p2_a_type_left_open_is_named():
    class Bare(DecisionTool):  # type: ignore[type-arg]
        name = "bare"

        async def run(self, artifact, /):
            raise NotImplementedError

    class Below(Split):  # what extends a tool bare has the types of that tool
        name = "below"

    assert problems(palette=[Bare]) == [
        "P2: Tool 'Bare': what it takes is no artifact: 'Taken' is left open.",
        "P3: Tool 'Bare': what it gives is no artifact: 'Given' is left open.",
    ]
    assert thinker(palette=[Below]).palette_names == ("below", "judge")


def test_p3_a_tool_gives_an_artifact_and_so_are_the_elements_of_its_list():
    class Open(Giving[A]):
        name = "open"

    class Numbers(Giving[ListArtifact[int]]):  # type: ignore[type-var]
        name = "numbers"

    class Unsaid(Giving[ListArtifact]):  # type: ignore[type-arg]
        name = "unsaid"

    class Nested(Giving[ListArtifact[ListArtifact[Note]]]):
        name = "nested"

    assert problems(palette=[Open, Numbers, Unsaid, Nested]) == [
        "P3: Tool 'Open': what it gives is no artifact: 'A' is left open.",
        "P3: Tool 'Numbers': what it gives is no artifact: of its list, 'int' is no artifact.",
        "P3: Tool 'Unsaid': what it gives is no artifact: of its list, its elements are left open.",
        "P3: Tool 'Nested': what it gives is no artifact: a list of lists is not known.",
    ]


def test_a_family_of_tools_leaves_open_what_its_members_say():
    class Listing(DecisionTool[Note, ListArtifact[A]], Generic[A]):
        description = "Gives a list."

        async def run(self, artifact: Note, /) -> ListArtifact[A]:
            raise NotImplementedError

    class Verdicts(Listing[Verdict]):
        name = "verdicts"

    class Below(Verdicts):
        name = "below"

    made = thinker(palette=[Below], key=Verdicts)
    assert [entry.gives.words for entry in made.compiled.entries] == ["list of verdict"] * 2


def test_p4_the_key_tool_gives_a_list_of_exactly_the_answer_type():
    class Bare(Giving[Verdict]):
        name = "bare"

    class Narrow(Giving[ListArtifact[Special]]):
        name = "narrow"

    expected = "where a list of exactly Verdict is asked for."
    assert problems(key=Bare) == [f"P4: Tool 'Bare': it gives verdict, {expected}"]
    assert problems(key=Narrow) == [f"P4: Tool 'Narrow': it gives list of special, {expected}"]


@pytest.mark.parametrize("called", ["", "Split", "1st", "a-b"])
def test_p5_a_tool_has_a_name_of_small_letters(called):
    class Named(Split):
        name = called

    assert problems(palette=[Named]) == [
        f"P5: Tool 'Named': its name '{called}' is not small letters, digits and '_'."
    ]


def test_p6_every_type_has_an_alias_of_its_own():
    class ToTwin(Giving[Twin]):
        name = "to_twin"

    class ToNameless(Giving[ListArtifact[Nameless]]):
        name = "to_nameless"

    assert problems(palette=[ToTwin, ToNameless]) == [
        "P6: The types 'Note' and 'Twin' share the alias 'note'.",
        "P6: The type 'Nameless' has no alias.",
    ]


def test_p7_a_tool_is_made_from_its_parent_alone():
    class Greedy(Split):
        name = "greedy"

        def __init__(self, parent, folder):
            super().__init__(parent)

    class Modest(Split):
        name = "modest"

        def __init__(self, parent, folder="."):
            super().__init__(parent)

    assert problems(palette=[Greedy]) == ["P7: Tool 'Greedy': it cannot be made from its parent alone."]
    assert thinker(palette=[Modest]).palette_names == ("modest", "judge")


def test_p8_input_and_answer_are_artifacts():
    found = problems(takes=str, answers=int)
    assert found[:2] == [
        "P8: The input type 'str' is no artifact.",
        "P8: The answer type 'int' is no artifact.",
    ]


@pytest.mark.parametrize("called", ["finish", "next"])
def test_p9_names_differ_and_none_is_a_word_of_the_turns(called):
    class Again(Split):
        pass

    class Reserved(Split):
        name = called

    assert problems(palette=[Split, Again]) == ["P9: 2 tools are called 'split'."]
    assert problems(palette=[Reserved]) == [f"P9: No tool can be called '{called}'."]


def test_p10_a_tool_is_whole():
    class Half(DecisionTool[Note, Other]):
        name = "half"

        @abstractmethod
        def rest(self):
            raise NotImplementedError

        async def run(self, artifact: Note, /) -> Other:
            return Other()

    assert problems(palette=[Half]) == ["P10: Tool 'Half': it is abstract."]


def test_p11_annotations_agree_with_the_types():
    class Takes(DecisionTool[Note, Other]):
        name = "takes"

        async def run(self, artifact: Verdict, /) -> Other:  # type: ignore[override]
            return Other()

    class Gives(DecisionTool[Note, Other]):
        name = "gives"

        async def run(self, artifact: Note, /) -> Verdict:  # type: ignore[override]
            raise NotImplementedError

    class Unread(DecisionTool[Note, Other]):
        name = "unread"

        async def run(self, artifact: "NotThere", /) -> Other:  # type: ignore[name-defined]  # noqa: F821
            return Other()

    assert problems(palette=[Takes, Gives, Unread]) == [
        "P11: Tool 'Takes': 'run' takes something else than note.",
        "P11: Tool 'Gives': 'run' gives something else than other.",
        "P11: Tool 'Unread': the annotations of 'run' cannot be read.",
    ]


def test_p11_wider_input_and_narrower_output_agree():
    class Kind(DecisionTool[Note, ListArtifact[Verdict]]):
        name = "kind"

        async def run(self, artifact: Artifact, /) -> ListArtifact[Verdict]:
            raise NotImplementedError

    class Narrow(DecisionTool[Note, Verdict]):
        name = "narrow"

        async def run(self, artifact: object, /) -> Special:
            raise NotImplementedError

    assert thinker(palette=[Kind, Narrow]).palette_names == ("kind", "narrow", "judge")


def test_p12_the_key_tool_can_be_reached():
    class Late(DecisionTool[Other, ListArtifact[Verdict]]):
        name = "late"

        async def run(self, artifact: Other, /) -> ListArtifact[Verdict]:
            raise NotImplementedError

    assert problems(key=Late) == [
        "P12: Tool 'late': nothing leads from note to what it takes, so there is never an answer."
    ]


def test_p12_another_tool_that_cannot_be_reached_is_a_warning():
    class Idle(DecisionTool[Other, Twin]):
        name = "idle"

        async def run(self, artifact: Other, /) -> Twin:
            raise NotImplementedError

    class Apart(DecisionTool[Other, Other]):
        name = "apart"

        async def run(self, artifact: Other, /) -> Other:
            raise NotImplementedError

    made = thinker(palette=[Split, Apart])
    (warning,) = made.compiled.warnings
    assert (warning.code, warning.severity, warning.node) == ("P12", "warning", "apart")
    assert made.compiled.unreachable == ("apart",)
    assert problems(palette=[Idle]) == ["P6: The types 'Note' and 'Twin' share the alias 'note'."]


def test_all_that_is_wrong_is_told_at_once():
    class Wrong(DecisionTool[Note, str]):  # type: ignore[type-var]
        name = "Wrong"

        def __init__(self):
            raise NotImplementedError

    found = problems(palette=[Wrong, str, Split, Split], key=Split)
    assert [problem.partition(":")[0] for problem in found] == ["P5", "P10", "P7", "P3", "P1", "P4", "P9"]


def test_a_palette_tells_what_leads_to_what():
    flow = thinker().compiled.flow
    assert set(flow) == {
        (("type", "note"), ("tool", "split")),
        (("tool", "split"), ("type", "list of note")),
        (("type", "list of note"), ("type", "note")),
        (("type", "note"), ("tool", "judge")),
        (("tool", "judge"), ("type", "list of verdict")),
        (("type", "list of verdict"), ("type", "verdict")),
    }


def test_an_agent_is_told_of_without_a_run():
    assert thinker().capabilities().as_json() == {
        "objective": "Find what is said of alpha.",
        "takes": "note",
        "answers": "verdict",
        "tools": [
            {
                "name": "split",
                "description": "Splits a note at its semicolons.",
                "takes": "note",
                "produces": "list",
                "producesOf": "note",
            },
            {
                "name": "judge",
                "description": "Judges a note.",
                "takes": "note",
                "produces": "list",
                "producesOf": "verdict",
            },
        ],
    }
    assert Judge.llm_calls == (0, 0)
