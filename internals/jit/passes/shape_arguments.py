"""What rules of shape propagation know of a node's arguments, and what they are made of (part of `shape_analysis.cpp`).

How the real one differs: `SymbolicShape` and its operations, which also know which unknown sizes are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals.core.device import device as Device
from internals.core.dtype import BY_CODE, FLOATING, int64
from internals.core.dtype import dtype as DType
from internals.jit.ir.tensor_type import TensorType
from internals.jit.passes.overloads import NOT_CONSTANT, constant

if TYPE_CHECKING:
    from internals.jit.ir import Node, Value

Sizes = tuple["int | None", ...]


class ArgumentTypes:
    """What is known of a node's arguments, by the names of its schema."""

    def __init__(self, node: Node) -> None:
        self.node = node
        schema = node.schema()
        names = [a.name for a in schema.arguments] if schema is not None else []
        self.values: dict[str, Value] = dict(zip(names, node.inputs()))

    def tensor(self, name: str) -> TensorType:
        """The type of a tensor argument. Of one that is no tensor, or missing, nothing is known."""
        v = self.values.get(name)
        t = v.type() if v is not None else None
        return t if isinstance(t, TensorType) else TensorType.get()

    def first(self) -> TensorType:
        t = self.node.inputsAt(0).type()
        return t if isinstance(t, TensorType) else TensorType.get()

    def tensors(self) -> list[TensorType]:
        return [t for v in self.node.inputs() if isinstance(t := v.type(), TensorType)]

    def number(self, name: str) -> Any:
        """A constant argument, or `NOT_CONSTANT`; also if there is no such argument."""
        v = self.values.get(name)
        return NOT_CONSTANT if v is None else constant(v)

    def ints(self, name: str) -> list[int | None] | None:
        """A list of ints with None for unknown ones; None if even its length is not known."""
        v = self.values.get(name)
        if v is None:
            return None
        if v.node().kind() == "prim::ListConstruct":
            found = [constant(e) for e in v.node().inputs()]
            return [i if isinstance(i, int) else None for i in found]
        known = constant(v)
        return list(known) if isinstance(known, (list, tuple)) else [known] if isinstance(known, int) else None

    def list_of_tensors(self, name: str) -> list[TensorType] | None:
        v = self.values.get(name)
        if v is None or v.node().kind() != "prim::ListConstruct":
            return None
        return [t for e in v.node().inputs() if isinstance(t := e.type(), TensorType)]

    def dtype(self, otherwise: DType | None) -> DType | None:
        """The dtype asked for by an argument `dtype`; `otherwise` where it is not given or None."""
        code = self.number("dtype")
        if code is None or "dtype" not in self.values:
            return otherwise
        return BY_CODE.get(code) if isinstance(code, int) else None


def result(like: TensorType, sizes: Sequence[int | None] | None, dtype: DType | None = None) -> TensorType:
    """A type on the device of `like`, of its dtype unless another is given."""
    return TensorType(dtype or like.dtype(), like.device(), sizes)


def dims(x: TensorType) -> Sizes | None:
    """Sizes with None for unknown ones; None if not even the rank is known."""
    known = x.varyingSizes()
    return None if known is None else tuple(known)


def broadcast_dims(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    """What two shapes broadcast to. A size that is not known may be 1: then it is what the other is, unless that is 1."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return tuple([y if x == 1 else x if y == 1 or y is None else y for x, y in zip(a, b)])


def broadcast_sizes(types: Sequence[TensorType]) -> Sizes | None:
    sizes: Sizes | None = ()
    for x in types:
        sizes = broadcast_dims(sizes, dims(x))
    return sizes


def summed(dtype: DType | None) -> DType | None:
    return dtype if dtype is None or dtype.category >= FLOATING else int64


def common_dtype(dtypes: Sequence[DType | None]) -> DType | None:
    return dtypes[0] if len(set(dtypes)) == 1 else None


def common_device(a: ArgumentTypes) -> Device | None:
    devices = {x.device() for x in a.tensors()}
    return devices.pop() if len(devices) == 1 else None


def size_of(x: TensorType, i: int) -> int | None:
    sizes = dims(x)
    return sizes[i] if sizes is not None and i < len(sizes) else None


def product(sizes: Sequence[int]) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


def repeated(values: list[int | None] | None, n: int) -> list[int | None] | None:
    return None if values is None else values * n if len(values) == 1 else values if len(values) == n else None


def reduced_sizes(a: ArgumentTypes) -> Sizes | None:
    """The sizes left after reducing `dim`: all if it is None or an empty list."""
    sizes, keep, dim = dims(a.first()), a.number("keepdim"), a.number("dim")
    if sizes is None or not isinstance(keep, bool):
        return None
    reduced = list(range(len(sizes))) if dim is None else a.ints("dim")
    if reduced is None or None in reduced:
        return (None,) * len(sizes) if keep else None
    if not reduced:
        reduced = list(range(len(sizes)))
    gone = {i % max(len(sizes), 1) for i in reduced if i is not None}
    return tuple([1 if i in gone else s for i, s in enumerate(sizes) if keep or i not in gone])
