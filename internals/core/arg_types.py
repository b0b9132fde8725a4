"""The Python values that a schema type accepts, and their conversion for kernels
(`torch/csrc/utils/python_arg_parser.cpp`).

`accepts(type, value)` decides whether an overload fits. `converter(type, value)` is the function
that turns an accepted value into the one kernels expect: an int for a numpy integer or a 0-d
tensor, a list for an `int[2]` given as one int, a `device` for its name. None means that nothing
has to be done.

How the real one differs: `FunctionParameter::check` has a case for each C++ type; values are
converted later, when the binding reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtype as dtypes
from .allocator import int64
from .device import device
from .dtype import dtype
from .tensor_impl import TensorImpl, host_array
from .tracer import TracedInt, tracer

if TYPE_CHECKING:
    from internals.core.scalar import Scalar

    from .schema import Type

SEQUENCES = (list, tuple)


def accepts(t: Type, value: object) -> bool:
    """Whether a Python value may be passed for a parameter of type `t`."""
    if value is None:
        return t.optional
    if t.is_list:
        if isinstance(value, SEQUENCES):
            element = t.__class__(t.base, optional=t.optional_elements)
            return all(accepts(element, v) for v in value)
        return (
            t.list_size is not None and t.base != "Tensor" and accepts(t.__class__(t.base), value)
        )
    return _CHECKS[t.base](value)


def converter(t: Type, value: object) -> Callable[[Any], Any] | None:
    """The function that turns accepted values of the type of `value` into those that kernels
    expect; None when nothing has to be done.
    """
    if value is None:
        return None
    if t.is_list:
        if t.base == "Tensor":
            return list if type(value) is not list else None
        if not isinstance(value, SEQUENCES):
            # stride=2 for an int[2]: the number is repeated
            one, n = converter(t.__class__(t.base), value) or _same, t.list_size or 1
            return lambda v: [one(v)] * n
        if t.base == "int":
            return _to_ints
        if t.base == "bool" and t.list_size:
            return lambda v: _fixed(v, t.list_size)
        # elements may be of several types: each has its own converter
        return lambda v: [(converter(t.__class__(t.base), x) or _same)(x) for x in v]
    if t.base == "int":
        return _to_int
    if t.base == "float":
        return None if type(value) is float else _to_float
    if t.base == "bool":
        return None if type(value) is bool else bool
    if t.base == "Scalar":
        return None if type(value) in (int, float, bool, complex) else _to_number
    if t.base == "Device":
        return None if type(value) is device else device
    if t.base == "ScalarType":
        return None if type(value) is dtype else _to_dtype
    return None


def python_type(t: Type) -> str:
    """The name of a schema type in error messages: `tuple of ints`, `Number`, `internals.dtype`."""
    names = {
        "Scalar": "Number", "ScalarType": "internals.dtype", "Device": "internals.device",
        "Layout": "internals.layout", "MemoryFormat": "internals.memory_format",
        "Generator": "internals.Generator",
    }  # fmt: skip
    base = names.get(t.base, t.base)
    return f"tuple of {base}s" if t.is_list else base


def is_int(v: Any) -> bool:
    """Whether `v` may be given for an int: an int, a numpy integer or an integral 0-d tensor."""
    if type(v) is int:
        return True
    if isinstance(v, (bool, np.bool_)):
        return False
    return isinstance(v, (int, np.integer)) or (_holds_scalar(v) and v.dtype.category == 1)


def _is_float(v: object) -> bool:
    return isinstance(v, (float, np.floating)) or is_int(v) or _holds_scalar(v)


def is_number(v: object) -> bool:
    return isinstance(v, (int, float, complex, np.number, np.bool_)) or _holds_scalar(v)


def _holds_scalar(v: object) -> bool:
    """Whether `v` is a 0-d tensor that may stand for its number. One that requires a gradient may
    not: it would not get one.
    """
    return isinstance(v, TensorImpl) and not v.shape and not v.requires_grad


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: isinstance(v, TensorImpl),
    "Scalar": is_number,
    "int": is_int,
    "float": _is_float,
    "complex": is_number,
    "bool": lambda v: isinstance(v, (bool, np.bool_)),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, dtype) or v in (float, int, bool, complex),
    "Device": lambda v: isinstance(v, (device, str)) or is_int(v),
    "Layout": lambda v: type(v).__name__ == "layout",
    "MemoryFormat": lambda v: type(v).__name__ == "memory_format",
    "Generator": lambda v: any(c.__name__ == "Generator" for c in type(v).__mro__),
    "Storage": lambda v: type(v).__name__ in ("Storage", "TypedStorage"),
    "Stream": lambda v: hasattr(v, "cuda_stream"),
}


def type_name(v: object) -> str:
    """The name of the type of `v` as CPython's `tp_name` has it: types written in C have their
    module in front.
    """
    kind = type(v)
    if isinstance(v, TensorImpl) or kind.__flags__ & _HEAP_TYPE or kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the class was made by a class statement


def _fixed(v: Sequence[bool], n: int | None) -> list[bool]:
    """The list of bools for a `bool[n]`. Raises RuntimeError for another length: in C++ it is an
    array of fixed size, unlike other lists.
    """
    if len(v) != n:
        raise RuntimeError(
            f"Tried to convert a List with {len(v)} elements to a fixed-size array of size {n}"
        )
    return list(map(bool, v))


def _same(v: float) -> Any:
    return v


def _to_int(v: int) -> int:
    """An int, a numpy integer or a 0-d tensor as an int. Raises ValueError if out of range."""
    if type(v) is not int and not isinstance(v, TracedInt):
        v = as_int(v) if isinstance(v, TensorImpl) else int(v)
    return int64(v)


def _to_ints(values: Sequence[int]) -> list[int]:
    """The list of ints. Raises TypeError for numbers that do not fit into an int64."""
    try:
        return [_to_int(v) for v in values]
    except ValueError as error:
        raise TypeError(
            f'failed to unpack the object {tuple(values)} with error "{error}"'
        ) from None


def as_int(t: TensorImpl) -> int:
    """The integer in a 0-d tensor; under a trace, a `TracedInt` that refers to the tensor."""
    return int(host_array(t)) if tracer.state is None else tracer.state.as_int(t)


def _to_float(v: int) -> float:
    return float(host_array(v)) if isinstance(v, TensorImpl) else float(v)


def _to_number(v: Scalar | TensorImpl) -> Any:
    if isinstance(v, TensorImpl):
        return host_array(v).item() if tracer.state is None else tracer.state.as_number(v)
    return v.item() if isinstance(v, np.generic) else v


def _to_dtype(v: Any) -> dtype:
    """The dtype of one of Python's four numeric types."""
    found = {
        float: dtypes.float64,
        int: dtypes.int64,
        bool: dtypes.bool_,
        complex: dtypes.complex128,
    }.get(v)
    if found is None:
        raise TypeError(f"argument 'dtype' must be internals.dtype, not {v!r}")
    return found
