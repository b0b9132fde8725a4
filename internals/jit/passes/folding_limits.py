"""Which constants are computed in advance: those that are small, and quickly there.

`s = s + s`, forty times, is an archive of a kilobyte and a string of a terabyte; `[0] * n` and
`torch.zeros([n])` need one line. To compute a constant in advance is a favour, not a duty, so a
node that is too much work is left to the moment when it runs, if it ever does. Sizes are judged by
the inputs, before anything is computed:

| what                                                         | limit                             |
|--------------------------------------------------------------|-----------------------------------|
| a string, list or tuple, with what is in it                  | `LONGEST` characters and elements |
| a tensor                                                     | `LARGEST` bytes                   |
| all tensors that one run of the pass computes                | `TOTAL` bytes                     |
| elements of all tensors, and sizes, multiplied with each     | `MOST_WORK`: a convolution looks  |
| other                                                        | at so many                        |
| the memory for a tensor on the way                           | 16 times `LARGEST`                |

How the real one differs: PyTorch computes what there is, and asks its size afterwards.
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

# How long a string or list becomes, where that is more than the sum of what goes in.
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
    """Whether the results for these inputs can be expected to be small, and soon."""
    if any(_holds_tensors(v.type()) for v in node.outputs()) or "_polynomial_" in node.kind():
        return False  # which no constant may; and a polynomial has as many steps as a tensor says
    length = LENGTHS.get(node.kind())
    if length is not None and length(*inputs) > LONGEST:
        return False
    return not any(isinstance(v.type(), TensorType) for v in node.outputs() + node.inputs()) or (
        _work(node, inputs) <= MOST_WORK
    )


def fits(value: object) -> bool:
    """Whether a value may be a constant of a graph that was computed."""
    if isinstance(value, TensorImpl):
        return not value.requires_grad and nbytes(value) <= LARGEST
    return _length(value) <= LONGEST


def nbytes(value: object) -> int:
    return value.numel() * value.element_size() if isinstance(value, TensorImpl) else 0


@contextmanager
def moderately() -> Iterator[None]:
    """Operators that are called in here get no more memory for a tensor than such a computation may
    take.
    """
    with limited_blocks(16 * LARGEST, "a constant that is computed in advance"):
        yield


def _work(node: Node, inputs: Sequence[Any]) -> float:
    """The product of all tensors' elements, and of the sizes among the other arguments unless the
    result is a view.
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
        is_value = isinstance(argument.type, NumberType) and (
            has_tensors or argument.name == "fill_value"
        )
        if not is_value and not argument.enum:
            for number in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(number, (int, float)) and number == number and number != 0:
                    work *= max(1, abs(number), abs(1 / number) if argument.name == "step" else 1)
    return work


def _length(value: object) -> float:
    """Characters and elements; infinite for what can be no constant."""
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
    """Whether it is a list or tuple of tensors."""
    return isinstance(type, (ListType, TupleType)) and any(
        isinstance(t, TensorType) or _holds_tensors(t) for t in type.containedTypes()
    )
