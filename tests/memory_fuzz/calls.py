"""Call number N of a seed: an operator, its arguments, and how it is made. It is always the same, whatever was called before."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import internals
from internals.core.arg_parser import PythonArgParser
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.tensor_impl import TensorImpl
from internals.machine_code import compiled_kernels
from tests.gradient_samples import call_function
from tests.memory_fuzz.guarded import memory
from tests.memory_fuzz.mutations import grown, listed, mutate
from tests.memory_fuzz.recipes import backward_of, build, good_arguments
from tests.op_tensors import TensorSpec

INT64 = range(-(2**63), 2**63)


@dataclass
class Call:
    """`compiled`: by machine code, however small the tensors are; `short_ways` and `at_the_end`: see guarded.py; `parsed`:
    through the argument parser, as users do; `gradients`: of everything that may have one, and the backward pass too."""

    op: OperatorHandle
    values: dict[str, Any]
    compiled: bool
    short_ways: bool
    at_the_end: bool
    parsed: bool
    gradients: bool

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        how = [
            "machine code" if self.compiled else "numpy",
            "short ways" if self.short_ways else "long way",
        ]
        how += (
            ["parsed"] * self.parsed
            + ["gradients"] * self.gradients
            + ["block at the front"] * (not self.at_the_end)
        )
        return f"{self.op.name}({given}) [{', '.join(how)}]"

    def run(self) -> list[Any]:
        """Make it; the tensors that came out of it, and those that went in. What it raises, it raises."""
        internals.manual_seed(0)
        with memory(self.short_ways, self.at_the_end), compiled_kernels(self.compiled, threshold=1):
            given = build_all(self.values, self.gradients)
            result = self.function()(given)
            if self.gradients:
                backward_of(result)
            return [result, *given]

    def has_shrunk(self) -> bool:
        """Whether one of the tensors has a storage that is too short for it."""
        return any(
            getattr(v, "layout", "") == "shrunk"
            for value in self.values.values()
            for v in listed(value)
        )

    def function(self) -> Callable[[list[Any]], Any]:
        if not self.parsed:
            return lambda given: call_function(self.op)(*given)
        names = [(a.name, a.kwarg_only) for a in self.op.schema.arguments]

        def call(given: list[Any]) -> Any:
            positional = tuple(v for v, (_, named) in zip(given, names) if not named)
            return parser(self.op)(
                positional, {n: v for v, (n, named) in zip(given, names) if named}
            )

        return call


@cache
def operators() -> list[OperatorHandle]:
    """All of them, in an order in which neighbours have nothing in common."""
    found = [op for name, op in dispatcher.operators.items() if name.startswith("aten::")]
    return sorted(found, key=lambda op: zlib.crc32(op.name.encode()))


@cache
def parser(op: OperatorHandle) -> PythonArgParser:
    return PythonArgParser(op.schema.name, [(op, call_function(op))])


def make(seed: int, number: int, chosen: list[OperatorHandle] | None = None) -> Call:
    """Call `number` of this seed: the operators take turns."""
    chosen = chosen or operators()
    op = chosen[number % len(chosen)]
    stream = np.random.default_rng([seed, number, zlib.crc32(op.name.encode())])
    ways = stream.random(7) < [0.5, 0.6, 0.8, 0.5, 0.25, 0.3, 0.25]
    compiled, short_ways, at_the_end, parsed, gradients, larger, good = map(bool, ways)
    with memory(True, True):
        values = good_arguments(op, stream)
    if larger:
        values = grown(values, stream)
    if op.schema.arguments and not good:
        values = mutate(values, op.schema, stream)
    if not parsed:
        values = {name: fitting(v) for name, v in values.items()}
    return Call(op, values, compiled, short_ways, at_the_end, parsed, gradients)


def fitting(value: Any) -> Any:
    """What passes by the argument parser is an int64 already."""
    if isinstance(value, list):
        return [fitting(v) for v in value]
    return min(max(value, INT64[0]), INT64[-1]) if type(value) is int else value


def build_all(values: dict[str, Any], gradients: bool) -> list[Any]:
    """The arguments; a spec that is there twice becomes one tensor."""
    built: dict[int, Any] = {}
    given = []
    for value in values.values():
        if isinstance(value, TensorSpec):
            made = (
                built[id(value)]
                if id(value) in built
                else built.setdefault(id(value), build(value))
            )
        else:
            made = build(value)
        given.append(made)
    for t in tensors(given) if gradients else ():
        if t.is_floating_point() or t.is_complex():
            t.requires_grad_()
    return given


def tensors(value: Any) -> list[Any]:
    """All tensors in lists and tuples of them."""
    if isinstance(value, TensorImpl):
        return [value]
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple)) else []
