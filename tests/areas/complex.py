"""Complex numbers (internals/aten/native_functions/complex.yaml)."""

from __future__ import annotations

from typing import Any

from tests.op_tensors import TensorSpec


def some_complex(v: dict[str, Any]) -> bool:
    return any(isinstance(t, TensorSpec) and t.values.dtype.kind == "c" for t in v.values())


UNSUITABLE = [
    ("polar", lambda v: (v["abs"].values <= 0).any(), "a length below 0: the formula takes it for one above"),
    ("norm", lambda v: "dtype" in v and "complex" in v["dtype"].name, "PyTorch's norm refuses the complex dtype= it asks for"),
]
GRADIENTS_KNOWN = [
    ("_?conv.*", some_complex, "PyTorch makes three real convolutions of a complex one"),
    ("silu_", some_complex, "PyTorch's formula lacks the conjugate; it refuses silu"),
]
