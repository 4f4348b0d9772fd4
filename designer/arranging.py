"""Automatic layout of the current document: whole or selected, to the right or downwards, pinned nodes aside.

A small layout is there at once; a large one is worked out beside the window, which stays usable.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final

from designer.actions import command
from designer.canvas.geometry import card_size
from designer.document import design, edits, layout
from designer.document.design import Direction
from designer.document.document import Document
from designer.document.draft import Draft, Place
from designer.owner import Front, Owner, no_document, nothing_selected
from designer.tasks import launch
from designer.workbench import Workbench
from engine import NodeId

_MANY: Final = 500
"""Nodes; so many are laid out beside the window."""

_PATIENCE: Final = 1.0  # seconds before the person is told how far it is
_PULSE: Final = 0.1
_ORIGIN: Final = Place(0, 0)


class Stopped(Exception):
    """The person called the layout off."""


class Arranging(Owner):
    """The verbs of layout. Each is one undo step; the view stays at the node it showed."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench, front)
        self._working: asyncio.Task[None] | None = None
        self._stopped = False
        self.canvas.progress.stopped.connect(self.stop)

    @property
    def busy(self) -> bool:
        """Whether a large layout is being worked out."""
        return self._working is not None and not self._working.done()

    @command("edit.layout", "&Lay out", ["Ctrl+Shift+L"], when=no_document, icon="layout")
    def lay_out(self) -> None:
        """Place every node anew that is not pinned."""
        document = self.document
        self._lay_out(document, "Lay out", design.direction(document.draft))

    @command("edit.layout-selection", "Lay out s&election", ["Ctrl+L"], when=nothing_selected, scope="canvas")
    def lay_out_selection(self) -> None:
        """Place the selected nodes anew, where they are, and clear of all others."""
        document = self.document
        self._lay_out(document, "Lay out selection", design.direction(document.draft), document.selection)

    @command("edit.pin", "&Pin or unpin", when=nothing_selected, tip="Layout leaves pinned nodes alone")
    def pin(self) -> None:
        """Have layout leave the selected nodes where they are; when all are pinned, let them go."""
        document = self.document
        ids = document.selection
        on = not ids <= design.pinned(document.draft)
        document.edit("Pin" if on else "Unpin", lambda draft: design.pin(draft, ids, on=on))

    @command("edit.grow-right", "Grow to the &right", when=no_document)
    def grow_right(self) -> None:
        """Lay the tree out from left to right."""
        self._turn("right", "Grow to the right")

    @command("edit.grow-down", "Grow &downwards", when=no_document)
    def grow_down(self) -> None:
        """Lay the tree out from top to bottom."""
        self._turn("down", "Grow downwards")

    def stop(self) -> None:
        """Call off what is being worked out; nothing moves."""
        self._stopped = True

    def _turn(self, direction: Direction, label: str) -> None:
        document = self.document
        if design.direction(document.draft) != direction:
            self._lay_out(document, label, direction)

    def _lay_out(
        self, document: Document, label: str, direction: Direction, ids: Collection[NodeId] | None = None
    ) -> None:
        if self.busy:
            self.front.tell("A layout is being worked out already.")
            return
        draft = document.draft
        work = partial(_arranged, draft, direction, ids)
        if len(draft.tree.nodes if ids is None else ids) <= _MANY:
            self._apply(document, label, direction, work(lambda _: None))
        else:
            self._stopped = False
            self._working = launch(self._lay_out_aside(document, draft, label, direction, work))

    async def _lay_out_aside(
        self,
        document: Document,
        draft: Draft,
        label: str,
        direction: Direction,
        work: Callable[[layout.Progress], Mapping[NodeId, Place]],
    ) -> None:
        share = [0.0]

        def progress(done: float) -> None:
            share[0] = done
            if self._stopped:
                raise Stopped

        working = asyncio.ensure_future(asyncio.to_thread(work, progress))
        try:
            await asyncio.wait([working], timeout=_PATIENCE)
            while not working.done():
                self.canvas.progress.say("Laying out", share[0])
                await asyncio.wait([working], timeout=_PULSE)
            places = working.result()
        except Stopped:
            self.front.tell("Layout called off. Nothing was moved.")
            return
        finally:
            self._stopped = True  # a thread nobody waits for any more ends soon
            self.canvas.progress.hide()
        if document.draft.tree is not draft.tree or document not in self.workbench.documents:
            self.front.tell("The tree was changed meanwhile, so nothing was moved.")
        else:
            self._apply(document, label, direction, places)

    def _apply(
        self, document: Document, label: str, direction: Direction, places: Mapping[NodeId, Place]
    ) -> None:
        with self.canvas.held():
            document.edit(
                label, lambda draft: edits.move_nodes(design.set_direction(draft, direction), places)
            )


def _arranged(
    draft: Draft, direction: Direction, ids: Collection[NodeId] | None, progress: layout.Progress
) -> Mapping[NodeId, Place]:
    """Places for all nodes, or new ones for these only."""
    tree, pinned = draft.tree, design.pinned(draft)
    sizes = {node_id: card_size(node, node_id) for node_id, node in tree.nodes.items()}
    free = (tree.nodes.keys() if ids is None else set(ids)) - pinned
    stay = {i: draft.places.get(i, _ORIGIN) for i in tree.nodes if i not in free}
    origin = None
    if ids is not None and free:
        stand = [draft.places.get(i, _ORIGIN) for i in free]
        origin = Place(min(place.x for place in stand), min(place.y for place in stand))
    return layout.arrange(tree, sizes, stay, direction=direction, origin=origin, progress=progress)
