"""Writing an archive is all or nothing: a path has its old content until everything is there."""

from __future__ import annotations

import gc
import io
import os
import pathlib
import stat
import tracemalloc
from typing import Any

import numpy as np
import pytest

from internals.serialization import ArchiveReader, ArchiveWriter
from internals.serialization.container.zip_writer import top_folder


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.pt"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), ArchiveWriter(path) as writer:
        writer.write("data/0", bytes(3_000_000))
        assert len(os.listdir(tmp_path)) == 2
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["m.pt"] and path.read_bytes() == b"old"


def test_an_error_while_writing_leaves_the_old_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.pt"
    path.write_bytes(b"old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("posix_fallocate", "replace"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
            patch.setattr(os, name, full)
            with ArchiveWriter(path) as writer:
                writer.write("data/0", bytes(3_000_000))
        assert os.listdir(tmp_path) == ["m.pt"] and path.read_bytes() == b"old"


def test_a_writer_that_is_forgotten_leaves_nothing(tmp_path: pathlib.Path) -> None:
    writer = ArchiveWriter(tmp_path / "m.pt")
    writer.write("a", b"b")
    del writer
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_permissions_are_those_of_open(tmp_path: pathlib.Path) -> None:
    if os.name != "posix":
        pytest.skip("permissions are POSIX's")
    before = os.umask(0o027)
    try:
        for name in ("new", "old"):
            path = tmp_path / name
            if name == "old":
                path.write_bytes(b"")
                path.chmod(0o604)
            with ArchiveWriter(path) as writer:
                writer.write("a", b"b")
            assert stat.S_IMODE(path.stat().st_mode) == (0o640 if name == "new" else 0o604)
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "real").mkdir()
    try:
        (tmp_path / "m.pt").symlink_to(tmp_path / "real" / "m.pt")
    except OSError:
        pytest.skip("no symbolic links here")
    with ArchiveWriter(tmp_path / "m.pt") as writer:
        writer.write("a", b"b")
    assert (tmp_path / "m.pt").is_symlink() and ArchiveReader(tmp_path / "real" / "m.pt").read(
        "a"
    ) == b"b"


def test_streams_that_write_little_at_a_time_or_nothing_they_tell() -> None:
    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[:7])

    class Silent:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: Any) -> None:
            self.data += bytes(data)

    slow, silent = Slow(), Silent()
    for stream in (slow, silent):
        with ArchiveWriter(stream) as writer:
            writer.write("a", b"0123456789" * 20)
    whole = io.BytesIO()
    with ArchiveWriter(whole) as writer:
        writer.write("a", b"0123456789" * 20)
    assert slow.getvalue() == silent.data == whole.getvalue()


def test_writing_to_what_is_no_file() -> None:
    if not os.path.exists("/dev/null"):
        pytest.skip("no /dev/null here")
    with ArchiveWriter("/dev/null") as writer:
        writer.write("a", bytes(3_000_000))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_large_record_is_not_copied(tmp_path: pathlib.Path) -> None:
    data = np.ones(8 << 20, np.float64)
    tracemalloc.start()
    try:
        with ArchiveWriter(tmp_path / "m.pt") as writer:
            writer.write("data/0", data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_what_is_refused_when_writing(tmp_path: pathlib.Path) -> None:
    with ArchiveWriter(io.BytesIO()) as writer:
        for name in ("", "/a", "a/../b", "a\\b", "a\0b", "C:a", "a//b", "a/", "."):
            with pytest.raises(ValueError, match="cannot be the name of a record"):
                writer.write(name, b"")
        writer.write("a", b"")
        with pytest.raises(RuntimeError, match="Tried to serialize file twice: a"):
            writer.write("a", b"")
        with pytest.raises(ValueError, match="at most 65535 bytes"):
            writer.write("a" * 70_000, b"")
    with pytest.raises(ValueError, match="the archive is closed"):
        writer.write("b", b"")
    with pytest.raises(RuntimeError, match="Parent directory .*absent does not exist"):
        ArchiveWriter(tmp_path / "absent" / "m.pt")
    with pytest.raises(ValueError, match="cannot be the top folder"):
        ArchiveWriter(io.BytesIO(), top="a/b")


@pytest.mark.parametrize(
    "path, top",
    [
        ("resnet.pt", "resnet"),
        ("a/b/resnet.tar.gz", "resnet.tar"),
        ("m", "m"),
        ("a\\b.pt", "b"),
        ("größe.pt", "archive"),
        ("...", "archive"),
    ],
)
def test_the_top_folder_is_the_files_name(path: str, top: str) -> None:
    assert top_folder(path) == top
