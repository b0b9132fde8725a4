"""The operators that the tracer does not record as they are (`torchgen`'s `gen_trace_type.py`,
`TraceTypeManual.cpp`, `normalize_ops.cpp`).

| rule                                                    | for                                    |
|---------------------------------------------------------|----------------------------------------|
| the operators it calls are recorded instead             | convolutions, recurrent cells, `conj`  |
| not recorded                                            | operators that do not return a tensor: |
|                                                         | `item`, `equal`                        |
| recorded under another name                             | the second names of an operator        |
|                                                         | (`operators/second_names.py`);         |
|                                                         | `detach_` is `detach`                  |
| with `force_outplace`, without its underscore           | in-place operators; `zero_` is         |
|                                                         | `zeros_like`, `fill_` is `full_like`   |
| a number for a tensor becomes a constant tensor         | `x + 1`, and other arithmetic          |
| the tensor is forgotten, with a warning                 | `resize_`                              |

How the real one differs: the rules are in the code generator, and a pass replaces second names
afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core.device import CPU
from internals.core.dispatcher import OperatorHandle, dispatcher
from internals.core.formats import preserve_format, strided
from internals.core.schema import Argument
from internals.core.tensor_impl import Tensor, from_array
from internals.core.tracer import RESIZE, TracedFloat, TracedInt
from internals.jit.ir import Value
from internals.jit.ir.enums import enum_code

from .frames import is_called_by

if TYPE_CHECKING:
    from .state import TracingState

NOT_RECORDED = frozenset(
    (
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "conj",
    )
)  # fmt: skip

# `x & y` is recorded as an operator of its own, unlike `torch.bitwise_and(x, y)`
PYTHON_OPERATORS = {
    "bitwise_and": "__and__",
    "bitwise_or": "__or__",
    "bitwise_xor": "__xor__",
}
OUT_OF_PLACE = {"zero": "zeros_like", "fill": "full_like"}

# Here PyTorch's Python binding accepts numbers for tensors (`should_allow_numbers_as_tensors`).
NUMBERS_AS_TENSORS = frozenset(
    "add sub mul div floor_divide multiply subtract divide true_divide".split()
)


def is_recorded(op: OperatorHandle) -> bool:
    """Whether a node is recorded for this operator."""
    schema = op.schema
    if schema.name in NOT_RECORDED or not any(r.type.base == "Tensor" for r in schema.returns):
        return False
    return not any(a.type.base == "Storage" for a in schema.arguments)


def recorded_name(op: OperatorHandle, force_outplace: bool) -> str:
    """The kind of the node that is recorded for `op`: `aten::add`, for example."""
    schema = op.schema
    name = schema.name
    if name == "detach_":
        name = "detach"
    if schema.is_inplace and force_outplace:
        name = OUT_OF_PLACE.get(name[:-1], name[:-1])
    if name == "convolution":
        name = "_convolution"
    elif (name, schema.overload) == ("split", "sizes"):  # PyTorch's Tensor.split chooses in Python
        name = "split_with_sizes"
    elif name in PYTHON_OPERATORS and is_called_by(PYTHON_OPERATORS[name]):
        name = PYTHON_OPERATORS[name]
    return f"{schema.namespace}::{name}"


def as_recorded(op: OperatorHandle, argument: Argument, given: object) -> Any:
    """The argument as it is recorded. For arithmetic with a number, PyTorch chooses the overload
    with two tensors, so the number becomes a tensor.
    """
    schema = op.schema
    is_number = isinstance(given, (bool, int, float, complex)) and not isinstance(
        given, (TracedInt, TracedFloat)
    )
    if is_number and argument.name in ("other", "value") and schema.overload.startswith("Scalar"):
        if schema.name.rstrip("_") in NUMBERS_AS_TENSORS:
            wrapped: Any = from_array(np.asarray(given))
            wrapped._is_wrapped_number = True  # type promotion treats it as a number
            return wrapped
    return given


def as_constant(given: object) -> Any:
    """The argument as a constant of the IR, where dtypes, layouts and memory formats are ints."""
    if (code := enum_code(given)) is not None:
        return code
    return given.item() if isinstance(given, np.generic) else given


def extra_inputs(state: TracingState, op: OperatorHandle) -> list[Value]:
    """Values for the arguments that the recorded operator has in addition to those of `op`."""
    if state.force_outplace and op.schema.name in (
        "zero_",
        "fill_",
    ):  # dtype, layout, device, pin_memory, memory_format
        return [
            state.constant(as_constant(v)) for v in (None, strided, CPU, False, preserve_format)
        ]
    if op.schema.name == "convolution":  # benchmark, deterministic, cudnn_enabled, allow_tf32
        return [state.constant(b) for b in (False, False, True, True)]
    return []


def below_autograd(op: OperatorHandle) -> bool:
    """Whether PyTorch records the operator below autograd, so that its result does not require grad
    in the trace.
    """
    return op.schema.name == "convolution"


def warn_if_shared(state: TracingState, name: str, t: Tensor) -> None:
    """Warn that a write, which is recorded as an operator that does not write, changes memory that
    other tensors share: in the trace they will not change.
    """
    references = sys.getrefcount(t._storage) - 1  # without that of the call itself
    if references > 1:
        state.warn(SHARED.format(references, name))


SHARED = (
    "There are {} live references to the data region being modified when tracing in-place operator "
    "{}. This might cause the trace to be incorrect, because all other views that also reference "
    "this data will not reflect this change in the trace! On the other hand, if all other views "
    "use the same memory chunk, but are disjoint (e.g. are outputs of torch.split), this might "
    "still be safe."
)


# Operators with a rule of their own: (state, op, keys, args) -> what the operator returns


def _resize(state: TracingState, op: OperatorHandle, keys: int, args: tuple[Any, ...]) -> Any:
    """`resize_` has no node: later uses of the tensor take it for a constant."""
    state.warn(op.schema.name + RESIZE)
    state.forget(args[0])
    with state.paused():
        return dispatcher.redispatch(op, keys, *args)


Special = Callable[["TracingState", OperatorHandle, int, tuple[Any, ...]], Any]
SPECIAL: dict[str, Special] = {"aten::resize_": _resize, "aten::resize_as_": _resize}
