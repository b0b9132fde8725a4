"""Reads the central directory of a zip archive, and checks everything that it says
(`mz_zip_reader_read_central_dir` in `third_party/miniz`).

A file from a stranger may be damaged or malicious. So the names have to stay inside the folder, no
byte may belong to two records, each local header has to agree with its entry, and the sizes are
limited, all before a record is read.

How the real one differs: miniz only checks that it reads inside the file.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from ..errors import ArchiveError
from .zip_records import (
    CENTRAL_HEADER,
    DEFLATED,
    DESCRIPTOR,
    DESCRIPTOR64,
    ENCRYPTED,
    END,
    END64,
    HAS_DESCRIPTOR,
    LOCAL_HEADER,
    LOCATOR64,
    MASKED,
    MAX16,
    MAX32,
    PATCHED,
    STORED,
    STRONGLY_ENCRYPTED,
    ZIP64_EXTRA,
    Record,
    extra_fields,
    name_problem,
)  # fmt: skip

UNREADABLE = ENCRYPTED | PATCHED | STRONGLY_ENCRYPTED | MASKED
# Against compression bombs: the deflated records of an archive together may inflate to 8 times the
# size of the file plus 16 MiB.
BOMB_RATIO, BOMB_ALLOWANCE = 8, 1 << 24


class End(NamedTuple):
    """The offset of the central directory in the file, its size in bytes, its number of entries."""

    directory: int
    size: int
    entries: int


def read_directory(data: Any, archive: str) -> tuple[str, dict[str, Record]]:
    """Returns the top folder and the records of an archive, in the directory's order. `data` is an
    `mmap` or bytes, so that slices are copies.

    Raises ArchiveError, which names the record and the error.
    """
    end = find_end(data, archive)
    records: dict[str, Record] = {}
    extents: list[tuple[int, int, str]] = []
    prefix, at, limit = "", end.directory, end.directory + end.size
    for _ in range(end.entries):
        at, raw_name, entry = read_entry(data, at, limit, archive)
        full_name = checked_name(raw_name, archive)
        # The first record's folder is that of all records: `resnet/` of `resnet/data.pkl`.
        prefix = prefix or full_name[: full_name.find("/") + 1]
        if not prefix or not full_name.startswith(prefix):
            where = (
                f"not in the folder '{prefix}', as the first"
                if prefix
                else f"is not in a subdirectory: {full_name}"
            )
            raise ArchiveError(f"file in archive {where}", archive=archive, record=full_name)
        name = full_name[len(prefix) :]
        record, stop = read_local(data, raw_name, name, full_name, entry, end.directory, archive)
        extents.append((record.header_offset, stop, full_name))
        if name in records:
            raise ArchiveError("two records have this name", archive=archive, record=name)
        if name and name[-1] != "/":
            records[name] = record
        elif record.size:  # the name ends in "/": a folder
            raise ArchiveError("a folder that holds bytes", archive=archive, record=full_name)
    if at != limit:
        raise ArchiveError(
            f"{limit - at} bytes of the central directory belong to no entry", archive=archive
        )
    if not end.entries:
        raise ArchiveError("archive does not contain any files", archive=archive)
    check_overlaps(extents, archive)
    check_inflation(records, len(data), archive)
    return prefix[:-1], records


def find_end(data: Any, archive: str) -> End:
    """Reads the end record, which only a comment of unknown length follows, and the zip64 records
    in front of it.
    """
    size = len(data)
    if size >= 8 and data[:8] == b"PYTORCH1":
        raise ArchiveError(
            "File is an unsupported archive format from the preview release.", archive=archive
        )
    tail_start = max(0, size - END.size - MAX16)
    # The comment has at most 65535 bytes, and may contain the signature itself: the end record is
    # the last one whose comment reaches exactly to the end of the file.
    tail = data[tail_start:]
    at = tail.rfind(END.signature)
    while at >= 0:
        if at + END.size <= len(tail) and at + END.size + END.parse(tail, at).comment_length == len(
            tail
        ):
            break
        at = tail.rfind(END.signature, 0, at)
    if at < 0:
        what = (
            "the file is empty"
            if not size
            else "failed finding central directory: not a zip archive, or one cut short"
        )
        raise ArchiveError(
            f"PytorchStreamReader failed reading zip archive: {what}", archive=archive
        )
    at += tail_start
    end = END.parse(data, at)
    found, stop = End(end.directory, end.directory_size, end.entries), at
    # All of these are 0 if the archive is one file.
    disks: list[int] = [end.disk, end.directory_disk, end.entries_here - end.entries]
    locator_at = at - LOCATOR64.size
    if locator_at >= 0 and data[locator_at : locator_at + 4] == LOCATOR64.signature:
        found, stop, more_disks = find_end64(data, locator_at, found, archive)
        disks += more_disks
    if any(disks):
        raise ArchiveError("a part of an archive that spans several disks", archive=archive)
    if found.directory + found.size != stop:
        raise ArchiveError(
            "the central directory is not right before the end record: damaged or cut short",
            archive=archive,
        )
    # Before the loop over them: a lie of 2^64 entries would keep it busy for long.
    if found.entries * CENTRAL_HEADER.size > found.size:
        raise ArchiveError(
            f"{found.entries} entries do not fit into a directory of {found.size} bytes",
            archive=archive,
        )
    return found


def find_end64(data: Any, locator_at: int, small: End, archive: str) -> tuple[End, int, list[int]]:
    """Returns the values of the zip64 end record, its offset, and its numbers about disks, which
    should all be 0.

    `small` are the values of the ordinary end record: each is the same, or all ones if it does not
    fit there.
    """
    locator = LOCATOR64.parse(data, locator_at)
    at = locator.end64
    if at + END64.size > locator_at or data[at : at + 4] != END64.signature:
        raise ArchiveError("the zip64 end record is not where its locator says", archive=archive)
    end64 = END64.parse(data, at)
    # The record's size does not count its own field (8 bytes) and the signature (4 bytes).
    if at + 12 + end64.record_size != locator_at:
        raise ArchiveError(
            "the zip64 end record does not end where its locator begins", archive=archive
        )
    large = End(end64.directory, end64.directory_size, end64.entries)
    for a, b, saturated in zip(small, large, (MAX32, MAX32, MAX16)):
        if a != b and a != saturated:
            raise ArchiveError("the end record and the zip64 end record disagree", archive=archive)
    disks = [
        end64.disk,
        end64.directory_disk,
        end64.entries_here - end64.entries,
        locator.disk,
        locator.disks > 1,
    ]
    return large, at, disks


def read_entry(data: Any, at: int, limit: int, archive: str) -> tuple[int, bytes, Any]:
    """Reads the entry at `at`. Returns the offset of the next one, the bytes of the name, and the
    entry with its zip64 values filled in.
    """
    if at + CENTRAL_HEADER.size > limit:
        raise ArchiveError("the central directory is cut short", archive=archive)
    entry = CENTRAL_HEADER.parse(data, at)
    if entry.signature != CENTRAL_HEADER.signature:
        raise ArchiveError(f"no central directory entry at offset {at}", archive=archive)
    # [header][name][extra field][comment][next header]
    names = at + CENTRAL_HEADER.size
    extras = names + entry.name_length
    following = extras + entry.extra_length + entry.comment_length
    if following > limit:
        raise ArchiveError("the central directory is cut short", archive=archive)
    raw_name = data[names:extras]
    if entry.extra_length:
        extra = data[extras : extras + entry.extra_length]
        entry = with_zip64(
            entry, ("size", "compressed_size", "header_offset"), extra, archive, raw_name
        )
    return following, raw_name, entry


def read_local(
    data: Any, raw_name: bytes, name: str, full_name: str, entry: Any, limit: int, archive: str
) -> tuple[Record, int]:
    """Returns the record that an entry describes, checked against its local header, and the offset
    at which its bytes end. `limit` is the start of the central directory.
    """
    at, flags, method = entry.header_offset, entry.flags, entry.method
    crc32, compressed_size, size = known = entry.crc32, entry.compressed_size, entry.size
    wrong = entry_problem(entry)
    if not wrong and at + LOCAL_HEADER.size > limit:
        wrong = f"its header at offset {at} would lie outside the file"
    if wrong:
        raise ArchiveError(wrong, archive=archive, record=full_name)
    local = LOCAL_HEADER.parse(data, at)
    # [header][name][extra field][payload][data descriptor]
    names = at + LOCAL_HEADER.size
    extras = names + local.name_length
    offset = extras + local.extra_length
    stop = offset + compressed_size
    extra = data[extras:offset]
    if local.size == MAX32 or local.compressed_size == MAX32:
        local = with_zip64(local, ("size", "compressed_size"), extra, archive, raw_name)
    in_local = local.crc32, local.compressed_size, local.size
    if local.signature != LOCAL_HEADER.signature:
        wrong = f"no local header at offset {at}"
    elif stop > limit:
        wrong = f"its {compressed_size} bytes at offset {offset} would not end inside the file"
    elif data[names:extras] != raw_name:
        wrong = "the local header has another name than the central directory"
    elif local.method != method or (local.flags ^ flags) & (UNREADABLE | HAS_DESCRIPTOR):
        wrong = "the local header has another method or other flags than the central directory"
    # With a data descriptor, the local header may have zeros in place of the sizes.
    elif in_local != known and not (
        flags & HAS_DESCRIPTOR and all(a in (0, b) for a, b in zip(in_local, known))
    ):
        wrong = "the local header has other sizes than the central directory"
    elif flags & HAS_DESCRIPTOR:
        length = descriptor_length(data, stop, known)
        stop += length
        if not length or stop > limit:
            wrong = "its data descriptor disagrees with the central directory, or is missing"
    if wrong:
        raise ArchiveError(wrong, archive=archive, record=full_name)
    return Record(
        name, full_name, at, offset, compressed_size, size, method, crc32, flags, extra
    ), stop


def entry_problem(entry: Any) -> str | None:
    """The reason why a record cannot be read, as far as its entry in the central directory shows
    it; None if there is none.
    """
    if entry.flags & UNREADABLE:
        return "encrypted: save it without a password"
    if entry.method == STORED:
        if entry.size != entry.compressed_size:
            return f"stored, but its {entry.size} bytes take {entry.compressed_size}"
    elif entry.method != DEFLATED:
        return (
            f"compressed by method {entry.method}; only 0 (stored) and 8 (deflated) are known here"
        )
    return "on another disk of an archive that spans several" if entry.disk else None


def descriptor_length(data: Any, at: int, known: tuple[int, int, int]) -> int:
    """The size in bytes of the data descriptor at `at`: with 32- or 64-bit sizes, with or without
    a signature. 0 if its values are not `known` (crc32, compressed size, size).
    """
    for layout in (DESCRIPTOR, DESCRIPTOR64):
        if layout is DESCRIPTOR and max(known) > MAX32:
            continue
        expected = layout.struct.pack(layout.signature, *known)
        if data[at : at + layout.size] == expected:
            return layout.size
        if data[at : at + layout.size - 4] == expected[4:]:  # no signature, which is optional
            return layout.size - 4
    return 0


def with_zip64(
    header: Any, names: tuple[str, ...], extra: bytes, archive: str, raw_name: bytes
) -> Any:
    """Replaces those of the fields `names` that are all ones by the values in the zip64 extra
    field, which has only these, in the order of `names`.
    """
    saturated = [name for name in names if getattr(header, name) == MAX32]
    try:
        found = [data for kind, data in extra_fields(extra) if kind == ZIP64_EXTRA and saturated]
        if not found:
            return header
        values = struct.unpack_from(f"<{len(saturated)}Q", found[0])
    except (ValueError, struct.error) as error:
        shown = raw_name.decode(errors="backslashreplace")
        raise ArchiveError(
            f"a broken extra field: {error}", archive=archive, record=shown
        ) from None
    return header._replace(**dict(zip(saturated, values)))


def checked_name(raw_name: bytes, archive: str) -> str:
    """Decodes a name. Raises ArchiveError if it leads out of the folder it is unpacked to."""
    try:
        name = raw_name.decode()
    except UnicodeDecodeError:
        shown = raw_name.decode(errors="backslashreplace")
        raise ArchiveError("the name is not UTF-8", archive=archive, record=shown) from None
    problem = name_problem(name.removesuffix("/"))
    if problem:
        raise ArchiveError(problem, archive=archive, record=name)
    return name


def check_overlaps(extents: list[tuple[int, int, str]], archive: str) -> None:
    """Raises ArchiveError if a byte belongs to two records: a compression bomb can consist of many
    records that share one payload. `extents` are (start, stop, name).
    """
    extents.sort()
    for (_, stop, first), (start, _, second) in zip(extents, extents[1:]):
        if start < stop:
            raise ArchiveError(f"overlaps with record '{first}'", archive=archive, record=second)


def check_inflation(records: dict[str, Record], file_size: int, archive: str) -> None:
    """Raises ArchiveError if the deflated records, which are read into memory, are together much
    larger than the file.
    """
    allowed = BOMB_RATIO * file_size + BOMB_ALLOWANCE
    total = 0
    for name, record in records.items():
        if record.method == DEFLATED:
            total += record.size
            if total > allowed:
                raise ArchiveError(
                    f"its records would inflate to more than {allowed} bytes ({BOMB_RATIO} times "
                    f"the file and {BOMB_ALLOWANCE >> 20} MiB): a compression bomb; if it is not, "
                    "store its records uncompressed",
                    archive=archive,
                    record=name,
                )
