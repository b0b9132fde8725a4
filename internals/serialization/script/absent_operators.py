"""Operators of nested tensors: archives contain calls of them, but rarely run them.

PyTorch's own functions are scripted whole, so an archive with a transformer also has the code for
nested tensors, chosen by an `if` when it runs. These do not exist here. To compile such code, only
the operators' schemas are needed; the error that one is missing comes when a call is reached.

How the real one differs: PyTorch has nested tensors (`aten/src/ATen/NestedTensorImpl.h`) and their
operators (`aten/src/ATen/native/nested`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.aten.pytorch_names import advice
from internals.jit.operators import find_operators
from internals.jit.operators.registry import register_operator

# symbol -> the schema of its one overload
SCHEMAS = {
    "aten::_nested_tensor_from_mask": (
        "aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor"
    ),
    "aten::_nested_tensor_from_mask_left_aligned": (
        "aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool"
    ),
    "aten::to_padded_tensor": (
        "aten::to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor"
    ),
}


def declare_absent(symbol: str) -> None:
    """Registers a symbol of the table (`aten::to_padded_tensor`), unless the operator exists."""
    if symbol in SCHEMAS and not find_operators(symbol):
        register_operator(SCHEMAS[symbol], missing(symbol))


def missing(symbol: str) -> Callable[..., Any]:
    """The function of an absent operator, which raises NotImplementedError."""

    def raise_error(*args: Any) -> Any:
        name = symbol.removeprefix("aten::")
        raise NotImplementedError(f"the archive calls {symbol}. {advice(name)}")

    return raise_error
