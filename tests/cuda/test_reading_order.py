"""A reader finds every file of the backend in the table of contents of its package, and no floor
imports one above it.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import internals.cuda

PACKAGES = [
    "internals.cuda",
    *(f"internals.cuda.{name}" for name in ("allocator", "kernels", "native", "simulator")),
]
FILES = sorted(Path(internals.cuda.__file__).parent.rglob("*.py"))
ROOT = Path(internals.cuda.__file__).parent


def imported(path: Path) -> set[str]:
    """The absolute names of the modules that a file imports, at its top or when it is used."""
    package = ["internals", "cuda", *path.relative_to(ROOT).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            outer = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*outer, *([node.module] if node.module else [])])
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("name", PACKAGES)
def test_every_module_is_in_the_table_of_contents(name: str) -> None:
    package = importlib.import_module(name)
    modules = {info.name + "/" * info.ispkg for info in pkgutil.iter_modules(package.__path__)}
    named = {word.removesuffix(".py") for word in re.findall(r"`([\w/.]+)`", package.__doc__ or "")}
    assert not modules - named


def test_kernels_know_nothing_of_the_host() -> None:
    """Device code is made of the language of kernels, the table of functions of one element, and
    other device code.
    """
    allowed = {"__future__", "collections.abc", "functools", "math", "numpy", "typing"}
    own = (
        "internals.cuda.kernels",
        "internals.cuda.language",
        "internals.machine_code.records",
        "internals.machine_code.templates",
        "internals.aten.scalar_functions",
        "internals.core.dtype",
    )
    for path in (ROOT / "kernels").glob("*.py"):
        others = {
            n
            for n in imported(path)
            if not n.startswith(own) and n.rpartition(".")[0] not in allowed
        } - allowed
        assert others <= {"internals.cuda"}, path.name


def test_what_runs_kernels_knows_no_operators() -> None:
    below = [p for p in FILES if p.parent.name in ("allocator", "simulator")]
    names = (
        "backend driver language interpreter registers warp compiled launch device_array gpu_driver"
    ).split()
    for path in [*below, *(ROOT / f"{name}.py" for name in names)]:
        assert not [
            n
            for n in imported(path)
            if n.startswith(("internals.cuda.native", "internals.cuda.kernels", "viz"))
        ]
