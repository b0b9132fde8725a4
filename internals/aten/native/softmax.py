"""`softmax` and `log_softmax` (`aten/src/ATen/native/SoftMax.cpp`).

    softmax(x)     = exp(x - max(x)) / Σ exp(x - max(x))
    log_softmax(x) = x - max(x) - log Σ exp(x - max(x))

Subtracting the largest element changes nothing in exact arithmetic, and keeps `exp` from
overflowing. log_softmax takes the logarithm of the sum, not of the quotient: where softmax rounds
to 0, it is still finite.

`_softmax` and `_log_softmax` are the operators that autograd knows; `softmax` only converts the
dtype first. The gradients need only the result, not the argument.

Large tensors are left to machine code (`aten/compiled/softmax.py`), which has a kernel for rows and
one for columns.

How the real one differs: it has those two kernels for tensors of any size.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_same_dtype, not_implemented
from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.core.float_errors import quiet, restore
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Array, Tensor, array, empty, empty_contiguous
from internals.machine_code.settings import settings, use_compiled


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype
) -> Any:
    """The gradient of softmax's argument: output * (grad_output - the sum of grad_output * output
    along `dim`).
    """
    return _backward("softmax", grad_output, output, dim)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype
) -> Any:
    """The gradient of log_softmax's argument: grad_output - exp(output) * (the sum of grad_output
    along `dim`).
    """
    return _backward("log_softmax", grad_output, output, dim)


def _forward(
    name: str, self: Tensor, dim: int, half_to_float: bool, out: Tensor | None = None
) -> Any:
    """`name`, "softmax" or "log_softmax", along `dim`, by machine code or numpy."""
    result, x, d = _prepare(name, self, dim, half_to_float, out)
    if self._geometry.stored >= settings.least and _compiled(name, self, result, d):
        return result
    if self._geometry.stored:
        d, target, x = _short_rows_as_columns(d, array(result), x)
        token = quiet()
        shifted = x - np.maximum.reduce(x, d, keepdims=True)
        e = np.exp(shifted)
        if name == "softmax":
            np.divide(e, _sums(e, d), out=target, casting="same_kind")
        else:
            np.subtract(shifted, np.log(_sums(e, d)), out=target, casting="same_kind")
        restore(token)
    return result


# exp(self) divided by its sum along `dim`.
_softmax = partial(_forward, "softmax")
# `self` minus the logarithm of the sum of exp(self) along `dim`.
_log_softmax = partial(_forward, "log_softmax")


def _backward(name: str, grad_output: Tensor, output: Tensor, dim: int) -> Any:
    """The gradient of the argument of `name`, "softmax" or "log_softmax"."""
    result, g, y, d = _prepare_backward(name, grad_output, output, dim)
    if result._geometry.stored >= settings.least and _compiled_backward(
        name, grad_output, output, result, d
    ):
        return result
    if result._geometry.stored:
        token = quiet()
        if name == "softmax":
            dx = g * y  # g * y - y * Σ g * y: the product is used twice
            np.subtract(dx, y * _sums(dx, d), out=array(result), casting="same_kind")
        else:
            np.subtract(g, np.exp(y) * _sums(g, d), out=array(result), casting="same_kind")
        restore(token)
    return result


def softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Any:
    """exp(self) divided by its sum along `dim`: positive numbers that sum to 1. Raises IndexError
    for a dimension out of range.
    """
    return ops._softmax(
        self if dtype is None or dtype is self.dtype else self.to(dtype), dim, False
    )


def log_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Any:
    """The logarithm of softmax, computed so that it does not lose small probabilities."""
    return ops._log_softmax(
        self if dtype is None or dtype is self.dtype else self.to(dtype), dim, False
    )


def _prepare(
    name: str, self: Tensor, dim: int, half_to_float: bool, out: Tensor | None
) -> tuple[Any, Any, int | None]:
    """(result, x, d): a tensor for the result, the input as an array (half in single precision),
    and the dimension counted from the front, None for a 0-d tensor.

    Raises NotImplementedError for integers.
    """
    # fast path: nothing to check or convert
    g = self._geometry.without_grad
    if out is None and g.fast and g.takes_floats and g.sizes and not half_to_float:
        return (
            empty(g),
            array(self),
            dim if 0 <= dim < len(g.sizes) else wrap_dim(dim, len(g.sizes)),
        )
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    d = wrap_dim(dim, self.dim())
    result = set_output(self.shape, self.dtype, out, device=self.device)
    if not self.dtype.is_floating_point:
        last = d == max(self.dim() - 1, 0)
        raise not_implemented(f"{name}_{'lastdim_' if last else ''}kernel_impl", self.dtype)
    if not self._geometry.stored:
        return on_device(f"softmax.{name}", result, self, d), None, None
    x = array(self)
    x = x.astype(np.float32) if self.dtype is dt.float16 else x
    return result, x, d if self.dim() else None


def check_softmax_backward(name: str, grad_output: Tensor, output: Tensor, dim: int) -> None:
    """Raises RuntimeError unless both have one shape and dtype, NotImplementedError unless that is
    floating.
    """
    if grad_output.shape != output.shape:
        raise RuntimeError(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 "
            f"'output'; but {list(grad_output.shape)} does not equal {list(output.shape)} (while "
            f"checking arguments for {name}_backward)"
        )
    check_same_dtype(grad_output, output)
    if not output.dtype.is_floating_point:
        last = wrap_dim(dim, output.dim()) == max(output.dim() - 1, 0)
        raise not_implemented(
            f"{name}_backward_{'lastdim_' if last else ''}kernel_impl", output.dtype
        )


def _prepare_backward(
    name: str, grad_output: Tensor, output: Tensor, dim: int
) -> tuple[Any, Any, Any, Any]:
    """(result, g, y, d): a new tensor for the gradient, both arguments as arrays (half in single
    precision), and the dimension, None for 0-d tensors.
    """
    geometry = output._geometry.without_grad
    if grad_output._geometry.without_grad is not geometry or geometry.dtype.category != dt.FLOATING:
        check_softmax_backward(name, grad_output, output, dim)
    result = (
        empty(geometry)
        if geometry.plain
        else empty_contiguous(geometry.sizes, geometry.dtype, geometry.device)
    )
    if not geometry.stored:
        return (
            on_device(
                f"softmax.{name}_backward", result, grad_output, output, wrap_dim(dim, output.dim())
            ),
            None,
            None,
            None,
        )
    g, y = array(grad_output), array(output)
    if geometry.dtype is dt.float16:
        g, y = g.astype(np.float32), y.astype(np.float32)
    return result, g, y, wrap_dim(dim, y.ndim) if y.ndim else None


def _compiled(name: str, self: Tensor, result: Tensor, d: int | None) -> bool:
    """Fill `result` by machine code; False where numpy has to do it."""
    from internals.aten.compiled.softmax import THRESHOLD, softmax

    inputs = _contiguous_inputs([self], result, THRESHOLD)
    return inputs is not None and softmax(name, inputs[0], result, d or 0)


def _compiled_backward(
    name: str, grad: Tensor, output: Tensor, result: Tensor, d: int | None
) -> bool:
    """Fill `result` by machine code; False where numpy has to do it."""
    from internals.aten.compiled.softmax import THRESHOLD, softmax_backward

    inputs = _contiguous_inputs([grad, output], result, THRESHOLD)
    return inputs is not None and softmax_backward(name, inputs[0], inputs[1], result, d or 0)


def _contiguous_inputs(inputs: list[Tensor], result: Tensor, threshold: int) -> list[Tensor] | None:
    """The inputs made contiguous, as machine code needs them; None where numpy has to do it: few
    elements, other dtypes, or an input that shares memory with the result.
    """
    d = result.dtype
    if d not in (dt.float32, dt.float64) or any(
        t.dtype is not d or t._storage is result._storage for t in inputs
    ):
        return None
    if any(t._geometry.sizes != result._geometry.sizes for t in inputs):
        return None
    if (
        not result.numel()
        or not result.is_contiguous()
        or not use_compiled(result.numel(), threshold)
    ):
        return None
    return [t if t.is_contiguous() else _copy(t) for t in inputs]


def _copy(t: Tensor) -> Tensor:
    """A contiguous copy."""
    copy: Tensor = empty_contiguous(t.shape, t.dtype)
    array(copy)[...] = array(t)
    return copy


def _sums(a: Any, d: int | None) -> Any:
    """The sums along `d`, which keeps size 1. A small matrix is multiplied by ones instead: calling
    BLAS costs less than calling a ufunc.
    """
    if a.ndim == 2 and a.shape[d] <= 32 and a.dtype.char in "fd":
        ones = _ones(a.shape[d], a.dtype)
        return np.dot(a, ones[:, None]) if d else np.dot(ones, a)[None]
    return np.add.reduce(a, d, keepdims=True)


@lru_cache(maxsize=128)
def _ones(n: int, dtype: Any) -> Any:
    """A vector of `n` ones, made once for each size and dtype."""
    return np.ones(n, dtype)


def _short_rows_as_columns(d: int | None, target: Array, x: Array) -> tuple[int | None, Any, Any]:
    """(d, target, x); where many short rows are reduced, transposed, so that `d` is 0.

    numpy finds maxima row by row, which for rows of ten classes costs more than all the arithmetic;
    along columns it compares whole rows at once. `target` stays a view, `x` becomes a copy.
    """
    n = target.shape[-1] if target.ndim else 0
    if (
        d is None
        or d != target.ndim - 1
        or n > 32
        or target.size < 8 * n
        or not target.flags.c_contiguous
    ):
        return d, target, x
    return 0, target.reshape(-1, n).T, np.ascontiguousarray(x.reshape(-1, n).T)
