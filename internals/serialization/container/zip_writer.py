"""Writes an archive in one pass: a zip file whose payloads are aligned
(`caffe2/serialize/inline_container.cc`, `PyTorchStreamWriter`).

    [local header][m/data/0][FB 22 ZZZZ...][payload at a multiple of 64][data descriptor]
    [local header] ...
    [central directory] [zip64 end record] [zip64 end locator] [end record]

The extra field `FB` is the padding. The size and checksum of a payload come *after* it, in the data
descriptor: the writer never goes back to fill them in, so it can write to a pipe. All dates are 0:
the same content gives the same bytes.

A path keeps its old content until everything is written (`replaced_file.py`).

How the real one differs: it leaves the zip structures to miniz, and writes in place.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

from .replaced_file import ReplacedFile
from .zip_records import (
    ALIGNMENT,
    CENTRAL_HEADER,
    DEFLATED,
    DESCRIPTOR,
    DESCRIPTOR64,
    END,
    END64,
    HAS_DESCRIPTOR,
    LOCAL_HEADER,
    LOCATOR64,
    MAX16,
    MAX32,
    STORED,
    UTF8,
    ZIP64_EXTRA,
    Record,
    name_problem,
)  # fmt: skip

CHUNK = 1 << 20  # bytes per write: they are still in the cache after the checksum
LARGE = MAX32  # values from here on are written in 64 bits, as all ones mean "see zip64"


class ArchiveWriter:
    """Writes records one after the other; a context manager, which closes the archive, or abandons
    it after an exception.

    `target` is a path or an object with `write`. `top` is the folder of all records: by default the
    file's name without its last extension, and "archive" for streams. Raises RuntimeError if the
    folder of a path does not exist.
    """

    def __init__(self, target: object, *, top: str | None = None) -> None:
        self.position = 0
        self.records: dict[str, Record] = {}
        self.top = top_folder(target) if top is None else top
        problem = name_problem(self.top)
        if problem or "/" in self.top:
            raise ValueError(
                f"'{self.top}' cannot be the top folder of an archive: "
                f"{problem or 'it has a slash in it'}"
            )
        self._file: Any
        self._file = ReplacedFile(target) if isinstance(target, (str, os.PathLike)) else target
        self._closed = False

    def write(self, name: str, data: Any, *, compress: bool = False) -> None:
        """Writes a record: bytes, or any object with a contiguous buffer, which is not copied.
        `compress` deflates it.

        Raises ValueError for a name that is not allowed in an archive, RuntimeError for a name that
        has been written before.
        """
        if self._closed:
            raise ValueError(f"cannot write record '{name}': the archive is closed")
        problem = name_problem(name)
        if problem:
            raise ValueError(f"'{name}' cannot be the name of a record: {problem}")
        if name in self.records:
            raise RuntimeError(f"Tried to serialize file twice: {name}")
        with memoryview(data) as view, view.cast("B") as payload:
            if compress and payload.nbytes > 3:  # miniz stores up to 3 bytes as they are
                crc = zlib.crc32(payload)
                packer = zlib.compressobj(9, zlib.DEFLATED, -15)
                packed = packer.compress(payload) + packer.flush()
                self._record(name, memoryview(packed), payload.nbytes, DEFLATED, crc)
            else:
                self._record(name, payload, payload.nbytes, STORED, None)

    def close(self) -> None:
        """Writes the central directory and the end records, and gives a path its new content. A
        second call does nothing.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._end()
        except BaseException:
            self.abandon()
            raise
        if isinstance(self._file, ReplacedFile):
            self._file.commit()

    def abandon(self) -> None:
        """Removes the unfinished file. What a stream has received remains there."""
        self._closed = True
        if isinstance(self._file, ReplacedFile):
            self._file.discard()

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def __del__(self) -> None:
        if getattr(self, "_closed", True) is False:
            self.abandon()

    def _record(
        self, name: str, payload: memoryview, size: int, method: int, crc: int | None
    ) -> None:
        """Writes the local header, payload and data descriptor, and notes the record for the
        directory. `size` is before compression; `crc` None is computed from the payload.
        """
        full_name = f"{self.top}/{name}"
        raw_name = full_name.encode()
        if len(raw_name) > MAX16:
            raise ValueError(
                f"the name of a record has at most {MAX16} bytes, '{name[:40]}...' has "
                f"{len(raw_name)}"
            )
        at = self.position
        flags = HAS_DESCRIPTOR | UTF8 if payload.nbytes else UTF8
        zip64 = zip64_extra(size, payload.nbytes, at)
        extra = zip64 + padding(at + LOCAL_HEADER.size + len(raw_name) + len(zip64))
        self._put(
            LOCAL_HEADER.build(
                version_needed=20 if method else 0,
                flags=flags,
                method=method,
                name_length=len(raw_name),
                extra_length=len(extra),
            )
            + raw_name
            + extra
        )
        offset = self.position
        found = self._put(payload)
        crc = found if crc is None else crc
        if flags & HAS_DESCRIPTOR:
            descriptor = DESCRIPTOR64 if zip64 else DESCRIPTOR
            self._put(descriptor.build(crc32=crc, compressed_size=payload.nbytes, size=size))
        self.records[name] = Record(
            name, full_name, at, offset, payload.nbytes, size, method, crc, flags, extra
        )

    def _end(self) -> None:
        """Writes the central directory and the end records."""
        directory = self.position
        for record in self.records.values():
            name = record.full_name.encode()
            zip64 = zip64_extra(record.size, record.compressed_size, record.header_offset)
            entry = CENTRAL_HEADER.build(
                version_needed=20 if record.method else 0,
                flags=record.flags,
                method=record.method,
                crc32=record.crc32,
                compressed_size=MAX32 if record.size >= LARGE else record.compressed_size,
                size=or_ones(record.size),
                name_length=len(name),
                extra_length=len(zip64),
                header_offset=or_ones(record.header_offset),
            )
            self._put(entry + name + zip64)
        end64, n = self.position, len(self.records)
        where = {"directory_size": end64 - directory, "directory": directory}
        counts = {"entries_here": n, "entries": n}
        # The zip64 records are written even for small archives, as PyTorch does.
        self._put(
            END64.build(
                record_size=END64.size - 12,  # without the signature (4) and this field (8)
                version_made_by=798,  # 3 << 8 | 30: Unix, version 3.0 of the format
                version_needed=45,
                **counts,
                **where,
            )
        )
        self._put(LOCATOR64.build(end64=end64, disks=1))
        small = {key: min(value, MAX16) for key, value in counts.items()}
        self._put(END.build(**small, **{key: or_ones(value) for key, value in where.items()}))

    def _put(self, data: Any) -> int:
        """Writes all of `data` in pieces of CHUNK bytes, and returns its checksum."""
        crc = 0
        with memoryview(data) as view:
            if view.nbytes > CHUNK and isinstance(self._file, ReplacedFile):
                self._file.reserve(self.position, view.nbytes)
            for start in range(0, view.nbytes, CHUNK):
                piece = view[start : start + CHUNK]
                crc = zlib.crc32(piece, crc)
                while piece.nbytes:  # a raw file or a pipe may take only a part
                    written = self._file.write(piece)
                    if written is None or written >= piece.nbytes:
                        break
                    piece = piece[written:]
            self.position += view.nbytes
        return crc


def top_folder(target: object) -> str:
    """The folder of the records: `resnet` for `models/resnet.pt`; "archive" for a stream, or if the
    file's name is not allowed for a folder.
    """
    if not isinstance(target, (str, os.PathLike)):
        return "archive"
    name = os.fsdecode(target).replace("\\", "/").rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return stem if stem.isascii() and not name_problem(stem) else "archive"


def padding(start: int) -> bytes:
    """The extra field `FB` that moves a payload to the next multiple of 64, if the field itself
    begins at `start`.
    """
    n = -(start + 4) % ALIGNMENT  # 4: the field's own id and length
    return b"FB" + struct.pack("<H", n) + b"Z" * n


def zip64_extra(size: int, compressed_size: int, header_offset: int) -> bytes:
    """The extra field for values that do not fit into 32 bits: both sizes, or the header's offset,
    or all three. Mostly b"".
    """
    values = [size, compressed_size] * (size >= LARGE) + [header_offset] * (header_offset >= LARGE)
    return (
        struct.pack(f"<HH{len(values)}Q", ZIP64_EXTRA, 8 * len(values), *values) if values else b""
    )


def or_ones(value: int) -> int:
    """The content of a 32-bit field: all ones if the value is in the zip64 extra field."""
    return value if value < LARGE else MAX32
