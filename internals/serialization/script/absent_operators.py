"""Operators that archives name without calling them: those of nested tensors.

PyTorch's own functions are scripted whole, so an archive with a transformer in it has the code for
nested tensors, chosen by an `if` when it runs. These do not exist here. To compile such code only
their operators' schemas are needed; a call of one says that it is missing when, and only when, it
is reached.

How the real one differs: PyTorch has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.aten.pytorch_names import advice
from internals.jit.operators import find_operators
from internals.jit.operators.registry import register_operator

SCHEMAS = """
aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor
aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool
aten::to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor
"""


def declare_absent(symbol: str) -> None:
    """Let the compiler know an operator of the table, unless it exists."""
    if find_operators(symbol):
        return
    for line in SCHEMAS.strip().split("\n"):
        if line.partition("(")[0].partition(".")[0] == symbol:
            register_operator(line, missing(symbol))


def missing(symbol: str) -> Callable[..., Any]:
    def raise_error(*args: Any) -> Any:
        name = symbol.removeprefix("aten::")
        raise NotImplementedError(f"the archive calls {symbol}. {advice(name)}")

    return raise_error
