"""The process in which kernels become PTX: reads kernels from standard input, writes their texts to
standard output.

See `ptx.py`, which starts it, and tells why it is a process of its own.

How the real one differs: `nvcc` is a program, too; NVRTC does the same inside the process that
asks.
"""

from __future__ import annotations

import importlib
import pickle
import re
import sys
import warnings
from typing import Any

from .compiled import compile_ptx

ARRAY = re.compile(r"(\w+)\[([:1,]*)\]")


def main() -> None:
    """Compile what standard input asks for."""
    work, cc, fastmath, lineinfo = pickle.load(sys.stdin.buffer)
    answer = _compile(work, cc, fastmath, lineinfo)
    sys.stdout.buffer.write(pickle.dumps(answer))


def _compile(
    work: list[Any], cc: tuple[int, int], fastmath: bool, lineinfo: bool
) -> tuple[Any, ...]:
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
    done = []
    for kernel, types in work:
        try:
            signature = tuple(map(numba_type, types))
            done.append((True, compile_ptx(kernel, signature, cc, fastmath, lineinfo)))
        except Exception as error:  # told to who asked, with all the others
            done.append((False, f"{type(error).__name__}: {error}"))
    return "done", done


def numba_type(name: Any) -> Any:
    """numba's type for a name that `device_array.type_name` gives, or for a NamedTuple. Raises
    TypeError for others.
    """
    from numba import typeof, types

    if isinstance(name, tuple):
        return typeof(name)
    if name.startswith("("):
        members = [numba_type(part.strip()) for part in name.strip("()").split(",") if part.strip()]
        same = len(set(members)) == 1
        return types.UniTuple(members[0], len(members)) if same else types.Tuple(members)
    array = ARRAY.fullmatch(name)
    if array:
        dims = [d for d in array[2].split(",") if d]
        return types.Array(
            numba_type(array[1]), len(dims), "C" if not dims or dims[-1] == "::1" else "A"
        )
    found = types.boolean if name in ("bool", "bool_") else getattr(types, name, None)
    if not isinstance(found, types.Type):
        raise TypeError(f"'{name}' is no type of a kernel's argument")
    return found
