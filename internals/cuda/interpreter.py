"""A kernel's own source, run on the CPU: block after block, thread after thread, with real
barriers.

Between two barriers the threads of a block do not depend on each other, so they may run one after
the other. A thread is a Python generator: `cuda.syncthreads()` becomes a `yield`, and a block is a
round of `next` over its threads until all are done. A shuffle is a `yield` too, at which the 32
threads of a warp wait for each other; kernels do without unless `hardware_forms()`, or
INTERNALS_CUDA_FORMS=hardware, asks for them. Nothing else about the source changes, and its line
numbers stay, so that an error points at the line of the kernel.

Whoever wants to look gets to see every access: with an `observer`, arrays tell it who reads and
writes which element (`observer.py`). Without one the arguments still check every index, as NVIDIA's
compute-sanitizer does.

How the real one differs: a GPU runs 32 threads in lock step and thousands of them at once, and two
of them that touch the same element without a barrier in between do so in any order. numba's
simulator has the same purpose and uses a thread of the operating system for each thread of the GPU:
exact as well, a hundred times slower."""

from __future__ import annotations

import ast
import inspect
import math
import os
import textwrap
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.core.corrected import corrected
from internals.machine_code.templates import Choice, DeviceFunction, Intrinsic

from .device_array import DeviceArray
from .driver import CudaError, IllegalMemoryAccess
from .observer import Observer
from .registers import DeviceMath, Dim3, Registers
from .warp import SHUFFLES, Request, exchange

if TYPE_CHECKING:
    from internals.core.tensor_impl import Array
    from internals.cuda.simulator.memory import AddressSpace

# threads that are not done, each with the rest of its program
Warp = list[tuple[Dim3, Iterator[Any]]]

# in the environment: "hardware" is hardware_forms() from beginning to end
VARIABLE = "INTERNALS_CUDA_FORMS"
WAITING = frozenset({"syncthreads", *SHUFFLES})

_lock = threading.RLock()
_registers = Registers()
_math = DeviceMath()
_hardware = os.environ.get(VARIABLE) == "hardware"


@contextmanager
def hardware_forms() -> Iterator[None]:
    """Run kernels in the forms for a GPU (`by_executor`), such as shuffles. They are slower here;
    that they work is what counts.

    It is about kernels as they run: on the simulated device, wait for it before the end
    (`torch.cuda.synchronize()`).
    """
    global _hardware
    before, _hardware = _hardware, True
    try:
        yield
    finally:
        _hardware = before


def run(
    kernel: DeviceFunction,
    grid: Sequence[int],
    block: Sequence[int],
    args: tuple[Any, ...],
    memory: Any,
    observer: Observer | None = None,
) -> None:
    """Run every thread of a launch. `memory` gives the bytes behind a pointer:
    `memory.view(pointer, nbytes)`.

    Raises IllegalMemoryAccess for an index outside an array, and CudaError for a failed assertion,
    or for threads of a block that wait at different barriers; both name the kernel, the block and
    the thread.
    """
    with _lock, np.errstate(all="ignore"):
        function, waits = lowered(kernel)
        names = inspect.signature(kernel.function).parameters
        if len(names) != len(args):
            raise TypeError(
                f"kernel {kernel.name} takes {len(names)} arguments ({', '.join(names)}), got "
                f"{len(args)}"
            )
        values = [_value(a, memory, n, observer) for n, a in zip(names, args)]
        _registers.begin_launch(grid, block, observer)
        threads = [
            Dim3(x, y, z) for z, y, x in product(range(block[2]), range(block[1]), range(block[0]))
        ]
        try:
            for z, y, x in product(range(grid[2]), range(grid[1]), range(grid[0])):
                _registers.begin_block(Dim3(x, y, z))
                if observer is not None:
                    observer.begin_block((x, y, z))
                (_run_waiting if waits else _run_through)(function, values, threads, observer)
        except (IndexError, AssertionError, CudaError) as error:
            raise _located(error, kernel) from error
        except Exception as error:
            # a slip in the source: a name that is not defined, a type that does not fit
            error.add_note(f"in {_place(kernel)}")
            raise


def _run_through(
    function: Callable[..., Any], values: list[Any], threads: list[Dim3], observer: Observer | None
) -> None:
    """A block without barriers: each thread runs from beginning to end."""
    registers = _registers
    for thread in threads:
        registers.threadIdx = thread
        if observer is not None:
            observer.begin_thread(thread, 0)
        function(*values)


def _run_waiting(
    function: Callable[..., Any], values: list[Any], threads: list[Dim3], observer: Observer | None
) -> None:
    """A block with barriers: each warp runs to the next one; when all that are left have arrived,
    they go on.
    """
    lanes = _registers.warpsize
    warps = [
        [(t, function(*values)) for t in threads[i : i + lanes]]
        for i in range(0, len(threads), lanes)
    ]
    phase = 0
    while any(warps):
        barrier: list[int] = []
        warps = [_to_barrier(warp, barrier, phase, observer) for warp in warps]
        phase += 1


def _to_barrier(warp: Warp, barrier: list[int], phase: int, observer: Observer | None) -> Warp:
    """Run the threads of a warp to the next barrier, exchanging what they shuffle on the way; those
    that wait there.

    `barrier` has the line of the barrier once a thread has come to one.
    """
    registers = _registers
    waiting: Warp = []
    while warp:
        shuffling: Warp = []
        requests: list[Request] = []
        for thread, steps in warp:
            registers.threadIdx = thread
            if observer is not None:
                observer.begin_thread(thread, phase)
            wait = next(steps, None)
            if wait is None:
                continue
            if wait.__class__ is Request:
                shuffling.append((thread, steps))
                requests.append(wait)
                continue
            if not barrier:
                barrier.append(wait)
            elif wait != barrier[0]:
                raise CudaError(
                    corrected(
                        f"threads of one block wait at different barriers, in lines {barrier[0]} "
                        f"and {wait}: each thread of a block has to reach the same one",
                        "if i < n: cuda.syncthreads()",
                        "cuda.syncthreads()  # outside of the if",
                    )
                )
            waiting.append((thread, steps))
        exchange(requests)
        warp = shuffling
    return waiting


class CheckedArray:
    """An array as a thread sees it. An index outside of it raises IndexError; there is no counting
    from the end.
    """

    __slots__ = ("data", "shape", "size", "ndim", "dtype")

    def __init__(self, data: Array) -> None:
        self.data, self.shape, self.size, self.ndim, self.dtype = (
            data,
            data.shape,
            data.size,
            data.ndim,
            data.dtype,
        )

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is tuple:
            if min(index) < 0:
                raise IndexError(f"index {index} is negative")
        elif index < 0:
            raise IndexError(f"index {index} is negative")
        return self.data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if index.__class__ is tuple:
            if min(index) < 0:
                raise IndexError(f"index {index} is negative")
        elif index < 0:
            raise IndexError(f"index {index} is negative")
        self.data[index] = value

    def __len__(self) -> int:
        return len(self.data)


class _Lowered(NamedTuple):
    function: Callable[..., Any]
    waits: bool  # whether there is a barrier in it, so that calling it gives a generator


_done: dict[tuple[DeviceFunction, bool], _Lowered] = {}


def lowered(instance: DeviceFunction) -> _Lowered:
    """The Python function to run for `instance`, its names bound to what they mean on this
    executor.
    """
    found = _done.get((instance, _hardware))
    if found is None:
        meanings: dict[str, Any] = {}
        suspending = set()
        for name in instance.names():
            value = instance.meaning(name)
            if isinstance(value, Choice):
                value = value.gpu if _hardware else value.elsewhere
            if isinstance(value, Intrinsic):
                value = value.elsewhere
            if isinstance(value, DeviceFunction):
                inner = lowered(value)
                value = inner.function
                if inner.waits:
                    suspending.add(name)
            meanings[name] = _math if value is math else value
        meanings["cuda"] = _registers
        waits = bool(suspending) or not WAITING.isdisjoint(instance.function.__code__.co_names)
        make = _with_yields if waits else _rebound
        found = _done[instance, _hardware] = _Lowered(
            make(instance.function, meanings, suspending), waits
        )
    return found


def _rebound(
    function: Callable[..., Any], meanings: dict[str, Any], suspending: set[str]
) -> Callable[..., Any]:
    """The same code with other globals."""
    cells = tuple(types.CellType(meanings[n]) for n in function.__code__.co_freevars)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__, **meanings}
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )


def _with_yields(
    function: Callable[..., Any], meanings: dict[str, Any], suspending: set[str]
) -> Callable[..., Any]:
    """The same source with its barriers and shuffles made into `yield`, compiled with its own line
    numbers.
    """
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(
            f"a function that waits at a barrier must be written with def: {function.__name__}"
        )
    definition.decorator_list = []
    definition.returns = None
    for argument in definition.args.args:
        argument.annotation = None
    ast.increment_lineno(tree, first - 1)
    _Barriers(suspending).visit(tree)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__, **meanings}
    exec(compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec"), scope)
    made: Callable[..., Any] = scope[function.__name__]
    return made


class _Barriers(ast.NodeTransformer):
    """`cuda.syncthreads()` → `yield LINE`; `f(...)` → `(yield from f(...))` for device functions
    that wait, and for shuffles.
    """

    def __init__(self, suspending: set[str]) -> None:
        self.suspending = suspending

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "syncthreads":
            return ast.copy_location(ast.Yield(ast.Constant(node.lineno)), node)
        if isinstance(called, ast.Attribute) and called.attr in SHUFFLES:
            node.args.insert(0, ast.copy_location(ast.Constant(node.lineno), node))
            return ast.copy_location(ast.YieldFrom(node), node)
        if isinstance(called, ast.Name) and called.id in self.suspending:
            return ast.copy_location(ast.YieldFrom(node), node)
        return node


def _value(argument: object, memory: AddressSpace, name: str, observer: Observer | None) -> Any:
    """What a thread gets for an argument of the launch."""
    if not isinstance(argument, DeviceArray):
        return argument
    n = argument.dtype.itemsize
    strides = [s * n for s in argument.strides]
    data = np.ndarray(
        argument.sizes,
        argument.dtype.np,
        memory.view(argument.pointer, argument.nbytes),
        0,
        strides,
    )
    return CheckedArray(data) if observer is None else observer.array(name, data, argument)


def _located(error: Exception, kernel: DeviceFunction) -> Exception:
    """`error`, saying where it happened; asserts and bad indices under the names CUDA has for
    them.
    """
    where = _place(kernel)
    if isinstance(error, IndexError):
        return IllegalMemoryAccess(
            f"CUDA error: an illegal memory access was encountered\n{where}: {error}"
        )
    if isinstance(error, AssertionError):
        return CudaError(
            f"CUDA error: device-side assert triggered\n{where}: {error or 'assertion failed'}"
        )
    return type(error)(f"{error}\n{where}")


def _place(kernel: DeviceFunction) -> str:
    block, thread = tuple(_registers.blockIdx), tuple(_registers.threadIdx)
    return f"kernel {kernel.name}, block {block}, thread {thread}"
