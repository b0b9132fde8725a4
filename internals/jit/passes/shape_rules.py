"""The type of a result from the types of the arguments, operator by operator (`torch/csrc/jit/passes/shape_analysis.cpp`).

Sizes may be known, unknown (None) or unknown even in number; each rule keeps what it can. The classes of operators:

| class         | sizes                                            | dtype                                                  |
| ------------- | ------------------------------------------------ | ------------------------------------------------------ |
| pointwise     | what the tensors broadcast to                    | what the operator gives for one element                |
| in place      | of the first argument                            | of the first argument                                  |
| `same`        | of the first argument                            | of the first argument                                  |
| `reduce_*`    | none, or without (or with 1 in) the dims reduced | of the first argument; sums of integers are int64      |
| products      | by rank                                          | of the first argument                                  |
| views         | by the constants they are called with            | of the first argument                                  |
| factories     | of the list or tensor they are given             | the one given, or the default                          |

Which operators are pointwise their entries say; the others are in tables. Strides are not tracked here.

How the real one differs: its classes are those of 1.0.1, where comparisons gave Byte and nothing was promoted; it tracked no
single sizes, only all or none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from internals._generated.op_facts import POINTWISE
from internals.core.device import device as Device
from internals.core.dtype import bool_ as bool_dtype
from internals.core.dtype import get_default_dtype, int64
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes import shape_rules_views as views
from internals.jit.passes.overloads import NOT_CONSTANT, overload_of
from internals.jit.passes.shape_arguments import (
    ArgumentTypes,
    broadcast_dims,
    dims,
    reduced_sizes,
    result,
    size_of,
    summed,
)
from internals.jit.passes.shape_pointwise import pointwise

if TYPE_CHECKING:
    from internals.jit.ir import Node

Rule = Callable[[ArgumentTypes], Any]

# Pointwise


def same(a: ArgumentTypes) -> TensorType:
    return result(a.first(), dims(a.first()))


def with_dtype(a: ArgumentTypes) -> TensorType:
    dtype = a.dtype(a.first().dtype())
    return TensorType(dtype, a.first().device(), dims(a.first()))


def cumulate(a: ArgumentTypes) -> TensorType:
    return TensorType(a.dtype(summed(a.first().dtype())), a.first().device(), dims(a.first()))


def type_as(a: ArgumentTypes) -> TensorType:
    other = a.tensor("other")
    return TensorType(other.dtype(), other.device(), dims(a.first()))


# Reductions


def reduce_all(a: ArgumentTypes) -> TensorType:
    return result(a.first(), ())


def sum_all(a: ArgumentTypes) -> TensorType:
    return TensorType(a.dtype(summed(a.first().dtype())), a.first().device(), ())


def mean_all(a: ArgumentTypes) -> TensorType:
    return TensorType(a.dtype(a.first().dtype()), a.first().device(), ())


def reduce_dims(a: ArgumentTypes) -> TensorType:
    return TensorType(a.dtype(a.first().dtype()), a.first().device(), reduced_sizes(a))


def sum_dims(a: ArgumentTypes) -> TensorType:
    return TensorType(a.dtype(summed(a.first().dtype())), a.first().device(), reduced_sizes(a))


def bool_reduce(a: ArgumentTypes) -> TensorType:
    sizes = reduced_sizes(a) if "dim" in a.values else ()
    return result(a.first(), sizes, bool_dtype)


def index_reduce(a: ArgumentTypes) -> TensorType:
    return result(a.first(), reduced_sizes(a), int64)


def value_and_index(a: ArgumentTypes) -> list[TensorType]:
    sizes = reduced_sizes(a)
    return [result(a.first(), sizes), result(a.first(), sizes, int64)]


# Products


def mm(a: ArgumentTypes) -> TensorType:
    return result(a.first(), (size_of(a.first(), 0), size_of(a.tensor("mat2"), 1)))


def addmm(a: ArgumentTypes) -> TensorType:
    return result(a.first(), (size_of(a.tensor("mat1"), 0), size_of(a.tensor("mat2"), 1)))


def bmm(a: ArgumentTypes) -> TensorType:
    return result(a.first(), (size_of(a.first(), 0), size_of(a.first(), 1), size_of(a.tensor("mat2"), 2)))


def mv(a: ArgumentTypes) -> TensorType:
    return result(a.first(), (size_of(a.first(), 0),))


def matmul(a: ArgumentTypes) -> TensorType:
    left, right = dims(a.first()), dims(a.tensor("other"))
    if left is None or right is None or not left or not right:
        return result(a.first(), None)
    batch = broadcast_dims(left[:-2], right[:-2])
    return result(a.first(), None if batch is None else (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ())))


def linear(a: ArgumentTypes) -> TensorType:
    sizes, weight = dims(a.first()), dims(a.tensor("weight"))
    if sizes is None or weight is None:
        return result(a.first(), None)
    return result(a.first(), sizes[:-1] + weight[:-1])


# Factories


def filled(a: ArgumentTypes) -> TensorType:
    device = a.number("device")
    known = Device("cpu") if device is None or device is NOT_CONSTANT and "device" not in a.values else device
    return TensorType(a.dtype(get_default_dtype()), known if isinstance(known, Device) else None, a.ints("size"))


def filled_like(a: ArgumentTypes) -> TensorType:
    device = a.number("device")
    known = a.first().device() if device is None or device is NOT_CONSTANT and "device" not in a.values else device
    return TensorType(a.dtype(a.first().dtype()), known if isinstance(known, Device) else None, dims(a.first()))


def _rules(rule: Rule, names: str) -> dict[str, Rule]:
    return {f"aten::{name}": rule for name in names.split()}


# fmt: off
# For all overloads of a name.
BY_KIND: dict[str, Rule] = {
    **_rules(same,             "contiguous detach alias flip roll tril triu dropout batch_norm layer_norm group_norm"),
    **_rules(with_dtype,       "softmax log_softmax"),
    **_rules(cumulate,         "cumsum cumprod"),
    **_rules(pointwise,        "isclose log_sigmoid"),
    **_rules(type_as,          "type_as"),
    **_rules(views.convolution, "conv1d conv2d"),
    **_rules(views.pool2d,     "max_pool2d avg_pool2d"),
}
# For one overload.
BY_OVERLOAD: dict[str, Rule] = {
    **_rules(reduce_all,       "max min dot"),
    **_rules(sum_all,          "sum prod"),
    **_rules(mean_all,         "mean std var"),
    **_rules(sum_dims,         "sum.dim_IntList prod.dim_int"),
    **_rules(reduce_dims,      "mean.dim amax amin logsumexp"),
    **_rules(bool_reduce,      "all any all.dim any.dim"),
    **_rules(index_reduce,     "argmax argmin"),
    **_rules(value_and_index,  "max.dim min.dim"),
    **_rules(mm,               "mm"),
    **_rules(addmm,            "addmm"),
    **_rules(bmm,              "bmm"),
    **_rules(mv,               "mv"),
    **_rules(matmul,           "matmul"),
    **_rules(linear,           "linear"),
    **_rules(views.t,          "t"),
    **_rules(views.transpose,  "transpose.int"),
    **_rules(views.permute,    "permute"),
    **_rules(views.unsqueeze,  "unsqueeze"),
    **_rules(views.squeeze,    "squeeze.dim"),
    **_rules(views.view,       "view reshape"),
    **_rules(views.expand,     "expand"),
    **_rules(views.flatten,    "flatten.using_ints"),
    **_rules(views.select,     "select.int"),
    **_rules(views.one_size_unknown, "slice.Tensor narrow index_select"),
    **_rules(views.like_index, "gather"),
    **_rules(views.embedding,  "embedding"),
    **_rules(views.cat,        "cat"),
    **_rules(views.stack,      "stack"),
    **_rules(views.pool2d_indices, "max_pool2d_with_indices"),
    **_rules(views.adaptive_pool2d, "adaptive_avg_pool2d"),
    **_rules(filled,           "zeros ones empty.memory_format rand randn"),
    **_rules(filled_like,      "zeros_like ones_like full_like empty_like rand_like randn_like"),
}
# fmt: on


def rule_for(node: Node) -> Rule | None:
    """The rule for the node's overload, or for all overloads of its kind; else what follows from the operator's entry."""
    name, schema = overload_of(node), node.schema()
    if schema is not None and schema.name.endswith("_") and schema.is_mutable:
        return same
    if (rule := BY_OVERLOAD.get(name) or BY_KIND.get(node.kind())) is not None:
        return rule
    return pointwise if name.removeprefix("aten::") in POINTWISE else None
