"""Good arguments for operators that no recipe of tests/op_recipes.py is for.

A gradient gets those that its forward operator's derivative calls it with: the forward operator is called, then its graph is run
backwards, and somebody listens.
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
from tests.gradient_entries import entries
from tests.gradient_samples import call_function
from tests.op_arguments import arguments
from tests.op_recipes import recipe
from tests.op_tensors import Dtype, Stream, TensorSpec, shape

ATTEMPTS = 8
FORWARD = {
    "infinitely_differentiable_gelu_backward": "gelu",
    "_embedding_bag_dense_backward": "_embedding_bag",
}


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
        return {
            a.name: StorageSpec(64) if a.type.base == "Storage" else of_set(a.name, stream)
            for a in schema.arguments
        }
    if "_backward" in schema.name and recipe(schema) is None and forward_of(schema.name):
        heard = overheard(op, stream)
        if heard is not None:
            return heard
    return arguments(schema, stream)


def of_set(name: str, stream: Stream) -> Any:
    ints = {"storage_offset": 2, "size": [2, 3], "stride": [3, 1]}
    return ints[name] if name in ints else TensorSpec(np.zeros(6, "float32"))


@cache
def forward_of(name: str) -> tuple[OperatorHandle, ...]:
    """The operators whose derivative mentions the gradient `name`, or which have its name less the ending."""
    found = [
        n for n, e in entries().items() if any(re.search(rf"\b{name}\b", f) for f in e.formulas)
    ]
    stem = FORWARD.get(name, name.partition("_backward")[0])
    found += [
        n
        for n, op in dispatcher.operators.items()
        if op.schema.name == stem and not op.schema.is_out
    ]
    return tuple(dispatcher.operators[n] for n in dict.fromkeys(found) if "_backward" not in n)


def overheard(op: OperatorHandle, stream: Stream) -> dict[str, Any] | None:
    """The arguments of a call of `op` in the backward pass of some forward call; None if there was none in a few attempts."""
    heard: list[tuple[Any, ...]] = []
    wanted = op.schema.name

    def listen(called: OperatorHandle, args: tuple[Any, ...]) -> None:
        if called.schema.name == wanted and not called.schema.is_out:
            heard.append(tuple(as_spec(a) for a in args))

    for _ in range(ATTEMPTS):
        forward = forward_of(wanted)[int(stream.integers(len(forward_of(wanted))))]
        values = [build_differentiable(v) for v in arguments(forward.schema, stream).values()]
        try:
            with observe_calls(listen):
                results = call_function(forward)(*values)
                backward_of(results)
        except Exception:
            continue
        if heard:
            given = dict(
                zip(
                    (a.name for a in dispatcher.operators[f"aten::{wanted}"].schema.arguments),
                    heard[0],
                )
            )
            return {
                a.name: given[a.name] if a.name in given else out_of(stream)
                for a in op.schema.arguments
            }
    return None


def out_of(stream: Stream) -> TensorSpec:
    """What an `out=` is when it is called: mostly nothing yet, else of sizes that may do or not."""
    return TensorSpec(np.zeros(0 if stream.random() < 0.7 else shape(stream), "float32"))


def backward_of(results: Any) -> None:
    """Run the graph of all results that have one backwards, with gradients of ones."""
    found = [
        t
        for t in (results if isinstance(results, (list, tuple)) else [results])
        if isinstance(t, TensorImpl)
    ]
    found = [t for t in found if t.requires_grad]
    if found:
        internals.autograd.backward(found, [internals.ones_like(t) for t in found])


def build(value: Any) -> Any:
    """The value as an operator takes it. A spec that is there twice is built twice: see `calls.build_all`."""
    if isinstance(value, TensorSpec):
        return value.build(internals, from_array)
    if isinstance(value, StorageSpec):
        return Storage.allocate(value.nbytes)
    if isinstance(value, Dtype):
        return getattr(internals, value.name)
    return [build(v) for v in value] if isinstance(value, list) else value


def build_differentiable(value: Any) -> Any:
    made = build(value)
    for t in made if isinstance(made, list) else [made]:
        if isinstance(t, TensorImpl) and (t.is_floating_point() or t.is_complex()):
            t.requires_grad_()
    return made


def as_spec(value: Any) -> Any:
    """What an operator was given, as the recipes say it."""
    if isinstance(value, TensorImpl):
        return TensorSpec(np.array(array(value)))
    if isinstance(value, (internals.dtype, internals.memory_format)):
        return Dtype(repr(value).removeprefix("internals."))
    return [as_spec(v) for v in value] if isinstance(value, (list, tuple)) else value
