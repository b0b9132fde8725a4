"""`Tensor`: the class that users work with (`torch/_tensor.py`,
`torch/csrc/autograd/python_variable.cpp`).

It is composed of several classes:

    TensorImpl       storage, offset and geometry (`internals/core/tensor_impl.py`)
    TensorMethods    the generated methods, one for each line of `native_functions`
    Conversions      casts by name: `float()`, `int()`
    Operators, Differentiable, OnDevice, PythonLoops     the other files of this package

The class itself has the methods that are about Python rather than about tensors: conversion to
numbers, printing, indexing syntax, exchange with numpy, copying and pickling.

How the real one differs: `torch.Tensor` is a Python class derived from the C type
`torch._C.TensorBase`, which wraps a C++ tensor.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from internals._generated import ops
from internals._generated.methods import TensorMethods
from internals._tensor.autograd import Differentiable
from internals._tensor.devices import OnDevice
from internals._tensor.indexing import getitem, setitem
from internals._tensor.operators import Operators
from internals._tensor.pickling import deepcopy, reduce
from internals._tensor.printing import tensor_repr
from internals._tensor.python_loops import PythonLoops
from internals.aten.pytorch_names import missing_attribute
from internals.construction import legacy
from internals.construction.conversions import Conversions
from internals.construction.tensor_new import as_device, as_dtype, copy_of, warn_copy_construct
from internals.construction.tensor_numpy import from_numpy, to_numpy
from internals.core import formats
from internals.core.arg_types import type_name as type_names
from internals.core.device import CPU, DeviceLike, device
from internals.core.dtype import INTEGRAL, dtype, of_number
from internals.core.grad_mode import is_grad_enabled
from internals.core.hot import hot
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, TensorImpl, array, set_tensor_class
from internals.core.tracer import CONSTRUCTOR, tracer, warn_if_tracing
from internals.functional import nonzero
from internals.functional.decompositions import eig, lstsq, lu, solve, symeig
from internals.functional.statistics import unique, unique_consecutive
from internals.storage import TypedStorage

_INDEX = "only integer tensors of a single element can be converted to an index"
_LEN = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would "
    "be tensor.shape[0]. Passing a tensor of different shape might lead to errors or silently give "
    "incorrect results."
)
_ITERATING = (
    "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different "
    "shape won't change the number of iterations executed (and might lead to errors or silently "
    "give incorrect results)."
)


class Tensor(OnDevice, Differentiable, PythonLoops, Operators, TensorMethods, Conversions):
    """A multi-dimensional array of one dtype. Create one with `internals.tensor(...)`, `zeros`,
    `from_numpy`, ...

    A call of the class is the legacy constructor: `Tensor(2, 3)` is uninitialised memory of that
    shape, `Tensor([2, 3])` has the elements 2. and 3.
    """

    __module__ = "internals"
    __slots__ = ("__dict__",)  # users may set attributes on tensors
    __array_priority__ = 1000  # numpy leaves `ndarray + tensor` to the tensor

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if hot.off:
            warn_if_tracing("torch.Tensor", CONSTRUCTOR)
        return legacy.construct(None, args, kwargs)

    # Python's protocols

    def __repr__(self) -> str:
        return tensor_repr(self, "tensor" if type(self) is Tensor else type(self).__name__)

    def __format__(self, spec: str) -> str:
        if self.shape or self.is_meta:
            return object.__format__(self, spec)
        return format(self.item(), spec)

    def __getattr__(self, name: str) -> Any:
        """Raises AttributeError; for a method that PyTorch has and this library does not, its text
        says so.
        """
        # Python also comes here when a property raises AttributeError: ask again, for that error
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)
        raise missing_attribute(f"{type(self).__name__!r} object", name, place="Tensor")

    def __len__(self) -> int:
        if not self._geometry.sizes:
            raise TypeError("len() of a 0-d tensor")
        if hot.off and tracer.state is not None:
            tracer.state.warn(_LEN, callers=1)
            return int(self.shape[0].__index__())
        return self._geometry.sizes[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._geometry.sizes:
            raise TypeError("iteration over a 0-d tensor")
        if hot.off and tracer.state is not None:
            tracer.state.warn(_ITERATING, callers=1)
        return iter(self.unbind(0))

    def __reversed__(self) -> Any:
        return self.flip(0) if self.shape else self

    def __contains__(self, element: Scalar | Tensor) -> bool:
        if isinstance(element, (Tensor, int, float, complex, np.number)):
            found: Any = element == self
            return bool(found.any().item())
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    def __getitem__(self, index: Any) -> Tensor:
        return getitem(self, index)

    def __setitem__(self, index: object, value: object) -> None:
        setitem(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def nonzero(self, *, as_tuple: bool = False) -> Any:
        """See `internals.nonzero`."""
        return nonzero(self, as_tuple=as_tuple)

    def lu(self, pivot: bool = True, get_infos: bool = False) -> Any:
        """See `internals.lu`."""
        return lu(self, pivot, get_infos)

    lstsq, symeig, eig, solve = lstsq, symeig, eig, solve  # removed: each raises an error

    def unique(
        self,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
    ) -> Any:
        """See `internals.unique`."""
        return unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(
        self, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> Any:
        """See `internals.unique_consecutive`."""
        return unique_consecutive(self, return_inverse, return_counts, dim)

    def is_nonzero(self) -> bool:
        """The truth value of the only element. Raises RuntimeError if there is not exactly one."""
        if hot.off:
            warn_if_tracing("Converting a tensor to a Python boolean")
        return ops.is_nonzero(self)

    __bool__ = is_nonzero

    def item(self) -> Any:
        """The only element as a Python number. Raises RuntimeError if there is not exactly one."""
        if hot.off:
            warn_if_tracing("Converting a tensor to a Python number")
        return ops.item(self)

    def __int__(self) -> int:
        if hot.off:
            warn_if_tracing("Converting a tensor to a Python integer")
        return int(_real_part(self._only(), "int64_t"))

    def __float__(self) -> float:
        if hot.off:
            warn_if_tracing("Converting a tensor to a Python float")
        return float(_real_part(self._number(), "double"))

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if self.numel() != 1 or self.dtype.category > INTEGRAL:
            raise TypeError(_INDEX)
        return int(ops.item(self))

    def _number(self) -> Any:
        """The only element, as a number. Warns if gradients would be lost: autograd does not record
        Python numbers.
        """
        value = self._only()
        if self.requires_grad and is_grad_enabled():
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                "behavior.\nConsider using tensor.detach() first.",
                UserWarning,
                stacklevel=3,
            )
        return value

    def _only(self) -> Any:
        """The only element, as a number. Raises ValueError if there is not exactly one."""
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return ops.item(self)

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a 0-d tensor."""
        if hot.off:
            warn_if_tracing("Converting a tensor to a Python list")
        on_host = self if self.device.type != "cuda" else self.detach().cpu()
        return array(on_host).tolist()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deepcopy(self, memo)

    # numpy

    def numpy(self, *, force: bool = False) -> Any:
        """The numpy array that shares the tensor's memory; with `force`, that of the detached
        tensor, copied to the CPU if needed. See `internals.construction.tensor_numpy.to_numpy`.
        """
        if hot.off:
            warn_if_tracing("Converting a tensor to a NumPy array")
        if force:
            return to_numpy(self.detach().to(CPU), True)
        return to_numpy(self)

    def __array__(self, dtype: dtype | None = None, copy: bool | None = None) -> Any:
        a = to_numpy(self)
        if dtype is not None and a.dtype != dtype:
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return a.astype(dtype)
        return a.copy() if copy else a

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        """Called by numpy's functions to turn their result into a tensor again. A bool result
        becomes uint8, as in PyTorch, where this is older than the dtype bool.
        """
        return from_numpy(np.asarray(array.astype("uint8") if array.dtype == bool else array))

    def storage(self) -> TypedStorage:
        """The storage, as a sequence of elements of the tensor's dtype."""
        return TypedStorage(self._storage, self.dtype)

    _typed_storage = storage

    def storage_type(self) -> type:
        """The legacy storage class for the tensor's dtype, such as `FloatStorage`."""
        return legacy.storage_class(self.dtype)

    # Copying, converting, and new tensors like this one

    def copy_(self, other: Scalar | Tensor, non_blocking: bool = False) -> Any:
        """Write the elements of `other`, a tensor or a number, into this tensor. They are broadcast
        to its shape, and cast to its dtype.
        """
        if isinstance(other, (int, float, complex)):
            other = ops.scalar_tensor(other, of_number(other), None, self.device, None)
        elif not isinstance(other, TensorImpl):
            raise TypeError(
                f"copy_(): argument 'other' (position 1) must be Tensor, not {type_names(other)}"
            )
        return ops.copy_(self, other, non_blocking)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """`to(dtype)`, `to(device, dtype)`, `to(other)`, with `non_blocking=`, `copy=`,
        `memory_format=`.

        Returns the tensor itself if nothing has to be changed and `copy` is False. Raises TypeError
        for other arguments.
        """
        where, kind, non_blocking, copy, memory_format = _parse_to(args, kwargs)
        if where is None and kind is not None:
            return ops.to_dtype(self, kind, non_blocking, copy, memory_format)
        if where is not None and kind is not None:
            return ops.to_device(self, where, kind, non_blocking, copy, memory_format)
        kind = self._geometry.dtype if where is not None else None
        layout = None if where is None else formats.strided
        return ops.to_dtype_layout(
            self, kind, layout, where, None, non_blocking, copy, memory_format
        )

    def new_tensor(
        self,
        data: object,
        *,
        dtype: dtype | None = None,
        device: DeviceLike | None = None,
        requires_grad: bool = False,
    ) -> Any:
        """`tensor(data)`, with this tensor's dtype and device unless others are given."""
        if isinstance(data, TensorImpl):
            warn_copy_construct("tensor.new_tensor")
        t = copy_of(
            data,
            as_dtype(dtype, "new_tensor") or self.dtype,
            as_device(device, "new_tensor") or self.device,
        )
        t = t.detach_() if hot.off and tracer.state is not None else t
        return t.requires_grad_() if requires_grad else t

    def new(self, *args: Any, **kwargs: Any) -> Any:
        """The legacy constructor for this tensor's dtype."""
        return legacy.construct(self.dtype, args, kwargs, self.device)

    # Views and properties

    T = property(lambda self: ops.numpy_T(self), doc="The dimensions in reverse order.")
    mT = property(lambda self: ops.mT(self), doc="The last two dimensions transposed.")
    H = property(lambda self: ops.matrix_H(self), doc="A matrix, transposed and conjugated.")
    mH = property(
        lambda self: ops.mH(self), doc="The last two dimensions transposed, and conjugated."
    )

    @property
    def real(self) -> Any:
        """The real part, as a view; a real tensor itself."""
        return ops.real(self)

    @real.setter
    def real(self, value: Tensor) -> None:
        self.real.copy_(value)

    @property
    def imag(self) -> Any:
        """The imaginary part, as a view. Raises RuntimeError for a real tensor."""
        return ops.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag.copy_(value)

    is_sparse = is_quantized = property(lambda self: False)
    layout = property(lambda self: formats.strided)

    def is_same_size(self, other: TensorImpl) -> bool:
        """Whether both have the same shape."""
        return self.shape == other.shape

    def is_set_to(self, tensor: TensorImpl) -> bool:
        """Whether both have the same storage, offset, shape and strides."""
        return (
            self._storage is tensor._storage
            and self._offset == tensor._offset
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
        )


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, bool, Any]:
    """The arguments of `to`: (device, dtype, non_blocking, copy, memory_format). The type of the
    first one decides which overload is meant.
    """
    given = dict(kwargs)
    first = args[0] if args else given.get("tensor")
    if isinstance(first, TensorImpl):
        names: tuple[str, ...] = ("tensor", "non_blocking", "copy")
    elif isinstance(first, dtype) or (
        isinstance(first, type) and first in (bool, int, float, complex)
    ):
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    # not too many, and none both by position and by keyword
    fits = len(args) <= len(names) and not set(names[: len(args)]) & set(given)
    given.update(zip(names, args))
    other = given.pop("tensor", None)
    where, kind, memory_format = (
        given.pop("device", None),
        given.pop("dtype", None),
        given.pop("memory_format", None),
    )
    flags = [given.pop(name, False) for name in ("non_blocking", "copy")]
    fits = fits and not given and all(isinstance(f, bool) for f in flags)
    fits = (
        fits
        and (where is None or isinstance(where, (device, str, int)))
        and (other is None or (where, kind) == (None, None))
    )
    fits = fits and (memory_format is None or isinstance(memory_format, formats.memory_format))
    fits = fits and (kind is None or isinstance(kind, dtype) or kind in (bool, int, float, complex))
    if not fits:
        got = ", ".join(
            [type_names(a) for a in args] + [f"{k}={type_names(v)}" for k, v in kwargs.items()]
        )
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({got}), but expected one "
            "of:\n"
            " * (internals.device device = None, internals.dtype dtype = None, bool non_blocking = "
            "False, bool copy = False, *, internals.memory_format memory_format = None)\n"
            " * (internals.dtype dtype, bool non_blocking = False, bool copy = False, *, "
            "internals.memory_format memory_format = None)\n"
            " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
            "internals.memory_format memory_format = None)\n"
        )
    if other is not None:
        where, kind = other.device, other.dtype
    return as_device(where, "to"), as_dtype(kind, "to"), flags[0], flags[1], memory_format


def _real_part(number: float, kind: str) -> Any:
    """A number, of a complex one the real part. Raises RuntimeError if its imaginary part is not
    0.
    """
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return number.real


set_tensor_class(Tensor)
