"""Activations, softmax and dropout, as `nn.functional` offers them (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F, nn_functions as nn, ops
from internals._tensor import Tensor
from internals.core.dtype import dtype as DType
from internals.functional.scripting import is_scripting


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    if not is_scripting():
        if input.__class__ is Tensor and not inplace:
            return ops.relu(input)  # the usual case, without parsing of arguments
    if inplace:
        result = F.relu_(input)
    else:
        result = F.relu(input)
    return result


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` clamped to [0, 6]."""
    if inplace:
        result = nn.relu6_(input)
    else:
        result = nn.relu6(input)
    return result


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`input` clamped to [min_val, max_val]. Raises ValueError if min_val > max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        result = nn.hardtanh_(input, min_val, max_val)
    else:
        result = nn.hardtanh(input, min_val, max_val)
    return result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where positive, alpha * (exp(input) - 1) elsewhere."""
    if inplace:
        result = nn.elu_(input, alpha)
    else:
        result = nn.elu(input, alpha)
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where positive, negative_slope * input elsewhere."""
    if inplace:
        result = nn.leaky_relu_(input, negative_slope)
    else:
        result = nn.leaky_relu(input, negative_slope)
    return result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    if inplace:
        return nn.silu_(input)
    return nn.silu(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of `input` along `dim`, times the sigmoid of the second half. Raises
    RuntimeError for an odd size.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return nn.glu(input, dim)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """(exp(input) - exp(-input)) / (exp(input) + exp(-input)): between -1 and 1."""
    return input.tanh()


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (input.abs() + 1)


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """exp(input) divided by its sum along `dim`, computed in `dtype` if given.

    Warns when `dim` is omitted.
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    if dtype is None:
        ret = input.softmax(dim)
    else:
        ret = input.softmax(dim, dtype=dtype)
    return ret


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """log(softmax(input)), computed so that tiny probabilities do not become log(0)."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    if dtype is None:
        ret = input.log_softmax(dim)
    else:
        ret = input.log_softmax(dim, dtype=dtype)
    return ret


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None
) -> Tensor:
    """softmax(-input)."""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    if dtype is None:
        ret = (-input).softmax(dim)
    else:
        ret = (-input).softmax(dim, dtype=dtype)
    return ret


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and divide the others by 1 - p. Raises ValueError
    unless 0 <= p <= 1.
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        result = F.dropout_(input, p, training)
    else:
        result = F.dropout(input, p, training)
    return result


def _implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The `dim` that early versions of PyTorch chose: 0 for 0, 1 or 3 dimensions, else 1."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel,
    )
    if ndim == 0 or ndim == 1 or ndim == 3:
        ret = 0
    else:
        ret = 1
    return ret
