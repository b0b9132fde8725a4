"""The kernel of the Tracer key: write the operator down, then let it run (the generated
`TraceType_*.cpp` of PyTorch).

Tracer stands above Autograd. While a trace is recorded every call of this thread enters here first,
as the backend fallback that serves all operators:

    1. a node `aten::<name>`, its inputs the arguments in the order of the schema, constants for
       what is no tensor
    2. the operator runs on the keys below, with the recording put aside
    3. outputs: the tensors that came back are from now on the node's outputs

Which operators are not written down as themselves stands in `rules.py`.

How the real one differs: a kernel is generated for every operator, and only custom ones go through
a boxed fallback (`general_trace_function`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import KernelFunction, OperatorHandle, dispatcher
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

if TYPE_CHECKING:
    from internals.core.scalar import Scalar


def record(op: OperatorHandle, keys: int, *args: Any) -> Any:
    """Run `op` on the keys below, and write it down if this thread is recording."""
    state: TracingState | None = tracer.state
    if state is None or not rules.is_recorded(op):
        return dispatcher.redispatch(op, keys, *args)
    special = rules.SPECIAL.get(op.name)
    if special is not None:
        return special(state, op, keys, args)
    plain = [_plain(a) for a in args]
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
    """The value for one argument; none at all for an `out=` argument that the trace replaces by the
    result.
    """
    if state.force_outplace and op.schema.is_out and argument.kwarg_only and argument.is_write:
        return []
    return [argument_value(state, argument, rules.as_recorded(op, argument, given))]


def argument_value(state: TracingState, argument: Argument, given: Any) -> Value:
    """The value that stands for an argument in the graph."""
    t = argument.type
    if given is None:
        return state.constant(None)
    if t.base == "Tensor":
        if not t.is_list:
            return state.value_of(given)
        values = [state.constant(None) if g is None else state.value_of(g) for g in given]
        element: Type = OptionalType(TensorType.get()) if t.optional_elements else TensorType.get()
        return state.list_of(values, element)
    if isinstance(given, TensorImpl):  # a number that was wrapped, or a tensor in place of a Scalar
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
    if isinstance(given, (TracedInt, TracedFloat)):
        return given.value
    return state.constant(rules.as_constant(given))


def _with_options(op: OperatorHandle, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as PyTorch's Python binding completes them: no pinned memory, and a device
    where no tensor tells it.
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
    """The argument for the kernel, which shall not keep values of our graph in its caches."""
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
    type = TensorType.create_from_tensor(t)
    value.setType(type.with_(requires_grad=False) if without_grad else type)
    state.set_value(t, value)
