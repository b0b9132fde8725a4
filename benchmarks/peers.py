"""With whom we are compared, and how each of them is given the same work.

A program is a function of tensors, or a module with weights; a peer that is not installed, or lacks
a compiler, is `Absent` with the reason, which the report repeats. Nothing is imported before a case
needs it.

Our optimised side is `internals.jit.optimize`. Its kernels are compiled in the background, so it is
called until they are ready: what is timed is the compiled program. How long that takes is timed
elsewhere (`cases/builds.py`).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

import internals
from benchmarks.harness import OURS, Absent, Call

Program = Callable[..., Any]


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@cache
def library(name: str) -> Any:
    """The module, or None where it is not installed."""
    return importlib.import_module(name) if installed(name) else None


def not_installed(name: str) -> Absent:
    return Absent(f"{name} is not installed")


def set_threads(number: int) -> None:
    """Ours and PyTorch's; that of BLAS is set by the environment before anything is imported
    (`__main__.py`).
    """
    internals.set_num_threads(number)
    if torch := library("torch"):
        torch.set_num_threads(number)


def tensors(T: Any, arrays: Sequence[np.ndarray]) -> list[Any]:
    """The arrays as tensors of a library, in memory of its own."""
    return [T.tensor(a) for a in arrays]


# Functions: the same program on the tensors of each library


def eager(program: Program, arrays: Sequence[np.ndarray]) -> dict[str, Call | Absent]:
    """`program(T, *tensors)` for ours and PyTorch's eager mode."""
    return {OURS: run_eagerly(internals, program, arrays), "torch": in_torch(program, arrays)}


def run_eagerly(T: Any, program: Program, arrays: Sequence[np.ndarray]) -> Call:
    return partial(program, T, *tensors(T, arrays))


def in_torch(program: Program, arrays: Sequence[np.ndarray]) -> Call | Absent:
    torch = library("torch")
    return run_eagerly(torch, program, arrays) if torch else not_installed("torch")


def in_numpy(program: Program, arrays: Sequence[np.ndarray]) -> Call:
    return partial(program, *arrays)


def optimized(program: Any, inputs: Sequence[Any]) -> Call:
    """Ours, compiled and ready."""
    call = partial(internals.jit.optimize(program), *inputs)
    wait_until_compiled(call)
    return call


def wait_until_compiled(call: Call) -> None:
    """Calls it, and waits for the compiler, as often as plans are made: for the first call, and for
    one that has been seen.
    """
    from internals.jit.fuser import background

    for _ in range(3):
        call()
        background.wait()
    call()


def torch_compiled(program: Any, inputs: Sequence[Any], freezing: bool = False) -> Call | Absent:
    """`torch.compile`, which writes C++ on a CPU; with `freezing` weights become constants of the
    program.
    """
    if (torch := library("torch")) is None:
        return not_installed("torch")
    if not has_cpp_compiler():
        return Absent("torch.compile needs a C++ compiler, and there is none")
    import torch._inductor.config as settings

    compiled = torch.compile(program)

    def call() -> object:
        with torch.no_grad():
            return compiled(*inputs)

    if not freezing:
        return call
    with settings.patch(freezing=True):
        call()  # frozen when it is compiled: now
    return call


def has_cpp_compiler() -> bool:
    names = [os.environ.get("CXX", ""), "g++", "clang++", "c++", "cl"]
    return any(name and shutil.which(name) for name in names)


def torch_scripted(program: Any, inputs: Sequence[Any]) -> Call | Absent:
    """TorchScript: traced; a module is also frozen and prepared for inference."""
    if (torch := library("torch")) is None:
        return not_installed("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and says so
        with torch.no_grad():
            traced = torch.jit.trace(program, tuple(inputs), check_trace=False)
            if isinstance(program, torch.nn.Module):
                traced = torch.jit.optimize_for_inference(torch.jit.freeze(traced.eval()))
            for _ in range(3):  # it profiles, then compiles
                traced(*inputs)

    def call() -> object:
        with torch.no_grad():
            return traced(*inputs)

    return call


def in_tinygrad(program: Program, arrays: Sequence[np.ndarray]) -> Call | Absent:
    """Under `TinyJit`, which captures the second call and repeats it from the third on."""
    if (reason := tinygrad_lacks()) is not None:
        return Absent(reason)
    import tinygrad

    inputs = [tinygrad.Tensor(a).realize() for a in arrays]
    device = tinygrad.Device[tinygrad.Device.DEFAULT]
    jitted = tinygrad.TinyJit(lambda *given: program(*given).realize())
    for _ in range(3):
        jitted(*inputs)

    def call() -> object:
        result = jitted(*inputs)
        device.synchronize()
        return result

    return call


def tinygrad_lacks() -> str | None:
    if not installed("tinygrad"):
        return "tinygrad is not installed"
    if not shutil.which(os.environ.get("CC", "clang")):
        return "tinygrad needs clang, and there is none"
    return None
