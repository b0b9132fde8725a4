"""The types of the inputs and outputs of a trace (`toTypeInferredIValue` in
`torch/csrc/jit/python/pybind_utils.h`).

They may be tensors, and nested tuples, lists and dicts of tensors. A list or dict needs at least
one element, from which its type is inferred, and all elements must have one type. Named tuples
become tuples.

How the real one differs: futures, enums and objects of script classes have types, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from internals.core.tensor_impl import Tensor, TensorImpl
from internals.jit.ir import DictType, ListType, TensorType, TupleType, Type, type_of, unify_types

ONLY = (
    "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs "
    "or outputs of traced functions"
    ", but instead got value of type {}."
)


def infer_type(value: object) -> Type:
    """The type of an input or output. Raises RuntimeError for a value without a type."""
    try:
        return _infer(value)
    except _NoType as error:
        raise RuntimeError(f"Tracer cannot infer type of {value!r}\n:{error}") from None


def check_traceable(inputs: Sequence[Tensor]) -> TupleType:
    """The types of all inputs, as one tuple type. Raises RuntimeError if there is anything but
    tensors in them.
    """
    type = infer_type(tuple(inputs))
    assert isinstance(type, TupleType)
    if not _has_only_tensors(type):
        raise RuntimeError(
            f"Type '{type.annotation_str}' cannot be traced. Only Tensors and (possibly nested) "
            "Lists, Dicts, and Tuples of Tensors can be traced"
        )
    return type


class _NoType(Exception):
    pass


def _infer(value: object) -> Type:
    """The type of a value. Raises _NoType, with the reason, if it has none."""
    if isinstance(value, TensorImpl):
        return TensorType.get()
    if isinstance(value, tuple):
        return TupleType([_infer(v) for v in value])
    if isinstance(value, list):
        if not value:
            raise _NoType("List trace inputs must have elements")
        return ListType(
            _common(value, "List inputs to traced functions must have consistent element type")
        )
    if isinstance(value, dict):
        if not value:
            raise _NoType("Dictionary inputs must have entries")
        what = "Dictionary inputs to traced functions must have consistent type"
        return DictType(_common(value, what), _common(value.values(), what))
    try:
        return type_of(value)
    except TypeError:
        raise _NoType(ONLY.format(type(value).__name__)) from None


def _common(values: Iterable[Any], what: str) -> Type:
    """The type of all values, unified. Raises _NoType, which starts with `what`, if they differ."""
    first, *rest = map(_infer, values)
    for t in rest:
        unified = unify_types(first, t)
        if unified is None:
            raise _NoType(f"{what}. Found {first.annotation_str} and {t.annotation_str}")
        first = unified
    return first


def _has_only_tensors(type: Type) -> bool:
    """Whether a type is Tensor, or a container of such; the keys of a dict do not matter."""
    if isinstance(type, TensorType):
        return True
    if isinstance(type, (ListType, DictType)):
        return _has_only_tensors(type.containedTypes()[-1])
    return isinstance(type, TupleType) and all(map(_has_only_tensors, type.elements))
