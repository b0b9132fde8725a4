"""INTERNALS_CUDA=numba-simulator: the same device, with kernels run by numba's own simulator. Each
test is a process of its own, since numba.cuda is the simulator or the real thing from its import
on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_NUMBA_CUDA = (
    "import sys; sys.meta_path = [f for f in sys.meta_path if type(f).__name__ != "
    "'NumbaCudaFinder']\n"
)

KERNELS = """
import ctypes
import numpy as np
import internals as torch
from internals.cuda import backend
from internals.cuda.device_array import DeviceArray
from internals.cuda.language import cuda, kernel

@kernel
def reverse(out, a):
    s = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    out[t] = s[7 - t]

@kernel
def beyond(out):
    out[cuda.grid(1) + 5] = 1

driver = backend.driver()
source, target = driver.malloc(0, 32), driver.malloc(0, 32)
a, b = (DeviceArray(p, (8,), (1,), torch.float32) for p in (source, target))
host = np.arange(8, dtype=np.float32)
driver.copy(0, 0, source, host.ctypes.data, 32, "h2d")
driver.launch(0, 0, reverse, (1, 1, 1), (8, 1, 1), (b, a))
print(driver.memory_of(0).view(target, 32).any())  # not yet
driver.copy(0, 0, host.ctypes.data, target, 32, "d2h")
print(host.tolist())
driver.launch(0, 0, beyond, (1, 1, 1), (8, 1, 1), (b,))
try:
    driver.synchronize(0)
except torch.cuda.CudaError as error:
    print(str(error).splitlines()[:2])
import numba.cuda
print(numba.cuda.__file__)
"""


def run(folder: Path, program: str) -> str:
    script = folder / "program.py"
    script.write_text(program)
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"} | {
        "INTERNALS_CUDA": "numba-simulator",
        "PYTHONPATH": os.getcwd(),
    }
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("package", ["whichever is installed", "numba's own"])
@pytest.mark.parametrize("numba_first", [False, True])
def test_kernels_run_on_it(package: str, numba_first: bool, tmp_path: Path) -> None:
    """The package numba-cuda replaces numba's own `numba.cuda` where it is installed; both have a
    simulator.
    """
    program = (
        (WITHOUT_NUMBA_CUDA if package == "numba's own" else "")
        + ("import numba\n" if numba_first else "")
        + KERNELS
    )
    early, result, error, file = run(tmp_path, program).splitlines()
    assert early == "False" and result == "[7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]"
    assert (
        "CUDA error: an illegal memory access was encountered" in error
        and "tid=[" in error
        and "out of bounds" in error
    )
    assert package != "numba's own" or "numba_cuda" not in file


def test_numba_cuda_was_imported_before(tmp_path: Path) -> None:
    program = """
import numba.cuda
import internals
try:
    internals.cuda.init()
except RuntimeError as error:
    print(error)
"""
    assert run(tmp_path, program) == (
        "numba.cuda was imported before, without its simulator: set NUMBA_ENABLE_CUDASIM=1 in the "
        "environment, or use CUDA before anything imports numba.cuda\n"
    )
