"""`nn.functional.multi_head_attention_forward` as the compiler reads it (`torch/nn/functional.py`).

The steps are those of `internals/nn/_attention.py`, with types. See `functional_scripts.py` for why there are two.

How the real one differs: there is only one, with annotations, which serves Python and the compiler alike.
"""

# mypy: disable-error-code="valid-type,index,arg-type,misc,return-value,assignment,operator,union-attr,call-arg"
from __future__ import annotations

import math

import internals as torch
from internals import Tensor
from internals.nn import functional as F
from internals.nn._attention import _canonical_mask, _none_or_dtype


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    is_batched = query.dim() == 3
    if not is_batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target_length, batch, embed_dim = query.shape
    assert embed_dim == embed_dim_to_check, (
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}"
    )
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = False

    if use_separate_proj_weight:
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        q, k, v = _projected(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias)
    else:
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        w_q, w_k, w_v = in_proj_weight.chunk(3)
        q, k, v = _projected(query, key, value, w_q, w_k, w_v, in_proj_bias)
    if attn_mask is not None and attn_mask.dim() == 2:
        attn_mask = attn_mask.unsqueeze(0)

    added = 0
    if bias_k is not None and bias_v is not None:
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        added += 1
    q = _split_heads(q, batch, num_heads)
    if static_k is None:
        k = _split_heads(k, batch, num_heads)
    else:
        k = static_k
    if static_v is None:
        v = _split_heads(v, batch, num_heads)
    else:
        v = static_v
    if add_zero_attn:
        zeros = torch.zeros([k.size(0), 1, k.size(2)], dtype=k.dtype, device=k.device)
        k, v = torch.cat([k, zeros], 1), torch.cat([v, zeros], 1)
        added += 1
    if added > 0:
        if attn_mask is not None:
            attn_mask = F.pad(attn_mask, [0, added])
        if key_padding_mask is not None:
            key_padding_mask = F.pad(key_padding_mask, [0, added])
    source_length = k.size(1)
    if key_padding_mask is not None:
        padding = key_padding_mask.view(batch, 1, 1, source_length).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(batch * num_heads, 1, source_length)
        if attn_mask is None:
            attn_mask = padding
        else:
            attn_mask = attn_mask + padding

    if not training:
        dropout_p = 0.0
    weights: Tensor | None = None
    if need_weights:
        q = q * math.sqrt(1.0 / float(q.size(-1)))
        if attn_mask is None:
            scores = torch.bmm(q, k.transpose(-2, -1))
        else:
            scores = torch.baddbmm(attn_mask, q, k.transpose(-2, -1))
        attention = scores.softmax(-1)
        if dropout_p > 0.0:
            attention = torch.dropout(attention, dropout_p, True)
        heads = torch.bmm(attention, v)
        by_head = attention.view(batch, num_heads, target_length, source_length)
        if average_attn_weights:
            weights = by_head.mean(1)
        else:
            weights = by_head
    else:
        if attn_mask is not None:
            if attn_mask.size(0) == 1:
                attn_mask = attn_mask.unsqueeze(0)
            else:
                attn_mask = attn_mask.view(batch, num_heads, -1, source_length)
        q = q.view(batch, num_heads, target_length, -1)
        k = k.view(batch, num_heads, source_length, -1)
        v = v.view(batch, num_heads, source_length, -1)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal).flatten(0, 1)
    joined = heads.transpose(0, 1).reshape(target_length * batch, embed_dim)
    output = F.linear(joined, out_proj_weight, out_proj_bias)
    output = output.view(target_length, batch, output.size(1))
    if not is_batched:
        output = output.squeeze(1)
        if weights is not None:
            weights = weights.squeeze(0)
    return output, weights


def _projected(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    if bias is None:
        return F.linear(q, w_q), F.linear(k, w_k), F.linear(v, w_v)
    b_q, b_k, b_v = bias.chunk(3)
    return F.linear(q, w_q, b_q), F.linear(k, w_k, b_k), F.linear(v, w_v, b_v)


def _split_heads(x: Tensor, batch: int, num_heads: int) -> Tensor:
    return x.view(x.size(0), batch * num_heads, x.size(2) // num_heads).transpose(0, 1)
