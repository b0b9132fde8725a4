"""Decides which pointwise operators can be in a group: those whose loop is in the table of
expressions.

There is no list of them: the operator is tried on small tensors, with the other arguments of the
call, because `x ** 2` runs another loop than `x ** y`.

How the real one differs: PyTorch 1.0.1 has a list of schemas and, elsewhere, a table of their
expressions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from internals.core.device import CPU
from internals.core.dtype import bool_, dtype, float32, int32
from internals.core.geometry import contiguous_geometry
from internals.jit.ir import Graph
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import FloatType

from .expressions import expression
from .names import Names
from .observe import observe
from .steps import NotFusable

# One of these suits every operator: conditions and masks are of bools.
DTYPES = (
    (float32, float32, float32),
    (int32, int32, int32),
    (bool_, float32, float32),
    (float32, bool_, float32),
)


@lru_cache(1 << 12)
def knows(name: str, arguments: tuple[Any, ...]) -> bool:
    """Whether the overload `name` can be in a group. Each of `arguments` is a constant, as (class,
    value), or the name of a type: "TensorType", else a number's.
    """
    graph = Graph()  # of this one node
    graph.registerOutput(
        graph.insert(name.partition(".")[0], [_value(graph, a) for a in arguments])
    )
    return any(_is_observed(graph, dtypes) for dtypes in DTYPES)


def _is_observed(graph: Graph, dtypes: tuple[dtype, dtype, dtype]) -> bool:
    """Whether a call with tensors of these dtypes runs loops that are in the table."""
    left = iter(dtypes)
    tensors = [isinstance(v.type(), TensorType) for v in graph.inputs()]
    try:
        # StopIteration: more tensors than dtypes
        given = [
            contiguous_geometry((2,), next(left), CPU) if is_tensor else float
            for is_tensor in tensors
        ]
        for step in observe(graph, given, Names()).steps:
            if step.loop is not None:
                expression(step.loop, step.common)
    except (NotFusable, StopIteration):
        return False
    return True


def _value(graph: Graph, argument: Any) -> Any:
    """The graph's value for an argument: an input for a tensor or a number, else a constant."""
    if argument == "TensorType":
        return graph.addInput().setType(TensorType.get())
    if isinstance(argument, str):
        return graph.addInput().setType(FloatType.get())
    return graph.insertConstant(argument[1])
