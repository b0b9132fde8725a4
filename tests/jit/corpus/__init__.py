"""Small programs that are run eagerly, traced and scripted, here and in PyTorch, and must always
give the same.

A file of this folder is a list of programs, plain functions with `@program(inputs...)` above them.
`load(torch)` runs the files with `torch` being whatever library is asked for, so that each program
exists once and runs in both.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
FILES = (
    "arithmetic",
    "reductions",
    "shapes",
    "layers",
    "writing",
    "control_flow",
    "containers",
    "calls",
)


@dataclass(frozen=True)
class Example:
    """A tensor to be made: what its elements are and its sizes. `grad` says whether it requires
    one.
    """

    kind: str
    sizes: tuple[int, ...]
    grad: bool = False

    def make(self, torch: Any, seed: int) -> Any:
        rng = np.random.default_rng([seed, *self.sizes])
        if self.kind == "normal":
            values = rng.standard_normal(self.sizes).astype(np.float32)
        elif self.kind == "positive":
            values = rng.uniform(0.5, 2.0, self.sizes).astype(np.float32)
        elif self.kind == "int":
            values = rng.integers(0, 4, self.sizes)
        else:
            values = rng.uniform(size=self.sizes) < 0.5
        t = torch.tensor(
            np.ascontiguousarray(values).tolist(), dtype=getattr(torch, DTYPES[self.kind])
        ).reshape(self.sizes)
        return t.requires_grad_() if self.grad else t


DTYPES = {"normal": "float32", "positive": "float32", "int": "int64", "bool": "bool"}


def normal(*sizes: int) -> Example:
    """Floats from the normal distribution, which require a gradient."""
    return Example("normal", sizes, True)


def plain(*sizes: int) -> Example:
    """The same without gradient."""
    return Example("normal", sizes)


def positive(*sizes: int) -> Example:
    return Example("positive", sizes, True)


def ints(*sizes: int) -> Example:
    return Example("int", sizes)


def bools(*sizes: int) -> Example:
    return Example("bool", sizes)


@dataclass
class Program:
    """One of them. `inputs` are alternatives: each a tuple of arguments. `traced` is False where a
    trace is not possible.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]
    traced: bool
    module: bool

    def arguments(self, torch: Any, which: int = 0) -> tuple[Any, ...]:
        """Fresh arguments."""
        return tuple(materialize(torch, a, 7 * which + i) for i, a in enumerate(self.inputs[which]))


def materialize(torch: Any, argument: Any, seed: int) -> Any:
    """An argument with the tensors in it made."""
    if isinstance(argument, Example):
        return argument.make(torch, seed)
    if isinstance(argument, (list, tuple)):
        return type(argument)(materialize(torch, a, seed + 10 * i) for i, a in enumerate(argument))
    if isinstance(argument, dict):
        return {
            k: materialize(torch, a, seed + 10 * i) for i, (k, a) in enumerate(argument.items())
        }
    return argument


def program(
    *inputs: tuple[Any, ...], traced: bool = True, module: bool = False
) -> Callable[[Any], Any]:
    """Enter a function, or a function that makes a module, with at least one tuple of arguments."""

    def enter(function: Any) -> Any:
        function.program = Program(function.__name__, function, inputs, traced, module)
        return function

    return enter


@cache
def programs_of(torch: Any) -> dict[str, Program]:
    """The programs of this library, for who does not change them."""
    return load(torch)


def load(torch: Any) -> dict[str, Program]:
    """All programs, with `torch` being the given library. Lines and file names are those of the
    files.
    """
    found: dict[str, Program] = {}
    for name in FILES:
        path = FOLDER / f"{name}.py"
        text = path.read_text().replace(
            "import internals as torch\n", f"import {torch.__name__} as torch\n"
        )
        module = types.ModuleType(f"jit_corpus_{torch.__name__}_{name}")
        sys.modules[module.__name__] = module
        module.__file__ = str(path)
        exec(compile(text, str(path), "exec"), module.__dict__)
        programs = [v.program for v in vars(module).values() if hasattr(v, "program")]
        assert not found.keys() & {p.name for p in programs}, "two programs of one name"
        found.update((p.name, p) for p in programs)
    return found
