"""The language of kernels: Python functions that a GPU, two simulators and a recorder can run
(`__global__`, `__device__`).

A kernel is the program of *one* thread. It asks `cuda` for its position (`cuda.grid(1)`,
`cuda.threadIdx.x`), reads and writes arrays, and may wait for its block (`cuda.syncthreads()`). The
language is that of `numba.cuda`, so the source compiles for a real GPU as it stands. It is also
plain Python, so the same source can run without a GPU, thread by thread.

    op, T = template("op"), template("T")

    @kernel
    def unary(out, a, n):
        i = cuda.grid(1)
        while i < n:
            out[i] = op(T(a[i]))
            i += cuda.gridsize(1)

    unary.bind(op=exp, T=np.float32)[blocks, threads](out, a, n)

`template` marks a name that `bind` fills in, like a parameter of a C++ template: a device function,
a dtype to compute in, the size of a tile. The device functions that a kernel calls get their own
open names from it (`templates.py`). `cuda` here is only a placeholder, which each executor replaces
by its own object (`interpreter.py`, `compiled.py`).

A kernel may contain whatever both numba compiles and plain Python runs: loops, branches, calls of
device functions, `math`, and numpy's scalar types as casts; of `cuda` the indices, `syncthreads()`
(as a statement of its own), `shared.array`, `local.array` and `atomic`. A literal like 1 is an
int64 to numba, and float32 times int64 gives float64: so constants are written T(1). An operation
that only hardware has, such as a shuffle, needs a second form without it: `by_executor`.

How the real one differs: CUDA C++ marks kernels with `__global__` and helpers with `__device__`,
and nvcc compiles every instance of a template ahead of time; here an instance is compiled when it
is first launched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from internals.core.corrected import corrected
from internals.machine_code.templates import Choice, DeviceFunction, Intrinsic, Template

if TYPE_CHECKING:
    from .launch import Launch

__all__ = [
    "Choice", "DeviceFunction", "Intrinsic", "Kernel", "Template", "by_executor", "cuda",
    "device_function", "kernel", "template",
]  # fmt: skip


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark `function` as the program of a GPU thread."""
    return Kernel(function)


def device_function(function: Callable[..., Any]) -> DeviceFunction:
    """Mark `function` as a function that kernels may call."""
    return DeviceFunction(function)


def template(name: str, default: Any = None) -> Any:
    """A template parameter called `name`, to be assigned to the module's variable of that name. It
    stands for `default` unless it is bound.
    """
    return Template(name, default)


def by_executor(gpu: object, elsewhere: object) -> Any:
    """One name for two device functions or constants: `gpu` if real hardware runs the kernel,
    `elsewhere` on simulators.
    """
    return Choice(gpu, elsewhere)


class Kernel(DeviceFunction):
    """The program of one thread. `kernel[grid, block]` or `kernel[grid, block, stream]` is a
    launch, to be called with arguments.

    `grid` and `block` are ints or tuples of up to three. Arguments: CUDA tensors (seen as
    n-dimensional arrays), `flat(tensor)`, numbers, numpy scalars, tuples of numbers.

    `launch_bounds` is (threads, blocks): it promises the compiler at most so many threads in a
    block, and asks that so many blocks fit on a multiprocessor at once, which limits the registers
    of a thread (`__launch_bounds__`).
    """

    launch_bounds: tuple[int, int] | None = None

    def __getitem__(self, configuration: Any) -> Launch:
        from .launch import Launch

        return Launch(self, configuration)

    def call_text(self) -> str:
        """The parameters as the text of a call, such as "(x, out)"; for messages."""
        code = self.function.__code__  # co_varnames begins with the parameters
        return f"({', '.join(code.co_varnames[: code.co_argcount])})"

    def __call__(self, *args: Any) -> Any:
        call = self.call_text()
        raise RuntimeError(
            corrected(
                f"{self.name} is a kernel: it is launched, with a grid and blocks of threads",
                f"{self.name}{call}",
                f"{self.name}[grid, block]{call}",
            )
        )


class _Placeholder:
    """The name `cuda` in the source of kernels. Used outside a kernel, it raises RuntimeError."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"cuda.{name} is for kernels: inside a function marked @kernel or @device_function"
        )


cuda: Any = _Placeholder()
