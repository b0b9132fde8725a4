"""Runs the source of a kernel on the CPU: block after block, thread after thread, with real
barriers.

Between two barriers the threads of a block do not depend on each other, so they may run one after
the other. In a kernel with barriers a thread is a Python generator: `cuda.syncthreads()` becomes a
`yield`, and a round of `next` over all threads takes the block to its next barrier. A shuffle is a
`yield` too, at which the 32 threads of a warp wait for each other; kernels do without shuffles
unless `hardware_forms()`, or INTERNALS_CUDA_FORMS=hardware, asks for them. Nothing else about the
source changes, and it keeps its line numbers, so that an error points at the line of the kernel.

You can watch every access: with an `observer`, arrays report which thread reads or writes which
element (`observer.py`). Without one the arguments still check every index, as NVIDIA's
compute-sanitizer does.

How the real one differs: a GPU runs 32 threads in lock step and thousands of them at once; two that
touch the same element without a barrier in between do so in any order. numba's simulator has the
same purpose as this interpreter, and uses a thread of the operating system for each thread of the
GPU: as exact, but a hundred times slower."""

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
from internals.core.tensor_impl import Array
from internals.machine_code.templates import Choice, DeviceFunction, Intrinsic

from .device_array import DeviceArray
from .driver import CudaError, IllegalMemoryAccess
from .observer import Observer
from .registers import DeviceMath, Dim3, Registers
from .warp import SHUFFLES, Request, exchange

if TYPE_CHECKING:
    from internals.cuda.simulator.memory import AddressSpace

# threads that have not ended, each with the generator that runs the rest of its program
Warp = list[tuple[Dim3, Iterator[Any]]]

# in the environment: with "hardware" the whole program is inside hardware_forms()
VARIABLE = "INTERNALS_CUDA_FORMS"
WAITING = frozenset({"syncthreads", *SHUFFLES})  # names that make a function a generator

_lock = threading.RLock()  # one launch at a time, as the registers are shared
_registers = Registers()
_math = DeviceMath()
_hardware = os.environ.get(VARIABLE) == "hardware"


@contextmanager
def hardware_forms() -> Iterator[None]:
    """Run kernels in the forms for a GPU (`by_executor`), such as those with shuffles. They are
    slower here; use them to test that they work.

    The form is chosen when a kernel runs, not when it is queued: on the simulated device, wait for
    it before the block ends (`torch.cuda.synchronize()`).
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
    """Run every thread of a launch. `memory.view(pointer, nbytes)` gives the bytes at a pointer.

    Raises IllegalMemoryAccess for an index outside an array, and CudaError for a failed assertion
    or for threads of a block that wait at different barriers. Both name the kernel, the block and
    the thread.
    """
    # inf and NaN are results like others on a GPU: numpy must not warn of them
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
        # x changes fastest, so that each run of 32 threads is a warp
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
            # a mistake in the source: a name that is not defined, a type that does not fit
            error.add_note(f"in {_place(kernel)}")
            raise


def _run_through(
    function: Callable[..., Any], values: list[Any], threads: list[Dim3], observer: Observer | None
) -> None:
    """Run a block without barriers: each thread runs from beginning to end."""
    registers = _registers
    for thread in threads:
        registers.threadIdx = thread
        if observer is not None:
            observer.begin_thread(thread, 0)
        function(*values)


def _run_waiting(
    function: Callable[..., Any], values: list[Any], threads: list[Dim3], observer: Observer | None
) -> None:
    """Run a block with barriers: in each phase every warp runs to the next barrier, until all
    threads have ended.
    """
    lanes = _registers.warpsize
    warps = [
        [(t, function(*values)) for t in threads[i : i + lanes]]
        for i in range(0, len(threads), lanes)
    ]
    phase = 0
    while any(warps):
        barrier: list[int] = []  # at most one: the line at which all threads must wait
        warps = [_to_barrier(warp, barrier, phase, observer) for warp in warps]
        phase += 1


def _to_barrier(warp: Warp, barrier: list[int], phase: int, observer: Observer | None) -> Warp:
    """Run the threads of a warp to the next barrier, and exchange values at shuffles on the way.
    Returns the threads that wait there; the others have ended.

    `barrier` gets the line of the barrier when the first thread of the block arrives. Raises
    CudaError if another thread waits at another line.
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
            if wait is None:  # the thread has ended
                continue
            if wait.__class__ is Request:  # a shuffle; otherwise `wait` is the line of a barrier
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
        warp = shuffling  # those go on, with the values that they asked for
    return waiting


class CheckedArray:
    """An array as a thread sees it. Every index outside of it raises IndexError, negative ones too:
    in Python those would count from the end.
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
    """The form of a kernel or device function that this interpreter runs."""

    function: Callable[..., Any]
    waits: bool  # whether it has a barrier or a shuffle, so that calling it gives a generator


_cache: dict[tuple[DeviceFunction, bool], _Lowered] = {}


def lowered(instance: DeviceFunction) -> _Lowered:
    """The Python function to run for `instance`, with the globals that its names stand for in this
    interpreter.
    """
    found = _cache.get((instance, _hardware))
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
                if inner.waits:  # it is a generator: its calls become `yield from`
                    suspending.add(name)
            meanings[name] = _math if value is math else value
        meanings["cuda"] = _registers
        waits = bool(suspending) or not WAITING.isdisjoint(instance.function.__code__.co_names)
        make = _with_yields if waits else _rebound
        found = _cache[instance, _hardware] = _Lowered(
            make(instance.function, meanings, suspending), waits
        )
    return found


def _rebound(
    function: Callable[..., Any], meanings: dict[str, Any], suspending: set[str]
) -> Callable[..., Any]:
    """The same code with other globals. `suspending` is empty: the function does not wait."""
    # names from an enclosing function are not globals but cells
    cells = tuple(types.CellType(meanings[n]) for n in function.__code__.co_freevars)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__, **meanings}
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )


def _with_yields(
    function: Callable[..., Any], meanings: dict[str, Any], suspending: set[str]
) -> Callable[..., Any]:
    """The same source with its barriers and shuffles replaced by `yield`, compiled anew with its
    own line numbers.
    """
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        raise TypeError(
            f"a function that waits at a barrier must be written with def: {function.__name__}"
        )
    # decorators and annotations would be evaluated again, among globals that lack their names
    definition.decorator_list = []
    definition.returns = None
    for argument in definition.args.args:
        argument.annotation = None
    ast.increment_lineno(tree, first - 1)
    _Barriers(suspending).visit(tree)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__, **meanings}
    exec(compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec"), scope)
    rewritten: Callable[..., Any] = scope[function.__name__]
    return rewritten


class _Barriers(ast.NodeTransformer):
    """Rewrites `cuda.syncthreads()` to `yield LINE`, and `f(...)` to `(yield from f(...))` for
    device functions that wait and for shuffles, which get their line as the first argument.
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
    """A thread's view of an argument: an array over the bytes in memory, or the number itself."""
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
    """`error` with the kernel, block and thread where it happened. IndexError and AssertionError
    become CUDA's errors for them.
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
    """The running kernel, block and thread as text."""
    block, thread = tuple(_registers.blockIdx), tuple(_registers.threadIdx)
    return f"kernel {kernel.name}, block {block}, thread {thread}"
