"""Launches elementwise kernels with the dtypes and shapes that `TensorIterator` has decided on
(`aten/src/ATen/native/cuda/Loops.cuh`).

On the CPU a `TensorIterator` calls the loop it is given, for example `np.add`. Here `functors.py`
finds the device function for that loop, and a kernel of `kernels/elementwise.py` walks over memory
with it. Operands reach the kernel in two ways. Tensors are read from memory; Python numbers, 0-d
tensors on the CPU and the numbers that `functools.partial` gave the loop become arguments of the
launch. All this depends only on the iterator's decisions. So it is worked out once for each set of
them, in a `_Plan`, and a call needs only addresses and numbers.

Complex numbers have no kernels: their loops run on the CPU, on copies, which counts as a fallback.

How the real one differs: `gpu_kernel` is a template, instantiated for each operation and dtype when
PyTorch is built, complex ones included. An integer divided by zero is 0 here, and there depends on
the hardware; it is an error on neither. If an operator has no kernel for a dtype, the error has the
words of the CPU: "abs_cpu" where PyTorch says "abs_cuda".
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
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, TensorImpl, array, empty, from_array

from .. import backend, fallback
from ..kernels import elementwise as kernels
from ..kernels.functors import functor
from ..language import DeviceFunction, Kernel
from ..launch import Repeated, blocks_for, counted, threads_for
from .copy import walk
from .opmath import opmath_dtype, opmath_type

if TYPE_CHECKING:
    from internals.aten.decisions import Decisions

KERNELS = (kernels.unary, kernels.binary, kernels.ternary)


def run_loop(iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any]) -> None:
    """Fills the output of `iterator` with the results of `loop`. Raises NotImplementedError for a
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
    """A launch prepared for operands of certain geometries.

    `kernel` already has its grid and block, sizes and strides. `elements` are the inputs that the
    threads read from memory, `numbers` those that are arguments of the launch: (position, dtype to
    convert to). `own` names the numbers of the loop itself.
    """

    kernel: Repeated
    elements: tuple[tuple[int, dtype], ...]
    numbers: tuple[tuple[int, dtype], ...]
    own: tuple[str, ...]
    compute: dtype

    def launch(self, output: Tensor, inputs: Sequence[float | Tensor], own: dict[str, Any]) -> None:
        """Launches the kernel; `own` are the keyword arguments of the loop."""
        where = output._geometry.device
        tensors = [output, *[_on_device(inputs[i], d, where) for i, d in self.elements]]
        given = self._given(inputs, own) if self.numbers or self.own else (0,)
        backend.driver().launch_repeated(self.kernel, tensors, given)

    def _given(self, inputs: Sequence[Scalar | Tensor], own: dict[str, Any]) -> tuple[Any, ...]:
        """The numbers of the launch, in the order in which `call` names them."""
        values = [(inputs[i], d) for i, d in self.numbers] + [
            (own[name], self.compute) for name in self.own
        ]
        return tuple([_single(number(_value(x), d)) for x, d in values])


def _plan(iterator: TensorIterator, decisions: Decisions, op: DeviceFunction) -> _Plan:
    """The plan for the operands of `iterator`: kernel, grid, and the way each operand goes."""
    output, inputs, targets = iterator.output, iterator.inputs, decisions.targets
    # parameters of `op` behind the operands are the loop's own numbers, such as `alpha`
    code = op.function.__code__
    own = code.co_varnames[len(inputs) : code.co_argcount]
    elements = [
        i for i, x in enumerate(inputs) if isinstance(x, TensorImpl) and x.device is not CPU
    ]
    call = _call(len(inputs), elements, len(own))
    if call not in kernels.CALLS:  # a rare mixture: the numbers become tensors, too
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

    `common` is the dtype to compute in, `result` that of the operation's result, `out` that of the
    output in memory. Operand i has dtypes[i] in memory and is converted to targets[i].
    """
    names: dict[str, Any] = {
        "op": op,
        "call": kernels.CALLS[call],
        "place": kernels.dense if is_dense else kernels.strided,
        "T": opmath_type(common),
        "R": result.np.type,
        "WORK": _elements_under_way(out, *dtypes),
    }
    for convert, register, d, target in zip("ABC", "XYZ", dtypes, targets):
        names[register] = opmath_type(target)
        # float16 is computed in float32, but an operand must first lose what half cannot hold
        through_half = target is dt.float16 and d is not dt.float16
        names[convert] = kernels.half_to_single if through_half else names[register]
    bound: Kernel = KERNELS[len(dtypes) - 1].bind(**names)
    return counted(bound, numel)


def _call(inputs: int, elements: list[int], own: int) -> str:
    """The key of `kernels.CALLS`: a letter for each element and a digit for each number, in the
    order of the loop's operands, then its own numbers: "ab1" for `add(t, u, alpha=2)`.
    """
    letters, digits = iter("abcdef"), iter("123456789")
    kinds = [letters if i in elements else digits for i in range(inputs)] + [digits] * own
    return "".join(map(next, kinds))


def _on_device(x: Any, d: dtype, where: device) -> Any:
    """`x` as a tensor on `where`: a number becomes a 0-d tensor of dtype `d`."""
    if isinstance(x, TensorImpl) and x._geometry.device is where:
        return x
    return ops.fill__Scalar(empty(geometry((), (), d, where)), _value(x))


def _value(x: Scalar | Tensor) -> Any:
    """A number as a Python number, also from a 0-d tensor on the CPU."""
    return (
        array(x).item()
        if isinstance(x, TensorImpl)
        else x.item()
        if isinstance(x, np.generic)
        else x
    )


def _single(value: Any) -> Any:
    """A half as a float32, in which the kernel computes; other numbers as they are."""
    return np.float32(value) if value.dtype == np.float16 else value


def _elements_under_way(*dtypes: dtype) -> int:
    """The number of elements that a thread has under way: 16 bytes of the widest dtype, but at
    least 4. The narrower they are, the more are needed to keep memory busy.
    """
    return max(4, 16 // max(d.itemsize for d in dtypes))


def _complex(iterator: TensorIterator, decisions: Decisions) -> bool:
    """Whether any dtype is complex: of an operand, of the computation or of the result."""
    dtypes = (
        decisions.common_dtype,
        decisions.result_dtype,
        iterator.output.dtype,
        *decisions.targets,
    )
    return any(d.is_complex for d in dtypes)


def _on_cpu(iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any]) -> None:
    """Runs the numpy loop on the CPU, on copies of its operands, and copies its result to the
    device.
    """
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
