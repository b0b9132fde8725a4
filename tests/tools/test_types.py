"""How many parameters of the library have a type that says what they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LIBRARY = Path(__file__).parents[2] / "internals"
NOTHING_SAID = {None, "Any", "Any | None"}


def parameters(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """(name, type) of each parameter, `self` and `cls` left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            a = node.args
            several = [p for p in (a.vararg, a.kwarg) if p is not None]
            for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *several):
                if p.arg not in ("self", "cls"):
                    yield p.arg, ast.unparse(p.annotation) if p.annotation else None


def test_nine_of_ten_parameters_say_what_they_are() -> None:
    files = (f for f in LIBRARY.rglob("*.py") if "_generated" not in f.parts)
    found = [type for f in files for _, type in parameters(ast.parse(f.read_text("utf-8")))]
    unsaid = sum(type in NOTHING_SAID for type in found)
    assert len(found) > 15_000 and unsaid <= 0.08 * len(found)


def test_the_counting() -> None:
    tree = ast.parse("class C:\n    def f(self, a, b: Any, *c: int, d: Any | None = None): ...")
    assert list(parameters(tree)) == [
        ("a", None), ("b", "Any"), ("d", "Any | None"), ("c", "int"),
    ]  # fmt: skip
