"""Finds the tensors in a pickle: the place of each in the object, and which bytes of which record
are its elements.

A pickle has the call `_rebuild_tensor_v2(storage "0" of 12 floats, offset 4, sizes (4,), strides
(1,), ...)`. That is enough to tell which bytes the tensor has, and which tensors share a storage,
without reading any.

Mirrors `torch/utils/model_dump`.

How the real one differs: it unpickles with fake classes and shows the key of each storage; it does
not list the tensors that share one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from internals.core.dtype import ALL

from ..pickles.pickled_types import ALLOWED, StorageClass
from .pickle_listing import Call, Global, Items, Pairs, Persistent

REBUILD = {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"}
PARAMETER = {"_rebuild_parameter", "_rebuild_parameter_with_state"}
# bytes per element, also of dtypes that do not exist here
ITEMSIZE = {kind.name: kind.itemsize for kind in ALL} | {
    "bfloat16": 2,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "qint32": 4,
}
DEPTH_AT_MOST = 500  # of nested containers


@dataclass
class TensorFacts:
    """One tensor. It accesses the bytes from `first` to `last` (exclusive) of its record; both are
    0 if it is empty.
    """

    path: str
    dtype: str
    itemsize: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    storage_offset: int
    record: str
    requires_grad: bool = False
    device: str = "cpu"
    storage_numel: int = 0
    shares_with: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def numel(self) -> int:
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes; a view with stride 0 has fewer in its storage."""
        return self.numel * self.itemsize

    @property
    def first(self) -> int:
        return self.storage_offset * self.itemsize if self.numel else 0

    @property
    def last(self) -> int:
        if not self.numel:
            return 0
        # the offset of the last element: the last index in every dimension
        furthest = sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides))
        return (self.storage_offset + furthest + 1) * self.itemsize

    @property
    def whole(self) -> bool:
        """Whether it has all elements of its storage, in order."""
        return (
            self.storage_offset == 0 and self.numel == self.storage_numel and self.is_contiguous()
        )

    def is_contiguous(self) -> bool:
        """Whether the elements are in row-major order without gaps; a dimension of size 1 may have
        any stride.
        """
        expected = 1
        for size, stride in zip(self.sizes[::-1], self.strides[::-1]):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True


def find_tensors(root: Any, prefix: str = "data/") -> list[TensorFacts]:
    """The tensors in the tree of `pickle_listing.describe`, in the order of the file. `prefix` is
    the folder of the storages' records.
    """
    found = []
    for path, node in walk(root):
        facts = tensor_of(node, prefix)
        if facts is not None:
            facts.path = path.removeprefix(".") or "the object itself"
            found.append(facts)
    return found


def mark_shared(tensors: list[TensorFacts]) -> None:
    """Fills in `shares_with`: the paths of the other tensors with the same record, in order."""
    users: dict[str, list[TensorFacts]] = {}
    for t in tensors:
        users.setdefault(t.record, []).append(t)
    for group in users.values():
        for t in group:
            t.shares_with = [other.path for other in group if other is not t]


def walk(root: Call | Items | Pairs) -> Iterator[tuple[str, Any]]:
    """Yields each value with its path, `model.0.weight` or `['a b'][2]`. A container that occurs
    several times is entered only at the first place; a tensor is yielded at each.
    """
    # A stack instead of recursion: the nesting may be deeper than Python's limit.
    pending, entered = [("", root, 0)], set()
    while pending:
        path, node, depth = pending.pop()
        yield path, node
        if (
            not isinstance(node, (Call, Items, Pairs))
            or id(node) in entered
            or depth > DEPTH_AT_MOST
        ):
            continue
        if tensor_of(node, "") is not None:  # its storage and sizes are not values of the object
            continue
        entered.add(id(node))
        pending.extend(
            (path + step, child, depth + 1) for step, child in reversed(list(children(node)))
        )


def children(node: Call | Items | Pairs) -> Iterator[tuple[str, Any]]:
    """Yields the parts of a value, and for each the step of the path that leads to it. The state of
    an object adds no step: its attributes are `.name` below the object.
    """
    if isinstance(node, Items):
        yield from ((f"[{i}]", item) for i, item in enumerate(node.items))
    elif isinstance(node, Pairs):
        yield from ((step_to(key), value) for key, value in node.pairs)
    elif isinstance(node, Call):
        single = len(node.arguments) == 1 or node.function == Global(
            "torch.jit._pickle", "restore_type_tag"
        )
        for i, argument in enumerate(node.arguments):
            yield "" if single and not i else f"({i})", argument
        yield from ((f"[{i}]", item) for i, item in enumerate(node.items))
        yield from ((step_to(key), value) for key, value in node.pairs)
        yield "", node.state


def step_to(key: str) -> str:
    """The step of a path to the value of a key: `.fc.weight`, `['a b']`, `[3]`."""
    if (
        isinstance(key, str)
        and key
        and all(part.isidentifier() or part.isdecimal() for part in key.split("."))
    ):
        return f".{key}"
    return f"[{key!r}]" if isinstance(key, (str, int, float, bool, type(None))) else "[...]"


def tensor_of(node: object, prefix: str) -> TensorFacts | None:
    """The tensor that a call would create; None for any other value, and for a call whose arguments
    are not those of a tensor.
    """
    if not isinstance(node, Call) or getattr(node.function, "module", "") != "torch._utils":
        return None
    name, arguments = node.function.name, node.arguments
    # _rebuild_parameter(tensor, requires_grad, hooks)
    if name in PARAMETER and len(arguments) > 1 and isinstance(arguments[0], Call):
        if getattr(arguments[0].function, "name", "") not in REBUILD:
            return None
        inner = tensor_of(arguments[0], prefix)
        if inner is not None:
            inner.requires_grad = arguments[1] is True
        return inner
    # _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, ...); v3: [6] is the dtype
    if name not in REBUILD or len(arguments) < 4 or not isinstance(arguments[0], Persistent):
        return None
    storage = storage_of(arguments[0].id)
    sizes, strides = integers(arguments[2]), integers(arguments[3])
    if storage is None or type(arguments[1]) is not int or sizes is None or strides is None:
        return None
    if len(sizes) != len(strides):
        return None
    kind, itemsize, key, device, numel = storage
    if name == "_rebuild_tensor_v3" and len(arguments) > 6 and isinstance(arguments[6], Global):
        kind = arguments[6].name
        itemsize = ITEMSIZE.get(kind, 1)
    return TensorFacts(
        path="",
        dtype=kind,
        itemsize=itemsize,
        sizes=sizes,
        strides=strides,
        storage_offset=arguments[1],
        record=prefix + key,
        requires_grad=len(arguments) > 4 and arguments[4] is True,
        device=device,
        storage_numel=numel,
    )


def storage_of(persistent_id: Items) -> tuple[str, int, str, str, int] | None:
    """The dtype, itemsize, key, device and number of elements in a storage's persistent id, which
    is ("storage", class, key, device, numel); None for any other.
    """
    if (
        not isinstance(persistent_id, Items)
        or len(persistent_id.items) < 5
        or persistent_id.items[0] != "storage"
    ):
        return None
    kind, key, device, numel = persistent_id.items[1:5]
    if (
        not isinstance(kind, Global)
        or type(key) is not str
        or type(device) is not str
        or type(numel) is not int
    ):
        return None
    known = ALLOWED.get((kind.module, kind.name))
    dtype = known.dtype if isinstance(known, StorageClass) else None
    name = dtype.name if dtype is not None else kind.name.removesuffix("Storage").lower()
    return name, ITEMSIZE.get(name, 1), key, device, numel


def integers(node: Items) -> tuple[int, ...] | None:
    """The items of a tuple or list of ints, or of a `torch.Size`; None for another value. Numbers
    are limited, so that sums of products of them stay printable.
    """
    if isinstance(node, Call) and node.function == Global("torch", "Size") and node.arguments:
        node = node.arguments[0]
    if not isinstance(node, Items) or any(
        type(item) is not int or not -(2**62) < item < 2**62 for item in node.items
    ):
        return None
    return tuple(node.items)
