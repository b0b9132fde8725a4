"""Argument specs: the facts about its arguments that a plan is specialised for
(`torch/csrc/jit/runtime/argument_spec.h`).

The executor makes one plan for each kind of arguments: for every tensor its dtype, device, number
of dimensions, and whether it requires a gradient that is to be recorded. Its sizes do not count: a
plan for `Float(*, *)` serves matrices of any size. Nor do other arguments, numbers and strings.

    argument_spec(graph, (x, n), True)  →  (TensorSpec(float32, cpu, 2, False), None)

A plan is looked up on every call, so that must be cheap. The `Geometry` of a tensor is interned and
has all of these facts and more; two calls with the same geometries have the same spec. So the
executor looks plans up by geometries first (`key_maker`), and computes a spec only for geometries
that it has not met.

How the real one differs: a spec is 32 bits for each tensor (1.0.1); today's executor observes
values, sizes included, during the first runs instead ("profiling").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Graph, OptionalType, TensorType, TupleType, Type, Value


class TensorSpec(NamedTuple):
    """The facts about one tensor argument that a plan may rely on."""

    dtype: dtype
    device: device
    dim: int
    requires_grad: bool

    def type(self) -> TensorType:
        return TensorType(self.dtype, self.device, [None] * self.dim, None, self.requires_grad)


class Undefined(NamedTuple):
    """The spec of a None in place of a tensor: a gradient that was not computed."""

    def type(self) -> TensorType:
        return TensorType(undefined=True)


# one entry an argument: TensorSpec, Undefined, a tuple of entries, or None
ArgumentSpec = tuple[Any, ...]


def argument_spec(graph: Graph, args: Sequence[Any], recording: bool) -> ArgumentSpec:
    """The spec of a call. `recording`: whether grad mode is on; without it, no tensor requires a
    gradient.
    """
    return tuple(_spec(v.type(), a, recording) for v, a in zip(graph.inputs(), args))


def _spec(type: Type, value: object, recording: bool) -> Any:
    """The entry for one argument: `TensorSpec`, `Undefined`, a tuple of entries, or None."""
    if isinstance(value, TensorImpl):
        return TensorSpec(
            value.dtype, value.device, value.dim(), recording and bool(value.requires_grad)
        )
    if isinstance(type, TupleType) and isinstance(value, tuple):
        return tuple(_spec(t, v, recording) for t, v in zip(type.elements, value))
    return Undefined() if isinstance(type, TensorType) and value is None else None


def set_input_types(graph: Graph, spec: ArgumentSpec) -> None:
    """Write the spec into the types of the graph's inputs. The type of an optional stays."""
    for value, entry in zip(graph.inputs(), spec):
        value.setType(_type(value.type(), entry))


def _type(type: Type, entry: Any) -> Type:
    """The type of an input, with the facts of its entry."""
    if isinstance(entry, (TensorSpec, Undefined)) and isinstance(type, TensorType):
        return entry.type()
    if isinstance(entry, tuple) and isinstance(type, TupleType):
        elements = [_type(t, e) for t, e in zip(type.elements, entry)]
        return TupleType(elements, type.names, type.qualified_name)
    return type


def requires_grad(spec: ArgumentSpec) -> bool:
    """Whether a tensor of the spec requires a gradient."""
    return any(
        entry.requires_grad
        if isinstance(entry, TensorSpec)
        else requires_grad(entry)
        if type(entry) is tuple
        else False
        for entry in spec
    )


def key_maker(inputs: Sequence[Value]) -> Callable[[tuple[Any, ...]], Any]:
    """Returns a function from the arguments to a key that is equal only for calls with equal specs:
    the geometries of the tensors. It runs at every call, so the frequent cases have their own.
    """
    types = [v.type() for v in inputs]
    tensors = [i for i, t in enumerate(types) if isinstance(t, TensorType)]
    if any(may_hold_tensors(t) and not isinstance(t, TensorType) for t in types):
        return lambda args: tuple([geometries(a) for a in args])
    if len(tensors) == 1:
        (i,) = tensors
        return lambda args: args[i]._geometry
    if len(tensors) == 2:
        i, j = tensors
        return lambda args: (args[i]._geometry, args[j]._geometry)
    return lambda args: tuple([args[i]._geometry for i in tensors])


def may_hold_tensors(type: Type) -> bool:
    """Whether the spec depends on values of this type: tensors, optional ones, and tuples of
    them.
    """
    if isinstance(type, (OptionalType, TupleType)):
        return any(map(may_hold_tensors, type.containedTypes()))
    return isinstance(type, TensorType)


def geometries(value: object) -> Any:
    """The geometry of a tensor, those of a tuple; for any other value, whether it is None."""
    if isinstance(value, TensorImpl):
        return value._geometry
    return tuple(map(geometries, value)) if isinstance(value, tuple) else value is None
