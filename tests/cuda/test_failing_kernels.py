"""What a kernel that fails on a real GPU leaves behind: an error for whoever waits, and a context
that is of no use any more.

So each program is a process of its own, and the other tests of failing kernels keep to the
simulated device.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from internals.cuda import backend

BEGINNING = """
import internals as torch
from internals.cuda.driver import CudaError
from internals.cuda.language import cuda, kernel

x = torch.arange(3.0, device="cuda")
assert not torch.cuda.is_simulated() and x.sum().item() == 3

@kernel
def write_far_away(out):
    out[1 << 40] = 1

def fails(call):
    try:
        call()
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "nothing"

"""
PROGRAMS = {
    "x.gather(0, torch.tensor([0, 3], device='cuda'))": "CUDA error: device-side assert triggered",
    "x[torch.tensor([-4], device='cuda')]": "CUDA error: device-side assert triggered",
    "write_far_away[1, 1](x)": "CUDA error: an illegal memory access was encountered",
}


@pytest.mark.gpu
@pytest.mark.parametrize("call", PROGRAMS)
def test_on_the_gpu_the_failure_is_told_and_lasts(call: str) -> None:
    program = f"{BEGINNING}print(fails(lambda: {call}))\nprint(fails(lambda: x + 1))\n"
    environment = {**os.environ, backend.VARIABLE: "gpu"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("CUDA error")]
    assert lines == [PROGRAMS[call]] * 2, done.stdout + done.stderr
