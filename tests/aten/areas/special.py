"""Special functions: what the tests of all operators have to know about the gamma function,
polynomials and their kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.aten.op_tensors import TensorSpec


def some(test: Callable[[Any], Any]) -> Callable[[dict[str, Any]], bool]:
    """Whether `test` holds for an element of one of the tensors."""
    return lambda values: any(
        bool(np.any(test(v.values))) for v in values.values() if isinstance(v, TensorSpec)
    )


def is_negative_integer(a: Any) -> Any:
    return (a < 0) & (a == np.rint(a)) if a.dtype.kind in "fiu" else False


def is_near_a_pole(a: Any) -> Any:
    """Or near a half: mvlgamma has poles there."""
    return (a < 0.1) & (np.abs(2 * a - np.rint(2 * a)) < 0.1) if a.dtype.kind == "f" else False


def wider_out(values: dict[str, Any]) -> bool:
    """An `out` of another dtype: it shows digits that the computation, in the inputs' dtype, does
    not have.
    """
    first, *_ = (v for v in values.values() if isinstance(v, TensorSpec))
    return "out" in values and values["out"].values.dtype != first.values.dtype


KNOWN = [
    ("special_.*_polynomial_.*", some(np.isnan), "PyTorch returns whatever was in a register"),
    (
        "(special_)?polygamma_?",
        lambda v: v["n"] == 1 and some(is_negative_integer)(v),
        "PyTorch divides by a rounding error",
    ),
    ("(special_)?polygamma_?|special_zeta", some(np.isinf), "NaN in PyTorch, here the limit"),
    ("igammac?_?|special_gammaincc?", some(np.isnan), "in PyTorch igamma(NaN, 0) is 0"),
    ("special_airy_ai", some(lambda a: a < -2), "PyTorch's has an error of 1e-6 there"),
    (
        "special_.*|polygamma|lgamma|digamma|mvlgamma|i0|erf.*|igammac?|logit",
        wider_out,
        "the digits beyond its precision",
    ),
    (
        "special_logsumexp",
        lambda v: v["dim"] == [],
        "as logsumexp: an empty `dim` means all dimensions here",
    ),
    (
        "special_(log_)?softmax",
        some(lambda a: not a.size),
        "as softmax: PyTorch does not look at the dtype of nothing",
    ),
]
UNSUITABLE = [
    (
        "(special_)?(lgamma|digamma|gammaln|psi|polygamma|mvlgamma|multigammaln)_?",
        some(is_near_a_pole),
        "too steep",
    ),
]
CONSTANT = [("igammac?_?|special_gammaincc?|special_zeta", "self")]
NOT_SAMPLED = {r"special_zeta\.other_scalar": "it has no derivative, in PyTorch neither"}
OTHER_NODES = {
    "special_ndtr": (
        "made of additions and products with numbers, recorded as x + 2 is: by the node of "
        "add.Tensor"
    )
}
