"""Actions that ask the person, and trees that run within a run, through the real window."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

from designer.canvas.chrome import Breadcrumb
from designer.running import RunState
from engine import ConditionNode, write_tree
from tests.builders import action, classify, condition, terminal, tree
from tests.journeys.driving import Driver, by_hand, until
from tests.journeys.test_debugging import answer, asked_at, paused_at
from tests.journeys.test_editing import key

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing)", extend=True)

KEY, SHIFT = Qt.Key, Qt.KeyboardModifier.ShiftModifier


def look(onward: str, **more: str) -> ConditionNode:
    """A look at the state, which leads on whatever it shows."""
    return condition("propertyExists", then=onward, otherwise=onward, parameters={"key": "x"}, **more)


DEEPEST = tree(last=look("yes", name="The last look"), yes=terminal("seen")).replace(tree_id="deepest")
INNER = tree(
    look=look("deeper", name="A look"),
    deeper=action("runDeepest", success="ask", name="Deeper still"),
    ask=classify("Is the inside fine?", {"yes": "good", "no": "bad"}, unknown="bad", name="Ask inside"),
    good=terminal("good"),
    bad=terminal("bad"),
).replace(tree_id="inner", name="The inner tree")
OUTER = tree(
    within=action("runInner", success="after", name="Within"),
    after=look("end", name="After"),
    end=terminal("end"),
)


def sub_tree(file: str) -> dict[str, object]:
    return {"kind": "subTree", "parameters": {"tree": file, "verdictProperty": "inside"}}


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A tree that runs a tree that runs a tree."""
    actions = {"runInner": sub_tree("inner.json"), "runDeepest": sub_tree("deepest.json")}
    (tmp_path / "treewright.json").write_text(json.dumps({"actions": actions}))
    for name, one in (("outer", OUTER), ("inner", INNER), ("deepest", DEEPEST)):
        (tmp_path / f"{name}.json").write_bytes(write_tree(one))
    return tmp_path / "outer.json"


def asking(folder: Path, **more: object) -> Path:
    """A tree that asks the person, and then ends by what was said."""
    ask = {"kind": "ask", "parameters": {"text": "Who goes there, {{name}}?", "property": "said", **more}}
    (folder / "treewright.json").write_text(
        json.dumps({"actions": {"who": ask}, "parameters": {"name": "x"}})
    )
    asked = tree(
        who=action("who", success="end", permanent="nobody"), end=terminal("end"), nobody=terminal("nobody")
    )
    (folder / "tree.json").write_bytes(write_tree(asked))
    return folder / "tree.json"


async def begin(person: Driver) -> None:
    person.window.run_command("run.start")
    await until(lambda: person.running.inquiry is not None)
    await person.show("run")


async def over(person: Driver) -> None:
    await until(lambda: person.running.state is RunState.ENDED)


def state(person: Driver) -> str:
    return person.seen(QLabel, "run.state").text()


def path(person: Driver) -> str:
    crumbs = person.window.findChild(Breadcrumb)
    assert crumbs is not None
    return crumbs.accessibleName().replace("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", ">")


async def inside(person: Driver, *nodes: str) -> None:
    """Paused within the node the run is at, at these nodes of the trees within each other."""
    await until(lambda: person.running.state is RunState.PAUSED)
    await until(lambda: tuple(level.node for level in person.running.inside) == nodes)


# ------------------------------------------------------------------------------------------ asking


def test_a_text_is_asked_for_and_written_and_thinking_costs_no_time(travel, tmp_path: Path):
    async def journey(person: Driver) -> None:
        await begin(person)
        assert state(person) == "Waiting for your answer at who."
        reply = person.seen(QLineEdit, "run.reply")
        before = person.running.latest.usage.duration
        for _ in range(30):
            await by_hand(lambda: None)
        assert person.running.latest.usage.duration == before
        await by_hand(lambda: (QTest.keyClicks(reply, "unknown"), QTest.keyClick(reply, KEY.Key_Return)))
        await over(person)
        assert person.result.verdict == "end"
        assert person.result.state_properties == {"said": "unknown"}

    travel(journey, asking(tmp_path))


def test_choices_have_keys_and_the_person_may_say_nothing(travel, tmp_path: Path):
    async def journey(person: Driver) -> None:
        await begin(person)
        assert not any(line.isVisible() for line in person.window.findChildren(QLineEdit, "run.reply"))
        await key(person, KEY.Key_2)
        await over(person)
        assert person.result.state_properties == {"said": "foe"}
        await begin(person)
        await key(person, KEY.Key_0)
        await over(person)
        assert person.result.verdict == "nobody"

    travel(journey, asking(tmp_path, choices=["friend", "foe"]))


def test_stopping_while_an_action_asks_ends_the_run(travel, tmp_path: Path):
    async def journey(person: Driver) -> None:
        await begin(person)
        await key(person, KEY.Key_F5, SHIFT)
        await over(person)
        assert person.result.outcome == "Cancelled"
        assert person.running.inquiry is None

    travel(journey, asking(tmp_path, choices=["friend", "foe"]))


def test_nothing_is_asked_in_the_past(travel, tmp_path: Path):
    path = asking(tmp_path, choices=["friend", "foe"])
    first = tree(
        look=look("who"),
        who=action("who", success="end"),
        end=terminal("end"),
    )
    path.write_bytes(write_tree(first))

    async def journey(person: Driver) -> None:
        await begin(person)
        person.window.run_command("run.back")
        await until(lambda: person.running.past)
        await until(
            lambda: not any(b.isVisible() for b in person.window.findChildren(QPushButton, "answer.foe"))
        )
        person.window.run_command("run.newest")
        await person.press("answer.foe")
        await over(person)
        assert person.result.state_properties == {"said": "foe"}

    travel(journey, path)


# ------------------------------------------------------------------------------------------ inside


def test_stepping_into_goes_through_the_trees_inside_and_says_where(travel, nested: Path):
    async def journey(person: Driver) -> None:
        await key(person, KEY.Key_F7)
        await paused_at(person, "within")
        assert person.running.inside == ()
        assert not person.window.run_command("run.step-out")
        await key(person, KEY.Key_F7)
        await inside(person, "look")
        assert person.running.at == "within"
        assert person.seen(QLabel, "timeline.words").text() == "Step 1 of 1, inside it"
        assert state(person).startswith(
            "Paused at Within: inside it the tree 'The inner tree' before 'A look'."
        )
        await key(person, KEY.Key_F7)
        await inside(person, "deeper")
        await key(person, KEY.Key_F7)
        await inside(person, "deeper", "last")
        assert state(person).startswith(
            "Paused at Within: inside it the tree 'The inner tree' at 'Deeper still', "
            "inside it the tree 'deepest' before 'The last look'."
        )
        assert path(person) == (
            "Path: Within > in The inner tree > A look > false > Deeper still > in deepest > The last look"
        )
        assert person.card("within").marks.words == "paused"
        await key(person, KEY.Key_F7, SHIFT)
        await inside(person, "ask")
        await key(person, KEY.Key_F10)
        await asked_at(person, "ask")
        assert state(person).endswith("at Within: inside it the tree 'The inner tree' at 'Ask inside'.")
        await answer(person, "ask", "yes")
        await inside(person, "good")
        await key(person, KEY.Key_F7, SHIFT)
        await paused_at(person, "after")
        assert person.running.inside == ()
        assert path(person) == "Path: Within > success > After"
        assert person.running.trail.properties["inside"] == "good"

    travel(journey, nested)


def test_a_step_over_a_node_passes_what_it_runs(travel, nested: Path):
    async def journey(person: Driver) -> None:
        await key(person, KEY.Key_F10)
        await paused_at(person, "within")
        await key(person, KEY.Key_F10)
        await answer(person, "ask", "no")
        await paused_at(person, "after")
        assert [visit.node for visit in person.running.trail.path] == ["within"]

    travel(journey, nested)


def test_the_next_question_is_found_inside_and_a_step_there_stays_in_its_tree(travel, nested: Path):
    async def journey(person: Driver) -> None:
        await key(person, KEY.Key_F7)
        await paused_at(person, "within")
        await key(person, KEY.Key_F7)
        await inside(person, "look")
        await key(person, KEY.Key_F10)
        await inside(person, "deeper")
        await key(person, KEY.Key_F10)
        await inside(person, "ask")
        assert person.window.run_command("run.back") is False
        assert person.window.message == "This is where the run began."

    travel(journey, nested)


def test_stop_and_breakpoints_work_while_the_run_is_inside(travel, nested: Path):
    async def journey(person: Driver) -> None:
        await person.select("after")
        assert person.window.run_command("run.breakpoint")
        for _ in range(2):
            await key(person, KEY.Key_F7)
            await until(lambda: person.running.state is RunState.PAUSED)
        await inside(person, "look")
        person.window.run_command("run.start")
        await answer(person, "ask", "yes")
        await paused_at(person, "after")
        assert "Breakpoint" in person.window.message
        person.window.run_command("run.start")
        await over(person)
        first = person.running.shown
        for _ in range(2):
            await key(person, KEY.Key_F7)
            await until(lambda: person.running.state is RunState.PAUSED)
        await inside(person, "look")
        await key(person, KEY.Key_F5, SHIFT)
        await over(person)
        assert person.result.outcome == "Cancelled"
        assert person.running.inside == ()
        assert first is not None
        person.running.show_run(first)
        person.window.run_command("run.back")
        assert person.running.past
        assert person.running.inside == ()

    travel(journey, nested)
