"""Activations, softmax and dropout, as `nn.functional` offers them (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals._generated import ops
from internals._tensor import Tensor
from internals.core.dtype import dtype


def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0)."""
    if input.__class__ is Tensor and not inplace:
        return ops.relu(input)  # nothing to parse
    return F.relu_(input) if inplace else F.relu(input)


def relu6(input: Any, inplace: bool = False) -> Any:
    """`input` clamped to [0, 6]."""
    return nn.relu6_(input) if inplace else nn.relu6(input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """`input` clamped to [min_val, max_val]. Raises ValueError when these are the wrong way round."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return nn.hardtanh_(input, min_val, max_val) if inplace else nn.hardtanh(input, min_val, max_val)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`input` where positive, alpha * (exp(input) - 1) elsewhere."""
    return nn.elu_(input, alpha) if inplace else nn.elu(input, alpha)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """`input` where positive, negative_slope * input elsewhere."""
    return nn.leaky_relu_(input, negative_slope) if inplace else nn.leaky_relu(input, negative_slope)


def silu(input: Any, inplace: bool = False) -> Any:
    """input * sigmoid(input)."""
    return nn.silu_(input) if inplace else nn.silu(input)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of `input` along `dim`, times the sigmoid of the second half. Raises RuntimeError for an odd size."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return nn.glu(input, dim)


def sigmoid(input: Any) -> Any:
    return input.sigmoid()


def tanh(input: Any) -> Any:
    return input.tanh()


def tanhshrink(input: Any) -> Any:
    """input - tanh(input)."""
    return input - input.tanh()


def softsign(input: Any) -> Any:
    """input / (1 + |input|)."""
    return input / (input.abs() + 1)


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Any:
    """exp(input) divided by its sum along `dim`, computed in `dtype` if given. Warns when `dim` is left out."""
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Any:
    """The logarithm of `softmax`, computed so that small probabilities are not lost."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Any:
    """softmax(-input)."""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability `p` and divide the others by 1 - p. Raises ValueError unless 0 <= p <= 1."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return F.dropout_(input, p, training) if inplace else F.dropout(input, p, training)


def _implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension early versions took when none was given: 0 for 0, 1 or 3 dimensions, else 1."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1
