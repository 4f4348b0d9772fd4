"""Putting problems right in a document: one step each, and undo brings every byte back."""

from hypothesis import HealthCheck, given, settings

from designer.app import put_away
from designer.document import edits
from designer.document.document import Document
from designer.document.draft import Draft, Place
from designer.document.files import design_bytes
from designer.mending import may_be_mended, mend, mend_all, ways_of
from engine import Tree, check, fixes, write_tree
from tests.designer.drafts import triage
from tests.engine.test_fixing import damaged


def bytes_of(draft: Draft) -> tuple[bytes, bytes]:
    return write_tree(draft.tree), design_bytes(draft)


def drawn(tree: Tree) -> Draft:
    return Draft(tree, {node_id: Place(330 * n, 0) for n, node_id in enumerate(tree.nodes)})


@given(damaged())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_fix_is_one_step_that_gives_each_node_a_place_and_undo_takes_it_back(qapp, tree: Tree):
    document = Document(drawn(tree))
    before = bytes_of(document.draft)
    for problem in check(tree):
        ways = fixes(document.draft.tree, problem)
        assert not ways or may_be_mended(problem)
        for way in ways:
            assert mend(document, way, document.draft.tree)
            assert document.draft.places.keys() == document.draft.tree.nodes.keys()
            assert document.undo_stack.undoText() == way.title
            document.undo()
            assert bytes_of(document.draft) == before
    document.deleteLater()
    put_away()


def test_new_nodes_stand_beside_the_one_that_leads_to_them_and_on_no_other():
    draft = edits.disconnect(edits.disconnect(triage(), "ask", "yes"), "known", "true")
    for _ in range(2):
        problem = next(p for p in check(draft.tree) if p.code == "transitions-incomplete")
        draft = edits.mend(draft, fixes(draft.tree, problem)[0].tree)
    ask, first = draft.places["ask"], draft.places["undecided"]
    assert (first.x, first.y) != (ask.x, ask.y)
    assert first.x == ask.x + 330
    assert len(set(draft.places.values())) == len(draft.places)


def test_a_way_for_another_tree_changes_nothing(qapp):
    document = Document(edits.disconnect(triage(), "ask", "yes"))
    tree = document.draft.tree
    problem = next(p for p in check(tree) if p.code == "transitions-incomplete")
    (way,) = fixes(tree, problem)
    document.edit("Go on", lambda draft: edits.set_field(draft, "ask", "name", "Other"))
    assert not mend(document, way, tree)
    assert document.draft.tree.nodes["ask"].name == "Other"
    document.deleteLater()


def test_all_of_one_kind_are_one_step(aloop):
    draft = triage()
    for node in ("ask", "known"):
        draft = edits.set_field(draft, node, "name", " ")
    document = Document(draft)

    async def story() -> None:
        assert await mend_all(document, "node-name-blank")
        assert "node-name-blank" not in {p.code for p in check(document.draft.tree)}
        document.undo()
        assert document.draft is draft
        assert not await mend_all(document, "version-invalid")
        problem = next(p for p in check(draft.tree) if p.code == "node-name-blank")
        assert [way.title for way in await ways_of(document, problem)] == ["Remove the empty name"]

    aloop.run_until_complete(story())
    document.deleteLater()
