"""How everything looks: the colour tokens of both modes, the palette and style sheet made of them, the icons.

Fusion with our own palette looks the same on every platform; ``setColorScheme`` alone does not darken an
application on most Linux desktops.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from string import Template
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from designer import resource

Mode: TypeAlias = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one mode, by use. Text on cards keeps 4.5:1, branches at rest 3:1 on the canvas."""

    dark: bool
    canvas: str
    window: str
    panel: str
    raised: str
    card: str
    line: str
    grid: str
    text: str
    secondary: str
    accent: str
    wash: str
    on_accent: str
    action: str
    classify: str
    condition: str
    good: str
    warn: str
    bad: str
    branch: str


LIGHT: Final = Tokens(
    dark=False,
    canvas="#EEF0F4",
    window="#F3F4F7",
    panel="#FFFFFF",
    raised="#F8F9FB",
    card="#FFFFFF",
    line="#D9DDE5",
    grid="#D5DAE3",
    text="#1B2130",
    secondary="#596275",
    accent="#2F6FEB",
    wash="#C7D8FA",
    on_accent="#FFFFFF",
    action="#1F6FB2",
    classify="#7A4FC9",
    condition="#A35C00",
    good="#1C7C4A",
    warn="#8A6100",
    bad="#B3261E",
    branch="#778195",
)
DARK: Final = Tokens(
    dark=True,
    canvas="#111318",
    window="#15171C",
    panel="#1C1F26",
    raised="#232731",
    card="#1E222B",
    line="#313744",
    grid="#22262F",
    text="#E6E9F0",
    secondary="#9AA4B6",
    accent="#6EA0FF",
    wash="#24344F",
    on_accent="#111318",
    action="#5AA9E6",
    classify="#B08CFF",
    condition="#F0A43A",
    good="#4CC38A",
    warn="#E3B341",
    bad="#FF7A70",
    branch="#6A7489",
)

GRID: Final = 22
"""Distance of the dots on the canvas."""
RADIUS: Final = 6
"""Corners of fields and buttons."""
CARD_RADIUS: Final = 9
"""Corners of cards."""
ROW: Final = 27
"""Height of a row in a list."""
TOOLBAR: Final = 46
"""Height of the toolbar."""


class _Signals(QObject):
    changed = Signal(object)
    """The tokens now in force; sent after palette and style sheet are set."""


signals: Final = _Signals()


@dataclass(slots=True)
class _State:
    mode: Mode = "system"
    tokens: Tokens = LIGHT
    follows: bool = False


_state: Final = _State()


def tokens() -> Tokens:
    """The colours in force."""
    return _state.tokens


def apply(app: QApplication, mode: Mode) -> None:
    """Give the whole application the look of this mode; ``system`` follows the desktop from now on."""
    hints = app.styleHints()
    _state.mode = mode
    wanted = {"dark": Qt.ColorScheme.Dark, "light": Qt.ColorScheme.Light}.get(mode, Qt.ColorScheme.Unknown)
    hints.setColorScheme(wanted)  # title bars and file dialogs, where the platform can; Unknown lets go
    if not _state.follows:
        _state.follows = True
        app.setStyle("Fusion")
        app.setFont(font())
        hints.colorSchemeChanged.connect(lambda _: _dress(app))
        _dress(app, always=True)
    else:
        _dress(app)


@contextmanager
def undressed(app: QApplication) -> Iterator[None]:
    """Make many widgets without the style sheet, which is given to all of them at the end.

    A widget that has one is dressed anew, with all in it, each time it is put into another.
    """
    app.setStyleSheet("")
    try:
        yield
    finally:
        app.setStyleSheet(_style_sheet(tokens()))


def font(size: int = 13, *, bold: bool = False, mono: bool = False) -> QFont:
    """The interface font (Inter where it is installed) or the monospaced one, ``size`` pixels high."""
    if mono:
        face = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    else:
        face = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        if "Inter" in QFontDatabase.families():
            face.setFamilies(["Inter"])
    face.setPixelSize(size)
    face.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return face


@lru_cache(maxsize=256)
def drawing(name: str, colour: str) -> QSvgRenderer:
    """The icon ``resources/icons/NAME.svg`` in this colour, to be painted at any size."""
    source = resource(f"resources/icons/{name}.svg").read_text(encoding="utf-8")
    return QSvgRenderer(QByteArray(source.replace("currentColor", colour).encode()))


def icon(name: str, colour: str | None = None) -> QIcon:
    """The icon in this colour (else the colour of text), paler while disabled.

    Icons are pictures of one mode: ask again when ``signals.changed`` is sent.
    """
    colours = tokens()
    picture = QIcon()
    ink = colour or colours.text
    # Without a picture of its own a selected icon gets a tint.
    lit, pale = (QIcon.Mode.Normal, QIcon.Mode.Selected), (QIcon.Mode.Disabled,)
    for shade, modes in ((ink, lit), (faint(colours), pale)):
        for size in (16, 20, 24, 32, 48):
            pixmap = QPixmap(QSize(size, size))
            pixmap.fill(Qt.GlobalColor.transparent)
            painter = QPainter(pixmap)
            drawing(name, shade).render(painter, QRectF(0, 0, size, size))
            painter.end()
            for mode in modes:
                picture.addPixmap(pixmap, mode)
    return picture


def faint(colours: Tokens) -> str:
    """Ink for what is disabled."""
    return mixed(colours.secondary, colours.panel, 0.55)


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two: ``share`` of the first."""
    a, b = QColor(one), QColor(other)
    parts = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    return QColor(*(round(x * share + y * (1 - share)) for x, y in parts)).name()


def _dress(app: QApplication, *, always: bool = False) -> None:
    dark = _state.mode == "dark" or (
        _state.mode == "system" and app.styleHints().colorScheme() == Qt.ColorScheme.Dark
    )
    colours = DARK if dark else LIGHT
    if colours is _state.tokens and not always:
        return
    _state.tokens = colours
    app.setPalette(_palette(colours))
    app.setStyleSheet(_style_sheet(colours))
    signals.changed.emit(colours)


def _palette(colours: Tokens) -> QPalette:
    role, palette = QPalette.ColorRole, QPalette()
    for colour, roles in (
        (colours.window, (role.Window,)),
        (colours.panel, (role.Base, role.ToolTipBase)),
        (colours.raised, (role.AlternateBase, role.Button, role.Midlight, role.Light)),
        (colours.text, (role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.HighlightedText)),
        (colours.secondary, (role.PlaceholderText,)),
        (colours.line, (role.Mid, role.Dark)),
        (colours.wash, (role.Highlight,)),
        (colours.accent, (role.Accent, role.Link, role.LinkVisited)),
        (colours.bad, (role.BrightText,)),
    ):
        for each in roles:
            palette.setColor(each, QColor(colour))
    palette.setColor(role.Shadow, QColor("#000000"))
    for each in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        palette.setColor(QPalette.ColorGroup.Disabled, each, QColor(faint(colours)))
    return palette


def _style_sheet(colours: Tokens) -> str:
    words: dict[str, object] = {name: getattr(colours, name) for name in Tokens.__slots__}
    words |= {
        "icons": resource("resources/icons").as_posix(),
        "mode": "dark" if colours.dark else "light",
        "faint": faint(colours),
        "hover": mixed(colours.text, colours.panel, 0.05),
        "pressed": mixed(colours.text, colours.panel, 0.10),
        "accent_hover": mixed(colours.accent, colours.text, 0.88),
        "thumb": mixed(colours.secondary, colours.panel, 0.40),
        "thumb_hover": mixed(colours.secondary, colours.panel, 0.70),
        "mono": QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family(),
    }
    return Template(_SHEET).substitute(words)


# A focus ring takes the place of a hairline and a pixel of padding, so that nothing moves when focus does.
# Properties on widgets: primary (the one button that goes on), danger, quiet (text only), role=label, mono,
# popup (a box that lies over others).
_SHEET: Final = """
QMainWindow, QDialog { background: $window; }
QMainWindow::separator { background: $line; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: $accent; }
QWidget { color: $text; }
QWidget:disabled { color: $faint; }
QToolTip { background: $panel; color: $text; border: 1px solid $line; padding: 4px 6px; }
QLabel[role="label"] { color: $secondary; font-size: 12px; }
QLabel[role="title"] { font-weight: 600; font-size: 15px; }
QLabel[role="good"] { color: $good; }
QLabel[role="warn"] { color: $warn; }
QLabel[role="bad"] { color: $bad; }
*[mono="true"] { font-family: "$mono"; }

QToolBar { background: $panel; border: none; border-bottom: 1px solid $line; padding: 0 10px; spacing: 6px;
    min-height: 45px; }
QToolBar::separator { background: $line; width: 1px; margin: 11px 8px; }
QStatusBar { background: $panel; border-top: 1px solid $line; color: $secondary; }
QStatusBar::item { border: none; }
QMenuBar { background: $panel; border-bottom: 1px solid $line; padding: 2px 6px; }
QMenuBar::item { background: transparent; padding: 4px 9px; border-radius: 5px; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $panel; border: 1px solid $line; padding: 5px; }
QMenu::item { padding: 5px 26px 5px 10px; border-radius: 5px; }
QMenu::item:selected { background: $wash; }
QMenu::item:disabled { color: $faint; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: $line; margin: 5px 6px; }

QDockWidget { background: $panel; font-weight: 600; titlebar-close-icon: url("$icons/dock-close-$mode.svg");
    titlebar-normal-icon: url("$icons/dock-float-$mode.svg"); }
QDockWidget::close-button, QDockWidget::float-button { border: none; border-radius: 5px; padding: 0;
    background: transparent; icon-size: 16px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: $pressed; }
QDockWidget::title { background: $panel; padding: 9px 11px 8px 11px; border-bottom: 1px solid $line; }
QDockWidget > QWidget { background: $panel; }
QTabBar { background: $panel; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: $secondary; padding: 7px 10px 6px 10px; margin: 0;
    border: none; border-bottom: 2px solid transparent; font-weight: 500; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; font-weight: 600; }
QTabBar::tab:focus { color: $text; background: $wash; }
QTabBar::tab:disabled { color: $faint; }
QTabBar#documents { qproperty-expanding: 0; }
QTabBar#documents::close-button { image: url("$icons/close-$mode.svg"); border-radius: 4px; }
QTabBar#documents::close-button:hover { background: $pressed; }
QTabBar#documents::tab { background: $window; padding: 8px 16px 7px 16px; border: none;
    border-top: 2px solid transparent; border-right: 1px solid $line; }
QTabBar#documents::tab:selected { background: $canvas; border-top-color: $accent; }
QTabWidget::pane { border: none; border-top: 1px solid $line; background: $panel; }
QScrollArea, QScrollArea > QWidget > QWidget { background: $panel; border: none; }
QSplitter::handle { background: $line; }
QFrame[frameShape="4"], QFrame[frameShape="5"] { color: $line; }
QFrame[popup="true"] { background: $panel; border: 1px solid $branch; border-radius: 9px; }

QLineEdit, QPlainTextEdit, QTextEdit, QComboBox, QAbstractSpinBox { background: $raised; color: $text;
    border: 1px solid $line; border-radius: 6px; padding: 4px 8px; selection-background-color: $wash;
    selection-color: $text; }
QPlainTextEdit, QTextEdit { padding: 3px 5px; }
QLineEdit:hover, QPlainTextEdit:hover, QTextEdit:hover, QComboBox:hover, QAbstractSpinBox:hover {
    border-color: $branch; }
QLineEdit:focus, QComboBox:focus, QAbstractSpinBox:focus { border: 2px solid $accent; padding: 3px 7px; }
QPlainTextEdit:focus, QTextEdit:focus { border: 2px solid $accent; padding: 2px 4px; }
QLineEdit:read-only, QPlainTextEdit[readOnly="true"], QTextEdit[readOnly="true"] { background: $panel; }
QLineEdit:disabled, QPlainTextEdit:disabled, QComboBox:disabled, QAbstractSpinBox:disabled {
    background: $window; color: $faint; }
QLineEdit[invalid="true"], QPlainTextEdit[invalid="true"], QComboBox[invalid="true"],
QAbstractSpinBox[invalid="true"] { border-color: $bad; }
QComboBox { padding-right: 24px; }
QComboBox:focus { padding-right: 23px; }
QComboBox::drop-down { border: none; width: 24px; subcontrol-position: right center; }
QComboBox::down-arrow { image: url("$icons/chevron-down.svg"); width: 12px; height: 12px; }
QComboBox { combobox-popup: 0; }
QComboBox QAbstractItemView { background: $panel; border: 1px solid $branch; border-radius: 0; padding: 0;
    selection-background-color: $wash; selection-color: $text; outline: none; }
QComboBox QAbstractItemView:focus { border: 1px solid $branch; }
QFileDialog QToolButton { padding: 4px; }
QFileDialog QToolButton:focus { padding: 3px; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { background: transparent; border: none; padding: 0; }
QAbstractSpinBox QLineEdit { padding-left: 7px; }
QAbstractSpinBox { padding-right: 20px; }
QAbstractSpinBox:focus { padding-right: 19px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; width: 18px;
    background: transparent; }
QAbstractSpinBox::up-arrow { image: url("$icons/chevron-up.svg"); width: 10px; height: 10px; }
QAbstractSpinBox::down-arrow { image: url("$icons/chevron-down.svg"); width: 10px; height: 10px; }

QPushButton, QToolButton { background: $raised; color: $text; border: 1px solid $line; border-radius: 6px;
    padding: 5px 11px; }
QPushButton:hover, QToolButton:hover { background: $hover; border-color: $branch; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: $pressed; }
QPushButton:focus, QToolButton:focus { border: 2px solid $accent; padding: 4px 10px; }
QPushButton:disabled, QToolButton:disabled { background: $window; color: $faint; border-color: $line; }
QPushButton[primary="true"], QToolButton[primary="true"] { background: $accent; color: $on_accent;
    border-color: $accent; font-weight: 600; }
QPushButton[primary="true"]:hover, QToolButton[primary="true"]:hover { background: $accent_hover; }
QPushButton[primary="true"]:focus, QToolButton[primary="true"]:focus { border-color: $text; }
QPushButton[primary="true"]:disabled, QToolButton[primary="true"]:disabled { background: $window;
    color: $faint; border-color: $line; }
QPushButton[danger="true"] { color: $bad; }
QPushButton[quiet="true"], QToolButton[quiet="true"] { background: transparent; border-color: transparent;
    color: $accent; padding: 4px 6px; }
QPushButton[quiet="true"]:focus, QToolButton[quiet="true"]:focus { border-color: $accent; padding: 3px 5px; }
QToolBar QToolButton { background: transparent; border-color: transparent; padding: 5px 9px; }
QToolBar QToolButton:hover { background: $hover; border-color: $line; }
QToolBar QToolButton:focus { border: 2px solid $accent; padding: 4px 8px; }
QToolBar QToolButton:disabled { background: transparent; border-color: transparent; }
QToolBar QToolButton[primary="true"] { background: $accent; border-color: $accent; }
QToolBar QToolButton[primary="true"]:hover { background: $accent_hover; }
QToolBar QToolButton[primary="true"]:disabled { background: $window; border-color: $line; }
QToolButton::menu-indicator { image: none; }
QCheckBox, QRadioButton { spacing: 7px; padding: 3px; border: 2px solid transparent; border-radius: 6px; }
QCheckBox:focus, QRadioButton:focus { border-color: $accent; }
QCheckBox::indicator, QRadioButton::indicator, QMenu::indicator { width: 14px; height: 14px;
    background: $raised; border: 1px solid $branch; border-radius: 4px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:checked, QMenu::indicator:checked { background: $accent; border-color: $accent;
    image: url("$icons/tick-$mode.svg"); }
QRadioButton::indicator:checked { width: 6px; height: 6px; background: $on_accent;
    border: 5px solid $accent; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { background: $window; border-color: $line; }
QMenu::indicator { margin-left: 8px; }

QTreeView, QListView, QTableView { background: $panel; alternate-background-color: $raised;
    border: 2px solid transparent; outline: none; selection-background-color: $wash; selection-color: $text; }
QTreeView:focus, QListView:focus, QTableView:focus { border-color: $accent; }
QTreeView::item, QListView::item { min-height: 27px; padding: 0 6px; border: none; }
QTableView::item { padding: 0 6px; border: none; }
QTreeView::item:hover, QListView::item:hover, QTableView::item:hover { background: $hover; color: $text; }
QTreeView::item:selected, QListView::item:selected, QTableView::item:selected { background: $wash;
    color: $text; }
QTreeView::branch { background: transparent; }
QTreeView::branch:selected { background: $wash; }
QTreeView::branch:has-children:closed { image: url("$icons/branch-closed.svg"); }
QTreeView::branch:has-children:open { image: url("$icons/branch-open.svg"); }
QTableView { gridline-color: $line; }
QHeaderView { background: $panel; border: none; }
QHeaderView::section { background: $panel; color: $secondary; border: none; border-bottom: 1px solid $line;
    padding: 5px 6px; font-size: 12px; font-weight: 400; }
QTableCornerButton::section { background: $panel; border: none; }

QFrame#timeline { background: $panel; border: none; border-top: 1px solid $line; }
QFrame#timeline[state="past"] { background: $wash; }
QFrame#timeline QToolButton { background: transparent; border-color: transparent; padding: 3px; }
QFrame#timeline QToolButton:hover { background: $hover; }
QFrame#timeline QToolButton:focus { border: 2px solid $accent; padding: 2px; }
QSlider::groove:horizontal { height: 4px; background: $line; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::sub-page:horizontal:disabled { background: $line; }
QSlider::handle:horizontal { width: 12px; margin: -5px 0; border: 1px solid $panel; border-radius: 7px;
    background: $accent; }
QSlider::handle:horizontal:focus { border-color: $text; }
QSlider::handle:horizontal:disabled { background: $thumb; }

QGraphicsView { background: $canvas; border: none; }
QGraphicsView:focus { border: none; }
QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 11px; }
QScrollBar:horizontal { height: 11px; }
QScrollBar::handle { background: $thumb; border: 3px solid transparent; border-radius: 5px;
    background-clip: padding; min-height: 28px; min-width: 28px; }
QScrollBar::handle:hover { background: $thumb_hover; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }
"""
