"""Scaled dot-product attention (`aten/src/ATen/native/transformers/attention.cpp`).

softmax(q @ k.T * scale + mask) @ v, batch by batch. This is PyTorch's "math" implementation, made
of operators. Where there is no mask and no gradient is needed, one kernel of machine code computes
all of it (`aten/compiled/attention.py`), and never holds the whole matrix of scores.

How the real one differs: its fused kernel (flash attention) accepts masks too, and has a gradient.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from internals._generated import functions as F
from internals.aten.dtype_checks import TYPE_META_NAME
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor
from internals.core.tracer import tracer
from internals.machine_code.settings import settings


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """query (..., L, E), key (..., S, E), value (..., S, V) give (..., L, V).

    `attn_mask` broadcasts to (..., L, S): where a bool mask is False, query i does not attend to
    key j; numbers are added to the scores. With `is_causal` position i attends only to positions up
    to i. `scale` is 1 / sqrt(E) unless given. With `enable_gqa` groups of query heads share a key
    head.

    Raises RuntimeError for both a mask and `is_causal`, for dtypes that are not floating, and for
    fewer than two dimensions.
    """
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if not query.dtype.is_floating_point:
        raise RuntimeError(
            "expected scalar type Float but found " + dt.SCALAR_TYPE_NAME[query.dtype]
        )
    if enable_gqa:
        key, value = _share_heads(query, key, value)
    if (
        attn_mask is None
        and dropout_p == 0
        and (result := _fused(query, key, value, is_causal, scale)) is not None
    ):
        return result
    # the square root of the scale on each side: q and k stay small enough for half precision
    root = sqrt(1 / sqrt(query.shape[-1]) if scale is None else abs(scale))
    sign = -1 if scale is not None and scale < 0 else 1
    # (..., L, E) @ (..., E, S) -> (..., L, S)
    scores = F.matmul(query * (root * sign), key.transpose(-2, -1) * root)
    if is_causal:
        attn_mask = F.ones(
            query.shape[-2], key.shape[-2], dtype=dt.bool_, device=query.device
        ).tril()
    if attn_mask is not None:
        if attn_mask.dtype is dt.bool_:
            attn_mask = F.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -inf)
        scores = scores + attn_mask
    weights = _safe_softmax(scores).to(query.dtype)
    if dropout_p != 0:
        weights = F.dropout(weights, dropout_p, True)
    return F.matmul(weights, value)  # (..., L, S) @ (..., S, V)


def _fused(query: Tensor, key: Tensor, value: Tensor, is_causal: bool, scale: float | None) -> Any:
    """The result of one kernel, for tensors (batch, heads, L or S, E) or (batch, L or S, E) on the
    CPU; None where operators have to compute it.
    """
    tensors = query, key, value
    if any(t.dim() != query.dim() or t.device is not CPU for t in tensors) or query.dim() not in (
        3,
        4,
    ):
        return None
    if query.numel() * key.shape[-2] < settings.least or tracer.state is not None:
        return None
    if is_grad_enabled() and any(t.requires_grad for t in tensors):
        return None
    from internals.aten.compiled.attention import attend

    if query.dim() == 4 and query.shape[-1] == value.shape[-1] and query.stride(-1) == 1:
        result = F.empty_like(query)  # keeps the memory order of the queries' heads
    else:
        result = F.empty(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    q, k, v, out = (t if t.dim() == 4 else t.unsqueeze(1) for t in (*tensors, result))
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    return result if attend(q, k, v, out, factor, is_causal) else None


def _safe_softmax(scores: Tensor) -> Any:
    """softmax over the last dimension; a row in which every score is -inf becomes zeros instead of
    NaN.
    """
    if scores.shape[-1] == 0:
        return scores
    masked = (scores == -inf).all(-1, True)
    return scores.masked_fill(masked, 0).softmax(-1).masked_fill(masked, 0)


def _share_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Any, Any]:
    """Key and value with each head repeated, so that they have as many heads as the query."""
    heads, key_heads, value_heads = (t.shape[-3] for t in (query, key, value))
    if heads % key_heads or heads % value_heads:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query"
        )
    return key.repeat_interleave(heads // key_heads, -3), value.repeat_interleave(
        heads // value_heads, -3
    )


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Raises RuntimeError for several dtypes, for fewer than two dimensions, and for a mask of
    another dtype.
    """
    if not query.dtype is key.dtype is value.dtype:
        names = [TYPE_META_NAME[t.dtype] for t in (query, key, value)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            "query.dtype: {} key.dtype: {} and value.dtype: {} instead.".format(*names)
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: "
            f"{key.dim()} and value.dim: {value.dim()} instead."
        )
    if mask is not None and mask.dtype not in (dt.bool_, dt.float32, query.dtype):
        names = [TYPE_META_NAME[t.dtype] for t in (mask, query)]
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            "attn_mask.dtype: {} and  query.dtype: "
            "{} instead.".format(*names)
        )
