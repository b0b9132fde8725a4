"""Operators that archives name without calling them.

PyTorch's own functions are scripted whole, so an archive with an `interpolate` in it has the code for every mode and for one,
two and three dimensions, and one with attention has the fused operator for inference, chosen by an `if` when it runs. Not all
of these exist here. To compile such code only their schemas are needed; a call of one says that it is missing when, and only
when, it is reached.

How the real one differs: PyTorch has them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.jit.operators import find_operators
from internals.jit.operators.registry import register_operator

SCHEMAS = """
aten::upsample_nearest1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor
aten::upsample_nearest1d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
aten::upsample_nearest3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float?
    scales_w=None) -> Tensor
aten::upsample_nearest3d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
aten::_upsample_nearest_exact1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor
aten::_upsample_nearest_exact1d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
aten::_upsample_nearest_exact2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor
aten::_upsample_nearest_exact2d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
aten::_upsample_nearest_exact3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float?
    scales_w=None) -> Tensor
aten::_upsample_nearest_exact3d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
aten::upsample_linear1d(Tensor self, int[1] output_size, bool align_corners, float? scales=None) -> Tensor
aten::upsample_linear1d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::upsample_trilinear3d(Tensor self, int[3] output_size, bool align_corners, float? scales_d=None, float?
    scales_h=None, float? scales_w=None) -> Tensor
aten::upsample_trilinear3d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::upsample_bicubic2d(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float?
    scales_w=None) -> Tensor
aten::upsample_bicubic2d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
aten::_upsample_bilinear2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float?
    scales_w=None) -> Tensor
aten::_upsample_bilinear2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) ->
    Tensor
aten::_upsample_bicubic2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float?
    scales_w=None) -> Tensor
aten::_upsample_bicubic2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) ->
    Tensor
aten::_upsample_lanczos2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float?
    scales_w=None) -> Tensor
aten::_upsample_lanczos2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) ->
    Tensor
aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor
    qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True,
    bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)
aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias,
    Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor
    norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor
    ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor
aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor
aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool
aten::to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor
aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor
aten::adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor
"""


def make_known(symbol: str) -> None:
    """Let the compiler know an operator of the table, unless it exists."""
    if find_operators(symbol):
        return
    for line in SCHEMAS.replace("\n    ", " ").split("\n"):
        if line.partition("(")[0].partition(".")[0] == symbol:
            register_operator(line, missing(symbol))


def missing(symbol: str) -> Callable[..., Any]:
    def raise_error(*args: Any) -> Any:
        raise NotImplementedError(f"the operator {symbol}, which the archive calls, does not exist here")

    return raise_error
