"""The copy of the project in which faults are planted: `build/mutants/copy`. What you work on is
never touched.

A planted file is an edit of one span of its text. Everything that reads it sees the edit,
`inspect.getsource`, caches keyed by source and Pythons that a test starts included.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
_moments = count(
    int(time.time())
)  # Python's cache goes by seconds and size: no two versions of a file may share both


def refresh(copy: Path) -> None:
    """Make `copy` what git knows of the working tree, uncommitted changes included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = {
        name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()
    }
    if not names:
        raise SystemExit(
            "mutants: git lists no files here; faults are planted in a copy of a checkout"
        )
    for path in [p for p in copy.rglob("*") if p.is_file() and "__pycache__" not in p.parts]:
        name = path.relative_to(copy).as_posix()
        if name not in names and not name.startswith("build/"):
            path.unlink()
    for name in names:
        source, target = ROOT / name, copy / name
        if not target.exists() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    shutil.copy2(Path(__file__).parent / "site" / "sitecustomize.py", copy / "sitecustomize.py")


def environment(copy: Path, without_torch: bool) -> dict[str, str]:
    """What a Python that works in the copy is started with."""
    caches = {
        "INTERNALS_CACHE_DIR": str(WORK / "machine_code"),
        "NUMBA_CACHE_DIR": str(WORK / "numba_cache"),
    }
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    tests = {"INTERNALS_TEST_FULL": "", "INTERNALS_VERIFY_PASSES": "1", "PYTHONHASHSEED": "0"}
    oracle = {"INTERNALS_ORACLE": "0"} if without_torch else {}
    return {**os.environ, "PYTHONPATH": str(copy), **caches, **one_thread, **tests, **oracle}


def move_to(copy: Path) -> None:
    """This process works in that copy from here on, and what it starts does."""
    sys.path[:] = [str(copy) if place == os.environ["PYTHONPATH"] else place for place in sys.path]
    os.environ["PYTHONPATH"] = str(copy)
    os.chdir(copy)


@contextmanager
def planted(path: Path, text: str) -> Iterator[None]:
    """`path` reads `text` for a while."""
    before, status = path.read_bytes(), path.stat()
    try:
        path.write_text(text)
        moment = next(_moments)
        os.utime(path, (moment, moment))
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
