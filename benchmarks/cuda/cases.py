"""What is measured: operators limited by memory, a product of matrices, a chain that can be fused,
a hit of the allocator.

The goals are the project's promises for a real GPU, at the sizes of `FULL`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.cuda.harness import OURS, Case, Ceiling, Goal


@dataclass(frozen=True)
class Sizes:
    """`n` elements for what goes through memory once, `rows` of `columns` for what works on rows,
    matrices of `side`².
    """

    n: int
    rows: int
    columns: int
    side: int


FULL = Sizes(n=1 << 26, rows=1 << 14, columns=1 << 12, side=4096)
# for the simulator: to see that everything runs
TINY = Sizes(n=1 << 9, rows=8, columns=32, side=16)

FLOAT = 4
BANDWIDTH, ROWS = Goal("bandwidth", 0.85), Goal("bandwidth", 0.70)


def ceiling(library: Any, sizes: Sizes) -> Ceiling:
    """A copy of `n` floats from one place on the device to another."""
    source, target = library.ones(sizes.n, device="cuda"), library.empty(sizes.n, device="cuda")
    return Ceiling(lambda: target.copy_(source), 2 * FLOAT * sizes.n)


class Row(NamedTuple):
    """A case, before there are operands for it: `make` gives the call for a library."""

    name: str
    make: Callable[[Any], Callable[[], object]]
    nbytes: int | None = None
    goal: Goal | None = None
    on_host: bool = False


def cases(libraries: Mapping[str, Any], sizes: Sizes, words: Sequence[str] = ()) -> Iterator[Case]:
    """Those whose name contains one of `words`, or all, each with a side for every library of
    `libraries`.

    One after the other, so that the operands of one need not be there at the same time as those of
    the next.
    """
    for row in rows_of(sizes):
        if not words or any(word in row.name for word in words):
            sides = {key: row.make(library) for key, library in libraries.items()}
            yield Case(row.name, sides, row.nbytes, row.goal, row.on_host)


def rows_of(sizes: Sizes) -> list[Row]:
    """All cases."""
    n, rows, columns, side = sizes.n, sizes.rows, sizes.columns, sizes.side
    matrix, nbytes = (rows, columns), FLOAT * rows * columns
    return [
        Row(
            "a + b",
            lambda T: binary(T, n, lambda a, b, out: T.add(a, b, out=out)),
            3 * FLOAT * n,
            BANDWIDTH,
        ),
        Row(
            "a * 2",
            lambda T: binary(T, n, lambda a, b, out: T.mul(a, 2.0, out=out)),
            2 * FLOAT * n,
            BANDWIDTH,
        ),
        Row(
            "exp(a)",
            lambda T: binary(T, n, lambda a, b, out: T.exp(a, out=out)),
            2 * FLOAT * n,
            BANDWIDTH,
        ),
        Row("a.T + b.T", lambda T: transposed(T, side), 3 * FLOAT * side * side),
        Row("a.sum()", lambda T: reduced(T, (n,), lambda a: a.sum()), FLOAT * n, BANDWIDTH),
        Row("a.sum(1)", lambda T: reduced(T, matrix, lambda a: a.sum(1)), nbytes, BANDWIDTH),
        Row("a.sum(0)", lambda T: reduced(T, matrix, lambda a: a.sum(0)), nbytes, BANDWIDTH),
        Row("a.amax(1)", lambda T: reduced(T, matrix, lambda a: a.amax(1)), nbytes, BANDWIDTH),
        Row(
            "softmax(a, 1)", lambda T: reduced(T, matrix, lambda a: a.softmax(1)), 2 * nbytes, ROWS
        ),
        Row("layer_norm(a)", lambda T: layer_norm(T, rows, columns), 2 * nbytes, ROWS),
        Row("a @ b", lambda T: product(T, side), None, Goal("torch", 0.50)),
        # Eager PyTorch reads and writes 8 n floats in three kernels, one fused kernel 4 n.
        Row(
            "relu(a * b + c), compiled",
            lambda T: chain(T, n),
            4 * FLOAT * n,
            Goal("torch", 2 * 0.85),
        ),
        Row(
            "a block from the cache, and back",
            allocation,
            goal=Goal("microseconds", 3.0),
            on_host=True,
        ),
    ]


def binary(T: Any, n: int, operation: Callable[[Any, Any, Any], object]) -> Callable[[], object]:
    a, b, out = (T.ones(n, device="cuda") for _ in range(3))
    return lambda: operation(a, b, out)


def transposed(T: Any, side: int) -> Callable[[], object]:
    a, b, out = (T.ones(side, side, device="cuda").t() for _ in range(3))
    return lambda: T.add(a, b, out=out)


def reduced(
    T: Any, shape: tuple[int, ...], operation: Callable[[Any], object]
) -> Callable[[], object]:
    a = T.ones(*shape, device="cuda")
    return lambda: operation(a)


def layer_norm(T: Any, rows: int, columns: int) -> Callable[[], object]:
    a, weight, bias = (
        T.ones(rows, columns, device="cuda"),
        T.ones(columns, device="cuda"),
        T.zeros(columns, device="cuda"),
    )
    return lambda: T.nn.functional.layer_norm(a, (columns,), weight, bias)


def product(T: Any, side: int) -> Callable[[], object]:
    """With single precision throughout: PyTorch must not take its tensor cores for it."""
    if hasattr(T, "backends"):
        T.backends.cuda.matmul.allow_tf32 = False
    a, b, out = (T.ones(side, side, device="cuda") for _ in range(3))
    return lambda: T.mm(a, b, out=out)


def chain(T: Any, n: int) -> Callable[[], object]:
    """Ours compiled, PyTorch's eager."""
    a, b, c = (T.ones(n, device="cuda") for _ in range(3))

    def program(a, b, c):  # type: ignore[no-untyped-def]
        return (a * b + c).relu()

    if T.__name__ != OURS:
        return lambda: program(a, b, c)
    scripted = T.jit.script(program)
    return lambda: scripted(a, b, c)


def allocation(T: Any) -> Callable[[], object]:
    """512 bytes that have been there before: of the allocator alone, without a tensor around
    them.
    """
    take, give_back = T.cuda.caching_allocator_alloc, T.cuda.caching_allocator_delete
    give_back(take(512))
    return lambda: give_back(take(512))
