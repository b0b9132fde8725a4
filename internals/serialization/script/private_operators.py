"""Decides which private operators an archive may call: those that an exporter writes.

A leading underscore means that an operator is an implementation detail of another one: it does not
check its arguments, because its caller has done so. `_reshape_alias` creates a view with any sizes
and strides, which `reshape` has computed. Code from a file cannot be trusted like that, so it may
call only the private operators that PyTorch's exporters have written into archives, since 1.0.1:

| written by           | because                                                            |
|----------------------|--------------------------------------------------------------------|
| the language         | `x in xs` is `__contains__`, `d[k] = v` is `_set_item`             |
| scripting            | PyTorch's functions in Python, which are scripted whole, call them |
| tracing              | it records the operators that `conv2d` calls, not `conv2d`         |
| tracing of gradients | a formula is recorded if it needs only the inputs                  |
| `run_decompositions` | composite operators consist of them                                |

Of the operators `prim::`, code may call those without a syntax of their own: `prim::device`, but
not `prim::TupleIndex`.

How the real one differs: its loaders accept every operator.
"""

from __future__ import annotations

LANGUAGE = (
    "_get_tracing_state _infer_size _list_to_tensor _set_item _tensor_to_list _unwrap_optional"
)
SCRIPTING = """
    _lu_with_info _native_multi_head_attention _nested_tensor_from_mask
    _nested_tensor_from_mask_left_aligned _no_grad_fill_ _no_grad_normal_ _no_grad_uniform_
    _no_grad_zero_ _pack_padded_sequence _pad_packed_sequence _shape_as_tensor
    _transformer_encoder_layer_fwd _unique _unique2 _upsample_bicubic2d_aa _upsample_bilinear2d_aa
    _upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d
"""
TRACING = "_conj _convolution _convolution_mode"
GRADIENTS = """
    _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward _embedding_bag_backward
    _embedding_bag_per_sample_weights_backward _index_put_impl_ _pack_padded_sequence_backward
    _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward _upsample_lanczos2d_aa_backward
    _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward
    _upsample_nearest_exact3d_backward
"""
DECOMPOSED = """
    _adaptive_avg_pool2d _adaptive_avg_pool3d _cdist_forward _conj_physical _ctc_loss _embedding_bag
    _embedding_bag_forward_only _fft_c2c _fft_c2r _fft_r2c _histogramdd_bin_edges
    _histogramdd_from_bin_cts _histogramdd_from_bin_tensors _linalg_check_errors _linalg_det
    _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_solve_ex _linalg_svd _local_scalar_dense
    _log_softmax _pdist_forward _softmax _to_copy _unsafe_view
"""
WRITTEN = frozenset(" ".join((LANGUAGE, SCRIPTING, TRACING, GRADIENTS, DECOMPOSED)).split())
# Functions of `prim` with a capital letter; the others with one are kinds of nodes in a graph.
FUNCTIONS = frozenset(("NumToTensor", "RaiseException", "StringIndex"))


def is_written(symbol: str) -> bool:
    """Whether an archive may call a symbol such as `aten::add`: one that is public, or private and
    written by exporters.
    """
    namespace, _, name = symbol.partition("::")
    if namespace == "prim":
        return not name[:1].isupper() or name in FUNCTIONS
    return not name.startswith("_") or name.startswith("__") or name in WRITTEN


def refusal(symbol: str) -> str:
    """The error's text for a symbol that an archive may not call."""
    return f"{symbol} is a private operator that no exporter writes: an archive may not call it"
