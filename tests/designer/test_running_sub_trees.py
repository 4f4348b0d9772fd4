"""Runs of trees that run other trees: what is chosen for a node is for its own tree alone."""

import asyncio
from pathlib import Path

from designer.document.document import Document
from designer.running import RunState, pinned
from designer.tasks import cancel_all
from designer.workbench import Workbench
from engine import write_tree
from tests.builders import action, as_bytes, classify, terminal, tree
from tests.designer.waiting import until

INNER = tree(
    ask=classify("Is the inside fine?", {"yes": "good", "no": "bad"}, unknown="bad"),
    good=terminal("good"),
    bad=terminal("bad"),
).replace(tree_id="inner")
OUTER = tree(
    ask=classify("Is the outside fine?", {"yes": "within", "no": "end"}, unknown="end"),
    within=action("within", success="end"),
    end=terminal("end"),
)


def test_an_answer_that_is_pinned_is_not_that_of_another_trees_node_of_the_same_name(
    bench: Workbench, aloop: asyncio.AbstractEventLoop, tmp_path: Path
):
    within = {"kind": "subTree", "parameters": {"tree": "inner.json", "verdictProperty": "inside"}}
    (tmp_path / "treewright.json").write_bytes(as_bytes({"actions": {"within": within}}))
    (tmp_path / "inner.json").write_bytes(write_tree(INNER))
    (tmp_path / "outer.json").write_bytes(write_tree(OUTER))
    document = Document.open(tmp_path / "outer.json")
    assert isinstance(document, Document)
    bench.add(document)
    running = bench.running
    running.choose_source(document, "ask", pinned("yes"))

    async def asked_inside() -> None:
        await until(lambda: running.state is RunState.ASKING)
        assert running.question is not None
        assert running.question.text == "Is the inside fine?"
        running.answer("no")
        await until(lambda: running.state is RunState.ENDED)
        assert running.trail.properties["inside"] == "bad"

    async def story() -> None:
        running.start(document)
        await asked_inside()
        running.fork(0, properties={"who": "Ada"})
        await asked_inside()
        await running.ended()
        await cancel_all()

    aloop.run_until_complete(story())
