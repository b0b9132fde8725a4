"""Rows of a table, each by itself or reduced over bags (`torch/nn/functional.py`).

How the real one differs: it also takes bags as nested tensors.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F
from internals._tensor import Tensor
from internals.core.dtype import int64
from internals.functional.scripting import is_scripting


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of `weight` (rows, dim) at the indices `input` (*): (*, dim).

    Rows whose norm exceeds `max_norm` are scaled down first, in place. Raises AssertionError for a
    `padding_idx` out of range, IndexError for such an index.
    """
    if padding_idx is not None:
        if padding_idx > 0:
            assert padding_idx < weight.size(0), "Padding_idx must be within num_embeddings"
        elif padding_idx < 0:
            assert padding_idx >= -weight.size(0), "Padding_idx must be within num_embeddings"
            padding_idx = weight.size(0) + padding_idx
    else:
        padding_idx = -1  # the operator's "none": no index is negative
    if max_norm is not None:
        input = input.contiguous()
        F.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    return F.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The "sum", "mean" or "max" of the rows of `weight` in each bag: (bags, dim).

    `input` is (bags, length), or (N) with the start of each bag in `offsets`, to which
    `include_last_offset` adds N. `per_sample_weights` scale the rows of a sum. Indices equal to
    `padding_idx` do not count. Raises ValueError for shapes that do not fit, NotImplementedError
    for weights with another mode.
    """
    if weight.dtype == int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    _check(input, weight, offsets, per_sample_weights)
    if input.dim() == 2:  # bags of equal length: flatten them, and compute where each starts
        offsets = F.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    number = _mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        F.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    assert offsets is not None
    bags, _, _, _ = F.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, number, sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip
    return bags


def _mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> int:
    """The operator's number for `mode`.

    Raises ValueError for another word, and for options that "max" does not support.
    """
    if mode == "sum":
        return 0
    if mode == "mean":
        return 1
    if mode != "max":
        raise ValueError("mode has to be one of sum, mean or max")
    if scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if sparse:
        raise ValueError("max mode does not support sparse weights")
    return 2


def _check(
    input: Tensor, weight: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None
) -> None:
    """Raise ValueError for numbers of dimensions or sizes that do not fit."""
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() != 1 and input.dim() != 2:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if input.dim() == 2 and offsets is not None:
        kind = "<unknown>"
        if not is_scripting():
            kind = str(type(offsets))
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            "fixed length sequences. "
            f"However, found offsets of type {kind}"
        )
    if input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
