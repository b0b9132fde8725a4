"""Good arguments for any operator, those included that no recipe of tests/aten/op_recipes.py is
for.

A gradient gets those that its forward operator's derivative calls it with: the forward operator is
called, then its graph is run backwards, and somebody listens.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

import internals
from internals.core.dispatcher import OperatorHandle, dispatcher, observe_calls
from internals.core.storage import Storage
from internals.core.tensor_impl import TensorImpl, array, from_array
from tests.aten.op_arguments import arguments
from tests.aten.op_recipes import recipe
from tests.aten.op_tensors import Dtype, Stream, TensorSpec, shape
from tests.autograd.gradient_entries import entries
from tests.autograd.gradient_samples import call_function
from tests.core.memory_fuzz.mutations import pick

ATTEMPTS = 8
FORWARD = {
    "infinitely_differentiable_gelu_backward": "gelu",
    "_embedding_bag_dense_backward": "_embedding_bag",
    "embedding_dense_backward": "embedding",
}
SET = {"storage_offset": 2, "size": [2, 3], "stride": [3, 1]}


class StorageSpec:
    """A storage of so many bytes, in no library yet."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return f"storage of {self.nbytes} bytes"


def good_arguments(op: OperatorHandle, stream: Stream) -> dict[str, Any]:
    """One value for each argument, by name, in schema order; mostly they fit together."""
    schema = op.schema
    if schema.name == "set_":
        storage, tensor = StorageSpec(64), TensorSpec(np.zeros(6, "float32"))
        others = {"Storage": storage, "Tensor": tensor}
        return {a.name: SET.get(a.name, others.get(a.type.base)) for a in schema.arguments}
    if "_backward" in schema.name and recipe(schema) is None:
        return overheard(op, stream) or arguments(schema, stream)
    return arguments(schema, stream)


@cache
def forward_of(name: str) -> tuple[OperatorHandle, ...]:
    """The operators whose derivative mentions the gradient `name`, and those it is called after."""
    mentioned = re.compile(rf"\b{name}\b")
    stem = FORWARD.get(name, name.partition("_backward")[0])
    found = [n for n, e in entries().items() if any(map(mentioned.search, e.formulas))]
    found += [n for n, op in dispatcher.operators.items() if op.schema.name == stem]
    found = [n for n in dict.fromkeys(found) if "_backward" not in n]
    return tuple(op for op in map(dispatcher.operators.get, found) if op and not op.schema.is_out)


def overheard(op: OperatorHandle, stream: Stream) -> dict[str, Any] | None:
    """The arguments that `op` has in the backward pass of some forward call.

    None if it was called in none of a few attempts.
    """
    heard: list[dict[str, Any]] = []

    def listen(called: OperatorHandle, args: tuple[Any, ...]) -> None:
        if called.schema.name == op.schema.name and not called.schema.is_out:
            heard.append({a.name: as_spec(v) for a, v in zip(called.schema.arguments, args)})

    for _ in range(ATTEMPTS if forward_of(op.schema.name) else 0):
        forward = pick(forward_of(op.schema.name), stream)
        given = [build(v) for v in arguments(forward.schema, stream).values()]
        try:
            with observe_calls(listen):
                differentiate(given)
                backward_of(call_function(forward)(*given))
        except Exception:
            continue
        if heard:
            return {a.name: heard[0].get(a.name, out_of(stream)) for a in op.schema.arguments}
    return None


def out_of(stream: Stream) -> TensorSpec:
    """What an `out=` is when it is called: mostly nothing yet, else of sizes that may do or not."""
    return TensorSpec(np.zeros(0 if stream.random() < 0.7 else shape(stream), "float32"))


def differentiate(given: Any) -> None:
    """Have all tensors require gradients that may."""
    for t in tensors(given):
        if t.is_floating_point() or t.is_complex():
            t.requires_grad_()


def backward_of(results: Any) -> None:
    """Run the graph of all results that have one backwards, with gradients of ones."""
    found = [t for t in tensors(results) if t.requires_grad]
    if found:
        internals.autograd.backward(found, [internals.ones_like(t) for t in found])


def tensors(value: Any) -> list[Any]:
    """All tensors in lists and tuples of them."""
    if isinstance(value, TensorImpl):
        return [value]
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple)) else []


def build(value: Any) -> Any:
    """The value as an operator takes it."""
    if isinstance(value, TensorSpec):
        return value.build(internals, from_array)
    if isinstance(value, StorageSpec):
        return Storage.allocate(value.nbytes)
    if isinstance(value, Dtype):
        return getattr(internals, value.name)
    return [build(v) for v in value] if isinstance(value, list) else value


def as_spec(value: Any) -> Any:
    """What an operator was given, as the recipes say it."""
    if isinstance(value, TensorImpl):
        return TensorSpec(np.array(array(value)))
    if isinstance(value, (internals.dtype, internals.memory_format)):
        return Dtype(repr(value).removeprefix("internals."))
    return [as_spec(v) for v in value] if isinstance(value, (list, tuple)) else value
