"""`Parameter` and `Buffer`: tensors that a module takes note of (`torch/nn/parameter.py`).

A `Parameter` is a tensor in every respect. It is a class of its own for one reason: assigned to an
attribute of a module, it is entered among the module's parameters, and what an optimizer should
change is told from what merely happens to be a tensor. A `Buffer` is entered among the module's
buffers: state that is saved with the module but not trained, like a running mean.

Uninitialized ones have a dtype and a device, but no sizes yet: lazy layers (`LazyLinear`) learn
these from their first input.

How the real one differs: `Parameter` also takes tensors of foreign classes, which it marks instead
of converting (`_is_param`); and every operation on an uninitialized one is refused, where here only
those that ask for its shape are.
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
    """A parameter on the memory of `data`, an empty one if there is none. It requires a gradient
    unless told otherwise.

    Being under `no_grad` makes no difference to that. Raises RuntimeError for integers and bools,
    which have no gradients, unless `requires_grad=False`.
    """

    __module__ = "internals.nn.parameter"
    __slots__ = ()  # nothing is added, so a tensor can become a parameter by changing its class
    _arithmetic_keeps_class = False  # the sum of two parameters is no parameter

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        parameter = empty(0) if data is None else data.detach()
        parameter.__class__ = cls
        return with_grad(parameter, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + tensor_repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter on a copy of the elements. The gradient stays behind."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.data.clone(memory_format=preserve_format), self.requires_grad
            )
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild_parameter, (type(self), self.data, self.requires_grad), self.__dict__ or None


def rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Any:
    """What pickle calls to read a parameter."""
    return cls(data, requires_grad)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor on the memory of `data`, marked as a buffer; `persistent` ones are part of a
    module's `state_dict`.

    The class of what is returned is plain `Tensor`: the mark is an attribute, and `isinstance(t,
    Buffer)` looks at it.
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
        """Become an ordinary parameter or buffer of this shape, its elements undefined; device and
        dtype stay unless given.
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
        """Itself: a state dict shall tell that it has no sizes."""
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
    """A parameter that will know its sizes later."""

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
    """A buffer that will know its sizes later."""

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
