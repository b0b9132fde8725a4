"""Random programs in the IR: numbers, tensors, views of them, writes to them, lists, tuples,
branches and loops.

`program(seed)` writes the text of a graph and knows arguments for it. The writer
(`jit_program_writer.py`) follows shapes and dtypes, so that every line can run; what is written to,
and what shares memory with what, is left to chance. What a pass does to a program must not be
noticed:

    p = program(17)
    graph = p.graph()
    before = observe(graph, p)
    constant_propagation(graph)
    assert_same_observation(observe(graph, p), before)

An observation is everything a caller can see: the outputs, what became of the arguments, which of
all these share memory, and the same once more after the caller has written to the outputs. Texts
are in PyTorch's dialect; real PyTorch parses and runs them too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import TensorImpl, array
from internals.jit.ir import Graph
from tests.jit.programs.writer import FEATURES, INPUTS, Var, Writer


@dataclass(frozen=True)
class Program:
    """The text of a graph, and its inputs."""

    seed: int
    text: str
    inputs: tuple[Var, ...]

    def graph(self) -> Graph:
        """A new graph each time."""
        from internals.jit.ir.parser import parse_ir

        return parse_ir(self.text)

    def arguments(self, library: Any = internals) -> list[Any]:
        """New arguments, always the same values. `library` is ours or real PyTorch."""
        stream = np.random.default_rng(self.seed)
        return [self._argument(v, stream, library) for v in self.inputs]

    @staticmethod
    def _argument(v: Var, stream: np.random.Generator, library: Any) -> Any:
        if v.kind == "tensor":
            return library.tensor(
                np.round(stream.standard_normal(v.shape), 2).tolist(), dtype=library.float32
            )
        return {
            "int": int(stream.integers(-3, 6)),
            "float": float(np.round(stream.normal(), 1)),
            "bool": stream.random() < 0.5,
        }[v.kind]


def program(
    seed: int, size: int = 14, features: Iterable[str] = FEATURES, typed: bool | None = None
) -> Program:
    """A random program of about `size` statements at the top level.

    features: which sorts of statements it may have (`FEATURES`). typed: whether the types of
    tensors tell dtype and sizes (None: by chance).
    """
    stream = random.Random(seed)
    writer = Writer(stream, frozenset(features), stream.random() < 0.4 if typed is None else typed)
    return Program(seed, writer.program(size), INPUTS)


# What a caller sees


@dataclass(frozen=True)
class Observation:
    """Values of the outputs and, afterwards, of the arguments; which of them share memory; the same
    for a second call.
    """

    values: tuple[Any, ...]
    shared: tuple[tuple[int, ...], ...]
    error: str = ""


def observe(
    graph: Graph, p: Program, run: Callable[[Graph, list[Any]], Any] | None = None
) -> Observation:
    """Run the graph twice on new arguments, writing to its outputs between; by the interpreter, or
    `run(graph, arguments)`.
    """
    run = run or interpret
    values: list[Any] = []
    shared: list[tuple[int, ...]] = []
    for _ in range(2):
        arguments = p.arguments()
        try:
            results = run(graph, arguments)
        except Exception as error:
            return Observation(tuple(values), tuple(shared), type(error).__name__)
        results = list(results) if isinstance(results, tuple) else [results]
        seen = [*results, *arguments]
        values += [frozen(v) for v in seen]
        shared.append(sharing(seen))
        for v in tensors(results):
            if v.dtype is internals.float32 and 0 not in v.stride():
                v.fill_(7.0)
    return Observation(tuple(values), tuple(shared))


def interpret(graph: Graph, arguments: list[Any]) -> Any:
    """What the graph's outputs are for these arguments: one value, or a tuple of them."""
    from internals.jit.runtime.compile import compile_graph
    from internals.jit.runtime.interpreter import Interpreter

    return Interpreter(compile_graph(graph), *arguments).run()


def frozen(value: Any) -> Any:
    """A copy that later writes do not reach."""
    if isinstance(value, TensorImpl):
        return value.dtype.name, tuple(value.shape), np.array(array(value))
    if isinstance(value, (list, tuple)):
        return [frozen(v) for v in value]
    return type(value).__name__, value


def tensors(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return [value] if isinstance(value, TensorImpl) else []


def sharing(values: list[Any]) -> tuple[int, ...]:
    """For each tensor the number of the first one with the same storage."""
    storages = [t.untyped_storage().data_ptr() if t.numel() else id(t) for t in tensors(values)]
    return tuple(storages.index(s) for s in storages)


def assert_same_observation(ours: Observation, expected: Observation) -> None:
    """Nothing a caller can see has changed."""
    assert ours.error == expected.error
    assert ours.shared == expected.shared, "other outputs share memory than before"
    assert len(ours.values) == len(expected.values)
    for a, b in zip(ours.values, expected.values):
        assert_same_value(a, b)


def assert_same_value(a: Any, b: Any) -> None:
    if isinstance(b, list):
        assert isinstance(a, list) and len(a) == len(b)
        for x, y in zip(a, b):
            assert_same_value(x, y)
    elif len(b) == 3:
        assert a[:2] == b[:2]
        np.testing.assert_array_equal(a[2], b[2])
    else:
        assert a == b or (a[0] == b[0] == "float" and a[1] != a[1] and b[1] != b[1])
