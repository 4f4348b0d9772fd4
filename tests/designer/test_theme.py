"""The look: both modes readable, one style sheet without leftovers, every icon there."""

import re

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QIcon, QPalette
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from designer import resource, theme
from designer.theme import DARK, LIGHT

ICONS = (
    *(
        "new",
        "open",
        "save",
        "export",
        "undo",
        "redo",
        "run",
        "step",
        "pause",
        "stop",
        "fit",
        "zoom-in",
        "zoom-out",
    ),
    *(
        "action",
        "classify",
        "condition",
        "terminal",
        "problem-error",
        "problem-warning",
        "problem-info",
        "check",
    ),
    *("dot", "search", "add", "delete", "layout", "record", "transcript", "moon", "sun"),
)


def light_of(colour):
    ink = QColor(colour)
    parts = (ink.redF(), ink.greenF(), ink.blueF())
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    high, low = sorted((light_of(one), light_of(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(params=["light", "dark"])
def mode(request, qapp):
    theme.apply(qapp, request.param)
    yield request.param
    theme.apply(qapp, "light")


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_branches_and_signs_can_be_told_from_their_ground(tokens):
    for ground in (tokens.card, tokens.panel, tokens.raised, tokens.window):
        assert contrast(tokens.text, ground) >= 4.5
        assert contrast(tokens.secondary, ground) >= 4.5
        for sign in (tokens.good, tokens.warn, tokens.bad, tokens.action, tokens.classify, tokens.condition):
            assert contrast(sign, ground) >= 3
    assert contrast(tokens.branch, tokens.canvas) >= 3
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5
    assert contrast(tokens.text, tokens.wash) >= 4.5


def test_a_mode_sets_palette_and_style_sheet_from_its_tokens(mode, qapp):
    tokens = DARK if mode == "dark" else LIGHT
    assert theme.tokens() is tokens
    assert qapp.palette().color(QPalette.ColorRole.Base) == QColor(tokens.panel)
    assert tokens.accent in qapp.styleSheet()
    assert "$" not in qapp.styleSheet()


def test_every_picture_of_the_style_sheet_is_there(mode, qapp):
    pictures = re.findall(r'url\("([^"]+)"\)', qapp.styleSheet())
    assert pictures
    for picture in pictures:
        assert resource(picture).is_file()


def test_who_paints_is_told_of_another_mode_once(qapp):
    told: list[object] = []
    theme.signals.changed.connect(told.append)
    try:
        theme.apply(qapp, "dark")
        theme.apply(qapp, "dark")
        theme.apply(qapp, "light")
    finally:
        theme.signals.changed.disconnect(told.append)
    assert told == [DARK, LIGHT]


def test_following_a_system_that_says_nothing_means_light(qapp):
    theme.apply(qapp, "dark")
    theme.apply(qapp, "system")
    assert theme.tokens() is LIGHT
    theme.apply(qapp, "light")


@pytest.mark.parametrize("name", ICONS)
def test_an_icon_is_drawn_in_the_colour_asked_for(qapp, name):
    picture = theme.icon(name, "#ff0000").pixmap(24, 24).toImage()
    inked = [
        QColor(picture.pixelColor(x, y))
        for x in range(picture.width())
        for y in range(picture.height())
        if picture.pixelColor(x, y).alpha() > 200
    ]
    assert inked
    assert all(pixel.red() > 240 and pixel.green() < 15 for pixel in inked)


def test_a_disabled_icon_is_paler(qapp):
    icon = theme.icon("save")
    assert icon.pixmap(24, 24, QIcon.Mode.Disabled).toImage() != icon.pixmap(24, 24).toImage()


def test_the_focus_ring_is_two_pixels_of_accent_and_moves_nothing(mode, qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    fields = [QLineEdit("text"), QPushButton("Step")]
    for field in fields:
        column.addWidget(field)
    window.show()
    window.activateWindow()
    for field, other in zip(fields, reversed(fields), strict=True):
        other.setFocus()
        sizes = field.size(), field.sizeHint()
        field.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.waitUntil(field.hasFocus)
        picture = field.grab().toImage()
        middle = picture.height() // 2
        accent = QColor(theme.tokens().accent).name()
        assert [picture.pixelColor(QPoint(x, middle)).name() for x in (0, 1)] == [accent, accent]
        assert (field.size(), field.sizeHint()) == sizes
