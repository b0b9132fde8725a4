"""Archives made by hand to be wrong in one way each: every one is refused by an error that names
the archive and the record.
"""

from __future__ import annotations

import io
import re
import struct
import tracemalloc
import zipfile
import zlib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from internals.serialization import ArchiveError, ArchiveReader, ArchiveWriter
from internals.serialization.container.zip_records import (
    CENTRAL_HEADER,
    DESCRIPTOR,
    END,
    END64,
    LOCAL_HEADER,
    LOCATOR64,
)
from tests.support import examples


class Member:
    """A record to forge: `local` and `central` replace fields of the two headers after they were
    filled in truly.
    """

    def __init__(
        self,
        name: str | bytes,
        data: bytes = b"data",
        *,
        deflate: bool = False,
        local_name: bytes | None = None,
        local: dict[str, int] | None = None,
        central: dict[str, int] | None = None,
        extra: bytes = b"",
        descriptor: bytes = b"",
    ) -> None:
        self.name = name.encode() if isinstance(name, str) else name
        self.local_name = self.name if local_name is None else local_name
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        self.payload = packer.compress(data) + packer.flush() if deflate else data
        self.true = {
            "crc32": zlib.crc32(data),
            "compressed_size": len(self.payload),
            "size": len(data),
            "method": 8 if deflate else 0,
        }
        self.local, self.central, self.extra, self.descriptor = (
            local or {},
            central or {},
            extra,
            descriptor,
        )


def forge(
    *members: Member,
    between: bytes = b"",
    before_end: bytes = b"",
    comment: bytes = b"",
    **end: int,
) -> bytes:
    """A zip of these members. `end` replaces fields of the end record."""
    body, directory = b"", b""
    for m in members:
        central = {**m.true, "header_offset": len(body), **m.central}
        lengths = {"name_length": len(m.local_name), "extra_length": len(m.extra)}
        body += (
            LOCAL_HEADER.build(**{**m.true, **lengths, **m.local})
            + m.local_name
            + m.extra
            + m.payload
            + m.descriptor
        )
        directory += CENTRAL_HEADER.build(
            **{"name_length": len(m.name), "extra_length": len(m.extra), **central}
        )
        directory += m.name + m.extra
    where = {
        "directory": len(body),
        "directory_size": len(directory),
        "entries": len(members),
        "entries_here": len(members),
    }
    tail = END.build(**{**where, "comment_length": len(comment), **end})
    return body + between + directory + before_end + tail + comment


def refused(data: bytes, message: str, record: str = "", read: str = "") -> None:
    with pytest.raises(ArchiveError, match=re.escape(message)) as raised:
        with ArchiveReader(data, name="evil.pt") as reader:
            reader.read(read)
    assert raised.value.archive == "evil.pt" and str(raised.value).startswith("evil.pt: ")
    assert raised.value.record == record


def test_the_forger_makes_good_archives_too() -> None:
    data = forge(Member("m/a"), Member("m/b", b"x" * 100, deflate=True), comment=b"hello")
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    reader = ArchiveReader(data)
    assert reader.top == "m" and reader.read("a") == b"data" and reader.read("b") == b"x" * 100


@pytest.mark.parametrize(
    "data", [b"", b"P", b"not a zip" * 100, b"PK\3\4" + bytes(100), b"\x80\x02}."]
)
def test_no_zip(data: bytes) -> None:
    refused(data, "PytorchStreamReader failed reading zip archive: ")


def test_the_preview_release() -> None:
    refused(
        b"PYTORCH1" + forge(Member("m/a")),
        "File is an unsupported archive format from the preview release.",
    )


def test_no_records() -> None:
    refused(forge(), "archive does not contain any files")


def test_every_truncation_is_refused() -> None:
    buffer = io.BytesIO()
    with ArchiveWriter(buffer) as writer:
        writer.write("data/0", b"x" * 100)
        writer.write("code/m.py", b"pass\n" * 100, compress=True)
    data = buffer.getvalue()
    for n in range(len(data)):
        with pytest.raises(ArchiveError, match="archive: "):
            ArchiveReader(data[:n])
        with pytest.raises(ArchiveError):
            ArchiveReader(data[n + 1 :])


@pytest.mark.parametrize(
    "name, message",
    [
        ("m/../../etc/passwd", "a path with '.' or '..' in it"),
        ("m/./a", "a path with '.' or '..' in it"),
        ("../a", "a path with '.' or '..' in it"),
        ("/m/a", "an absolute path"),
        ("m\\a", "a backslash in the name"),
        ("C:/a", "a drive letter in the name"),
        ("m/a\0b", "a NUL or another character in the name that cannot be printed"),
        ("m/a\nb", "a NUL or another character in the name that cannot be printed"),
        ("m//a", "a path with an empty part"),
        ("", "an empty name"),
        ("a", "file in archive is not in a subdirectory: a"),
    ],
)
def test_names(name: str, message: str) -> None:
    refused(forge(Member(name)), message, record=name)


def test_names_that_are_not_utf8() -> None:
    refused(forge(Member(b"m/\xff")), "the name is not UTF-8", record="m/\\xff")


def test_a_record_outside_the_folder() -> None:
    refused(forge(Member("m/a"), Member("n/a")), "not in the folder 'm/'", record="n/a")
    refused(forge(Member("m/a"), Member("ma")), "not in the folder 'm/'", record="ma")


def test_two_records_of_one_name() -> None:
    refused(forge(Member("m/a"), Member("m/a", b"other")), "two records have this name", record="a")


def test_a_folder_with_bytes() -> None:
    refused(forge(Member("m/"), Member("m/f/")), "a folder that holds bytes", record="m/")


@pytest.mark.parametrize("flag", [0, 5, 6, 13])
def test_encrypted(flag: int) -> None:
    member = Member("m/a", local={"flags": 1 << flag}, central={"flags": 1 << flag})
    refused(forge(member), "encrypted", record="m/a")


@pytest.mark.parametrize("method", [1, 9, 12, 14, 93, 99])
def test_other_methods(method: int) -> None:
    member = Member("m/a", local={"method": method}, central={"method": method})
    refused(
        forge(member),
        f"compressed by method {method}; only 0 (stored) and 8 (deflated)",
        record="m/a",
    )


def test_several_disks() -> None:
    message = "a part of an archive that spans several disks"
    for field in ("disk", "directory_disk", "entries_here"):
        refused(forge(Member("m/a"), **{field: 3}), message)
    refused(forge(Member("m/a", central={"disk": 1})), "on another disk", record="m/a")


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"local_name": b"m/b"}, "the local header has another name"),
        ({"local": {"method": 8}}, "the local header has another method or other flags"),
        ({"local": {"flags": 1}}, "the local header has another method or other flags"),
        ({"local": {"flags": 8}}, "the local header has another method or other flags"),
        ({"local": {"crc32": 1}}, "the local header has other sizes"),
        ({"local": {"size": 3}}, "the local header has other sizes"),
        ({"local": {"compressed_size": 3}}, "the local header has other sizes"),
        ({"central": {"size": 3}}, "stored, but its 3 bytes take 4"),
        (
            {"central": {"compressed_size": 1 << 30, "size": 1 << 30}},
            "would not end inside the file",
        ),
        ({"central": {"header_offset": 5}}, "no local header at offset 5"),
        (
            {"central": {"header_offset": 1 << 31}},
            "its header at offset 2147483648 would lie outside the file",
        ),
        ({"local": {"signature": b"PK\3\5"}}, "no local header at offset 0"),
        ({"local": {"extra_length": 60000}}, "would not end inside the file"),
        ({"local": {"name_length": 60000}}, "would not end inside the file"),
        (
            {"extra": b"\1\0\x40\0" + bytes(8), "central": {"size": 0xFFFFFFFF}},
            "a broken extra field",
        ),
        (
            {"extra": b"\1\0\2\0" + bytes(2), "central": {"size": 0xFFFFFFFF}},
            "a broken extra field",
        ),
        (
            {"extra": b"\1\0\x08\0" + b"\xff" * 8, "central": {"header_offset": 0xFFFFFFFF}},
            "would lie outside the file",
        ),
    ],
)
def test_two_descriptions_that_disagree(fields: dict[str, Any], message: str) -> None:
    refused(forge(Member("m/a", **fields)), message, record="m/a")


def test_a_data_descriptor_that_disagrees_or_is_missing() -> None:
    crc = zlib.crc32(b"data")
    streamed: dict[str, Any] = {
        "local": {"flags": 8, "crc32": 0, "size": 0, "compressed_size": 0},
        "central": {"flags": 8},
    }
    good = DESCRIPTOR.build(crc32=crc, compressed_size=4, size=4)
    for descriptor in (
        good,
        good[4:],
        struct.pack("<IQQ", crc, 4, 4),
        struct.pack("<4sIQQ", b"PK\7\x08", crc, 4, 4),
    ):
        assert (
            ArchiveReader(forge(Member("m/a", descriptor=descriptor, **streamed))).read("a")
            == b"data"
        )
    for descriptor in (
        b"",
        good[:-1],
        DESCRIPTOR.build(crc32=crc, compressed_size=4, size=5),
        bytes(16),
    ):
        refused(
            forge(Member("m/a", descriptor=descriptor, **streamed)),
            "its data descriptor disagrees",
            record="m/a",
        )


def test_overlapping_records() -> None:
    whole = Member("m/a", b"x" * 100)
    inner = forge(Member("m/b", b"y" * 10))
    refused(
        forge(
            Member("m/a", inner),
            Member("m/b", b"y" * 10, central={"header_offset": LOCAL_HEADER.size + 3}),
        ),
        "overlaps with record 'm/a'",
        record="m/b",
    )
    again = Member("m/a", b"x" * 100, central={"header_offset": 0})
    refused(forge(whole, again), "two records have this name", record="a")


@pytest.mark.parametrize("method", ["stored", "deflated"])
def test_records_that_share_a_byte(method: str) -> None:
    """One byte is as bad as all of them; none is as it should be."""
    n = Member("m/a", b"x" * 100, deflate=method == "deflated").true["compressed_size"]
    for shared in range(90):
        sizes = {
            "compressed_size": n + shared,
            **({"size": n + shared} if method == "stored" else {}),
        }
        first = Member("m/a", b"x" * 100, deflate=method == "deflated", local=sizes, central=sizes)
        data = forge(first, Member("m/b", b"y" * 200))
        if shared:
            refused(data, "overlaps with record 'm/a'", record="m/b")
        else:
            assert ArchiveReader(data).read("b") == b"y" * 200


def test_a_record_that_reaches_into_the_directory() -> None:
    data = forge(
        Member(
            "m/a",
            b"x" * 10,
            central={"size": 40, "compressed_size": 40},
            local={"size": 40, "compressed_size": 40},
        )
    )
    refused(data, "would not end inside the file", record="m/a")


@pytest.mark.parametrize(
    "end, message",
    [
        ({"directory": 3}, "the central directory is not right before the end record"),
        ({"directory_size": 3}, "the central directory is not right before the end record"),
        ({"directory": 0xFFFFFFFF}, "the central directory is not right before the end record"),
        ({"entries": 2, "entries_here": 2}, "2 entries do not fit into a directory of 49 bytes"),
        ({"entries": 0, "entries_here": 0}, "49 bytes of the central directory belong to no entry"),
    ],
)
def test_a_directory_that_is_not_where_it_should_be(end: dict[str, int], message: str) -> None:
    refused(forge(Member("m/a"), **end), message)


def test_a_directory_that_is_broken_inside() -> None:
    data = forge(Member("m/a"), Member("m/b"))
    at = data.index(b"PK\1\2")
    refused(data[:at] + b"PK\1\3" + data[at + 4 :], "no central directory entry at offset")
    for name, value in (("name_length", 4000), ("extra_length", 4000), ("comment_length", 4000)):
        refused(forge(Member("m/a", central={name: value})), "the central directory is cut short")
    refused(
        forge(Member("m/a", central={"name_length": 1}), Member("m/b")),
        "file in archive is not in a subdirectory: m",
        "m",
    )


def test_zip64_end_records_that_disagree() -> None:
    plain = forge(Member("m/a"))
    end = END.parse(plain, len(plain) - END.size)
    start = len(plain) - END.size
    true = {
        "entries": 1,
        "entries_here": 1,
        "directory": end.directory,
        "directory_size": end.directory_size,
    }

    def with_zip64(record: dict[str, int], locator: dict[str, int]) -> bytes:
        end64 = END64.build(**{"record_size": 44, **true, **record})
        return forge(
            Member("m/a"),
            before_end=end64 + LOCATOR64.build(**{"end64": start, "disks": 1, **locator}),
        )

    assert ArchiveReader(with_zip64({}, {})).read("a") == b"data"
    refused(
        with_zip64({"entries": 2, "entries_here": 2}, {}),
        "the end record and the zip64 end record disagree",
    )
    refused(with_zip64({"directory": 1}, {}), "the end record and the zip64 end record disagree")
    refused(with_zip64({}, {"end64": 1}), "the zip64 end record is not where its locator says")
    refused(
        with_zip64({}, {"end64": 1 << 63}), "the zip64 end record is not where its locator says"
    )
    refused(
        with_zip64({"record_size": 1 << 60}, {}),
        "the zip64 end record does not end where its locator begins",
    )
    refused(with_zip64({}, {"disks": 2}), "spans several disks")


# What is found only when a record is read


def test_a_missing_record() -> None:
    message = "PytorchStreamReader failed locating file b: file not found"
    refused(forge(Member("m/a")), message, record="b", read="b")
    with pytest.raises(ArchiveError, match=message):
        ArchiveReader(forge(Member("m/a"))).storage("b", 4)


@pytest.mark.parametrize("deflate", [False, True])
def test_damaged_data(deflate: bool) -> None:
    wrong = {"crc32": 12345}
    data = forge(Member("m/a", b"x" * 100, deflate=deflate, local=wrong, central=wrong))
    message = "the data does not have the checksum (CRC-32) it was saved with"
    refused(data, message, record="a", read="a")
    with pytest.raises(ArchiveError, match=re.escape(message)):
        ArchiveReader(data).verify("a")
    if not deflate:  # a storage is a view of what is there, as in PyTorch
        assert bytes(ArchiveReader(data).storage("a")) == b"x" * 100


def test_data_that_cannot_be_inflated() -> None:
    deflated = {"method": 8}
    refused(
        forge(Member("m/a", b"\xff" * 20, local=deflated, central=deflated)),
        "cannot be inflated",
        record="a",
        read="a",
    )


@pytest.mark.parametrize("size", [0, 99, 101, 5000])
def test_data_that_inflates_to_another_size(size: int) -> None:
    wrong = {"size": size}
    data = forge(Member("m/a", b"x" * 100, deflate=True, local=wrong, central=wrong))
    refused(
        data,
        f"does not inflate to the {size} bytes that the archive declares",
        record="a",
        read="a",
    )


def test_data_behind_the_deflated_stream() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    payload = packer.compress(b"x" * 100) + packer.flush() + b"hidden"
    fields = {"method": 8, "size": 100, "crc32": zlib.crc32(b"x" * 100)}
    refused(
        forge(Member("m/a", payload, local=fields, central=fields)),
        "does not inflate to the 100 bytes",
        "a",
        "a",
    )


def test_a_storage_with_too_few_bytes() -> None:
    with pytest.raises(
        ArchiveError, match="record 'a': a storage of 5 bytes is said to be in it, but it has 4"
    ):
        ArchiveReader(forge(Member("m/a"))).storage("a", 5)


# Compression bombs


def test_a_bomb_is_refused_by_its_declared_size() -> None:
    data = forge(Member("m/a"), Member("m/b", bytes(100 << 20), deflate=True))
    assert len(data) < 200_000
    refused(data, "would inflate to more than", record="b")


def test_many_small_bombs_are_one_large_bomb() -> None:
    data = forge(*[Member(f"m/{i}", bytes(2 << 20), deflate=True) for i in range(20)])
    with pytest.raises(ArchiveError, match="a compression bomb"):
        ArchiveReader(data)


def test_a_bomb_that_lies_about_its_size_inflates_no_further() -> None:
    lie = {"size": 1000}
    data = forge(Member("m/a", bytes(100 << 20), deflate=True, local=lie, central=lie))
    reader = ArchiveReader(data)
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError, match="does not inflate to the 1000 bytes"):
            reader.read("a")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


# Anything


@given(st.binary(max_size=200))
@examples(100)
def test_noise_is_refused(noise: bytes) -> None:
    for data in (
        noise,
        forge(Member("m/a")) + noise,
        b"PK\3\4" + noise + END.build(comment_length=0),
    ):
        try:
            ArchiveReader(data)
        except ArchiveError:
            pass


@given(st.data())
@examples(200)
def test_a_changed_byte_is_noticed_or_harmless(data: st.DataObject) -> None:
    good = forge(Member("m/a", b"x" * 50), Member("m/b", b"y" * 50, deflate=True))
    at = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[at] = data.draw(st.integers(0, 255))
    try:
        reader = ArchiveReader(bytes(bad))
        found = {name: reader.read(name) for name in reader.records}
    except ArchiveError:
        return
    assert sorted(found.values()) == [b"x" * 50, b"y" * 50]
