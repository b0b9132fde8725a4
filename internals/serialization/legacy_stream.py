"""Reads the format of `torch.save` before it wrote archives (`_legacy_load` in
`torch/serialization.py`).

A file has five pickles in a row, then the bytes of the storages:

    0x1950a86a20f9469cfc6c                a magic number
    1001                                  the version of the protocol
    {"little_endian": True, ...}          properties of the computer
    the object                            with persistent ids ("storage", class, key, location,
                                          number of elements, view)
    ["94012...", ...]                     the keys of the storages, sorted
    count, elements, count, elements ...  each storage: an int64, then its bytes

The storages come last, so the object is built from empty storages that are filled afterwards. All
of them together cannot be larger than the file, or it is refused. A `view` (key, offset, size) is a
storage inside another one; newer files have None there.

How the real one differs: it also reads the tar files of PyTorch 0.1.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from internals.core.allocator import DataPtr, drop_reference
from internals.core.dtype import dtype
from internals.core.storage import Storage
from internals.storage import TypedStorage

from .container.mapped_file import map_source
from .errors import ArchiveError
from .pickles.pickled_types import find_allowed
from .pickles.storages import MapLocation, restore_location, storage_id
from .pickles.unpickler import Machine

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def load_stream(f: Any, map_location: MapLocation = None) -> Any:
    """Returns the object in such a file, a path or a binary file. Raises ArchiveError if anything
    in it is wrong.
    """
    is_path = isinstance(f, (str, os.PathLike))
    name = os.path.basename(os.fsdecode(f)) if is_path else "archive"
    start = 0 if is_path else f.tell()
    file = map_source(f)
    stream = Stream(file.owner, file.address, name, map_location)
    obj = stream.read()
    if not is_path:
        f.seek(start + stream.at)  # another object may follow in the same file
    return obj


class Stream:
    """Reads the stream in `data`, which is at `address` in memory; `at` is the current offset."""

    def __init__(self, data: Any, address: int, name: str, map_location: MapLocation) -> None:
        self.data, self.address, self.name = data, address, name
        self.restore = restore_location(map_location)
        self.at = 0
        self.claimed = 0  # bytes of all storages
        self.storages: dict[str, TypedStorage] = {}
        self.views: dict[str, tuple[str, int, TypedStorage]] = {}

    def read(self) -> Any:
        """Returns the object; raises ArchiveError for another kind of file or a damaged one."""
        if self.data[257:262] == b"ustar":
            raise self.error(
                "a tar file of PyTorch 0.1 is not read here: load it with PyTorch 1.0 or later, "
                "and save it"
            )
        if self.data[:1] != b"\x80":
            raise self.error(
                "neither a zip archive nor a stream of pickles: torch.save did not write this"
            )
        if self.plain("magic number") != MAGIC_NUMBER:
            raise self.error("Invalid magic number; corrupt file?")
        version = self.plain("protocol version")
        if version != PROTOCOL_VERSION:
            raise self.error(f"Invalid protocol version: {version!r}"[:200])
        self.plain("system information")
        obj = self.pickle("object", find_allowed, self.persistent_load)
        keys = self.plain("storage keys")
        if type(keys) is not list or keys != sorted(self.storages):
            raise self.error("the list of storages does not have the storages of the object")
        for key in keys:
            self.fill(key)
        return obj

    def pickle(
        self, record: str, find_global: Callable[..., Any], persistent_load: Callable[..., Any]
    ) -> Any:
        machine = Machine(self.data, find_global, persistent_load, self.name, record, self.at)
        value = machine.run()
        self.at = machine.at
        return value

    def plain(self, record: str) -> Any:
        """Reads a pickle that may contain only numbers, strings and containers."""
        return self.pickle(record, refuse_global, refuse_persistent_id)

    def persistent_load(self, persistent_id: Any) -> TypedStorage:
        """A storage of the size that the id claims, to be filled later."""
        kind, key, location, numel = storage_id(persistent_id, 6)
        known = self.storages.get(key)
        if known is None:
            self.claimed += numel * kind.itemsize
            # Before the memory is allocated: a small file may claim terabytes.
            if self.claimed > len(self.data):
                raise ArchiveError(
                    f"storages of {self.claimed} bytes are claimed, but the file has "
                    f"{len(self.data)}"
                )
            fresh = self.restore(Storage.allocate(numel * kind.itemsize), location)
            known = self.storages[key] = TypedStorage(fresh, kind)
        elif known.dtype is not kind or known.size() < numel:
            raise ArchiveError(f"storage '{key[:40]}' is said to have different sizes or dtypes")
        return known if persistent_id[5] is None else self.view(known, kind, persistent_id[5])

    def view(self, root: TypedStorage, kind: dtype, metadata: Any) -> TypedStorage:
        """The storage that is a part of `root`: `metadata` is (key, offset, size) in elements."""
        if (
            type(metadata) is not tuple
            or len(metadata) != 3
            or [type(x) for x in metadata] != [str, int, int]
        ):
            raise ArchiveError("a view of a storage is a tuple of key, offset and size")
        key, offset, size = metadata
        if offset < 0 or size < 0 or offset + size > root.size():
            raise ArchiveError(
                f"a view of elements {offset} to {offset + size} of a storage that has "
                f"{root.size()}"
            )
        if key not in self.views:
            part = root.untyped()[offset * kind.itemsize : (offset + size) * kind.itemsize]
            self.views[key] = key, offset, TypedStorage(part, kind)
        return self.views[key][2]

    def fill(self, key: str) -> None:
        """Copies the elements of a storage from the file. They cannot be mapped: after a pickle of
        any length they are rarely aligned.
        """
        storage = self.storages[key]
        count = int.from_bytes(self.data[self.at : self.at + 8], "little", signed=True)
        self.at += 8
        end = self.at + storage.nbytes()
        if count != storage.size() or end > len(self.data):
            raise self.error(
                f"storage '{key[:40]}' has {count} elements and {len(self.data) - self.at} bytes "
                f"are left, but {storage.size()} elements are needed"
            )  # fmt: skip
        if storage.nbytes() and storage.device.type != "meta":
            # a storage over the bytes in the file, without an owner, only for the copy
            inside = DataPtr(self.address + self.at, None, drop_reference)
            storage.untyped().copy_(Storage(inside, storage.nbytes()))
        self.at = end

    def error(self, message: str) -> ArchiveError:
        return ArchiveError(message, archive=self.name)


def refuse_global(module: str, name: str) -> Any:
    raise ArchiveError(
        f"this part of a file consists of numbers and strings, but it names {module}.{name}"[:300]
    )


def refuse_persistent_id(persistent_id: Any) -> Any:
    raise ArchiveError(
        "this part of a file consists of numbers and strings, but it refers to a storage"
    )
