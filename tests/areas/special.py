"""Special functions: what the tests of all operators have to know about the gamma function, polynomials and their kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.op_tensors import TensorSpec


def has_nan(values: dict[str, Any]) -> bool:
    return any(isinstance(v, TensorSpec) and bool(np.isnan(v.values).any()) for v in values.values())


def at_a_pole(values: dict[str, Any]) -> bool:
    """Whether an element is -1, -2, ..."""
    a = values["self"].values
    return a.dtype.kind in "fiu" and bool(((a < 0) & (a == np.rint(a))).any())


KNOWN = [
    ("special_.*_polynomial_.*", has_nan, "PyTorch returns whatever was in a register"),
    ("(special_)?polygamma_?", lambda v: v["n"] == 1 and at_a_pole(v), "PyTorch has 1 / rounding error instead of infinity"),
]
CONSTANT = [("igammac?_?|special_gammaincc?|special_zeta", "self")]
NOT_SAMPLED = {r"special_zeta\.other_scalar": "it has no derivative, in PyTorch neither"}
OTHER_NODES = {"special_ndtr": "made of additions and products with numbers, recorded as x + 2 is: by the node of add.Tensor"}
