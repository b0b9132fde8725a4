"""The constructors that are older than `tensor()`: `Tensor(5, 5)`, `FloatTensor([1, 2])`
(`torch/csrc/tensor/python_tensor.cpp`).

They take numbers as sizes and sequences as data: `Tensor(3)` has three uninitialised elements,
`Tensor([3])` the one element 3. All tensors are instances of the one class `Tensor`; `FloatTensor`
and its like only construct tensors, and work with `isinstance`. Those of `internals.cuda` do the
same on the current GPU.

How the real one differs: there are such types for sparse tensors too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.backend_hooks import hooks
from internals.core.device import CPU, device, resolve
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.geometry import contiguous_geometry
from internals.core.size import Size
from internals.core.storage import Storage
from internals.core.tensor_impl import TensorImpl, empty
from internals.storage import TypedStorage, storage_class

if TYPE_CHECKING:
    pass

_SIGNATURES = (
    " * (*, internals.device device = None)\n * (internals.Storage storage)\n * (Tensor other)\n"
    " * (tuple of ints size, *, internals.device device = None)\n * (object data, *, "
    "internals.device device = None)\n"
)


class tensortype(type):
    """The type of `FloatTensor`, `LongTensor`, ...: a call of one constructs a tensor, `isinstance`
    compares the dtype and the kind of device.
    """

    dtype: dtype
    device_type: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.device_type == "cuda" and not hooks("cuda").device_count():
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA "
                "enabled."
            )
        return construct(cls.dtype, args, kwargs, device(cls.device_type))

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, TensorImpl)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )


def construct(
    kind: dtype | None, args: tuple[Any, ...], kwargs: dict[str, Any], home: device = CPU
) -> Any:
    """The tensor that a constructor of dtype `kind` makes of its arguments, on the kind of device
    of `home`. `kind` None is `Tensor` itself: it makes the default dtype, and takes any tensor.

    Without arguments the tensor is empty; sizes give uninitialised memory, a sequence or an array
    its values, a tensor or a storage a view of it. Raises TypeError for anything else.
    """
    from internals.construction.tensor_new import copy_of, on_storage

    wanted = kind or dt.get_default_dtype()
    if set(kwargs) - {"device", "size", "data"}:
        raise _no_match(args, kwargs)
    where = resolve(kwargs.get("device") or home)
    if where.type != home.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {home.type} but device type: {where.type} "
            "was passed"
        )
    # one argument, positional or by name; several are sizes
    args = args + tuple(kwargs[k] for k in ("size", "data") if k in kwargs)
    first = args[0] if args else Size((0,))
    if _is_int(first) and all(_is_int(a) for a in args):
        first = Size(args)
    elif len(args) > 1:
        raise _no_match(args, kwargs)
    if isinstance(first, Size):
        from internals.aten.native.factories import check_sizes

        check_sizes(first)
        return empty(contiguous_geometry(first, wanted, where))
    if isinstance(first, TensorImpl):
        if kind is not None and first.dtype is not kind:
            raise TypeError(
                f"expected a tensor of {kind!r} (got {first.dtype!r}); convert it with "
                f".to({kind!r})"
            )
        return ops.alias(first)
    if isinstance(first, (Storage, TypedStorage)):
        return on_storage(first, wanted, "type {} for argument 1 'storage'")
    if isinstance(first, np.ndarray) and first.dtype == wanted.np and where is CPU:
        from internals.construction.tensor_numpy import borrow_array

        return borrow_array(first)
    if isinstance(first, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
    if not (isinstance(first, (Sequence, np.ndarray)) or hasattr(first, "__getitem__")):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return copy_of(first, wanted, where)


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _no_match(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    """PyTorch's error for arguments that fit no signature."""
    got = ", ".join(
        [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    )
    return TypeError(
        f"new() received an invalid combination of arguments - got ({got}), but expected one "
        f"of:\n{_SIGNATURES}"
    )


def _tensor_types(module: str, device_type: str) -> dict[str, tensortype]:
    """`FloatTensor` and the others by name, one for each dtype that is not complex."""
    kinds = [k for k in dt.ALL if not k.is_complex]
    names = {f"{SCALAR_TYPE_NAME[k]}Tensor": k for k in kinds}
    return {
        n: tensortype(n, (), {"dtype": k, "device_type": device_type, "__module__": module})
        for n, k in names.items()
    }


TENSOR_TYPES = _tensor_types("internals", "cpu")
CUDA_TENSOR_TYPES = _tensor_types("internals.cuda", "cuda")

__all__ = ["CUDA_TENSOR_TYPES", "TENSOR_TYPES", "construct", "storage_class", "tensortype"]
