"""What a kernel is written in: Python functions that a GPU, two simulators and a recorder can run (`__global__`, `__device__`).

A kernel is the program of *one* thread. It asks `cuda` who it is (`cuda.grid(1)`, `cuda.threadIdx.x`), reads and writes arrays,
and may wait for its block (`cuda.syncthreads()`). The language is that of `numba.cuda`, so that the source compiles for a real
GPU as it stands; and it is Python, so that the same source can be run, thread by thread, where there is none.

    op, T = template("op"), template("T")

    @kernel
    def unary(out, a, n):
        i = cuda.grid(1)
        while i < n:
            out[i] = op(T(a[i]))
            i += cuda.gridsize(1)

    unary.bind(op=exp, T=np.float32)[blocks, threads](out, a, n)

`template` marks a name that is filled in by `bind`, like the parameters of a C++ template: a function of the device, a dtype to
compute in, the size of a tile. The device functions that a kernel calls get what they leave open from it. `cuda` here is only a
name; each executor puts its own in its place (`interpreter.py`, `compiled.py`).

How the real one differs: CUDA C++ marks kernels with `__global__` and helpers with `__device__`, and nvcc compiles every
instance of a template ahead of time; here an instance is compiled when it is first launched.
"""

from __future__ import annotations

import dis
import importlib
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .launch import Launch


class DeviceFunction:
    """A function that kernels may call. `function` is the Python function; `globals_of` says what its names mean."""

    def __init__(self, function: Callable[..., Any], bindings: tuple[tuple[str, Any], ...] = ()) -> None:
        self.function = function
        self.bindings = bindings
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._bound: dict[Any, Any] = {}
        self._open: frozenset[str] | None = None

    def bind(self, **names: Any) -> Any:
        """The instance of this template with `names` filled in; the same names give the same object.

        Raises TypeError for a name that is no template parameter of the source.
        """
        key = tuple(sorted(names.items()))
        found = self._bound.get(key)
        if found is None:
            for name in names:
                known = isinstance(self.function.__globals__.get(name), Template) or name in closure(self.function)
                if not known and name not in self.open_parameters():
                    raise TypeError(f"{self.name} has no template parameter '{name}'")
            merged = {**dict(self.bindings), **names}
            found = self._bound[key] = type(self)(self.function, tuple(sorted(merged.items())))
        return found

    def meaning(self, name: str) -> Any:
        """What the global or enclosing `name` means in this instance; `MISSING` if it has no meaning (a builtin).

        A device function that leaves template parameters open gets those of this instance that have the same names.
        """
        value = self._written(name)
        if isinstance(value, Choice):
            return Choice(self._hand_on(value.gpu), self._hand_on(value.elsewhere))
        return self._hand_on(value) if isinstance(value, DeviceFunction) else value

    def _hand_on(self, called: Any) -> Any:
        if isinstance(called, DeviceFunction):
            while handed_on := {n: v for n, v in self.bindings if n in called.open_parameters()}:
                called = called.bind(**handed_on)  # which opens those of a function among them
        return called

    def open_parameters(self) -> frozenset[str]:
        """The template parameters that are not bound yet, here and in the device functions called from here."""
        if self._open is None:
            self._open = frozenset()  # for a function that calls itself
            found = set()
            for name in self.names():
                value = self._written(name)
                if isinstance(value, Template):
                    found.add(name)
                for called in (value.gpu, value.elsewhere) if isinstance(value, Choice) else (value,):
                    if isinstance(called, DeviceFunction):
                        found |= called.open_parameters() - {bound for bound, _ in self.bindings}
            self._open = frozenset(found)
        return self._open

    def _written(self, name: str) -> Any:
        for bound, value in self.bindings:
            if bound == name:
                return value
        inner = closure(self.function)
        return inner[name] if name in inner else self.function.__globals__.get(name, MISSING)

    def names(self) -> list[str]:
        """The global names its code mentions, in order of appearance."""
        code = self.function.__code__
        # Not `co_names`, which has attributes too: the `exp` of math.exp is no global.
        loaded = [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"]
        return [n for n in dict.fromkeys((*loaded, *code.co_freevars)) if self._written(n) is not MISSING]

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.name} is a device function: only a kernel can call it")

    def __repr__(self) -> str:
        filled = ", ".join(
            f"{name}={getattr(v, '__name__', None) or getattr(v, 'name', v)}" for name, v in self.bindings
        )
        return f"<{type(self).__name__.lower()} {self.name}{f'[{filled}]' if filled else ''}>"


class Kernel(DeviceFunction):
    """The program of one thread. `kernel[grid, block]` or `kernel[grid, block, stream]` is a launch, to be called with arguments.

    `grid` and `block` are ints or tuples of up to three. Arguments: CUDA tensors (seen as n-dimensional arrays),
    `flat(tensor)`, numbers, numpy scalars, tuples of numbers.

    `launch_bounds` promises the compiler blocks of at most so many threads, and asks that so many blocks fit on a multiprocessor
    at once, which limits the registers of a thread (`__launch_bounds__`)."""

    launch_bounds: tuple[int, int] | None = None

    def __getitem__(self, configuration: Any) -> Launch:
        from .launch import Launch

        return Launch(self, configuration)

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"{self.name} is a kernel: launch it as {self.name}[blocks, threads](...)")


class Choice:
    """One of two device functions with the same meaning: `gpu` uses what only hardware has, `elsewhere` does without."""

    def __init__(self, gpu: DeviceFunction, elsewhere: DeviceFunction) -> None:
        self.gpu, self.elsewhere = gpu, elsewhere

    def bind(self, **names: Any) -> Choice:
        return Choice(self.gpu.bind(**names), self.elsewhere.bind(**names))


class Intrinsic:
    """What only a GPU has, as "module:name" of what numba compiles it to; looked up when a kernel that calls it is compiled.

    `elsewhere` is the Python function that stands for it on the simulators.
    """

    def __init__(self, target: str, elsewhere: Callable[..., Any]) -> None:
        self.target, self.elsewhere = target, elsewhere

    def load(self) -> Any:
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


class Template:
    """A name in a kernel's source that `bind` gives a meaning."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise RuntimeError(f"template parameter '{self.name}' was not bound")

    def __repr__(self) -> str:
        return f"<template parameter {self.name}>"


class _Placeholder:
    """`cuda`, as kernels name it. Outside a kernel it means nothing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"cuda.{name} is for kernels: inside a function marked @kernel or @device_function")


MISSING = object()
cuda: Any = _Placeholder()


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark `function` as the program of a GPU thread."""
    return Kernel(function)


def device_function(function: Callable[..., Any]) -> DeviceFunction:
    """Mark `function` as one that kernels call."""
    return DeviceFunction(function)


def template(name: str) -> Any:
    """A template parameter called `name`, for the module-level variable of that name."""
    return Template(name)


def by_executor(gpu: DeviceFunction, elsewhere: DeviceFunction) -> Any:
    """The function kernels call: `gpu` when compiled for real hardware, `elsewhere` on the simulators and in pictures."""
    return Choice(gpu, elsewhere)


def closure(function: Callable[..., Any]) -> dict[str, Any]:
    """The variables of enclosing functions that `function` mentions."""
    cells: tuple[types.CellType, ...] = getattr(function, "__closure__", None) or ()
    names = function.__code__.co_freevars
    found = {}
    for name, cell in zip(names, cells):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
