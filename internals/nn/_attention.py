"""Attention with several heads (`multi_head_attention_forward` in `torch/nn/functional.py`).

Query, key and value are projected; the last dimension is cut into heads, which join the batch: (L, N, E) becomes
(N * heads, L, E / heads). Each head compares every query with every key, turns the scores into weights with softmax, and takes
the mean of the values under them. The heads are put side by side again and projected once more.

How the real one differs: it serves `__torch_function__` and TorchScript in between.
"""

from __future__ import annotations

import warnings
from math import sqrt
from typing import Any

import internals
from internals import Tensor
from internals._generated import functions as F
from internals._generated.nn_functions import linear, pad, scaled_dot_product_attention
from internals.core.dtype import dtype as DType


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None,
    static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """`query` (L, N, E), `key` (S, N, Ek), `value` (S, N, Ev): the output (L, N, E), and the weights (N, L, S) if needed.

    Without N everything is unbatched. `attn_mask` is (L, S) or (N * heads, L, S), `key_padding_mask` (N, S): True means "do not
    look", numbers are added to the scores. `is_causal` is a hint that `attn_mask` is the causal mask. With
    `average_attn_weights=False` the weights are those of each head: (N, heads, L, S).
    Raises AssertionError or RuntimeError for shapes that do not fit.
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = _unsqueeze_batch(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target_length, batch, embed_dim = query.shape
    attn_mask, key_padding_mask, is_causal = _canonical_masks(
        attn_mask, key_padding_mask, query.dtype, is_causal, need_weights
    )
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, *biases)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _with_head_dimension(attn_mask, target_length, key.shape[0], batch, num_heads)

    added = 0  # keys that are not in the sequence: a learned one, one of zeros
    if _both(bias_k, bias_v, static_k, static_v):
        k = F.cat([k, bias_k.repeat(1, batch, 1)])
        v = F.cat([v, bias_v.repeat(1, batch, 1)])
        added += 1
    q = _split_heads(q, batch, num_heads)
    k = _split_heads(k, batch, num_heads) if static_k is None else _static("static_k", static_k, q)
    v = _split_heads(v, batch, num_heads) if static_v is None else _static("static_v", static_v, q)
    if add_zero_attn:
        zeros = k.new_zeros([k.shape[0], 1, k.shape[2]])
        k, v = F.cat([k, zeros], 1), F.cat([v, zeros], 1)
        added += 1
    if added:
        attn_mask = None if attn_mask is None else pad(attn_mask, [0, added])
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, [0, added])
    mask = _merge(attn_mask, key_padding_mask, batch, num_heads, k.shape[1])

    p = dropout_p if training else 0.0
    if need_weights:
        heads, weights = _attend(q, k, v, mask, p)
        weights = weights.view(batch, num_heads, target_length, k.shape[1])
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        heads, weights = _attend_fused(q, k, v, mask, p, is_causal, batch, num_heads), None
    joined = heads.transpose(0, 1).reshape(target_length * batch, embed_dim)
    output = linear(joined, out_proj_weight, out_proj_bias)
    output = output.view(target_length, batch, output.shape[1])
    if not is_batched:
        return output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights


def _attend(q: Any, k: Any, v: Any, mask: Any, p: float) -> tuple[Any, Any]:
    """What every head sees, and the weights it gave: softmax(q @ k.T / sqrt(E) + mask) @ v."""
    q = q * sqrt(1.0 / q.shape[-1])
    scores = F.bmm(q, k.transpose(-2, -1)) if mask is None else F.baddbmm(mask, q, k.transpose(-2, -1))
    weights = scores.softmax(-1)
    if p > 0.0:
        weights = F.dropout(weights, p, True)
    return F.bmm(weights, v), weights


def _attend_fused(q: Any, k: Any, v: Any, mask: Any, p: float, is_causal: bool, batch: int, num_heads: int) -> Any:
    """The same by `scaled_dot_product_attention`, which keeps the weights to itself."""
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.view(batch, num_heads, -1, k.shape[1])
    q, k, v = (t.view(batch, num_heads, *t.shape[1:]) for t in (q, k, v))
    return scaled_dot_product_attention(q, k, v, mask, p, is_causal).flatten(0, 1)


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> tuple[Any, Any, Any]:
    """q, k, v through the three matrices stacked in `w` (3E, E): in one product where they are the same tensor."""
    embed_dim = q.shape[-1]
    if q is k and k is v:
        q, k, v = linear(q, w, b).unflatten(-1, (3, embed_dim)).unbind(-2)
        return q.contiguous(), k.contiguous(), v.contiguous()
    if k is v:
        w_q, w_kv = w.split([embed_dim, embed_dim * 2])
        b_q, b_kv = (None, None) if b is None else b.split([embed_dim, embed_dim * 2])
        k, v = linear(k, w_kv, b_kv).unflatten(-1, (2, embed_dim)).unbind(-2)
        return linear(q, w_q, b_q), k.contiguous(), v.contiguous()
    biases = (None, None, None) if b is None else b.chunk(3)
    q, k, v = (linear(x, matrix, bias) for x, matrix, bias in zip((q, k, v), w.chunk(3), biases))
    return q, k, v


def _in_projection(
    q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None, b_v: Any = None
) -> tuple[Any, Any, Any]:
    """q, k, v through matrices of their own: key and value may have other numbers of features."""
    embed_dim = q.shape[-1]
    named = (("query", "q", q, w_q, b_q), ("key", "k", k, w_k, b_k), ("value", "v", v, w_v, b_v))
    for name, letter, x, matrix, _ in named:
        if matrix is None:
            raise AssertionError(f"use_separate_proj_weight is True but {letter}_proj_weight is None")
        expected = (embed_dim, x.shape[-1])
        if matrix.shape != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {matrix.shape}")
    for name, _, _, _, bias in named:
        if bias is not None and bias.shape != (embed_dim,):
            raise AssertionError(f"expecting {name} bias shape of {(embed_dim,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _split_heads(x: Any, batch: int, num_heads: int) -> Any:
    """(L, N, E) to (N * heads, L, E / heads)."""
    return x.view(x.shape[0], batch * num_heads, x.shape[2] // num_heads).transpose(0, 1)


def _merge(attn_mask: Any, key_padding_mask: Any, batch: int, num_heads: int, source_length: int) -> Any:
    """The sum of both masks, (1 or N * heads, 1 or L, S), or None."""
    if key_padding_mask is None:
        return attn_mask
    if key_padding_mask.shape[0] != batch:
        raise AssertionError(f"Expected key_padded_mask.shape[0] to be {batch}, but got {key_padding_mask.shape[0]}")
    if key_padding_mask.shape[1] != source_length:
        raise AssertionError(
            f"Expected key_padded_mask.shape[1] to be {source_length}, but got {key_padding_mask.shape[1]}"
        )
    padding = key_padding_mask.view(batch, 1, 1, source_length).expand(-1, num_heads, -1, -1)
    padding = padding.reshape(batch * num_heads, 1, source_length)
    return padding if attn_mask is None else attn_mask + padding


def _canonical_masks(
    attn_mask: Any, key_padding_mask: Any, dtype: Any, is_causal: bool, need_weights: bool
) -> tuple[Any, Any, bool]:
    """Both masks as numbers to add, and whether the causal hint can be handed on in place of `attn_mask`."""
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        return None, None, True
    mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    return mask, padding, False


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: DType | None, other_name: str, target_type: DType, check_other: bool = True
) -> Tensor | None:
    """A bool mask as numbers to add: -inf for True, 0 for False. Raises AssertionError for a mask of integers."""
    if mask is None:
        return None
    if mask.dtype != internals.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    if mask.is_floating_point():
        return mask
    return F.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Tensor | None) -> DType | None:
    return None if input is None else input.dtype


def _unsqueeze_batch(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """With a batch dimension of 1; the same tensor stays the same tensor, so that it is still projected at once."""
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)


def _with_head_dimension(mask: Any, target_length: int, source_length: int, batch: int, num_heads: int) -> Any:
    """`attn_mask` as (1 or N * heads, L, S)."""
    if mask is None:
        return None
    if mask.dim() == 2:
        expected: tuple[int, ...] = (target_length, source_length)
    else:
        expected = (batch * num_heads, target_length, source_length)
    if mask.shape != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _both(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> bool:
    """Whether a learned key and value are added."""
    if bias_k is None and bias_v is None:
        return False
    if bias_v is None:
        raise AssertionError("bias_k is set but bias_v is None")
    if bias_k is None:
        raise AssertionError("bias_v is set but bias_k is None")
    if static_k is not None:
        raise AssertionError("bias cannot be added to static key.")
    if static_v is not None:
        raise AssertionError("bias cannot be added to static value.")
    return True


def _static(name: str, given: Any, q: Any) -> Any:
    """A key or value that was projected before: (N * heads, S, E / heads)."""
    for dim in (0, 2):
        if given.shape[dim] != q.shape[dim]:
            raise AssertionError(f"expecting {name}.size({dim}) of {q.shape[dim]}, but got {given.shape[dim]}")
    return given


def _check_sizes(query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, separate: bool) -> None:
    embed_dim = query.shape[-1]
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _mha_shape_check(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether there is a batch dimension. Raises AssertionError when the arguments disagree about it."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    case = "For batched (3-D) `query`" if dims == 3 else "For unbatched (2-D) `query`"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"{case}, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"{case}, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D tensor "
            "instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{case}, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if attn_mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dims == 3
