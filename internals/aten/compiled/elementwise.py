"""Elementwise operators on large tensors: the loop that a `TensorIterator` decided on, as machine
code (`aten/src/ATen/native/cpu/Loops.h`).

`run_loop` takes the loop that the operator would run with numpy, looks up the function of one
element for it (`loops.py`), and picks the walk that suits the operands (`walks.py`). All this
depends on the operands' geometries alone, so it is decided once and kept in a `Plan`; a call adds
the addresses.

Operands are converted as they are read, and the result as it is written: they are never copied to
another dtype or to the broadcast shape. Numbers, also those that belong to the loop, are operands
of one element.

How the real one differs: `TensorIterator::for_each` splits the walk over threads and calls the loop
for two dimensions at a time, through a function pointer; operands of another dtype are converted in
a buffer first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.aten.broadcasting import Strides, broadcast_strides, coalesce
from internals.aten.scalar_functions import ScalarFunction, of_loop
from internals.aten.tensor_iterator import number
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import BOOL, dtype
from internals.core.tensor_impl import Tensor, TensorImpl, backed_ptr
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.settings import use_compiled
from internals.machine_code.templates import DeviceFunction

from . import loops, walks
from .entries import machine_code_of

if TYPE_CHECKING:
    from internals.aten.decisions import Decisions
    from internals.aten.tensor_iterator import TensorIterator

WORDS = {
    dt.float32: "f4", dt.float64: "f8", dt.int64: "i8", dt.int32: "i4", dt.int16: "i2",
    dt.int8: "i1", dt.uint8: "u1", dt.bool_: "u1",
}  # fmt: skip
"""What kernels call the dtypes that they know. Bools are read and written as bytes of 0 and 1."""

# the fewest elements for a compiled loop where numpy needs copies or several passes
WORTH_COMPILING = 1 << 15
WORTH_THREADS = 1 << 18  # and where it does not, so that only several threads are quicker
GRAIN = 1 << 16  # the fewest elements that are worth a thread of their own
SHORT = 8  # a row of fewer elements is not worth a loop

MISSING: Any = object()  # no plan has been made yet; None: there is no kernel, so no plan
NONE: frozenset[int] = frozenset()  # no input is the output itself


class Operand(NamedTuple):
    """How a walk reads or writes one operand."""

    word: str  # the dtype in memory, as in `WORDS`
    converted: type  # numpy's type that it is converted to
    strides: Strides  # in elements


class Plan(NamedTuple):
    """A kernel with all its arguments but the addresses."""

    entry: Any
    n: int  # items of work
    grain: int
    numbers: tuple[int, ...]  # sizes and strides
    is_flat: bool  # one dimension, and all operands contiguous or a single number

    def run(self, *addresses: int) -> None:
        """Run the kernel; the output's address comes first."""
        self.entry.parallel(self.n, self.grain, *addresses, *self.numbers)


def run_loop(
    iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any], output: Tensor
) -> bool:
    """Fill `output` with the result of `loop` for the iterator's inputs. False if numpy has to do
    it.
    """
    entry, inputs, g = of_loop(loop), iterator.inputs, output._geometry
    in_place = _in_place(output, inputs)
    if entry is None or in_place is None:
        return False
    loop_numbers = loop.keywords if loop.__class__ is partial else {}  # such as alpha
    key = (entry, in_place)
    plan = decisions.plans.get(key, MISSING)
    if plan is MISSING:
        plan = decisions.plans[key] = plan_for_iterator(
            iterator, decisions, entry, output, in_place
        )
    if plan is None:
        return False
    gains = WORTH_COMPILING
    # numpy does this in one pass over memory, which machine code on one thread cannot beat
    if plan.is_flat and entry.quick:
        if get_num_threads() == 1 and not use_compiled(0, WORTH_THREADS):
            return False
        gains = WORTH_THREADS
    if not use_compiled(g.numel, gains):
        return False
    _run(plan, iterator, decisions, loop_numbers, output, in_place)
    return True


def _run(
    plan: Plan,
    iterator: TensorIterator,
    decisions: Decisions,
    loop_numbers: dict[str, Any],
    output: Tensor,
    in_place: Any,
) -> None:
    """Run the plan with the addresses of output, inputs and the loop's own numbers."""
    common = iterator.common_dtype
    addresses, kept_alive = [backed_ptr(output)], []  # arrays must live until the kernel ends
    for i, (x, target) in enumerate(zip(iterator.inputs, decisions.targets)):
        if isinstance(x, TensorImpl):
            if i not in in_place:
                addresses.append(backed_ptr(x))
        else:
            kept_alive.append(np.asarray(number(x, target)))
            addresses.append(kept_alive[-1].__array_interface__["data"][0])
    for value in loop_numbers.values():
        kept_alive.append(np.asarray(number(value, common)))
        addresses.append(kept_alive[-1].__array_interface__["data"][0])
    plan.run(*addresses)


def plan_for_iterator(
    iterator: TensorIterator,
    decisions: Decisions,
    entry: ScalarFunction,
    output: Tensor,
    in_place: frozenset[int],
) -> Plan | None:
    """The plan for operands of these geometries; None if there is no kernel for them."""
    common, result = iterator.common_dtype, iterator.result_dtype
    function = loops.functor(entry, common.np)
    inputs = iterator.inputs
    targets = decisions.targets
    dtypes = [x.dtype if isinstance(x, TensorImpl) else t for x, t in zip(inputs, targets)]
    if function is None or any(
        d not in WORDS for d in (common, result, output.dtype, *targets, *dtypes)
    ):
        return None
    # to convert a number to a bool is a comparison, not a cast
    if any(t.category == BOOL != d.category for t, d in zip(targets, dtypes)):
        return None
    # the function's arguments are the inputs, then the loop's own numbers
    code = function.function.__code__
    loop_numbers = code.co_argcount - len(inputs)
    if loop_numbers < 0 or code.co_argcount > len(walks.OPERANDS):
        return None
    shape = tuple(output.shape)
    sizes, strides = coalesce(
        shape, [_strides(x, shape) for x in (output, *inputs)], decisions.permutation
    )
    none = (0,) * len(sizes)
    operands = [Operand(WORDS[output.dtype], _number_type(result), strides[0])]
    operands += [
        Operand(WORDS[d], _number_type(t), s) for d, t, s in zip(dtypes, targets, strides[1:])
    ]
    operands += [Operand(WORDS[common], _number_type(common), none)] * loop_numbers
    return plan_for_operands(
        function.bind(T=_number_type(common)), sizes, tuple(operands), in_place
    )


@lru_cache(maxsize=1 << 12)
def plan_for_operands(
    function: DeviceFunction,
    sizes: tuple[int, ...],
    operands: tuple[Operand, ...],
    in_place: frozenset[int] = NONE,
) -> Plan | None:
    """The plan of the kernel that applies `function` to operands of these strides, the output
    first; None if there is none.
    """
    if len(sizes) > walks.RANK:
        return None
    if not sizes:
        sizes, operands = (1,), tuple(x._replace(strides=(1,)) for x in operands)
    kind, order = choose_walk(sizes, [x.strides for x in operands])
    sizes = tuple(sizes[d] for d in order)
    strides = [tuple(x.strides[d] for d in order) for x in operands]
    # operands that have a pointer of their own: the output, and inputs that are not the output
    read = [0, *(i + 1 for i in range(len(operands) - 1) if i not in in_place)]
    entry = _entry(function, operands, strides, kind, read, in_place)
    if entry is None:
        return None
    n, grain, size_numbers = _work(kind, sizes)
    # rows and tiles always have four dimensions; those that are missing have stride 0
    missing = 0 if kind == "flat" else walks.RANK - len(sizes)
    stride_numbers = [s for i in read for s in (0,) * missing + strides[i]]
    is_flat = kind == "flat" and all(s[0] in (0, 1) for s in strides)
    return Plan(entry, n, grain, (*size_numbers, *stride_numbers), is_flat)


def _entry(
    function: DeviceFunction,
    operands: tuple[Operand, ...],
    strides: Sequence[Strides],
    kind: str,
    read: Sequence[int],
    in_place: frozenset[int],
) -> Any:
    """The machine code of the walk `kind` that applies `function`; None if there is none.

    `strides` are in the order of the walk, and `read` are the operands with pointers of their own.
    """
    inputs = walks.OPERANDS[: len(operands) - 1]  # "a", "b", ...
    names = ("out", *inputs)
    # the template parameters of `walks`: OP, R, A, B, ..., OUT_STEP, A_STEP, ...
    bound = {"OP": function, "R": operands[0].converted}
    for name, operand in zip(inputs, operands[1:]):
        bound[name.upper()] = operand.converted
    for i in read:
        step = strides[i][-1]
        bound[f"{names[i].upper()}_STEP"] = step if step in (-1, 0, 1) else walks.ANY
    pointers = [f"*{operands[i].word}" for i in read]
    per_operand = 1 if kind == "flat" else walks.RANK  # strides
    n_numbers = (0 if kind == "flat" else 3) + per_operand * len(read)
    signature = " ".join(pointers + ["i8"] * n_numbers)
    return machine_code_of(walks.walk(kind, len(inputs), in_place).bind(**bound), signature)


def _work(kind: str, sizes: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """(items of work, how many of them are worth a thread, the sizes that the kernel is told).

    An item is an element, a row, or a band of HEIGHT rows; a thread gets at least GRAIN elements.
    """
    if kind == "flat":
        return sizes[0], GRAIN, ()
    # four dimensions, of which the outer ones may be of size 1
    d0, d1, height, width = (1,) * (walks.RANK - len(sizes)) + sizes
    if kind == "rows":
        return d0 * d1 * height, max(1, GRAIN // width), (d1, height, width)
    bands = -(-height // walks.HEIGHT)
    return d0 * d1 * bands, max(1, GRAIN // (width * walks.HEIGHT)), (d1, height, width)


def choose_walk(sizes: tuple[int, ...], strides: Sequence[Strides]) -> tuple[str, list[int]]:
    """(the name of the walk that suits operands of these strides, the output first; the order in
    which it takes the dimensions).
    """
    order = list(range(len(sizes)))
    if len(sizes) == 1:
        return "flat", order
    if sizes[-1] < SHORT:
        # rows of a few elements: better to go along the longest dimension, in steps
        longest = max(order, key=lambda d: sizes[d])
        return "rows", [*(d for d in order if d != longest), longest]
    for s in strides:
        if s[-1] not in (-1, 0, 1):
            # this operand jumps along the rows; if its neighbours lie along d, take squares of both
            for d in order[:-1]:
                if s[d] == 1 and sizes[d] >= SHORT:
                    return "tiles", [*(e for e in order[:-1] if e != d), d, order[-1]]
    return "rows", order


def _in_place(output: Tensor, inputs: Sequence[Any]) -> frozenset[int] | None:
    """The numbers of the inputs that are the output itself. None if an input overlaps with it in
    another way: the loop would read elements that it has already written."""
    same = []
    for i, x in enumerate(inputs):
        if x is output:
            same.append(i)
        elif isinstance(x, TensorImpl) and x._storage is output._storage:
            g, h = x._geometry, output._geometry
            # another tensor object, but the same elements in the same order
            if (
                x._offset == output._offset
                and g.sizes == h.sizes
                and g.strides == h.strides
                and g.dtype is h.dtype
            ):
                same.append(i)
            elif spans_overlap(x, output):
                return None
    return frozenset(same) if same else NONE


def spans_overlap(a: TensorImpl, b: TensorImpl) -> bool:
    """Whether the ranges of memory from the first to the last element of each tensor overlap."""
    (begin_a, end_a), (begin_b, end_b) = _span(a), _span(b)
    return begin_a < end_b and begin_b < end_a


def are_disjoint(written: TensorImpl, *read: TensorImpl) -> bool:
    """Whether `written` shares its storage with none of `read`, and all are on the CPU."""
    return written.device is CPU and all(
        t._storage is not written._storage and t.device is CPU for t in read
    )


def _span(t: TensorImpl) -> tuple[int, int]:
    """The addresses of the first byte and of the one after the last."""
    g = t._geometry
    if not g.numel:
        return 0, 0
    begin = t.data_ptr()
    return begin, begin + g.span * g.dtype.itemsize


def _strides(x: Any, shape: tuple[int, ...]) -> Strides:
    """The strides of x broadcast to `shape`; all 0 for a number."""
    return (
        broadcast_strides(x.shape, x.stride(), shape)
        if isinstance(x, TensorImpl)
        else (0,) * len(shape)
    )


def _number_type(d: dtype) -> type:
    """The type that kernels compute in; bools are bytes to them."""
    return np.uint8 if d.category == BOOL else d.np.type
