import pytest

from engine.conversation import (
    RETRY,
    SYSTEM_PROMPT,
    SlidingConversation,
    build_context,
    context_exceeded,
    estimate_tokens,
)
from engine.data import DataItem, DataSnapshot
from engine.llm import Message
from engine.tree import ClassifyNode, Tree


def sized(role: str, characters: int) -> Message:
    """A message that counts this many characters in all."""
    assert role in ("system", "user", "assistant")
    return Message(role, "x" * (characters - len(role) - 4))  # type: ignore[arg-type]


def conversation(*messages: Message) -> SlidingConversation:
    made = SlidingConversation()
    made.add(*messages)
    return made


def context(tree: Tree | None = None, node: ClassifyNode | None = None, **known: object) -> list[str]:
    messages = build_context(
        tree or Tree(task="Handle {{what}}."),
        node or ClassifyNode(task="Is {{what}} fine?", answers=("yes", "no")),
        known.get("properties", {}),  # type: ignore[arg-type]
        known.get("data", DataSnapshot()),  # type: ignore[arg-type]
        {"what": "it {{what}}"},
    )
    assert [m.role for m in messages] == ["system", "user"]
    return [messages[0].content, *messages[1].content.split("\n")]


def test_tokens_are_a_quarter_of_all_characters_rounded_down_once():
    assert estimate_tokens([sized("user", 11), sized("user", 10), sized("system", 14)]) == 35 // 4
    assert estimate_tokens([Message("user", "😀" * 4)]) == (4 + 4 + 4) // 4
    assert estimate_tokens([]) == 0


def test_what_fits_is_carried_whole():
    messages = [sized("system", 200), sized("user", 203)]
    prepared = conversation(*messages).prepare(100)
    assert list(map(id, prepared.messages)) == list(map(id, messages))
    assert (prepared.tokens, prepared.dropped) == (100, 0)


def test_the_newest_messages_that_fit_are_carried_after_the_first_system_message():
    system, old, newer, newest = (
        sized("system", 100),
        sized("user", 200),
        sized("user", 150),
        sized("user", 150),
    )
    prepared = conversation(system, old, newer, newest).prepare(100)
    assert list(prepared.messages) == [system, newer, newest]
    assert (prepared.tokens, prepared.dropped) == (100, 1)


def test_the_walk_stops_at_the_first_message_that_does_not_fit():
    small, large, newest = sized("user", 20), sized("user", 400), sized("user", 100)
    prepared = conversation(small, large, newest).prepare(100)
    assert list(prepared.messages) == [newest]
    assert prepared.dropped == 2


def test_a_first_system_message_is_carried_even_when_too_long_and_a_later_one_is_not():
    first, later, newest = sized("system", 600), sized("system", 300), sized("user", 20)
    assert list(conversation(first, newest).prepare(100).messages) == [first]
    last = sized("user", 200)
    assert list(conversation(newest, later, last).prepare(100).messages) == [last]


def test_the_second_attempt_of_the_reference_case_fits_a_hundred_tokens():
    system, ask = Message("system", SYSTEM_PROMPT), sized("user", 101)
    again = (Message("system", SYSTEM_PROMPT), sized("user", 101))
    talk = conversation(system, ask, Message("assistant", "not-json"), Message("user", RETRY), *again)
    assert list(talk.prepare(100).messages) == [system, *again]


def test_our_prompts_are_as_long_as_those_the_reference_cases_are_computed_with():
    assert (len(SYSTEM_PROMPT), len(RETRY)) == (121, 51)


def test_two_messages_of_the_same_words_are_two_messages():
    assert Message("user", "same") != Message("user", "same")


def test_an_empty_conversation_has_nothing_to_send():
    assert list(SlidingConversation().prepare(1).messages) == []


def test_messages_cannot_be_changed_from_outside():
    talk = conversation(sized("user", 20))
    assert isinstance(talk.messages(), tuple)


def test_the_text_of_a_passed_context_names_the_limit():
    assert "(100)" in context_exceeded(100)
    assert "required user input was omitted" in context_exceeded(100)


def test_a_question_is_five_labelled_lines_with_parameters_filled_in_once():
    assert context() == [
        SYSTEM_PROMPT,
        "Task: Handle it {{what}}.",
        "Classification task: Is it {{what}} fine?",
        "Allowed answers: yes, no",
        "State: none",
        "Data: none",
    ]


@pytest.mark.parametrize("task", [None, "", "  "])
def test_a_missing_task_is_said_to_be_missing(task):
    assert context(Tree(task=task))[1] == "Task: (not supplied)"


def test_the_trees_system_prompt_is_used_as_it_is():
    assert context(Tree(system_prompt="Mind {{what}}."))[0] == "Mind {{what}}."
    assert context(Tree(system_prompt=" "))[0] == SYSTEM_PROMPT


def test_state_is_shown_in_the_order_it_was_set():
    assert context(properties={"b": "two", "a": None, "c": 5})[4] == "State: b=two, a=null, c=5"


def test_long_state_is_cut():
    line = context(properties={"k": "v" * 5000})[4]
    assert line.startswith("State: k=vvv")
    assert line.endswith("v[value truncated]")
    assert len(line) == len("State: k=") + 1000


def test_much_state_is_left_out_and_counted():
    line = context(properties={f"k{n}": "v" for n in range(60)})[4]
    assert line.endswith("k49=v, [10 more omitted]")


def test_data_is_shown_with_id_type_and_source_as_bounded():
    items = (
        DataItem(id="1", source="mail", type="letter", content="Dear", metadata={"m": "hidden"}),
        DataItem(id="long", source="s", type="t", content="You", display_id="lo[id truncated]"),
    )
    assert (
        context(data=DataSnapshot(items))[5]
        == "Data: 1 [letter] from mail: Dear, lo[id truncated] [t] from s: You"
    )
