"""Limits on the constants that are computed in advance: they must be small, and quick to compute.

`s = s + s`, forty times, fits an archive of a kilobyte, and makes a string of a terabyte; for `[0]
* n` and `torch.zeros([n])` one line is enough. A node that is too much work is not computed in
advance, but when it runs, if it ever does. Sizes are judged by the inputs, before anything is
computed:

| what                                                         | limit                             |
|--------------------------------------------------------------|-----------------------------------|
| a string, list or tuple, with its elements                   | `LONGEST` characters and elements |
| a tensor                                                     | `LARGEST` bytes                   |
| all tensors that one run of the pass computes                | `TOTAL` bytes                     |
| the product of the numbers of elements of all tensors, and   | `MOST_WORK`: a bound for the work |
| of all sizes                                                 | of a convolution                  |
| the memory for an intermediate tensor                        | 16 times `LARGEST`                |

How the real one differs: PyTorch computes any constant, and checks its size afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from internals.core.cpu_allocator import limited_blocks
from internals.core.device import device as Device
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import ListType, Node, NumberType, TensorType, TupleType, Type

LARGEST, TOTAL = 1 << 20, 1 << 25  # bytes
LONGEST = 1 << 12
MOST_WORK = 1 << 26

# The length of a string or list that an operator returns, where it is more than the sum of the
# lengths of its inputs.
LENGTHS: dict[str, Callable[..., int]] = {
    "aten::mul": lambda a, b: (
        len(a) * b if isinstance(a, list) else len(b) * a if isinstance(b, list) else 0
    ),
    **dict.fromkeys(
        ("aten::ljust", "aten::rjust", "aten::center", "aten::zfill"),
        lambda text, width, *fill: width,
    ),
    "aten::expandtabs": lambda text, size: len(text) * size,
    "aten::replace": lambda text, old, new, most: (len(text) + 1) * len(new),
    "aten::join": lambda text, parts: (len(text) + 1) * len(parts) + sum(map(len, parts)),
    "prim::rangelist": lambda n: n,
}


def is_affordable(node: Node, inputs: Sequence[Any]) -> bool:
    """Whether the results for these inputs can be expected to be small, and quick to compute."""
    if any(_holds_tensors(v.type()) for v in node.outputs()) or "_polynomial_" in node.kind():
        # A list of tensors is not a constant; a polynomial has as many steps as a tensor's value.
        return False
    length = LENGTHS.get(node.kind())
    if length is not None and length(*inputs) > LONGEST:
        return False
    return not any(isinstance(v.type(), TensorType) for v in node.outputs() + node.inputs()) or (
        _work(node, inputs) <= MOST_WORK
    )


def fits(value: object) -> bool:
    """Whether a value that was computed in advance may be a constant of the graph."""
    if isinstance(value, TensorImpl):
        return not value.requires_grad and nbytes(value) <= LARGEST
    return _length(value) <= LONGEST


def nbytes(value: object) -> int:
    """The bytes of a tensor; 0 for any other value."""
    return value.numel() * value.element_size() if isinstance(value, TensorImpl) else 0


@contextmanager
def moderately() -> Iterator[None]:
    """Limit the memory that operators get for one tensor; they raise an error if they need more."""
    with limited_blocks(16 * LARGEST, "a constant that is computed in advance"):
        yield


def _work(node: Node, inputs: Sequence[Any]) -> float:
    """The product of the numbers of elements of all tensors, and of all numbers among the other
    arguments, which may be sizes. A view takes no work for its sizes.
    """
    parts = [
        part
        for value in inputs
        for part in (value if isinstance(value, (list, tuple)) else [value])
    ]
    work: float = prod(max(1, part.numel()) for part in parts if isinstance(part, TensorImpl))
    schema = node.schema()
    if schema is None or all(r.alias_info is not None for r in schema.returns):
        return work
    has_tensors = any(isinstance(part, TensorImpl) for part in parts)
    for argument, value in zip(schema.arguments, inputs):
        # A `Scalar` beside a tensor is a value, such as the 2 of `x + 2`; in `arange(n)` it is a
        # size. The number of a dtype (`enum`) is neither.
        is_value = isinstance(argument.type, NumberType) and (
            has_tensors or argument.name == "fill_value"
        )
        if not is_value and not argument.enum:
            for number in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(number, (int, float)) and number == number and number != 0:
                    work *= max(1, abs(number), abs(1 / number) if argument.name == "step" else 1)
    return work


def _length(value: object) -> float:
    """The number of characters and elements; infinite for a value that cannot be a constant."""
    if isinstance(value, (list, tuple)):
        return len(value) + sum(_length(v) for v in value[: LONGEST + 1])
    if isinstance(value, str):
        return len(value)
    return (
        0
        if value is None or isinstance(value, (bool, int, float, complex, Device))
        else float("inf")
    )


def _holds_tensors(type: Type) -> bool:
    """Whether it is the type of a list or tuple with tensors in it, at any depth."""
    return isinstance(type, (ListType, TupleType)) and any(
        isinstance(t, TensorType) or _holds_tensors(t) for t in type.containedTypes()
    )
