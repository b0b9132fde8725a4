"""The negative log likelihood and cross entropy (`aten/src/ATen/native/LossNLL.cpp`,
`LossNLL2d.cpp`).

`nll_loss` picks, for every sample, the log-probability of its class, and turns the sign:
`loss[n] = -weight[target[n]] * self[n, target[n]]`. `cross_entropy_loss` is log_softmax followed by
it, or, when the target holds probabilities, a weighted sum. The kernels `nll_loss_forward` and
`nll_loss2d_forward` also return the total weight: a mean is divided by it, and the derivative needs
it again. Samples whose target is `ignore_index` count for nothing.

How the real one differs: it has two kernels, for matrices and for images; here `_pick` and `_put`
serve both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import nan, prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype, check_same_dtype
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.float_errors import quiet, restore
from internals.core.geometry import Geometry, contiguous_geometry
from internals.core.tensor_impl import Array, Tensor, array, empty, empty_contiguous, snapshot

from .gradient_checks import check_sizes
from .losses import MEAN, NONE, SUM


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """(output, total_weight) for log-probabilities (N, C) and classes (N), or (C) and a single
    class.
    """
    # fast path for training: a contiguous matrix, no weights, every target a class
    if weight is None and reduction != NONE:
        usual = _common_rows(self._geometry, target._geometry)
        if usual is not None and _all_count(t := array(target), usual[1], ignore_index):
            return _reduce_all(array(self), usual[0] + t, self._geometry.dtype, reduction)
    if self.dim() == 1 and target.dim() == 1:
        if target.shape[0] != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
            )
        target = target.select(0, 0)  # here PyTorch takes (1) for (); its derivative does not
    check_nll_loss(self, target)
    return _pick(self, target, weight, reduction, ignore_index, self.dim() - 1)


def nll_loss2d_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """(output, total_weight) for log-probabilities (N, C, H, W) and classes (N, H, W)."""
    check_nll_loss2d(self, target)
    return _pick(self, target, weight, reduction, ignore_index, 1)


def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Any:
    """The gradient of `self`: 0 except at each sample's target, where it is -weight * grad_output,
    divided by `total_weight` if a mean was taken.
    """
    return _put(
        grad_output, self, target, weight, reduction, ignore_index, total_weight, self.dim() - 1
    )


def nll_loss2d_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Any:
    """`nll_loss_backward` for (N, C, H, W)."""
    return _put(grad_output, self, target, weight, reduction, ignore_index, total_weight, 1)


def nll_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Any:
    """The loss for (N, C) and (N), or (C) and (): the first result of `nll_loss_forward`."""
    return ops.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


def nll_loss2d(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Any:
    """The loss for (N, C, H, W) and (N, H, W): the first result of `nll_loss2d_forward`."""
    return ops.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]


def nll_loss_nd(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Any:
    """The loss for any number of further dimensions: (N, C, ...) and (N, ...). Raises ValueError
    when the batches differ.
    """
    sizes = list(self._geometry.sizes)
    n = len(sizes)
    if n < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {n})")
    target_batch = next(iter(target.shape), 0)
    if n != 1 and sizes[0] != target_batch:
        raise ValueError(
            f"Expected input batch_size ({sizes[0]}) to match target batch_size ({target_batch})."
        )
    if n <= 2:
        return ops.nll_loss(self, target, weight, reduction, ignore_index)
    if n == 4:
        return ops.nll_loss2d(self, target, weight, reduction, ignore_index)
    wanted = [sizes[0], *sizes[2:]]
    if list(target.shape[1:]) != sizes[2:]:
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    # (N, C, d1, d2, ...) as an image (N, C, 1, d1 * d2 * ...), and (N, 1, d1 * d2 * ...)
    image, labels = (
        t.contiguous().view(*t.shape[:kept], *((1, -1) if t.numel() else (0, 0)))
        for t, kept in ((self, 2), (target, 1))
    )
    result = ops.nll_loss2d(image, labels, weight, reduction, ignore_index)
    return result.view(wanted) if reduction == NONE else result


def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """nll_loss of log_softmax(self). A target of the shape of `self` holds probabilities instead of
    class indices.

    `label_smoothing` mixes the target with the uniform distribution.
    """
    class_dim = 0 if self.dim() == 1 else 1
    if self.shape == target.shape:
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{SCALAR_TYPE_NAME[target.dtype]}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _probability_targets(self, target, weight, reduction, label_smoothing, class_dim)
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    logs = ops.log_softmax_int(self, class_dim, self.dtype)  # (N, C, ...)
    if label_smoothing > 0:
        return _smoothed(logs, target, weight, reduction, ignore_index, label_smoothing, class_dim)
    return ops.nll_loss_nd(logs, target, weight, reduction, ignore_index)


def _probability_targets(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    smoothing: float,
    class_dim: int,
) -> Any:
    """-sum over the classes of weight * target * log_softmax(self), averaged over the samples."""
    classes = self.shape[class_dim]
    _check_class_weight(weight, classes, "cross_entropy: ")
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    products = ops.log_softmax_int(self, class_dim, self.dtype) * target
    if weight is not None:
        products = products * _along_classes(weight, self, class_dim)
    if reduction == NONE:
        return -products.sum(class_dim)
    total = -products.sum()
    if reduction == SUM:
        return total
    # numel / classes is the number of samples; unlike class indices, weights do not count here
    return total / (self.numel() / classes) if self.numel() else total * nan


def _smoothed(
    logs: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    smoothing: float,
    class_dim: int,
) -> Any:
    """(1 - smoothing) of the usual loss, and `smoothing` of the loss for a uniform target, which is
    the mean over all classes.
    """
    _check_class_weight(weight, logs.shape[class_dim], "")
    usual = ops.nll_loss_nd(logs, target, weight, reduction, ignore_index)
    weighted = logs if weight is None else logs * _along_classes(weight, logs, class_dim)
    ignored = target == ignore_index
    # (N, ...): the sum over all classes; the mean's division by their number comes last
    uniform = (-weighted.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction == SUM:
        uniform = uniform.sum()
    elif reduction == MEAN and weight is None:
        uniform = uniform.masked_select(~ignored).mean()
    elif reduction == MEAN:  # divided, as the usual loss is, by the weights of the true classes
        uniform = uniform.sum() / weight.gather(0, target.masked_select(~ignored).flatten()).sum()
    return usual * (1 - smoothing) + uniform * (smoothing / logs.shape[class_dim])


def _along_classes(weight: Tensor, t: Tensor, class_dim: int) -> Any:
    """The weights (C) as (1, C, 1, ...), so that they broadcast with `t`."""
    return weight.view([weight.shape[0] if d == class_dim else 1 for d in range(t.dim())])


def _pick(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    class_dim: int,
) -> tuple[Any, Any]:
    """(output, total_weight): the loss of each target, or their sum or mean, and the sum of the
    weights of the targets that count.
    """
    classes = self.shape[class_dim]
    check_targets(self, target, weight, class_dim)
    total_weight = empty_contiguous((), self.dtype, self.device)
    output = empty_contiguous(target.shape if reduction == NONE else (), self.dtype, self.device)
    if self.device is not CPU:
        how = target, weight, reduction, ignore_index, class_dim
        return on_device("nll_loss.pick", (output, total_weight), self, *how)
    # `snapshot`: another thread may write to the targets between the check and the lookup
    x, t = array(self), snapshot(target).astype(np.int64, copy=False)
    usual = weight is None and reduction != NONE and t.ndim and self.dtype is not dt.float16
    if usual and _all_count(t, classes, ignore_index):
        return _reduce_all(x, _places(t, x.shape, class_dim), self.dtype, reduction)
    counts = t != ignore_index
    _check_classes(t, counts, classes)
    index = np.where(counts, t, 0)  # an ignored target may be no class; class 0 is safe to read
    x = x.astype(np.float32) if self.dtype is dt.float16 else x
    if classes == 0 or x.size == 0:
        picked = np.zeros(t.shape, x.dtype)
    else:
        picked = (
            np.take_along_axis(x, np.expand_dims(index, class_dim), class_dim)
            .squeeze(class_dim)
            .reshape(t.shape)
        )
    weights = (
        counts.astype(x.dtype)
        if weight is None
        else np.where(counts, array(weight)[index], 0).astype(x.dtype)
    )
    losses = np.asarray(-picked * weights)
    losses[~counts] = 0  # and not the NaN of 0 * infinity
    array(total_weight)[...] = 0 if reduction == NONE else weights.sum()
    with np.errstate(all="ignore"):
        array(output)[...] = (
            losses
            if reduction == NONE
            else losses.sum() / (weights.sum() if reduction == MEAN else 1)
        )
    return output, total_weight


def _reduce_all(x: Array, positions: Array, dtype: dtype, reduction: int) -> tuple[Any, Any]:
    """(output, total_weight) in the usual case: no weights, nothing ignored, and the sum or the
    mean is wanted. `positions` are those of the targets' elements in flattened `x`.
    """
    number = contiguous_geometry((), dtype)
    output, total_weight = empty(number), empty(number)
    token = quiet()
    total = -np.add.reduce(x.take(positions))
    array(output)[...] = total / total.dtype.type(positions.size) if reduction == MEAN else total
    restore(token)
    array(total_weight)[...] = positions.size
    return output, total_weight


@lru_cache(maxsize=1 << 10)
def _common_rows(x: Geometry, t: Geometry) -> tuple[Any, int] | None:
    """The offsets at which the rows of `x` begin, and the rows' length, if `x` is a matrix of
    contiguous floats and `t` holds an int64 for each row; else None.
    """
    x = x.without_grad
    if not (
        x.fast
        and x.takes_floats
        and t.plain
        and t.dtype is dt.int64
        and len(x.sizes) == 2
        and t.sizes == x.sizes[:1]
    ):
        return None
    return np.arange(0, x.numel, x.sizes[1]), x.sizes[1]


def _all_count(t: Array, classes: int, ignore_index: int) -> bool:
    """Whether every target is a class that counts.

    Read as unsigned, a negative number is larger than any class: -1 is 2⁶⁴ - 1. So one comparison
    checks both ends.
    """
    return bool(
        t.size
        and not 0 <= ignore_index < classes
        and np.maximum.reduce(t.view(np.uint64), None) < classes
    )


def _places(t: Array, sizes: Sequence[int], class_dim: int) -> Any:
    """The offset, in a flattened tensor of `sizes`, of the element of each target's class."""
    # (N, C, inner): target number i is in sample i // inner, at place i % inner of its image
    classes, inner = sizes[class_dim], prod(sizes[class_dim + 1 :])
    if inner == 1:
        return np.arange(0, t.size * classes, classes) + t.reshape(-1)
    n = np.arange(t.size)
    return n // inner * (classes * inner) + n % inner + t.reshape(-1) * inner


def _put(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
    class_dim: int,
) -> Any:
    """The gradient of `_pick`: zeros like `self`, and at the class that was picked the gradient of
    the loss times -weight.

    Raises RuntimeError for shapes or dtypes that cannot come from a forward pass.
    """
    are_scalars = () == grad_output._geometry.sizes == total_weight._geometry.sizes
    usual = (
        _common_rows(self._geometry, target._geometry)
        if weight is None and reduction == MEAN and are_scalars
        else None
    )
    if usual is not None and (total := array(total_weight)[()]) == usual[0].size:
        # no sample was ignored, as the total weight is the number of rows
        result = empty(self._geometry.without_grad)
        dx = array(result)
        dx.fill(0)
        token = quiet()
        dx.put(usual[0] + array(target), -array(grad_output)[()] / total)
        restore(token)
        return result
    if class_dim == 1 and self.dim() != 2:
        check_nll_loss2d(self, target)
    else:
        check_nll_loss(self, target)
    if total_weight.numel() != 1:
        raise RuntimeError(
            "expected total_weight to be a  single element tensor, got: "
            f"{list(total_weight.shape)} ({total_weight.numel()} elements)"
        )
    check_targets(self, target, weight, class_dim)
    if reduction == NONE and target.dim():
        check_sizes("nll_loss_backward", "grad_output", grad_output, target.shape)
    elif grad_output.dim() > 1 or grad_output.numel() != 1:
        raise RuntimeError(
            f"Expected a single element grad_output tensor, but got: {list(grad_output.shape)}"
        )
    check_same_dtype(self, grad_output)
    check_same_dtype(self, total_weight)
    result = empty_contiguous(self.shape, self.dtype, self.device)
    if self.device is not CPU:
        how = target, weight, reduction, ignore_index, total_weight, class_dim
        return on_device("nll_loss.put", result, grad_output, *how)
    dx = array(result)
    dx.fill(0)
    t, g = snapshot(target).astype(np.int64, copy=False), array(grad_output)
    # (N, ...), a gradient for each loss, or one number for all
    g = g if reduction == NONE and target.dim() else g.reshape(())[()]
    if not t.size or not dx.size:
        return result
    token = quiet()
    g = -g / array(total_weight).item() if reduction == MEAN else -g
    restore(token)
    if _all_count(t, self.shape[class_dim], ignore_index):
        if weight is not None:
            g = g * array(weight)[t]
        dx.reshape(-1)[_places(t, self.shape, class_dim)] = g.reshape(-1) if g.ndim else g
        return result
    counts = t != ignore_index
    _check_classes(t, counts, self.shape[class_dim])
    t = np.where(counts, t, 0)
    if weight is not None:
        g = g * array(weight)[t]
    counts = counts.reshape(-1)
    dx.reshape(-1)[_places(t, self.shape, class_dim)[counts]] = np.broadcast_to(g, t.shape).reshape(
        -1
    )[counts]
    return result


def check_nll_loss(self: Tensor, target: Tensor) -> None:
    """Raises RuntimeError unless the shapes are (N, C) and (N), or (C) and ()."""
    if self.dim() not in (1, 2):
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not (self.dim() == 1 and target.dim() == 0) and self.shape[0] != (
        target.shape[0] if target.dim() else 1
    ):
        raise RuntimeError(
            f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})"
        )


def check_nll_loss2d(self: Tensor, target: Tensor) -> None:
    """Raises RuntimeError unless the shapes are (N, C, H, W) and (N, H, W)."""
    if target.dim() != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target.dim()}"
        )
    if self.dim() != 4:
        raise RuntimeError(
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: "
            f"{self.dim()}"
        )
    if (self.shape[0], *self.shape[2:]) != tuple(target.shape):
        raise RuntimeError(
            f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}"
        )


def _check_classes(t: Any, counts: Any, classes: int) -> None:
    """Raises IndexError if a target that counts is not in 0 .. classes - 1."""
    wrong = counts & ((t < 0) | (t >= classes))
    if wrong.any():
        raise IndexError(f"Target {t[wrong].flat[0]} is out of bounds.")


def check_targets(self: Tensor, target: Tensor, weight: Tensor | None, class_dim: int) -> None:
    """Raises RuntimeError for targets or weights of a wrong dtype, or a wrong number of weights."""
    _check_class_weight(weight, self.shape[class_dim], "")
    if target.dtype not in (dt.int64, dt.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {SCALAR_TYPE_NAME[target.dtype]}"
        )
    check_dtype("nll_loss_out_frame", self.dtype, dt.FLOATING)
    if weight is not None:
        check_same_dtype(self, weight)


def _check_class_weight(weight: Tensor | None, classes: int, prefix: str) -> None:
    """Raises RuntimeError unless `weight` is None or a vector (classes)."""
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"{prefix}weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )
