"""The types of a node's results, found by calling its operator without data (part of
`torch/csrc/jit/passes/shape_analysis.cpp`).

With tensors on the device "meta", an operator checks its arguments and makes its result by geometry
alone. So its rules need not be written a second time: it is called. In

    aten::mm(Float(*, *), Float(*, 4))

some sizes are not known, so several are tried: first all equal, which suits most operators, then
each larger and smaller by itself. What the results of all successful calls agree on is known:
`Float(*, 4)`. Unknown dtypes and ranks, and non-constant numbers, are tried likewise.

How the real one differs: 1.0.1 ran complete types on zeros, and had lists of schemas for the
others. Today shapes come from running (profiling), from the operators' meta kernels, or from
functions on symbolic sizes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Any, NamedTuple

from internals._generated import ops
from internals.core.device import CPU, META, device as Device
from internals.core.dtype import (
    bool_ as bool_dtype,
    complex64,
    dtype as DType,
    float32,
    float64,
    get_default_dtype,
    int64,
)
from internals.core.grad_mode import set_grad_mode
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import Node, Value
from internals.jit.ir.tensor_type import TensorType
from internals.jit.ir.types import ListType
from internals.jit.operators.registry import accepts, find_operator, find_operators
from internals.jit.passes.overloads import NOT_CONSTANT, constant, overload_of

Slot = tuple[Any, ...]  # an unknown fact about the arguments, as `_slots` yields them
REFUSED, NEEDS_DATA = object(), object()
# Most unknowns that are tried, and the largest number that counts as a size: a larger one just
# means "all", like the end of a slice.
MOST_SLOTS, LARGEST = 64, 1 << 16
# The values that are tried for an unknown dtype, rank or size, and below for an unknown number.
TRIED: dict[str, tuple[Any, ...]] = {
    "dtype": (float32, int64, bool_dtype, float64, complex64),
    "rank": (2, 1, 0, 3, 4, 5),
    "size": (960, 1920, 1, 0),  # 960 has many divisors, so it suits views and chunks
}
NUMBERS: dict[str, tuple[Any, ...]] = {
    "IntType": (1, 0, 2), "FloatType": (1.0, 2.0), "NumberType": (1, 2.0),
    "BoolType": (True, False),
    "int[]": ((1,), (), (1, 1), (2, 2), (1, 1, 1), (2, 2, 2), (1, 1, 1, 1)),
}  # fmt: skip


class Tensor(NamedTuple):
    """The known facts of a tensor. None is unknown: all sizes, or one of them."""

    dtype: DType | None
    sizes: tuple[int | None, ...] | None
    strides: tuple[int, ...] | None


class Open(NamedTuple):
    """A non-constant number, and the values that are tried for it."""

    choices: tuple[Any, ...]


class KnownValue(NamedTuple):
    """A constant. Its class tells True from 1, which are equal as keys."""

    kind: type
    value: Any


def result_types(node: Node) -> list[TensorType] | None:
    """The types of a node's results, as far as they follow from those of its inputs; None if
    nothing is known.
    """
    schema = node.schema()
    names = [a.name for a in schema.arguments] if schema is not None else []
    arguments = [_described(v) for v in node.inputs()]
    # The device does not matter for the shape, so nodes that differ in it share a trial.
    if "device" in names:
        arguments[names.index("device")] = KnownValue(Device, None)
    if any(a is None for a in arguments):
        return None
    try:
        found = tried(overload_of(node), tuple(arguments), get_default_dtype())
    except TypeError:  # a constant that has no hash
        return None
    if found is None or len(found) != node.outputsSize():
        return None
    device = _device(node)
    return [TensorType(t.dtype, device, t.sizes, t.strides) for t in found]


@lru_cache(1 << 12)
def tried(name: str, arguments: tuple[Any, ...], default: DType) -> list[Tensor] | None:
    """The facts that all calls with such arguments agree on; None if there is none. `default` is
    the default dtype, a part of the key: results of ints may depend on it.
    """
    slots = list(_slots(arguments, ()))
    sizes = dict.fromkeys((*TRIED["size"], *_numbers(arguments)))
    values = {
        s: s[-1] if s[0] == "value" else tuple(sizes) if s[0] == "size" else TRIED[s[0]]
        for s in slots
    }
    if len(slots) > MOST_SLOTS:
        return None
    # `base` is the first assignment of values to slots that the operator accepts.
    for base in _beginnings(slots, values):
        first = _call(name, arguments, base)
        if first is NEEDS_DATA:
            return None
        if first is not REFUSED:
            break
    else:
        return None
    found: list[Tensor] = list(first)
    varied: set[Slot] = set()
    for change in _variations(slots, values, base):
        if all(t.dtype is None and t.sizes is None for t in found):
            break
        result = _call(name, arguments, base | change)
        if result is not REFUSED:
            found = [_agreed(a, b) for a, b in zip(found, result)]
            varied |= change.keys()
    # Sizes that cannot be changed alone, since they must be equal: two are changed together.
    stuck = [s for s in slots if s[0] == "size" and s not in varied]
    for change in ({a: v, b: v} for a, b in combinations(stuck, 2) for v in TRIED["size"][1:]):
        result = _call(name, arguments, base | change)
        if result is not REFUSED:
            found = [_agreed(a, b) for a, b in zip(found, result)]
            varied |= change.keys()
    # A slot that was never varied has had only one value, so a result of that size may depend on
    # it. If that value was a guess rather than a size among the arguments, the operator may compute
    # any other size from it, and no size is known.
    fixed = {base[s] for s in slots if s not in varied and s[0] in ("size", "value")}
    guessed = any(s not in varied and (s[0] == "value" or base[s] in TRIED["size"]) for s in slots)
    complete = not slots and all(t.strides is not None for t in arguments if isinstance(t, Tensor))
    return [
        Tensor(
            t.dtype,
            t.sizes and tuple([None if guessed or n in fixed else n for n in t.sizes]),
            t.strides if complete else None,
        )
        for t in found
    ]


def keeps_dtype(node: Node) -> bool:
    """Whether an in-place operator may return a new tensor instead: without its `_` it accepts the
    same arguments, and returns the dtype that is written to. If that dtype is not known, those that
    the in-place operator refuses do not count.
    """
    types: list[Any] = [v.type() for v in node.inputs()]
    given = tuple([TensorType.get() if isinstance(t, TensorType) else t for t in types])
    twins = find_operators(node.kind().removesuffix("_"))
    functional = next((o.name for o in twins if accepts(o.schema, given)), None)
    arguments = [_described(v) for v in node.inputs()]
    if functional is None or any(a is None for a in arguments):
        return False
    # Promotion depends on dtypes, and on which tensors are 0-d; one element stands for any size.
    with_ranks = tuple([_of_ones(a) if isinstance(a, Tensor) else a for a in arguments])
    slots = list(_slots(with_ranks, ()))
    ones = {"dtype": TRIED["dtype"], "rank": (0, 1), "size": (1,)}
    values = [s[-1] if s[0] == "value" else ones[s[0]] for s in slots]
    is_open, kept = types[0].dtype() is None, False
    for choice in product(*values):
        base = dict(zip(slots, choice))
        found = _call(functional, with_ranks, base)
        if found is NEEDS_DATA:
            return False
        if found is not REFUSED and found[0].dtype is (base.get(("dtype", 0)) or types[0].dtype()):
            kept = True
        elif found is not REFUSED:
            in_place = _call(overload_of(node), with_ranks, base)
            if not is_open or in_place is not REFUSED:
                return False
    return kept


def _of_ones(t: Tensor) -> Tensor:
    """The tensor with the size () or (1,), as it is 0-d or not."""
    return Tensor(t.dtype, None if t.sizes is None else (1,) * min(len(t.sizes), 1), None)


def _described(v: Value) -> Any:
    """The known facts of an argument, as a `Tensor`, `Open`, `KnownValue`, or tuple of these for a
    list;
    None if no value of its type can be tried.
    """
    t, node = v.type(), v.node()
    if node.kind() == "prim::ListConstruct":
        inner = tuple([_described(e) for e in node.inputs()])
        return None if None in inner else inner
    value = constant(v)
    # Of a constant tensor only the geometry counts: nodes with other constants share the trial.
    if isinstance(value, TensorImpl):
        return Tensor(value.dtype, tuple(value.shape), value.stride())
    if value is not NOT_CONSTANT:
        return KnownValue(value.__class__, tuple(value) if isinstance(value, list) else value)
    if isinstance(t, TensorType):
        sizes, strides = t.varyingSizes(), t.strides() if t.sizes() is not None else None
        return Tensor(
            t.dtype(),
            None if sizes is None else tuple(sizes),
            None if strides is None else tuple(strides),
        )
    kind = str(t) if isinstance(t, ListType) else t.kind()
    return (
        Open(NUMBERS[kind])
        if kind in NUMBERS
        else KnownValue(Device, None)
        if kind == "DeviceObjType"
        else None
    )


def _slots(x: Any, at: tuple[int, ...]) -> Iterator[Slot]:
    """All unknowns of an argument: ("dtype", *at), ("rank", *at), ("size", *at, dimension) and
    ("value", *at, choices). `at` is the number of the argument, and for a list that of the element.
    Dimension -1 stands for all, where the rank is unknown.
    """
    if isinstance(x, Open):
        yield "value", *at, x.choices
    elif isinstance(x, Tensor):
        if x.dtype is None:
            yield "dtype", *at
        if x.sizes is None:
            yield from (("rank", *at), ("size", *at, -1))
        else:
            yield from (("size", *at, d) for d, n in enumerate(x.sizes) if n is None)
    elif not isinstance(x, KnownValue):
        for i, part in enumerate(x):
            yield from _slots(part, (*at, i))


def _numbers(x: Any) -> Iterator[int]:
    """All sizes and numbers among the arguments: an unknown size may have to be one of them."""
    if isinstance(x, Tensor):
        yield from (n for n in x.sizes or () if n is not None)
    elif isinstance(x, KnownValue):
        values = x.value if isinstance(x.value, tuple) else (x.value,)
        yield from (n for n in values if n.__class__ is int and 0 < n < LARGEST)
    elif not isinstance(x, Open):
        for part in x:
            yield from _numbers(part)


def _beginnings(slots: Sequence[Slot], values: dict[Slot, Any]) -> Iterator[dict[Slot, Any]]:
    """Assignments in which all slots of a kind have the same value; then those in which one size
    is 1.
    """
    sizes = [s for s in slots if s[0] == "size"]
    groups = [[s for s in slots if s[0] == kind] for kind in ("dtype", "rank")]
    groups += [sizes, *([s] for s in slots if s[0] == "value")]
    joint = [[dict.fromkeys(group, v) for v in values[group[0]]] for group in groups if group]
    for parts in product(*joint):
        yield {slot: v for part in parts for slot, v in part.items()}
    if len(sizes) == len(slots):
        for n, slot in product(values[sizes[0]] if sizes else (), sizes):
            yield dict.fromkeys(sizes, n) | {slot: 1}


def _variations(
    slots: Sequence[Slot], values: dict[Slot, Any], base: dict[Slot, Any]
) -> Iterator[dict[Slot, Any]]:
    """The changes to `base` to try: all slots of a kind together, then each by itself."""
    for kind in ("dtype", "rank", "size"):
        group = [s for s in slots if s[0] == kind]
        if len(group) > 1:
            yield from (dict.fromkeys(group, v) for v in TRIED[kind] if v != base[group[0]])
    for slot in slots:
        yield from ({slot: v} for v in values[slot] if v != base[slot])


def _call(name: str, arguments: tuple[Any, ...], assignment: dict[Slot, Any]) -> Any:
    """The facts of an operator's results without data; `REFUSED` if it raises an error, and
    `NEEDS_DATA` if it has no kernel for "meta" or returns something other than tensors.
    """
    was = set_grad_mode(False)
    try:
        values = [_stand_in(a, (i,), assignment) for i, a in enumerate(arguments)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = find_operator(name).fn(*values)
    except NotImplementedError as error:
        return NEEDS_DATA if "'Meta' backend" in str(error) else REFUSED
    except Exception:  # whatever it says: the node may be in an arm that is never taken
        return REFUSED
    finally:
        set_grad_mode(was)
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(r, TensorImpl) and r.device is META for r in results):
        return NEEDS_DATA
    return tuple([Tensor(r.dtype, tuple(r._geometry.sizes), r.stride()) for r in results])


def _stand_in(x: KnownValue | Tensor, at: tuple[int, ...], assignment: dict[Slot, Any]) -> Any:
    """The argument for one call, with its unknowns from `assignment`. Tensors, and devices, are
    "meta".
    """
    if isinstance(x, Open):
        value = assignment["value", *at, x.choices]
        return list(value) if isinstance(value, tuple) else value
    if isinstance(x, Tensor):
        dtype = x.dtype or assignment["dtype", *at]
        if x.sizes is None:
            sizes = [assignment["size", *at, -1]] * assignment["rank", *at]
        else:
            sizes = [assignment["size", *at, d] if n is None else n for d, n in enumerate(x.sizes)]
        if x.strides is not None:
            return ops.empty_strided(sizes, x.strides, dtype, None, META, None)
        return ops.empty_memory_format(sizes, dtype, None, META, None, None)
    if isinstance(x, KnownValue):
        return list(x.value) if x.kind is list else META if x.kind is Device else x.value
    return [_stand_in(part, (*at, i), assignment) for i, part in enumerate(x)]


def _agreed(a: Tensor, b: Tensor) -> Tensor:
    """The facts that two results have in common."""
    sizes = None
    if a.sizes is not None and b.sizes is not None and len(a.sizes) == len(b.sizes):
        sizes = tuple([n if n == m else None for n, m in zip(a.sizes, b.sizes)])
    return Tensor(a.dtype if a.dtype is b.dtype else None, sizes, None)


def _device(node: Node) -> Device | None:
    """The device of the results: that of the argument `device`, or else of the tensors; None if it
    is not known.
    """
    schema = node.schema()
    names = [a.name for a in schema.arguments] if schema is not None else []
    asked = constant(node.inputs()[names.index("device")]) if "device" in names else None
    if asked is not None:
        return asked if isinstance(asked, Device) else None
    tensors = [v for v in _leaves(node.inputs()) if isinstance(v.type(), TensorType)]
    devices = {v.type().device() for v in tensors}  # type: ignore[attr-defined]
    return CPU if not devices else devices.pop() if len(devices) == 1 else None


def _leaves(values: Sequence[Value]) -> Iterator[Value]:
    """The values, with the elements of a list that is made for the call in place of the list."""
    for v in values:
        if v.node().kind() == "prim::ListConstruct":
            yield from v.node().inputs()
        else:
            yield v
