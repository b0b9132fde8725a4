"""The house keeps its floors: the table of docs/architecture.md, read as data, against what the
files import.

A file belongs to the row of the table that names it, its folder, or the nearest folder around it.
Three rules:

- No import at the top of a file points up.
- One inside a function may point up if `UPWARD` says why; what is listed there must exist. Down it
  is free: that is laziness.
- Files do not import each other in circles of more than `LARGEST`, imports inside functions
  counted.

What counts: `from package import name` leads to the submodule of that name; else, as the name is
not at home in `__init__.py`, to the file that the package took it from; to `__init__.py` itself
only if that defines it. A package does not count as importing its own submodules: `__init__.py` is
their table of contents. So nobody is in a circle for having read another file's package first.
Imports under TYPE_CHECKING never run, and count for nothing. Operators' kernels and the hooks of a
backend are registered by name (`core/dispatcher.py`, `core/backend_hooks.py`), which is no import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LARGEST = 12  # files in one circle
MOST_UPWARD = 25  # imports in functions

# "importer imported": why this one, in a function, points up.
UPWARD = {
    "internals._generated.fast_lane internals._generated.fast_lane_recorded": (
        "the lane of tensors that require grad, loaded when the first of them comes by"
    ),
    "internals.cuda.activity internals.profiler.chrome_trace": (
        "the recording's own way to write itself as a trace, in the profiler's format"
    ),
    "internals.functional internals.source_map": "`where(what PyTorch refuses)` asks the map",
    "internals.jit.ir.annotate_aliases "
    "internals.jit.operators.alias_analysis": "the text of a graph with what may share memory",
    "internals.jit.ir.graph "
    "internals.jit.operators.alias_analysis": "`graph.alias_db()`, PyTorch's method",
    "internals.jit.ir.node internals.jit.operators.properties": (
        "`node.hasSideEffects()` and `isNondeterministic()`, PyTorch's methods"
    ),
    "internals.jit.ir.node internals.jit.operators.registry": "`node.schema()`, PyTorch's method",
    "internals.jit.ir.verifier_rules internals.jit.operators.registry": (
        "a graph is right only if its operators take what they are given"
    ),
    "internals.jit.operators.prim internals.jit.runtime.errors": (
        "`prim::RaiseException` raises what the runtime's callers catch"
    ),
    "internals.jit.passes.constant_propagation internals.jit.runtime.node_functions": (
        "what is constant is computed by running the node"
    ),
    "internals.jit.passes.graph_fuser "
    "internals.jit.fuser.loops": "the pass gathers what the fuser has loops for",
    "internals.jit.runtime.node_functions "
    "internals.jit.script_object": "`prim::CreateObject` makes what users hold",
    "internals.jit.saving "
    "internals.serialization": "`jit.save` and `jit.load` are doors to the floor above",
    "internals.profiler.ranges "
    "internals.nn.modules.module": "a profile hears of modules through their global hooks",
    "internals.profiler.ranges internals.optim.optimizer": "and of optimizers through theirs",
    "internals.serialization.inspection.inspect viz.rooms.explore": (
        "the command draws its page, where `viz` is installed"
    ),
}


class Import(NamedTuple):
    importer: str
    imported: str
    inside: bool  # of a function


@cache
def floors() -> dict[str, tuple[float, ...]]:
    """Dotted names of packages and modules, each with its floor: 5.1 lies between 5 and 5.2."""
    found = {}
    for line in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and re.fullmatch(r"[\d.]+|top", cells[0]):
            floor = (99.0,) if cells[0] == "top" else tuple(map(float, cells[0].split(".")))
            for path in re.findall(r"`([\w/.]+(?:/|\.py))`", cells[1]):
                found[path.removesuffix("/").removesuffix(".py").replace("/", ".")] = floor
    return found


def floor_of(module: str) -> tuple[float, ...]:
    while module not in floors():
        module = module.rpartition(".")[0]
    return floors()[module]


@cache
def files() -> dict[str, Path]:
    """The modules of the library and of what is built on it."""
    found = {}
    for folder in ("internals", "viz", "codegen", "exercises", "apparatus"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_package(module: str) -> bool:
    return files()[module].name == "__init__.py"


class Named(NamedTuple):
    """`from module import name`, or `import module` with no name."""

    module: str
    name: str
    bound: str  # what it is called from here on
    inside: bool


@cache
def written(module: str) -> tuple[Named, ...]:
    """The imports of a file, as they are written but with dots resolved; none under
    TYPE_CHECKING.
    """
    package = module.split(".")[: None if is_package(module) else -1]

    def walk(node: ast.AST, inside: bool) -> Iterator[Named]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.orelse:
                yield from walk(statement, inside)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Named(alias.name, "", alias.asname or alias.name, inside)
        elif isinstance(node, ast.ImportFrom):
            outer = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*outer, *([node.module] if node.module else [])])
            for alias in node.names:
                bound = alias.asname or alias.name
                yield Named(source, alias.name, bound, inside)
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    return tuple(walk(ast.parse(files()[module].read_bytes()), False))


def home(module: str, name: str) -> str | None:
    """The file of this project that `from module import name` leads to."""
    if name and f"{module}.{name}" in files():
        return f"{module}.{name}"
    if module not in files():
        return None
    if name and is_package(module):
        for each in written(module):
            found = home(each.module, each.name) if each.bound == name and not each.inside else None
            if found is not None:
                return found
    return module


@cache
def imports() -> tuple[Import, ...]:
    found = []
    for module in files():
        for each in written(module):
            target = home(each.module, each.name)
            own = is_package(module) and f"{target}.".startswith(f"{module}.")
            if target is not None and target != module and not own:
                found.append(Import(module, target, each.inside))
    return tuple(found)


def upward(inside: bool) -> list[Import]:
    """What points up, inside functions or at the top of files."""
    return [
        each
        for each in imports()
        if each.inside == inside and floor_of(each.imported) > floor_of(each.importer)
    ]


def circles() -> list[list[str]]:
    """Files that lead to each other by whatever way, the most of them first."""
    ahead: dict[str, set[str]] = {module: set() for module in files()}
    back: dict[str, set[str]] = {module: set() for module in files()}
    for each in imports():
        ahead[each.importer].add(each.imported)
        back[each.imported].add(each.importer)
    left, found = set(files()), []
    while left:
        module = next(iter(left))
        circle = reach(module, ahead, left) & reach(module, back, left)
        left -= circle
        found.append(sorted(circle))
    return sorted(found, key=len, reverse=True)


def reach(start: str, edges: dict[str, set[str]], within: set[str]) -> set[str]:
    found, queue = {start}, [start]
    while queue:
        new = (edges[queue.pop()] & within) - found
        found |= new
        queue += new
    return found


def test_every_package_has_a_floor_and_every_floor_a_place() -> None:
    assert not [
        name for name in floors() if name.partition(".")[0] in files() and name not in files()
    ]
    packages = [name for name in files() if name.count(".") == 1 and is_package(name)]
    assert not [name for name in packages if name.startswith("internals.") and name not in floors()]
    assert {"internals", "viz", "codegen", "exercises", "apparatus"} <= set(floors())
    assert floor_of("internals.jit.ir.node") < floor_of("internals.jit.runtime.future")


def test_no_import_at_the_top_of_a_file_points_up() -> None:
    assert upward(inside=False) == []


def test_imports_in_functions_point_up_only_where_it_is_said_why() -> None:
    found = {f"{each.importer} {each.imported}" for each in upward(inside=True)}
    assert found - set(UPWARD) == set(), "say why, or move what both need below both"
    assert set(UPWARD) - found == set(), "these are gone: their lines may go as well"
    assert len(UPWARD) <= MOST_UPWARD and all(UPWARD.values())


def test_circles_of_files_are_small() -> None:
    largest = circles()[0]
    assert len(largest) <= LARGEST, " ".join(largest)


def test_the_reader_sees_what_it_should() -> None:
    """A circle across packages that re-export, an import in a function, and none under
    TYPE_CHECKING.
    """
    pairs = {(each.importer, each.imported): each.inside for each in imports()}
    assert home("internals", "Tensor") == "internals._tensor"
    assert home("internals.jit.ir", "Graph") == "internals.jit.ir.graph"
    assert home("internals", "nn") == "internals.nn"
    assert pairs["internals.jit.ir.node", "internals.jit.operators.registry"]
    assert not pairs["internals.jit.operators.registry", "internals.jit.ir.node"]
    assert ("internals.core.backend_hooks", "internals.core.storage") not in pairs
    assert any(len(circle) > 2 for circle in circles())
