"""The kernel of the Tracer dispatch key: record the operator, then run it (the generated
`TraceType_*.cpp` of PyTorch).

The Tracer key comes before Autograd. While a trace is recorded, every operator that this thread
calls comes here first, because this one kernel is the fallback of the key for all operators:

    1. add a node `aten::<name>`, whose inputs are the arguments in the order of the schema; for
       non-tensor arguments, constants
    2. run the operator on the keys below, with recording paused
    3. from now on, the outputs of the node represent the resulting tensors

`rules.py` has the operators that are recorded in another way.

How the real one differs: it has a generated kernel for every operator, and a boxed fallback
(`general_trace_function`) only for custom ones.
"""

from __future__ import annotations

from typing import Any

from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import KernelFunction, OperatorHandle, dispatcher
from internals.core.scalar import Scalar
from internals.core.schema import Argument
from internals.core.tensor_impl import TensorImpl
from internals.core.tracer import TracedFloat, TracedInt, tracer
from internals.jit.ir import (
    FloatType,
    IntType,
    ListType,
    Node,
    OptionalType,
    TensorType,
    Type,
    Value,
)

from . import rules
from .state import TracingState


def record(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Record `op`, if this thread is recording, and run it on the dispatch keys below (`keys`)."""
    state: TracingState | None = tracer.state
    if state is None or not rules.is_recorded(op):
        return dispatcher.redispatch(op, keys, *args)
    special = rules.SPECIAL.get(op.name)
    if special is not None:
        return special(state, op, keys, args)
    plain = [_plain(a) for a in args]
    # added before the operator runs, so that the nodes are in the order of the calls
    node = state.graph.create(rules.recorded_name(op, state.force_outplace), num_outputs=0)
    values = [
        v
        for a, given in zip(op.schema.arguments, _with_options(op, args))
        for v in _inputs(state, op, a, given)
    ]
    for v in [*values, *rules.extra_inputs(state, op)]:
        node.addInput(v)
    state.add(node)
    if state.force_outplace and op.schema.is_mutable:
        rules.warn_if_shared(
            state, op.schema.name, next(t for a, t in zip(op.schema.arguments, args) if a.is_write)
        )
    with state.paused():
        result = dispatcher.redispatch(op, keys, *plain)
    _add_outputs(state, op, node, result)
    return result


dispatcher.fallbacks[DispatchKey.Tracer] = KernelFunction(record, takes_keys=True)


# Inputs


def _inputs(
    state: TracingState, op: OperatorHandle, argument: Argument, given: object
) -> list[Value]:
    """The values for one argument: one, or none for an `out=` argument with `force_outplace`, where
    the recorded operator makes a new tensor.
    """
    if state.force_outplace and op.schema.is_out and argument.kwarg_only and argument.is_write:
        return []
    return [argument_value(state, argument, rules.as_recorded(op, argument, given))]


def argument_value(state: TracingState, argument: Argument, given: Any) -> Value:
    """The value for one argument in the graph. Raises RuntimeError for a Generator."""
    t = argument.type
    if given is None:
        return state.constant(None)
    if t.base == "Tensor":
        if not t.is_list:
            return state.value_of(given)
        values = [state.constant(None) if g is None else state.value_of(g) for g in given]
        element: Type = OptionalType(TensorType.get()) if t.optional_elements else TensorType.get()
        return state.list_of(values, element)
    if isinstance(given, TensorImpl):  # a number wrapped by `rules.py`, or a tensor for a Scalar
        return state.value_of(given)
    if isinstance(given, (list, tuple)):
        values = [_number(state, g) for g in given]
        return state.list_of(values, FloatType.get() if t.base == "float" else IntType.get())
    if t.base == "float" and isinstance(given, int) and not isinstance(given, TracedInt):
        return state.constant(float(given))
    if t.base == "Generator":
        raise RuntimeError(
            "Found an unsupported argument type in the JIT tracer: Generator. File a bug report."
        )
    return _number(state, given)


def _number(state: TracingState, given: Scalar) -> Value:
    """The value for a number: that of the computation it came from (`sizes.py`), or a constant."""
    if isinstance(given, (TracedInt, TracedFloat)):
        return given.value
    return state.constant(rules.as_constant(given))


def _with_options(op: OperatorHandle, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, completed as PyTorch's Python binding does it: False for an omitted
    `pin_memory`, and the CPU for an omitted device if there is no tensor argument.
    """
    arguments = op.schema.arguments
    names = [a.name for a in arguments]
    if "pin_memory" not in names or op.schema.name in ("to", "_to_copy"):
        return args
    given = list(args)
    at = names.index("pin_memory")
    given[at] = bool(given[at])
    where = names.index("device")
    if given[where] is None and not any(a.type.base == "Tensor" for a in arguments):
        given[where] = rules.CPU
    return tuple(given)


def _plain(argument: object) -> Any:
    """The argument for the kernel: a plain number for one with a value of the graph, which a cache
    must not keep.
    """
    if isinstance(argument, TracedInt):
        return int(argument)
    if isinstance(argument, TracedFloat):
        return float(argument)
    if isinstance(argument, (list, tuple)) and any(
        isinstance(a, (TracedInt, TracedFloat)) for a in argument
    ):
        return [_plain(a) for a in argument]
    return argument


# Outputs


def _add_outputs(state: TracingState, op: OperatorHandle, node: Node, result: Any) -> None:
    """Add one output to the node for each return of the schema, and let it represent the result."""
    returns = op.schema.returns
    for declared, r in zip(returns, result if len(returns) > 1 else (result,)):
        if declared.type.is_list:
            value = node.addOutput().setType(ListType(TensorType.get()))
            state.set_value(list(r), value)
        elif isinstance(r, TensorImpl):
            set_output(state, node.addOutput(), r, rules.below_autograd(op))
        else:
            node.addOutput()


def set_output(
    state: TracingState, value: Value, t: TensorImpl, without_grad: bool = False
) -> None:
    """Let `value` represent `t` from now on. Its type gets the dtype, device, sizes and strides of
    `t`, and whether it requires grad unless `without_grad`.
    """
    type = TensorType.create_from_tensor(t)
    value.setType(type.with_(requires_grad=False) if without_grad else type)
    state.set_value(t, value)
