"""Compiled code that others could have written is not run; what is damaged does not reach LLVM
(machine_code/trust.py).
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from internals.core import warn
from internals.machine_code import cache, llvm, trust

ROOT = Path(__file__).resolve().parents[2]
KEY, CODE = "ab" * 32, cache.Code(b"code", ("exp",))
STRANGER = 12345
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
with_owners = pytest.mark.skipif(not trust.HAS_OWNERS, reason="files have no owners and modes here")
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root can give files to other users")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache with one file, in a folder of its own."""
    monkeypatch.setattr(warn, "_said", set())
    monkeypatch.setattr(warn, "_always", False)
    above = tmp_path / "above"
    above.mkdir(mode=0o755)
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(above / "cache"))
    cache.store(KEY, CODE)
    yield above / "cache"
    for path in (above, above / "cache"):
        path.chmod(0o755)


def file_of(folder: Path) -> Path:
    return folder / KEY[:2] / f"{KEY}.o"


@with_owners
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everyone_may_read_what_is_written_and_only_the_owner_writes(folder, umask):
    shutil.rmtree(folder.parent)
    before = os.umask(umask)
    try:
        cache.store(KEY, CODE)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert modes == {"cache": 0o755, KEY[:2]: 0o755, f"{KEY}.o": 0o644}
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o755 & ~umask
    assert cache.load(KEY) == CODE


def link(path: Path) -> None:
    """Put a link in the place of a file or folder."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def give_away(path: Path) -> None:
    os.chown(path, STRANGER, -1)


SPOILED: dict[str, tuple[Callable[[Path], Path], Callable[[Path], None], str]] = {
    "folder, anyone writes": (
        Path,
        lambda p: p.chmod(0o777),
        "written by others (mode 0777); chmod go-w",
    ),
    "folder, anyone writes, sticky": (
        Path,
        lambda p: p.chmod(0o1777),
        "written by others (mode 1777)",
    ),
    "folder, group writes": (Path, lambda p: p.chmod(0o775), "written by others (mode 0775)"),
    "subfolder, group writes": (
        lambda f: f / KEY[:2],
        lambda p: p.chmod(0o775),
        "written by others (mode 0775)",
    ),
    "file, anyone writes": (file_of, lambda p: p.chmod(0o666), "written by others (mode 0666)"),
    "file, group writes": (file_of, lambda p: p.chmod(0o664), "written by others (mode 0664)"),
    "above, anyone writes": (
        lambda f: f.parent,
        lambda p: p.chmod(0o777),
        "written by others (mode 0777)",
    ),
    "above, others write": (
        lambda f: f.parent,
        lambda p: p.chmod(0o757),
        "written by others (mode 0757)",
    ),
    "subfolder is a link": (lambda f: f / KEY[:2], link, "is a link"),
    "file is a link": (file_of, link, "is a link"),
    "file is a pipe": (file_of, pipe, "is no regular file"),
    "folder of another": (Path, give_away, f"belongs to user {STRANGER}, not to you or root"),
    "subfolder of another": (lambda f: f / KEY[:2], give_away, f"belongs to user {STRANGER}"),
    "file of another": (file_of, give_away, f"belongs to user {STRANGER}"),
    "above of another": (lambda f: f.parent, give_away, f"belongs to user {STRANGER}"),
}


@with_owners
@pytest.mark.parametrize("case", SPOILED)
def test_what_others_could_have_written_is_refused_with_one_warning(folder, case):
    find, spoil, said = SPOILED[case]
    if spoil is give_away and not IS_ROOT:
        pytest.skip("only root can give files to other users")
    path = find(folder)
    spoil(path)
    with pytest.warns(UserWarning, match="compiled code in .* is not used") as caught:
        assert cache.load(KEY) is None and cache.load(KEY) is None
    (message,) = [str(w.message) for w in caught]
    assert str(folder) in message and f"{path} " in message and said in message
    assert "INTERNALS_CACHE_DIR" in message
    before = sorted(folder.rglob("*"))
    if path != file_of(folder):  # nothing is written where it would be refused
        cache.store("cd" * 32, CODE)
        cache.store("ab" + "0" * 62, CODE)
        within = path if path.name == KEY[:2] else folder
        assert [p for p in before if within in p.parents] == [
            p for p in sorted(folder.rglob("*")) if within in p.parents
        ]


@with_owners
@pytest.mark.filterwarnings("error")
def test_a_sticky_folder_above_a_link_to_the_cache_and_a_group_of_authors_are_trusted(
    folder, monkeypatch
):
    folder.parent.chmod(0o1777)
    assert cache.load(KEY) == CODE
    folder.parent.chmod(0o755)
    way = folder.parent / "way"
    way.symlink_to(folder)
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(way))
    assert cache.load(KEY) == CODE
    folder.parent.chmod(0o775)
    authors = folder.parent.stat()
    monkeypatch.setattr(trust, "_authors", lambda: authors)
    assert cache.load(KEY) == CODE


@with_owners
def test_what_belongs_to_neither_you_nor_root_is_refused(folder, monkeypatch):
    """Seen from a user who is not there: the cache is the one of who runs the test, and is root's
    if that is root.
    """
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    if IS_ROOT:
        assert cache.load(KEY) == CODE
    else:
        with pytest.warns(UserWarning, match="not to you or root"):
            assert cache.load(KEY) is None


@with_owners
def test_a_file_that_may_not_be_read_is_told(folder, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError("no")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.warns(UserWarning, match="you may not read .*; its owner can let you by chmod a"):
        assert cache.load(KEY) is None


@as_root
def test_a_cache_that_root_has_filled_serves_a_student_who_cannot_write_it(monkeypatch):
    program = (
        "import os, pwd, numpy\nfrom internals.machine_code import cache\n"
        f"os.umask(0o077); os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})\n"
        f"print(cache.load({KEY!r})); cache.store('cd' * 32, cache.Code(b'mine', ()))\n"
        "print(cache.load('cd' * 32)); print([oct(p.stat().st_mode) for p in "
        "cache.directory().rglob('*.o')])"
    )
    mine = cache.Code(b"mine", ())
    with tempfile.TemporaryDirectory() as name:  # pytest's own folder is closed to others
        own, shared = Path(name, "home"), Path(name, "shared")
        Path(name).chmod(0o755)
        own.mkdir()
        os.chown(own, STRANGER, STRANGER)
        monkeypatch.setenv("INTERNALS_CACHE_DIR", str(shared))
        cache.store(KEY, CODE)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "INTERNALS_CACHE_DIR": f"{own}/.cache/internals:{shared}",
        }
        run = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(run, env=environment, capture_output=True, text=True)
        assert done.stdout.splitlines() == [str(CODE), str(mine), "['0o100644']"], done.stderr
        assert not list(shared.glob("cd/*"))
        monkeypatch.setenv("INTERNALS_CACHE_DIR", f"{own}/.cache/internals")
        with pytest.warns(UserWarning, match=f"belongs to user {STRANGER}"):
            # root does not run what a student left
            assert cache.load("cd" * 32) is None


TEXT = """
define void @entry(i64 %begin, i64 %end, ptr %args) {
  %out = load ptr, ptr %args
  store double 3.0, ptr %out
  ret void
}
"""
CALL = f"""
import sys, numpy as np
from internals.machine_code.llvm import entry_from_ir
out = np.zeros(1)
entry_from_ir({TEXT!r}, "entry", "a key", "*f8")(0, 1, out.ctypes.data)
assert out[0] == 3
"""
OF_TEXT = llvm.digest("ir", "a key", "entry", llvm.host())
SYMBOL = f"k_{OF_TEXT[:24]}_entry"


@pytest.mark.sampled(1 / 4)
def test_no_flipped_bit_and_no_cut_is_taken_for_code(folder, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(cache, "warn_once", said.append)
    cache.store(KEY, llvm.emit(TEXT, {"entry": SYMBOL}, False))
    path = file_of(folder)
    whole = path.read_bytes()
    damaged = [
        whole[:n] + bytes([whole[n] ^ 1 << n % 8]) + whole[n + 1 :] for n in range(len(whole))
    ]
    damaged += [whole[:n] for n in range(len(whole))] + [whole + b"\0", whole[:100] + whole]
    for content in damaged:
        path.write_bytes(content)
        assert cache.load(KEY) is None
    assert len(said) == len(damaged) > 1500
    path.write_bytes(whole)
    assert cache.load(KEY) is not None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_under_another_name_is_not_its_code(folder):
    other = folder / KEY[:2] / f"{KEY[:2]}{'0' * 62}.o"
    shutil.copy(file_of(folder), other)
    assert cache.load(other.stem) is None and cache.read(KEY, "py") is None


WRONG: dict[str, Callable[[bytes], bytes]] = {
    "no object file": lambda good: b"[]\ncode",
    "nothing": lambda good: b"",
    "no names": lambda good: b"{{\n" + good,
    "names that are none": lambda good: b"5\n" + good,
    "cut short": lambda good: b"[]\n" + good[: len(good) // 2],
    "another machine": lambda good: (
        b"[]\n" + bytes([good[0]]) + bytes(b ^ 0xFF for b in good[1:20]) + good[20:]
    ),
    "another function": lambda good: b"[]\n" + good.replace(SYMBOL.encode(), b"k" * len(SYMBOL)),
}


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("case", WRONG)
def test_what_is_whole_and_no_code_for_this_machine_is_made_anew(folder, case):
    cache.write(OF_TEXT, "o", WRONG[case](llvm.emit(TEXT, {"entry": SYMBOL}, False).object))
    for warnings in (1, 0):
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(b"UserWarning") == warnings
        assert (
            done.stderr.count(b"in the cache of compiled code is damaged, and made anew")
            == warnings
        )


@pytest.mark.filterwarnings("error")
def test_files_of_an_earlier_version_are_replaced_without_a_word(folder):
    path = file_of(folder)
    path.write_bytes(cache.BEFORE + path.read_bytes()[len(cache.MAGIC) :])
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
