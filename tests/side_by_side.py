"""One expression, evaluated twice: with `internals` and with real PyTorch.

A case is a function of `(T, x)`: `T` is the library, `x` makes its inputs. `x(2, 3)` is a float32
tensor of random numbers, the same in both libraries; `x(2, 3, dtype="int64")` of small integers;
`x.of([1, 2])` of the given values.

    check(lambda T, x: T.mm(x(2, 3), x(3, 4)))

compares values, shape, dtype, or the error that both must raise.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import from_array
from tests.support import assert_same_outcome

Case = Callable[[Any, Any], Any]


class Inputs:
    """Makes tensors of one library from a seeded stream of numbers; two instances give the same
    numbers.
    """

    def __init__(self, from_numpy: Callable[[Any], Any]) -> None:
        self.from_numpy = from_numpy
        self.stream = np.random.default_rng(20190220)

    def __call__(self, *sizes: int, dtype: str = "float32", low: int = -5, high: int = 6) -> Any:
        return self.from_numpy(random_array(self.stream, sizes, dtype, low, high))

    def of(self, values: Any, dtype: str = "float32") -> Any:
        return self.from_numpy(np.array(values, dtype))

    def labels(self, *sizes: int, classes: int) -> Any:
        """int64 class indices from 0 to classes - 1."""
        return self.from_numpy(self.stream.integers(0, classes, sizes))

    def uniform(self, *sizes: int, dtype: str = "float32") -> Any:
        """Numbers strictly between 0 and 1."""
        return self.from_numpy(self.stream.uniform(0.05, 0.95, sizes).astype(dtype))


def random_array(
    stream: np.random.Generator, sizes: tuple[int, ...], dtype: str, low: int = -5, high: int = 6
) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return stream.integers(0, 2, sizes).astype(bool)
    if kind in "iu":
        return stream.integers(0 if kind == "u" else low, high, sizes).astype(dtype)
    if kind == "c":
        return (stream.standard_normal(sizes) + 1j * stream.standard_normal(sizes)).astype(dtype)
    return np.asarray(stream.standard_normal(sizes), dtype)


def ours() -> Inputs:
    return Inputs(lambda a: from_array(np.asarray(a)))


def theirs() -> Inputs:
    import torch

    def fresh(a: Any) -> Any:  # memory of its own: from_numpy's could not be resized
        t = torch.from_numpy(np.array(a))
        return torch.empty(t.shape, dtype=t.dtype).copy_(t)

    return Inputs(fresh)


def check(case: Case, **options: Any) -> None:
    """Both libraries give the same, or raise the same."""
    options = {"family": "expressions", "about": getattr(case, "text", None), **options}
    assert_same_outcome(
        lambda: case(internals, ours()), lambda torch: case(torch, theirs()), **options
    )


def cases(table: str) -> list[str]:
    """The lines of a table of expressions in `T`, `F` (T.nn.functional) and `x`, blank lines and
    comments left out; a line that is indented further goes on with the expression above it.
    """
    found: list[str] = []
    for line in textwrap.dedent(table).splitlines():
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if line[0].isspace():
            found[-1] += f" {content}"
        else:
            found.append(content)
    return found


def expression(text: str) -> Case:
    """A line of a table as a case."""
    code = compile(text, "<case>", "eval")

    def case(T: Any, x: Any) -> Any:
        names = {"T": T, "x": x, "nan": float("nan"), "inf": float("inf")}
        if "F." in text:
            names["F"] = T.nn.functional
        return eval(code, names)

    case.text = text  # type: ignore[attr-defined]
    return case
