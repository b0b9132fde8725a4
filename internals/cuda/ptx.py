"""Compiles a kernel to PTX, the assembly language of NVIDIA's GPUs, on any machine, with or without
a GPU (`nvcc -ptx`).

    text = ptx(binary.bind(op=add, T=np.float32), "float32[:]", "float32[:]", "float32[:]", int)
    text.body               # the instructions alone
    text.counts()           # {"ld.global": 2, "st.global": 1, ...}

Each argument is described by a type (a numpy dtype or `int` for a number, "float32[:]" for an
array, a tuple of types for a tuple) or by an example; a NamedTuple needs an example. NVVM, the
compiler behind numba, comes from PyPI: pip install 'numba-cuda[cu13]'.

The compiler runs in a process of its own. This process may use numba's simulator, which compiles
nothing; numba chooses between the two only once, when it is imported.

How the real one differs: nvcc compiles ahead of time, for each architecture that a binary should
run on. `ptxas`, in the driver or in the toolkit, then turns PTX into the instructions of one chip,
and assigns its registers.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .device_array import type_name
from .foreign import as_kernel
from .language import cuda
from .ptx_text import Ptx

FIX = "pip install 'numba-cuda[cu13]'"
CAPABILITY = (9, 0)  # the default compute capability: Hopper

# a kernel's global `cuda` is pickled as a name: the other process finds its own in `language`
copyreg.pickle(type(cuda), lambda _: "cuda")


class PtxError(RuntimeError):
    """A kernel that does not compile. The message has the compiler's text."""


class PtxUnavailable(RuntimeError):
    """There is no compiler on this machine. The message says how to get one."""


def ptx(
    kernel: Any,
    *argument_types: Any,
    cc: tuple[int, int] = CAPABILITY,
    fastmath: bool = False,
    lineinfo: bool = False,
) -> Ptx:
    """The PTX of `kernel`, with its template parameters bound, for arguments of these types and
    compute capability `cc`.

    `kernel` may also be one that numba's `@cuda.jit` made.

    "float32[:]" is a contiguous array, as from `flat()`; "float32[:,:]" is one with any strides.
    With `lineinfo` the text says from which line of the source each instruction comes. Raises
    PtxUnavailable without a compiler, PtxError with its message if the kernel does not compile,
    TypeError for an argument type that does not exist.
    """
    found = compile_all([(kernel, argument_types)], cc, fastmath, lineinfo)[0]
    if isinstance(found, PtxError):
        raise found
    return found


def compile_all(
    items: Iterable[tuple[Any, Sequence[Any]]],
    cc: tuple[int, int] = CAPABILITY,
    fastmath: bool = False,
    lineinfo: bool = False,
) -> list[Ptx | PtxError]:
    """Compile many pairs (kernel, argument types) in one process. Returns the PTX of each, or its
    error. Raises PtxUnavailable.
    """
    try:
        from numba import cloudpickle
    except ImportError:
        raise PtxUnavailable(f"compiling to PTX needs numba: {FIX}") from None

    work = [
        (as_kernel(kernel), [t if hasattr(t, "_fields") else type_name(t) for t in types])
        for kernel, types in items
    ]
    request = cloudpickle.dumps((work, cc, fastmath, lineinfo))
    process = subprocess.run(
        [sys.executable, "-c", "from internals.cuda.ptx_compiler import main; main()"],
        input=request, capture_output=True, env=_environment(), check=False,
    )  # fmt: skip
    if process.returncode != 0:
        raise PtxUnavailable(
            "the process that compiles to PTX "
            f"failed:\n{process.stderr.decode(errors='replace').strip()[-2000:]}"
        )
    # ("done", [(success, PTX or message), ...]) or ("unavailable", reason): see `ptx_compiler`
    kind, *answer = pickle.loads(process.stdout)
    if kind == "unavailable":
        raise PtxUnavailable(
            f"compiling to PTX needs numba-cuda and NVVM, which come with: {FIX}\n({answer[0]})"
        )
    return [
        Ptx(text, kernel.name)
        if good
        else PtxError(f"{kernel.name} does not compile to PTX: {text}")
        for (kernel, _), (good, text) in zip(work, answer[0])
    ]


def _environment() -> dict[str, str]:
    """The environment for the compiler: that of this process, but without simulators, with the same
    module path, and with a fixed hash seed.
    """
    env = {
        k: v
        for k, v in os.environ.items()
        if k not in ("NUMBA_ENABLE_CUDASIM", "NUMBA_CUDA_DEBUGINFO")
    }
    return {
        **env,
        "INTERNALS_CUDA": "none",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONHASHSEED": "0",
    }
