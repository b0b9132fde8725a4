"""The CTC loss, connectionist temporal classification (`aten/src/ATen/native/LossCTC.cpp`).

At each of T steps a network gives the probability of each label, or of a blank. A path is one label
for each step; it spells a target if that is left after merging repetitions and then dropping
blanks: "a a _ b _ b" spells "a b b". The loss is -log of the total probability of all paths that
spell the target. They are the paths through the states `_ a _ b _ b _`, where a step stays in its
state, goes on by one, or by two, which skips a blank between different labels. So

    alpha[t, s] = p[t, label of s] * (alpha[t-1, s] + alpha[t-1, s-1]
                                      + alpha[t-1, s-2], where s-1 may be skipped)

is the probability of all beginnings of paths that are in state s at step t, and beta[t, s] that of
all ends (Graves et al. 2006, equations 5 to 11). Both are computed in logarithms, step after step
for the whole batch. The gradient (equation 16) assumes that the inputs of a step are logarithms of
probabilities with sum 1: it is the derivative with respect to the input of log_softmax.

How the real one differs: it computes one sequence after another; cuDNN has a kernel, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous

from .losses import MEAN, SUM

_CHECKS = "(while checking arguments for ctc_loss_allocate_outputs)"


def ctc_loss_int_list(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Any:
    """The loss of log-probabilities (T, N, C) or (T, C). For the mean, each loss is first divided
    by the length of its target.

    `targets` are (N, S), or all targets joined, (sum of their lengths,). With `zero_infinity` the
    loss of a target that is too long for its input is 0.
    """
    batch = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    losses = ops._ctc_loss(
        batch, targets.to(dt.int64), input_lengths, target_lengths, blank, zero_infinity
    )[0]
    if zero_infinity:
        losses = ops.where_self(losses == np.inf, losses.new_zeros([]), losses)
    if reduction == MEAN:
        return (losses / losses.new_tensor(target_lengths).clamp_min(1)).mean()
    if reduction == SUM:
        return losses.sum()
    return losses if log_probs.dim() == 3 else losses.squeeze(0)


def ctc_loss_tensor(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Any:
    """`ctc_loss_int_list` with lengths given as tensors. Raises RuntimeError unless these hold
    integers.
    """
    lengths = (
        _numbers(input_lengths.cpu(), "input_lengths"),
        _numbers(target_lengths.cpu(), "target_lengths"),
    )
    return ops.ctc_loss_IntList(log_probs, targets, *lengths, blank, reduction, zero_infinity)


@np.errstate(all="ignore")
def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Any, Any]:
    """(the loss of each sequence (N), log(alpha) (N, T, states)) for log-probabilities (T, N, C).

    Raises RuntimeError for lengths, targets or a `blank` that do not fit, NotImplementedError
    unless float or double.
    """
    if log_probs.dtype not in (dt.float32, dt.float64):
        raise not_implemented("ctc_loss_cpu", log_probs.dtype)
    states = _states(log_probs, targets, input_lengths, target_lengths, blank)
    log_p = states.log_probabilities(array(log_probs))
    log_alpha = empty_contiguous(log_p.shape, log_probs.dtype)
    alpha = array(log_alpha)
    alpha.fill(-np.inf)
    inputs, ends = states.input_lengths, 2 * states.target_lengths
    # A path starts with the first blank or the first label. Sequences that have ended stay -inf.
    running = inputs > 0
    alpha[running, 0, :2] = log_p[running, 0, :2]
    for t in range(1, alpha.shape[1]):
        step = alpha[:, t - 1]  # (N, states): the sum over the states that lead to each one
        here = step.copy()
        here[:, 1:] = np.logaddexp(here[:, 1:], step[:, :-1])
        here[:, 2:] = np.logaddexp(here[:, 2:], np.where(states.skippable, step[:, :-2], -np.inf))
        running = t < inputs
        alpha[running, t] = here[running] + log_p[running, t]
    each, last = np.arange(len(inputs)), np.maximum(inputs - 1, 0)
    # a path ends in the last label, or in the blank after it, which is state 2 * target length
    total = np.where(
        ends > 0,
        np.logaddexp(alpha[each, last, ends], alpha[each, last, ends - 1]),
        alpha[each, last, 0],
    )
    # without steps there is one path, the empty one, which spells only the empty target
    total = np.where(inputs == 0, np.where(ends == 0, 0, -np.inf), total)
    loss = empty_contiguous((len(inputs),), log_probs.dtype)
    array(loss)[...] = -total
    return loss, log_alpha


def _ctc_loss_tensor(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Any, Any]:
    """`_ctc_loss` with lengths given as tensors."""
    lengths = _numbers(input_lengths, "input_lengths"), _numbers(target_lengths, "target_lengths")
    return _ctc_loss(log_probs, targets, *lengths, blank, zero_infinity)


@np.errstate(all="ignore")
def _ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    """The gradient (T, N, C): p[t, n, c] - (the probability of label c at step t, given that the
    path spells the target), times `grad` (N); 0 beyond the end of a sequence.
    """
    if log_probs.dtype not in (dt.float32, dt.float64):
        raise not_implemented("ctc_loss_backward_cpu", log_probs.dtype)
    states = _states(log_probs, targets, input_lengths, target_lengths, blank)
    result = empty_contiguous(tuple(log_probs.shape), log_probs.dtype)
    out, loss = array(result), array(neg_log_likelihood)
    out.fill(-np.inf)
    paths = array(log_alpha) + _log_beta(states, states.log_probabilities(array(log_probs)))
    # alpha * beta is the probability of all paths through a state, times p, which both contain.
    # Added up over the states with the same label it is (T, N, C), the memory of the result.
    steps, sequences = np.ogrid[: out.shape[0], : out.shape[1]]
    np.logaddexp.at(
        out, (steps[..., None], sequences[..., None], states.labels), paths.swapaxes(0, 1)
    )
    # out + loss - p: divided by the total probability, which is exp(-loss), and by the second p
    p = array(log_probs)
    np.multiply(np.exp(p) - np.exp(out + loss[:, None] - p), array(grad)[:, None], out=out)
    padding = steps >= states.input_lengths
    out[padding | np.isposinf(loss) if zero_infinity else padding] = 0
    return result


def _ctc_loss_backward_tensor(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    """`_ctc_loss_backward` with lengths given as tensors."""
    lengths = _numbers(input_lengths, "input_lengths"), _numbers(target_lengths, "target_lengths")
    return _ctc_loss_backward(
        grad, log_probs, targets, *lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
    )


def _log_beta(states: _States, log_p: Array) -> Any:
    """log(beta) (N, T, states); -inf beyond a sequence's last step or state."""
    beta = np.full_like(log_p, -np.inf)
    each, ends = np.arange(len(beta)), 2 * states.target_lengths
    before = states.target_lengths > 0
    for t in reversed(range(beta.shape[1])):
        last = states.input_lengths == t + 1
        if t + 1 < beta.shape[1]:
            step = beta[:, t + 1]
            here = step.copy()
            here[:, :-1] = np.logaddexp(here[:, :-1], step[:, 1:])
            here[:, :-2] = np.logaddexp(
                here[:, :-2], np.where(states.skippable, step[:, 2:], -np.inf)
            )
            beta[:, t] = here + log_p[:, t]
        # at its last step, a sequence ends in the last blank or, if there is one, in the last label
        for where, state in ((each[last], ends), (each[last & before], ends - 1)):
            beta[where, t, state[where]] = log_p[where, t, state[where]]
    return beta


@dataclass
class _States:
    """The states of the recursions: every target with blanks around its labels, padded with blanks
    to (N, states), where states is 2 * (length of the longest target) + 1.
    """

    labels: Any  # (N, states)
    skippable: Any  # (N, states - 2): whether a path may go from state s to s + 2
    input_lengths: Any  # (N,)
    target_lengths: Any  # (N,)

    def log_probabilities(self, log_probs: Array) -> Any:
        """(N, T, states): the log-probability of each state's label at each step, from those of all
        labels (T, N, C).
        """
        return np.take_along_axis(log_probs.swapaxes(0, 1), self.labels[:, None], axis=2)


def _states(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int,
) -> _States:
    """The states of a batch. Raises RuntimeError for arguments that do not fit."""
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    rows, classes = array(targets), log_probs.shape[2]
    if rows.ndim == 1:
        rows = np.split(rows, np.cumsum(target_lengths)[:-1])
    labels = np.full((len(rows), 2 * max(target_lengths, default=0) + 1), blank, np.int64)
    # labels at the odd states, blanks at the even ones
    for states, row, length in zip(labels, rows, target_lengths):
        states[1 : 2 * length : 2] = row[:length]
    if ((labels < 0) | (labels >= classes)).any():
        raise RuntimeError(f"ctc_loss: targets have to be labels from 0 to {classes - 1}")
    # a blank may be skipped between different labels; a label's neighbours are both blanks, so
    # labels are never skipped
    return _States(
        labels, labels[:, 2:] != labels[:, :-2], np.array(input_lengths), np.array(target_lengths)
    )


def _check(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int,
) -> None:
    """Raises RuntimeError, with PyTorch's messages, for arguments that do not fit."""
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    about = f"for argument #2 'targets' {_CHECKS}"
    if targets.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            "Expected tensor for argument #2 'targets' to have scalar type Int; but got "
            f"internals.{SCALAR_TYPE_NAME[targets.dtype]}Tensor instead {_CHECKS}"
        )
    if log_probs.dim() != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for "
            f"argument #1 'log_probs' {_CHECKS}"
        )
    if targets.dim() not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor {about}"
        )
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, length in [
        *_named("target_lengths", target_lengths),
        *_named("input_lengths", input_lengths),
    ]:
        if length < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {length} {_CHECKS}"
            )
        if name == "input_lengths" and length > steps:
            raise RuntimeError(
                f"Expected {name} to have value at most {steps}, but got value {length} {_CHECKS}"
            )
    wanted = batch if targets.dim() == 2 else sum(target_lengths)
    if targets.shape[0] != wanted:
        raise RuntimeError(
            f"Expected tensor to have size {wanted} at dimension 0, but got size "
            f"{targets.shape[0]} {about}"
        )
    if targets.dim() == 2 and targets.shape[1] < max(target_lengths):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(target_lengths)} at dimension 1, but got "
            f"size {targets.shape[1]} {about}"
        )


def _named(name: str, lengths: list[int]) -> list[tuple[str, int]]:
    """Each length with the name of the argument, for the message."""
    return [(name, length) for length in lengths]


def _numbers(lengths: Tensor, name: str) -> list[int]:
    """Lengths as a list. Raises RuntimeError unless the dtype is an integer one."""
    if lengths.dtype not in (dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64):
        raise RuntimeError(f"{name} must be integral")
    return array(lengths).reshape(-1).tolist()
