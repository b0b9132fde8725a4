"""Transformers: encoder and decoder layers, their stacks, and both together
(`torch/nn/modules/transformer.py`).

A layer adds the result of attention to its input, then the result of two linear layers that work on
each position by itself. Each sum is normalized; with `norm_first`, the input of attention and of
the linear layers is normalized instead. A stack has copies of one layer.

How the real one differs: in evaluation without gradients an encoder layer uses a fused kernel if
possible, and drops padded positions beforehand (nested tensors); here `enable_nested_tensor` and
`mask_check` are accepted, but have no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from internals import Tensor, full
from internals.core.device import device as Device
from internals.core.dtype import dtype as DType
from internals.nn import functional as F, init
from internals.nn._attention import _canonical_mask, _none_or_dtype
from internals.nn.containers import ModuleList
from internals.nn.module import Module
from internals.nn.modules._options import _Options
from internals.nn.modules.activation import GELU, ReLU
from internals.nn.modules.attention import MultiheadAttention
from internals.nn.modules.dropout import Dropout
from internals.nn.modules.linear import Linear
from internals.nn.modules.normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


class _Layer(Module):
    """The parts of a layer: its attentions (named in `_attentions`) and a feed-forward network,
    each with its own normalization and dropout.
    """

    __constants__ = ["norm_first"]
    _attentions = tuple[str, ...]()

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **factory
            )  # fmt: skip
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory)
        self.norm_first = norm_first
        summands = range(1, len(self._attentions) + 2)
        for i in summands:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **factory))
        for i in summands:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _sa_block(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Self-attention and dropout, without the residual connection."""
        x = self.self_attn(
            x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )[0]
        return self.dropout1(x)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network: (L, N, d_model), or (N, L, d_model) if
    `batch_first`, to the same shape.

    `activation` is "relu", "gelu" or a function. Raises RuntimeError for another string.
    """

    _attentions = ("self_attn",)

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        self.activation_relu_or_gelu = _relu_or_gelu(self.activation)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:  # fmt: skip
        dtype = src.dtype
        padding = _canonical_mask(
            src_key_padding_mask,
            "src_key_padding_mask",
            _none_or_dtype(src_mask),
            "src_mask",
            dtype,
        )
        mask = _canonical_mask(src_mask, "src_mask", None, "", dtype, check_other=False)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        """The feed-forward network: d_model to dim_feedforward to d_model features."""
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network."""

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """`tgt` (L, N, d_model) attends to itself with the `tgt_` masks, and to `memory`
        (S, N, d_model), the encoder's output, with the `memory_` masks.
        """
        x = tgt
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        """Attention to `memory` and dropout, without the residual connection."""
        x = self.multihead_attn(
            x, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        """The feed-forward network: d_model to dim_feedforward to d_model features."""
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(_Options):
    """`num_layers` copies of `encoder_layer`, with initially equal weights, and a final `norm`."""

    __constants__ = ["norm"]

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            layers=_clones(encoder_layer, num_layers), num_layers=num_layers, norm=norm,
            enable_nested_tensor=enable_nested_tensor, mask_check=mask_check,
        )  # fmt: skip

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """`src` (L, N, d_model), or batch first, through all layers.

        With `is_causal=None` the mask is compared with the causal one.
        """
        padding = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(mask), "mask", src.dtype
        )
        mask = _canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        causal = _detect_is_causal_mask(
            mask, is_causal, _length(src, self.layers[0].self_attn.batch_first)
        )
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(_Options):
    """`num_layers` copies of `decoder_layer`, with initially equal weights, and a final `norm`."""

    __constants__ = ["norm"]

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__(
            layers=_clones(decoder_layer, num_layers), num_layers=num_layers, norm=norm
        )

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        causal = _detect_is_causal_mask(
            tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first)
        )
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class Transformer(_Options):
    """An encoder for the source and a decoder for the target; matrices are initially Xavier
    uniform.

    Raises RuntimeError when source and target differ in batch size, or do not have `d_model`
    features.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        else:
            self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*options)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        else:
            self.decoder = custom_decoder
        self._reset_parameters()
        self._keep(d_model=d_model, nhead=nhead, batch_first=batch_first)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            tgt_is_causal, memory_is_causal
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | None = None, dtype: DType | None = None
    ) -> Tensor:
        """The causal mask (sz, sz): -inf above the diagonal, to hide later positions, else 0."""
        return full((sz, sz), fill_value=float("-inf"), device=device, dtype=dtype).triu(1)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


def _clones(module: Module, n: int) -> ModuleList:
    """n deep copies: the layers do not share their weights."""
    return ModuleList([deepcopy(module) for _ in range(n)])


def _activation(activation: Any) -> Any:
    """The function for "relu" or "gelu"; anything that is not a string is returned as it is."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _relu_or_gelu(activation: Callable[..., Any]) -> int:
    """The number by which PyTorch's fused kernel knows the activation; 0 for others."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


def _length(x: Tensor, batch_first: bool) -> int:
    """L of (L, N, d_model), (N, L, d_model) or (L, d_model)."""
    return x.shape[1] if x.dim() == 3 and batch_first else x.shape[0]


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None, size: int) -> bool:
    """Whether `mask` is the causal one: `is_causal` if it is given, else by comparison."""
    if is_causal is not None:
        return is_causal
    if mask is None:
        return False
    causal = Transformer.generate_square_subsequent_mask(size, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())
