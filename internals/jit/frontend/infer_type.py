"""The TorchScript type of a Python value that was not annotated (`tryToInferType` of
`torch/csrc/jit/python/pybind_utils.h`).

`ir.type_of` returns the type of a value that is in a graph already; this module decides whether a
value may enter one. An empty list has no type, and neither has a list of an int and a string. The
reasons have PyTorch's words; you see them in the error that is raised when a method uses an
attribute that could not be converted.

How the real one differs: it knows scripted classes, enums, futures and streams.
"""

from __future__ import annotations

from typing import Any

from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.generator import Generator
from internals.core.tensor_impl import TensorImpl
from internals.jit.script_function import ScriptFunction
from internals.nn.module import Module

from ..ir import (
    BoolType,
    ComplexType,
    DeviceObjType,
    FloatType,
    FunctionType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    StringType,
    TensorType,
    TupleType,
    Type,
    unify_type_list,
)
from ..ir.enums import enum_code
from .annotations import dict_type

# in order: a bool is also an int for `isinstance`
SIMPLE: tuple[tuple[type, Type], ...] = (
    (bool, BoolType.get()),
    (int, IntType.get()),
    (float, FloatType.get()),
    (complex, ComplexType.get()),
    (str, StringType.get()),
    (device, DeviceObjType.get()),
    (dtype, IntType.get()),
    (layout, IntType.get()),
    (Generator, GeneratorType.get()),
    (type(None), NoneType.get()),
    (TensorImpl, TensorType.get()),
)


class CannotInfer(Exception):
    """A value has no TorchScript type. The text of the exception says why."""


def infer_type(value: object) -> Type:
    """The type of `value`. Raises CannotInfer if it has none, and RuntimeError for a dict whose
    keys have a type that keys cannot have.
    """
    for python, found in SIMPLE:
        if isinstance(value, python):
            return found
    if isinstance(value, tuple):
        return TupleType([infer_type(each) for each in value])
    if isinstance(value, dict):
        return _infer_dict(value)
    if isinstance(value, list):
        return _infer_list(value)
    jit_type = getattr(value, "__dict__", {}).get("_jit_type")
    if jit_type is not None:
        return jit_type
    if isinstance(value, Module):
        raise CannotInfer("Cannot infer concrete type of torch.nn.Module")
    if isinstance(value, ScriptFunction):
        return FunctionType(value)
    raise CannotInfer(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as "
        "inputs or outputs of traced functions, but instead got value of type "
        f"{type(value).__name__}."
    )


def to_ir_value(value: object) -> Any:
    """A constant in the form that the IR stores: an int for a dtype or a layout, a tuple for a
    list.
    """
    if (code := enum_code(value)) is not None:
        return code
    return tuple(to_ir_value(each) for each in value) if isinstance(value, (tuple, list)) else value


def _infer_list(value: list[Any]) -> Type:
    """The type of a list: that of its elements, unified. Raises CannotInfer for an empty list."""
    if not value:
        raise CannotInfer("List trace inputs must have elements")
    element: Type | None = None
    for each in value:
        try:
            found = infer_type(each)
        except CannotInfer as why:
            raise CannotInfer(f"Could not infer type of list element: {why}") from None
        unified = found if element is None else unify_type_list([element, found])
        if unified is None:
            raise CannotInfer(
                "List inputs to traced functions must have consistent element type. "
                f"Found {_shown(element)} and {_shown(found)}"
            )
        element = unified
    assert element is not None
    return ListType(element)


def _infer_dict(value: dict[Any, Any]) -> Type:
    """The type of a dict: those of its keys and values, each unified. Raises CannotInfer for an
    empty dict.
    """
    if not value:
        raise CannotInfer("Dictionary inputs must have entries")
    unified_types: list[Type] = []  # of the keys, then of the values
    for part in (list(value), list(value.values())):
        common: Type | None = None
        for each in part:
            found = infer_type(each)
            unified = found if common is None else unify_type_list([common, found])
            if unified is None:
                raise CannotInfer(
                    "Dictionary inputs to traced functions must have consistent type. "
                    f"Found {_shown(common)} and {_shown(found)}"
                )
            common = unified
        assert common is not None
        unified_types.append(common)
    return dict_type(*unified_types)


def _shown(t: Type | None) -> str:
    return "" if t is None else t.repr_str()
