"""The second derivative of convolutions (`_convolution_double_backward` in
`torch/csrc/autograd/FunctionsManual.cpp`).

A convolution y = x * w is linear in x and in w. Its two gradients, of x from (grad_output, w) and
of w from (grad_output, x), are linear in each of their arguments as well, and every gradient of
theirs is one of the same three operations: the convolution, the gradient of its input, the gradient
of its weight. However often it is differentiated, nothing else appears. That holds for every
stride, padding, dilation, group and transposition, because it only uses that the three are each
other's adjoints.

How the real one differs: it writes the two gradients out as convolutions with transposed and
narrowed arguments, group by group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def convolution_double_backward(
    grads: Sequence[Any],
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of convolution_backward's arguments (grad_output, input, weight).

    `grads` are those of its results, the gradients of input, weight and bias; some may be None.
    `mask` says which of the three are wanted; one that is not, or is zero, is None.
    """
    of_input, of_weight, of_bias = grads
    how = (stride, padding, dilation, transposed, output_padding, groups)
    wanted, x_wanted, w_wanted = mask
    g = dx = dw = None
    if of_input is not None:
        # the result was the gradient of x, from grad_output and the weight
        if wanted:
            g = ops.convolution(of_input, weight, None, *how)
        if w_wanted:
            dw = ops.convolution_backward(
                grad_output, of_input, weight, None, *how, [False, True, False]
            )[1]
    if of_weight is not None:
        # the result was the gradient of w, from grad_output and x
        if wanted:
            g = _sum(g, ops.convolution(input, of_weight, None, *how))
        if x_wanted:
            dx = ops.convolution_backward(
                grad_output, input, of_weight, None, *how, [True, False, False]
            )[0]
    if of_bias is not None and wanted:
        # the result was the sum of grad_output over all but the channels: (C,) -> (C, 1, 1)
        channels = of_bias.view([-1, *[1] * (input.dim() - 2)])
        g = channels.expand(grad_output.shape) if g is None else g + channels
    return g, dx, dw


def _sum(a: Tensor | None, b: Tensor) -> Any:
    """a + b, where None stands for zeros."""
    return b if a is None else a + b
