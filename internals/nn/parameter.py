"""`Parameter` and `Buffer`: tensors that a module takes note of (`torch/nn/parameter.py`).

A `Parameter` is a tensor in every respect. It is a class of its own for one reason: assigned to an attribute of a module, it is
entered among the module's parameters, and what an optimizer should change is told from what merely happens to be a tensor. A
`Buffer` is entered among the module's buffers: state that is saved with the module but not trained, like a running mean.

How the real one differs: `Parameter` also takes tensors of foreign classes, which it marks instead of converting
(`_is_param`); and there are uninitialized parameters for layers that learn their sizes from the first input (`LazyLinear`).
"""

from __future__ import annotations

from typing import Any

from internals import Tensor, empty, preserve_format
from internals._tensor_str import tensor_repr
from internals.construction import with_grad


class Parameter(Tensor):
    """A parameter on the memory of `data`, an empty one if there is none. It requires a gradient unless told otherwise.

    Being under `no_grad` makes no difference to that. Raises RuntimeError for integers and bools, which have no gradients,
    unless `requires_grad=False`.
    """

    __module__ = "internals.nn.parameter"
    __slots__ = ()  # nothing is added, so a tensor can become a parameter by changing its class
    _arithmetic_keeps_class = False  # the sum of two parameters is no parameter

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        parameter = empty(0) if data is None else data.detach()
        parameter.__class__ = cls
        return with_grad(parameter, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + tensor_repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter on a copy of the elements. The gradient stays behind."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(memory_format=preserve_format), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild_parameter, (type(self), self.data, self.requires_grad), self.__dict__ or None


def rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Any:
    """What pickle calls to read a parameter."""
    return cls(data, requires_grad)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor on the memory of `data`, marked as a buffer; `persistent` ones are part of a module's `state_dict`.

    The class of what is returned is plain `Tensor`: the mark is an attribute, and `isinstance(t, Buffer)` looks at it.
    """

    __module__ = "internals.nn.parameter"
    __slots__ = ()

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        source: Any = empty(0) if data is None else data
        buffer = source.detach().requires_grad_(source.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer
