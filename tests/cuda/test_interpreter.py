"""The interpreter of kernels: threads, barriers, shared memory, errors; and numba's own simulator
as a second opinion.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.cuda import interpreter
from internals.cuda.driver import CudaError
from internals.cuda.language import cuda, device_function, kernel, template

T, op, N = template("T"), template("op"), template("N")


@kernel
def where_am_i(out):
    i, j = cuda.grid(2)
    out[j, i] = (
        cuda.threadIdx.x + 10 * cuda.threadIdx.y + 100 * cuda.blockIdx.x + 1000 * cuda.blockIdx.y
    )


@kernel
def reverse_block(a):
    """Every thread reads what another wrote before the barrier."""
    shared = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    shared[t] = a[t]
    cuda.syncthreads()
    a[t] = shared[7 - t]


@device_function
def add(a, b):
    return a + b


@device_function
def larger(a, b):
    return a if a > b else b


@device_function
def tree(shared, n):
    """Combine n elements of shared memory in log2(n) rounds."""
    t = cuda.threadIdx.x
    while n > 1:
        n //= 2
        if t < n:
            shared[t] = op(shared[t], shared[t + n])
        cuda.syncthreads()
    return shared[0]


@kernel
def reduce_twice(out, a):
    """Two device functions that wait: calls of them become `yield from`."""
    shared = cuda.shared.array(N, T)
    t = cuda.threadIdx.x
    shared[t] = a[t]
    cuda.syncthreads()
    total = sum_tree(shared, N)
    cuda.syncthreads()
    shared[t] = a[t]
    cuda.syncthreads()
    most = max_tree(shared, N)
    if t == 0:
        out[0] = total
        out[1] = most


sum_tree, max_tree = tree.bind(op=add), tree.bind(op=larger)


@kernel
def count(out, n):
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(out, i % 3, 1)
        i += cuda.gridsize(1)


@kernel
def unequal_waits(a):
    if cuda.threadIdx.x == 0:
        cuda.syncthreads()
    else:
        a[0] = 1
        cuda.syncthreads()


@kernel
def read_at(out, a, i):
    out[0] = a[i]


@kernel
def refuse(a):
    assert a[0] > 0, "not positive"


@kernel
def misspelt(a):
    a[0] = threadIdx.x  # noqa: F821


@kernel
def device_math(out, x):
    out[0] = math.exp(x)
    out[1] = math.log(x - x)
    out[2] = math.sqrt(-x)
    out[3] = x / (x - x)


def test_positions() -> None:
    out = torch.zeros(4, 6, dtype=torch.int64, device="cuda")
    where_am_i[(2, 2), (3, 2)](out)
    j, i = np.mgrid[:4, :6]
    assert (out.cpu().numpy() == i % 3 + 10 * (j % 2) + 100 * (i // 3) + 1000 * (j // 2)).all()


def test_barrier() -> None:
    a = torch.arange(8.0).cuda()
    reverse_block[1, 8](a)
    assert a.cpu().tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_device_functions_that_wait(dtype: Any) -> None:
    values = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype)
    a, out = torch.from_numpy(values).cuda(), torch.zeros(2, device="cuda")
    reduce_twice.bind(T=dtype, N=8)[1, 8](out, a)
    assert out.cpu().tolist() == [31, 9]


def test_instances_are_one_per_binding() -> None:
    assert reduce_twice.bind(T=np.float32, N=8) is reduce_twice.bind(N=8, T=np.float32)
    assert "op=add" in repr(sum_tree) and "N=8" in repr(reduce_twice.bind(T=np.float32, N=8))
    with pytest.raises(TypeError, match="no template parameter 'M'"):
        reduce_twice.bind(M=1)


def test_atomics() -> None:
    out = torch.zeros(3, dtype=torch.int64, device="cuda")
    count[2, 32](out, 100)
    assert out.cpu().tolist() == [34, 33, 33]


def test_math_is_that_of_the_device() -> None:
    out = torch.zeros(4, device="cuda")
    device_math[1, 1](out, np.float32(200))
    assert [str(v) for v in out.cpu().tolist()] == ["inf", "-inf", "nan", "inf"]


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("index", [5, -1])
def test_index_out_of_bounds(index: int) -> None:
    a, out = torch.zeros(5, device="cuda"), torch.zeros(1, device="cuda")
    read_at[1, 1](out, a, index)
    with pytest.raises(
        RuntimeError, match="illegal memory access(.|\n)*kernel read_at, block .0, 0, 0., thread"
    ):
        torch.cuda.synchronize()


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
def test_failed_assertion() -> None:
    refuse[1, 1](torch.zeros(1, device="cuda"))
    with pytest.raises(RuntimeError, match="device-side assert triggered(.|\n)*not positive"):
        torch.cuda.synchronize()


# a kernel that fails ends the context of a GPU: see test_failing_kernels.py
@pytest.mark.usefixtures("simulator")
def test_a_slip_in_the_source_says_where(simulator: Any) -> None:
    misspelt[1, 1](torch.zeros(1, device="cuda"))
    with pytest.raises(Exception, match="threadIdx") as caught:
        torch.cuda.synchronize()
    told = [
        *getattr(caught.value, "__notes__", ()),
        *getattr(caught.value.__cause__, "__notes__", ()),
        str(caught.value),
    ]
    assert any("kernel misspelt, block (0, 0, 0), thread (0, 0, 0)" in text for text in told)


def test_different_barriers() -> None:
    unequal_waits[1, 2](torch.zeros(1, device="cuda"))
    with pytest.raises(CudaError, match="wait at different barriers, in lines"):
        torch.cuda.synchronize()


def test_wrong_number_of_arguments() -> None:
    with pytest.raises(TypeError, match=r"kernel count takes 2 arguments \(out, n\), got 1"):
        interpreter.run(count, (1, 1, 1), (1, 1, 1), (3,), None)
    with pytest.raises(TypeError, match=r"kernel count takes 2 arguments \(out, n\), got 3"):
        # at the launch, in whose line the mistake is
        count[1, 1](torch.zeros(1, device="cuda"), 1, 2)


def test_launch_checks() -> None:
    a = torch.zeros(3, device="cuda")
    with pytest.raises(ValueError, match="at most 1024 threads"):
        count[1, (32, 64)](a, 3)
    with pytest.raises(ValueError, match="grid must be one to three positive ints"):
        count[0, 32](a, 3)
    with pytest.raises(ValueError, match=r"right:  count\[grid, block\]\("):
        count[1](a, 3)
    with pytest.raises(RuntimeError, match="a tensor is on 'cpu'"):
        count[1, 32](torch.zeros(3), 3)
    with pytest.raises(TypeError, match="not str"):
        count[1, 32](a, "3")
    with pytest.raises(RuntimeError, match=r"right:  count\[grid, block\]\("):
        count(a, 3)
    with pytest.raises(RuntimeError, match="only a kernel can call it"):
        add(1, 2)


def test_tensors_on_two_devices() -> None:
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cuda:1"):
        read_at[1, 1](torch.zeros(1, device="cuda:0"), torch.zeros(1, device="cuda:1"), 0)


@pytest.mark.sampled(1 / 4)
def test_numbas_own_simulator_agrees() -> None:
    """The same source on numba's simulator, in a process of its own: it has to be chosen before
    numba is imported.
    """
    pytest.importorskip("numba")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, internals as torch\n"
        "import test_interpreter as t\n"
        "torch.cuda.use_simulator(devices=2, numba=True)\n"
        "t.test_positions(); t.test_barrier(); t.test_device_functions_that_wait(np.float32); "
        "t.test_atomics()\n"
        "print('agreed')\n"
    )
    environment = {**os.environ, "INTERNALS_CUDA": "numba-simulator", "NUMBA_ENABLE_CUDASIM": "1"}
    run = subprocess.run(
        [sys.executable, "-c", program, os.path.dirname(__file__)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.stdout.strip().endswith("agreed"), run.stderr
