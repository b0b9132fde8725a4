"""Constants: from a Python value to a `prim::Constant` node and back
(`torch/csrc/jit/ir/constants.cpp`).

The value sits in the node's attribute `value`, of the kind that fits it: an int or bool is an `i`,
a float an `f`, a string or device an `s`, a tensor a `t`, lists and tuples are `ival`s. The type of
the output tells an int from a bool and a string from a device. None is a constant without
an attribute.

How the real one differs: lists of a basic type that are read from text are stored as attributes of
their own kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.core.corrected import corrected
from internals.core.device import device as Device
from internals.core.tensor_impl import TensorImpl

from .tensor_type import TensorType
from .types import (
    AnyType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FunctionType,
    IntType,
    ListType,
    NoneType,
    StringType,
    TupleType,
    Type,
)  # fmt: skip
from .unify import unify_type_list

if TYPE_CHECKING:
    from .graph import Graph
    from .value import Value


def insert_constant(graph: Graph, value: Any, type: Type | None = None) -> Value:
    """Insert a constant at the graph's insert point and return its output.

    Raises TypeError when `value` cannot be a constant: objects, tensors that require grad, lists of
    tensors.
    """
    node = graph.create("prim::Constant")
    output = node.output()
    if value is None:
        pass
    elif isinstance(value, (bool, int)):  # a bool is stored as 0 or 1; the type tells
        node.i_("value", value)
    elif isinstance(value, float):
        node.f_("value", value)
    elif isinstance(value, complex):
        node.c_("value", value)
    elif isinstance(value, (str, Device)):
        node.s_("value", str(value))
    elif isinstance(value, TensorImpl):
        if value.requires_grad:
            raise TypeError(
                corrected(
                    "a tensor that requires grad cannot be a constant of a graph: make it an "
                    "input, or detach it",
                    "graph.insertConstant(t)",
                    "graph.insertConstant(t.detach())",
                )
            )
        node.t_("value", value)
    elif isinstance(value, (list, tuple)) and is_constant_value(value):
        node.ival_("value", value)
    elif callable(value) and hasattr(value, "graph"):
        node.s_("name", value.name)
    else:
        raise TypeError(f"a {value.__class__.__name__} cannot be a constant of a graph")
    graph.insertNode(node)
    return output.setType(type if type is not None else type_of(value))


def is_constant_value(value: object) -> bool:
    """Whether a value can be the attribute of a `prim::Constant`; lists may not hold tensors."""
    if isinstance(value, (list, tuple)):
        return all(is_constant_value(v) and not isinstance(v, TensorImpl) for v in value)
    return value is None or isinstance(value, (bool, int, float, complex, str, Device, TensorImpl))


def is_constant(value: Value) -> bool:
    return value.node().kind() == "prim::Constant"


def constant_of(value: Value) -> Any:
    """The Python value of a constant; a list is a fresh copy. Raises RuntimeError for a value that
    is not a constant; ask `is_constant` first.
    """
    node = value.node()
    if node.kind() != "prim::Constant":
        raise RuntimeError(f"%{value.debugName()} is not a constant: {node.kind()} makes it")
    type = value.type()
    if isinstance(type, FunctionType):
        return type.function
    if not node.hasAttribute("value"):
        return None
    stored = node.attribute("value")
    if isinstance(type, BoolType):
        return bool(stored)
    if isinstance(type, DeviceObjType):
        return Device(stored)
    return list(stored) if isinstance(type, ListType) else stored


def type_of(value: object) -> Type:
    """The TorchScript type of a Python value (`c10::IValue::type`). Raises TypeError when it has
    none.
    """
    if value is None:
        return NoneType.get()
    if isinstance(value, TensorImpl):
        return TensorType.create_from_tensor(value)
    for python, type in _SIMPLE:
        if isinstance(value, python):
            return type
    if isinstance(value, tuple):
        return TupleType([type_of(v) for v in value], getattr(value, "_fields", None))
    if isinstance(value, list):
        return ListType(_common_type(value, TensorType.get()))
    if isinstance(value, dict):
        return DictType(
            _common_type(list(value), StringType.get()),
            _common_type(list(value.values()), TensorType.get()),
        )
    class_type = getattr(value, "_jit_type", None)
    if class_type is not None:
        return class_type
    if callable(value) and hasattr(value, "graph"):
        return FunctionType(value)
    raise TypeError(f"a {value.__class__.__name__} has no TorchScript type")


# In this order, as a bool is an int in Python.
_SIMPLE: tuple[tuple[type, Type], ...] = (
    (bool, BoolType.get()), (int, IntType.get()), (float, FloatType.get()),
    (complex, ComplexType.get()), (str, StringType.get()), (Device, DeviceObjType.get()),
)  # fmt: skip


def _common_type(values: list[Any], when_empty: Type) -> Type:
    """The type of a list's elements; Any if they have none in common."""
    if not values:
        return when_empty
    # Tensors of different shapes are all `Tensor` here: a list's type says nothing of shapes.
    types = [TensorType.get() if isinstance(t, TensorType) else t for t in map(type_of, values)]
    return unify_type_list(types) or AnyType.get()
