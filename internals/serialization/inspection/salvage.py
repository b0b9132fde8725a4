"""Finds the records that are left in a damaged zip archive, by their signatures.

A zip archive is read from its end, where the central directory is. A download that stopped has
none, but each record still has a local header before it and, as PyTorch writes them, a data
descriptor after it with its length and checksum. So the file is searched for `PK 3 4`, and from
there for the `PK 7 8` whose size field equals the distance.

How the real one differs: PyTorch reports "failed finding central directory". The tool `zip -FF` of
Info-ZIP repairs archives in the same way.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, cast

from ..container.zip_records import (
    DEFLATED,
    DESCRIPTOR,
    HAS_DESCRIPTOR,
    LOCAL_HEADER,
    STORED,
    Record,
    name_problem,
)
from ..errors import ArchiveError

RECORDS_AT_MOST = 100_000
TRIES = 10_000  # at most so many `PK 7 8` inside a payload that are not its descriptor


class Salvaged:
    """Has the part of `ArchiveReader` that `inspect` uses: `name`, `top`, `records`, `read` and
    `verify`.
    """

    def __init__(self, content: memoryview, name: str) -> None:
        self.content, self.name, self.top = content, name, ""
        self.buffer: Any = cast(Any, content.obj)  # bytes or mmap: these have `find`
        self.records: dict[str, Record] = {}
        at = self.buffer.find(LOCAL_HEADER.signature)
        while at >= 0 and len(self.records) < RECORDS_AT_MOST:
            record = self.record_at(at)
            if record is not None:
                self.records.setdefault(record.name, record)
                self.top = self.top or record.full_name.partition("/")[0]
            # The payload is skipped: it may be an archive itself, with signatures in it.
            following = record.offset + record.compressed_size if record is not None else at + 4
            at = self.buffer.find(LOCAL_HEADER.signature, following)

    def record_at(self, at: int) -> Record | None:
        """The record whose header is at `at`, None if there is no sensible header. A record that is
        cut off has the bytes that are left.
        """
        try:
            header = LOCAL_HEADER.parse(self.content, at)
        except struct.error:
            return None
        names = at + LOCAL_HEADER.size
        offset = names + header.name_length + header.extra_length
        full_name = bytes(self.content[names : names + header.name_length]).decode(errors="replace")
        if (
            name_problem(full_name)
            or header.method not in (STORED, DEFLATED)
            or offset > len(self.content)
        ):
            return None
        crc, stored, size = header.crc32, header.compressed_size, header.size
        if header.flags & HAS_DESCRIPTOR and not stored:
            crc, stored, size = self.descriptor_of(offset)
        stored = min(stored, len(self.content) - offset)
        name = full_name.partition("/")[2] or full_name
        extra = bytes(self.content[names + header.name_length : offset])
        return Record(
            name, full_name, at, offset, stored, size, header.method, crc, header.flags, extra
        )

    def descriptor_of(self, offset: int) -> tuple[int, int, int]:
        """The checksum, stored size and size of the payload at `offset`, from the descriptor after
        it. Without one the size is -1, and the stored size reaches to the next header or the end.
        """
        at = self.buffer.find(DESCRIPTOR.signature, offset)
        for _ in range(TRIES):
            if at < 0 or at + DESCRIPTOR.size > len(self.content):
                break
            found = DESCRIPTOR.parse(self.content, at)
            if found.compressed_size == at - offset:
                return found.crc32, found.compressed_size, found.size
            at = self.buffer.find(DESCRIPTOR.signature, at + 1)
        left = len(self.content) - offset
        following = self.buffer.find(LOCAL_HEADER.signature, offset)
        return 0, following - offset if following >= 0 else left, -1

    def read(self, name: str) -> bytes:
        """The bytes of a complete record. Raises ArchiveError if it is cut off or damaged."""
        record = self.records[name]
        if record.size < 0:
            raise ArchiveError(
                "has no end: the file was cut short here", archive=self.name, record=name
            )
        data = bytes(self.content[record.offset : record.offset + record.compressed_size])
        if record.method == DEFLATED:
            try:
                data = zlib.decompressobj(-15).decompress(data, max(record.size, 1))
            except zlib.error as error:
                raise ArchiveError(
                    f"cannot be inflated: {error}", archive=self.name, record=name
                ) from None
        if len(data) != record.size or zlib.crc32(data) != record.crc32:
            message = "the data does not have the size and the checksum (CRC-32) it was saved with"
            raise ArchiveError(message, archive=self.name, record=name)
        return data

    def verify(self, name: str) -> None:
        """Raises ArchiveError if a record is cut off or damaged."""
        self.read(name)
