"""Every form a tree can leave in: one table by the suffix of the file, for window and command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from designer.canvas import picture
from designer.canvas.overlay import Overlay
from designer.document.draft import Draft
from designer.theme import LIGHT, Tokens
from engine import Catalog, Problem, anchors_of, dot_of, mermaid_of, report_of, runnable, write_tree
from engine.analysis import Bounds, bounds


@dataclass(frozen=True)
class Subject:
    """What is exported: a draft with what is known of it, and how its picture looks.

    ``problems`` are told in the report as they are. ``overlay`` is what the pictures show over the tree; the
    one of the report shows the problems and no run. ``scale`` is in pixels to a scene unit; None is usual.
    ``costs`` are the bounds the report tells, found with the catalog where they are not given.
    """

    draft: Draft
    catalog: Catalog | None = None
    problems: tuple[Problem, ...] = ()
    overlay: Overlay | None = None
    tokens: Tokens = LIGHT
    scale: float | None = None
    costs: Bounds | None = None

    @property
    def faulty(self) -> bool:
        """Whether the tree has errors."""
        return any(problem.severity == "error" for problem in self.problems)

    def bounds(self) -> Bounds | None:
        """What runs of the tree can cost; of an unfinished tree that is not known yet."""
        return None if self.faulty else self.costs or bounds(self.draft.tree, self.catalog)


class Form(NamedTuple):
    """A kind of file: what it is called, and what makes its bytes."""

    title: str
    write: Callable[[Subject], bytes]


def _tree(subject: Subject) -> bytes:
    return write_tree(runnable(subject.draft.tree, subject.catalog).tree)


def _picture(render: picture.Render) -> Callable[[Subject], bytes]:
    def write(subject: Subject) -> bytes:
        sized = {} if subject.scale is None else {"scale": subject.scale}
        return render(subject.draft, subject.overlay, tokens=subject.tokens, **sized)

    return write


def _report(subject: Subject) -> bytes:
    tree = subject.draft.tree
    drawn = picture.inline_svg(subject.draft, badges(subject.problems), links=anchors_of(tree))
    return report_of(
        tree,
        subject.problems,
        bounds=subject.bounds(),
        notes=[note.text for note in subject.draft.notes.values() if note.text.strip()],
        picture=drawn,
    ).encode()


def badges(problems: tuple[Problem, ...]) -> Overlay:
    """The errors of a tree at its nodes; what else was found is no matter for a picture that is passed on."""
    return Overlay().with_problems(problem for problem in problems if problem.severity == "error")


FORMS: Final[Mapping[str, Form]] = {
    "json": Form("Tree for other programs", _tree),
    "html": Form("Report", _report),
    "pdf": Form("Picture with fonts", _picture(picture.render_pdf)),
    "svg": Form("Picture of lines and texts", _picture(picture.render_svg)),
    "png": Form("Picture of pixels", _picture(picture.render_png)),
    "mmd": Form("Mermaid chart", lambda subject: mermaid_of(subject.draft.tree).encode()),
    "dot": Form("Graphviz graph", lambda subject: dot_of(subject.draft.tree).encode()),
}
"""What a tree can be exported as.

Only ``json`` is refused while the tree has errors, with ``TreeInvalid``; the others show it as it is.
"""
