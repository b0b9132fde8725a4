"""Basic blocks of the source, and an import hook that makes each of them tell when it runs.

A block is a run of statements that only run together: a function's body up to its first `if`, a
branch, a loop's body, what follows a compound statement; what a lambda gives is one too. The hook
adds a call at the beginning of each, to the code and not to the file, so that `inspect.getsource`,
line numbers and error messages stay as they are. It costs some per cent; a tracer would double the
time.

Code that becomes machine code, that a simulator lowers or that the JIT compiles from its source is
left alone. Such a file is reached by whoever reaches a file that imports it.
"""

from __future__ import annotations

import ast
import builtins
import sys
import zlib
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

PACKAGES = ("internals", "viz", "exercises", "apparatus")
LOWERED = (
    "internals/aten/compiled/",
    "internals/cuda/kernels/",
    "internals/machine_code/vector_math/",
    "internals/aten/scalar_functions/table.py",  # formulas, which are read as text
)
LOWERING = {"kernel", "inline", "device"}  # decorators
NAME = "__reached__"
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def number(file: str, function: str = "", block: int = -1) -> int:
    """What a block is called in a record, the same in every process; without a block it is the
    function, or the file.
    """
    return zlib.crc32(f"{file}:{function}:{block}".encode())


def is_lowered(file: str, function: ast.AST | None = None) -> bool:
    """Whether a file, or a function of it, is not run as Python runs it."""
    decorators = getattr(function, "decorator_list", [])
    names = {getattr(d.func if isinstance(d, ast.Call) else d, "id", None) for d in decorators}
    return file.startswith(LOWERED) or not LOWERING.isdisjoint(names)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All functions with their qualified names; those of one name (overloads, branches) are
    numbered.
    """
    seen: dict[str, int] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (*Function, ast.ClassDef)):
            seen[node.name] = seen.get(node.name, 0) + 1
            name = prefix + node.name + (f"~{seen[node.name]}" if seen[node.name] > 1 else "")
            if isinstance(node, Function):
                yield name, node
            yield from functions(node, f"{name}.")
        elif not isinstance(node, ast.expr):
            yield from functions(node, prefix)


def blocks(function: Any) -> list[tuple[list[ast.stmt], int, int]]:
    """The blocks of a function, each as a list of statements with the places in it where the block
    begins and ends.
    """
    found = []
    pending = [function.body]
    while pending:
        body = pending.pop()
        begin = 0
        for i, statement in enumerate(body):
            inner = (
                [] if isinstance(statement, (*Function, ast.ClassDef)) else list(_bodies(statement))
            )
            pending += inner
            if inner and i + 1 < len(body):
                found.append((body, begin, i + 1))
                begin = i + 1
        found.append((body, begin, len(body)))
    return found


def _bodies(statement: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if body := getattr(statement, name, []):
            yield body
    for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
        yield part.body


def lambdas(tree: ast.AST, file: str) -> Iterator[tuple[ast.Lambda, int]]:
    """The lambdas of a file that run as Python runs them, with the numbers of their blocks."""
    lowered = {
        id(node)
        for _, function in functions(tree)
        if is_lowered(file, function)
        for node in ast.walk(function)
    }
    for i, node in enumerate(node for node in ast.walk(tree) if isinstance(node, ast.Lambda)):
        if id(node) not in lowered and not is_lowered(file):
            yield node, number(file, "<lambda>", i)


def telling(source: str, file: str) -> ast.Module:
    """The syntax tree of a file whose blocks tell that they run."""
    tree = ast.parse(source)
    places = [
        (body, begin, number(file, name, i))
        for name, function in functions(tree)
        if not is_lowered(file, function)
        for i, (body, begin, _) in enumerate(blocks(function))
    ]
    for node, which in list(lambdas(tree, file)):
        told = _call(which, node.body)
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [told, node.body]), node.body)
    for body, begin, which in sorted(places, key=lambda place: -place[1]):
        at = begin + (
            begin == 0 and _is_text(body[0])
        )  # what comes first in a body stays: it may be a description
        like = body[min(at, len(body) - 1)]
        body.insert(at, ast.copy_location(ast.Expr(_call(which, like)), like))
    return tree


def _call(which: int, like: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(which)], [])
    for node in ast.walk(call):
        ast.copy_location(node, like)
    return call


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class TellingLoader(SourceFileLoader):
    """Compiles `telling` source."""

    file = ""

    def source_to_code(  # type: ignore[override]
        self, data: bytes, path: str, *, _optimize: int = -1
    ) -> CodeType:
        tree = telling(data.decode(), self.file)
        code: CodeType = compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)
        return code


class TellingFinder(MetaPathFinder):
    """Finds the project's modules below `root`, and loads them with `TellingLoader`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return spec
        origin = Path(spec.origin)
        file = origin.relative_to(self.root).as_posix() if origin.is_relative_to(self.root) else ""
        if file and "_generated/" not in file and not is_lowered(file):
            loader = TellingLoader(fullname, spec.origin)
            loader.file = file
            spec.loader = loader
        return spec


def install(root: Path) -> set[int]:
    """From here on, what is imported tells which blocks run; returns the set in which their numbers
    appear.

    Python caches such code apart from other code."""
    sys.pycache_prefix = str(root / "build" / "telling")
    reached: set[int] = set()
    setattr(builtins, NAME, reached.add)
    sys.meta_path.insert(0, TellingFinder(root))
    return reached
