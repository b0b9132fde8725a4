"""`tensor`, `as_tensor` and `asarray`: tensors from numbers, nested lists and arrays
(`torch/csrc/utils/tensor_new.cpp`).

`tensor` always copies. The shape of nested sequences comes from their first elements, all the way
down; all others have to have the same lengths. The dtype is promoted over all elements.
`as_tensor` and `asarray` copy only if they must.

How the real one differs: it goes through the sequences once for the shape, once for the dtype and
once to store the elements. Here they are flattened into a list, which numpy stores.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.factories import check_can_pin
from internals.construction.tensor_numpy import borrow_array, dtype_of, from_numpy, frombuffer
from internals.core import dtype as dt
from internals.core.device import CPU, DeviceLike, device, resolve
from internals.core.dtype import BY_NUMPY, dtype
from internals.core.geometry import contiguous_geometry
from internals.core.promotion import promote_types
from internals.core.storage import Storage
from internals.core.tensor_impl import (
    TensorImpl,
    array,
    empty_contiguous,
    host_array,
    make,
    with_grad,
)
from internals.core.tracer import CONSTRUCTOR, tracer, warn_if_tracing
from internals.storage import TypedStorage

_MAX_DIMS = 128
_ATOMS = (bool, int, float, complex)


def tensor(
    data: object,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new tensor with a copy of `data`: a number, nested sequences of numbers, a numpy array or
    scalar, a tensor.

    For a storage nothing is copied: the tensor lies on its memory, and reads it as `dtype`, as in
    PyTorch. Without `dtype` it is that of the data, promoted over all elements: for Python's
    numbers bool, int64, the default dtype or its complex counterpart, for arrays and scalars
    numpy's own. Raises ValueError for ragged sequences, TypeError for elements that are not
    numbers, RuntimeError for a number that does not fit the dtype.
    """
    warn_if_tracing("torch.tensor", CONSTRUCTOR)
    if isinstance(data, TensorImpl):
        warn_copy_construct("internals.tensor")
    t = copy_of(data, as_dtype(dtype, "tensor"), as_device(device, "tensor"))
    if pin_memory:
        check_can_pin()
        t = ops.pin_memory(t, None)
    return with_grad(t if tracer.state is None else t.detach_(), requires_grad)


def as_tensor(data: object, dtype: dtype | None = None, device: DeviceLike | None = None) -> Any:
    """`data` as a tensor, which shares its memory if it is a tensor or an array of this dtype, on
    this device.
    """
    warn_if_tracing("torch.as_tensor", CONSTRUCTOR)
    kind, where = as_dtype(dtype, "as_tensor"), as_device(device, "as_tensor")
    shared: Any = (
        data
        if isinstance(data, TensorImpl)
        else from_numpy(data)
        if isinstance(data, np.ndarray)
        else None
    )
    if shared is None and hasattr(data, "__cuda_array_interface__"):
        shared = _on_gpu(data)
    if shared is None:
        return copy_of(data, kind, where)
    return shared.to(device=where or shared.device, dtype=kind or shared.dtype)


def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Any:
    """`obj` as a tensor, sharing memory where possible; `copy=True` never shares, `copy=False`
    raises ValueError if it must copy.

    It takes tensors, numpy arrays and scalars, objects with `__dlpack__` or a buffer, numbers and
    sequences; if `obj` is several of these, the first counts.
    """
    kind, where = as_dtype(dtype, "asarray"), as_device(device, "asarray")
    shared = _shared(obj, kind)
    where = where or (CPU if shared is None else shared.device)
    if shared is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return with_grad(copy_of(obj, kind, where), bool(requires_grad))
    wanted = kind or shared.dtype
    if copy is False and wanted is not shared.dtype:
        names = dt.SCALAR_TYPE_NAME
        raise ValueError(
            f"can't alias tensor with dtype '{names[shared.dtype]}' into dtype '{names[wanted]}'."
        )
    if copy is False and where is not shared.device:
        raise ValueError(f"can't alias tensor from device '{shared.device}' to '{where}'.")
    # `shared` itself, unless something has to change
    t = shared.to(device=where, dtype=wanted, copy=bool(copy))
    if requires_grad is None:
        if shared.requires_grad:
            warnings.warn(
                "internals.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of False. Pass requires_grad=False explicitly to get the old behavior "
                "and silence this warning.",
                UserWarning,
                stacklevel=2,
            )
        return t
    if t is obj and not requires_grad:
        return t.detach()
    return t.requires_grad_() if requires_grad and not t.requires_grad else t


def copy_of(data: Any, kind: dtype | None, where: device | None) -> Any:
    """A new tensor with the values of `data`, or on its memory if it is a storage. With None for
    `kind` and `where`, dtype and device are those of the data.
    """
    if isinstance(data, TensorImpl):
        return data.detach().to(device=where or data.device, dtype=kind or data.dtype, copy=True)  # type: ignore[attr-defined]
    if isinstance(data, np.ndarray):
        t = borrow_array(data)
        if tracer.state is not None:
            t = ops.lift_fresh(t)
        return t.to(device=where or CPU, dtype=kind or t.dtype, copy=True)
    if hasattr(data, "__cuda_array_interface__"):
        return copy_of(_on_gpu(data), kind, where)
    if isinstance(data, (Storage, TypedStorage)):
        bytes_are_integers = (
            dt.int64 if isinstance(data, Storage) and data.nbytes() else dt.get_default_dtype()
        )
        return on_storage(data, kind or bytes_are_integers).to(device=where or data.device)
    if not is_sequence(data) and hasattr(data, "__dlpack__"):
        from internals.construction.dlpack import from_dlpack

        return copy_of(from_dlpack(data), kind, where)
    sizes = shape_of(data)
    if sizes and sizes[0] and isinstance(data[0], np.ndarray) and data[0].ndim:
        warnings.warn(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting "
            "to a tensor.",
            UserWarning,
            stacklevel=4,
        )
    flat: list[Any] = []
    if 0 in sizes:  # nothing to store, and PyTorch does not check other lengths then
        kind = kind or infer_dtype(data)
    else:
        _flatten(data, sizes, 0, flat)
        kind = kind or infer_dtype(flat)
    t = empty_contiguous(sizes, kind)
    if flat:
        with np.errstate(over="ignore"):
            array(t).reshape(-1)[...] = _values(flat, kind)
    if tracer.state is not None:
        # an operator, so that the trace has an entry for the tensor: it may be the result
        return t.to(where or CPU, kind)
    return t if where is None or where is CPU else t.to(where)


def on_storage(data: Any, kind: dtype, got: str = "{}") -> Any:
    """A 1-d tensor of dtype `kind` on the memory of a storage. Raises RuntimeError for a typed
    storage of another dtype; `got` is how the message calls it.
    """
    if isinstance(data, TypedStorage) and data.dtype is not kind:
        names = dt.SCALAR_TYPE_NAME
        raise RuntimeError(
            f"Expected a Storage of type {names[kind]} or an UntypedStorage, but got "
            f"{got.format(names[data.dtype])}"
        )
    storage = data if isinstance(data, Storage) else data.untyped()
    return make(
        storage, contiguous_geometry((storage.nbytes() // kind.itemsize,), kind, storage.device)
    )


def shape_of(data: Any) -> list[int]:
    """The shape of nested sequences by their first elements. Raises ValueError for too many
    dimensions; ragged sequences are found later, by `_flatten`.
    """
    sizes: list[int] = []
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{_full_name(data)}'")
    while is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS or isinstance(data, str):
            raise ValueError(f"too many dimensions '{_full_name(data)}'")
        if not sizes[-1]:
            break
        data = data[0]
    return sizes


def is_sequence(data: object) -> bool:
    """Whether `data` counts as a dimension: a list, a tuple, an array, or another object with a
    length and items; but not a dict, a tensor or a number.
    """
    if isinstance(data, (list, tuple)):
        return True
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    if isinstance(data, (TensorImpl, dict, np.generic, *_ATOMS)):
        return isinstance(data, str)
    return hasattr(data, "__getitem__") and hasattr(data, "__len__")


def infer_dtype(flat: Sequence[Any]) -> dtype:
    """The dtype of a list of numbers: the dtypes of its elements, promoted. The default dtype for
    an empty list.
    """
    found: dtype | None = None
    # each dtype once, in the order of first appearance
    for kind in dict.fromkeys(_element_dtype(x) for x in flat):
        found = kind if found is None else promote_types(found, kind)
    return found or dt.get_default_dtype()


def as_dtype(value: Any, name: str) -> dtype | None:
    """The dtype that a `dtype=` argument names: a dtype, one of Python's four numeric types, or
    None. Raises TypeError for anything else; `name` is the function that was called.
    """
    if value is None or isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in _ATOMS:
        return {bool: dt.bool_, int: dt.int64, float: dt.float64, complex: dt.complex128}[value]
    raise TypeError(
        f"{name}(): argument 'dtype' must be internals.dtype, not {type(value).__name__}"
    )


def as_device(value: Any, name: str) -> device | None:
    """The device that a `device=` argument names: a device, its name or index, or None. Raises
    TypeError for anything else.
    """
    if value is None or isinstance(value, (device, str, int)):
        return None if value is None else resolve(value)
    raise TypeError(
        f"{name}(): argument 'device' must be internals.device, not {type(value).__name__}"
    )


def warn_copy_construct(function: str) -> None:
    """Warns that `function` was called with a tensor."""
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
        "or sourceTensor.detach().clone().requires_grad_(True), rather than "
        f"{function}(sourceTensor).",
        UserWarning,
        stacklevel=3,
    )


def _shared(obj: object, kind: dtype | None) -> Any:
    """A tensor on the memory of `obj`; None if there is no memory to share. `kind` is the dtype for
    a plain buffer, which has none.
    """
    if isinstance(obj, TensorImpl):
        return obj
    if isinstance(obj, np.ndarray):
        return borrow_array(obj)
    if isinstance(obj, np.generic):
        return None
    if hasattr(obj, "__dlpack__"):
        from internals.construction.dlpack import from_dlpack

        return from_dlpack(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)) or type(obj).__module__ in ("array", "mmap"):
        return frombuffer(obj, dtype=kind or dt.get_default_dtype())
    return None


def _on_gpu(data: Any) -> Any:
    """A tensor on the memory of a GPU array of numba, CuPy or another library."""
    from internals.cuda.array_interface import from_cuda_array_interface

    return from_cuda_array_interface(data)


def _flatten(data: Any, sizes: list[int], depth: int, flat: list[Any]) -> None:
    """Appends the elements of `data`, which is `depth` levels deep, to `flat` in row-major order.
    Raises ValueError for a sequence whose length is not `sizes[depth]`.
    """
    if depth == len(sizes):
        flat.append(data)
        return
    if not is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != sizes[depth]:
        raise ValueError(
            f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(data)})"
        )
    if isinstance(data, np.ndarray):
        dtype_of(data)  # raises for a dtype that PyTorch does not have
    if depth == len(sizes) - 1:
        flat.extend(data)
        return
    for item in data:
        _flatten(item, sizes, depth + 1, flat)


def _element_dtype(x: Any) -> dtype:
    """The dtype of one element."""
    kind = _PYTHON_DTYPES.get(type(x))
    if kind is not None:
        # in `_PYTHON_DTYPES`, float32 stands for the default dtype, which may change
        return kind if kind is not dt.float32 else dt.get_default_dtype()
    if isinstance(x, TensorImpl):
        return x.dtype
    if isinstance(x, (np.generic, np.ndarray)) and x.dtype in BY_NUMPY:
        return BY_NUMPY[x.dtype]
    if isinstance(x, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{_full_name(x)}'")
    if isinstance(x, _ATOMS) and not isinstance(x, np.generic):
        return dt.of_number(x)
    if is_sequence(x):  # `data` of an empty shape, or a ragged list, which is refused later
        return infer_dtype(x) if len(x) else dt.get_default_dtype()
    raise RuntimeError(f"Could not infer dtype of {_full_name(x)}")


_PYTHON_DTYPES: dict[type, dtype] = {bool: dt.bool_, int: dt.int64, float: dt.float32}


def _values(flat: list[Any], kind: dtype) -> Any:
    """The elements as a numpy array that numpy can convert to the dtype `kind`. Raises for numbers
    that do not fit it.
    """
    plain = [_number(x) for x in flat] if not all(type(x) in _ATOMS for x in flat) else flat
    if kind.category == dt.BOOL:
        return np.array([x != 0 for x in plain])
    if kind.category == dt.COMPLEX:
        return np.array(plain, np.complex128)
    for x in plain:
        if isinstance(x, complex):
            what = "'complex' object cannot be interpreted as an integer"
            raise TypeError(
                what if kind.category == dt.INTEGRAL else "must be real number, not complex"
            )
    if kind.category == dt.FLOATING:
        values = np.array(plain, np.float64)
        # half: PyTorch rounds a Python number to single precision first
        with np.errstate(all="ignore"):
            return values.astype(np.float32) if kind is dt.float16 else values
    return _integers(plain, kind)


def _integers(plain: list[Any], kind: dtype) -> Any:
    """The numbers as integers of the dtype `kind`; floats are truncated. Raises for numbers out of
    range. An unsigned dtype takes negative numbers too, modulo 256, as in C++.
    """
    for x in plain:
        if isinstance(x, float) and (x != x or abs(x) == float("inf")):
            raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    try:
        values = np.array([int(x) for x in plain], np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    info = np.iinfo(kind.np)
    if values.min() < (info.min if kind.is_signed else -info.max) or values.max() > info.max:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    return values.astype(kind.np)


def _number(x: object) -> Any:
    """One element as a Python number. Raises for an element that is none."""
    if isinstance(x, _ATOMS) and not isinstance(x, np.generic):
        return x
    if isinstance(x, TensorImpl):
        if x.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if x.requires_grad:
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                "behavior.\n"
                "Consider using tensor.detach() first.",
                UserWarning,
                stacklevel=5,
            )
        return host_array(x).item()
    if isinstance(x, (np.generic, np.ndarray)):
        return x.item()
    if isinstance(x, Sequence):
        raise TypeError(f"'{_full_name(x)}' object cannot be interpreted as an integer")
    raise RuntimeError(f"Could not infer dtype of {_full_name(x)}")


def _full_name(x: object) -> str:
    """The name of the type of `x` as C has it: numpy's with their module."""
    kind = type(x)
    return kind.__name__ if kind.__module__ != "numpy" else f"numpy.{kind.__name__}"
