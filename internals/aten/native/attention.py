"""Scaled dot-product attention (`aten/src/ATen/native/transformers/attention.cpp`).

softmax(q @ k.T * scale + mask) @ v, batch by batch. This is PyTorch's "math" implementation, made of operators.

How the real one differs: where it can it runs a fused kernel (flash attention) that never holds the whole matrix of scores.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from internals._generated import functions as F
from internals.aten.dtype_checks import TYPE_META_NAME
from internals.core import dtype as dt


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """query (..., L, E), key (..., S, E), value (..., S, V) give (..., L, V).

    `attn_mask` broadcasts to (..., L, S): False means "do not look", numbers are added to the scores. `is_causal` lets position i
    see only positions up to i. `scale` is 1 / sqrt(E) unless given. `enable_gqa`: groups of query heads share a key head.
    """
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not query.dtype.is_floating_point:
        raise RuntimeError("expected scalar type Float but found " + dt.SCALAR_TYPE_NAME[query.dtype])
    if enable_gqa:
        key, value = _share_heads(query, key, value)
    root = sqrt(1 / sqrt(query.shape[-1]) if scale is None else abs(scale))  # half of the factor on either side
    sign = -1 if scale is not None and scale < 0 else 1
    scores = F.matmul(query * (root * sign), key.transpose(-2, -1) * root)
    if is_causal:
        attn_mask = F.ones(query.shape[-2], key.shape[-2], dtype=dt.bool_, device=query.device).tril()
    if attn_mask is not None:
        if attn_mask.dtype is dt.bool_:
            attn_mask = F.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -inf)
        scores = scores + attn_mask
    weights = _safe_softmax(scores).to(query.dtype)
    if dropout_p != 0:
        weights = F.dropout(weights, dropout_p, True)
    return F.matmul(weights, value)


def _safe_softmax(scores: Any) -> Any:
    """softmax over the last dimension; a row with nothing to look at is all zeros instead of NaN."""
    if scores.shape[-1] == 0:
        return scores
    blind = (scores == -inf).all(-1, True)
    return scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)


def _share_heads(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    heads, key_heads, value_heads = (t.shape[-3] for t in (query, key, value))
    if heads % key_heads or heads % value_heads:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    return key.repeat_interleave(heads // key_heads, -3), value.repeat_interleave(heads // value_heads, -3)


def _check(query: Any, key: Any, value: Any, mask: Any) -> None:
    if not query.dtype is key.dtype is value.dtype:
        names = [TYPE_META_NAME[t.dtype] for t in (query, key, value)]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: {} key.dtype: {} and value.dtype: {} "
            "instead.".format(*names)
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()} key.dim: "
            f"{key.dim()} and value.dim: {value.dim()} instead."
        )
    if mask is not None and mask.dtype not in (dt.bool_, dt.float32, query.dtype):
        names = [TYPE_META_NAME[t.dtype] for t in (mask, query)]
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {} and  query.dtype: "
            "{} instead.".format(*names)
        )
