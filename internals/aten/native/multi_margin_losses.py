"""Losses for scores of classes, where labels should be ahead by a margin
(`aten/src/ATen/native/LossMultiMargin.cpp`, `LossMultiLabelMargin.cpp`).

In a row of scores each label should be at least `margin` above each of the other classes. A pair
that is not adds what is missing, max(0, margin - score[label] + score[other]), and the sum over all
pairs is divided by the number of classes.

How the real one differs: it goes through the elements one by one; here numpy takes a row at a time,
or all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_is, check_same_dtype, not_implemented
from internals.core import dtype as dt
from internals.core.dtype import dtype
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, snapshot

from .losses import MEAN, NONE


@np.errstate(all="ignore")
def multi_margin_loss(
    self: Tensor,
    target: Tensor,
    p: Scalar = 1,
    margin: Scalar = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Any:
    """max(0, margin - self[target] + self[other])ᵖ, summed over the other classes and divided by C,
    for rows (N, C) and classes (N), or (C) and ().

    `weight` (C) multiplies a row's loss by the weight of its class. Raises RuntimeError for a `p`
    other than 1 and 2, and for shapes that do not fit.
    """
    _check_classes(self, target, p, weight)
    x, classes = _rows(self), _class_of(self, target)
    _check_dtype("multi_margin_loss_cpu_kernel", self, target, weight)
    distances, _ = _distances(x, classes, margin)
    losses = (distances if p == 1 else distances * distances).sum(1) / x.shape[1]
    if weight is not None:
        losses = np.where(losses > 0, losses * array(weight).reshape(-1)[classes], 0)
    return _reduced(losses.astype(x.dtype, copy=False), reduction, self.dtype, target.dim() > 0)


@np.errstate(all="ignore")
def multi_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Any:
    """The gradient of `self`: each other class that is too near gets a positive derivative, and the
    target gets the negative sum of them.
    """
    _check_classes(self, target, p, weight)
    x, classes = _rows(self), _class_of(self, target)
    _check_dtype("multi_margin_loss_backward_cpu_kernel", self, target, weight)
    distances, all_rows = _distances(x, classes, margin)
    derivatives = (distances > 0).astype(x.dtype) if p == 1 else 2 * distances
    if weight is not None:
        derivatives = np.where(
            distances > 0, derivatives * array(weight).reshape(-1)[classes, None], 0
        )
    derivatives[all_rows, classes] = -derivatives.sum(1)
    return _times_gradient(derivatives, grad_output, self, reduction)


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """The first result of `multilabel_margin_loss_forward`."""
    return ops.multilabel_margin_loss_forward(self, target, reduction)[0]


def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Any, Any]:
    """(loss, is_target): the sum of max(0, 1 - self[label] + self[other]) over labels and other
    classes, divided by C, and a tensor that is 1 where a class is a label.

    Rows (N, C) and labels (N, C), or both (C); a row of `target` lists its labels up to the first
    -1. Raises RuntimeError for shapes that do not fit, and for labels that are not classes.
    """
    x, labels = _labels(self, target)
    _check_dtype("multilabel_margin_loss_forward_out_frame", self, target, None)
    is_target = empty_contiguous(tuple(target.shape), self.dtype)
    marks = array(is_target).reshape(x.shape)
    marks.fill(0)
    losses = np.zeros(x.shape[0], x.dtype)
    for row, mark, (i, row_labels) in zip(x, marks, enumerate(labels)):
        mark[row_labels] = 1  # (labels, 1) - (others) below: all pairs
        losses[i] = _positive(1 - row[row_labels, None] + row[mark == 0]).sum() / x.shape[1]
    return _reduced(losses, reduction, self.dtype, target.dim() > 1), is_target


@np.errstate(all="ignore")
def multilabel_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    reduction: int,
    is_target: Tensor,
) -> Any:
    """The gradient of `self`: each pair of a label and another class that are too near adds 1 for
    the class and -1 for the label.
    """
    x, labels = _labels(self, target)
    if is_target.shape != target.shape:
        raise RuntimeError(
            "Expected tensor for argument #5 'is_target' to have same size as tensor for argument "
            f"#3 'target'; but {list(is_target.shape)} does not equal {list(target.shape)} (while "
            "checking arguments for multilabel_margin_loss_backward_cpu)"
        )
    _check_dtype("multilabel_margin_loss_backward_out_frame", self, target, None)
    derivatives = np.zeros_like(x)
    for row, derivative, mark, row_labels in zip(
        x, derivatives, array(is_target).reshape(x.shape), labels
    ):
        others = np.flatnonzero(mark == 0)
        near = 1 - row[row_labels, None] + row[others] > 0  # (labels, others)
        derivative[others] = near.sum(0)
        # `at`, as a label may be listed twice
        np.subtract.at(derivative, row_labels, near.sum(1))
    return _times_gradient(derivatives, grad_output, self, reduction)


def _distances(x: Array, classes: Array, margin: Any) -> tuple[Any, Any]:
    """(distances, rows): max(0, margin - x[target] + x), (N, C), with 0 at the target itself, and
    the numbers 0 .. N - 1 of the rows.
    """
    all_rows = np.arange(x.shape[0])
    distances = _positive(x.dtype.type(margin) - x[all_rows, classes][:, None] + x)
    distances[all_rows, classes] = 0
    return distances, all_rows


def _positive(a: Array) -> Any:
    """max(0, a), and 0 for NaN."""
    return np.where(a > 0, a, 0)


def _reduced(losses: Array, reduction: int, dtype: dtype, one_each: bool) -> Any:
    """A tensor of the losses, one for each row, if `reduction` is NONE and `one_each`, that is, if
    the target has a dimension of rows; else one number.
    """
    if reduction == NONE and one_each:
        result = empty_contiguous(losses.shape, dtype)
        array(result)[...] = losses
        return result
    result = empty_contiguous((), dtype)
    array(result)[...] = losses.mean() if reduction == MEAN and losses.size else losses.sum()
    return result


def _times_gradient(derivatives: Array, grad_output: Tensor, self: Tensor, reduction: int) -> Any:
    """`derivatives` (N, C) times the gradient of each row, divided by C, and by N for a mean."""
    result = empty_contiguous(tuple(self.shape), self.dtype)
    if derivatives.size:
        # size is N * C
        scale = 1 / derivatives.size if reduction == MEAN else 1 / derivatives.shape[1]
        gradient = array(grad_output)
        gradient = gradient.reshape(-1, 1) if reduction == NONE and gradient.ndim else gradient
        array(result)[...] = (derivatives * derivatives.dtype.type(scale) * gradient).reshape(
            self.shape
        )
    return result


def _rows(self: Tensor) -> Any:
    """The elements as an array (N, C); one row for a tensor of up to one dimension. Raises
    RuntimeError for no classes, or more than two dimensions.
    """
    if self.dim() > 2 or (self.dim() and not self.shape[-1]):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(self.shape)}"
        )
    return array(self) if self.dim() == 2 else array(self).reshape(1, -1)


def _check_classes(self: Tensor, target: Tensor, p: Scalar, weight: Tensor | None) -> None:
    """Raises RuntimeError unless p is 1 or 2, there is a target for each row, and a weight for each
    class.
    """
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    rows, classes = _rows(self).shape
    if target.dim() > 1 or target.numel() != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            "samples (batch size). "
            f"Expected target size [{rows}], but got {list(target.shape)}. Input has shape "
            f"{list(self.shape)}."
        )
    if weight is not None and (weight.dim() > 1 or weight.numel() != classes):
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )


def _class_of(self: Tensor, target: Tensor) -> Any:
    """The classes of the rows as an array (N). Raises RuntimeError unless they are int64 and in
    0 .. C - 1.
    """
    check_is(dt.int64, target)
    classes = snapshot(target).reshape(-1)
    if classes.size and not (0 <= classes.min() and classes.max() < _rows(self).shape[1]):
        raise RuntimeError("target out of range")
    return classes


def _labels(self: Tensor, target: Tensor) -> tuple[Any, list[Any]]:
    """The rows (N, C), and a list of the labels of each, an array. Raises RuntimeError for shapes
    that do not fit and labels outside of -1 .. C - 1.
    """
    x = _rows(self)
    fits = (
        target.shape == self.shape
        if self.dim() == 2
        else target.dim() <= 1 and target.numel() == x.shape[1]
    )
    if not fits:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}"
        )
    check_is(dt.int64, target)
    labels = snapshot(target).reshape(x.shape)
    if labels.size and not (-1 <= labels.min() and labels.max() < x.shape[1]):
        raise RuntimeError("argument #2 'target' is out of range")
    # the number of labels before the first -1
    counts = np.logical_and.accumulate(labels >= 0, axis=1).sum(1)
    return x, [row[:count] for row, count in zip(labels, counts)]


def _check_dtype(kernel: str, self: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raises NotImplementedError, naming `kernel`, unless float32 or float64; RuntimeError for
    another dtype of `weight`.
    """
    if self.dtype not in (dt.float32, dt.float64):
        raise not_implemented(kernel, self.dtype)
    if weight is not None:
        check_same_dtype(self, weight)
