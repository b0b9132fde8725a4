"""When and how groups are compiled: in the background, from the disk, by several processes at once;
and what if that fails.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from internals.jit import fuser as package
from internals.jit.fuser import fuser, kernels_of, last_kernels, machine_kernel
from internals.jit.fuser.compiled_group import CompiledGroup
from internals.machine_code import cache
from internals.machine_code.settings import compiled_kernels
from tests.jit.fuser.support import assert_same, group

CHAIN = """graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::sub(%a, %y, %one)
  %c : Tensor = aten::mul(%b, %x)
  return (%c)""".replace("  %a", "  %one : int = prim::Constant[value=1]()\n  %a", 1)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing compiled, in memory or on disk."""
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_kernel, "_made", {})
    return tmp_path


def arguments(n: int = 40) -> tuple[Any, Any]:
    return torch.arange(n).float(), torch.full((n,), 0.5)


def check(result: Any, n: int = 40) -> None:
    x, y = arguments(n)
    assert_same(result, (x * y - y) * x)


def test_small_tensors_are_never_compiled(fresh: Path) -> None:
    compiled = CompiledGroup(group(CHAIN))
    check(compiled(*arguments()))
    assert not machine_kernel._made and not list(fresh.iterdir())


def test_the_operators_serve_until_the_kernel_is_there(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_compile = threading.Event()
    compile_it = machine_kernel.MachineKernel._compile

    def wait(self: Any) -> None:
        may_compile.wait(30)
        compile_it(self)

    monkeypatch.setattr(machine_kernel.MachineKernel, "_compile", wait)
    compiled = CompiledGroup(group(CHAIN))
    with fuser(threshold=0, synchronous=False):
        try:
            check(compiled(*arguments()))
            (kernel,) = machine_kernel._made.values()
            assert kernel.state == "compiling" and last_kernels()[-1].state == "compiling"
            check(compiled(*arguments()))
        finally:
            may_compile.set()
        package.background.wait()
        assert kernel.state == "ready"
        assert next(iter(compiled.ways.values())) is not compiled.unfused
        check(compiled(*arguments()))


def test_what_is_on_disk_is_loaded_at_once(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fuser(threshold=0, synchronous=True):
        check(CompiledGroup(group(CHAIN))(*arguments()))
    monkeypatch.setattr(machine_kernel, "_made", {})
    monkeypatch.setattr(package.background, "submit", None)
    with fuser(threshold=0, synchronous=False):
        check(CompiledGroup(group(CHAIN))(*arguments()))
    (kernel,) = machine_kernel._made.values()
    assert kernel.state == "ready"
    assert cache.read(kernel.entry.key, "py") == kernel.text.text.encode()


def test_damaged_files_are_written_anew(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        monkeypatch.setattr(machine_kernel, "_made", {})
        with fuser(threshold=0, synchronous=True):
            check(CompiledGroup(group(CHAIN))(*arguments()))

    run()
    for damage in (b"", cache.MAGIC + b" garbage", None):
        for path in fresh.glob("*/*.o"):
            path.write_bytes(path.read_bytes()[:-7] if damage is None else damage)
        with pytest.warns(UserWarning, match="is damaged, and made anew"):
            run()


def test_a_group_that_does_not_compile_runs_operator_by_operator(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from internals.machine_code.language import Kernel

    def refuse(self: Any, signature: str, aliasing: bool = False) -> Any:
        raise RuntimeError("no compiler today")

    monkeypatch.setattr(Kernel, "entry", refuse)
    compiled = CompiledGroup(group(CHAIN))
    with fuser(threshold=0, synchronous=True):
        with pytest.warns(
            UserWarning,
            match="the group fused_mul_sub_mul runs operator by operator.*no compiler today",
        ):
            check(compiled(*arguments()))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(compiled(*arguments()))
            check(CompiledGroup(group(CHAIN))(*arguments(30)), 30)
    assert last_kernels()[-1].state == "failed"


def test_settings(fresh: Path) -> None:
    compiled = CompiledGroup(group(CHAIN))
    with fuser(threshold=30, synchronous=True):
        compiled(*arguments(29))
        assert not machine_kernel._made
        compiled(*arguments(30))
        assert len(machine_kernel._made) == 1
        with fuser(enabled=False):
            compiled(*arguments(40))
            assert set(compiled.ways.values()) == {compiled.unfused}
        with compiled_kernels(False):
            compiled(*arguments(50))
            assert list(compiled.ways.values()).count(compiled.unfused) == 2
    assert package.settings.chosen == package.settings.chosen._replace(
        threshold=1 << 14, synchronous=False, enabled=True
    )


def test_one_kernel_serves_all_sizes(fresh: Path) -> None:
    compiled = CompiledGroup(group(CHAIN))
    with fuser(threshold=0, synchronous=True):
        for n in (1, 2, 17, 1000):
            check(compiled(*arguments(n)), n)
    assert len(machine_kernel._made) == 1


def test_several_threads_at_once(fresh: Path) -> None:
    compiled, errors = CompiledGroup(group(CHAIN)), []

    def work() -> None:
        try:
            for n in (5, 40, 33, 70_000):
                check(compiled(*arguments(n)), n)
        except BaseException as error:
            errors.append(error)

    with fuser(threshold=0, synchronous=True):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not errors and len(machine_kernel._made) == 1


@pytest.mark.parametrize(("terminal", "kind"), [(True, "xterm"), (True, "dumb"), (False, "xterm")])
def test_who_waits_at_a_terminal_sees_what_is_compiled(
    terminal: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = io.StringIO()
    told.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setenv("TERM", kind)
    package.background.submit("f", lambda: None)
    package.background.wait()
    visible = terminal and kind != "dumb"
    assert told.getvalue() == ("\r\x1b[Kinternals.jit: compiling f ...\r\x1b[K" if visible else "")


PROGRAM = """
import json, sys
import internals as torch
from internals.jit.fuser import fuser, background

@torch.jit.script
def f(x, y):
    return (x * y - y) * torch.tanh(x)

x = torch.arange(40).float()
with fuser(threshold=0, synchronous=True):
    result = f(x, x / 40)
print(json.dumps([result.sum().item(), "numba" in sys.modules]))
"""


@pytest.mark.sampled(1 / 4)
def test_several_processes_at_once(fresh: Path) -> None:
    script = fresh / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def start() -> Any:
        return subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )

    first = [p.communicate() for p in [start() for _ in range(3)]]
    assert all(not error for _, error in first), first
    results = [json.loads(out) for out, _ in first]
    assert len({r[0] for r in results}) == 1
    out, error = start().communicate()
    assert not error and json.loads(out) == [results[0][0], False], (
        "from the disk it needs no compiler"
    )


@pytest.mark.sampled(1 / 4)
def test_a_program_may_end_while_something_is_compiled(fresh: Path) -> None:
    script = fresh / "program.py"
    script.write_text(PROGRAM.replace("synchronous=True", "synchronous=False"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, env=environment, text=True, check=False
    )
    assert done.returncode == 0 and not done.stderr


def test_the_text_of_a_kernel(fresh: Path) -> None:
    text = """graph(%x.1 : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %half : float = prim::Constant[value=0.5]()
  %4 : Tensor = aten::sigmoid(%x.1)
  %5 : Tensor = aten::mul(%x.1, %4)
  %6 : Tensor = aten::mul(%y, %half)
  %7 : Tensor = aten::add(%5, %6, %1)
  return (%7)"""
    x = torch.randn(2, 3)
    (kernel,) = kernels_of(CompiledGroup(group(text)), x, x)
    assert (
        kernel.source
        == """def fused_sigmoid_mul_add(begin, end, x, y, out):
    half = float32(0.5)
    for i in range(begin, end):
        x_1 = x[i]
        y2 = y[i]
        n4 = sigmoid(x_1)  # %4 = aten::sigmoid(%x.1)
        n5 = x_1 * n4      # %5 = aten::mul(%x.1, %4)
        n6 = y2 * half     # %6 = aten::mul(%y, %half)
        n7 = n5 + n6       # %7 = aten::add(%5, %6, %1)
        out[i] = n7
"""
    )
    assert repr(kernel) == (
        "<kernel fused_sigmoid_mul_add(x: float32[2, 3], y: float32[2, 3], out: float32[2, 3]), "
        "numba>"
    )
    assert (kernel.bytes_moved, kernel.bytes_unfused, kernel.flops) == (72, 24 * 10, 24)
    assert "define" in kernel.llvm and kernel.assembly
    (strided,) = kernels_of(CompiledGroup(group(text)), x.t(), torch.randn(3, 1))
    assert strided.source.splitlines()[:6] == [
        "def fused_sigmoid_mul_add(begin, end, x, y, out, size1, x_stride0, y_stride0, "
        "out_stride0):",
        "    half = float32(0.5)",
        "    for row in range(begin // size1, (end + size1 - 1) // size1):",
        "        x_row = row * x_stride0",
        "        y_row = row * y_stride0",
        "        out_row = row * out_stride0",
    ]
