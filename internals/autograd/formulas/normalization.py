"""Gradients of layer, group and batch normalization (`torch/csrc/autograd/FunctionsManual.cpp`).

The first derivatives are operators (`native_layer_norm_backward`, ...); here are the derivatives of
these operators. With the gradient g of the result, x̂ = (x - mean) * rstd, h = g * weight, and avg
for the average over the normalized dimensions, all three compute

    dx = rstd * (h - avg(h) - x̂ avg(h x̂)),   dweight = sum(g x̂),   dbias = sum(g)

so one function differentiates them all, `normalization_double_backward`, for arguments whose shapes
broadcast. mean and rstd are functions of x, and its gradients with respect to x include that.

How the real one differs: it has three such functions, written separately; group norm is
differentiated again by computing its gradient with plain operators; third derivatives of the others
treat mean and rstd as constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import ops
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor


def layer_norm_double_backward(
    grads: Sequence[Any],
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of native_layer_norm_backward's (grad_out, input, weight)."""
    rows = input.dim() - len(normalized_shape)
    over, others = list(range(rows, input.dim())), list(range(rows))
    g, x, w = normalization_double_backward(
        grads, grad_out, input, mean, rstd, weight, over, others, mask
    )
    return g, x, None if w is None else w.reshape(normalized_shape)


def group_norm_double_backward(
    grads: Sequence[Any],
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor,
    N: int,
    C: int,
    HxW: int,
    group: int,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of native_group_norm_backward's (grad_out, input, weight).

    The input (N, C, H, W) is taken as (N, groups, channels of a group, H * W) and normalized over
    the last two dimensions.
    """
    sizes, per_group, per_channel = (
        [N, group, C // group, HxW],
        [N, group, 1, 1],
        [1, group, C // group, 1],
    )
    of_input, of_weight, of_bias = grads
    g, x, w = normalization_double_backward(
        (
            _reshape(of_input, sizes), _reshape(of_weight, per_channel),
            _reshape(of_bias, per_channel),
        ),
        grad_out.reshape(sizes), input.reshape(sizes), mean.reshape(per_group),
        rstd.reshape(per_group),
        _reshape(weight, per_channel), [2, 3], [0, 3], mask,
    )  # fmt: skip
    return _reshape(g, input.shape), _reshape(x, input.shape), _reshape(w, [C])


def batchnorm_double_backward(
    grads: Sequence[Any],
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Any,
    running_var: Any,
    save_mean: Tensor,
    save_invstd: Tensor,
    train: bool,
    eps: float,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of native_batch_norm_backward's (grad_out, input, weight)."""
    channels = [1, input.shape[1], *[1] * (input.dim() - 2)]  # (1, C, 1, 1)
    # in evaluation the running statistics were used: constants, not functions of the input
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    of_input, of_weight, of_bias = grads
    dims = [d for d in range(input.dim()) if d != 1]
    g, x, w = normalization_double_backward(
        (of_input, _reshape(of_weight, channels), _reshape(of_bias, channels)), grad_out, input,
        mean.view(channels), rstd.view(channels), _reshape(weight, channels), dims, dims, mask,
        train,
    )  # fmt: skip
    return g, x, _reshape(w, [input.shape[1]])


def group_norm_backward(
    grads: Sequence[Any],
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of native_group_norm's (input, weight, bias), given those of its three results,
    the output, mean and rstd; some may be None.
    """
    of_output, of_mean, of_rstd = grads
    dx = dw = db = None
    if of_output is not None:
        dx, dw, db = ops.native_group_norm_backward(
            of_output, input, mean.detach(), rstd.detach(), weight, N, C, HxW, group, list(mask)
        )
    if mask[0] and (of_mean is not None or of_rstd is not None):
        count, per_group = C // group * HxW, [N, group, 1]
        x, statistics = input.reshape([N, group, count]), 0
        if of_mean is not None:
            statistics = of_mean.view(per_group) / count  # d mean / dx = 1 / count
        if of_rstd is not None:
            # rstd = (variance + eps)**-0.5: d rstd / dx = -rstd**3 * (x - mean) / count
            cube = (of_rstd * rstd * rstd * rstd).view(per_group)
            statistics = statistics - cube * (x - mean.view(per_group)) / count
        through = statistics.expand(x.shape).reshape(input.shape)  # type: ignore[attr-defined]
        dx = through if dx is None else dx + through
    return dx, dw, db


def normalization_double_backward(
    grads: Sequence[Any],
    g: Tensor,
    x: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    over: list[int],
    others: list[int],
    mask: Sequence[bool],
    follow_statistics: bool = True,
) -> tuple[Any, Any, Any]:
    """The gradients of g, x and weight, given those of dx, dweight and dbias (see the module's
    docstring), some of which may be None.

    `over` are the normalized dimensions, `others` those along which weight and bias are broadcast.
    `follow_statistics` is False where mean and rstd are constants. `mask` says which of the three
    are wanted.
    """
    of_dx, of_dw, of_db = grads
    if follow_statistics and x.requires_grad and is_grad_enabled():
        mean, rstd = _as_functions_of(x, rstd, over)
    normal = (x - mean) * rstd
    count = prod([x.shape[d] for d in over])

    def project(t: Tensor) -> Any:
        """`t - avg(t) - x̂ avg(t x̂)`: `t` without its average and its component along x̂. Shifting
        or scaling x does not change x̂, so these components have no influence.
        """
        if not follow_statistics:
            return t
        return t - _sum(t, over) / count - normal * (_sum(t * normal, over) / count)

    gg = gx = gw = None
    # dx is rstd * project(h), and `project` is its own adjoint
    if of_dx is not None:
        projected = project(of_dx) * rstd
        if mask[0]:
            gg = projected if weight is None else projected * weight
        if mask[2] and weight is not None:
            gw = _sum(g * projected, others)
    if mask[0] and of_dw is not None:
        gg = _plus(gg, of_dw * normal)
    if mask[0] and of_db is not None:
        gg = _plus(gg, of_db.expand(g.shape))
    if mask[1]:
        # the gradient of x̂, which occurs in dweight, and twice in project(h)
        of_normal = None if of_dw is None else g * of_dw
        if of_dx is not None and follow_statistics:
            h = g if weight is None else g * weight
            along_a, along_h = _sum(of_dx * normal, over) / count, _sum(h * normal, over) / count
            of_normal = _plus(of_normal, -rstd * (of_dx * along_h + h * along_a))
            of_rstd = _sum(of_dx * project(h), over)  # dx is rstd times project(h)
            # through rstd: d rstd / dx = -rstd**2 * x̂ / count
            gx = -of_rstd * rstd * rstd * normal / count
        if of_normal is not None:  # through x̂, which is differentiated as normalization itself
            gx = _plus(gx, project(of_normal) * rstd)
    return gg, gx, gw


def _as_functions_of(x: Tensor, rstd: Tensor, over: list[int]) -> tuple[Any, Any]:
    """Mean and rstd computed again from x, so that they have a history and third derivatives are
    right. `eps` is not an argument here, but follows from rstd.
    """
    mean = x.mean(over, True)
    variance = (x - mean).square().mean(over, True)
    eps = (1 / rstd.square() - variance).detach()
    return mean, (variance + eps).rsqrt()


def _sum(t: Tensor, dims: list[int]) -> Any:
    """The sum over `dims`, which stay with size 1. (To `sum`, [] would mean all dimensions.)"""
    return t.sum(dims, True) if dims else t


def _plus(a: Tensor | None, b: Tensor) -> Any:
    """a + b, where None stands for zeros."""
    return b if a is None else a + b


def _reshape(t: Tensor | None, sizes: Sequence[int]) -> Any:
    return None if t is None else t.reshape(sizes)
