"""`softmax` and `log_softmax` on the device (`aten/src/ATen/native/cuda/SoftMax.cu`: `host_softmax`).

How the real one differs: it can turn half precision into single as it goes (`half_to_float`).
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from internals._generated import ops
from internals.aten.native.softmax import check_softmax, check_softmax_backward
from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import empty_contiguous

from ..device_array import flat
from ..kernels import softmax as kernels
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.functors import add, maximum
from .opmath import acc_type, scalar_type
from .reducing import Plan, contiguous_rows, plan_for, processors


def _softmax(self: Any, dim: int, half_to_float: bool, out: Any = None) -> Any:
    """exp(self) divided by its sum along `dim`."""
    return _forward("softmax", self, dim, half_to_float, out)


def _log_softmax(self: Any, dim: int, half_to_float: bool, out: Any = None) -> Any:
    """`self` minus the logarithm of the sum of exp(self) along `dim`."""
    return _forward("log_softmax", self, dim, half_to_float, out)


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: dtype) -> Any:
    """output * (grad_output - sum of grad_output * output along `dim`): what softmax's argument gets back."""
    return _backward("softmax", grad_output, output, dim)


def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: dtype) -> Any:
    """grad_output - exp(output) * (sum of grad_output along `dim`): what log_softmax's argument gets back."""
    return _backward("log_softmax", grad_output, output, dim)


def _forward(name: str, self: Any, dim: int, half_to_float: bool, out: Any) -> Any:
    target, d = check_softmax(name, self, dim, half_to_float, out)
    direct = target.is_contiguous() and target is not self
    result = target if direct else empty_contiguous(target.shape, target.dtype, target.device)
    if self.numel():
        rows, n, inner, plan = _layout(result, d)
        kernel = forward_kernel(name, plan.along_x, acc_type(self.dtype), scalar_type(self.dtype))
        x = self.contiguous()
        kernel[plan.grid, plan.block](flat(result), flat(x), rows, n, inner)
    return target if direct else ops.copy_(target, result, False)


def _backward(name: str, grad_output: Any, output: Any, dim: int) -> Any:
    check_softmax_backward(name, grad_output, output, dim)
    result = empty_contiguous(output.shape, output.dtype, output.device)
    if result.numel():
        rows, n, inner, plan = _layout(result, wrap_dim(dim, result.dim()))
        kernel = backward_kernel(name, plan.along_x, acc_type(output.dtype), scalar_type(output.dtype))
        grad, y = grad_output.contiguous(), output.contiguous()
        kernel[plan.grid, plan.block](flat(result), flat(grad), flat(y), rows, n, inner)
    return result


def _layout(t: Any, d: int) -> tuple[int, int, int, Plan]:
    """(rows, their length, the distance of their elements, the launch) for dimension `d`; a 0-d tensor is a row of one."""
    n, inner = (t.shape[d], prod(t.shape[d + 1 :])) if t.dim() else (1, 1)
    rows = t.numel() // n
    return rows, n, inner, plan_for(contiguous_rows(rows, n, inner), processors(t.device.index), False)


@cache
def forward_kernel(name: str, along_x: bool, T: Any, OUT: Any) -> Any:
    number = accumulator("number", T)
    return kernels.softmax.bind(
        T=T,
        OUT=OUT,
        ALONG_X=along_x,
        largest_of_lanes=block_total(number, maximum, along_x),
        sum_of_lanes=block_total(number, add, along_x),
        value=kernels.share if name == "softmax" else kernels.log_share,
    )


@cache
def backward_kernel(name: str, along_x: bool, T: Any, OUT: Any) -> Any:
    return kernels.softmax_backward.bind(
        T=T,
        OUT=OUT,
        ALONG_X=along_x,
        sum_of_lanes=block_total(accumulator("number", T), add, along_x),
        term=kernels.product if name == "softmax" else kernels.grad_alone,
        gradient=kernels.softmax_gradient if name == "softmax" else kernels.log_softmax_gradient,
    )


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for name in ("softmax", "log_softmax"):
        for d in (dt.float16, dt.float32, dt.float64):
            for along_x in (True, False):
                types, array = (along_x, acc_type(d), scalar_type(d)), f"{d.name}[:]"
                found.append((forward_kernel(name, *types), (array, array, int, int, int)))
                found.append((backward_kernel(name, *types), (array, array, array, int, int, int)))
    return found
