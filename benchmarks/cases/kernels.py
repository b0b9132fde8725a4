"""One operator at a time on 2048 x 1024 numbers: reductions, copies, indexing, casts. A table; each
row says what it does twice.

Each row has the operator as a user writes it, for ours and PyTorch, and as numpy says it: timed in
float32 beside them, and in float64 what the others are checked against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import peers
from benchmarks.harness import Absent, Call, Case

TITLE = "Eager kernels"
ABOUT = (
    "2048 x 1024 float32 numbers (where nothing else is said), one thread, the processor's time, "
    "eager mode on both sides."
)
SHAPE = (2048, 1024)
SIDE = 2048
GOAL = 1.2

Arrays = Sequence[np.ndarray]


class Row(NamedTuple):
    name: str
    program: Callable[..., Any]  # of the library and its tensors
    in_numpy: Callable[..., Any]  # of arrays
    inputs: Callable[[], Arrays]
    goal: float | None = GOAL


def one() -> Arrays:
    return [normal(SHAPE)]


def two() -> Arrays:
    return [normal(SHAPE), normal(SHAPE, 1)]


def square() -> Arrays:
    return [normal((SIDE, SIDE))]


def row_and_column() -> Arrays:
    return [normal(SHAPE), normal((1, SHAPE[1]), 1), normal((SHAPE[0], 1), 2)]


def masked() -> Arrays:
    return [normal(SHAPE) > 0, normal(SHAPE, 1), normal(SHAPE, 2)]


def doubles() -> Arrays:
    return [normal(SHAPE).astype(np.float64)]


def integers() -> Arrays:
    return [np.random.default_rng(0).integers(-1000, 1000, SHAPE)]


def with_row_numbers() -> Arrays:
    return [normal(SHAPE), np.random.default_rng(1).integers(0, SHAPE[0], SHAPE[0])]


def with_column_numbers() -> Arrays:
    return [normal(SHAPE), np.random.default_rng(1).integers(0, SHAPE[1], SHAPE[1])]


def with_places_in_columns() -> Arrays:
    return [normal(SHAPE), np.random.default_rng(1).integers(0, SHAPE[0], SHAPE)]


def with_places_in_rows() -> Arrays:
    return [normal(SHAPE), np.random.default_rng(1).integers(0, SHAPE[1], SHAPE)]


def hundred_thousand() -> Arrays:
    return [normal((100_000,))]


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def numpy_layer_norm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


TABLE = (
    Row("sum of all", lambda T, x: x.sum(), lambda x: x.sum(), one),
    Row("sum of each row", lambda T, x: x.sum(1), lambda x: x.sum(1), one),
    Row("sum of each column", lambda T, x: x.sum(0), lambda x: x.sum(0), one),
    Row("mean of all", lambda T, x: x.mean(), lambda x: x.mean(), one),
    Row("mean of each row", lambda T, x: x.mean(1), lambda x: x.mean(1), one),
    Row("mean of each column", lambda T, x: x.mean(0), lambda x: x.mean(0), one),
    Row("variance of all", lambda T, x: x.var(), lambda x: x.var(ddof=1), one),
    Row("variance of each row", lambda T, x: x.var(1), lambda x: x.var(1, ddof=1), one),
    Row("variance of each column", lambda T, x: x.var(0), lambda x: x.var(0, ddof=1), one),
    Row("max of all", lambda T, x: x.max(), lambda x: x.max(), one),
    Row("max of each row, with its place", lambda T, x: x.max(1).values, lambda x: x.max(1), one),
    Row(
        "max of each column, with its place", lambda T, x: x.max(0).values, lambda x: x.max(0), one
    ),
    Row("amax of each row", lambda T, x: x.amax(1), lambda x: x.max(1), one),
    Row("argmax of all", lambda T, x: x.argmax(), lambda x: x.argmax(), one),
    Row("argmax of each row", lambda T, x: x.argmax(1), lambda x: x.argmax(1), one),
    Row("argmax of each column", lambda T, x: x.argmax(0), lambda x: x.argmax(0), one),
    Row("cumsum along rows", lambda T, x: x.cumsum(1), lambda x: x.cumsum(1), one),
    Row("cumsum along columns", lambda T, x: x.cumsum(0), lambda x: x.cumsum(0), one),
    Row("softmax of each row", lambda T, x: x.softmax(1), numpy_softmax, one),
    Row("layer norm", lambda T, x: T.nn.functional.layer_norm(x, SHAPE[1:]), numpy_layer_norm, one),
    Row("copy of the transposed", lambda T, x: x.t().contiguous(), lambda x: x.T.copy(), one),
    Row(
        "copy of every second",
        lambda T, x: x[::2, ::2].contiguous(),
        lambda x: x[::2, ::2].copy(),
        one,
    ),
    Row("a + a.T, 2048 x 2048", lambda T, x: x + x.t(), lambda x: x + x.T, square),
    Row(
        "a + row + column", lambda T, x, r, c: x + r + c, lambda x, r, c: x + r + c, row_and_column
    ),
    Row("row + column", lambda T, x, r, c: r + c, lambda x, r, c: r + c, row_and_column),
    Row(
        "where(mask, a, b)",
        lambda T, m, a, b: T.where(m, a, b),
        lambda m, a, b: np.where(m != 0, a, b),
        masked,
    ),
    Row("float32 to float64", lambda T, x: x.to(T.float64), lambda x: x.astype(np.float64), one),
    Row(
        "float64 to float32", lambda T, x: x.to(T.float32), lambda x: x.astype(np.float32), doubles
    ),
    Row("int64 to float32", lambda T, x: x.to(T.float32), lambda x: x.astype(np.float32), integers),
    Row("float32 to int64", lambda T, x: x.to(T.int64), lambda x: x.astype(np.int64), one),
    Row(
        "gather along rows",
        lambda T, x, i: x.gather(1, i),
        lambda x, i: np.take_along_axis(x, i.astype(np.int64), 1),
        with_places_in_rows,
    ),
    Row(
        "gather along columns",
        lambda T, x, i: x.gather(0, i),
        lambda x, i: np.take_along_axis(x, i.astype(np.int64), 0),
        with_places_in_columns,
    ),
    Row(
        "index_select of rows",
        lambda T, x, i: x.index_select(0, i),
        lambda x, i: np.take(x, i.astype(np.int64), 0),
        with_row_numbers,
    ),
    Row(
        "index_select of columns",
        lambda T, x, i: x.index_select(1, i),
        lambda x, i: np.take(x, i.astype(np.int64), 1),
        with_column_numbers,
    ),
    Row("sort of each row", lambda T, x: x.sort(1).values, lambda x: np.sort(x, 1), one),
    Row("sort of 100,000", lambda T, x: x.sort().values, lambda x: np.sort(x), hundred_thousand),
    Row(
        "cat, one below the other",
        lambda T, a, b: T.cat([a, b], 0),
        lambda a, b: np.concatenate([a, b], 0),
        two,
    ),
    Row(
        "cat, side by side",
        lambda T, a, b: T.cat([a, b], 1),
        lambda a, b: np.concatenate([a, b], 1),
        two,
    ),
    Row("a + b", lambda T, a, b: a + b, lambda a, b: a + b, two),
    Row("exp(a)", lambda T, a: a.exp(), np.exp, one, goal=None),
    Row("tanh(a)", lambda T, a: a.tanh(), np.tanh, one, goal=None),
)


def cases() -> list[Case]:
    """One for each row of the table."""
    return [
        Case(
            row.name,
            partial(sides_of, row),
            reference=partial(reference_of, row),
            goals={} if row.goal is None else {"torch": row.goal},
            clock="cpu",
            rounds=100,
        )
        for row in TABLE
    ]


def sides_of(row: Row) -> dict[str, Call | Absent]:
    arrays = row.inputs()
    return {**peers.eager(row.program, arrays), "numpy": peers.in_numpy(row.in_numpy, arrays)}


def reference_of(row: Row) -> np.ndarray:
    return row.in_numpy(*[a.astype(np.float64) for a in row.inputs()])


def normal(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)
