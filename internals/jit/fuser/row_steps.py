"""Functions of rows as steps: the steps that `softmax`, `layer_norm`, `sum`, `mean`, `var` and
`std` have for one row.

A reduction gives one number for a row. It is computed in double precision and converted at the end,
as in the eager kernels, whose functions are used (`aten/compiled/row_functions.py`). An operator
that goes over the row twice becomes two steps:

    var          center = row_mean(x);  v = row_variance(x, center, correction)
    layer_norm   center = row_mean(x);  scale = row_rstd(x, center, eps);
                 normalized = (x - center) * scale;  * weight;  + bias

The last three are ordinary loops over elements. All functions of rows in a group go over rows of
the same sizes.

How the real one differs: PyTorch 1.0.1 fuses no reductions; Inductor decomposes layer norm into a
Welford reduction and elementwise steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.aten.native.normalization_checks import check_layer_norm
from internals.aten.native.reduction_tools import reduced_sizes
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import dtype
from internals.core.geometry import wrap_dims
from internals.core.tensor_impl import Tensor, TensorImpl
from internals.jit.passes.overloads import overload_of

from .settings import GRAIN
from .steps import NotFusable, Read, Rows, Step

if TYPE_CHECKING:
    from internals.jit.ir import Node

    from .observe import Observer

FEW_ROWS = 8  # fewer long rows than this are left to the operators: threads share whole rows


def normalized(x: Any, center: Any, scale: Any) -> Any:
    """The loop over elements in the middle of a layer norm."""
    return (x - center) * scale


def add_row_steps(observer: Observer, node: Node) -> bool:
    """Adds the steps of a function of rows to the program. False if no kernel can compute it, and
    the operator has to.
    """
    given = _Given(observer, node)
    rows, add = given.rows(), _STEPS[node.kind()]
    if rows is None or observer.rows not in (None, rows) or not add(given, rows):
        return False
    observer.rows = rows
    return True


def short_values(steps: Sequence[Step], rows: Rows) -> set[Any]:
    """The values that have lost the rows' dimensions, with all that is computed from them or
    together with them.

    `x.mean(-1)` of an x of sizes (8, 100) has sizes (8,). A kernel over rows treats it, and a
    tensor that is added to it, as (8, 1). But broadcasting treats (8,) as (1, 8). So if such a
    value meets whole rows, this raises NotFusable.
    """
    short: set[Any] = {s for s in steps if s.is_short}
    # until nothing is added: a value that is used together with a short one is short too
    before = -1
    while before != len(short):
        before = len(short)
        for step in steps:
            operands = [x for x, _ in step.operands if isinstance(x, (Read, Step)) and x.sizes]
            if not step.row and any(x in short for x in (step, *operands)):
                short.update((step, *operands))
    wrong = [
        x
        for x in short
        if len(x.sizes) > len(rows.outer) or isinstance(x, Step) and x.row and not x.is_short
    ]
    if wrong or any(x in short for s in steps if s.row for x, _ in s.operands):
        raise NotFusable("numbers of rows, without the dimension of the rows, meet whole rows")
    return short


class _Given:
    """A node's arguments by name, and the ways to add its steps to the program."""

    def __init__(self, observer: Observer, node: Node) -> None:
        self.observer, self.node = observer, node
        self.x: Any = observer.values.get(node.inputsAt(0))

    def __getitem__(self, name: str) -> Any:
        return self.observer.values[self.node.namedInput(name)]

    def rows(self) -> Rows | None:
        """The rows that the node goes over. None if a kernel cannot: if they are on a GPU, not
        contiguous, empty, not floats, not of the last dimensions, or few and long.
        """
        x = self.x
        if not isinstance(x, TensorImpl) or self.observer.device is not CPU:
            return None
        g = x._geometry
        if (
            not g.is_contiguous
            or not g.numel
            or g.dtype not in (dt.float32, dt.float64)
            or not g.sizes
        ):
            return None
        if self.node.kind() == "aten::layer_norm":
            dims: Sequence[int] = range(len(g.sizes) - len(self["normalized_shape"]), len(g.sizes))
        else:
            d = self["dim"]
            dims = sorted(wrap_dims([d] if isinstance(d, int) else d or [], len(g.sizes)))
        if not dims or list(dims) != list(range(dims[0], len(g.sizes))):  # not the last ones
            return None
        found = Rows(tuple(g.sizes), len(dims))
        shared = prod(found.outer) >= FEW_ROWS or g.numel < 2 * GRAIN
        return found if shared else None

    def origin(self, t: Tensor) -> Any:
        """The `Read` or `Step` that a tensor comes from."""
        return self.observer.origins[id(t)]

    def step(
        self, name: str, operands: Sequence[tuple[Any, dtype]], result: dtype, sizes: Sequence[int],
        *, row: str = "", loop: Callable[..., Any] | None = None, **numbers: Any,
    ) -> Step:  # fmt: skip
        """Adds a step, a function of rows (`row`) or a loop, to the program."""
        common = self.x.dtype
        found = Step(name, loop, tuple(operands), numbers, common, result, tuple(sizes), self.node)
        found.row = row
        self.observer.steps.append(found)
        return found

    def center(self) -> Step:
        """Adds a step for the mean of a row, in double precision."""
        x = self.x
        return self.step(
            self.observer.names.fresh("center"),
            [(self.origin(x), x.dtype)],
            dt.float64,
            (),
            row="row_mean",
        )

    def result(self, step: Step, sizes: Sequence[int], shape_of_rows: bool) -> bool:
        """Makes `step` the node's result; always True. `shape_of_rows`: whether it has lost the
        rows' dimensions.
        """
        step.name = self.observer.names.value(self.node.output())
        step.sizes, step.is_short = tuple(sizes), shape_of_rows
        self.observer.give(self.node.output(), step)
        return True


def _softmax(given: _Given, rows: Rows) -> bool:
    """softmax or log_softmax: one step, whose result is a whole row."""
    x = given.x
    name = given.node.kind().partition("::")[2]
    return given.result(
        given.step("", [(given.origin(x), x.dtype)], x.dtype, rows.sizes, row=name),
        rows.sizes,
        False,
    )


def _total(given: _Given, rows: Rows) -> bool:
    """sum or mean: one step."""
    x, row = given.x, "row_" + given.node.kind().partition("::")[2]
    return _reduced(given, rows, given.step("", [(given.origin(x), x.dtype)], x.dtype, (), row=row))


def _variance(given: _Given, rows: Rows) -> bool:
    """var or std: the mean, then the step that needs it."""
    # the overload with `dim` has a flag `unbiased`, the other a number
    correction = (
        int(given["unbiased"]) if overload_of(given.node).endswith(".dim") else given["correction"]
    )
    correction = 1 if correction is None else correction
    if rows.length <= correction:  # left to the operator, which warns
        return False
    x, row = given.x, "row_variance" if given.node.kind() == "aten::var" else "row_std"
    operands = [(given.origin(x), x.dtype), (given.center(), dt.float64)]
    return _reduced(
        given, rows, given.step("", operands, x.dtype, (), row=row, correction=float(correction))
    )


def _reduced(given: _Given, rows: Rows, step: Step) -> bool:
    """Makes `step`, a reduction, the node's result, with or without the rows' dimensions."""
    keepdim = bool(given["keepdim"])
    first = len(rows.outer)
    sizes = reduced_sizes(rows.sizes, range(first, len(rows.sizes)), keepdim)
    return given.result(step, sizes, not keepdim and first > 0)


def _layer_norm(given: _Given, rows: Rows) -> bool:
    """layer_norm: mean, rstd, and up to three loops over elements."""
    x, weight, bias = given.x, given["weight"], given["bias"]
    check_layer_norm(x, list(given["normalized_shape"]), weight, bias)
    d = x.dtype
    if any(t is not None and t.dtype is not d for t in (weight, bias)):
        return False
    row, center, names = given.origin(x), given.center(), given.observer.names
    scale = given.step(
        names.fresh("scale"),
        [(row, d), (center, dt.float64)],
        d,
        (),
        row="row_rstd",
        eps=float(given["eps"]),
    )
    step = given.step(
        names.temporary(), [(row, d), (center, d), (scale, d)], d, rows.sizes, loop=normalized
    )
    for t, loop in ((weight, np.multiply), (bias, np.add)):
        if t is not None:
            step = given.step(
                names.temporary(), [(step, d), (given.origin(t), d)], d, rows.sizes, loop=loop
            )
    return given.result(step, rows.sizes, False)


_STEPS: dict[str, Callable[[_Given, Rows], bool]] = {
    "aten::softmax": _softmax, "aten::log_softmax": _softmax, "aten::layer_norm": _layer_norm,
    "aten::sum": _total, "aten::mean": _total, "aten::var": _variance, "aten::std": _variance,
}  # fmt: skip
