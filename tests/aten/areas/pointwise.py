"""Pointwise operators: what the tests of all operators have to know about second names, shifts,
`isin` and their kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import TensorSpec


def has_zero(values: dict[str, Any]) -> bool:
    x = values["self"]
    return bool(np.any((x.values if isinstance(x, TensorSpec) else x) == 0))


def other_out(values: dict[str, Any]) -> bool:
    return "out" in values and values["out"].values.dtype != values["self"].values.dtype


RECIPES = {
    # `assume_unique` where it is not true: what PyTorch answers is open. `out` has to be bool.
    "isin": lambda s: {"assume_unique": False, "out": TensorSpec(np.zeros(0, bool))},
}
KNOWN = [
    (
        "isin",
        lambda v: getattr(v.get("test_elements"), "layout", "plain") != "plain",
        "PyTorch fails to `view` them",
    ),
    ("ldexp", other_out, "PyTorch fails in an assertion of its own"),
]
NOT_SAMPLED = {
    r"(greater|less|greater_equal|less_equal|not_equal)\..*|__i?([lr]shift|and|or|xor)__\..*": (
        "gives no floating tensor"
    ),
}
OTHER_NODES = {
    r"(subtract|multiply|divide)_?\.Scalar(_mode)?": (
        "recorded as x + 2 is: by the node of add.Tensor"
    ),
    r"(greater|less|greater_equal|less_equal|not_equal)_\..*": "as eq_ and its kind",
}
GRADIENTS_KNOWN = [
    (
        "float_power",
        has_zero,
        "as pow: PyTorch's second derivative of 0**x, and the first of complex zeros, are NaN",
    ),
    ("(arc|a)cosh_?", has_zero, "the sign of zero decides between two branches of a complex root"),
]
