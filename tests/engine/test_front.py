"""The front door: what it offers is what the help page lists, and every name says what it is."""

import ast
import importlib
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import engine
from tests.engine.pages import LIBRARY, ROOT, examples, run_example

pytestmark = pytest.mark.anyio

_NAMES = re.compile(r"`(\w+)`")


def test_the_help_page_lists_exactly_the_names_of_the_front_door():
    _, _, listed = LIBRARY.read_text(encoding="utf-8").partition("## Every name")
    rows = [line for line in listed.splitlines() if line.startswith("|")]
    names = [name for row in rows for name in _NAMES.findall(row)]
    assert sorted(names) == list(engine.__all__)


def test_every_public_name_can_be_had_and_is_listed_for_type_checkers():
    listed = ast.parse((ROOT / "engine" / "__init__.py").read_text())
    checked = {
        (node.module, alias.name)
        for node in ast.walk(listed)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine.")
        for alias in node.names
    }
    assert checked == {(f"engine.{home}", name) for name, home in engine._HOME_OF.items()}
    for name in engine.__all__:
        assert getattr(engine, name) is not None


def documented(module: str) -> set[str]:
    """The names a module defines at its top with words about them."""
    path = Path(importlib.import_module(module).__file__ or "")
    body = ast.parse(path.read_text()).body
    found = {
        node.name
        for node in body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node)
    }
    for node, after in pairwise(body):
        says = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        found.update(target.id for target in targets if says and isinstance(target, ast.Name))
    return found


def home_of(name: str, module: str) -> str:
    """The module that defines a name, where its home only passes it on."""
    for node in ast.parse(Path(importlib.import_module(module).__file__ or "").read_text()).body:
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return home_of(name, node.module or "")
    return module


@pytest.mark.parametrize("name", engine.__all__)
def test_every_public_name_is_documented(name):
    assert name in documented(home_of(name, f"engine.{engine._HOME_OF[name]}"))


def test_a_name_that_is_not_offered_is_refused():
    with pytest.raises(AttributeError, match="'engine' has no attribute 'nothing'"):
        _ = engine.nothing


@pytest.mark.parametrize("title", examples(ROOT / "README.md"))
async def test_the_examples_of_the_readme_run(title, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for code in examples(ROOT / "README.md")[title]:
        await run_example(code, names)


def test_the_front_door_loads_neither_the_network_nor_graphs_nor_a_window():
    code = (
        "import sys, engine; engine.Session; engine.read_tree; "
        "print(sorted({'httpx', 'networkx', 'PySide6', 'qasync'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.strip() == "[]"
