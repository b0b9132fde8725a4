"""The program of the process that compiles kernels to PTX: reads them from standard input, and
writes their texts to standard output, both as a pickle.

`ptx.py` starts it, and explains why it is a process of its own.

How the real one differs: `nvcc` is a program, too, but NVRTC compiles inside the calling process.
"""

from __future__ import annotations

import importlib
import pickle
import re
import sys
import warnings
from typing import Any

from .compiled import compile_ptx

ARRAY = re.compile(r"(\w+)\[([:1,]*)\]")  # "float32[:,::1]"


def main() -> None:
    """Compile the kernels that standard input holds."""
    work, cc, fastmath, lineinfo = pickle.load(sys.stdin.buffer)
    answer = _compile(work, cc, fastmath, lineinfo)
    sys.stdout.buffer.write(pickle.dumps(answer))


def _compile(
    work: list[Any], cc: tuple[int, int], fastmath: bool, lineinfo: bool
) -> tuple[Any, ...]:
    """("done", a pair for each kernel: whether it compiled, and its PTX or the error's text), or
    ("unavailable", the reason) if there is no compiler.
    """
    warnings.simplefilter("ignore")
    try:
        # numba has a numba.cuda of its own, an old one without launch bounds
        importlib.import_module("numba_cuda")
        from numba.cuda.cudadrv.nvvm import NVVM

        NVVM()
    except Exception as error:
        # whichever of numba-cuda and the libraries is missing says so in its own way
        return (
            "unavailable",
            f"{type(error).__name__}: "
            f"{str(error).strip().splitlines()[0] if str(error).strip() else ''}",
        )
    results = []
    for kernel, types in work:
        try:
            signature = tuple(map(numba_type, types))
            results.append((True, compile_ptx(kernel, signature, cc, fastmath, lineinfo)))
        except Exception as error:  # the other process raises it; the other kernels go on
            results.append((False, f"{type(error).__name__}: {error}"))
    return "done", results


def numba_type(name: Any) -> Any:
    """numba's type for a name from `device_array.type_name`, or for an example of a NamedTuple.
    Raises TypeError for an unknown name.
    """
    from numba import typeof, types

    if isinstance(name, tuple):
        return typeof(name)
    if name.startswith("("):
        members = [numba_type(part.strip()) for part in name.strip("()").split(",") if part.strip()]
        same = len(set(members)) == 1  # as numba itself types a tuple whose members are alike
        return types.UniTuple(members[0], len(members)) if same else types.Tuple(members)
    array = ARRAY.fullmatch(name)
    if array:
        # "C" for a contiguous array, "A" for any strides
        dims = [d for d in array[2].split(",") if d]
        return types.Array(
            numba_type(array[1]), len(dims), "C" if not dims or dims[-1] == "::1" else "A"
        )
    found = types.boolean if name in ("bool", "bool_") else getattr(types, name, None)
    if not isinstance(found, types.Type):
        raise TypeError(f"'{name}' is no type of a kernel's argument")
    return found
