"""Reads an archive, and trusts nothing in it before it is checked
(`caffe2/serialize/inline_container.cc`, `PyTorchStreamReader`).

The constructor reads the central directory, and the local header for each entry. Then it is certain
that each record lies inside the file, that no two records share a byte, and that both descriptions
of a record agree. From then on, a record is an offset and a size, and a storage is a view.

How the real one differs: PyTorch's reader leaves the directory to miniz, and reads a local header
only when its record is read; it copies each payload, and lets records overlap.
"""

from __future__ import annotations

import ctypes
import os
import zlib
from typing import Any

from internals.core.allocator import DataPtr, drop_reference
from internals.core.storage import Storage

from ..errors import ArchiveError
from .mapped_file import MappedFile, map_source
from .zip_directory import read_directory
from .zip_records import ALIGNMENT, DEFLATED, Record


class ArchiveReader:
    """The records of an archive; a context manager. `source` is a path, a file object or bytes.

    `name` names the archive in errors, `top` is the folder of its records, and `records` maps names
    without that folder to records. Raises OSError if a file cannot be opened, ArchiveError if it is
    not an archive or fails a check.
    """

    def __init__(self, source: Any, *, name: str | None = None) -> None:
        is_path = isinstance(source, (str, os.PathLike))
        self.name = name or (os.path.basename(os.fsdecode(source)) if is_path else "archive")
        mapped = map_source(source)
        self.file_size = len(mapped)
        self.top, self.records = read_directory(mapped.owner, self.name)
        self._map: MappedFile | None = mapped
        self._storages: dict[str, Storage] = {}

    def has(self, name: str) -> bool:
        """Whether a record of that name exists."""
        return name in self.records

    def read(self, name: str) -> bytes:
        """The bytes of a record, after a check of their checksum. Raises ArchiveError if it is
        missing or damaged.
        """
        record = self._find(name)
        data = self._inflate(record) if record.method == DEFLATED else bytes(self._payload(record))
        if zlib.crc32(data) != record.crc32:
            raise self._error(
                "the data does not have the checksum (CRC-32) it was saved with", name
            )
        return data

    def text(self, name: str) -> str:
        """`read`, decoded from UTF-8."""
        try:
            return self.read(name).decode()
        except UnicodeDecodeError as error:
            raise self._error(
                f"not UTF-8 text: {error.reason} at byte {error.start}", name
            ) from None

    def storage(self, name: str, nbytes: int | None = None) -> Storage:
        """A record as a storage inside the mapped file; the same object every time. The checksum is
        not computed, as that would read every page.

        A deflated record, or one that does not start at a multiple of 64 bytes, is copied. Raises
        ArchiveError if it has fewer than `nbytes` bytes.
        """
        found = self._storages.get(name)
        record = self._find(name)
        if nbytes is not None and nbytes > record.size:
            raise self._error(
                f"a storage of {nbytes} bytes is said to be in it, but it has {record.size}", name
            )
        if found is None:
            found = self._storages[name] = self._make_storage(record)
        return found

    def verify(self, name: str) -> None:
        """Raises ArchiveError when a record's data does not have its checksum."""
        record = self._find(name)
        if record.method == DEFLATED:
            self.read(name)
        elif zlib.crc32(self._payload(record)) != record.crc32:
            raise self._error(
                "the data does not have the checksum (CRC-32) it was saved with", name
            )

    def close(self) -> None:
        """Releases the mapping. Storages in it keep it alive as long as they live themselves."""
        self._storages = {}
        self._map = None

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"ArchiveReader('{self.name}', {len(self.records)} records in '{self.top}', "
            f"{self.file_size} bytes)"
        )

    def _find(self, name: str) -> Record:
        record = self.records.get(name)
        if record is None:
            raise self._error(
                f"PytorchStreamReader failed locating file {name}: file not found", name
            )
        return record

    def _mapped(self) -> MappedFile:
        if self._map is None:
            raise ValueError(f"{self.name}: the archive is closed")
        return self._map

    def _payload(self, record: Record) -> memoryview:
        return self._mapped().memory[record.offset : record.offset + record.compressed_size]

    def _make_storage(self, record: Record) -> Storage:
        mapped = self._mapped()
        address = mapped.address + record.offset
        if not record.size:
            return Storage.allocate(0)
        if record.method != DEFLATED and address % ALIGNMENT == 0:  # a view; it keeps `owner`
            return Storage(DataPtr(address, mapped.owner, drop_reference), record.size)
        storage = Storage.allocate(record.size)
        if record.method == DEFLATED:
            ctypes.memmove(storage.data_ptr(), self.read(record.name), record.size)
        else:
            ctypes.memmove(storage.data_ptr(), address, record.size)
        return storage

    def _inflate(self, record: Record) -> bytes:
        unpacker = zlib.decompressobj(-15)  # -15: a window of 2^15 bytes, no zlib header
        try:
            # one byte more than declared, so that a longer stream is noticed but not unpacked
            inflated = unpacker.decompress(self._payload(record), record.size + 1)
        except zlib.error as error:
            raise self._error(f"cannot be inflated: {error}", record.name) from None
        if len(inflated) != record.size or not unpacker.eof or unpacker.unused_data:
            raise self._error(
                f"does not inflate to the {record.size} bytes that the archive declares",
                record.name,
            )
        return inflated

    def _error(self, message: str, record: str = "") -> ArchiveError:
        return ArchiveError(message, archive=self.name, record=record)
