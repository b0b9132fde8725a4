"""The bytes of an archive as memory: a file mapped privately, or a buffer's bytes copied once
(`c10/core/MapAllocator`).

Mapping costs nothing per byte: the operating system reads a page when it is first accessed. The
mapping is *private* (`ACCESS_COPY`): a write to a page changes a copy of that page, never the file.
So a tensor can be a view of the file and still be written to. The mapping ends when the last
storage in it is freed.

How the real one differs: `torch.load` maps only when asked to (`mmap=True`), `torch.jit.load` reads
and copies. In both, the process dies (SIGBUS) if another program *shortens* a file that is mapped;
therefore `ArchiveWriter` replaces files instead of writing into them.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import stat
import sys
from typing import Any

MAP_FIXED = 0x10  # on Linux and macOS: map at exactly this address, over any mapping there


class MappedFile:
    """The bytes of `owner`, which keeps them alive: `memory` is a writable memoryview of them,
    `address` the address of the first byte (0 if there are none).
    """

    __slots__ = ("owner", "memory", "address")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.memory = memoryview(owner)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(owner)) if len(owner) else 0

    def __len__(self) -> int:
        return len(self.memory)


def map_source(source: object) -> MappedFile:
    """The bytes of a file given by its path, of a file object (from its current position), or of
    any object with a buffer. Only regular files are mapped; other bytes are copied.

    Raises OSError when the file cannot be opened, TypeError for another kind of source.
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
    """Maps the whole of an open file, which may be closed afterwards."""
    size = os.fstat(file.fileno()).st_size
    if not size:  # an empty mapping is an error
        return MappedFile(bytearray())
    return MappedFile(map_privately(file.fileno(), size))


def map_privately(descriptor: int, size: int) -> mmap.mmap:
    """Maps `size` bytes of a file without keeping a file descriptor, as a process may have more
    mappings than open files.

    Before 3.13, Python's mapping of a file keeps one, but that of anonymous pages does not. So the
    file is mapped over such pages, with `mmap` of the C library.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY, trackfd=False)
    if os.name != "posix":
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    pages = mmap.mmap(-1, size)  # its address is where the file goes; it is unmapped with it
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
    """Copies the bytes of a buffer into fresh pages, so that they are aligned as in a mapped
    file.
    """
    with memoryview(data) as view, view.cast("B") as source:
        if not source.nbytes:
            return MappedFile(bytearray())
        pages = mmap.mmap(-1, source.nbytes, access=mmap.ACCESS_COPY)
        pages[:] = source
    return MappedFile(pages)


def is_regular(file: Any) -> bool:
    """Whether a file object is a regular file on disk, not a pipe or a buffer in memory."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        return False
