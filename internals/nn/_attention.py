"""Attention with several heads (`multi_head_attention_forward` in `torch/nn/functional.py`).

Query, key and value are projected. The last dimension is cut into heads, which join the batch:
(L, N, E) becomes (N * heads, L, E / heads). Each head compares every query with every key, turns
the scores into weights with softmax, and takes the weighted mean of the values. The heads are
concatenated again and projected once more.

How the real one differs: it also supports `__torch_function__`.
"""

from __future__ import annotations

import warnings
from math import sqrt

import internals
from internals import Tensor
from internals._generated import functions as F
from internals._generated.nn_functions import linear, pad, scaled_dot_product_attention
from internals.core.dtype import dtype as DType
from internals.functional.scripting import is_scripting


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
    bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
    out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
    static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """From `query` (L, N, E), `key` (S, N, Ek) and `value` (S, N, Ev): the output (L, N, E), and
    the weights (N, L, S) if `need_weights`, else None.

    Unbatched inputs have no N. `attn_mask` is (L, S) or (N * heads, L, S), `key_padding_mask`
    (N, S): True masks a key, numbers are added to the scores. `is_causal` is a hint that
    `attn_mask` is the causal mask. With `average_attn_weights=False` the weights are per head:
    (N, heads, L, S). Raises AssertionError or RuntimeError for shapes that do not fit.
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = _unsqueeze_batch(query, key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target_length, batch, embed_dim = query.shape
    attn_mask, key_padding_mask, is_causal = _canonical_masks(
        attn_mask, key_padding_mask, query.dtype, is_causal, need_weights
    )
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        if q_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is True but q_proj_weight is None")
        if k_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is True but k_proj_weight is None")
        if v_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is True but v_proj_weight is None")
        q, k, v = _in_projection(
            query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias
        )
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _with_head_dimension(attn_mask, target_length, key.size(0), batch, num_heads)

    added = 0  # extra keys after the sequence: a learned one (bias_k), one of zeros
    if bias_k is not None and bias_v is not None:
        if static_k is not None:
            raise AssertionError("bias cannot be added to static key.")
        if static_v is not None:
            raise AssertionError("bias cannot be added to static value.")
        k = F.cat([k, bias_k.repeat(1, batch, 1)])
        v = F.cat([v, bias_v.repeat(1, batch, 1)])
        added += 1
    elif bias_k is not None:
        raise AssertionError("bias_k is set but bias_v is None")
    elif bias_v is not None:
        raise AssertionError("bias_v is set but bias_k is None")
    q = _split_heads(q, batch, num_heads)  # (N * heads, L, E / heads)
    k = _split_heads(k, batch, num_heads) if static_k is None else _static("static_k", static_k, q)
    v = _split_heads(v, batch, num_heads) if static_v is None else _static("static_v", static_v, q)
    if add_zero_attn:
        zeros = k.new_zeros([k.size(0), 1, k.size(2)])
        k, v = F.cat([k, zeros], 1), F.cat([v, zeros], 1)
        added += 1
    if added > 0:  # the masks get a column of zeros (not masked) for each extra key
        if attn_mask is not None:
            attn_mask = pad(attn_mask, [0, added])
        if key_padding_mask is not None:
            key_padding_mask = pad(key_padding_mask, [0, added])
    mask = _merge(attn_mask, key_padding_mask, batch, num_heads, k.size(1))

    p = dropout_p if training else 0.0
    weights: Tensor | None = None
    if need_weights:  # the fused operator does not return them
        heads, by_head = _attend(q, k, v, mask, p)
        by_head = by_head.view(batch, num_heads, target_length, k.size(1))
        weights = by_head.mean(1) if average_attn_weights else by_head
    else:
        heads = _attend_fused(q, k, v, mask, p, is_causal, batch, num_heads)
    # (N * heads, L, E / heads) -> (L, N * heads, E / heads) -> (L * N, E)
    joined = heads.transpose(0, 1).reshape(target_length * batch, embed_dim)
    output = linear(joined, out_proj_weight, out_proj_bias)
    output = output.view(target_length, batch, output.size(1))  # (L, N, E)
    if not is_batched:
        output = output.squeeze(1)
        if weights is not None:
            weights = weights.squeeze(0)
    return output, weights


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float
) -> tuple[Tensor, Tensor]:
    """softmax(q @ k.T / sqrt(E') + mask) @ v: (N * heads, L, E'), and the weights
    (N * heads, L, S), where E' = E / heads.
    """
    q = q * sqrt(1.0 / q.size(-1))
    scores = (
        F.bmm(q, k.transpose(-2, -1)) if mask is None else F.baddbmm(mask, q, k.transpose(-2, -1))
    )
    weights = scores.softmax(-1)
    if p > 0.0:
        weights = F.dropout(weights, p, True)
    return F.bmm(weights, v), weights


def _attend_fused(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float, is_causal: bool, batch: int,
    num_heads: int,
) -> Tensor:  # fmt: skip
    """The result of `_attend` by `scaled_dot_product_attention`, which never returns the weights.

    That operator has dimensions (N, heads, L, E / heads), so the batch is split again.
    """
    if mask is not None:
        mask = (
            mask.unsqueeze(0) if mask.size(0) == 1 else mask.view(batch, num_heads, -1, k.size(1))
        )
    q = q.view(batch, num_heads, q.size(1), q.size(2))
    k = k.view(batch, num_heads, k.size(1), k.size(2))
    v = v.view(batch, num_heads, v.size(1), v.size(2))
    return scaled_dot_product_attention(q, k, v, mask, p, is_causal).flatten(0, 1)


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v projected by the three matrices stacked in `w` (3E, E).

    Self-attention (q is k is v) needs one product, encoder-decoder attention (k is v) two.
    """
    embed_dim = q.size(-1)
    if q is k and k is v:
        # (L, N, 3E) -> (L, N, 3, E) -> three of (L, N, E)
        q, k, v = linear(q, w, b).unflatten(-1, (3, embed_dim)).unbind(-2)
        return q.contiguous(), k.contiguous(), v.contiguous()
    if k is v:
        w_q, w_kv = w.split([embed_dim, embed_dim * 2])
        b_q, b_kv = _halves(b, embed_dim)
        k, v = linear(k, w_kv, b_kv).unflatten(-1, (2, embed_dim)).unbind(-2)
        return linear(q, w_q, b_q), k.contiguous(), v.contiguous()
    w_q, w_k, w_v = w.chunk(3)
    return _projected(q, k, v, w_q, w_k, w_v, b)


def _halves(b: Tensor | None, embed_dim: int) -> tuple[Tensor | None, Tensor | None]:
    """The biases of q (E) and of k and v together (2E)."""
    if b is None:
        return None, None
    b_q, b_kv = b.split([embed_dim, embed_dim * 2])
    return b_q, b_kv


def _projected(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Three separate products; `b` is (3E) or None."""
    if b is None:
        return linear(q, w_q), linear(k, w_k), linear(v, w_v)
    b_q, b_k, b_v = b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v projected by separate matrices (E, E), (E, Ek), (E, Ev).

    Raises AssertionError for other shapes.
    """
    embed_dim = q.size(-1)
    for name, x, matrix in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        expected = (embed_dim, x.size(-1))
        if matrix.shape != expected:
            raise AssertionError(
                f"expecting {name} weights shape of {expected}, but got {matrix.shape}"
            )
    if b is not None:
        b_q, b_k, b_v = b.chunk(3)
        for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
            if bias.shape != (embed_dim,):
                raise AssertionError(
                    f"expecting {name} bias shape of {(embed_dim,)}, but got {bias.shape}"
                )
    return _projected(q, k, v, w_q, w_k, w_v, b)


def _split_heads(x: Tensor, batch: int, num_heads: int) -> Tensor:
    """(L, N, E) to (N * heads, L, E / heads)."""
    # E is cut into heads in memory order, so (N, heads) becomes one dimension without a copy
    return x.view(x.size(0), batch * num_heads, x.size(2) // num_heads).transpose(0, 1)


def _merge(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, batch: int, num_heads: int,
    source_length: int,
) -> Tensor | None:  # fmt: skip
    """The sum of both masks, (1 or N * heads, 1 or L, S), or None if there is none."""
    if key_padding_mask is None:
        return attn_mask
    if not is_scripting():
        rows, columns = key_padding_mask.shape
        if rows != batch:
            raise AssertionError(f"Expected key_padded_mask.shape[0] to be {batch}, but got {rows}")
        if columns != source_length:
            raise AssertionError(
                f"Expected key_padded_mask.shape[1] to be {source_length}, but got {columns}"
            )
    # every head and every query of a sample ignores the same keys
    padding = key_padding_mask.view(batch, 1, 1, source_length).expand(-1, num_heads, -1, -1)
    padding = padding.reshape(batch * num_heads, 1, source_length)
    return padding if attn_mask is None else attn_mask + padding


def _canonical_masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, dtype: DType, is_causal: bool,
    need_weights: bool,
) -> tuple[Tensor | None, Tensor | None, bool]:  # fmt: skip
    """Both masks as numbers to add, and whether `is_causal` may replace `attn_mask`.

    It may if the fused operator is used and there is no padding to combine it with.
    """
    padding = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        return None, None, True
    mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, False)
    return mask, padding, False


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: DType | None,
    other_name: str,
    target_type: DType,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers to add: a bool mask becomes -inf for True and 0 for False.

    Raises AssertionError for a mask of integers.
    """
    if mask is None:
        return None
    if mask.dtype != internals.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
            "both instead.",
            stacklevel=2,
        )
    if mask.is_floating_point():
        return mask
    return F.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Tensor | None) -> DType | None:
    """The dtype of a mask, None without one."""
    return None if input is None else input.dtype


def _unsqueeze_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(L, E) to (L, 1, E) for all three.

    Identical tensors stay identical: `_in_projection_packed` compares them with `is`.
    """
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    return q, k, k if value is key else value.unsqueeze(1)


def _with_head_dimension(
    mask: Tensor | None, target_length: int, source_length: int, batch: int, num_heads: int
) -> Tensor | None:
    """`attn_mask` as (1 or N * heads, L, S). Raises RuntimeError for another shape."""
    if mask is None:
        return None
    if mask.dim() == 2:
        flat = (target_length, source_length)
        if mask.shape != flat:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {mask.shape}, but should be {flat}."
            )
        return mask.unsqueeze(0)
    full = (batch * num_heads, target_length, source_length)
    if mask.shape != full:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {full}."
        )
    return mask


def _static(name: str, given: Tensor, q: Tensor) -> Tensor:
    """A key or value that is projected already: (N * heads, S, E / heads)."""
    for dim in (0, 2):
        if given.size(dim) != q.size(dim):
            raise AssertionError(
                f"expecting {name}.size({dim}) of {q.size(dim)}, but got {given.size(dim)}"
            )
    return given


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
    separate: bool,
) -> None:  # fmt: skip
    """Raise AssertionError if E does not suit the module, or key and value each other.

    With separate matrices they may differ in features, otherwise in nothing.
    """
    embed_dim = query.size(-1)
    if embed_dim != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}"
        )
    if embed_dim % num_heads != 0:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
    attn_mask: Tensor | None, num_heads: int,
) -> bool:  # fmt: skip
    """Whether the inputs have a batch dimension. Raises AssertionError if only some do."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
        )
    case = "For batched (3-D) `query`" if dims == 3 else "For unbatched (2-D) `query`"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"{case}, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"{case}, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{case}, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D "
            "tensor instead"
        )
    # unbatched, so the first dimension of a 3-D mask is the heads alone
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.size(0), key.size(0))
        if attn_mask.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
            )
    return dims == 3
