"""The whole tree as a picture, however the view is zoomed: for export and for runs without a screen.

Every card is drawn from its own items, never from copies of pixels, so SVG and PDF hold lines and text. The
same tree gives the same bytes each time, with the same fonts and Qt.
"""

import re
import secrets
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from html import escape
from typing import Final, TypeAlias
from unicodedata import bidirectional

from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QCoreApplication,
    QHashSeed,
    QIODevice,
    QMarginsF,
    QPoint,
    QPointF,
    QRectF,
    QSizeF,
    QUuid,
)
from PySide6.QtGui import (
    QFont,
    QFontInfo,
    QFontMetricsF,
    QImage,
    QPageSize,
    QPainter,
    QPdfWriter,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication

from designer.canvas.overlay import Overlay
from designer.canvas.scene import Scene
from designer.document.draft import Draft
from designer.theme import CARD_RADIUS, DARK, LIGHT, Tokens
from engine import NodeId

_MARGIN: Final = 32.0
_HARDLY: Final = 1e-6  # of the distance between layers of items
_MOST_PIXELS: Final = 60_000_000  # 240 MB; Qt programs refuse to open more than 256 MB
_PRESSURE: Final = 3  # of zlib; more of it makes files a fifth smaller in twice the time
_LONGEST_SIDE: Final = 32_000  # Qt draws no further
_LONGEST_PAGE: Final = 14_000  # points; readers of PDF know no longer side than 14,400
_DPI: Final = 96  # a scene unit is a pixel of this size; at Qt's own 1200 texts and lines come out too small
_POINT: Final = 72 / _DPI


def render_png(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 2.0) -> bytes:
    """The tree and its marks as a PNG, ``scale`` pixels to a scene unit.

    A picture that would be too large to be opened is drawn at the largest scale that is not.
    """
    scene, box = whole(draft, overlay, tokens)
    scale = min(
        scale,
        (_MOST_PIXELS / (box.width() * box.height())) ** 0.5,
        _LONGEST_SIDE / max(box.width(), box.height()),
    )
    image = QImage(round(box.width() * scale), round(box.height() * scale), QImage.Format.Format_RGB32)
    image.fill(scene.look.canvas)
    _paint(QPainter(image), scene, QRectF(image.rect()), box)
    return _png(image)


def render_svg(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 1.0) -> bytes:
    """The tree and its marks as an SVG whose texts are texts."""
    scene, box = whole(draft, overlay, tokens)
    title = f"<title>{_text(draft.tree.name or draft.tree.tree_id or 'Tree')}</title>"
    root = f'width="{box.width() * scale:g}" height="{box.height() * scale:g}" {_view(box)} role="img"'
    return f"{_PROLOG}<svg {root}>\n{title}\n{_elements(scene, box)}</svg>\n".encode()


def render_pdf(draft: Draft, overlay: Overlay | None = None, *, tokens: Tokens, scale: float = 1.0) -> bytes:
    """The tree and its marks as one page of PDF with its fonts, at most as large as readers allow."""
    scene, box = whole(draft, overlay, tokens)
    scale = min(scale, _LONGEST_PAGE / (max(box.width(), box.height()) * _POINT))
    buffer, title = _buffer(), draft.tree.name or draft.tree.tree_id or "Tree"
    with _same_order():
        writer = QPdfWriter(buffer)
        writer.setResolution(_DPI)
        writer.setTitle(title)
        writer.setDocumentId(QUuid())
        writer.setDocumentXmpMetadata(QByteArray(_XMP.format(_text(title)).encode()))
        size = QSizeF(box.width(), box.height()) * scale * _POINT
        writer.setPageSize(QPageSize(size, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch))
        writer.setPageMargins(QMarginsF())
        paper = QRectF(QPoint(), QSizeF(writer.width(), writer.height()))
        _paint(QPainter(writer), scene, paper, box, ground=True)
        del writer
    # Qt writes when the file was made; places in a PDF are counted in bytes, so blanks stand there instead.
    return _DATES.sub(lambda date: b" " * len(date[0]), bytes(buffer.data().data()), count=2)


Render: TypeAlias = Callable[..., bytes]

FORMS: Final[Mapping[str, Render]] = {"png": render_png, "svg": render_svg, "pdf": render_pdf}
"""How each kind of picture is made, by the suffix of its files."""


def inline_svg(draft: Draft, overlay: Overlay | None = None, *, links: Mapping[NodeId, str]) -> str:
    """The tree as an SVG element for a page, light or dark as its reader has it.

    ``links`` are the ids of the elements of that page that each card leads to.
    """
    scene, box = whole(draft, overlay, LIGHT)
    light = _elements(scene, box, ground=False)
    scene.restyle(DARK)
    dark = _elements(scene, box, ground=False)
    pairs = list(zip(_COLOUR.findall(light), _COLOUR.findall(dark), strict=True))
    names = {pair: f"--c{number}" for number, pair in enumerate(dict.fromkeys(pairs))}
    named = iter(pairs)
    drawn = _COLOUR.sub(lambda _: f"var({names[next(named)]})", light)
    day, night = ("".join(f"{name}:{pair[mode]};" for pair, name in names.items()) for mode in (0, 1))
    style = _INLINE_STYLE.format(day=day, night=night, accent=(LIGHT.accent, DARK.accent))
    anchors = "".join(
        f'<a href="#{escape(anchor)}" tabindex="-1"><title>{_text(scene.card(node_id).headline)}</title>'
        f'<rect x="{card.x - box.x():g}" y="{card.y - box.y():g}" width="{card.w:g}" height="{card.h:g}" '
        f'rx="{CARD_RADIUS}"/></a>'
        for node_id, anchor in links.items()
        for card in (scene.card(node_id).card,)
    )
    # A page narrower than the picture shows it smaller, as long as it can be read.
    size = f"width:100%;max-width:{box.width():g}px;min-width:{box.width() * _LEAST:g}px;height:auto"
    root = f'class="tree" style="{size}" {_view(box)} role="img" aria-label="The tree"'
    return f"<svg {root}>\n{style}{drawn}{anchors}</svg>"


def whole(draft: Draft, overlay: Overlay | None, tokens: Tokens) -> tuple[Scene, QRectF]:
    """A scene with all its items, and the part of it to paint."""
    _application()
    scene = Scene(tokens)
    scene.show(draft, overlay)
    scene.settle()
    # Items that cross lie over each other as the tree has them, not in the order they were made.
    edges, nodes = scene.edge_items, scene.node_items
    branches = ((node_id, branch) for node_id in draft.tree.nodes for branch in scene.card(node_id).rows)
    lines = [edges[key] for key in branches if key in edges]
    for number, item in enumerate((*lines, *(nodes[node_id] for node_id in draft.tree.nodes))):
        item.setZValue(item.zValue() + number * _HARDLY)
    return scene, scene.contents().adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)


def _paint(painter: QPainter, scene: Scene, paper: QRectF, box: QRectF, *, ground: bool = False) -> None:
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    if ground:
        painter.fillRect(paper, scene.look.canvas)
    scene.render(painter, paper, box)
    painter.end()


# -- PNG


def _png(image: QImage) -> bytes:
    """The pixels as a file. Qt tries five filters on every row, which flat colours are no smaller for."""
    image.convertTo(QImage.Format.Format_RGB888)
    pixels, step, row = image.constBits(), image.bytesPerLine(), 3 * image.width()
    press = zlib.compressobj(_PRESSURE)
    rows = [press.compress(b"\0" + pixels[at : at + row]) for at in range(0, step * image.height(), step)]
    header = struct.pack(">IIBBBBB", image.width(), image.height(), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", b"".join(rows) + press.flush()), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


# -- SVG

_LEAST: Final = 0.65
_PROLOG: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_INLINE_STYLE: Final = (
    "<style>.tree{{{day}--lit:{accent[0]}}}"
    "@media screen and (prefers-color-scheme:dark){{.tree{{{night}--lit:{accent[1]}}}}}"
    ".tree a rect{{fill:transparent}}.tree a:hover rect{{stroke:var(--lit);stroke-width:2}}</style>"
)
_LEFTWARDS: Final = 'direction="rtl" text-anchor="end" '
_NOT_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLOUR: Final = re.compile(r"#[0-9a-f]{6}\b(?=\")")
_FAMILY: Final = re.compile(r'font-family="([^"]*)"')
# What holds everywhere is said once, in a group around all others.
_USUAL: Final = 'stroke-width="1" fill-rule="evenodd" stroke-linecap="square" stroke-linejoin="bevel"'
_CLUTTER: Final = re.compile(
    r'<g [^>]*>\s*</g>\s*|(?<=\)")\sfont-[^>]*(?=>)|\s(?:(?:fill|stroke)-opacity="1"|vector-effect="none"'
    rf'|font-weight="400"|font-style="normal"|{_USUAL.replace(" ", "|")})'
)


class _Scribe(QPainter):
    """Writes each text of a card as one element, for its reader to shape, as wide as it is here.

    Qt would cut it where its direction or the font changes, and leave brackets the wrong way round. So it
    draws a word nobody can have written, and the text is put in its place.
    """

    def __init__(self, device: QSvgGenerator) -> None:
        super().__init__(device)
        self._word, self._texts = secrets.token_hex(8), list[str]()

    def drawText(self, at: QPointF, text: str) -> None:  # type: ignore[override]
        """Draw a text of one line from this place on."""
        super().drawText(at, f"{self._word}-{len(self._texts)}")
        strong = next((way for way in map(bidirectional, text) if way in {"L", "R", "AL"}), "L")
        way = _LEFTWARDS if strong != "L" else ""
        width = QFontMetricsF(self.font()).horizontalAdvance(text)
        fit = f'textLength="{width:g}" lengthAdjust="spacingAndGlyphs"' if width else ""
        self._texts.append(f"{way}{fit}>{_text(text)}<")

    def told(self, drawn: str) -> str:
        """What was drawn, with all texts."""
        return re.sub(rf">{self._word}-(\d+)<", lambda word: self._texts[int(word[1])], drawn)


def _elements(scene: Scene, box: QRectF, *, ground: bool = True) -> str:
    """What Qt draws of a scene, without what says nothing."""
    buffer, writer = _buffer(), QSvgGenerator()
    paper = QRectF(0, 0, box.width(), box.height())
    writer.setOutputDevice(buffer)
    writer.setResolution(_DPI)
    writer.setSize(paper.size().toSize())
    writer.setViewBox(paper)
    painter = _Scribe(writer)
    _paint(painter, scene, paper, box, ground=ground)
    written = bytes(buffer.data().data()).decode("utf-8", "replace")
    drawn = written[written.index(">", written.index("<g ")) + 1 : written.rindex("</g>")]
    drawn = _CLUTTER.sub("", painter.told(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn)))
    drawn = _FAMILY.sub(lambda face: f'font-family="{_family(face[1])}"', drawn)
    return f"<g {_USUAL}>{drawn}</g>"


@cache
def _family(name: str) -> str:
    """A font, and what to take where it is not installed."""
    return f"'{name}', {'monospace' if QFontInfo(QFont(name)).fixedPitch() else 'sans-serif'}"


def _view(box: QRectF) -> str:
    return f'viewBox="0 0 {box.width():g} {box.height():g}" xmlns="http://www.w3.org/2000/svg"'


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


# -- PDF

_DATES: Final = re.compile(rb"/(?:Creation|Mod)Date \(D:[^)]*\)")
_XMP: Final = (
    "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?>"
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt>'
    '<rdf:li xml:lang="x-default">{}</rdf:li></rdf:Alt></dc:title></rdf:Description></rdf:RDF></x:xmpmeta>'
    "<?xpacket end='w'?>"
)


@contextmanager
def _same_order() -> Iterator[None]:
    """Qt writes the fonts of a PDF in the order of a hash table, which is another one in each process."""
    QHashSeed.setDeterministicGlobalSeed()
    try:
        yield
    finally:
        QHashSeed.resetRandomGlobalSeed()


def _buffer() -> QBuffer:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return buffer


@cache
def _application() -> QCoreApplication:
    """Items need an application; where nobody made one, there is no screen to ask for either."""
    return QApplication.instance() or QApplication(["treewright", "-platform", "offscreen"])
