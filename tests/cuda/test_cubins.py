"""Machine code of a GPU on disk: what it is kept under, and what becomes of changed files."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals.cuda import cubins
from internals.cuda.device_array import DeviceArray
from internals.cuda.language import by_executor, cuda, device_function, kernel, template

op, T = template("op"), template("T")
CODE = b"\x7fELF" + bytes(14) + b"\xbe\x00 machine code of apply_to"
ARRAY = DeviceArray(0x7000, (6,), (1,), internals.float32)


@kernel
def apply_to(x, n):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        x[i] = op(T(x[i]))


@device_function
def double(a):  # type: ignore[no-untyped-def]
    return a + a


@device_function
def square(a):  # type: ignore[no-untyped-def]
    return a * a


def looked_up_in(table: Any) -> Any:
    return device_function(lambda a: table[a])


doubling = apply_to.bind(op=double, T=np.float32)


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is compiled, with an empty cache to begin with."""
    found: list[Any] = []

    def compile(kernel: Any, args: Any, cc: Any) -> tuple[str, bytes]:
        found.append(kernel)
        return kernel.name, CODE

    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cubins, "_compile", compile)
    return found


def cubin() -> tuple[str, bytes]:
    return cubins.cubin(doubling, (ARRAY, 6), (9, 0))


def file() -> Path:
    (path,) = Path(os.environ["INTERNALS_CACHE_DIR"]).glob("*/*.cubin")
    return path


def test_a_kernel_is_compiled_once(compilations: list[Any]) -> None:
    assert [cubin(), cubin()] == [("apply_to", CODE)] * 2 and compilations == [doubling]
    assert file().stat().st_mode & 0o777 == 0o644 or os.name == "nt"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda content: content[:-1], "the checksum in .* is wrong"),
        (lambda content: content.replace(b"machine", b"another"), "the checksum in .* is wrong"),
        (None, "it is no machine code for a GPU"),
    ],
)
def test_a_damaged_file_is_made_anew(compilations: list[Any], change: Any, why: str) -> None:
    cubin()
    if change:
        file().write_bytes(change(file().read_bytes()))
    else:  # whole, but for another machine
        cubins.cache.write(file().stem, "cubin", b"apply_to\n" + CODE.replace(b"\xbe", b"\x3e"))
    with pytest.warns(
        UserWarning,
        match=rf"\.cubin in the cache of compiled code is damaged, and made anew: {why}",
    ):
        assert cubin() == ("apply_to", CODE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cubin() == ("apply_to", CODE) and len(compilations) == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_what_others_can_write_is_not_loaded(compilations: list[Any]) -> None:
    cubin()
    file().chmod(0o666)
    with pytest.warns(
        UserWarning,
        match="is not used, and each process compiles its own: .* can be written by others",
    ):
        assert cubin() == ("apply_to", CODE) and len(compilations) == 2


def test_it_is_kept_under_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(k: Any = doubling, *args: Any, cc: tuple[int, int] = (9, 0)) -> str:
        return cubins.key_of(k, args or (ARRAY, 6), cc)

    bounded = apply_to.bind(op=double, T=np.float32)._instance(doubling.bindings)
    assert key() == key(bounded) == key(doubling, DeviceArray(1, (9,), (1,), internals.float32), 7)
    bounded.launch_bounds = (256, 2)
    table, other = np.arange(5000), np.arange(5000)
    other[2500] = 0  # which repr leaves out
    keys = [
        key(),
        key(bounded),
        key(cc=(8, 0)),
        key(apply_to.bind(op=square, T=np.float32)),
        key(apply_to.bind(op=double, T=np.float64)),
        key(apply_to.bind(op=by_executor(square, double), T=np.float64)),
        key(doubling, DeviceArray(1, (9,), (2,), internals.float32), 7),
        key(doubling, ARRAY, np.int32(6)),
        key(doubling, ARRAY, (6,)),
        key(apply_to.bind(op=looked_up_in(table), T=np.int64)),
        key(apply_to.bind(op=looked_up_in(other), T=np.int64)),
    ]
    cubins.versions.cache_clear()
    monkeypatch.setattr(cubins, "version", lambda package: "another")
    keys.append(key())
    cubins.versions.cache_clear()
    assert len(set(keys)) == len(keys) and all(keys)


def test_what_has_no_text_is_kept_for_the_process_only(compilations: list[Any]) -> None:
    unknown = apply_to.bind(op=double, T=object())
    assert cubins.cubin(unknown, (ARRAY, 6), (9, 0)) == cubins.cubin(unknown, (ARRAY, 6), (9, 0))
    assert compilations == [unknown] * 2 and not list(
        Path(os.environ["INTERNALS_CACHE_DIR"]).glob("*/*")
    )


PROGRAM = """
import sys
{before}
from tests.cuda.test_cubins import cubin
name, code = cubin()
print(name, len(code), code[18:20], name.encode() in code, "numba" in sys.modules)
"""


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="needs numba-cuda: pip install 'numba-cuda[cu13]'",
)
def test_what_is_on_disk_needs_no_compiler(tmp_path: Path) -> None:
    def run(before: str = "") -> list[str]:
        variables = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
        variables |= {"INTERNALS_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.getcwd()}
        command = [sys.executable, "-c", PROGRAM.format(before=before)]
        return subprocess.run(
            command, env=variables, capture_output=True, text=True, check=True
        ).stdout.split()

    first = run()
    assert first[2:] == [r"b'\xbe\x00'", "True", "True"]
    assert run("sys.modules['numba'] = None")[:4] == first[:4]
