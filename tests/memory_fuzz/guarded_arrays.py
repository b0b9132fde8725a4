"""The memory of numpy's arrays between guard pages, too: kernels of machine code are given addresses of scratch arrays.

numpy asks a handler for memory (NEP 49), which only C code can set; ctypes does what C code would.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from internals.core.allocator import DataPtr
from tests.memory_fuzz.guarded import guarded

SET_HANDLER = 304  # where numpy's table of functions has `PyDataMem_SetHandler`
Size, Address = ctypes.c_size_t, ctypes.c_void_p


class Functions(ctypes.Structure):
    _fields_ = [
        ("ctx", Address),
        ("malloc", ctypes.CFUNCTYPE(Address, Address, Size)),
        ("calloc", ctypes.CFUNCTYPE(Address, Address, Size, Size)),
        ("realloc", ctypes.CFUNCTYPE(Address, Address, Address, Size)),
        ("free", ctypes.CFUNCTYPE(None, Address, Address, Size)),
    ]


class Handler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("functions", Functions)]


blocks: dict[int, tuple[DataPtr, int]] = {}


def malloc(ctx: Any, nbytes: int) -> int | None:
    try:
        block = guarded.allocate(max(nbytes, 1))
    except (RuntimeError, AssertionError):
        return None
    blocks[block.pointer] = block, nbytes
    return block.pointer


def calloc(ctx: Any, n: int, size: int) -> int | None:
    address = malloc(ctx, n * size)
    if address:
        ctypes.memset(address, 0, n * size)
    return address


def realloc(ctx: Any, old: int, nbytes: int) -> int | None:
    address = malloc(ctx, nbytes)
    if address and old:
        ctypes.memmove(address, old, min(nbytes, blocks[old][1]))
        free(ctx, old, 0)
    return address


def free(ctx: Any, address: int, nbytes: int) -> None:
    if address:
        blocks.pop(address)[0].clear()


functions = Functions(None, *(kind(f) for (_, kind), f in zip(Functions._fields_[1:], (malloc, calloc, realloc, free))))
handler = Handler(b"guarded", 1, functions)


def under_numpy() -> None:
    """From now on numpy's arrays are guarded, in this thread."""
    python = ctypes.pythonapi
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [Address, ctypes.c_char_p, Address]
    python.PyCapsule_GetPointer.restype = Address
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = python.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None)
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(Address.from_address(table + 8 * SET_HANDLER).value)
    set_handler(python.PyCapsule_New(ctypes.addressof(handler), b"mem_handler", None))
