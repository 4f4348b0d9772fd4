"""The Python examples of a page, run as a reader would type them."""

import ast
import inspect
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "resources" / "help" / "library.md"

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> dict[str, list[str]]:
    """The examples of a page by heading, in their order."""
    sections = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {title: _BLOCK.findall(body) for title, body in zip(sections[1::2], sections[2::2], strict=True)}
    return {title: blocks for title, blocks in found.items() if blocks}


async def run_example(code: str, names: dict[str, object]) -> None:
    """Run an example, which may await, in these names."""
    made = compile(code, "<example>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(made, names)  # noqa: S307 - our own page
    if inspect.isawaitable(result):
        await result
