"""The same thousand cards on other canvases, beside ours (goal C-G3): part of ``make bench-peers``.

Each canvas is measured in a process of its own, because two of them cannot live in one. All times are
processor time of the window's thread. A peer that this Python cannot import is named and left out.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from designer.document.draft import Draft
from tests.benchmarks.forest import field
from tests.benchmarks.measuring import Goals

NODES = 1_000
WIDTH, HEIGHT = 1920, 1080


def spent(work: Callable[[], object]) -> float:
    """Milliseconds of processor time this takes."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


def links(draft: Draft) -> list[tuple[str, int, str]]:
    """Source, the place of the branch among its branches, target."""
    return [
        (source, port, target)
        for source, node in draft.tree.nodes.items()
        for port, target in enumerate(node.targets.values())
        if source != target
    ]


def ours(draft: Draft) -> tuple[Callable[[], object], Any]:
    from designer.canvas.overlay import Overlay
    from designer.canvas.view import CanvasView

    view = CanvasView(lambda *_: None)
    return lambda: view.show_draft(draft, Overlay(), frozenset()), view


def node_graph(package: str) -> Callable[[Draft], tuple[Callable[[], object], Any]]:
    def prepare(draft: Draft) -> tuple[Callable[[], object], Any]:
        library: Any = __import__(package)

        class Card(library.BaseNode):  # type: ignore[misc]
            __identifier__ = "bench"
            NODE_NAME = "card"

            def __init__(self) -> None:
                super().__init__()
                self.add_input("in", multi_input=True)
                for port in range(3):
                    self.add_output(f"out{port}", multi_output=True)

        graph = library.NodeGraph()
        graph.set_acyclic(False)  # with the check on, cards that join do not come to an end
        graph.register_node(Card)

        def build() -> None:
            cards = {
                node_id: graph.create_node(
                    "bench.Card", name=node_id, pos=(place.x, place.y), selected=False, push_undo=False
                )
                for node_id, place in draft.places.items()
            }
            for source, port, target in links(draft):
                cards[source].output(port).connect_to(cards[target].input(0), push_undo=False)

        return build, graph.viewer()

    return prepare


def qtpynodeeditor(draft: Draft) -> tuple[Callable[[], object], Any]:
    import qtpynodeeditor as library  # type: ignore[import-not-found]

    class Value(library.NodeData):  # type: ignore[misc]
        data_type = library.NodeDataType("value", "value")

    class Card(library.NodeDataModel):  # type: ignore[misc]
        name, caption, caption_visible, data_type = "card", "card", True, Value.data_type
        num_ports: ClassVar = {library.PortType.input: 1, library.PortType.output: 3}
        port_caption_visible = True

        def out_data(self, port: int) -> object:
            return None

        def set_in_data(self, data: object, port: object) -> None:
            pass

        def embedded_widget(self) -> None:
            return None

    registry = library.DataModelRegistry()
    registry.register_model(Card)
    scene = library.FlowScene(registry=registry)

    def build() -> None:
        cards = {}
        for node_id, place in draft.places.items():
            cards[node_id] = scene.create_node(Card)
            cards[node_id].position = (place.x, place.y)
        for source, port, target in links(draft):
            with suppress(Exception):  # it takes one connection an input; what it refuses is not built
                scene.create_connection_by_index(cards[source], port, cards[target], 0, converter=None)

    view = library.FlowView(scene)
    return build, view


def look(view: Any) -> None:
    """The middle of the tree in the middle, one pixel to a unit."""
    if hasattr(view, "look_from"):
        from designer.document.design import Viewpoint

        middle = view.scene().contents().center()
        view.look_from(Viewpoint(middle.x(), middle.y(), 1.0))
        view.scene().settle()
        return
    scene = view.scene() if callable(view.scene) else view.scene
    middle = scene.itemsBoundingRect().center()
    if hasattr(view, "_scene_range"):  # one that sets its own window on the scene at every resize
        view._scene_range.setRect(middle.x() - WIDTH / 2, middle.y() - HEIGHT / 2, WIDTH, HEIGHT)
        view._update_scene()
    else:
        view.resetTransform()
        view.centerOn(middle)


PEERS: dict[str, Callable[[Draft], tuple[Callable[[], object], Any]]] = {
    "treewright": ours,
    "NodeGraphQt": node_graph("NodeGraphQt"),
    "OdenGraphQt": node_graph("OdenGraphQt"),
    "qtpynodeeditor": qtpynodeeditor,
}


def measured(name: str) -> dict[str, float]:
    """What one canvas takes to be built, and to be painted once at full size."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    os.environ["QT_API"] = "pyside6"
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance() or QApplication([])
    draft = field(NODES)
    build, view = PEERS[name](draft)
    view.resize(WIDTH, HEIGHT)
    view.show()
    app.processEvents()
    building = spent(build)
    app.processEvents()
    look(view)
    app.processEvents()
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)

    def paint() -> None:
        painter = QPainter(image)
        painter.setRenderHints(view.renderHints())
        view.render(painter)
        painter.end()

    paint()
    repaints = [spent(paint) for _ in range(25)]
    return {"build": building, "repaint": statistics.median(repaints)}


def compare(goals: Goals) -> None:
    """Measures every canvas and notes the ratios."""
    found: dict[str, dict[str, float]] = {}
    for name in PEERS:
        command = [sys.executable, "-W", "ignore", "-m", "tests.benchmarks.canvas_peers", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no word"])[-1]
            sys.stderr.write(f"{name} is left out: {last}\n")
            continue
        found[name] = json.loads(done.stdout.splitlines()[-1])
    mine = found.pop("treewright")
    for name, theirs in found.items():
        for what, target in (("build", 20.0), ("repaint", 3.5)):
            note = f"{theirs[what]:.1f} ms / {mine[what]:.1f} ms"
            words = f"{name} / ours, {what} of {NODES:,} nodes"
            goals.least("C-G3", words, theirs[what] / mine[what], target, note=note)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(sys.argv[1])) + "\n")
    sys.stdout.flush()
    os._exit(0)  # some of the libraries crash while they are taken down
