"""Automatic layout of the current document: whole or selected, to the right or downwards, pinned nodes aside.

A small layout is there at once; a large one is worked out beside the window, which stays usable.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final

from PySide6.QtCore import QObject

from designer.canvas.geometry import card_size
from designer.canvas.view import CanvasView
from designer.document import design, edits, layout
from designer.document.design import Direction
from designer.document.document import Document
from designer.document.draft import Draft, Place
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


class Arranging(QObject):
    """The verbs of layout. Each is one undo step; the view stays at the node it showed."""

    def __init__(self, workbench: Workbench, canvas: CanvasView, tell: Callable[[str], None]) -> None:
        super().__init__(workbench)
        self._workbench, self._canvas, self._tell = workbench, canvas, tell
        self._working: asyncio.Task[None] | None = None
        self._stopped = False
        canvas.progress.stopped.connect(self.stop)

    @property
    def busy(self) -> bool:
        """Whether a large layout is being worked out."""
        return self._working is not None and not self._working.done()

    def lay_out(self) -> None:
        """Place every node anew that is not pinned."""
        document = self._workbench.current
        if document is not None:
            self._lay_out(document, "Lay out", design.direction(document.draft))

    def lay_out_selection(self) -> None:
        """Place the selected nodes anew, where they are, and clear of all others."""
        document = self._workbench.current
        if document is not None and document.selection:
            self._lay_out(document, "Lay out selection", design.direction(document.draft), document.selection)

    def turn(self, direction: Direction) -> None:
        """Have the tree grow this way, laid out anew."""
        document = self._workbench.current
        if document is not None and design.direction(document.draft) != direction:
            self._lay_out(
                document, f"Grow {'downwards' if direction == 'down' else 'to the right'}", direction
            )

    def pin(self) -> None:
        """Have layout leave the selected nodes where they are; when all are pinned, let them go."""
        document = self._workbench.current
        if document is not None and document.selection:
            ids = document.selection
            on = not ids <= design.pinned(document.draft)
            label = "Pin" if on else "Unpin"
            document.edit(label, lambda draft: design.pin(draft, ids, on=on))

    def stop(self) -> None:
        """Call off what is being worked out; nothing moves."""
        self._stopped = True

    def _lay_out(
        self, document: Document, label: str, direction: Direction, ids: Collection[NodeId] | None = None
    ) -> None:
        if self.busy:
            self._tell("A layout is being worked out already.")
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
                self._canvas.progress.say("Laying out", share[0])
                await asyncio.wait([working], timeout=_PULSE)
            places = working.result()
        except Stopped:
            self._tell("Layout called off. Nothing was moved.")
            return
        finally:
            self._stopped = True  # a thread nobody waits for any more ends soon
            self._canvas.progress.hide()
        if document.draft.tree is not draft.tree or document not in self._workbench.documents:
            self._tell("The tree was changed meanwhile, so nothing was moved.")
        else:
            self._apply(document, label, direction, places)

    def _apply(
        self, document: Document, label: str, direction: Direction, places: Mapping[NodeId, Place]
    ) -> None:
        with self._canvas.held():
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
