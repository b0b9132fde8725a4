"""`Parameter` and `Buffer`: tensors that a module registers when they are assigned to it
(`torch/nn/parameter.py`).

A `Parameter` is a tensor in every respect. It is a class of its own for one reason: assigned to an
attribute of a module, it becomes one of the module's parameters, which an optimizer changes; other
tensors do not. A `Buffer` becomes one of the module's buffers: state that is saved with the module
but not trained, like a running mean.

Uninitialized ones have a dtype and a device, but no sizes yet: lazy layers (`LazyLinear`) determine
these from their first input.

How the real one differs: `Parameter` also takes tensors of other classes, which it marks instead of
converting (`_is_param`). Every operation on an uninitialized one raises an error; here only those
that ask for its shape do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals import Tensor, empty, preserve_format
from internals._tensor.printing import tensor_repr
from internals.core.device import DeviceLike, device
from internals.core.dtype import dtype
from internals.core.tensor_impl import with_grad


class Parameter(Tensor):
    """A parameter that shares the memory of `data`; by default one without elements.

    It requires a gradient unless `requires_grad=False`, even when it is made under `no_grad`.
    Raises RuntimeError for integers and bools, which cannot have gradients, with
    `requires_grad=True`.
    """

    __module__ = "internals.nn.parameter"
    __slots__ = ()  # nothing is added, so a tensor can become a parameter by changing its class
    _arithmetic_keeps_class = False  # the sum of two parameters is a plain tensor

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        parameter = empty(0) if data is None else data.detach()
        parameter.__class__ = cls
        return with_grad(parameter, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + tensor_repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter with a copy of the elements; the gradient is not copied."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.data.clone(memory_format=preserve_format), self.requires_grad
            )
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild_parameter, (type(self), self.data, self.requires_grad), self.__dict__ or None


def rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Any:
    """The function that pickle calls to restore a parameter."""
    return cls(data, requires_grad)


class _BufferMeta(type):
    """Makes `isinstance(t, Buffer)` look at the mark of a tensor instead of its class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that shares the memory of `data`, marked as a buffer; `persistent` ones are part of
    a module's `state_dict`.

    Its class is plain `Tensor`: the mark is an attribute, which `isinstance(t, Buffer)` checks.
    """

    __module__ = "internals.nn.parameter"
    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        source: Any = empty(0) if data is None else data
        buffer = source.detach().requires_grad_(source.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


class UninitializedTensorMixin:
    """A tensor without sizes, until `materialize`. Raises RuntimeError when asked for its shape."""

    __slots__ = ()
    cls_to_become: type[Tensor]

    def materialize(
        self: Any, shape: Sequence[int], device: device | None = None, dtype: dtype | None = None
    ) -> None:
        """Become an ordinary parameter or buffer of this shape, with uninitialized elements.

        Device and dtype stay the same unless they are given.
        """
        self.data = empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def detach(self) -> Any:
        """Itself: in a state dict it must remain recognizable as uninitialized."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad, str(self.device), self.dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter that gets its sizes later."""

    __module__ = "internals.nn.parameter"
    __slots__ = ()
    cls_to_become = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: DeviceLike | None = None,
        dtype: dtype | None = None,
    ) -> Any:
        parameter = empty(0, device=device, dtype=dtype)
        parameter.__class__ = cls
        return with_grad(parameter, requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer that gets its sizes later."""

    __module__ = "internals.nn.parameter"
    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: device | None = None,
        dtype: dtype | None = None,
        persistent: bool = True,
    ) -> Any:
        buffer: Any = empty(0, device=device, dtype=dtype)
        buffer.persistent = persistent
        buffer._is_buffer = True
        buffer.__class__ = cls
        return with_grad(buffer, requires_grad)


def is_lazy(t: Tensor) -> bool:
    """Whether a tensor has no sizes yet."""
    return isinstance(t, UninitializedTensorMixin)
