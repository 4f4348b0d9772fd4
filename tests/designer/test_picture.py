"""Pictures of the whole tree: text as text, fonts as fonts, nothing as a raster, the same each time."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from PySide6.QtCore import QByteArray
from PySide6.QtSvg import QSvgRenderer

from designer import theme
from designer.canvas.geometry import card_size
from designer.canvas.overlay import Overlay
from designer.canvas.picture import FORMS, inline_svg, render_pdf, render_svg
from designer.document import edits, layout
from designer.document.draft import Draft, Note, Place
from engine import ClassifyNode, Problem, Tree, anchors_of
from tests.designer.drafts import triage
from tests.hostile import RIGHT_TO_LEFT, all_texts, hostile_trees

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


def laid_out(tree: Tree) -> Draft:
    return Draft(tree, layout.arrange(tree, {i: card_size(node, i) for i, node in tree.nodes.items()}))


def read_svg(svg: str) -> list[str]:
    """The texts of an SVG that loads nothing and runs nothing."""
    root = ET.fromstring(svg.encode())  # noqa: S314 - written by us
    texts = []
    for element in root.iter():
        kind = element.tag.rpartition("}")[2]
        assert kind in {
            "svg",
            "title",
            "g",
            "rect",
            "path",
            "polyline",
            "circle",
            "ellipse",
            "text",
            "style",
            "a",
        }
        assert all(not name.startswith("on") for name in element.attrib)
        assert kind == "a" or not any(name.endswith("href") for name in element.attrib)
        if kind == "text":
            texts.append(element.text or "")
    return texts


@settings(max_examples=40, deadline=None)
@given(hostile_trees())
def test_an_svg_of_any_tree_is_sound(tree):
    draft = laid_out(tree)
    read_svg(render_svg(draft, tokens=theme.LIGHT).decode())
    read_svg(inline_svg(draft, links=anchors_of(tree)))


@settings(max_examples=15, deadline=None)
@given(hostile_trees())
def test_a_pdf_of_any_tree_is_whole(tree):
    pdf = render_pdf(laid_out(tree), tokens=theme.LIGHT)
    # The place of the table of all objects, counted in bytes, is said at the end.
    start = re.search(rb"startxref\s+(\d+)\s+%%EOF\s*\Z", pdf)
    assert start is not None
    assert pdf[int(start[1]) :].startswith(b"xref")
    assert not re.search(rb"/Subtype\s*/Image", pdf)


def test_every_text_of_a_card_stands_in_the_svg():
    texts = read_svg(render_svg(laid_out(all_texts()), tokens=theme.LIGHT).decode())
    for text in (
        '"]',
        "\\",
        'a\\"b',
        "<script>alert(1)</script>",
        "one two three four",
        RIGHT_TO_LEFT,
        "#quot; #35;",
    ):
        assert any(text in shown for shown in texts), text


def test_a_text_stands_whole_in_the_svg_and_in_its_own_direction():
    tree = Tree(nodes={"a": ClassifyNode(name=RIGHT_TO_LEFT, answers=("left to right",))})
    svg = render_svg(laid_out(tree), tokens=theme.LIGHT).decode()
    assert f">{RIGHT_TO_LEFT}</text>" in svg
    assert svg.count('direction="rtl" text-anchor="end"') == 1


def test_a_text_in_an_svg_keeps_its_width_in_any_font():
    svg = render_svg(triage(), tokens=theme.LIGHT).decode()
    assert svg.count("<text ") == svg.count('lengthAdjust="spacingAndGlyphs"')


def test_notes_stand_in_pictures_with_their_texts():
    note = Note(Place(0, 300), 240, 80, "**Ask** <b>Mina</b> & ![x](http://example.com/x.png)")
    draft = triage()
    svg = render_svg(Draft(draft.tree, draft.places, notes={"n": note}), tokens=theme.LIGHT).decode()
    assert "Ask" in read_svg(svg)
    assert "Mina" in "".join(read_svg(svg))


def test_an_svg_names_a_font_to_fall_back_on():
    svg = render_svg(triage(), tokens=theme.LIGHT).decode()
    assert set(re.findall(r"font-family=\"'[^'\"]*', ([\w-]+)\"", svg)) <= {"sans-serif", "monospace"}
    assert svg.count("font-family=") == svg.count(", sans-serif") + svg.count(", monospace")


def test_a_picture_in_a_page_has_the_colours_of_both_modes_and_leads_to_the_nodes():
    svg = inline_svg(triage(), links={"ask": "node-2"})
    read_svg(svg)
    style = svg[svg.index("<style>") : svg.index("</style>")]
    assert theme.LIGHT.card.lower() in style
    assert theme.DARK.card.lower() in style
    assert not re.search(r'(fill|stroke)="#', svg)
    assert '<a href="#node-2" tabindex="-1"><title>ask</title><rect ' in svg


def test_the_same_tree_gives_the_same_bytes_in_every_process():
    """Sets and hash tables have another order in each; and a PDF says when it was made."""
    root = Path(__file__).parents[2]
    sample = root / "samples" / "ssvc-deployer" / "tree.json"
    code = (
        "import hashlib, sys, time\n"
        "from pathlib import Path\n"
        "from designer import theme\n"
        "from designer.canvas.geometry import card_size\n"
        "from designer.canvas.picture import FORMS, inline_svg\n"
        "from designer.document.files import open_tree\n"
        "draft = open_tree(Path(sys.argv[1]), card_size).draft\n"
        "for form, render in FORMS.items():\n"
        "    print(form, hashlib.sha256(render(draft, tokens=theme.LIGHT)).hexdigest())\n"
        "print('inline', hashlib.sha256(inline_svg(draft, links={}).encode()).hexdigest())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, str(sample)],
            cwd=root,
            env={"PATH": "", "HOME": "/", "QT_QPA_PLATFORM": "offscreen", "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


@pytest.mark.parametrize("form", FORMS)
def test_the_same_tree_gives_the_same_bytes_again(form):
    assert FORMS[form](triage(), BADGED, tokens=theme.DARK) == FORMS[form](
        triage(), BADGED, tokens=theme.DARK
    )


def test_a_pdf_says_what_it_shows_and_not_when_it_was_made():
    draft = triage()
    pdf = render_pdf(Draft(draft.tree.replace(name="Triage <1> & (2)"), draft.places), tokens=theme.LIGHT)
    assert b"Triage &lt;1&gt; &amp; (2)" in pdf
    assert b"CreationDate" not in pdf
    assert b"ModDate" not in pdf
    assert b"CreateDate" not in pdf


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_a_picture_of_an_empty_tree(form: str):
    assert len(FORMS[form](Draft(Tree()), tokens=theme.LIGHT)) > 60


def test_a_large_tree_is_drawn_whole():
    nodes = {f"n{i}": triage().tree.nodes["ask"] for i in range(200)}
    draft = Draft(Tree(nodes=nodes), {i: Place(n % 20 * 385.0, n // 20 * 220.0) for n, i in enumerate(nodes)})
    svg = render_svg(draft, tokens=theme.LIGHT).decode()
    assert all(f">{i}</text>" in svg.replace("\n", "") for i in nodes)
