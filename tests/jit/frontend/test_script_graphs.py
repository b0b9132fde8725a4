"""What small programs compile to: graphs that verify, and that read as PyTorch's do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from internals.jit.frontend import script_function
from tests.jit.programs import Program, load, normalized, scripted_by_pytorch
from tests.jit.programs.algorithms import ALGORITHMS
from tests.jit.programs.arithmetic import ARITHMETIC, CALLS
from tests.jit.programs.conditions import CONDITIONS
from tests.jit.programs.containers import CONTAINERS, INDEXING
from tests.jit.programs.language import LANGUAGE
from tests.jit.programs.loops import LOOPS

PROGRAMS = [
    *ARITHMETIC,
    *CONDITIONS,
    *LOOPS,
    *CALLS,
    *CONTAINERS,
    *INDEXING,
    *LANGUAGE,
    *ALGORITHMS,
]
# Where the text may differ, and why.
DIFFERENT = {
    "broadcasting list": "PyTorch prints an empty list constant as annotate(List[int], [])",
    "brackets": "the -1 in the source of a builtin is placed at its digit",
    "fork": "the numbers of values start anew in each of its graphs",
}


def compiled(program: Program, directory: Path) -> Any:
    f = load(program, directory, "internals").f
    return f if hasattr(f, "graph") else script_function(f)


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_graphs_verify(program: Program, tmp_path: Path) -> None:
    graph = compiled(program, tmp_path).graph
    graph.lint()
    kinds = {node.kind() for node in graph.nodes()}
    assert not kinds & {"prim::Load", "prim::Store", "prim::ReturnStmt", "prim::ComprehensionScope"}


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.name not in DIFFERENT], ids=lambda p: p.name
)
def test_graphs_read_as_pytorchs(program: Program, tmp_path: Path) -> None:
    real = scripted_by_pytorch(program, tmp_path, lambda f: normalized(str(f.graph)))
    assert normalized(str(compiled(program, tmp_path).graph)) == real


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_schemas_read_as_pytorchs(program: Program, tmp_path: Path) -> None:
    real = scripted_by_pytorch(
        program, tmp_path, lambda f: str(f.schema).removeprefix("__torch__.")
    )
    assert str(compiled(program, tmp_path).schema).removeprefix("__torch__.") == real
