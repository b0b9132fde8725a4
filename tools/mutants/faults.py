"""Faults: where they could be planted, and which of these places are drawn.

A fault is an edit of one span of one file. It is known by file, function, kind and its line before
and after, not by the line's number, so that what is said about it (`equivalent.yaml`) stays true
when something else changes.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

from tools.mutants.blocks import blocks, functions, is_lowered, lambdas, number
from tools.mutants.kinds import KINDS

LAYERS: dict[str, tuple[str, ...]] = {  # the first that fits
    "core": ("internals/core",),
    "aten": ("internals/aten", "internals/machine_code"),
    "autograd": ("internals/autograd",),
    "jit/ir": ("internals/jit/ir", "internals/jit/passes/aliasing.py",
               "internals/jit/operators/alias_analysis.py", "internals/jit/operators/memory_dag.py",
               "internals/jit/operators/topological_moves.py"),
    "jit/frontend": ("internals/jit/frontend", "internals/jit/tracing"),
    "jit/passes": ("internals/jit/passes",),
    "jit/runtime": ("internals/jit/runtime", "internals/jit/operators"),
    "jit/fuser": ("internals/jit/fuser",),
    "serialization": ("internals/serialization", "apparatus/fuzzing"),
    "cuda": ("internals/cuda",),
    "serving": ("internals/serving", "apparatus/payloads", "apparatus/rehearsal.py",
                "apparatus/two_https"),
    "viz": ("viz",),
    "exercises": ("exercises",),
}  # fmt: skip

OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Attribute, ast.Subscript,
              ast.Starred, ast.Await)  # fmt: skip
ATOMS = (ast.Constant, ast.Name, ast.Call, ast.Attribute)
Where = tuple[str, int]  # the function, and the number of the block


@dataclass(frozen=True)
class Fault:
    kind: str
    file: str
    function: str  # qualified name; empty at the top of a module
    line: int
    before: str  # the line, or the lines, as one
    after: str
    span: tuple[int, int]  # bytes
    edit: str  # what stands there instead
    block: int  # the number of the one that has to run; the file's for what runs on importing it

    @cached_property
    def identity(self) -> str:
        where = f"{self.file} {self.function or '(module)'}"
        return f"{where}: {self.kind}: {self.before} => {self.after}"

    def planted(self, source: bytes) -> str:
        begin, end = self.span
        return (source[:begin] + self.edit.encode() + source[end:]).decode()


def layer_of(file: str) -> str | None:
    for name, places in LAYERS.items():
        if f"{file}/".startswith(tuple(f"{place}/" for place in places)):
            return name
    return None


def draw(root: Path, layer: str, seed: int, count: int) -> list[Fault]:
    """`count` faults of a layer; every kind has its turn, and within a kind each place the same
    chance.

    The order hangs on what each fault says of itself: a change elsewhere does not draw others."""
    by_kind: dict[str, list[tuple[bytes, Fault]]] = {kind: [] for kind in KINDS}
    alike: Counter[str] = Counter()
    for path in sorted(p for place in LAYERS[layer] for p in _python_files(root / place)):
        name = path.relative_to(root).as_posix()
        for fault in faults(path.read_text(), name) if layer_of(name) == layer else ():
            alike[fault.identity] += 1
            which = f"{seed} {fault.identity} {alike[fault.identity]}"
            by_kind[fault.kind].append((sha256(which.encode()).digest(), fault))
    in_order = (sorted(found, key=itemgetter(0)) for found in by_kind.values())
    turns = (each[1] for turn in zip_longest(*in_order) for each in turn if each)
    edits = {(fault.file, fault.span, fault.edit): fault for fault in turns}  # kinds may overlap
    return list(edits.values())[:count]


def blocks_of(fault: Fault, root: Path) -> tuple[set[int], set[int]]:
    """The numbers of the blocks of which a test has to run one to reach a fault, and of all in its
    file.

    What stands at the top of a module runs when it is imported: then it is any function of the
    file. Where none can tell (`blocks.is_lowered`) it is any of the files that import this one."""
    own = set() if is_lowered(fault.file) else _all_blocks(root, fault.file)
    if fault.block != number(fault.file):
        return {fault.block}, own
    if own:
        return own, own
    importing = {fault.file}
    for file in (seen := list(importing)):  # it grows
        path = Path(file)
        near_by = path.parents[2 if path.stem == "__init__" else 1]
        for other in _importing(file, root / near_by, root) - importing:
            importing.add(other)
            if is_lowered(other):
                seen.append(other)
    near = set().union(*(_all_blocks(root, f) for f in importing if not is_lowered(f)))
    return near, near


def tests_of(fault: Fault, root: Path) -> set[str]:
    """The files of tests that import code of which none can tell that it runs: they are about
    it.
    """
    if not is_lowered(fault.file):
        return set()
    package = Path(fault.file).with_name("__init__.py").as_posix()
    tests = root / "tests"
    return _importing(fault.file, tests, root) or _importing(package, tests, root)


@cache
def _importing(file: str, place: Path, root: Path) -> set[str]:
    """The files below `place` that import this one."""
    path = Path(file)
    name = path.parent.name if path.stem == "__init__" else path.stem
    return {p.relative_to(root).as_posix() for p in _python_files(place) if name in _imported(p)}


@cache
def _imported(path: Path) -> set[str]:
    """The parts of the names of the modules that a file imports, and what it takes from them."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.name for alias in node.names]
    return {part for name in names for part in name.split(".")}


def _all_blocks(root: Path, file: str) -> set[int]:
    tree = ast.parse((root / file).read_text())
    return {where[1] for where in _numbers(tree, file).values()} - {number(file)}


def _python_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else list(place.rglob("*.py"))


def faults(source: str, file: str) -> Iterator[Fault]:
    """All faults that could be planted in a file."""
    tree = ast.parse(source)
    yield from _below(tree, ("", number(file)), _File(file, source.encode()), _numbers(tree, file))


def _numbers(tree: ast.Module, file: str) -> dict[int, Where]:
    """The function and the block of each statement and of what a lambda gives, by their ids."""
    found: dict[int, Where] = {}
    for name, function in functions(tree):
        lowered = is_lowered(file, function)
        for i, (body, begin, end) in enumerate(blocks(function)):
            for statement in body[begin:end]:
                found[id(statement)] = name, number(file) if lowered else number(file, name, i)
    for node, which in lambdas(tree, file):
        found[id(node.body)] = "", which
    return found


def _below(node: ast.AST, where: Where, text: _File, numbers: dict[int, Where]) -> Iterator[Fault]:
    for child in _children(node):
        here = numbers.get(id(child), where)
        here = (here[0] or where[0], here[1])
        for kind, variants in KINDS.items():
            for variant in variants(child):
                yield text.fault(kind, child, variant, node, here)
        yield from _below(child, here, text, numbers)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node is code that runs: no types, no decorators, no assertions, nothing that only a
    type checker reads.
    """
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment", "bases", "ctx"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _only_said(child):
                yield child


def _only_said(node: ast.AST) -> bool:
    if isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "__slots__")


class _File:
    """The bytes of a file, and where its lines begin."""

    def __init__(self, name: str, source: bytes) -> None:
        self.name, self.source = name, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def fault(self, kind: str, node: Any, variant: Any, parent: ast.AST, where: Where) -> Fault:
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and isinstance(variant, type(node)):
            parent, node, variant = node, node.test, variant.test  # only the condition differs
        begin = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        edit, more = ast.unparse(variant), "\n" * (node.end_lineno - node.lineno)
        if isinstance(node, ast.stmt):
            edit += more
        elif more or isinstance(parent, OPERATIONS) and not isinstance(variant, ATOMS):
            edit = f"({edit}{more})"
        first, last = self.starts[node.lineno - 1], self.starts[node.end_lineno]
        before = self.source[first:last].decode()
        after = self.source[first:begin].decode() + edit + self.source[end:last].decode()
        lines, (function, block) = (_one_line(before), _one_line(after)), where
        return Fault(kind, self.name, function, node.lineno, *lines, (begin, end), edit, block)


def _one_line(text: str) -> str:
    return " ".join(text.split())
