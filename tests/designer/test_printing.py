"""A tree on paper: on one page, or on as many as it takes to be read."""

import re

import pytest
from PySide6.QtCore import QBuffer, QMarginsF
from PySide6.QtGui import QPageLayout, QPageSize, QPdfWriter
from PySide6.QtPrintSupport import QPrinter

from designer.canvas.printing import print_tree, suits_landscape
from designer.document import edits
from designer.document.draft import Draft, Place
from engine import Tree
from tests.designer.drafts import triage

pytestmark = pytest.mark.usefixtures("qapp")


def printed(draft: Draft, *, one_page: bool, landscape: bool = False) -> tuple[int, bytes]:
    """How many pages were painted, and the PDF."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    turned = QPageLayout.Orientation.Landscape if landscape else QPageLayout.Orientation.Portrait
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4), turned, QMarginsF(15, 15, 15, 15), QPageLayout.Unit.Millimeter
        )
    )
    pages = print_tree(writer, draft, one_page=one_page)
    del writer
    return pages, bytes(buffer.data().data())


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def spread(columns: int, rows: int) -> Draft:
    """Cards far apart from each other."""
    ask = triage().tree.nodes["ask"]
    names = [f"n{n}" for n in range(columns * rows)]
    places = {name: Place(n % columns * 900.0, n // columns * 900.0) for n, name in enumerate(names)}
    return Draft(Tree(tree_id="spread", nodes=dict.fromkeys(names, ask)), places)


@pytest.mark.parametrize("landscape", [False, True])
def test_a_tree_of_any_size_fits_on_one_page(landscape):
    for draft in (triage(), spread(9, 9), Draft(Tree())):
        pages, pdf = printed(draft, one_page=True, landscape=landscape)
        assert (pages, pages_of(pdf)) == (1, 1)


def test_a_printed_page_holds_fonts_and_no_raster():
    for one_page in (True, False):
        _, pdf = printed(spread(3, 2), one_page=one_page)
        assert b"/FontFile2" in pdf
        assert not re.search(rb"/Subtype\s*/Image", pdf)


def test_a_large_tree_takes_as_many_pages_as_it_needs_to_be_read():
    pages, pdf = printed(spread(3, 2), one_page=False)
    assert pages_of(pdf) == pages
    assert 1 < pages < printed(spread(6, 4), one_page=False)[0]


def test_a_tree_that_fits_at_a_readable_size_takes_one_page():
    small = edits.remove_nodes(triage(), {"known", "good", "bad"})
    assert printed(small, one_page=False, landscape=True)[0] == 1


def test_pages_on_which_nothing_stands_are_left_out():
    corners = edits.remove_nodes(spread(5, 5), {f"n{n}" for n in range(25)} - {"n0", "n24"})
    whole, _ = printed(spread(5, 5), one_page=False)
    assert printed(corners, one_page=False)[0] == 2 < whole


def test_a_wide_tree_suits_landscape_and_a_high_one_does_not():
    assert suits_landscape(triage())
    assert not suits_landscape(spread(1, 4))


def test_a_printer_prints_what_a_pdf_writer_does(tmp_path):
    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
    printer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    printer.setOutputFileName(str(tmp_path / "out.pdf"))
    pages = print_tree(printer, spread(3, 2), one_page=False)
    del printer
    assert pages_of((tmp_path / "out.pdf").read_bytes()) == pages > 1


@pytest.mark.qt_log_ignore("Returned false")
def test_nothing_is_printed_where_nothing_can_be_written(tmp_path):
    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
    printer.setOutputFileName(str(tmp_path / "none" / "out.pdf"))
    assert print_tree(printer, triage()) == 0
