"""Kernels in Python against themselves compiled; the cache on disk; threads
(internals/machine_code).
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import internals as torch
from internals.machine_code import (
    cache,
    compiled_kernels,
    get_num_threads,
    inline,
    kernel,
    limits,
    set_num_threads,
    template,
)
from internals.machine_code.compile import key_of, llvm_text
from internals.machine_code.language import bound
from internals.machine_code.llvm import CompileError, assembly, emit, entry_from_ir, load
from internals.machine_code.parallel import parallel_for
from internals.machine_code.settings import use_compiled

T = template("T")
unary = template("unary")


@inline
def square(v):
    return v * v


@inline
def half(v):
    return v * T(0.5)


@inline(fastmath=("reassoc", "nsz", "contract"))
def row_sum(x, start, n):
    total = T(0)
    for i in range(start, start + n):
        total += x[i]
    return total


@kernel
def apply(begin, end, x, out):
    for i in range(begin, end):
        out[i] = unary(x[i])


@kernel
def scaled_sum(begin, end, x, y, out, factor):
    for i in range(begin, end):
        out[i] = (x[i] + square(y[i])) * factor


@kernel
def row_sums(begin, end, x, out, n):
    for row in range(begin, end):
        out[row] = row_sum(x, row * n, n)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_kernel_gives_the_bits_of_the_python_function(dtype):
    k = scaled_sum.bind()
    word = f"f{np.dtype(dtype).itemsize}"
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1003)).astype(dtype)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny / 4]
    out, expected = np.empty_like(x), np.empty_like(x)
    k.entry(f"*{word} *{word} *{word} {word}")(
        0, x.size, x.ctypes.data, y.ctypes.data, out.ctypes.data, 0.7
    )
    k(0, x.size, x, y, expected, dtype(0.7))
    assert out.tobytes() == expected.tobytes()


def test_template_parameters_reach_inner_functions():
    x, out = np.arange(10, dtype=np.float32), np.empty(10, np.float32)
    for function, expected in ((square, x * x), (half, x / 2)):
        k = apply.bind(unary=function, T=np.float32)
        k.entry("*f4 *f4")(0, 10, x.ctypes.data, out.ctypes.data)
        assert np.array_equal(out, expected)


def test_unbound_template_parameter_is_named():
    with pytest.raises(RuntimeError, match="'T' of row_sum was not bound"):
        row_sums.entry("*f4 *f4 i8")


def test_sum_is_vectorised_and_exact_code_is_not_contracted():
    text = llvm_text(row_sums.bind(T=np.float32), "*f4 *f4 i8")
    assert "fadd reassoc nsz contract <" in text
    assert " fast " not in text
    exact = llvm_text(scaled_sum.bind(), "*f4 *f4 *f4 f4")
    assert "fmul <" in exact and "contract" not in exact
    assert "entry:" in assembly(exact)


def test_python_form_is_called_with_numpy_arrays():
    x = np.arange(6, dtype=np.float32)
    out = np.empty(2, np.float32)
    row_sums.bind(T=np.float32)(0, 2, x, out, 3)
    assert out.tolist() == [3, 12]
    assert bound(square, lambda called: called)(3) == 9


def test_what_numba_cannot_compile_is_told():
    @kernel
    def bad(begin, end, x):
        x[begin] = {}[end]

    with pytest.raises(CompileError, match=r"numba cannot compile the kernel bad\(\*f4\)"):
        bad.entry("*f4")
    with pytest.raises(CompileError, match="'f2' is no argument type of a kernel"):
        apply.bind(unary=square).entry("f2")


def test_fastmath_that_changes_nan_is_refused():
    with pytest.raises(ValueError, match="not nnan"):
        inline(fastmath=("nnan",))


def test_code_is_kept_on_disk_and_damaged_files_are_not_used(own_cache):
    def fresh():
        @kernel
        def doubled(begin, end, x, out):
            for i in range(begin, end):
                out[i] = x[i] + x[i]

        return doubled

    x, out = np.arange(5, dtype=np.float32), np.empty(5, np.float32)
    entry = fresh().entry("*f4 *f4")
    stored = cache.load(entry.key)
    assert stored is not None
    path = next(own_cache.glob(f"*/{entry.key}.o"))
    content = path.read_bytes()
    for damaged in (
        content[:-1],
        content[:50],
        b"",
        content[:-1] + bytes([content[-1] ^ 1]),
        b"x" + content[1:],
    ):
        path.write_bytes(damaged)
        with pytest.warns(UserWarning, match="is damaged, and made anew: the checksum"):
            assert cache.load(entry.key) is None
    with pytest.warns(UserWarning, match="is damaged"):
        fresh().entry("*f4 *f4")(0, 5, x.ctypes.data, out.ctypes.data)
    assert cache.load(entry.key) is not None and out.tolist() == [0, 2, 4, 6, 8]
    assert [p for p in own_cache.rglob("*") if p.is_file()] == [path], "no temporary file stays"
    cache.clear()
    assert not path.exists()


def test_key_depends_on_what_is_called_and_bound():
    keys = {
        key_of(apply.bind(unary=square), "*f4 *f4"),
        key_of(apply.bind(unary=square), "*f8 *f8"),
        key_of(apply.bind(unary=square), "*f4 *f4", aliasing=True),
        key_of(apply.bind(unary=half, T=np.float32), "*f4 *f4"),
        key_of(apply.bind(unary=half, T=np.float64), "*f4 *f4"),
    }
    assert len(keys) == 5
    assert key_of(apply.bind(unary=square), "*f4 *f4") in keys


PROCESS = """
import sys
import numpy as np
from tests.machine_code.test_machine_code import row_sums
x, out = np.arange(6, dtype=np.float32), np.empty(2, np.float32)
row_sums.bind(T=np.float32).entry("*f4 *f4 i8")(0, 2, x.ctypes.data, out.ctypes.data, 3)
assert out.tolist() == [3, 12]
print("numba" in sys.modules)
"""


@pytest.mark.sampled(1 / 4)
def test_processes_that_start_at_once_share_the_cache_and_later_ones_need_no_compiler(own_cache):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    run = [sys.executable, "-c", PROCESS]
    several = [
        subprocess.Popen(run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in several:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err.decode()
    assert len([p for p in own_cache.rglob("*") if p.is_file()]) == 1
    later = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    assert later.stdout.strip() == "False"


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    cache.store("0" * 64, cache.Code(b"code", ()))
    assert cache.load("0" * 64) is None


def test_several_directories_are_read_and_only_the_first_is_written(tmp_path, monkeypatch):
    own, shared = tmp_path / "own", tmp_path / "shared"
    mine, theirs = cache.Code(b"mine", ()), cache.Code(b"theirs", ("exp",))
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(shared))
    cache.store("0" * 64, theirs)
    before = sorted(shared.rglob("*"))
    monkeypatch.setenv("INTERNALS_CACHE_DIR", os.pathsep.join([str(own), str(shared)]))
    assert cache.load("0" * 64) == theirs and cache.directory() == own and not own.exists()
    cache.store("1" * 64, mine)
    assert cache.load("1" * 64) == mine and sorted(shared.rglob("*")) == before
    next(own.rglob("*.o")).write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="is damaged"):
        assert cache.load("1" * 64) is None
    assert cache.load("0" * 64) == theirs
    cache.clear()
    assert sorted(shared.rglob("*")) == before and not list(own.rglob("*.o"))


def test_hand_written_llvm_code(own_cache):
    text = """
    define void @triple(i64 %begin, i64 %end, ptr %args) {
      %out = load ptr, ptr %args
      %slot = getelementptr i64, ptr %args, i64 1
      %x = load double, ptr %slot
      %y = fmul double %x, 3.0
      store double %y, ptr %out
      ret void
    }
    """
    out = np.zeros(1)
    entry = entry_from_ir(text, "triple", "test triple 1", "*f8 f8")
    entry(0, 1, out.ctypes.data, 2.5)
    assert out[0] == 7.5
    again = entry_from_ir(lambda: pytest.fail("it is on disk"), "triple", "test triple 1", "*f8 f8")
    again.quick(0, 1, out.ctypes.data, -1.0)
    assert out[0] == -3
    with pytest.raises(CompileError, match="no LLVM module with a function missing"):
        entry_from_ir(text, "missing", "test triple 2", "*f8 f8")
    code = emit(text, {"triple": "test_triple_3"}, optimize=True)
    assert load(code, "test_triple_3") == load(code, "test_triple_3") != 0
    with pytest.raises(CompileError, match="machine code has no function test_triple_4"):
        load(code, "test_triple_4")
    with pytest.raises(CompileError, match="which this process does not have"):
        entry_from_ir(
            "declare void @no_such_function_anywhere()\n"
            "define void @f(i64 %b, i64 %e, ptr %a) {\n call void @no_such_function_anywhere()\n "
            "ret void\n}",
            "f", "test missing external", "",
        )  # fmt: skip


def test_math_functions_are_found_without_numba():
    @inline
    def c_exp(v):
        return math.exp(v)

    x, out = np.linspace(-2, 2, 9), np.empty(9)
    apply.bind(unary=c_exp).entry("*f8 *f8")(0, 9, x.ctypes.data, out.ctypes.data)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-15)


@pytest.fixture
def threads():
    before = get_num_threads()
    yield
    set_num_threads(before)


@pytest.mark.parametrize("number", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_parallel_for_does_each_part_once(threads, number, n):
    set_num_threads(number)
    done = []
    parallel_for(lambda begin, end, args: done.append((begin, end)), n, 10, None)
    assert [i for begin, end in sorted(done) for i in range(begin, end)] == list(range(n))
    assert len(done) <= number


def test_parallel_for_hands_on_errors_and_nests(threads):
    set_num_threads(2)

    def fail(begin, end, args):
        if begin:
            raise KeyError("second part")

    with pytest.raises(KeyError, match="second part"):
        parallel_for(fail, 100, 1, None)
    inner = []

    def nested(begin, end, args):
        parallel_for(lambda b, e, _: inner.append((b, e, threading.current_thread())), 100, 1, None)

    parallel_for(nested, 2, 1, None)
    assert sum(e - b for b, e, _ in inner) == 200


@pytest.mark.parametrize("number", [1, 2, 5])
def test_kernel_in_parts_on_several_threads(threads, number):
    set_num_threads(number)
    entry = apply.bind(unary=square).entry("*f4 *f4")
    for n in (0, 1, 99, 1000, 100_003):
        x = np.arange(n, dtype=np.float32)
        for grain in (1, 64, 1 << 20):
            out = np.full(n, -1, np.float32)
            entry.parallel(n, grain, x.ctypes.data, out.ctypes.data)
            assert np.array_equal(out, x * x)


def test_callers_in_several_threads_do_not_disturb_each_other(threads):
    set_num_threads(3)
    entry = apply.bind(unary=square).entry("*f4 *f4")
    wrong = []

    def call(start):
        x = np.arange(start, start + 20_000, dtype=np.float32)
        for _ in range(50):
            out = np.zeros_like(x)
            entry.parallel(x.size, 256, x.ctypes.data, out.ctypes.data)
            if not np.array_equal(out, x * x):
                wrong.append(start)

    callers = [threading.Thread(target=call, args=(i * 1000,)) for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_threads_are_made_anew_in_a_forked_process(threads):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    set_num_threads(2)
    parallel_for(lambda b, e, a: None, 100, 1, None)
    code = (
        "import os, internals.machine_code.parallel as p\n"
        "import numpy as np\n"
        "from tests.machine_code.test_machine_code import apply, square\n"
        "p.set_num_threads(2)\n"
        "x = np.arange(10000, dtype=np.float32); out = np.empty_like(x)\n"
        "def both():\n"
        "    p.parallel_for(lambda b, e, a: None, 100, 1, None)\n"
        "    apply.bind(unary=square).entry('*f4 *f4').parallel(x.size, 16, x.ctypes.data, "
        "out.ctypes.data)\n"
        "both()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    both(); os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120, env=environment
    )


def test_a_fork_waits_until_nobody_compiles():
    """Else the new process would wait for a thread that it does not have."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    code = (
        "import os, threading, time\n"
        "from internals.machine_code import compile, llvm\n"
        "for lock in (compile._lock, llvm._lock):\n"
        "    held = threading.Event()\n"
        "    def compiling():\n"
        "        with lock:\n"
        "            held.set(); time.sleep(0.2)\n"
        "    other = threading.Thread(target=compiling); other.start(); held.wait()\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        os._exit(7 if lock.acquire(timeout=1) else 1)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
        "    other.join()\n"
        "    assert lock.acquire(timeout=1)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_number_of_threads_is_checked():
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        set_num_threads(0)
    with pytest.raises(RuntimeError, match="expects an int, but got float"):
        set_num_threads(1.0)


def test_limits_of_this_machine():
    assert limits.bandwidth(1 << 14, seconds=0.01) > 0
    assert limits.peak(seconds=0.01) > 0
    out = np.zeros(limits.LANES, np.float32)
    limits._chains()(0, 60, out.ctypes.data)
    assert np.allclose(out, 2 * limits.CHAINS), "x = x / 2 + 1 has come to rest at 2 in every chain"


def test_settings():
    assert use_compiled(100, 50) and not use_compiled(10, 50)
    with compiled_kernels(threshold=0):
        assert use_compiled(1, 50)
        with compiled_kernels(False):
            assert not use_compiled(100, 50)
    assert not use_compiled(10, 50)


def test_importing_internals_imports_no_compiler():
    code = (
        "import sys, internals; internals.ones(3) + 1; assert not {'numba', 'llvmlite', "
        "'threadpoolctl'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert torch.ones(1).item() == 1
