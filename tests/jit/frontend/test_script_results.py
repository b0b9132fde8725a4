"""Compiled programs give what the same functions give in Python."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import internals
from internals.jit.frontend import script_function
from tests.answers import answer
from tests.jit.programs import Program, arguments, load
from tests.jit.programs.algorithms import ALGORITHMS
from tests.jit.programs.arithmetic import ARITHMETIC, CALLS
from tests.jit.programs.conditions import CONDITIONS
from tests.jit.programs.containers import CONTAINERS, INDEXING
from tests.jit.programs.language import LANGUAGE
from tests.jit.programs.loops import LOOPS

# What TorchScript means otherwise than Python does; its result is PyTorch's, not Python's.
NOT_PYTHON = {
    "properties": "dtypes and shapes are ints and lists of ints",
    "dtype": "a dtype is an int",
    "static conditions": "code that is compiled away",
    "implicit tensor to number": "a tensor is returned as an int",
    "aug ops": "Python's `x += 1` of a float argument",
    "int arithmetic": "a power of ints is a float",
    "aug pow mod": "the remainder of an augmented assignment is C's, a float",
    "min max abs builtin": "round gives a float",
    "any all": "any of a tensor is a tensor",
    "min max of mixed": "of an int and a float it is a float",
    "starred unpack": "what a starred name takes is a tuple",
}
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


def same(a: Any, b: Any) -> bool:
    """Equal in kind and value; tensors in dtype, shape and elements."""
    if isinstance(a, internals.Tensor):
        equal = isinstance(b, internals.Tensor) and a.dtype == b.dtype and a.shape == b.shape
        return equal and bool(internals.allclose(a.double(), b.double(), equal_nan=True))
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, type(a) if isinstance(a, list) else tuple)
            and len(a) == len(b)
            and all(map(same, a, b))
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float):
        return isinstance(b, float) and (math.isclose(a, b) or (math.isnan(a) and math.isnan(b)))
    return type(a) is type(b) and a == b


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_results_are_pythons(program: Program, tmp_path: Path) -> None:
    module = load(program, tmp_path, "internals")
    compiled = module.f if hasattr(module.f, "graph") else script_function(module.f)
    for text in program.inputs:
        wanted = None if program.name in NOT_PYTHON else module.f(*arguments(module, text))
        for _ in range(3):
            # the first call optimises, the second is profiled nowhere, the third runs the plan
            result = compiled(*arguments(module, text))
        if program.name not in NOT_PYTHON:
            assert same(result, wanted), f"f{text}: {result!r}, not {wanted!r}"


@pytest.mark.parametrize("name", [name for name in NOT_PYTHON])
def test_results_that_are_not_pythons_are_pytorchs(name: str, tmp_path: Path) -> None:
    program = next(p for p in PROGRAMS if p.name == name)

    def results(torch_name: str, compile: Any) -> list[Any]:
        module = load(program, tmp_path, torch_name)
        return [plain(compile(module.f)(*arguments(module, text))) for text in program.inputs]

    theirs = answer(lambda torch: results("torch", torch.jit.script), about=program, family="jit")
    assert results("internals", script_function) == theirs


def plain(value: Any) -> Any:
    """Tensors as lists, so that ours and PyTorch's can be compared."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return round(value, 6) if isinstance(value, float) else value
