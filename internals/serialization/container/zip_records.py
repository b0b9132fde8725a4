"""The six structures a zip archive is made of, as tables, and the rules for the names in it
(`third_party/miniz`, APPNOTE.TXT).

    local header, name, extra field, payload, data descriptor   for each record
    central directory entry, name, extra field, comment         for each record, all at the end
    zip64 end record, zip64 end locator, end record             once: where the central directory is

Everything is little-endian. A reader starts at the end of the file, where the end record says where
the central directory is, whose entries say where the local headers are. The sizes stand three
times: in the local header (or zeros, when the writer did not know them yet), in the data descriptor
behind the payload, and in the central directory. 16- and 32-bit fields that are too small hold all
ones, and the value is in the extra field with id 1 (zip64).

How the real one differs: miniz writes these bytes one `MZ_WRITE_LE16` after the other, from offsets
in an enum.
"""

from __future__ import annotations

import re
import struct
from collections import namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

STORED, DEFLATED = 0, 8
ENCRYPTED, HAS_DESCRIPTOR, PATCHED, STRONGLY_ENCRYPTED, UTF8, MASKED = (
    1,
    1 << 3,
    1 << 5,
    1 << 6,
    1 << 11,
    1 << 13,
)
ALIGNMENT = 64  # kFieldAlignment: every payload begins on a multiple of it
MAX16, MAX32 = 0xFFFF, 0xFFFFFFFF
ZIP64_EXTRA = 1  # ids of extra fields


class Field(NamedTuple):
    name: str
    offset: int
    size: int
    meaning: str


class Layout:
    """One structure: its signature and its fields, in order. `parse` gives a named tuple, `build`
    bytes.
    """

    def __init__(self, name: str, signature: bytes, table: str) -> None:
        self.name, self.signature = name, signature
        rows = [line.split(None, 2) for line in table.strip().splitlines()]
        self.struct = struct.Struct("<" + "".join(code for _, code, _ in rows))
        self.size = self.struct.size
        self.tuple_type: Any = namedtuple("header", [row[0] for row in rows])  # type: ignore[misc]
        self.fields: list[Field] = []
        offset = 0
        for field, code, meaning in rows:
            self.fields.append(Field(field, offset, struct.calcsize(f"<{code}"), meaning))
            offset += self.fields[-1].size

    def parse(self, buffer: Any, offset: int) -> Any:
        """The fields at `offset`. The caller has made sure that the bytes are there."""
        return self.tuple_type(*self.struct.unpack_from(buffer, offset))

    def build(self, **values: Any) -> bytes:
        """The bytes; fields that are not given are 0."""
        filled = {field.name: 0 for field in self.fields} | {"signature": self.signature} | values
        return self.struct.pack(*filled.values())


LOCAL_HEADER = Layout(
    "local header",
    b"PK\3\4",
    """
    signature        4s  PK 3 4
    version_needed   H   0, or 20 for a deflated record
    flags            H   bit 3: sizes follow the payload; bit 11: the name is UTF-8
    method           H   0 stored, 8 deflated
    time             H   0
    date             H   0
    crc32            I   0 with bit 3, for who writes a stream does not know it yet
    compressed_size  I   0 with bit 3
    size             I   0 with bit 3
    name_length      H   bytes of the name, which follows
    extra_length     H   bytes of the extra field, which follows the name; then the payload
    """,
)
DESCRIPTOR = Layout(
    "data descriptor",
    b"PK\7\x08",
    """
    signature        4s  PK 7 8
    crc32            I   of the bytes before compression
    compressed_size  I   bytes of the payload
    size             I   bytes before compression
    """,
)
DESCRIPTOR64 = Layout(
    "zip64 data descriptor",
    b"PK\7\x08",
    """
    signature        4s  PK 7 8
    crc32            I   of the bytes before compression
    compressed_size  Q   bytes of the payload
    size             Q   bytes before compression
    """,
)
CENTRAL_HEADER = Layout(
    "central directory entry",
    b"PK\1\2",
    """
    signature        4s  PK 1 2
    version_made_by  H   0
    version_needed   H   0, or 20 for a deflated record
    flags            H   as in the local header
    method           H   as in the local header
    time             H   0
    date             H   0
    crc32            I   of the bytes before compression
    compressed_size  I   bytes of the payload
    size             I   bytes before compression
    name_length      H   bytes of the name, which follows
    extra_length     H   bytes of the extra field, which follows the name
    comment_length   H   bytes of the comment, which follows the extra field
    disk             H   0
    internal         H   0
    external         I   0; the file's permissions on Unix
    header_offset    I   where the local header is
    """,
)
END64 = Layout(
    "zip64 end record",
    b"PK\6\6",
    """
    signature        4s  PK 6 6
    record_size      Q   bytes of this record, these and the four before not counted
    version_made_by  H   798: 30 with 3 for Unix
    version_needed   H   45
    disk             I   0
    directory_disk   I   0
    entries_here     Q   entries of the central directory on this disk
    entries          Q   entries of the central directory
    directory_size   Q   bytes of the central directory
    directory        Q   where the central directory is
    """,
)
LOCATOR64 = Layout(
    "zip64 end locator",
    b"PK\6\7",
    """
    signature        4s  PK 6 7
    disk             I   0
    end64            Q   where the zip64 end record is
    disks            I   1
    """,
)
END = Layout(
    "end record",
    b"PK\5\6",
    """
    signature        4s  PK 5 6
    disk             H   0
    directory_disk   H   0
    entries_here     H   entries of the central directory on this disk
    entries          H   entries of the central directory
    directory_size   I   bytes of the central directory
    directory        I   where the central directory is
    comment_length   H   bytes of the archive's comment, which ends the file
    """,
)


class Record(NamedTuple):
    """One member of an archive. `name` is without the top folder; offsets count from the beginning
    of the file.
    """

    name: str
    full_name: str
    header_offset: int
    offset: int  # of the payload
    compressed_size: int
    size: int
    method: int
    crc32: int
    flags: int
    extra: bytes  # of the local header


def extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The (id, data) pairs of an extra field. Raises ValueError when they do not fill it
    exactly.
    """
    at = 0
    while at < len(extra):
        if at + 4 > len(extra):
            raise ValueError(f"{len(extra) - at} stray bytes at the end of the extra field")
        kind, length = struct.unpack_from("<HH", extra, at)
        if at + 4 + length > len(extra):
            raise ValueError(
                f"extra field {kind:#06x} has {length} bytes, but only {len(extra) - at - 4} are "
                "there"
            )
        yield kind, extra[at + 4 : at + 4 + length]
        at += 4 + length


_PLAIN = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_DRIVE = re.compile("[A-Za-z]:")


def name_problem(name: str) -> str | None:
    """What is wrong with a record's name: it must stay inside the folder that it is unpacked to.
    None when nothing is.
    """
    if _PLAIN.fullmatch(name):
        return None
    if not name:
        return "an empty name"
    if not name.isprintable():
        return "a NUL or another character in the name that cannot be printed"
    if "\\" in name:
        return "a backslash in the name"
    if name[0] == "/":
        return "an absolute path"
    if _DRIVE.match(name):
        return "a drive letter in the name"
    parts = name.split("/")
    if ".." in parts or "." in parts:
        return "a path with '.' or '..' in it"
    return "a path with an empty part" if "" in parts else None
