"""Rows of a table, one by one or by the bag (`torch/nn/functional.py`).

How the real one differs: it takes bags as nested tensors, too.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals._generated import functions as F
from internals.core.dtype import int64

_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of `weight` that `input` names. Rows longer than `max_norm` are scaled down first, in place.

    Raises AssertionError for a `padding_idx` that is no row, IndexError for such an index.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.shape[0]
        if not -rows <= padding_idx < max(rows, 1):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= max(rows, 1)
    if max_norm is not None:
        input = input.contiguous()
        F.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return F.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The "sum", "mean" or "max" of the rows of `weight` in each bag: (bags, dim).

    `input` is (bags, length), or (N) with `offsets`, where each bag begins (`include_last_offset`: and one more, which is N).
    A sum can be weighted. Rows called `padding_idx` do not count. Raises ValueError for what does not fit,
    NotImplementedError for weights of anything but a sum.
    """
    if weight.dtype is int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    _check(input, weight, offsets, per_sample_weights)
    if input.dim() == 2:
        offsets = F.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        F.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return F.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def _check(input: Any, weight: Any, offsets: Any, per_sample_weights: Any) -> None:
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as "
            f"the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if input.dim() == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
            f"However, found offsets of type {type(offsets)}"
        )
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.dim() == 1 and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
