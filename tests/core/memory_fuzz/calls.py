"""Call number N of a seed: an operator, its arguments, and how it is made.

It is always the same, whatever was called before.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import internals
from internals.core.arg_parser import PythonArgParser
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.machine_code import compiled_kernels
from tests.aten.op_tensors import Stream, TensorSpec
from tests.autograd.gradient_samples import call_function
from tests.core.memory_fuzz.guarded import memory
from tests.core.memory_fuzz.mutations import Strange, grown, listed, mutate
from tests.core.memory_fuzz.recipes import backward_of, build, differentiate, good_arguments

INT64 = -(2**63), 2**63 - 1
CHANCES = {
    "machine code": 0.5,  # however small the tensors are; else numpy
    "short ways": 0.6,  # of generated code; else every step is taken, and no block is used twice
    "blocks at the front": 0.2,  # of their pages: what lies before them is forbidden, too
    "parsed": 0.5,  # by the argument parser, as for users; else as operators call each other
    "gradients": 0.25,  # of all that may have one, and the graph is run backwards
    "larger": 0.3,
    "not mutated": 0.25,
}


@dataclass
class Call:
    """`ways` are some of `CHANCES`."""

    op: OperatorHandle
    values: dict[str, Any]
    ways: set[str]

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.op.name}({given}) [{', '.join(w for w in CHANCES if w in self.ways)}]"

    def run(self) -> list[Any]:
        """Make it: what it returns, and what it was given. What it raises, it raises."""
        internals.manual_seed(0)
        ways = self.ways
        with (
            memory("short ways" in ways, "blocks at the front" not in ways),
            compiled_kernels("machine code" in ways, threshold=1),
        ):
            given = build_all(self.values)
            if "gradients" in ways:
                differentiate(given)
            result = self.parse(given) if "parsed" in ways else call_function(self.op)(*given)
            if "gradients" in ways:
                backward_of(result)
            return [result, *given]

    def parse(self, given: list[Any]) -> Any:
        arguments = list(zip(self.op.schema.arguments, given))
        positional = tuple(v for a, v in arguments if not a.kwarg_only)
        return parser(self.op)(positional, {a.name: v for a, v in arguments if a.kwarg_only})

    def has_shrunk(self) -> bool:
        """Whether one of the tensors has a storage that is too short for it."""
        specs = [v for value in self.values.values() for v in listed(value)]
        return any(isinstance(v, Strange) and v.layout == "shrunk" for v in specs)


@cache
def operators() -> list[OperatorHandle]:
    """All of them, in an order in which neighbours have nothing in common."""
    found = [op for name, op in dispatcher.operators.items() if name.startswith("aten::")]
    return sorted(found, key=lambda op: zlib.crc32(op.name.encode()))


@cache
def parser(op: OperatorHandle) -> PythonArgParser:
    return PythonArgParser(op.schema.name, [(op,)])


def make(seed: int, number: int, chosen: list[OperatorHandle] | None = None) -> Call:
    """Call `number` of this seed; the operators take turns."""
    chosen = chosen or operators()
    op = chosen[number % len(chosen)]
    stream = np.random.default_rng([seed, number, zlib.crc32(op.name.encode())])
    ways = {way for way, chance in CHANCES.items() if stream.random() < chance}
    return Call(op, values(op, ways, stream), ways)


def values(op: OperatorHandle, ways: set[str], stream: Stream) -> dict[str, Any]:
    """One value for each argument."""
    with memory(short_ways=True, at_the_end=True):
        made = good_arguments(op, stream)
    if "larger" in ways:
        made = grown(made, stream)
    if "not mutated" not in ways and made:
        made = mutate(made, op.schema, stream)
    return made if "parsed" in ways else {name: fitting(v) for name, v in made.items()}


def fitting(value: Any) -> Any:
    """What passes by the argument parser is an int64 already."""
    if isinstance(value, list):
        return [fitting(v) for v in value]
    return min(max(value, INT64[0]), INT64[1]) if type(value) is int else value


def build_all(values: dict[str, Any]) -> list[Any]:
    """The arguments; a tensor that is there twice is one tensor."""
    built: dict[int, Any] = {}
    for value in values.values():
        if isinstance(value, TensorSpec) and id(value) not in built:
            built[id(value)] = build(value)
    return [built[id(v)] if id(v) in built else build(v) for v in values.values()]
