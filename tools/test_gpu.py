"""`make test-gpu`: the tests of the CUDA backend, on a real GPU instead of the simulated one.

Arguments are passed on to pytest: `make test-gpu ARGS="-k matmul"`. Without a GPU nothing is run, and the reason is told.
"""

from __future__ import annotations

import os
import subprocess
import sys

from internals.cuda import backend
from tools.notebook_files import ROOT
from tools.test import WORKERS

NO_GPU = """\
test-gpu: there is no GPU to test on: {reason}.
The same tests run on the simulated device with: make test ARGS=tests/cuda"""


def main(arguments: list[str]) -> int:
    reason = missing()
    if reason:
        print(NO_GPU.format(reason=reason), file=sys.stderr)
        return 1
    properties = backend.driver().properties(0)
    name = f"{properties.name}, compute capability {properties.major}.{properties.minor}"
    print(
        f"test-gpu: tests/cuda on {name}; {WORKERS} workers, as kernels are compiled on the CPU. Tests of the simulated device"
    )
    print(
        "test-gpu: and of failing kernels run on the simulated one. What is skipped is listed at the end.", flush=True
    )
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-n", str(WORKERS), "tests/cuda", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, backend.VARIABLE: "gpu"}).returncode


def missing() -> str:
    """Why there is no GPU; empty if there is one."""
    from internals.cuda.gpu_driver import availability

    found = availability()
    return "" if found.devices else found.reason


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
