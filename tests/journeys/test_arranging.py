"""Laying a tree out in the window, finding it again as one left it, and taking a picture of it along."""

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtPrintSupport import QPrinter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from designer import arranging, dialogs
from designer.document import design, layout
from designer.document.design import Viewpoint
from designer.document.draft import Draft, Place
from engine import ClassifyNode, Transition, Tree, write_tree
from tests.designer.drafts import triage
from tests.journeys.driving import Driver, until


def scattered(draft: Draft) -> Draft:
    return replace(draft, places=dict.fromkeys(draft.tree.nodes, Place(5, 5)))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "triage.json"
    path.write_bytes(write_tree(triage().tree))
    return path


def test_the_whole_tree_is_laid_out_as_one_step_around_pinned_nodes(travel, path):
    async def journey(person: Driver) -> None:
        document, run = person.document, person.window.run_command
        document.edit("Scatter", scattered)
        document.select({"good"})
        assert run("edit.pin")
        await until(lambda: person.window.canvas.scene().marks("good").pinned)
        steps = document.undo_stack.count()
        document.select(())
        assert run("edit.layout")
        places = document.draft.places
        assert places["good"] == Place(5, 5)
        assert len(set(places.values())) == len(places)
        assert run("edit.layout")
        assert document.undo_stack.count() == steps + 1
        document.undo()
        assert set(document.draft.places.values()) == {Place(5, 5)}

    travel(journey, path)


def test_a_selection_is_laid_out_and_the_others_stay(travel, path):
    async def journey(person: Driver) -> None:
        document, run = person.document, person.window.run_command
        before = document.draft.places
        document.edit(
            "Scatter", lambda d: replace(d, places={**before, "good": Place(7, 999), "bad": Place(7, 999)})
        )
        document.select({"good", "bad"})
        assert run("edit.layout-selection")
        places = document.draft.places
        assert {i: places[i] for i in ("load", "ask", "known")} == {
            i: before[i] for i in ("load", "ask", "known")
        }
        assert places["good"] != places["bad"]
        assert places["good"].y >= 990

    travel(journey, path)


def test_a_tree_that_grows_downwards_does_so_again_after_it_was_stored(travel, path):
    async def journey(person: Driver) -> None:
        assert person.window.run_command("edit.grow-down")
        places = person.document.draft.places
        assert places["load"].y < places["ask"].y < places["known"].y
        assert person.window.canvas.scene().branches["load", "success"].route.points[-2].y < places["ask"].y
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)

    async def later(person: Driver) -> None:
        assert design.direction(person.document.draft) == "down"
        person.document.undo()

    travel(journey, path)
    assert json.loads(path.with_name("triage.design.json").read_text())["direction"] == "down"
    travel(later, path)


def large(nodes: int) -> Tree:
    return Tree(
        tree_id="large",
        version=1,
        start_node_id="n0",
        nodes={
            f"n{i}": ClassifyNode(
                task="?",
                answers=("yes", "no"),
                transitions=tuple(
                    Transition(condition=c, next_node_id=f"n{2 * i + k}")
                    for k, c in enumerate(("yes", "no"), start=1)
                    if 2 * i + k < nodes
                ),
            )
            for i in range(nodes)
        },
    )


def test_a_large_tree_is_laid_out_beside_the_window(travel, tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(write_tree(large(700)))

    async def journey(person: Driver) -> None:
        document, window = person.document, person.window
        tidy = document.draft.places
        document.edit("Scatter", scattered)
        assert window.run_command("edit.layout")
        assert window.arranging.busy
        assert set(document.draft.places.values()) == {Place(5, 5)}
        assert window.run_command("edit.layout")
        assert "already" in window.message
        await until(lambda: not window.arranging.busy)
        assert document.draft.places == tidy
        document.undo()
        assert set(document.draft.places.values()) == {Place(5, 5)}

    travel(journey, path)


def test_a_layout_that_takes_long_says_how_far_it_is_and_can_be_called_off(travel, tmp_path, monkeypatch):
    path = tmp_path / "large.json"
    path.write_bytes(write_tree(large(700)))
    monkeypatch.setattr(arranging, "_PATIENCE", 0.01)
    monkeypatch.setattr(arranging, "_PULSE", 0.01)

    def endless(*_: object, progress: layout.Progress, **__: object) -> None:
        while True:
            progress(0.25)

    async def journey(person: Driver) -> None:
        document, window = person.document, person.window
        before = document.draft.places
        monkeypatch.setattr(layout, "arrange", endless)
        window.run_command("edit.layout")
        progress = window.canvas.progress
        await until(progress.isVisible)
        await until(lambda: progress.accessibleName() == "Laying out: 25 %")
        QTest.mouseClick(person.seen(QPushButton, "canvas.progress.cancel"), Qt.MouseButton.LeftButton)
        await until(lambda: not window.arranging.busy)
        assert not progress.isVisible()
        assert "Nothing was moved" in window.message
        assert document.draft.places is before

    travel(journey, path)


def test_a_layout_of_a_tree_that_was_changed_meanwhile_moves_nothing(travel, tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(write_tree(large(700)))

    async def journey(person: Driver) -> None:
        document, window = person.document, person.window
        document.edit("Scatter", scattered)
        window.run_command("edit.layout")
        document.select({"n699"})
        window.run_command("edit.delete")
        await until(lambda: not window.arranging.busy)
        assert "changed meanwhile" in window.message
        assert set(document.draft.places.values()) == {Place(5, 5)}

    travel(journey, path)


def test_what_was_looked_at_is_looked_at_again_and_looking_is_no_change(travel, path):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        await until(lambda: canvas.zoom > 0.5)
        canvas.look_from(Viewpoint(700, 100, 1.3))
        assert person.document.clean
        person.window.run_command("file.save")
        assert not path.with_name("triage.design.json").exists()
        person.document.select({"ask"})
        canvas.look_from(Viewpoint(700, 100, 1.3))
        person.window.run_command("edit.pin")
        person.window.run_command("file.save")
        await until(lambda: person.document.clean)

    async def later(person: Driver) -> None:
        canvas = person.window.canvas
        await until(lambda: canvas.viewpoint == pytest.approx((700, 100, 1.3), abs=2))
        assert person.document.clean

    travel(journey, path)
    travel(later, path)


def test_each_document_keeps_its_view_while_another_is_shown(travel, path):
    async def journey(person: Driver) -> None:
        window, canvas = person.window, person.window.canvas
        await until(lambda: canvas.zoom > 0.5)
        canvas.look_from(Viewpoint(700, 100, 1.3))
        first = person.document
        window.run_command("file.new")
        await until(lambda: canvas.zoom == 1.0)
        window.workbench.show_document(first)
        await until(lambda: canvas.viewpoint == pytest.approx((700, 100, 1.3), abs=2))

    travel(journey, path)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.png", b"\x89PNG"),
        ("a.svg", b"<?xml"),
        ("a.PDF", b"%PDF-"),
        ("a.html", b"<!DOCTYPE html>"),
        ("a.mmd", b"---\ntitle: "),
        ("a.dot", b"digraph"),
    ],
)
def test_what_is_exported_is_of_the_kind_its_name_says(travel, path, monkeypatch, name, start):
    target = path.with_name(name)

    async def ask_save(*_: object) -> object:
        return target

    monkeypatch.setattr(dialogs, "ask_save", ask_save)

    async def journey(person: Driver) -> None:
        person.window.run_command("file.export-as")
        await until(lambda: person.window.message == f"Exported {name}.")

    travel(journey, path)
    assert target.read_bytes().startswith(start)


def test_a_picture_of_an_unknown_kind_is_refused_with_the_kinds_there_are(travel, path, monkeypatch):
    target = path.with_name("a.gif")

    async def ask_save(*_: object) -> object:
        return target

    monkeypatch.setattr(dialogs, "ask_save", ask_save)

    async def journey(person: Driver) -> None:
        person.window.run_command("file.export-as")
        await until(lambda: ".html, .pdf, .svg, .png, .mmd, .dot" in person.window.message)

    travel(journey, path)
    assert not target.exists()


@pytest.mark.parametrize(("choice", "words"), [("one", "Printed 1 page."), ("several", "Printed ")])
def test_a_tree_is_printed_on_one_page_or_on_several(travel, path, monkeypatch, choice: str, words: str):
    target = path.with_name("print.pdf")

    async def ask_printer(_parent: object, name: str, *, landscape: bool) -> QPrinter:
        printer = QPrinter()
        printer.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
        printer.setOutputFileName(str(target))
        return printer

    async def choose(*_: object, **__: object) -> str:
        return choice

    monkeypatch.setattr(dialogs, "ask_printer", ask_printer)
    monkeypatch.setattr(dialogs, "choose", choose)

    async def journey(person: Driver) -> None:
        assert person.window.run_command("file.print")
        await until(lambda: person.window.message.startswith(words))

    travel(journey, path)
    assert target.read_bytes().startswith(b"%PDF-")


def test_the_map_can_be_switched_off(travel, path):
    async def journey(person: Driver) -> None:
        canvas = person.window.canvas
        canvas.look_from(Viewpoint(0, 0, 3.0))
        await until(canvas.minimap.isVisible)
        person.window.run_command("view.minimap")
        assert not canvas.minimap.isVisible()
        person.window.run_command("view.minimap")
        assert canvas.minimap.isVisible()

    travel(journey, path)
