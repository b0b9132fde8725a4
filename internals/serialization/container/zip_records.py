"""The structures that a zip archive consists of, as tables, and the rules for the names in it
(`third_party/miniz`, APPNOTE.TXT).

    local header, name, extra field, payload, data descriptor   for each record
    central directory entry, name, extra field, comment         for each record, all at the end
    zip64 end record, zip64 end locator, end record             once, for the central directory

Everything is little-endian. A reader starts at the end of the file: the end record has the offset
of the central directory, whose entries have the offsets of the local headers. The sizes are
stored three times: in the local header (as zeros, if the writer did not know them yet), in the data
descriptor after the payload, and in the central directory. A value that is too large for its
16- or 32-bit field is replaced by all ones there, and stored in the extra field with id 1 (zip64).

How the real one differs: miniz writes each field by a call of `MZ_WRITE_LE16` or `MZ_WRITE_LE32`,
with offsets from an enum.
"""

from __future__ import annotations

import re
import struct
from collections import namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

STORED, DEFLATED = 0, 8  # values of `method`
# bits of `flags`; with one of the others that are set here, a record cannot be read
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
ZIP64_EXTRA = 1  # id of an extra field


class Field(NamedTuple):
    """One field of a structure: its offset and size in bytes, and its meaning for `inspect`."""

    name: str
    offset: int
    size: int
    meaning: str


class Layout:
    """One structure: its signature, and its fields in order. Each line of `table` is a name, a code
    of the `struct` module (H 2 bytes, I 4, Q 8, without a sign) and a meaning.
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
        """The fields at `offset`, as a named tuple; struct.error if the buffer ends before."""
        return self.tuple_type(*self.struct.unpack_from(buffer, offset))

    def build(self, **values: Any) -> bytes:
        """The bytes of the structure with these fields; the other ones are 0."""
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
    """One member of an archive. `name` is without the top folder; offsets and sizes are in bytes,
    offsets from the beginning of the file.
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
    """The (id, data) pairs of an extra field: each has 2 bytes of id, 2 of length, and the data.
    Raises ValueError if they do not fill it exactly.
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


# The usual name, `data/0` or `code/__torch__.py`: no part starts with a dot, so `..` is excluded.
_PLAIN = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_DRIVE = re.compile("[A-Za-z]:")


def name_problem(name: str) -> str | None:
    """The reason why a record's name is not allowed, None if it is: unpacking must not write
    outside of the chosen folder, on any operating system.
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
