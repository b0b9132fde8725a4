"""Elementwise operators on the device: `TensorIterator` decides, and this launches
(`aten/src/ATen/native/cuda/Loops.cuh`).

On the CPU a `TensorIterator` calls the loop it is given, `np.add` say. Here `functors.py` says
which function of the device that is, and one of the kernels of `kernels/elementwise.py` walks over
memory with it. What is left to settle is how the operands get there: tensors come first; Python
numbers and 0-d tensors of the CPU become arguments of the launch, as do the numbers that
`functools.partial` gave the loop. All this depends on the decisions alone. So it is settled once
for each of them, in a `_Plan`, and a call needs no more than addresses and numbers.

Complex numbers have no kernels: their loops run on the CPU, on copies, which counts as a fallback.

How the real one differs: `gpu_kernel` is a template, instantiated for each operation and dtype when
PyTorch is built, complex ones included. An integer divided by zero is 0 here, and whatever the
hardware makes of it there: an error on neither. A dtype that an operator has no kernel for is
refused in the words of the CPU, "abs_cpu" where PyTorch says "abs_cuda".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals._generated import ops
from internals.aten.scalar_functions import name_of, of_loop
from internals.aten.tensor_iterator import TensorIterator, number
from internals.core import dtype as dt
from internals.core.device import CPU, device
from internals.core.dtype import dtype
from internals.core.geometry import geometry
from internals.core.tensor_impl import TensorImpl, array, empty, from_array

from .. import backend, fallback
from ..kernels import elementwise as kernels
from ..kernels.functors import functor
from ..language import DeviceFunction, Kernel
from ..launch import Repeated, blocks_for, counted, threads_for
from .copy import walk
from .opmath import opmath_dtype, opmath_type

if TYPE_CHECKING:
    from internals._tensor import Tensor
    from internals.aten.decisions import Decisions
    from internals.core.scalar import Scalar

KERNELS = (kernels.unary, kernels.binary, kernels.ternary)


def run_loop(iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any]) -> None:
    """Fill the output of `iterator` with what `loop` would give. Raises NotImplementedError for a
    loop without a kernel.
    """
    entry = of_loop(loop)
    plan = decisions.plans.get(entry)
    if plan is None:
        if _complex(iterator, decisions):
            return _on_cpu(iterator, decisions, loop)
        plan = decisions.plans[entry] = _plan(
            iterator, decisions, functor(loop, decisions.common_dtype)
        )
    own = loop.keywords if loop.__class__ is partial else {}
    plan.launch(iterator.output, iterator.inputs, own)


class _Plan(NamedTuple):
    """How a loop runs for operands of certain geometries.

    `kernel` has its grid and block already, and its sizes and strides. `elements` and `numbers` say
    which of the inputs the threads read from memory and which come with the launch, and the dtype
    that each is converted to; `own` names the numbers of the loop itself.
    """

    kernel: Repeated
    elements: tuple[tuple[int, dtype], ...]
    numbers: tuple[tuple[int, dtype], ...]
    own: tuple[str, ...]
    compute: dtype

    def launch(self, output: Tensor, inputs: Sequence[float | Tensor], own: dict[str, Any]) -> None:
        where = output._geometry.device
        tensors = [output, *[_on_device(inputs[i], d, where) for i, d in self.elements]]
        given = self._given(inputs, own) if self.numbers or self.own else (0,)
        backend.driver().launch_again(self.kernel, tensors, given)

    def _given(self, inputs: Sequence[Scalar | Tensor], own: dict[str, Any]) -> tuple[Any, ...]:
        values = [(inputs[i], d) for i, d in self.numbers] + [
            (own[name], self.compute) for name in self.own
        ]
        return tuple([_single(number(_value(x), d)) for x, d in values])


def _plan(iterator: TensorIterator, decisions: Decisions, op: DeviceFunction) -> _Plan:
    output, inputs, targets = iterator.output, iterator.inputs, decisions.targets
    code = op.function.__code__
    own = code.co_varnames[len(inputs) : code.co_argcount]
    elements = [
        i for i, x in enumerate(inputs) if isinstance(x, TensorImpl) and x.device is not CPU
    ]
    call = _call(len(inputs), elements, len(own))
    if call not in kernels.CALLS:  # a rare mixture: the numbers become elements, too
        elements = list(range(len(inputs)))
        call = _call(len(inputs), elements, len(own))
    operands = [_on_device(inputs[i], targets[i], output.device) for i in elements]
    sizes, strides = walk(output, *operands)
    bound = instance(
        op, call, decisions.common_dtype, decisions.result_dtype, [x.dtype for x in operands],
        [targets[i] for i in elements], output.dtype,
        len(sizes) == 1 and all(s == (1,) for s in strides), output.numel(),
    )  # fmt: skip
    steps = -(-output.numel() // _elements_under_way(output.dtype, *(x.dtype for x in operands)))
    threads = threads_for(steps)
    numbers = [i for i in range(len(inputs)) if i not in elements]
    return _Plan(
        kernel=Repeated(
            bound[blocks_for(steps, threads), threads], output.numel(), sizes, *strides
        ),
        elements=tuple((i, targets[i]) for i in elements),
        numbers=tuple((i, targets[i]) for i in numbers),
        own=tuple(own),
        compute=opmath_dtype(decisions.common_dtype),
    )


def instance(
    op: DeviceFunction,
    call: str,
    common: dtype,
    result: dtype,
    dtypes: list[dtype],
    targets: list[dtype],
    out: dtype,
    is_dense: bool,
    numel: int,
) -> Kernel:
    """The kernel for `op`, with every template parameter filled in.

    `common` is the dtype to compute in, `result` that of what comes out, `out` that of the output
    in memory; each element is read as one of `dtypes` and converted to one of `targets`.
    """
    names: dict[str, Any] = {
        "op": op,
        "call": kernels.CALLS[call],
        "place": kernels.dense if is_dense else kernels.strided,
        "T": opmath_type(common),
        "R": result.np.type,
        "WORK": _elements_under_way(out, *dtypes),
    }
    for convert, kept, d, target in zip("ABC", "XYZ", dtypes, targets):
        names[kept] = opmath_type(target)
        through_half = target is dt.float16 and d is not dt.float16
        names[convert] = kernels.half_to_single if through_half else names[kept]
    bound: Kernel = KERNELS[len(dtypes) - 1].bind(**names)
    return counted(bound, numel)


def _call(inputs: int, elements: list[int], own: int) -> str:
    """The key of `kernels.CALLS`: a letter for each element and a digit for each number, in the
    order of the loop's operands.
    """
    letters, digits = iter("abcdef"), iter("123456789")
    kinds = [letters if i in elements else digits for i in range(inputs)] + [digits] * own
    return "".join(map(next, kinds))


def _on_device(x: Any, d: dtype, where: device) -> Any:
    """`x` as a tensor on `where`: a number becomes one of a single element."""
    if isinstance(x, TensorImpl) and x._geometry.device is where:
        return x
    return ops.fill__Scalar(empty(geometry((), (), d, where)), _value(x))


def _value(x: Scalar | Tensor) -> Any:
    """A number as Python has it, also from a 0-d tensor on the CPU."""
    return (
        array(x).item()
        if isinstance(x, TensorImpl)
        else x.item()
        if isinstance(x, np.generic)
        else x
    )


def _single(value: Any) -> Any:
    return np.float32(value) if value.dtype == np.float16 else value


def _elements_under_way(*dtypes: dtype) -> int:
    """So many elements for a thread that there are 16 bytes of the widest: the narrower they are,
    the more keep memory busy.
    """
    return max(4, 16 // max(d.itemsize for d in dtypes))


def _complex(iterator: TensorIterator, decisions: Decisions) -> bool:
    dtypes = (
        decisions.common_dtype,
        decisions.result_dtype,
        iterator.output.dtype,
        *decisions.targets,
    )
    return any(d.is_complex for d in dtypes)


def _on_cpu(iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any]) -> None:
    """The numpy loop, on copies of its operands; what it gives is copied to the device."""
    fallback.count_loop(f"{name_of(loop)} of {decisions.common_dtype.name}")
    output = iterator.output
    operands = []
    for x, target in zip(iterator.inputs, decisions.targets):
        if isinstance(x, TensorImpl):
            copied = ops._to_copy(x, None, None, CPU, None, False, None)
            operands.append(np.broadcast_to(array(copied).astype(target.np), tuple(output.shape)))
        else:
            operands.append(number(x, target))
    result = np.empty(tuple(output.shape), decisions.result_dtype.np)
    with np.errstate(all="ignore"):
        loop(*operands, out=result)
    ops.copy_(output, from_array(result), False)
