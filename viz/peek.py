"""Reading live memory: numbers, pointers and objects at an address, by ctypes.

This trusts its caller: an address that is not readable ends the process, as in C.
"""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any

READERS: dict[str, Any] = {
    "double": ctypes.c_double,
    "Py_ssize_t": ctypes.c_ssize_t,
    "Py_hash_t": ctypes.c_ssize_t,
    "uintptr_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "uint32_t": ctypes.c_uint32,
    "digit": ctypes.c_uint32,
    "int": ctypes.c_int,
    "char": ctypes.c_ubyte,
}
# PyMemberDef.type codes that occur in member descriptors (Include/descrobject.h)
MEMBER_CODES = {
    1: "int",
    4: "double",
    6: "PyObject *",
    11: "uint32_t",
    16: "PyObject *",
    18: "uint64_t",
    19: "Py_ssize_t",
}
HEAP_TYPE, HAS_GC = 1 << 9, 1 << 14


def check_interpreter() -> None:
    """Raise RuntimeError where object layouts are not the ones this package knows."""
    if sys.implementation.name != "cpython":
        raise RuntimeError(
            f"viz.pyobject reads CPython's structs; this is {sys.implementation.name}"
        )
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        version = ".".join(map(str, sys.version_info[:2]))
        raise RuntimeError(
            f"viz.pyobject knows the object layouts of CPython 3.11 to 3.13; this is {version}"
        )
    if (
        not getattr(sys, "_is_gil_enabled", lambda: True)()
        or hasattr(sys, "abiflags")
        and "t" in sys.abiflags
    ):
        raise RuntimeError(
            "viz.pyobject does not know the object header of free-threaded Python; use the default "
            "build"
        )


def read(address: int, ctype: str) -> Any:
    """The value of C type `ctype` (a pointer as its number) at `address`."""
    reader = ctypes.c_size_t if ctype.endswith("*") else READERS[ctype]
    return reader.from_address(address).value


def object_at(address: int) -> Any:
    """The Python object that lies at `address`."""
    return ctypes.cast(address, ctypes.py_object).value


def slots(cls: type) -> list[tuple[int, str, str]]:
    """(offset, C type, name) of every member that the descriptors of `cls` and its bases describe,
    by offset.

    A member descriptor is a struct too: behind its header of five words it points to a
    `PyMemberDef`, which holds the member's type code and its offset.
    """
    found: dict[int, tuple[int, str, str]] = {}
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, types.MemberDescriptorType):
                definition = read(id(value) + 40, "void *")
                code, offset = read(definition + 8, "int"), read(definition + 16, "Py_ssize_t")
                if code in MEMBER_CODES and offset >= 16:
                    found.setdefault(offset, (offset, MEMBER_CODES[code], name))
    return [found[offset] for offset in sorted(found)]


def brief(obj: Any) -> str:
    """A few words for the target of a pointer. Runs no code of the object's class."""
    kind = type(obj)
    if kind in (int, float, complex, bool, type(None)):
        text = (
            repr(obj)
            if kind is not int or obj.bit_length() < 200
            else f"int of {obj.bit_length()} bits"
        )
        return (
            text
            if obj is None
            else f"{kind.__name__} {text}"
            if not text.startswith("int of")
            else text
        )
    if kind in (str, bytes):
        text = repr(obj[:24])
        return f"{kind.__name__} {text}" + ("…" if len(obj) > 24 else "")
    if kind in (list, tuple, dict, set, frozenset):
        return f"{kind.__name__} of {len(obj)}"
    if isinstance(obj, type):
        return f"type {type.__dict__['__name__'].__get__(obj)}"
    if kind is types.FunctionType:
        return f"function {obj.__name__}"
    if kind is types.ModuleType:
        return f"module {obj.__name__}"
    return str(type.__dict__["__name__"].__get__(kind))
