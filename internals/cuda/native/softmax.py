"""`softmax` and `log_softmax` on the device (`aten/src/ATen/native/cuda/SoftMax.cu`:
`host_softmax`).

The tensor is seen as (outer, n, inner), where n is the size of the dimension; a row is n elements,
`inner` apart.

How the real one differs: it can convert half precision to single on the way (`half_to_float`).
"""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import Any

from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..kernels import softmax as kernels
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.functors import add, maximum
from .opmath import acc_type, scalar_type
from .reducing import Plan, contiguous_rows, plan_for, processors, write_back


def _forward(name: str, result: Tensor, self: Tensor, d: int) -> None:
    """result = softmax or log_softmax of `self` along dimension `d`."""
    # the kernel writes contiguous memory that is not the source's
    target = (
        result
        if result.is_contiguous() and result is not self
        else empty_contiguous(self.shape, self.dtype, self.device)
    )
    rows, n, inner, plan = _layout(target, d)
    kernel = forward_kernel(name, plan.along_x, acc_type(self.dtype), scalar_type(self.dtype))
    x = self.contiguous()
    kernel[plan.grid, plan.block](flat(target), flat(x), rows, n, inner)
    write_back((target,), (result,))


def _backward(name: str, result: Tensor, grad_output: Tensor, output: Tensor, d: int) -> None:
    """result = the gradient of the input; `output` is the forward pass's result."""
    rows, n, inner, plan = _layout(result, d)
    kernel = backward_kernel(name, plan.along_x, acc_type(output.dtype), scalar_type(output.dtype))
    grad, y = grad_output.contiguous(), output.contiguous()
    kernel[plan.grid, plan.block](flat(result), flat(grad), flat(y), rows, n, inner)


softmax, log_softmax = partial(_forward, "softmax"), partial(_forward, "log_softmax")
softmax_backward, log_softmax_backward = (
    partial(_backward, "softmax"),
    partial(_backward, "log_softmax"),
)


def _layout(t: Tensor, d: int) -> tuple[int, int, int, Plan]:
    """(rows, n, inner, plan) for dimension `d`: the number of rows, their length, the distance of
    their elements, and the launch. A 0-d tensor is one row of one element.
    """
    n, inner = (t.shape[d], prod(t.shape[d + 1 :])) if t.dim() else (1, 1)
    rows = t.numel() // n
    return (
        rows,
        n,
        inner,
        plan_for(contiguous_rows(rows, n, inner), processors(t.device.index), False),
    )


@cache
def forward_kernel(name: str, along_x: bool, T: type, OUT: type) -> Any:
    """The kernel for "softmax" or "log_softmax", computing in T, with results of type OUT."""
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
def backward_kernel(name: str, along_x: bool, T: type, OUT: type) -> Any:
    """The kernel for the gradient, with the same parameters."""
    return kernels.softmax_backward.bind(
        T=T,
        OUT=OUT,
        ALONG_X=along_x,
        sum_of_lanes=block_total(accumulator("number", T), add, along_x),
        term=kernels.product if name == "softmax" else kernels.grad_alone,
        gradient=kernels.softmax_gradient if name == "softmax" else kernels.log_softmax_gradient,
    )
