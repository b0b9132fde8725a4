"""`Variable`, the name tensors with a history had before PyTorch 0.4
(`torch/autograd/variable.py`).

`Variable(t, requires_grad=True)` still works and returns a tensor; `isinstance(t, Variable)` asks
whether `t` is one.

How the real one differs: nothing; it is kept there for old code as well.
"""

from __future__ import annotations

from typing import Any

from internals.core.tensor_impl import TensorImpl


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, TensorImpl)

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """Not a class of its own any more: the tensor itself."""
