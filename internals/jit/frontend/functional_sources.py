"""`nn.functional` as the compiler reads it: the same functions, typed (`torch/nn/functional.py`).

Our own `nn.functional` is written for Python and for speed, with types that say `Any`; a scripted function that calls
`F.relu(x)` compiles the `relu` below instead (`functional_scripts.py`). Each is a call of an operator, after the choices that are
made in Python: in place or not, a word for the reduction. They are Python too, and give what `nn.functional` gives.

How the real one differs: there is only one of each, with annotations, which serves Python and the compiler alike.
"""

# ruff: noqa: UP006, UP035, UP045  # types as the language spells them
# mypy: disable-error-code="valid-type,arg-type,misc"
from __future__ import annotations

from typing import List, Optional, Tuple

import internals as torch
from internals import Tensor

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = list  # one T, or a list of N of them


# Activations


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        result = torch.relu_(input)
    else:
        result = torch.relu(input)
    return result


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        result = aten.relu6_(input)
    else:
        result = aten.relu6(input)
    return result


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        result = aten.hardtanh_(input, min_val, max_val)
    else:
        result = aten.hardtanh(input, min_val, max_val)
    return result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        result = aten.elu_(input, alpha)
    else:
        result = aten.elu(input, alpha)
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        result = aten.leaky_relu_(input, negative_slope)
    else:
        result = aten.leaky_relu(input, negative_slope)
    return result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.silu_(input)
    return aten.silu(input)


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    x = input.clone() if inplace else input
    result = x * aten.softplus(x).tanh()
    if inplace:
        return input.copy_(result)
    return result


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    x = input.clone() if inplace else input
    result = aten.hardtanh(x + 3, 0.0, 6.0) / 6
    if inplace:
        return input.copy_(result)
    return result


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    x = input.clone() if inplace else input
    result = x * aten.hardtanh(x + 3, 0.0, 6.0) / 6
    if inplace:
        return input.copy_(result)
    return result


def glu(input: Tensor, dim: int = -1) -> Tensor:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    half, gate = input.chunk(2, dim)
    return half * gate.sigmoid()


def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _softmax_dim(input.dim())
    if dtype is None:
        ret = input.softmax(dim)
    else:
        ret = input.softmax(dim, dtype=dtype)
    return ret


def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    if dim is None:
        dim = _softmax_dim(input.dim())
    if dtype is None:
        ret = input.log_softmax(dim)
    else:
        ret = input.log_softmax(dim, dtype=dtype)
    return ret


def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    return softmax(-input, dim, _stacklevel, dtype)


def _softmax_dim(ndim: int) -> int:
    if ndim == 0 or ndim == 1 or ndim == 3:
        ret = 0
    else:
        ret = 1
    return ret


# Dropout, normalization


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        result = torch.dropout_(input, p, training)
    else:
        result = torch.dropout(input, p, training)
    return result


def layer_norm(
    input: Tensor,
    normalized_shape: List[int],
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    eps: float = 1e-05,
) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05
) -> Tensor:
    return torch.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Optional[Tensor],
    running_var: Optional[Tensor],
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    if training:
        _verify_batch_size(input.size())
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def _verify_batch_size(size: List[int]) -> None:
    size_prods = size[0]
    for i in range(len(size) - 2):
        size_prods *= size[i + 2]
    if size_prods == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denom


# Pooling and padding


def max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return aten.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return aten.adaptive_avg_pool2d(input, output_size)


def pad(input: Tensor, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Tensor:
    return aten.pad(input, pad, mode, value)


# Losses


def _get_enum(reduction: str) -> int:
    if reduction == "none":
        ret = 0
    elif reduction == "mean":
        ret = 1
    elif reduction == "sum":
        ret = 2
    else:
        ret = -1
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ret


def _legacy_reduction(reduction: str, size_average: Optional[bool], reduce: Optional[bool]) -> str:
    if size_average is not None or reduce is not None:
        mean = size_average is None or size_average
        all_of_it = reduce is None or reduce
        if not all_of_it:
            return "none"
        return "mean" if mean else "sum"
    return reduction


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    return aten.mse_loss(expanded_input, expanded_target, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    return aten.l1_loss(expanded_input, expanded_target, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    return aten.smooth_l1_loss(expanded_input, expanded_target, number, beta)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    ignore_index: int = -100,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return aten.nll_loss_nd(input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    ignore_index: int = -100,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return aten.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    if target.size() != input.size():
        raise ValueError("Using a target size that is different to the input size is deprecated.")
    if weight is not None:
        weight = weight.expand_as(target)
    return aten.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    pos_weight: Optional[Tensor] = None,
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    if target.size() != input.size():
        raise ValueError("Target size must be the same as input size")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)
