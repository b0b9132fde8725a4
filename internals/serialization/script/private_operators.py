"""Which private operators an archive may call: those that an exporter writes.

A leading underscore says that an operator is the inside of another one: it believes what it is
told, because its caller has checked. `_reshape_alias` makes a view of any sizes and strides, which
`reshape` has computed. Code in a file is no such caller, so it gets only the private operators that
are in archives by PyTorch's exporters, since 1.0.1:

| who writes them      | because                                                            |
|----------------------|--------------------------------------------------------------------|
| the language         | `x in xs` is `__contains__`, `d[k] = v` is `_set_item`             |
| scripting            | PyTorch's functions in Python, which are scripted whole, call them |
| tracing              | it records no `conv2d`, but what that calls                        |
| tracing of gradients | a formula is recorded if it needs no more than the inputs          |
| `run_decompositions` | they are what composite operators are made of                      |

Of `prim`, an archive names what has no syntax: `prim::device`, but not `prim::TupleIndex`.

How the real one differs: its loaders take every operator that there is.
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
# forms of a graph have a capital letter, too
FUNCTIONS = frozenset(("NumToTensor", "RaiseException", "StringIndex"))


def is_written(symbol: str) -> bool:
    """Whether archives may call `aten::add`: it is public, or private and in archives that
    exporters wrote.
    """
    namespace, _, name = symbol.partition("::")
    if namespace == "prim":
        return not name[:1].isupper() or name in FUNCTIONS
    return not name.startswith("_") or name.startswith("__") or name in WRITTEN


def refusal(symbol: str) -> str:
    return f"{symbol} is a private operator that no exporter writes: an archive may not call it"
