"""What hands on the canvas and the commands of editing do to the current document.

Each wish becomes one named undo step; what cannot be done is said in a sentence.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from PySide6.QtCore import QMimeData, QPointF
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from designer.actions import command
from designer.canvas.geometry import CARD, TITLE, Rect, card_size, output_port, snapped
from designer.canvas.notes import COLOURS
from designer.canvas.overlay import EdgeKey
from designer.canvas.quick_add import Choice
from designer.document import alignment, clipboard, edits, flow, rules
from designer.document.document import Document
from designer.document.draft import Draft, Note, Place
from designer.document.names import kind_name, titles_of
from designer.owner import Front, Owner, fewer_than, no_document, no_single_node, nothing_selected
from designer.workbench import Workbench
from engine import NODE_TYPES, NodeId
from engine.counting import counted

_GAP = 99.0  # between a card and one that is put beside it, in scene units
_AROUND = 33.0  # between a frame and the cards in it
_NOTE = (220.0, 110.0)


def _changing(kind: str, text: str) -> Callable[["Editing"], None]:
    def change(editing: "Editing") -> None:
        editing.change_kind(kind)

    return command(f"node.{kind}", text, when=lambda editing: editing.may_change_kind(kind))(change)


def _aligning(id: str, text: str, way: alignment.Way, least: int) -> Callable[["Editing"], None]:
    def align(editing: "Editing") -> None:
        editing.align(way, text.replace("&", "").lower())

    return command(f"align.{id}", text, when=fewer_than(least))(align)


class Editing(Owner):
    """The verbs of editing, as a person means them: of what is selected, at the pointer, beside a card."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench, front)
        canvas = self.canvas
        canvas.selection_requested.connect(self.select)
        canvas.move_requested.connect(self.move_nodes)
        canvas.connect_requested.connect(self.connect_nodes)
        canvas.disconnect_requested.connect(self.disconnect_nodes)
        canvas.add_requested.connect(self.add)
        canvas.insert_requested.connect(self.insert)
        canvas.lead_requested.connect(self.lead)
        canvas.quick_add_requested.connect(self.quick_add)
        canvas.notes_requested.connect(self.set_notes)

    # -- what may be done: None, or the reason in plain words

    def may_undo(self) -> str | None:
        """Whether there is a change to take back."""
        document = self.workbench.current
        return None if document and document.undo_stack.canUndo() else "There is nothing to undo."

    def may_redo(self) -> str | None:
        """Whether there is a change to make again."""
        document = self.workbench.current
        return None if document and document.undo_stack.canRedo() else "There is nothing to redo."

    def may_connect(self, source: NodeId, branch: str, target: NodeId) -> str | None:
        """Whether this branch can lead to this node."""
        return rules.may_connect(self.document.draft, source, branch, target)

    def may_lead_on(self) -> str | None:
        """Whether there is a branch to lead somewhere."""
        document = self.workbench.current
        if document is None:
            return no_document(self)
        return None if self.canvas.picked else rules.may_lead_on(document.draft, single(document))

    def may_detach(self) -> str | None:
        """Whether the flow can go on without the selected nodes."""
        document = self.workbench.current
        return rules.may_detach(document.draft, document.selection) if document else no_document(self)

    def may_change_kind(self, kind: str) -> str | None:
        """Whether any selected node can become one of this kind."""
        document = self.workbench.current
        if document is None:
            return no_document(self)
        return rules.may_change_kind(document.draft, document.selection, kind)

    def may_take(self) -> str | None:
        """Whether a node or a note is chosen."""
        document = self.workbench.current
        chosen = document is not None and (document.selection or self.canvas.picked_notes)
        return None if chosen else "Select a node or a note first."

    def may_use_branch(self) -> str | None:
        """Whether a branch is chosen."""
        return None if self.workbench.current and self.canvas.picked else "Click a branch first."

    def may_use_note(self) -> str | None:
        """Whether a note is chosen."""
        return (
            None if self.workbench.current and self.canvas.picked_note else "Click a note or a frame first."
        )

    # -- history

    @command("edit.undo", "&Undo", ["Ctrl+Z"], when=may_undo, icon="undo")
    def undo(self) -> None:
        """Take the last change back."""
        self.document.undo()

    @command("edit.redo", "&Redo", ["Ctrl+Shift+Z", "Ctrl+Y"], when=may_redo, icon="redo")
    def redo(self) -> None:
        """Make the change again."""
        self.document.redo()

    # -- what is selected

    @command("edit.delete", "&Delete", ["Delete", "Backspace"], may_take, scope="canvas", icon="delete")
    def delete(self) -> None:
        """Remove the chosen nodes, the branches that led to them, and the chosen notes."""
        self._remove("Delete")

    @command("edit.select-all", "Select &all", ["Ctrl+A"], when=no_document, scope="canvas")
    def select_all(self) -> None:
        """Select every node and every note."""
        self.document.select(self.document.draft.tree.nodes)
        self.canvas.pick_notes(self.document.draft.notes)

    @command("edit.cut", "Cu&t", ["Ctrl+X"], when=may_take, scope="canvas")
    def cut(self) -> None:
        """Copy the chosen nodes and notes and remove them."""
        self.copy()
        self._remove("Cut")

    @command("edit.copy", "&Copy", ["Ctrl+C"], when=may_take, scope="canvas")
    def copy(self) -> None:
        """Put the chosen nodes and notes on the clipboard, as text that other programs can read too."""
        text = clipboard.spell(self._clip())
        mime = QMimeData()
        mime.setData(clipboard.MIME, text.encode())
        mime.setText(text)
        QGuiApplication.clipboard().setMimeData(mime)

    @command("edit.paste", "&Paste", ["Ctrl+V"], when=no_document, scope="canvas")
    def paste(self) -> None:
        """Add the copied nodes at the pointer, with the branches among them."""
        self._paste(outgoing=False)

    @command("edit.paste-linked", "Paste with &links", ["Ctrl+Shift+V"], when=no_document, scope="canvas")
    def paste_linked(self) -> None:
        """Paste, and keep branches that led to nodes this tree has too."""
        self._paste(outgoing=True)

    @command("edit.duplicate", "D&uplicate", ["Ctrl+D"], when=may_take, scope="canvas")
    def duplicate(self) -> None:
        """Add a copy of the chosen nodes and notes beside them."""
        self._put("Duplicate", self._clip())

    @command("select.downstream", "Select do&wnstream", ["Ctrl+Shift+Down"], nothing_selected, scope="canvas")
    def select_downstream(self) -> None:
        """Select what a run may visit after the selected nodes too."""
        document = self.document
        document.select(flow.downstream(document.draft.tree, document.selection))

    @command("select.upstream", "Select u&pstream", ["Ctrl+Shift+Up"], nothing_selected, scope="canvas")
    def select_upstream(self) -> None:
        """Select what a run may visit before the selected nodes too."""
        document = self.document
        document.select(flow.upstream(document.draft.tree, document.selection))

    def select(self, ids: Iterable[NodeId]) -> None:
        """Select these nodes and no others."""
        self.document.select(ids)

    # -- nodes

    @command("node.add", "&Add node…", when=no_document, tip="Tap Space or double-click the ground")
    def quick_add(self, at: QPointF | None = None) -> None:
        """Have the person choose a kind, and add such a node there, or else where they are looking."""
        if self.workbench.current is not None:
            at = at or self.canvas.pointer or _point(self.canvas.free_place())
            place = _place(at)
            self.canvas.offer("Add a node", _new(), at, lambda choice: self.add(choice.kind, place))

    @command("node.child", "Add &child…", ["Insert"], when=may_lead_on, scope="canvas")
    def add_child(self) -> None:
        """Choose what the first free branch of the selected node leads to; a new node appears beside it."""
        self._lead_on()

    @command("node.sibling", "Add &sibling…", ["Shift+Insert"], when=no_single_node, scope="canvas")
    def add_sibling(self) -> None:
        """Do the same for the node that leads to the selected one."""
        document = self.document
        nodes, (here,) = document.draft.tree.nodes, document.selection
        parents = [i for i, node in nodes.items() if here in node.targets.values()]
        free = next(((i, b) for i in parents if (b := flow.loose_branch(nodes[i])) is not None), None)
        if free is None:
            self.front.tell(
                "No node that leads here has a free branch." if parents else "No node leads here."
            )
        else:
            self.lead(*free)

    @command("node.connect", "C&onnect…", ["C"], when=may_lead_on, scope="canvas")
    def connect_branch(self) -> None:
        """Choose the node that the chosen branch, or the first free one, leads to."""
        self._lead_on(new=False)

    @command("node.rename", "&Rename", ["F2"], when=no_single_node, scope="canvas")
    def rename(self) -> None:
        """Write another id for the selected node; every branch that leads to it follows."""
        (node,) = self.document.selection
        line = self.front.show_place(node, "id")
        if isinstance(line, QLineEdit):
            line.selectAll()

    @command("node.start", "S&tart the run here", when=no_single_node)
    def start_here(self) -> None:
        """Have runs begin at the selected node."""
        (node,) = self.document.selection
        self._edit("Set the start", lambda draft: edits.set_start(draft, node))

    @command("node.detach", "&Detach and close the gap", when=may_detach)
    def detach(self) -> None:
        """Take the selected nodes out of the flow."""
        ids = self.document.selection
        self._edit(_counted("Detach", ids), lambda draft: edits.detach(draft, ids))

    @command("node.heal", "De&lete and close the gap", ["Ctrl+Delete"], may_detach, scope="canvas")
    def delete_healed(self) -> None:
        """Delete the selected nodes; what led to them leads to what follows."""
        ids = self.document.selection
        self._edit(_counted("Delete", ids), lambda draft: edits.remove_nodes(edits.heal(draft, ids), ids))

    to_action = _changing("action", "To &action")
    to_classify = _changing("classify", "To &question")
    to_condition = _changing("condition", "To &condition")
    to_terminal = _changing("terminal", "To &terminal")

    align_left = _aligning("left", "&Left sides", alignment.left, 2)
    align_centre = _aligning("centre", "&Centres", alignment.centre, 2)
    align_top = _aligning("top", "&Tops", alignment.top, 2)
    align_middle = _aligning("middle", "&Middles", alignment.middle, 2)
    align_across = _aligning("across", "Spread &across", alignment.across, 3)
    align_down = _aligning("down", "Spread &down", alignment.down, 3)
    align_snap = _aligning("snap", "&Snap to grid", alignment.snapped, 1)

    def move_nodes(self, places: Mapping[NodeId, Place], merge: str) -> None:
        """Have nodes stand there; moves under one key are one step."""
        self._edit(_counted("Move", places), lambda draft: edits.move_nodes(draft, places), merge)

    def add(self, kind: str, place: Place) -> None:
        """Add a node of this kind there."""
        self._edit(_added(kind), lambda draft: edits.add_node(draft, kind, place))

    def insert(self, source: NodeId, branch: str, kind: str, place: Place) -> None:
        """Put a new node within a branch, with room beside what it leads from and to.

        A terminal leads nowhere, so it is only added there.
        """
        if kind == "terminal":
            self.add(kind, place)
            return
        draft, room = self.document.draft, 0.0
        start, target = _card(draft, source), draft.tree.nodes[source].targets.get(branch, "")
        if target in draft.places and draft.places[target].x > start.right:
            place = Place(snapped(max(place.x, start.right + _GAP)), place.y)
            room = max(0.0, place.x + CARD + _GAP - draft.places[target].x)
        self._edit(
            f"Insert {kind_name(kind).lower()}",
            lambda draft: edits.insert_node(draft, source, branch, kind, place, room=room),
        )

    def change_kind(self, kind: str) -> None:
        """Make the selected nodes ones of this kind, keeping what fits."""
        ids = self.document.selection

        def changed(draft: Draft) -> Draft:
            for node_id in ids:
                draft = edits.change_kind(draft, node_id, kind)
            return draft

        self._edit(f"Change type to {kind_name(kind).lower()}", changed)

    def align(self, way: alignment.Way, words: str) -> None:
        """Put the selected nodes in line."""
        document = self.document
        boxes = {i: alignment.Box(*_card(document.draft, i)) for i in document.selection}
        self._edit(f"Align: {words}", lambda draft: edits.move_nodes(draft, way(boxes)))

    # -- branches

    @command("branch.insert", "&Insert node…", when=may_use_branch)
    def insert_into_branch(self) -> None:
        """Have the person choose what to put within the chosen branch."""
        if (key := self.canvas.picked) is not None:
            at = self._beside(key)
            kinds = [choice for choice in _new() if choice.kind != "terminal"]
            self.canvas.offer(
                f"{key[1]} leads through",
                kinds,
                at,
                lambda choice: self.insert(*key, choice.kind, _place(at)),
            )

    @command("branch.lead", "&Lead elsewhere…", when=may_use_branch)
    def lead_branch(self) -> None:
        """Choose another node for the chosen branch, or a new one."""
        self._lead_on()

    @command("branch.end", "&Go to its end", when=may_use_branch)
    def go_to_end(self) -> None:
        """Select the node the chosen branch leads to."""
        nodes = self.document.draft.tree.nodes
        if (key := self.canvas.picked) is not None and key[1] in nodes[key[0]].targets:
            self.canvas.go_to(nodes[key[0]].targets[key[1]])

    @command("branch.disconnect", "&Disconnect", when=may_use_branch)
    def disconnect_branch(self) -> None:
        """Have the chosen branch lead nowhere."""
        if self.canvas.picked is not None:
            self.disconnect_nodes(*self.canvas.picked)

    def connect_nodes(self, source: NodeId, branch: str, target: NodeId) -> None:
        """Have a branch lead to this node."""
        self._edit(f"Connect {branch}", lambda draft: edits.connect(draft, source, branch, target))

    def disconnect_nodes(self, source: NodeId, branch: str) -> None:
        """Have a branch lead nowhere."""
        self._edit(f"Disconnect {branch}", lambda draft: edits.disconnect(draft, source, branch))

    def lead(self, source: NodeId, branch: str, at: QPointF | None = None, *, new: bool = True) -> None:
        """Have the person choose where a branch leads: to a node that is there or, ``new``, to a new one.

        A new node stands at this point of the scene, or else beside the card.
        """
        document = self.document
        draft, at = document.draft, at or self._beside((source, branch))
        place = _place(at)
        there = [
            Choice(title, draft.tree.nodes[i].type or "", i)
            for i, title in titles_of(draft.tree).items()
            if rules.may_connect(draft, source, branch, i) is None
        ]

        def chosen(choice: Choice) -> None:
            if choice.node is not None:
                self.connect_nodes(source, branch, choice.node)
            else:
                add = partial(edits.add_linked, source=source, branch=branch, kind=choice.kind, place=place)
                self._edit(_added(choice.kind), add)

        self.canvas.offer(f"{branch} leads to", [*(_new() if new else ()), *there], at, chosen)

    def _lead_on(self, *, new: bool = True) -> None:
        """The same for the chosen branch, or the first one of the selected node that leads nowhere."""
        document = self.document
        if (key := self.canvas.picked) is None:
            (node,) = document.selection
            key = node, flow.loose_branch(document.draft.tree.nodes[node]) or ""
        self.lead(*key, new=new)

    # -- notes

    @command("note.add", "Add &note", when=no_document, tip="Write something beside the tree")
    def add_note(self) -> None:
        """Put a note at the pointer and let the person write it."""
        at = self.canvas.pointer
        self._write_new(Note(self.canvas.free_place() if at is None else _place(at), *_NOTE))

    @command("note.frame", "&Frame the selection", ["Ctrl+G"], when=nothing_selected, scope="canvas")
    def add_frame(self) -> None:
        """Put a titled frame around the selected nodes; what lies in it moves with it."""
        document = self.document
        cards = [_card(document.draft, i) for i in document.selection]
        x, y = min(card.x for card in cards) - _AROUND, min(card.y for card in cards) - 2 * _AROUND
        right, bottom = (
            max(card.right for card in cards) + _AROUND,
            max(card.bottom for card in cards) + _AROUND,
        )
        self._write_new(Note(Place(x, y), right - x, bottom - y, "Frame", "frame"))

    @command("note.edit", "&Edit text", when=may_use_note)
    def write_note(self) -> None:
        """Let the person write the text of the chosen note."""
        if self.canvas.picked_note is not None:
            self.canvas.write_note(self.canvas.picked_note)

    @command("note.colour", "Next &colour", when=may_use_note)
    def colour_note(self) -> None:
        """Give the chosen note the next colour."""
        if (name := self.canvas.picked_note) is not None:
            note = self.document.draft.notes[name]
            at = COLOURS.index(note.colour) if note.colour in COLOURS else -1
            coloured = replace(note, colour=COLOURS[(at + 1) % len(COLOURS)])
            self.set_notes(f"Colour {note.kind}", {name: coloured}, {})

    @command("note.delete", "&Delete", when=may_use_note)
    def delete_note(self) -> None:
        """Take the chosen note away."""
        if (name := self.canvas.picked_note) is not None:
            self.set_notes(f"Delete {self.document.draft.notes[name].kind}", {name: None}, {})

    def set_notes(
        self,
        label: str,
        notes: Mapping[str, Note | None],
        places: Mapping[NodeId, Place],
        merge: str | None = None,
    ) -> None:
        """Have notes look so, or be gone for None, and the nodes a frame took along stand there."""
        self._edit(label, lambda draft: edits.move_nodes(edits.set_notes(draft, notes), places), merge)

    def _write_new(self, note: Note) -> None:
        document = self.document
        (name,) = edits.unique_names(document.draft.notes, [note.kind])
        self.set_notes(f"Add {note.kind}", {name: note}, {})
        if name in document.draft.notes:
            document.select(())
            self.canvas.write_note(name)

    # --

    def _paste(self, *, outgoing: bool) -> None:
        """Add the copied nodes at the pointer; ``outgoing`` keeps branches to nodes that are here too."""
        # Without content there is none, whatever the types say.
        mime = cast("QMimeData | None", QGuiApplication.clipboard().mimeData())
        own = b"" if mime is None else bytes(mime.data(clipboard.MIME).data())
        text = own.decode(errors="replace") or ("" if mime is None else mime.text())
        try:
            clip = clipboard.read(text, card_size)
        except clipboard.NotNodes as refused:
            self.front.tell(str(refused))
            return
        at = None if self.canvas.pointer is None else _place(self.canvas.pointer)
        self._put("Paste", clip, at, outgoing=outgoing)
        self.canvas.reveal(next(iter(self.document.selection), ""))

    def _clip(self) -> clipboard.Clip:
        """A copy of what is chosen."""
        document = self.document
        return clipboard.take(document.draft, document.selection, self.canvas.picked_notes)

    def _put(
        self, verb: str, clip: clipboard.Clip, at: Place | None = None, *, outgoing: bool = False
    ) -> None:
        """Add copies and choose them."""
        before = self.document.draft.notes.keys()
        self._edit(
            _counted(verb, clip.nodes, clip.notes),
            lambda draft: clipboard.put(draft, clip, at, outgoing=outgoing),
        )
        if not clip.nodes:
            self.document.select(())
        self.canvas.pick_notes(self.document.draft.notes.keys() - before)

    def _remove(self, verb: str) -> None:
        """Take away what is chosen."""
        ids, notes = self.document.selection, self.canvas.picked_notes
        self._edit(
            _counted(verb, ids, notes),
            lambda draft: edits.set_notes(edits.remove_nodes(draft, ids), dict.fromkeys(notes)),
        )

    def _edit(self, label: str, change: Callable[[Draft], Draft], merge: str | None = None) -> None:
        self.document.edit(label, change, merge)

    def _beside(self, key: EdgeKey) -> QPointF:
        """A free point to the right of a branch, for the input of a new card."""
        draft, (source, branch) = self.document.draft, key
        port = output_port(_card(draft, source), draft.tree.nodes[source], branch)
        return _point(self.canvas.free_place(Place(port.x + _GAP, port.y - TITLE / 2)))


def single(document: Document) -> NodeId | None:
    """The selected node, where it is one alone."""
    return next(iter(document.selection)) if len(document.selection) == 1 else None


def _card(draft: Draft, node_id: NodeId) -> Rect:
    place = draft.places.get(node_id, Place(0, 0))
    return Rect(place.x, place.y, *card_size(draft.tree.nodes[node_id], node_id))


def _counted(verb: str, nodes: Collection[NodeId], notes: Collection[str] = ()) -> str:
    """What is done to how many nodes and notes: "Delete node", "Paste 2 nodes and 1 note"."""
    if len(nodes) + len(notes) == 1:
        return f"{verb} {'node' if nodes else 'note'}"
    parts = ((len(nodes), "node"), (len(notes), "note"))
    counts = [counted(n, word) for n, word in parts if n]
    return f"{verb} {' and '.join(counts)}"


def _added(kind: str) -> str:
    return f"Add {kind_name(kind).lower()}"


def _new() -> list[Choice]:
    return [Choice(f"New {kind_name(kind).lower()}", kind) for kind in NODE_TYPES]


def _place(at: QPointF) -> Place:
    """Where a card stands whose input is at this point."""
    return Place(snapped(at.x()), snapped(at.y() - TITLE / 2))


def _point(place: Place) -> QPointF:
    return QPointF(place.x, place.y + TITLE / 2)
