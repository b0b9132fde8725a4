"""What is left of a zip archive that cannot be read as one: records found by their signatures.

A zip archive is read from its end, where the central directory is. A download that stopped has
none, but each record still has its local header before it and, as PyTorch writes them, a data
descriptor behind it that says how long it is and what checksum it has. So the file is searched for
`PK 3 4`, and from there for the `PK 7 8` whose size is the distance.

How the real one differs: PyTorch says "failed finding central directory"; `zip -FF` of Info-ZIP
does what is done here.
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
TRIES = 10_000  # places that look like the end of a record and are none


class Salvaged:
    """As much of `ArchiveReader` as `inspect` uses: `name`, `top`, `records`, `read`, `verify`."""

    def __init__(self, content: memoryview, name: str) -> None:
        self.content, self.name, self.top = content, name, ""
        self.buffer: Any = cast(Any, content.obj)  # has `find`, which a memoryview has not
        self.records: dict[str, Record] = {}
        at = self.buffer.find(LOCAL_HEADER.signature)
        while at >= 0 and len(self.records) < RECORDS_AT_MOST:
            record = self.record_at(at)
            if record is not None:
                self.records.setdefault(record.name, record)
                self.top = self.top or record.full_name.partition("/")[0]
            following = record.offset + record.compressed_size if record is not None else at + 4
            at = self.buffer.find(LOCAL_HEADER.signature, following)

    def record_at(self, at: int) -> Record | None:
        """The record whose header is at `at`; one that the file does not hold to its end has the
        bytes that are left.
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
        """The checksum and the sizes of the payload at `offset`, from the descriptor behind it."""
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
        """The bytes of a record that is whole. Raises ArchiveError for another."""
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
        self.read(name)
