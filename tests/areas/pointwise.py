"""Pointwise operators: what the tests of all operators have to know about second names, shifts, `isin` and their kind."""

from __future__ import annotations

import numpy as np

from tests.op_tensors import TensorSpec

RECIPES = {
    # `assume_unique` where it is not true: what PyTorch answers is open. `out` has to be bool.
    "isin": lambda s: {"assume_unique": False, "out": TensorSpec(np.zeros(0, bool))},
}
KNOWN = [
    ("isin", lambda v: getattr(v.get("test_elements"), "layout", "plain") != "plain", "PyTorch asks for a view that there is not"),
    ("ldexp", lambda v: "out" in v and v["out"].values.dtype != v["self"].values.dtype, "PyTorch fails in an assertion of its own"),
]
NOT_SAMPLED = {
    r"(greater|less|greater_equal|less_equal|not_equal)\..*|__i?([lr]shift|and|or|xor)__\..*": "gives no floating tensor",
}
OTHER_NODES = {
    r"(subtract|multiply|divide)_?\.Scalar(_mode)?": "recorded as x + 2 is: by the node of add.Tensor",
    r"(greater|less|greater_equal|less_equal|not_equal)_\..*": "as eq_ and its kind",
}
GRADIENTS_KNOWN = [
    ("float_power", lambda v: not isinstance(v["self"], TensorSpec) and v["self"] == 0, "PyTorch's second derivative of 0**x is NaN"),
]
