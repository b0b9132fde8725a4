"""Checks of the arguments of random operators: bounds that are no range, a dtype that cannot hold
the numbers (`aten/src/ATen/native/DistributionTemplates.h`).

The kernels of the CPU and of the GPU call the same functions. Some operators check the dtype of an
empty tensor too, others do not: each as PyTorch does, hence `if t.numel()` in some of them.

How the real one differs: the checks of a dtype are part of each device's kernel, in the macro that
chooses a loop for the dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.dtype_checks import TYPE_META_NAME, check_dtype, not_implemented
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.scalar import C_NAME, checked
from internals.core.tensor_impl import Array, Tensor
from internals.core.warn import warn

_TYPE_NAME = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
}
# binary digits of the significand: integers up to 2 ** digits are exact
_DIGITS = {"float16": 11, "float32": 24, "float64": 53}


def check_uniform(
    t: Tensor, low: float, high: float, kernel: str = "check_uniform_bounds"
) -> dtype:
    """The dtype to draw. Raises RuntimeError unless low <= high are finite numbers of that dtype,
    and so is their difference.
    """
    d = _floating(t, kernel)
    highest = float(np.finfo(d.to_real().np).max)
    for name, value in (("from", low), ("to", high)):
        if not -highest <= value <= highest:
            raise RuntimeError(f"{name} is out of bounds for {C_NAME[d.to_real().name]}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > highest:
        raise RuntimeError(
            "uniform_ expects to-from <= "
            f"std::numeric_limits<{SCALAR_TYPE_NAME[d.to_real()]}>::max(), but found "
            f"to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )
    return d


def check_normal(t: Tensor, std: float, kernel: str) -> dtype:
    """The dtype to draw. Raises RuntimeError for std < 0, NotImplementedError for integers."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return _floating(t, kernel)


def check_std(std: Tensor) -> None:
    """Raises RuntimeError unless all deviations are real and >= 0. Python needs the answer, so for
    a tensor on a GPU it waits here for the kernels before it.
    """
    if std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.numel() and not bool((std.detach() >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")


def check_integers(t: Tensor, low: int, high: int | None) -> int:
    """The exclusive end of the range to draw integers from: `high`, or for None one more than the
    largest integer of the dtype. Raises RuntimeError for complex, for low >= high, and for a range
    that the dtype cannot hold.
    """
    if t.is_complex():
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    top = int(limits(t.dtype)[1]) + 1 if high is None else high
    _check_bounds(low, top, t.dtype)
    return top


def check_bernoulli(t: Tensor, p: float, kernel: str) -> None:
    """Raises RuntimeError unless 0 <= p <= 1, NotImplementedError for complex."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if t.is_complex():
        raise not_implemented(kernel, t.dtype)


def _floating(t: Tensor, kernel: str) -> dtype:
    """The dtype of `t`. Raises NotImplementedError, naming `kernel`, unless floating or complex."""
    check_dtype(kernel, t.dtype, dt.FLOATING, dt.COMPLEX)
    return t.dtype


def limits(d: dtype) -> tuple[int, int]:
    """(smallest, largest): the range of integers that a dtype holds exactly."""
    if d.category == dt.BOOL:
        return 0, 1
    if d.category == dt.INTEGRAL:
        info = np.iinfo(d.np)
        return int(info.min), int(info.max)
    return -(2 ** _DIGITS[d.name]), 2 ** _DIGITS[d.name]


def _check_bounds(low: int, high: int, d: dtype) -> None:
    """Raises RuntimeError unless low < high and the dtype holds low ... high - 1. A floating dtype
    that is too coarse only warns, as in PyTorch.
    """
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    smallest, largest = limits(d)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if d.category == dt.FLOATING:
            if abs(value) > largest:
                power = _DIGITS[d.name]
                warn(
                    f"{name} is out of bounds [-(2^{power}), 2^{power}]. Due to precision "
                    f"limitations {C_NAME[d.name]} can support discrete uniform distribution "
                    "only within this range. This warning will become an error in version 1.7 "
                    "release, please fix the code in advance"
                )
        elif not smallest <= value <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_TYPE_NAME.get(d.name, d.name)}")


def check_permutation(n: int, d: dtype) -> None:
    """Raises RuntimeError when the dtype cannot hold n, NotImplementedError for bool and
    complex.
    """
    if d.category == dt.FLOATING and n > 2 ** _DIGITS[d.name] + 1:
        raise RuntimeError(
            f"n cannot be greater than {2 ** _DIGITS[d.name] + 1} for {SCALAR_TYPE_NAME[d]} type."
        )
    check_dtype("randperm", d, dt.INTEGRAL, dt.FLOATING)
    checked(n, d)


def check_weights(t: Tensor, weights: Array, num_samples: int, replacement: bool) -> None:
    """Raises RuntimeError unless `num_samples` indices can be drawn from each row of `weights`, the
    elements of `t` as an array: they are finite, not negative, and not all 0.
    """
    if t.dtype.category != dt.FLOATING:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{SCALAR_TYPE_NAME[t.dtype]}"
        )
    if t.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > t.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if not t.shape[-1]:
        raise RuntimeError("multinomial: there are no weights to draw from")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def check_exponential(t: Tensor, rate: float) -> None:
    """Raises RuntimeError unless rate > 0, and for a dtype that is not floating."""
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    if t.numel():
        _check_continuous("Exponential", t, SCALAR_TYPE_NAME)


def check_log_normal(t: Tensor, std: float) -> None:
    """Raises RuntimeError unless std > 0, NotImplementedError for a dtype that is not floating."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if t.numel() and t.dtype.category != dt.FLOATING:
        raise not_implemented("log_normal_cpu", t.dtype)


def check_cauchy(t: Tensor, sigma: float) -> None:
    """Raises RuntimeError unless sigma > 0, and for a dtype that is not floating."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _check_continuous("Cauchy", t, TYPE_META_NAME)


def check_geometric(t: Tensor, p: float) -> None:
    """Raises RuntimeError unless 0 < p < 1, NotImplementedError for bool and complex."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if t.numel() and t.dtype.category in (dt.BOOL, dt.COMPLEX):
        raise not_implemented("geometric_cpu", t.dtype)


def _check_continuous(name: str, t: Tensor, names: dict[Any, str]) -> None:
    """Raises RuntimeError for a dtype that is not floating, which `names` gives a name."""
    if t.dtype.category != dt.FLOATING:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {names[t.dtype]}"
        )
