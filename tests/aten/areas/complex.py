"""Complex numbers (internals/aten/native_functions/complex.yaml)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Stream, TensorSpec, related, shape, tensor


def some_complex(v: dict[str, Any]) -> bool:
    return any(isinstance(t, TensorSpec) and t.values.dtype.kind == "c" for t in v.values())


def two_parts(s: Stream) -> dict[str, Any]:
    """Two real tensors of one dtype for `complex` and `polar`, sometimes two dtypes, and an `out`
    that suits the first.
    """
    kind = str(s.choice(["float32", "float64"]))
    other = kind if s.random() < 0.9 else "float64"
    sizes = shape(s)
    first, second = tensor(s, sizes, kind), tensor(s, related(s, sizes), other)
    out = TensorSpec(np.zeros(0, "complex64" if kind == "float32" else "complex128"))
    return {"real": first, "imag": second, "abs": first, "angle": second, "out": out}


NOT_CALLED = {
    "_conj": "a view in PyTorch, computed here: conj_physical, and tests/aten/test_ops_complex.py"
}
RECIPES = {"complex": two_parts, "polar": two_parts}
UNSUITABLE = [
    (
        "polar",
        lambda v: (v["abs"].values <= 0).any(),
        "a length below 0: the formula takes it for one above",
    ),
    (
        "norm",
        lambda v: "dtype" in v and "complex" in v["dtype"].name,
        "PyTorch's norm refuses the complex dtype= it asks for",
    ),
]
GRADIENTS_KNOWN = [
    ("_?conv.*", some_complex, "PyTorch makes three real convolutions of a complex one"),
    ("silu_", some_complex, "PyTorch's formula lacks the conjugate; it refuses silu"),
]
