"""The bytes of an archive as memory: a file mapped privately, or a buffer's bytes copied once
(`c10/core/MapAllocator`).

Mapping costs nothing per byte: the operating system reads a page when somebody first looks at it.
The mapping is *private* (`ACCESS_COPY`): who writes to a page gets a copy of that page, and the
file never changes. So a tensor can lie right in the file and still be written to. The mapping ends
when the last storage in it goes.

How the real one differs: `torch.load` maps only when asked to (`mmap=True`), `torch.jit.load` reads
and copies. There and here, a file that another program *shortens* while it is mapped ends the
process (SIGBUS); `ArchiveWriter` replaces files instead.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import stat
import sys
from typing import Any

MAP_FIXED = 0x10  # on Linux and macOS: at this address, in place of what is there


class MappedFile:
    """`memory` is a writable memoryview of all bytes, `address` that of the first; `owner` keeps
    them there.
    """

    __slots__ = ("owner", "memory", "address")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.memory = memoryview(owner)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(owner)) if len(owner) else 0

    def __len__(self) -> int:
        return len(self.memory)


def map_source(source: object) -> MappedFile:
    """The bytes of a path, a file object (from where it stands), or anything with a buffer.

    Raises OSError when the file cannot be opened, TypeError for something that is none of these.
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb", buffering=0) as file:
            return map_file(file)
    if isinstance(source, io.BufferedReader) and source.tell() == 0 and is_regular(source):
        return map_file(source)
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, (bytes, bytearray, memoryview)):
            kind = type(data).__name__
            raise TypeError(
                f"a file opened in binary mode is needed, but read() gave {kind}: open(..., 'rb')"
            )
        return copy_in(data)
    try:
        return copy_in(source)
    except TypeError:
        raise TypeError(
            f"expected a path, a file object or bytes, but got {type(source).__name__}: open the "
            "file, or give its name"
        ) from None


def map_file(file: Any) -> MappedFile:
    """The whole of an open file, which may be closed afterwards."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        return MappedFile(bytearray())
    return MappedFile(map_privately(file.fileno(), size))


def map_privately(descriptor: int, size: int) -> mmap.mmap:
    """`size` bytes of a file, without a descriptor of its own: there may be more mappings than
    files that may be open.

    Before 3.13, Python's mapping keeps one. There the file is mapped over fresh pages, which need
    none.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY, trackfd=False)
    if os.name != "posix":
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    pages = mmap.mmap(-1, size)
    map_over = ctypes.CDLL(None, use_errno=True).mmap
    map_over.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
    ]
    map_over.restype = ctypes.c_void_p
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    flags = mmap.MAP_PRIVATE | MAP_FIXED
    if map_over(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, descriptor, 0) != address:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pages


def copy_in(data: Any) -> MappedFile:
    """The bytes of a buffer, copied to the beginning of fresh pages, so that they are aligned as in
    a mapped file.
    """
    with memoryview(data) as view, view.cast("B") as source:
        if not source.nbytes:
            return MappedFile(bytearray())
        pages = mmap.mmap(-1, source.nbytes, access=mmap.ACCESS_COPY)
        pages[:] = source
    return MappedFile(pages)


def is_regular(file: Any) -> bool:
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        return False
