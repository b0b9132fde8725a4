"""The container: what is written comes back, other programs read it, and we read what other
programs write.
"""

from __future__ import annotations

import gc
import io
import mmap
import os
import pathlib
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.serialization import ArchiveError, ArchiveReader, ArchiveWriter
from internals.serialization.container import zip_writer as zip_writer_module
from internals.serialization.container.zip_records import END64, LOCATOR64, name_problem
from tests.answers import answer, oracle
from tests.support import examples, full

PART = st.text("abcXYZ019_-. é日", min_size=1, max_size=12).filter(
    lambda part: part not in (".", "..")
)
NAMES = (
    st.lists(PART, min_size=1, max_size=3)
    .map("/".join)
    .filter(lambda name: name_problem(name) is None)
)
RECORDS = st.dictionaries(
    NAMES, st.tuples(st.binary(max_size=300), st.booleans()), min_size=1, max_size=8
)


def archive(records: dict[str, tuple[bytes, bool]]) -> bytes:
    buffer = io.BytesIO()
    with ArchiveWriter(buffer) as writer:
        for name, (data, compress) in records.items():
            writer.write(name, data, compress=compress)
    return buffer.getvalue()


def as_tensor(storage: Any, dtype: Any = internals.uint8) -> Any:
    return internals.tensor([], dtype=dtype).set_(
        storage, 0, (storage.nbytes() // dtype.itemsize,), (1,)
    )


@given(RECORDS)
@examples(60)
def test_records_come_back_and_are_aligned(records: dict[str, tuple[bytes, bool]]) -> None:
    reader = ArchiveReader(archive(records))
    assert list(reader.records) == list(records)
    for name, (data, _) in records.items():
        assert (
            reader.has(name) and reader.read(name) == data and bytes(reader.storage(name)) == data
        )
        assert reader.records[name].offset % 64 == 0
        reader.verify(name)


@given(RECORDS)
@examples(60)
def test_pythons_zipfile_reads_what_we_write(records: dict[str, tuple[bytes, bool]]) -> None:
    theirs = zipfile.ZipFile(io.BytesIO(archive(records)))
    assert theirs.testzip() is None
    assert {i.filename: theirs.read(i) for i in theirs.infolist()} == {
        f"archive/{name}": data for name, (data, _) in records.items()
    }
    assert all(info.date_time == (1980, 0, 0, 0, 0, 0) for info in theirs.infolist())


class Unseekable(io.BytesIO):
    """A pipe: zipfile writes data descriptors to it."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise OSError("a pipe")

    def tell(self) -> int:
        raise OSError("a pipe")


@given(RECORDS, st.booleans(), st.booleans(), st.binary(max_size=40))
@examples(60)
def test_we_read_what_pythons_zipfile_writes(
    records: dict[str, tuple[bytes, bool]], piped: bool, zip64: bool, comment: bytes
) -> None:
    buffer = Unseekable() if piped else io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as theirs:
        theirs.comment = comment
        for name, (data, compress) in records.items():
            info = zipfile.ZipInfo(f"top/{name}")
            info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            info.comment = b"a comment"
            with theirs.open(info, "w", force_zip64=zip64) as member:
                member.write(data)
    reader = ArchiveReader(buffer.getvalue())
    assert reader.top == "top" and list(reader.records) == list(records)
    for name, (data, _) in records.items():
        assert reader.read(name) == data and bytes(reader.storage(name, len(data))) == data


def test_folders_of_a_zip_are_no_records(tmp_path: pathlib.Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as theirs:
        for name in ("m/", "m/data/", "m/data/0", "m/version"):
            theirs.writestr(name, "" if name.endswith("/") else "3\n")
    reader = ArchiveReader(tmp_path / "m.zip")
    assert reader.top == "m" and list(reader.records) == ["data/0", "version"]


def test_the_bytes_of_an_archive() -> None:
    """One record, field by field, as facts of the format have it."""
    data = archive({"version": (b"3\n", False)})
    name, crc = b"archive/version", zlib.crc32(b"3\n").to_bytes(4, "little")
    header = b"PK\3\4" + b"\0\0" + b"\x08\x08" + bytes(18) + bytes([15, 0, 19, 0])
    assert data[:64] == header + name + b"FB\x0f\0" + b"Z" * 15
    assert data[64:82] == b"3\n" + b"PK\7\x08" + crc + b"\2\0\0\0" * 2
    entry = (
        b"PK\1\2"
        + bytes(4)
        + b"\x08\x08"
        + bytes(6)
        + crc
        + b"\2\0\0\0" * 2
        + b"\x0f\0"
        + bytes(16)
    )
    assert data[82:143] == entry + name
    assert data[143:199] == END64.build(
        record_size=44,
        version_made_by=798,
        version_needed=45,
        entries_here=1,
        entries=1,
        directory_size=61,
        directory=82,
    )
    assert data[199:219] == LOCATOR64.build(end64=143, disks=1)
    assert data[219:] == b"PK\5\6" + bytes(4) + b"\1\0\1\0" + b"\x3d\0\0\0" + b"\x52\0\0\0" + bytes(
        2
    )


def test_unzip_is_content(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.pt"
    with ArchiveWriter(path) as writer:
        writer.write("data/0", bytes(range(256)))
        writer.write("code/m.py", b"pass\n" * 100, compress=True)
    try:
        done = subprocess.run(["unzip", "-t", str(path)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("unzip is not installed")
    assert done.returncode == 0 and "No errors detected" in done.stdout, done.stdout + done.stderr


# Beside real PyTorch


@given(RECORDS)
@examples(25)
def test_pytorch_reads_what_we_write_and_writes_the_same_bytes(
    records: dict[str, tuple[bytes, bool]],
) -> None:
    torch = oracle()
    records = {
        name: (data, compress) for name, (data, compress) in records.items() if name != "version"
    }
    buffer = io.BytesIO()
    writer = torch._C.PyTorchFileWriter(buffer)
    for name, (data, _) in records.items():
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()
    theirs = buffer.getvalue()
    reader = ArchiveReader(theirs)
    assert all(reader.read(name) == data for name, (data, _) in records.items())
    ours = archive({name: (reader.read(name), False) for name in reader.records})
    assert ours == theirs
    with_code = archive(
        {name: (reader.read(name), records.get(name, (b"", False))[1]) for name in reader.records}
    )
    back = torch._C.PyTorchFileReader(io.BytesIO(with_code))
    assert back.get_all_records() == list(reader.records)
    assert all(back.get_record(name) == data for name, (data, _) in records.items())


def test_pytorch_finds_our_records_where_they_are() -> None:
    data = archive(
        {"version": (b"3\n", False), "data/0": (b"abc", False), "data/1": (b"xyz" * 100, False)}
    )
    ours = ArchiveReader(data)

    def offsets(torch: Any) -> list[int]:
        theirs = torch._C.PyTorchFileReader(io.BytesIO(data))
        return [theirs.get_record_offset(n) for n in ours.records]

    assert answer(offsets, about=data, family="archives") == [
        r.offset for r in ours.records.values()
    ]


# Large archives, with small files


def test_sizes_and_offsets_in_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is moved instead of the file: what is larger than 300 bytes, or lies behind them,
    takes the zip64 fields.
    """
    records = {
        "a": (b"x" * 200, False),
        "b": (b"y" * 500, False),
        "c": (b"z" * 9, False),
        "d": (b"w" * 400, True),
        "version": (b"3\n", False),
    }
    monkeypatch.setattr(zip_writer_module, "LARGE", 300)
    data = archive(records)
    reader = ArchiveReader(data)
    sizes = [record.extra[:4] for record in reader.records.values()]
    assert sizes[0][:2] == b"FB" and sizes[1:4] == [b"\1\0\x10\0", b"\1\0\x08\0", b"\1\0\x18\0"]
    assert all(record.offset % 64 == 0 for record in reader.records.values())
    theirs = zipfile.ZipFile(io.BytesIO(data))
    for name, (content, _) in records.items():
        assert reader.read(name) == content == theirs.read(f"archive/{name}")
    try:
        import torch
    except ImportError:
        return
    back = torch._C.PyTorchFileReader(io.BytesIO(data))
    assert all(back.get_record(name) == content for name, (content, _) in records.items())


@pytest.mark.sampled(1 / 4)
def test_more_than_65535_records() -> None:
    many = {f"data/{i}": (b"", False) for i in range(65_600)}
    data = archive(many)
    assert list(ArchiveReader(data).records) == list(many)
    assert len(zipfile.ZipFile(io.BytesIO(data)).infolist()) == len(many)


class Holes(io.FileIO):
    """A file that leaves holes instead of writing zeros."""

    def write(self, data: Any) -> int:
        if len(data) > 1000 and not np.asarray(data).any():
            self.seek(len(data), os.SEEK_CUR)
            return len(data)
        return super().write(data)


def test_a_sparse_archive_of_more_than_4_gib(tmp_path: pathlib.Path) -> None:
    if not full():
        pytest.skip("the long version: INTERNALS_TEST_FULL=1")
    path, size = tmp_path / "large.pt", (4 << 30) + 128
    with Holes(path, "w") as file, ArchiveWriter(file) as writer:
        writer.write("version", b"3\n")
        writer.write("data/0", mmap.mmap(-1, size))
        writer.write("data/1", b"behind")
    reader = ArchiveReader(path)
    assert reader.records["data/0"].size == size and reader.read("data/1") == b"behind"
    storage = reader.storage("data/0", size)
    assert storage.nbytes() == size and storage[-1] == 0 and storage.data_ptr() % 64 == 0
    with zipfile.ZipFile(path) as theirs:
        assert (
            theirs.read("archive/data/1") == b"behind"
            and theirs.getinfo("archive/data/0").file_size == size
        )
    try:
        import torch
    except ImportError:
        return
    back = torch._C.PyTorchFileReader(str(path))
    assert back.get_record("data/1") == b"behind"
    assert [back.get_record_offset(name) for name in reader.records] == [
        r.offset for r in reader.records.values()
    ]


# Loading is mapping


def test_a_storage_lies_in_the_file_and_writing_to_it_does_not_change_the_file(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "m.pt"
    with ArchiveWriter(path) as writer:
        writer.write("data/0", np.arange(1000, dtype=np.float32))
    before = path.read_bytes()
    with ArchiveReader(path) as reader:
        storage = reader.storage("data/0", 4000)
        assert reader.storage("data/0") is storage
    assert storage.allocator is None and not storage.resizable() and storage.data_ptr() % 64 == 0
    t = as_tensor(storage, internals.float32)
    t.add_(1)
    assert t.tolist() == [i + 1 for i in range(1000)]
    assert path.read_bytes() == before


def test_a_file_may_be_replaced_while_it_is_mapped(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.pt"
    for value in (1, 2):
        with ArchiveWriter(path) as writer:
            writer.write("data/0", bytes([value]) * 100_000)
        if value == 1:
            storage = ArchiveReader(path).storage("data/0")
    assert set(bytes(storage)) == {1}
    assert set(ArchiveReader(path).read("data/0")) == {2}


def test_the_mapping_ends_with_the_last_storage(tmp_path: pathlib.Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("/proc/self/maps is Linux's")
    path = tmp_path / "only_here.pt"
    with ArchiveWriter(path) as writer:
        writer.write("data/0", bytes(100_000))

    def mapped() -> bool:
        return "only_here.pt" in pathlib.Path("/proc/self/maps").read_text()

    with ArchiveReader(path) as reader:
        storage: Any = reader.storage("data/0")
    del reader
    assert mapped()
    t = as_tensor(storage)
    del storage
    gc.collect()
    assert mapped() and t.sum().item() == 0
    del t
    gc.collect()
    assert not mapped()


LARGE = 100 << 20


@pytest.fixture
def large(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "large.pt"
    with ArchiveWriter(path) as writer:
        for i in range(10):
            writer.write(f"data/{i}", np.zeros(LARGE // 10, np.uint8))
    return path


def test_opening_a_large_archive_allocates_little(large: pathlib.Path) -> None:
    tracemalloc.start()
    try:
        with ArchiveReader(large) as reader:
            kept = [reader.storage(name) for name in reader.records]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(s.nbytes() for s in kept) == LARGE
    assert peak < 1 << 20


PEAK = """
import re, sys
from internals.serialization.container.zip_reader import ArchiveReader
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
def storages(path):
    with ArchiveReader(path) as reader:
        return [reader.storage(name) for name in reader.records]
storages(sys.argv[2])  # whatever is loaded or made the first time
before = peak()
kept = storages(sys.argv[1])
print(peak() - before)
"""


@pytest.mark.skipif(
    not pathlib.Path("/proc/self/status").exists(), reason="the system has no /proc to ask"
)
def test_opening_a_large_archive_reads_little_of_it(
    large: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """In a process of its own, for a highest mark is one of all that ever was there; the system
    maps some around each page.
    """
    with ArchiveWriter(tmp_path / "small.pt") as writer:
        writer.write("data/0", np.zeros(10, np.uint8))
    call = [sys.executable, "-c", PEAK, str(large), str(tmp_path / "small.pt")]
    kib = int(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
    assert kib < LARGE // 4 >> 10


def test_deflated_and_unaligned_records_are_copied() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as theirs:
        theirs.writestr("m/unaligned", b"abc" * 10)
        theirs.writestr("m/deflated", b"abc" * 1000, zipfile.ZIP_DEFLATED)
    reader = ArchiveReader(buffer.getvalue())
    for name, size in (("unaligned", 30), ("deflated", 3000)):
        storage = reader.storage(name, size)
        assert (
            storage.resizable()
            and storage.data_ptr() % 64 == 0
            and bytes(storage) == b"abc" * (size // 3)
        )


def test_what_can_be_read_from(tmp_path: pathlib.Path) -> None:
    data = archive({"version": (b"3\n", False)})
    (tmp_path / "m.pt").write_bytes(data)
    (tmp_path / "n.pt").write_bytes(b"before" + data)
    with open(tmp_path / "m.pt", "rb") as a, open(tmp_path / "n.pt", "rb") as b:
        b.seek(6)
        for source in (
            tmp_path / "m.pt",
            str(tmp_path / "m.pt"),
            a,
            b,
            data,
            bytearray(data),
            memoryview(data),
            io.BytesIO(data),
        ):
            assert ArchiveReader(source).read("version") == b"3\n"
    with pytest.raises(TypeError, match="binary mode"):
        ArchiveReader(io.StringIO("text"))
    with pytest.raises(TypeError, match="a path, a file object or bytes, but got int"):
        ArchiveReader(3)
    with pytest.raises(FileNotFoundError):
        ArchiveReader(tmp_path / "absent.pt")


def test_a_closed_reader_says_so() -> None:
    with ArchiveReader(archive({"version": (b"3\n", False)}), name="it") as reader:
        pass
    with pytest.raises(ValueError, match="it: the archive is closed"):
        reader.read("version")


def test_code_is_deflated() -> None:
    reader = ArchiveReader(archive({"code/m.py": (b"pass\n" * 1000, True)}))
    assert reader.records["code/m.py"].compressed_size < 100
    assert reader.text("code/m.py") == "pass\n" * 1000


def test_text_that_is_none() -> None:
    with pytest.raises(
        ArchiveError,
        match="archive: record 'code/m.py': not UTF-8 text: invalid start byte at byte 2",
    ):
        ArchiveReader(archive({"code/m.py": (b"ab\xff", False)})).text("code/m.py")
