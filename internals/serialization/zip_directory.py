"""The central directory of a zip archive, read with suspicion (`mz_zip_reader_read_central_dir` in `third_party/miniz`).

How the real one differs: miniz checks that what it reads is in the file. That names stay inside the folder, that no two records
share a byte, and that the local headers agree, it leaves to its users.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .errors import ArchiveError
from .zip_records import (
    CENTRAL_HEADER, DEFLATED, DESCRIPTOR, DESCRIPTOR64, ENCRYPTED, END, END64, HAS_DESCRIPTOR, LOCAL_HEADER, LOCATOR64, MASKED,
    MAX16, MAX32, PATCHED, STORED, STRONGLY_ENCRYPTED, ZIP64_EXTRA, Record, extra_fields, name_problem,
)  # fmt: skip

UNREADABLE = ENCRYPTED | PATCHED | STRONGLY_ENCRYPTED | MASKED
# Compression bombs: all deflated records of an archive together inflate to at most 8 times the file and 16 MiB.
BOMB_RATIO, BOMB_ALLOWANCE = 8, 1 << 24


class End(NamedTuple):
    """Where the central directory is, how long it is, and how many entries it has."""

    directory: int
    size: int
    entries: int


def read_directory(memory: memoryview, archive: str) -> tuple[str, dict[str, Record]]:
    """The top folder and the records of an archive, in the directory's order. Raises ArchiveError naming what is wrong."""
    end = find_end(memory, archive)
    records: dict[str, Record] = {}
    extents: list[tuple[int, int, str]] = []
    top, at, limit = "", end.directory, end.directory + end.size
    for _ in range(end.entries):
        at, raw_name, entry = read_entry(memory, at, limit, archive)
        full_name = decoded(raw_name, archive)
        is_folder = full_name.endswith("/")
        problem = name_problem(full_name.removesuffix("/"))
        if problem:
            raise ArchiveError(problem, archive=archive, record=full_name)
        if not top:
            top = full_name.partition("/")[0]
        if not full_name.startswith(top + "/"):
            where = f"not in the folder '{top}', as the first" if "/" in full_name else f"is not in a subdirectory: {full_name}"
            raise ArchiveError(f"file in archive {where}", archive=archive, record=full_name)
        record, stop = read_local(memory, raw_name, full_name, entry, end.directory, archive)
        extents.append((record.header_offset, stop, full_name))
        if is_folder:
            if record.size:
                raise ArchiveError("a folder that holds bytes", archive=archive, record=full_name)
            continue
        name = full_name[len(top) + 1 :]
        if name in records:
            raise ArchiveError("two records have this name", archive=archive, record=name)
        records[name] = record._replace(name=name)
    if at != limit:
        raise ArchiveError(f"{limit - at} bytes of the central directory belong to no entry", archive=archive)
    if not end.entries:
        raise ArchiveError("archive does not contain any files", archive=archive)
    check_overlaps(extents, archive)
    check_inflation(records, len(memory), archive)
    return top, records


def find_end(memory: memoryview, archive: str) -> End:
    """Reads the end record, which is before a comment of unknown length, and the zip64 ones before it."""
    size = len(memory)
    if size >= 8 and memory[:8] == b"PYTORCH1":
        raise ArchiveError("File is an unsupported archive format from the preview release.", archive=archive)
    tail_start = max(0, size - END.size - MAX16)
    tail = bytes(memory[tail_start:])
    at = tail.rfind(END.signature)
    while at >= 0:
        if at + END.size <= len(tail) and at + END.size + END.parse(tail, at).comment_length == len(tail):
            break
        at = tail.rfind(END.signature, 0, at)
    if at < 0:
        what = "the file is empty" if not size else "failed finding central directory: not a zip archive, or one cut short"
        raise ArchiveError(f"PytorchStreamReader failed reading zip archive: {what}", archive=archive)
    at += tail_start
    end = END.parse(memory, at)
    found, disks, stop = End(end.directory, end.directory_size, end.entries), (end.disk, end.directory_disk), at
    here, before = end.entries_here, at - LOCATOR64.size
    if before >= 0 and memory[before : before + 4] == LOCATOR64.signature:
        locator = LOCATOR64.parse(memory, before)
        stop = locator.end64
        if stop + END64.size > before or memory[stop : stop + 4] != END64.signature:
            raise ArchiveError("the zip64 end record is not where its locator says", archive=archive)
        end64 = END64.parse(memory, stop)
        if stop + 12 + end64.record_size != before:
            raise ArchiveError("the zip64 end record does not end where its locator begins", archive=archive)
        large = End(end64.directory, end64.directory_size, end64.entries)
        for a, b, saturated in zip(found, large, (MAX32, MAX32, MAX16)):
            if a != b and a != saturated:
                raise ArchiveError("the end record and the zip64 end record disagree", archive=archive)
        found, here = large, end64.entries_here
        disks += (end64.disk, end64.directory_disk, locator.disk, max(locator.disks, 1) - 1)
    if any(disks) or here != found.entries:
        raise ArchiveError("a part of an archive that spans several disks", archive=archive)
    if found.directory + found.size != stop:
        raise ArchiveError("the central directory is not right before the end record: damaged or cut short", archive=archive)
    if found.entries * CENTRAL_HEADER.size > found.size:
        raise ArchiveError(f"{found.entries} entries do not fit into a directory of {found.size} bytes", archive=archive)
    return found


def read_entry(memory: memoryview, at: int, limit: int, archive: str) -> tuple[int, bytes, Any]:
    """The entry at `at`, zip64 values filled in, its name's bytes, and where the next begins."""
    if at + CENTRAL_HEADER.size > limit:
        raise ArchiveError("the central directory is cut short", archive=archive)
    entry = CENTRAL_HEADER.parse(memory, at)
    if entry.signature != CENTRAL_HEADER.signature:
        raise ArchiveError(f"no central directory entry at offset {at}", archive=archive)
    names = at + CENTRAL_HEADER.size
    extras = names + entry.name_length
    following = extras + entry.extra_length + entry.comment_length
    if following > limit:
        raise ArchiveError("the central directory is cut short", archive=archive)
    raw_name = bytes(memory[names:extras])
    if entry.extra_length:
        extra = bytes(memory[extras : extras + entry.extra_length])
        shown = raw_name.decode(errors="replace")
        entry = with_zip64(entry, ("size", "compressed_size", "header_offset"), extra, archive, shown)
    return following, raw_name, entry


def read_local(
    memory: memoryview, raw_name: bytes, full_name: str, entry: Any, limit: int, archive: str
) -> tuple[Record, int]:
    """The record that an entry describes, checked against its local header, and where its bytes end."""

    def wrong(message: str) -> ArchiveError:
        return ArchiveError(message, archive=archive, record=full_name)

    if entry.flags & UNREADABLE:
        raise wrong("encrypted: save it without a password")
    if entry.method not in (STORED, DEFLATED):
        raise wrong(f"compressed by method {entry.method}; only 0 (stored) and 8 (deflated) are known here")
    if entry.method == STORED and entry.size != entry.compressed_size:
        raise wrong(f"stored, but its {entry.size} bytes take {entry.compressed_size}")
    if entry.disk:
        raise wrong("on another disk of an archive that spans several")
    at = entry.header_offset
    if at + LOCAL_HEADER.size > limit:
        raise wrong(f"its header at offset {at} would lie outside the file")
    local = LOCAL_HEADER.parse(memory, at)
    if local.signature != LOCAL_HEADER.signature:
        raise wrong(f"no local header at offset {at}")
    names = at + LOCAL_HEADER.size
    extras = names + local.name_length
    offset = extras + local.extra_length
    stop = offset + entry.compressed_size
    if stop > limit:
        raise wrong(f"its {entry.compressed_size} bytes at offset {offset} would not end inside the file")
    if memory[names:extras] != raw_name:
        raise wrong("the local header has another name than the central directory")
    if local.method != entry.method or (local.flags ^ entry.flags) & (UNREADABLE | HAS_DESCRIPTOR):
        raise wrong("the local header has another method or other flags than the central directory")
    extra = bytes(memory[extras:offset])
    if extra:
        local = with_zip64(local, ("size", "compressed_size"), extra, archive, full_name)
    said, known = (local.crc32, local.compressed_size, local.size), (entry.crc32, entry.compressed_size, entry.size)
    if entry.flags & HAS_DESCRIPTOR:
        if any(a not in (0, b) for a, b in zip(said, known)):
            raise wrong("the local header has other sizes than the central directory")
        stop += descriptor_size(memory, stop, limit, known)
        if stop < offset + entry.compressed_size + 12:
            raise wrong("its data descriptor disagrees with the central directory, or is missing")
    elif said != known:
        raise wrong("the local header has other sizes than the central directory")
    record = Record(
        "", full_name, at, offset, entry.compressed_size, entry.size, entry.method, entry.crc32, entry.flags, extra
    )
    return record, stop


def descriptor_size(memory: memoryview, at: int, limit: int, known: tuple[int, int, int]) -> int:
    """How long the data descriptor is: 32- or 64-bit sizes, with or without a signature. 0 when there is none."""
    for layout in (DESCRIPTOR, DESCRIPTOR64):
        for skipped in (0, 4):
            length = layout.size - skipped
            if at + length > limit or (layout is DESCRIPTOR and max(known) > MAX32):
                continue
            expected = layout.build(crc32=known[0], compressed_size=known[1], size=known[2])[skipped:]
            if memory[at : at + length] == expected:
                return length
    return 0


def with_zip64(header: Any, names: tuple[str, ...], extra: bytes, archive: str, record: str) -> Any:
    """The header with the fields that are all ones replaced by those of the zip64 extra field, where they stand in this order."""
    try:
        found = [data for kind, data in extra_fields(extra) if kind == ZIP64_EXTRA]
    except ValueError as error:
        raise ArchiveError(str(error), archive=archive, record=record) from None
    saturated = [name for name in names if getattr(header, name) == MAX32]
    if not found or not saturated:
        return header
    if len(found) > 1 or len(found[0]) < 8 * len(saturated):
        raise ArchiveError("the zip64 extra field does not have the values it should", archive=archive, record=record)
    values = struct.unpack_from(f"<{len(saturated)}Q", found[0])
    return header._replace(**dict(zip(saturated, values)))


def decoded(raw_name: bytes, archive: str) -> str:
    try:
        return raw_name.decode()
    except UnicodeDecodeError:
        shown = raw_name.decode(errors="backslashreplace")
        raise ArchiveError("the name is not UTF-8", archive=archive, record=shown) from None


def check_overlaps(extents: list[tuple[int, int, str]], archive: str) -> None:
    """No byte may belong to two records: bombs are made of records that share one payload."""
    extents.sort()
    for (_, stop, first), (start, _, second) in zip(extents, extents[1:]):
        if start < stop:
            raise ArchiveError(f"overlaps with record '{first}'", archive=archive, record=second)


def check_inflation(records: dict[str, Record], file_size: int, archive: str) -> None:
    """Deflated records are read into memory: all together they may not be much larger than the file."""
    allowed = BOMB_RATIO * file_size + BOMB_ALLOWANCE
    total = 0
    for name, record in records.items():
        if record.method == DEFLATED:
            total += record.size
            if total > allowed:
                raise ArchiveError(
                    f"its records would inflate to more than {allowed} bytes ({BOMB_RATIO} times the file and "
                    f"{BOMB_ALLOWANCE >> 20} MiB): a compression bomb; if it is not, store its records uncompressed",
                    archive=archive,
                    record=name,
                )
