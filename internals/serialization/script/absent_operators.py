"""Operators that archives name without calling them.

PyTorch's own functions are scripted whole, so an archive with a transformer in it has the code for nested tensors, chosen by an
`if` when it runs, and one that was saved with its loss has the code of the loss. Not all of these operators exist here. To
compile such code only their schemas are needed; a call of one says that it is missing when, and only when, it is reached.

How the real one differs: PyTorch has them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.aten.pytorch_names import advice
from internals.jit.operators import find_operators
from internals.jit.operators.registry import register_operator

SCHEMAS = """
aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor
aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool
aten::to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor
aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1,
    bool ceil_mode=False) -> (Tensor, Tensor)
aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)
aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)
aten::max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor
aten::max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> Tensor
aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool
    sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)
aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int
    reduction=1, bool zero_infinity=False) -> Tensor
aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int
    reduction=1, bool zero_infinity=False) -> Tensor
aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor
aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor
aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor
aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=1e-06,
    bool swap=False, int reduction=1) -> Tensor
aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) ->
    Tensor
aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) ->
    Tensor
aten::linalg_matrix_norm.out(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None,
    Tensor(a!) out) -> Tensor(a!)
aten::linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType?
    dtype=None) -> Tensor
aten::linalg_matrix_norm.str_ord_out(Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType?
    dtype=None, Tensor(a!) out) -> Tensor(a!)
aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
aten::frobenius_norm.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)
aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor
aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor
aten::nuclear_norm.out(Tensor self, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)
aten::nuclear_norm.dim_out(Tensor self, int[2] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)
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
        name = symbol.removeprefix("aten::")
        raise NotImplementedError(f"the archive calls {symbol}. {advice(name)}")

    return raise_error
