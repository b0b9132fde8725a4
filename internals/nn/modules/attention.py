"""`MultiheadAttention`: the parameters of `multi_head_attention_forward`
(`torch/nn/modules/activation.py`).

How the real one differs: in evaluation without gradients it uses a fused kernel if possible
(`_native_multi_head_attention`), whose result is the same up to rounding; it also takes nested
tensors.
"""

from __future__ import annotations

from typing import Any

from internals import Tensor, empty
from internals.nn import functional as F, init
from internals.nn._attention import _canonical_mask, _none_or_dtype
from internals.nn.modules._options import _Options
from internals.nn.modules.linear import NonDynamicallyQuantizableLinear
from internals.nn.parameter import Parameter


class MultiheadAttention(_Options):
    """Attention with `num_heads` heads over query (L, N, E), key (S, N, kdim), value (S, N, vdim);
    with `batch_first`, the first two dimensions are swapped.

    The three projections are stacked in `in_proj_weight` (3E, E), or separate as `q_proj_weight`,
    `k_proj_weight`, `v_proj_weight` if kdim or vdim is not E. `forward` returns the output
    and, if `need_weights`, the attention weights. Raises ValueError for sizes that are not
    positive, AssertionError unless `embed_dim` is divisible by `num_heads`.
    """

    __constants__ = ["batch_first"]

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        kdim, vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        packed = kdim == embed_dim and vdim == embed_dim  # the three matrices have one shape
        super().__init__(
            embed_dim=embed_dim, kdim=kdim, vdim=vdim, _qkv_same_embed_dim=packed,
            num_heads=num_heads, dropout=dropout, batch_first=batch_first,
            head_dim=embed_dim // num_heads,
        )  # fmt: skip
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*sizes: int) -> Parameter:
            return Parameter(empty(sizes, device=device, dtype=dtype))

        # unused weights are registered as None: both forms have the same attributes, which the
        # compiler requires; the order is that of PyTorch's `named_parameters()`
        if packed:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
        for name, features in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(
                f"{name}_proj_weight", None if packed else parameter(embed_dim, features)
            )
        if not packed:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        weights = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The output (L, N, E), and the weights (N, L, S) or None; see
        `multi_head_attention_forward` for the masks.
        """
        padding = _canonical_mask(
            key_padding_mask,
            "key_padding_mask",
            _none_or_dtype(attn_mask),
            "attn_mask",
            query.dtype,
        )
        mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        swap = self.batch_first and query.dim() == 3  # unbatched input has no dimension to swap
        if swap:
            query, key, value = _swapped(query, key, value)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=padding, need_weights=need_weights, attn_mask=mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (output.transpose(1, 0) if swap else output), weights


def _swapped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, L, E) to (L, N, E) for all three.

    Identical tensors stay identical, so that self-attention still needs one projection.
    """
    q = query.transpose(1, 0)
    k = q if key is query else key.transpose(1, 0)
    return q, k, k if value is key else value.transpose(1, 0)
