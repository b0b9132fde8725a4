"""What a kernel is written in: Python functions that a GPU, two simulators and a recorder can run
(`__global__`, `__device__`).

A kernel is the program of *one* thread. It asks `cuda` who it is (`cuda.grid(1)`,
`cuda.threadIdx.x`), reads and writes arrays, and may wait for its block (`cuda.syncthreads()`). The
language is that of `numba.cuda`, so that the source compiles for a real GPU as it stands; and it is
Python, so that the same source can be run, thread by thread, where there is none.

    op, T = template("op"), template("T")

    @kernel
    def unary(out, a, n):
        i = cuda.grid(1)
        while i < n:
            out[i] = op(T(a[i]))
            i += cuda.gridsize(1)

    unary.bind(op=exp, T=np.float32)[blocks, threads](out, a, n)

`template` marks a name that is filled in by `bind`, like the parameters of a C++ template: a
function of the device, a dtype to compute in, the size of a tile. The device functions that a
kernel calls get what they leave open from it (`templates.py`). `cuda` here is only a name; each
executor puts its own in its place (`interpreter.py`, `compiled.py`).

What may stand in a kernel is what numba compiles and plain Python runs: loops, branches, calls of
device functions, `math`, and numpy's scalar types as casts; of `cuda` the indices, `syncthreads()`
(a statement of its own), `shared.array`, `local.array` and `atomic`. A literal like 1 is an int64
to numba, and float32 times int64 gives float64: so constants are written T(1). What only hardware
can do, such as shuffles, has a second form beside it that does without: `by_executor`.

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
    """Mark `function` as one that kernels call."""
    return DeviceFunction(function)


def template(name: str, default: Any = None) -> Any:
    """A template parameter called `name`, for the module-level variable of that name; `default`,
    unless it is bound.
    """
    return Template(name, default)


def by_executor(gpu: object, elsewhere: object) -> Any:
    """One name for two device functions (or constants): `gpu` where real hardware runs the kernel,
    `elsewhere` on simulators.
    """
    return Choice(gpu, elsewhere)


class Kernel(DeviceFunction):
    """The program of one thread. `kernel[grid, block]` or `kernel[grid, block, stream]` is a
    launch, to be called with arguments.

    `grid` and `block` are ints or tuples of up to three. Arguments: CUDA tensors (seen as
    n-dimensional arrays), `flat(tensor)`, numbers, numpy scalars, tuples of numbers.

    `launch_bounds` promises the compiler blocks of at most so many threads, and asks that so many
    blocks fit on a multiprocessor at once, which limits the registers of a thread
    (`__launch_bounds__`).
    """

    launch_bounds: tuple[int, int] | None = None

    def __getitem__(self, configuration: Any) -> Launch:
        from .launch import Launch

        return Launch(self, configuration)

    def call_text(self) -> str:
        """The arguments as a call names them: "(x, out)"."""
        code = self.function.__code__
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
    """`cuda`, as kernels name it. Outside a kernel it means nothing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"cuda.{name} is for kernels: inside a function marked @kernel or @device_function"
        )


cuda: Any = _Placeholder()
