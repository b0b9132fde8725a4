"""Calls loaded machine code: `entry(begin, end, *arguments)`, or `entry.parallel(n, grain,
*arguments)`.

An `Entry` wraps a C function `void (int64 begin, int64 end, void* args)`. The arguments travel in
slots of 8 bytes, as in the kernels that PyTorch 1.0.1's fuser compiled (`void kernel_0(IndexType
totalElements, void** args)`). The call goes through ctypes, which releases the GIL, so that several
threads can run it at once.

How the real one differs: `parallel_for` calls a kernel of ATen as a C++ lambda that has captured
its arguments.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from .parallel import get_num_threads, may_split
from .pool import run_in_parts

# CFUNCTYPE releases the GIL during the call, PYFUNCTYPE keeps it
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p)
_QUICK = ctypes.PYFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p)


class Entry:
    """A loaded kernel. `name` is that of its function, `address` where its code begins, `signature`
    has a word for each argument, `key` is its name in the cache.
    """

    __slots__ = ("name", "address", "signature", "key", "_call", "_quick", "_pack")

    def __init__(self, name: str, address: int, signature: str, key: str = "") -> None:
        self.name, self.address, self.signature, self.key = name, address, signature, key
        self._call: Any = _FUNCTION(address)
        self._quick: Any = _QUICK(address)
        # "d" is a double, "q" an integer or an address: 8 bytes each
        self._pack = struct.Struct(
            "=" + "".join("d" if word[0] == "f" else "q" for word in signature.split())
        ).pack

    def __call__(self, begin: int, end: int, *args: Any) -> None:
        """Do the part of the work from `begin` to `end`, in this thread; others may run Python
        meanwhile.
        """
        self._call(begin, end, self._pack(*args))

    def quick(self, begin: int, end: int, *args: Any) -> None:
        """The same call without releasing the GIL, for work of a few microseconds."""
        self._quick(begin, end, self._pack(*args))

    def parallel(self, n: int, grain: int, *args: Any) -> None:
        """Do all of 0 <= i < n, on all threads, in parts of at least `grain` items."""
        self.parallel_packed(n, grain, self._pack(*args))

    def parallel_packed(self, n: int, grain: int, packed: bytes) -> None:
        """`parallel` for arguments that are packed already: slots of 8 bytes, in order."""
        if may_split(n, grain) and run_in_parts(self.address, n, grain, packed, get_num_threads()):
            return
        if n > 0:
            self._call(0, n, packed)

    def __repr__(self) -> str:
        return (
            f"<machine code of {self.name}({', '.join(('begin', 'end', *self.signature.split()))})>"
        )
