"""A kernel as PTX, the assembly language of NVIDIA's GPUs: compiled on any machine, whether it has
a GPU or not (`nvcc -ptx`).

    text = ptx(binary.bind(op=add, T=np.float32), "float32[:]", "float32[:]", "float32[:]", int)
    text.body               # the instructions alone
    text.counts()           # {"ld.global": 2, "st.global": 1, ...}

Each argument is described by a type: a numpy dtype or `int` for a number, "float32[:]" for an
array, a tuple of them for a tuple; or by an example of itself, as a NamedTuple has to be. NVVM, the
compiler behind it, comes from PyPI: pip install 'numba-cuda[cu13]'.

It runs in another process: this one may use numba's simulator, which compiles nothing, and which
numba chooses once and for all when it is imported.

How the real one differs: nvcc compiles ahead of time, for each architecture that a binary should
run on; `ptxas`, in the driver or in the toolkit, then turns PTX into the instructions of one chip,
which is where registers are assigned.
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
CAPABILITY = (9, 0)

copyreg.pickle(type(cuda), lambda _: "cuda")  # `cuda` in a kernel's globals: the one in `language`


class PtxError(RuntimeError):
    """A kernel that does not compile. The text is the compiler's."""


class PtxUnavailable(RuntimeError):
    """There is no compiler here. The text says how to get one."""


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

    "float32[:]" is an array whose elements lie one after the other, as `flat()` gives; "float32[:,
    :]" one with any strides. With `lineinfo` the text says which line of the source each
    instruction comes from. Raises PtxUnavailable without a compiler, PtxError with its message if
    the kernel does not compile, and TypeError for what is no type.
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
    """Compile many (kernel, argument types) in one process: for each its PTX, or the error it gave.
    Raises PtxUnavailable.
    """
    try:
        from numba import cloudpickle
    except ImportError:
        raise PtxUnavailable(f"compiling to PTX needs numba: {FIX}") from None

    work = [
        (as_kernel(kernel), [t if hasattr(t, "_fields") else type_name(t) for t in types])
        for kernel, types in items
    ]
    order = cloudpickle.dumps((work, cc, fastmath, lineinfo))
    done = subprocess.run(
        [sys.executable, "-c", "from internals.cuda.ptx_compiler import main; main()"],
        input=order, capture_output=True, env=_environment(), check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise PtxUnavailable(
            "the process that compiles to PTX "
            f"failed:\n{done.stderr.decode(errors='replace').strip()[-2000:]}"
        )
    kind, *answer = pickle.loads(done.stdout)
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
    """That of this process, without what makes numba or this package use a simulator, and with the
    same modules within reach.
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
