"""What the canvas shows of the current document and its run, and the commands of looking at it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

from PySide6.QtWidgets import QApplication

from designer import theme
from designer.actions import command
from designer.canvas.overlay import Overlay, Standing, moment
from designer.document.design import Viewpoint, viewpoint
from designer.document.document import Document
from designer.document.draft import Draft
from designer.document.names import names_of
from designer.owner import Front, Owner, no_document, nothing_selected
from designer.proof import WORKING
from designer.running import Level, RunState, source_words
from designer.workbench import Workbench
from engine import ClassifyNode, NodeId, Trail, Tree

_STANDING: Final[Mapping[RunState, Standing]] = {RunState.PAUSED: "paused", RunState.ASKING: "asks you"}


class Viewing(Owner):
    """The verbs of looking; every document is looked at from where it was left."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench, front)
        self._viewpoints = WeakKeyDictionary[Document, Viewpoint]()
        self._with_costs = self._told_late = False
        workbench.proof.changed.connect(self._show_costs)
        workbench.running.trail_changed.connect(self._show_trail)
        workbench.running.state_changed.connect(lambda _: self._show_trail(workbench.running.trail))
        workbench.running.sources_changed.connect(lambda _: self.show())

    def show(self) -> None:
        """Show the current document as it is now, or nothing."""
        document = self.workbench.current
        if document is None:
            self.canvas.show_draft(Draft(Tree()), Overlay(), frozenset())
            self.canvas.set_breadcrumb([])
        else:
            self._show(document)

    def leave(self, document: Document) -> None:
        """Remember from where this document, the one on show, is looked at."""
        self._viewpoints[document] = self.canvas.viewpoint

    def look_again(self) -> None:
        """Look at what was looked at last, in this window or before it was stored; else at the beginning."""
        document = self.workbench.current
        if document is None:
            return
        view = self._viewpoints.get(document) or viewpoint(document.draft)
        self.canvas.open_at(document.draft.tree.start_node_id)
        if view is not None:
            self.canvas.look_from(view)

    # -- commands

    @command("view.fit", "&Fit", ["Home", "Shift+1"], when=no_document, scope="canvas", icon="fit")
    def fit(self) -> None:
        """Show the whole tree."""
        self.canvas.fit()

    @command("view.fit-selection", "Fit &selection", ["F"], when=nothing_selected, scope="canvas")
    def fit_selection(self) -> None:
        """Show the selected nodes."""
        self.canvas.fit(self.document.selection)

    @command("view.actual-size", "&100 %", ["Ctrl+0"], when=no_document)
    def actual_size(self) -> None:
        """Show cards at their own size."""
        self.canvas.zoom_reset()

    @command("view.zoom-in", "Zoom &in", ["Ctrl++", "Ctrl+="], when=no_document, icon="zoom-in")
    def zoom_in(self) -> None:
        """Show cards larger."""
        self.canvas.zoom_in()

    @command("view.zoom-out", "Zoom &out", ["Ctrl+-"], when=no_document, icon="zoom-out")
    def zoom_out(self) -> None:
        """Show more of the tree."""
        self.canvas.zoom_out()

    @command("view.canvas", "Go to the &canvas", ["Escape"], when=no_document, scope="inspector")
    def go_to_canvas(self) -> None:
        """Have keys go to the canvas again."""
        self.canvas.setFocus()

    @command("view.back", "&Back", ["Ctrl+["], when=no_document, tip="Look at the place before")
    def back(self) -> None:
        """Look at what was looked at before the last jump."""
        self.canvas.back()

    @command("view.forward", "For&ward", ["Ctrl+]"], when=no_document)
    def forward(self) -> None:
        """Look again at what was gone back from."""
        self.canvas.forward()

    @command("view.minimap", "&Map", checkable=True, tip="A map in the corner of trees larger than the view")
    def minimap(self, on: bool) -> None:
        """Show a map of trees that are larger than the view, or none."""
        self.canvas.minimap.wanted = on

    @command(
        "view.bounds",
        "Show &bounds",
        ["Ctrl+B"],
        when=no_document,
        checkable=True,
        tip="On each card the LLM calls and visits to come, at best and at worst",
    )
    def bounds(self, on: bool) -> None:
        """Show on each card what runs can cost, or not."""
        self._with_costs = on
        self.show()
        self._tell_late()

    @command("view.light", "&Light", checkable=True)
    def light(self, _on: bool) -> None:
        """Bright colours."""
        self._set_theme("light")

    @command("view.dark", "&Dark", checkable=True)
    def dark(self, _on: bool) -> None:
        """Dark colours."""
        self._set_theme("dark")

    @command("view.system", "Like the &system", checkable=True)
    def system(self, _on: bool) -> None:
        """The colours the desktop asks for."""
        self._set_theme("system")

    # --

    def _set_theme(self, mode: theme.Mode) -> None:
        self.workbench.change_settings(theme=mode)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme.apply(app, mode)

    def _overlay(self, document: Document) -> Overlay:
        running = self.workbench.running
        mine = running.document is document
        trail, at = (running.trail, running.at) if mine else (Trail(), None)
        standing = "past" if running.past else _STANDING.get(running.state, "running")
        return replace(
            moment(trail, at, standing),
            past=mine and running.past,
            sources=self._sources(document),
            costs=self.workbench.proof.costs if self._with_costs else {},
        ).with_problems(document.problems)

    def _show_costs(self) -> None:
        if self._with_costs:
            self.show()
        self._tell_late()

    def _tell_late(self) -> None:
        late = self._with_costs and self.workbench.proof.late
        if late != self._told_late:
            self._told_late = late
            self.front.tell(WORKING if late else "")

    def _sources(self, document: Document) -> Mapping[NodeId, str]:
        """Which nodes get what they give from elsewhere than usual, in a word each."""
        nodes = document.draft.tree.nodes
        chosen = self.workbench.running.answering(document).chosen
        return {
            node: source_words(source, question=isinstance(nodes.get(node), ClassifyNode))
            for node, source in chosen.items()
        }

    def _show_trail(self, trail: Trail) -> None:
        document = self.workbench.current
        if document is None or self.workbench.running.document is not document:
            return
        overlay = self._show(document)
        if self.workbench.running.following and overlay.current is not None:
            self.canvas.reveal(overlay.current)

    def _show(self, document: Document) -> Overlay:
        overlay, running = self._overlay(document), self.workbench.running
        self.canvas.show_draft(document.draft, overlay, document.selection)
        trail = running.trail if running.document is document else Trail()
        inside = running.inside if running.document is document else ()
        self.canvas.set_breadcrumb([*_breadcrumb(trail, overlay.current), *_within(inside)])
        return overlay


def _within(levels: Iterable[Level]) -> Iterator[tuple[str, bool]]:
    """The way through the trees that are run inside the node the run is at."""
    for level in levels:
        yield f"in {level.title}", False
        if level.trail.tree is not None:
            yield from _breadcrumb(level.trail, level.node)


def _breadcrumb(trail: Trail, current: NodeId | None) -> list[tuple[str, bool]]:
    names = names_of(trail.tree) if trail.tree else {}
    steps = [
        (text, i == 1)
        for visit in trail.path
        for i, text in enumerate((str(names.get(visit.node, visit.node)), visit.branch))
        if text
    ]
    at = current is not None and trail.result is None
    return [*steps, (str(names.get(current or "", current)), False)] if at else steps
