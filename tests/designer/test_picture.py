"""Pictures of the whole tree: text as text, fonts as fonts, nothing as a raster."""

import re

import pytest
from PySide6.QtCore import QByteArray
from PySide6.QtSvg import QSvgRenderer

from designer import theme
from designer.canvas.overlay import Overlay
from designer.canvas.picture import FORMS, render_pdf, render_svg
from designer.document import edits
from designer.document.draft import Draft, Place
from engine import Problem, Tree
from tests.designer.drafts import triage

pytestmark = pytest.mark.usefixtures("qapp")

MARKED = Overlay(current="known", visits={"load": 1, "ask": 2}, taken=frozenset({("load", "success")}))
BADGED = MARKED.with_problems([Problem("some-code", "error", "Something is missing.", "bad")])


@pytest.mark.parametrize("tokens", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_an_svg_holds_its_texts_and_no_raster(tokens: theme.Tokens):
    svg = render_svg(triage(), BADGED, tokens=tokens).decode()
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)", svg))
    for word in ("Is it fine?", "permanentFailure", "supported", "start"):
        assert word in words
    assert "<image" not in svg
    assert "base64" not in svg
    assert QSvgRenderer(QByteArray(svg.encode())).isValid()


@pytest.mark.parametrize("tokens", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_a_pdf_holds_its_fonts_and_no_raster(tokens: theme.Tokens):
    pdf = render_pdf(triage(), BADGED, tokens=tokens)
    assert pdf.startswith(b"%PDF-")
    assert b"/FontFile2" in pdf
    assert not re.search(rb"/Subtype\s*/Image", pdf)


def page(pdf: bytes) -> tuple[float, float]:
    found = re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", pdf)
    assert found is not None
    return float(found[1]), float(found[2])


def test_a_pdf_page_is_as_large_as_the_tree_and_never_larger_than_readers_allow():
    width, height = page(render_pdf(triage(), tokens=theme.LIGHT))
    assert 1000 < width < 1300
    assert 150 < height < 500
    far = edits.move_nodes(triage(), {"bad": Place(90_000, 0)})
    assert 13_000 < page(render_pdf(far, tokens=theme.LIGHT))[0] <= 14_400


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_a_picture_of_an_empty_tree(form: str):
    assert len(FORMS[form](Draft(Tree()), tokens=theme.LIGHT)) > 60


def test_a_large_tree_is_drawn_whole():
    nodes = {f"n{i}": triage().tree.nodes["ask"] for i in range(200)}
    draft = Draft(Tree(nodes=nodes), {i: Place(n % 20 * 385.0, n // 20 * 220.0) for n, i in enumerate(nodes)})
    svg = render_svg(draft, tokens=theme.LIGHT).decode()
    assert all(f">{i}</text>" in svg.replace("\n", "") for i in nodes)
