"""Differences of neighbours, and derivatives estimated from them: `diff`, `gradient`
(`aten/src/ATen/native/ReduceOps.cpp`).

`gradient` estimates the derivative at every sample: inside from both neighbours, at the ends from
one (`edge_order=1`) or two (`edge_order=2`) on the one side there is. Where samples lie at unequal
distances a and b, the samples are weighted so that the derivative of a parabola is exact.

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals._generated.functions import cat
from internals.core import dtype as dt
from internals.core.geometry import wrap_dim, wrap_dims
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

Dims = int | Sequence[int] | None


def diff(
    self: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Any:
    """The `n`-th differences along `dim`, which get `n` elements shorter; of bools, whether
    neighbours differ. `prepend` and `append` are joined to `self` first.

    Raises RuntimeError for a 0-d tensor, for a negative `n`, and where the sizes of `prepend` or
    `append` do not fit.
    """
    if not self.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    d = wrap_dim(dim, self.dim())
    for other in (prepend, append):
        if other is not None:
            _check_joined(self, other, d)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return ops.zeros_like(self, None, None, None, None, None).copy_(self)
    parts = [t for t in (prepend, self, append) if t is not None]
    result = cat(parts, d) if len(parts) > 1 else self
    for _ in range(min(n, result.shape[d])):
        left, right = _slice(result, d, 0, -1), _slice(result, d, 1)
        result = (
            ops.logical_xor(right, left)
            if result.dtype is dt.bool_
            else ops.sub_Tensor(right, left, 1)
        )
    return result


def gradient_scalarint(
    self: Tensor, spacing: Scalar | None = None, dim: int | None = None, edge_order: int = 1
) -> Any:
    """The derivatives along `dim`, or along every dimension, of samples at equal distances: a tuple
    of tensors with the sizes of `self`. The distance is 1 if `spacing` is not given.

    Raises RuntimeError for uint8, and for fewer than edge_order + 1 samples.
    """
    dims = _dims(self, None, dim, edge_order)
    return _of_equal_steps(
        self, [1.0 if spacing is None else spacing] * len(dims), dims, edge_order
    )


def gradient_scalararray(
    self: Tensor, spacing: Scalar, dim: Sequence[int], edge_order: int = 1
) -> Any:
    """`gradient` with one distance for all of several dimensions."""
    dims = _dims(self, None, dim, edge_order)
    return _of_equal_steps(self, [spacing] * len(dims), dims, edge_order)


def gradient_array(self: Tensor, dim: Sequence[int], edge_order: int = 1) -> Any:
    """`gradient` with distance 1 in several dimensions."""
    dims = _dims(self, None, dim, edge_order)
    return _of_equal_steps(self, [1.0] * len(dims), dims, edge_order)


def gradient_scalarrayint(
    self: Tensor, spacing: Sequence[Any], dim: int | None = None, edge_order: int = 1
) -> Any:
    """`gradient` with a distance for each dimension."""
    return _of_equal_steps(self, spacing, _dims(self, len(spacing), dim, edge_order), edge_order)


def gradient_scalarrayarray(
    self: Tensor, spacing: Sequence[Any], dim: Sequence[int], edge_order: int = 1
) -> Any:
    """`gradient` with a distance for each of several dimensions."""
    return _of_equal_steps(self, spacing, _dims(self, len(spacing), dim, edge_order), edge_order)


def gradient_tensorarrayint(
    self: Tensor, spacing: Sequence[Any], dim: int | None = None, edge_order: int = 1
) -> Any:
    """`gradient` with the coordinates of the samples in each dimension, a list of vectors."""
    return _of_coordinates(self, spacing, _dims(self, len(spacing), dim, edge_order), edge_order)


def gradient_tensorarray(
    self: Tensor, spacing: Sequence[Any], dim: Sequence[int], edge_order: int = 1
) -> Any:
    """`gradient` with the coordinates of the samples in each of several dimensions."""
    return _of_coordinates(self, spacing, _dims(self, len(spacing), dim, edge_order), edge_order)


def _of_equal_steps(
    self: Tensor, spacing: Sequence[Any], dims: Sequence[int], edge_order: int
) -> tuple[Any, ...]:
    """The derivatives for equal distances, `spacing[i]` in dimension `dims[i]`."""
    derivatives = []
    for step, d in zip(spacing, dims):
        # the first samples from the start on, and the last ones from the end on
        f = [_slice(self, d, i, i + 1) for i in range(edge_order + 1)]
        g = [_slice(self, d, -i - 1, -i if i else None) for i in range(edge_order + 1)]
        if edge_order == 1:
            first, last = (f[1] - f[0]) / step, (g[0] - g[1]) / step
        else:
            first = (f[1] * 4 - f[0] * 3 - f[2]) / 2.0 / step
            last = (g[0] * 3 - g[1] * 4 + g[2]) / 2.0 / step
        middle = (_slice(self, d, 2) - _slice(self, d, 0, -2)) / 2.0 / step
        derivatives.append(cat((first, middle, last), d))
    return tuple(derivatives)


def _of_coordinates(
    self: Any, spacing: Sequence[Any], dims: Sequence[int], edge_order: int
) -> tuple[Any, ...]:
    """The derivatives for samples at the coordinates `spacing[i]` in dimension `dims[i]`."""
    derivatives = []
    for coordinates, d in zip(spacing, dims):
        steps = coordinates.diff()
        a, b = (
            t.view([-1 if i == d else 1 for i in range(self.dim())])
            for t in (steps[:-1], steps[1:])
        )
        # a is the distance to the sample before, b that to the one after; the weights differentiate
        # the parabola through the three samples
        before, here, after = _slice(self, d, 0, -2), _slice(self, d, 1, -1), _slice(self, d, 2)
        middle = (
            before * (-b / (a * (a + b))) + here * ((b - a) / (a * b)) + after * (a / (b * (a + b)))
        )
        f = [_slice(self, d, i, i + 1) for i in range(edge_order + 1)]
        g = [_slice(self, d, -i - 1, -i if i else None) for i in range(edge_order + 1)]
        if edge_order == 1:
            first, last = (f[1] - f[0]) / steps[0], (g[0] - g[1]) / steps[-1]
        else:
            a, b, c = _terms(f, steps[0], steps[1])
            first = a + b + c
            # seen from the end, the coordinates descend: the sign of the derivative changes
            c, b, a = _terms(g, steps[-1], steps[-2])
            last = -(a + b + c)
        derivatives.append(cat((first, middle, last), d))
    return tuple(derivatives)


def _terms(f: Sequence[Any], a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The terms whose sum is the derivative at the first of three samples, where a is the distance
    between the first two, and b that between the last two.
    """
    return (
        f[0] * (-(2.0 * a + b) / (a * (a + b))),
        f[1] * ((a + b) / (a * b)),
        f[2] * (-a / (b * (a + b))),
    )


def _slice(t: Tensor, dim: int, start: int, end: int | None = None) -> Any:
    """t[start:end] along `dim`."""
    return ops.slice_Tensor(t, dim, start, end, 1)


def _dims(self: Tensor, n_spacings: int | None, dim: Dims, edge_order: int) -> tuple[int, ...]:
    """The dimensions to differentiate along. Raises RuntimeError for uint8, for lengths of
    `spacing` and `dim` that do not fit, for another `edge_order`, and for too few samples.
    """
    if self.dtype is dt.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    given = [dim] if isinstance(dim, int) else dim
    if n_spacings is not None and given is None and n_spacings != self.dim():
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {self.dim()}', since dim argument was not given, but got a "
            f"list of length {n_spacings}"
        )
    if n_spacings is not None and given is not None and n_spacings != len(given):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
            f"arguments to have the same length, but got a spacing argument of length {n_spacings} "
            f"and a dim argument of length {len(given)}."
        )
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = (
        tuple(range(self.dim())) if given is None else wrap_dims(given, self.dim()) if given else ()
    )
    if any(self.shape[d] <= edge_order for d in dims if self.dim()):
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )
    return dims


def _check_joined(self: Tensor, other: Tensor, dim: int) -> None:
    """Raises RuntimeError unless `other` can be joined to `self` along `dim`."""
    if other.dim() != self.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (n, m) in enumerate(zip(self.shape, other.shape)):
        if i != dim and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({i}) = {n}, but got "
                f"tensor.size({i}) = {m}"
            )
