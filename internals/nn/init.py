"""The initialization of weights: filling tensors with numbers (`torch/nn/init.py`).

A layer multiplies and adds. If its weights are too large, signals grow from layer to layer; if they
are too small, signals fade. Xavier's and Kaiming's rules choose the variance of random weights by
the number of terms in each sum, `fan_in` in the forward and `fan_out` in the backward pass, so that
the variance of the signals stays about the same; `calculate_gain` corrects for the nonlinearity.

All functions work in place, without autograd, and return the tensor; meta tensors, which have no
memory, stay as they are. With the same seed the numbers are PyTorch's.

How the real one differs: `orthogonal_` calls `torch.linalg.qr`, here numpy's; both use LAPACK.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import internals
from internals import empty_like, no_grad, randperm, where
from internals.core.generator import Generator
from internals.core.tensor_impl import Tensor, array, from_array

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
)


# Random numbers


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Any:
    """Fill with uniformly distributed numbers from [a, b)."""
    return tensor if tensor.is_meta else tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Any:
    """Fill with normally distributed numbers."""
    return tensor if tensor.is_meta else tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Any:
    """Fill with normally distributed numbers between `a` and `b`; numbers outside are drawn again.

    Warns if the mean is more than two standard deviations outside of the interval.
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=3,
        )
    # the probability that a number lies between a and b
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    draw = _redraw_normal if inside > 0.3 else _redraw_uniform
    return draw(tensor, mean, std, a, b, generator)


def _redraw_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Any:
    """For intervals that hold much of the distribution: draw again until everything is inside."""
    # the bounds rounded to the tensor's dtype, with which its numbers are compared
    low, high = tensor.new_tensor(a, device="cpu").item(), tensor.new_tensor(b, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        result = where(outside, empty_like(result).normal_(mean, std, generator=generator), result)
    return tensor if result is tensor else tensor.copy_(result)


def _redraw_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Any:
    """For intervals in the tail: rejection sampling. A uniform number is kept with probability
    density(number) / density(mode), otherwise drawn again.
    """
    # the point of [a, b] with the highest density; constant factors of the density cancel out
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    chance = empty_like(tensor)

    def refused(candidates: Tensor) -> Any:
        log_density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return chance.uniform_(generator=generator).log_().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = refused(result)
    while pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        result = where(pending, candidates, result)
        pending = where(pending, refused(candidates), pending)
    return tensor if result is tensor else tensor.copy_(result)


def _normal_cdf(x: float) -> float:
    """The probability that a standard normal number is below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


# Fixed numbers


@no_grad()
def constant_(tensor: Tensor, val: float) -> Any:
    """Fill with `val`."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Any:
    """Fill with 1."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Any:
    """Fill with 0."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Any:
    """Fill with the identity matrix: a linear layer passes on as many inputs as it can.

    Raises ValueError unless there are 2 dimensions.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(internals.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Any:
    """Fill (out, in, *kernel) with the identity for convolutions: output channel c has a one at the
    center of the kernel for input channel c.

    With `groups` this holds within each group of output channels. Raises ValueError unless there
    are 3, 4 or 5 dimensions, and for groups that do not divide the output channels.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    channels_out, channels_in, *kernel = tensor.shape
    if channels_out % groups:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    tensor.zero_()
    centre = [size // 2 for size in kernel]
    per_group = channels_out // groups
    for group in range(groups):
        for channel in range(min(per_group, channels_in)):
            tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


# Random numbers of the right variance


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor for the standard deviation of weights whose result goes into a nonlinearity.

    A relu, for example, zeroes half of its inputs and so halves the mean square: sqrt(2) makes up
    for it. `param` is the slope of "leaky_relu". Raises ValueError for an unknown function.
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4  # an empirical value
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Uniform numbers with variance `gain**2 * 2 / (fan_in + fan_out)`.

    Raises ValueError for fewer than 2 dimensions.
    """
    # numbers uniform in [-b, b] have variance b**2 / 3
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Normal numbers with variance `gain**2 * 2 / (fan_in + fan_out)`.

    Raises ValueError for fewer than 2 dimensions.
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Uniform numbers with variance `gain**2 / fan`: the fan is chosen by `mode`, the gain is that
    of `nonlinearity`.

    `a` is the slope of "leaky_relu". Raises ValueError for an unknown mode or function, and for
    fewer than 2 dimensions.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Normal numbers with variance `gain**2 / fan`; see `kaiming_uniform_`."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation; None, with a warning, for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The fan that `mode` names: "fan_in" or "fan_out". Raises ValueError for another word."""
    mode, valid = mode.lower(), ["fan_in", "fan_out"]
    if mode not in valid:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid}")
    return _calculate_fan_in_and_fan_out(tensor)[valid.index(mode)]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight (out, in, *kernel): the number of inputs in each output, and of
    outputs that each input reaches.
    """
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    maps_out, maps_in, *kernel = tensor.shape
    receptive_field = math.prod(kernel)
    return maps_in * receptive_field, maps_out * receptive_field


# Structured matrices


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Any:
    """A random matrix with orthonormal rows or columns, times `gain`.

    Dimensions after the first count as one. A square matrix like this preserves lengths and angles.
    Raises ValueError for fewer than 2 dimensions.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator).cpu()
    random = array(drawn)
    q, r = np.linalg.qr(random.T if rows < columns else random)
    q = q * np.sign(np.diagonal(r))  # without this, not all orthogonal matrices are equally likely
    tensor.copy_(from_array((q.T if rows < columns else q).reshape(tensor.shape)))
    return tensor.mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Any:
    """Normal numbers, but in each column of the matrix a fraction `sparsity` of zeros.

    Raises ValueError unless there are 2 dimensions.
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    n_zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:n_zeros], column] = 0
    return tensor


# The old names, without the underscore


def _deprecated(new: Callable[..., Any]) -> Callable[..., Any]:
    """The function under its old name, which warns when it is called."""
    name = new.__name__[:-1]

    @functools.wraps(new)
    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.",
            FutureWarning,
            stacklevel=2,
        )
        return new(*args, **kwargs)

    old.__name__ = name
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
