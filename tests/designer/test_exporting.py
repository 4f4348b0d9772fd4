"""The table of forms: what each is made of, and which is refused."""

import pytest

from designer import theme
from designer.canvas.overlay import Overlay
from designer.document.draft import Draft, Note, Place
from designer.exporting import FORMS, Subject
from engine import Tree, TreeInvalid, check, standard_catalog, write_tree
from tests.designer.drafts import triage

pytestmark = pytest.mark.usefixtures("qapp")

SOUND = triage()
BEGINS = {
    "json": b"{",
    "html": b"<!DOCTYPE html>",
    "pdf": b"%PDF",
    "svg": b"<?xml",
    "png": b"\x89PNG",
    "mmd": b"---",
    "dot": b"digraph",
}


def broken() -> Draft:
    nodes = dict(SOUND.tree.nodes)
    del nodes["good"]
    return Draft(SOUND.tree.replace(nodes=nodes), SOUND.places)


def test_every_form_is_known_by_its_suffix_and_has_a_title():
    assert FORMS.keys() == BEGINS.keys()
    assert all(form.title for form in FORMS.values())


@pytest.mark.parametrize("suffix", BEGINS)
def test_a_sound_tree_can_be_exported_as_everything(suffix):
    assert FORMS[suffix].write(Subject(SOUND)).startswith(BEGINS[suffix])


def test_the_tree_for_other_programs_is_the_canonical_file_and_is_refused_with_errors():
    assert FORMS["json"].write(Subject(SOUND)) == write_tree(SOUND.tree)
    with pytest.raises(TreeInvalid):
        FORMS["json"].write(Subject(broken()))


@pytest.mark.parametrize("suffix", [suffix for suffix in BEGINS if suffix != "json"])
def test_an_unfinished_tree_can_be_shown(suffix):
    draft = broken()
    assert FORMS[suffix].write(Subject(draft, problems=check(draft.tree))).startswith(BEGINS[suffix])


def test_a_report_holds_picture_texts_notes_problems_and_bounds():
    notes = {"n": Note(Place(0, 400), 200, 90, "Ask Mina <b>first</b>.")}
    draft = Draft(SOUND.tree, SOUND.places, notes=notes)
    report = FORMS["html"].write(Subject(draft, standard_catalog(), check(draft.tree))).decode()
    assert report.count("<svg ") == 1
    assert "Is it fine?" in report
    assert "Ask Mina &lt;b&gt;first&lt;/b&gt;." in report
    assert "action-unknown" in report
    assert "Within the limits" in report
    assert '<a href="#node-1" tabindex="-1">' in report


def test_what_runs_of_an_unfinished_tree_cost_is_not_told():
    draft = broken()
    report = FORMS["html"].write(Subject(draft, problems=check(draft.tree))).decode()
    assert "Within the limits" not in report
    assert "target-missing" in report


def test_a_picture_has_the_marks_colours_and_size_that_were_asked_for():
    visited = Overlay(visits={"load": 7})
    svg = FORMS["svg"].write(Subject(SOUND, overlay=visited, tokens=theme.DARK, scale=2)).decode()
    assert ">7</text>" in svg
    assert theme.DARK.canvas.lower() in svg
    plain = FORMS["svg"].write(Subject(SOUND)).decode()
    assert _width(svg) > 1.9 * _width(plain)


def _width(svg: str) -> float:
    return float(svg.partition('width="')[2].partition('"')[0])


def test_an_empty_tree_can_be_shown():
    for suffix in BEGINS.keys() - {"json"}:
        assert FORMS[suffix].write(Subject(Draft(Tree())))
