"""Everything about the files of trees: opening, saving, closing, what others did to them, recovery, export.

Whatever a person must decide is asked in a dialog, awaited in a task of its own.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from PySide6.QtWidgets import QPushButton, QStatusBar, QWidget

from designer import dialogs, resource, theme
from designer.actions import command
from designer.answers import ask_to_trust
from designer.canvas.geometry import card_size
from designer.document import files
from designer.document.document import Document
from designer.document.recovery import Found
from designer.document.wording import in_plain_words
from designer.owner import Front, Owner, no_document
from designer.tasks import aside, launch
from designer.workbench import Workbench
from engine import TreeInvalid, runnable, write_tree
from engine.counting import counted

SAMPLE: Final = "samples/ssvc-deployer/tree.json"


class Filing(Owner):
    """The verbs of files. Nothing is lost without being asked about."""

    def __init__(self, workbench: Workbench, front: Front) -> None:
        super().__init__(workbench, front)
        self._deciding = False
        self._exporting: asyncio.Task[None] | None = None
        workbench.changed_outside.connect(lambda document: launch(self._ask_outside(document)))

    def open_path(self, path: Path) -> None:
        """Open a file, or show its text and what is wrong with it."""
        already = self.workbench.find(path)
        if already is not None:
            self.workbench.show_document(already)
            return
        opened = Document.open(path, card_size)
        if isinstance(opened, files.Unreadable):
            self.front.pages.show_text(opened.path, opened.text, opened.problems)
            self.front.tell(f"{path.name} cannot be edited as a tree.")
            return
        self._remember(path)
        self.workbench.add(opened)
        untrusted = self.workbench.untrusted(opened)
        declined = self.workbench.settings.declined_folders
        if untrusted is not None and untrusted.code and untrusted.folder not in declined:
            launch(ask_to_trust(self._parent, self.workbench, untrusted))

    def close(self, document: Document) -> None:
        """Close a tree; asks first when it has changes."""
        launch(self._close(document))

    async def close_all(self) -> bool:
        """Close every tree and end what runs; False, and everything as it was, when the person cancels."""
        # Nothing is closed before everything may be.
        for document in self.workbench.documents:
            if not await self._may_close(document):
                return False
        self.workbench.close()
        await self.workbench.running.ended()
        return True

    async def offer_recovery(self, *, asked: bool = False) -> None:
        """Offer what a program that died had not saved; without any, say so only when it was asked for."""
        with self.workbench.recovery.left() as left:
            if not left.found and not left.damaged:
                if asked:
                    self.front.tell("There is no unsaved work to recover.")
                return
            lines = [_found_line(found) for found in left.found]
            choice, chosen = await dialogs.ask_recover(self._parent, lines, left.damaged)
            for found in (left.found[i] for i in chosen):
                if choice == "recover":
                    await self.workbench.recover(found, card_size)
                elif choice == "discard":
                    found.discard()

    @property
    def deciding(self) -> bool:
        """Whether the person is being asked about what another program wrote."""
        return self._deciding

    # -- what may be done: None, or the reason in plain words

    def may_reload(self) -> str | None:
        """Whether the tree has a file."""
        document = self.workbench.current
        return None if document and document.path else "There is no file to read again."

    def may_go_back(self) -> str | None:
        """Whether the version before the last save is there."""
        document = self.workbench.current
        path = document.path if document else None
        there = path is not None and files.previous_path(path).exists()
        return None if there else "No earlier version of this file was kept."

    def may_take_over(self) -> str | None:
        """Whether the tree is edited elsewhere."""
        document = self.workbench.current
        return None if document and document.read_only else "This tree can be edited here already."

    def may_export(self) -> str | None:
        """Whether a tree is open, and no other is being exported."""
        return no_document(self) or ("Wait for the export, or cancel it." if self._exporting else None)

    def may_cancel_export(self) -> str | None:
        """Whether a tree is being exported."""
        return None if self._exporting else "Nothing is being exported."

    # -- commands

    @command("file.new", "&New tree", ["Ctrl+N"], icon="new")
    def new(self) -> None:
        """An empty tree."""
        self.workbench.add(Document.new())

    @command("file.open", "&Open…", ["Ctrl+O"], icon="open")
    def open(self) -> None:
        """Choose a tree file."""
        launch(self._open())

    @command("file.open-sample", "Open the &sample")
    def open_sample(self) -> None:
        """The deployer table of the CERT Coordination Center."""
        self.open_path(resource(SAMPLE))

    @command("file.save", "&Save", ["Ctrl+S"], when=no_document, icon="save")
    def save(self) -> None:
        """Store the tree where it came from, or ask where."""
        launch(self._save(self.document))

    @command("file.save-as", "Save &as…", ["Ctrl+Shift+S"], when=no_document)
    def save_as(self) -> None:
        """Store the tree in another file."""
        launch(self._save(self.document, ask=True))

    @command("file.reload", "&Reload from disk", when=may_reload)
    def reload(self) -> None:
        """Show what stands on the disk; Undo brings your version back."""
        self._reload(self.document)

    @command("file.previous", "Go back to the &version before", when=may_go_back)
    def previous(self) -> None:
        """Show the version the last save replaced, as a change that can be undone."""
        document = self.document
        draft = files.previous(document.path, document.draft, card_size) if document.path else None
        if draft is None:
            self.front.tell("The earlier version cannot be read.")
        else:
            document.edit("Go back", lambda _: draft)

    @command("file.recover", "Recover &unsaved work…")
    def recover(self) -> None:
        """Look for what a program that died had not saved."""
        launch(self.offer_recovery(asked=True))

    @command("file.take-over", "&Take over editing", when=may_take_over)
    def take_over(self) -> None:
        """Edit the tree here that is open elsewhere; it becomes read-only there."""
        self.workbench.take_over(self.document)

    @command("file.export", "&Export tree…", ["Ctrl+E"], when=no_document, icon="export")
    def export(self) -> None:
        """Write the checked tree for other runtimes."""
        launch(self._export(self.document))

    @command(
        "file.export-as",
        "Export &as…",
        ["Ctrl+Shift+E"],
        when=may_export,
        tip="A report, a picture, or a chart for other programs",
    )
    def export_as(self) -> None:
        """Write a report, a picture or a chart of the whole tree, by the name of the file."""
        launch(self._export_as(self.document))

    @command("file.cancel-export", "Cancel e&xport", when=may_cancel_export)
    def cancel_export(self) -> None:
        """Stop writing the report or picture; a file that was there stays as it was."""
        if self._exporting is not None:
            self._exporting.cancel()

    @command("file.print", "P&rint…", when=no_document)
    def print(self) -> None:
        """Print the whole tree."""
        launch(self._print(self.document))

    @command("file.trusted", "&Trusted folders…", tip="See which folders you trust, and take trust back")
    def trusted(self) -> None:
        """Show the folders whose Python code is run."""
        launch(dialogs.show_trusted(self._parent, self.workbench.settings.trusted_folders, self._distrust))

    @command("file.close", "&Close", ["Ctrl+W"], when=no_document)
    def close_current(self) -> None:
        """Close the tree; asks first when it has changes."""
        self.close(self.document)

    @command("file.quit", "&Quit", ["Ctrl+Q"])
    def quit(self) -> None:
        """Close the window."""
        self.front.close()

    # -- opening, saving, closing

    @property
    def _parent(self) -> QWidget:
        return self.front.window()

    def _remember(self, path: Path) -> None:
        recent = self.workbench.settings.with_recent(path).recent_files
        self.workbench.change_settings(recent_files=recent)

    async def _open(self) -> None:
        path = await dialogs.ask_open(self._parent)
        if path is not None:
            self.open_path(path)

    def _distrust(self, folder: Path) -> None:
        try:
            self.workbench.distrust(folder)
        except OSError as error:
            self.front.tell(f"{folder} is not trusted until you quit; that could not be kept: {error}.")

    async def _save(self, document: Document, *, ask: bool = False) -> bool:
        path = document.path
        if ask or path is None:
            name = document.title + ".json"
            path = await dialogs.ask_save(self._parent, "Save tree", name, "Tree (*.json)")
            if path is None:
                return False
        try:
            if document is self.workbench.current and not document.clean:
                document.keep_view(self.canvas.viewpoint)
            self.workbench.save(document, path)
        except files.ChangedOutside as changed:
            return await self._ask_outside(document, changed.path) and await self._save(document)
        except files.SaveFailed as failed:
            await dialogs.ask(self._parent, "Not saved", str(failed), ("OK",))
            return False
        self._remember(path)
        self.workbench.reload_cases()
        others = " and ".join(other.name for other in document.stored.renamed_in) if document.stored else ""
        self.front.tell(f"Saved {path.name}.{f' The new ids are in {others} too.' if others else ''}")
        return True

    async def _close(self, document: Document) -> None:
        if await self._may_close(document):
            self.workbench.remove(document)

    async def _may_close(self, document: Document) -> bool:
        if document.clean:
            return True
        self.workbench.show_document(document)
        choice = await dialogs.ask_save_changes(self._parent, document.title)
        return choice == "discard" or (choice == "save" and await self._save(document))

    # -- what others did

    async def _ask_outside(self, document: Document, changed: Path | None = None) -> bool:
        """Let the person decide about what another program wrote; whether they keep what is here."""
        if self._deciding or document.path is None:
            return False
        self._deciding = True
        try:
            while True:
                path, name = document.path, (changed or document.path).name
                choice = await dialogs.ask_changed_outside(self._parent, name, gone=not path.exists())
                if choice != "difference":
                    break
                text = await asyncio.to_thread(files.difference, document.draft, path, document.stored)
                await dialogs.show_difference(self._parent, name, text)
            if choice == "keep":
                document.keep_mine()
            elif choice == "reload":
                self._reload(document)
            else:
                document.put_off()
        except files.SaveFailed as failed:
            self.front.tell(str(failed))
            return False
        finally:
            self._deciding = False
        return choice == "keep"

    def _reload(self, document: Document) -> None:
        refused = document.reload(card_size)
        if refused is None:
            self.workbench.look_outside()
            self.workbench.reload_cases()
            self.front.tell("Reloaded. Undo brings back the version before.")
        else:
            document.put_off()
            self.front.tell(f"Not reloaded. {refused.problems[0].message}")

    # -- export

    async def _export(self, document: Document) -> None:
        tree, catalog = document.draft.tree, document.catalog
        try:
            data = await aside(lambda: write_tree(runnable(tree, catalog).tree))
        except TreeInvalid as refused:
            found = [p for p in refused.problems if p.severity == "error"]
            first, *_ = in_plain_words(found, tree) or found
            self.front.show_place(first.node, first.field)
            self.front.tell(f"Not exported. {first.message}")
            return
        name = document.title + ".export.json"
        path = await dialogs.ask_save(self._parent, "Export tree", name, "JSON (*.json)")
        if path is not None:
            await self._write(path, data)

    async def _export_as(self, document: Document) -> None:
        from designer.exporting import FORMS, ExportFailed, Subject, make

        forms = {suffix: form for suffix, form in FORMS.items() if suffix != "json"}
        kinds = ";;".join(f"{form.title} (*.{suffix})" for suffix, form in forms.items())
        path = await dialogs.ask_save(self._parent, "Export as", document.title + ".html", kinds)
        if path is None:
            return
        suffix = path.suffix.lower().removeprefix(".")
        if suffix not in forms:
            self.front.tell(f"The name of the file must end in .{', .'.join(forms)}.")
            return
        overlay = self.canvas.scene().overlay
        subject = Subject(document.draft, document.catalog, document.problems, overlay, theme.tokens())
        await self._while_telling(f"Exporting {path.name}…")
        try:
            with self._cancelling():
                made = await make(subject, suffix)
        except asyncio.CancelledError:
            self.front.tell(f"{path.name} was not exported.")
            raise
        except ExportFailed as failed:
            await self._tell_failure(failed)
        else:
            await self._write(path, made)

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Let the person cancel what this task does, with a button beside the sentence in the status bar."""
        button = QPushButton("Cancel export")
        button.setObjectName("export.cancel")
        button.setProperty("quiet", True)
        button.clicked.connect(self.cancel_export)
        bar = self._parent.findChild(QStatusBar)
        if bar is not None:
            bar.addPermanentWidget(button)
        self._exporting = asyncio.current_task()
        try:
            yield
        finally:
            self._exporting = None
            button.deleteLater()

    async def _write(self, path: Path, data: bytes) -> None:
        try:
            await asyncio.to_thread(files.save_bytes, path, data)
        except files.SaveFailed as failed:
            await self._tell_failure(failed)
        else:
            self.front.tell(f"Exported {path.name}.")

    async def _tell_failure(self, failed: Exception) -> None:
        self.front.tell("")
        await dialogs.ask(self._parent, "Not exported", str(failed), ("OK",))

    async def _print(self, document: Document) -> None:
        from designer.canvas.printing import print_tree, suits_landscape

        landscape = suits_landscape(document.draft)
        printer = await dialogs.ask_printer(self._parent, document.title, landscape=landscape)
        if printer is None:
            return
        pages = (
            dialogs.Button("several", "Several pages"),
            dialogs.Button("one", "One page", primary=True),
        )
        words = "On one page a large tree gets small; several pages can be read and put together."
        pressed = await dialogs.choose(self._parent, f"Print {document.title}", words, pages)
        if pressed is None:
            return
        await self._while_telling("Printing…")
        printed = print_tree(printer, document.draft, self.canvas.scene().overlay, one_page=pressed == "one")
        told = f"Printed {counted(printed, 'page')}." if printed else None
        self.front.tell(told or "The printer took nothing. Nothing was printed.")

    async def _while_telling(self, words: str) -> None:
        """Say what takes a while, and let it be seen before it begins."""
        self.front.tell(words)
        await asyncio.sleep(0.05)


def _found_line(found: Found) -> str:
    snapshot = found.snapshot
    where = str(snapshot.path.parent) if snapshot.path else "never saved"
    since = "\nThe file was changed after that." if snapshot.is_overtaken() else ""
    at = snapshot.at.astimezone()
    return f"{snapshot.name}, {at.day} {at:%B %Y, %H:%M:%S}\n{where}{since}"
