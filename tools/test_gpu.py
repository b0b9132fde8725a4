"""`make test-gpu`: the tests of the CUDA backend, on a real GPU instead of the simulated one.

Arguments are passed on to pytest: `make test-gpu ARGS="-k matmul"`. Without a GPU nothing is run, and the reason is told.
"""

from __future__ import annotations

import os
import subprocess
import sys

from internals.cuda import backend
from tools.notebook_files import ROOT

NO_GPU = """\
test-gpu: there is no GPU to test on: {reason}.
The same tests run on the simulated device with: make test ARGS=tests/cuda"""


def main(arguments: list[str]) -> int:
    reason = missing()
    if reason:
        print(NO_GPU.format(reason=reason), file=sys.stderr)
        return 1
    properties = backend.driver().properties(0)
    print(
        f"test-gpu: {properties.name}, compute capability {properties.major}.{properties.minor}, CUDA's driver and numba.cuda"
    )
    print(
        "test-gpu: tests/cuda, on this GPU; tests of the simulated device use that one. What is skipped is listed at the end."
    )
    sys.stdout.flush()
    environment = {**os.environ, backend.VARIABLE: "gpu"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "tests/cuda", *arguments], cwd=ROOT, env=environment
    ).returncode


def missing() -> str:
    """Why there is no GPU; empty if there is one."""
    from internals.cuda.gpu_driver import availability

    found = availability()
    return "" if found.devices else found.reason


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
