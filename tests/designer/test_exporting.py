"""The table of forms: what each is made of, and which is refused."""

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from designer import theme
from designer.canvas.overlay import Overlay
from designer.document.draft import Draft, Note, Place
from designer.exporting import FORMS, ExportFailed, Subject, badges, make
from engine import Tree, TreeInvalid, check, standard_catalog, write_tree
from tests.designer.drafts import triage
from tests.designer.waiting import until

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


# -- aside


def many(count: int = 30) -> Draft:
    """More nodes than are drawn at once."""
    nodes = {f"n{number}": SOUND.tree.nodes["good"] for number in range(count)}
    places = {node_id: Place(number * 300, 0) for number, node_id in enumerate(nodes)}
    return Draft(SOUND.tree.replace(nodes={**SOUND.tree.nodes, **nodes}), {**SOUND.places, **places})


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "html"])
def test_another_process_makes_the_same_bytes(aloop, suffix):
    draft, catalog = many(), standard_catalog()
    seen = badges(check(draft.tree, catalog))
    overlay = replace(seen, visits={"load": 7}, taken=frozenset({("load", "success")}), current="good")
    subject = Subject(draft, catalog, check(draft.tree, catalog), overlay, theme.DARK)
    assert aloop.run_until_complete(make(subject, suffix)) == FORMS[suffix].write(subject)


def test_a_process_that_fails_gives_nothing_and_one_sentence(aloop, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(ExportFailed, match="Something went wrong"):
        aloop.run_until_complete(make(Subject(many()), "svg"))


def test_a_process_that_cannot_be_started_gives_nothing_and_one_sentence(aloop, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(ExportFailed):
        aloop.run_until_complete(make(Subject(many()), "svg"))


def is_gone(said: Path) -> bool:
    return not Path("/proc", said.read_text().strip()).exists()


def test_a_cancelled_export_leaves_no_process(aloop, monkeypatch, tmp_path):
    started, stub = tmp_path / "started", tmp_path / "forever"
    stub.write_text(f"#!/bin/sh\necho $$ > {started}.new; mv {started}.new {started}; exec sleep 1000\n")
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))

    async def cancel() -> None:
        task = asyncio.ensure_future(make(Subject(many()), "svg"))
        await until(started.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_gone(started)

    aloop.run_until_complete(cancel())
