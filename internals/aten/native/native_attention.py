"""Self-attention and a transformer's encoder layer as one operator each, for inference
(`aten/src/ATen/native/transformers/`).

PyTorch's `nn.MultiheadAttention` and `nn.TransformerEncoderLayer` call these operators when no
gradient is wanted, so files that such modules were exported to name them. They give the same
results as the modules, with the batch first: softmax(q @ kᵀ / sqrt(size)) @ v for each head.

How the real one differs: it rearranges the projections in one pass over memory, has one kernel for
mask and softmax, and takes nested tensors for sequences of different lengths.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from internals._generated import functions as F, nn_functions as nn
from internals.core.tensor_impl import Tensor


def _native_multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor,
    qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None,
    need_weights: bool, average_attn_weights: bool, mask_type: int | None,
) -> tuple[Any, Any]:  # fmt: skip
    """(output, weights): (N, L, E) to (N, L, E), and the weights (N, L, L), or (N, heads, L, L) if
    not averaged; None unless `need_weights`.

    `mask` is true at positions to ignore: (L, L) for `mask_type` 0, (N, L) for 1, (N, heads, L, L)
    for 2.
    """
    if query.dim() != 3:
        raise RuntimeError(f"expected 3-D `query`, got {query.dim()}-D tensor")
    if embed_dim % num_head:
        raise RuntimeError(
            f"`embed_dim` {embed_dim} must be divided evenly by `num_heads` {num_head}"
        )
    (n, length), size = query.shape[:2], embed_dim // num_head
    # qkv_weight is (3 * E, E): the three projections, one below the other
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (  # each (N, heads, L, size)
        nn.linear(x, w, b).view(n, x.shape[1], num_head, size).transpose(1, 2)
        for x, w, b in zip((query, key, value), weights, biases)
    )
    scores = (q / sqrt(size)).matmul(k.transpose(-2, -1))  # (N, heads, L, L)
    if mask is not None:
        hidden = mask.bool()
        if mask_type == 1:
            hidden = hidden.view(n, 1, 1, hidden.shape[-1])
        scores = scores.masked_fill(hidden, float("-inf"))
    shares = scores.softmax(-1)
    heads = shares.matmul(v).transpose(1, 2).reshape(n, length, embed_dim)
    output = nn.linear(heads, proj_weight, proj_bias)
    if not need_weights:
        return output, None
    return output, shares.mean(1) if average_attn_weights else shares


def _transformer_encoder_layer_fwd(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
    ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor,
    mask: Tensor | None, mask_type: int | None,
) -> Any:  # fmt: skip
    """Attention, then two linear layers, each with a residual connection and a layer norm, which
    comes first if `norm_first`: (N, L, E) to (N, L, E).
    """

    def attend(x: Any) -> Any:
        projections = qkv_weight, qkv_bias, proj_weight, proj_bias
        return _native_multi_head_attention(
            x, x, x, embed_dim, num_heads, *projections, mask, False, True, mask_type
        )[0]

    def feed_forward(x: Any) -> Any:
        inner = nn.linear(x, ffn_weight_1, ffn_bias_1)
        return nn.linear(nn.gelu(inner) if use_gelu else inner.relu(), ffn_weight_2, ffn_bias_2)

    def norm_1(x: Any) -> Any:
        return F.layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def norm_2(x: Any) -> Any:
        return F.layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(norm_1(src))
        return x + feed_forward(norm_2(x))
    x = norm_1(src + attend(src))
    return norm_2(x + feed_forward(x))
