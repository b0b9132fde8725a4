"""What operators of the CUDA backend cost the host, measured without a GPU.

    python -m benchmarks.cuda.launches --beside ../another-checkout

The host's half of an operator is real: the decisions, the allocator, the packing of arguments, the
calls of the true `cuda.bindings`. Below is a libcuda whose kernels do nothing
(`tests/cuda/fake_libcuda.c`), and nothing is compiled. What an operator takes then is what a GPU
would wait for between two short kernels.

Two processes take turns case by case, this checkout and another one (`git worktree add`), and the
least CPU time of each counts: on a busy machine their ratio can be trusted, the microseconds less.

How the real one differs: PyTorch counts instructions under Callgrind (`torch.utils.benchmark`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CASES = ("x + y", "mm", "layer_norm", "linear + relu + sum + backward", "x + y on the CPU")
SECONDS = 0.01  # of one turn


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda.launches", description="an operator's time on the host"
    )
    parser.add_argument("--beside", type=Path, help="another checkout to take turns with")
    parser.add_argument(
        "--rounds", type=int, default=100, help="how often each has its turn in each case"
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    with tempfile.TemporaryDirectory() as folder:
        source, library = ROOT / "tests" / "cuda" / "fake_libcuda.c", Path(folder) / "libcuda.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        checkouts = [root.resolve() for root in (options.beside, ROOT) if root]
        workers = [start(root, folder) for root in checkouts]
        try:
            show(workers, options.rounds)
        finally:
            for worker in workers:
                worker.kill()
                worker.communicate()


def show(workers: list[subprocess.Popen[str]], rounds: int) -> None:
    beside = "" if len(workers) == 1 else " beside | ratio |"
    print(f"| host's µs | here |{beside}\n|---|---:|{'---:|---:|' if beside else ''}")
    for number, name in enumerate(CASES):
        times = [[turn(worker, number) for worker in workers] for _ in range(rounds)]
        *other, here = (min(column) * 1e6 for column in zip(*times))
        print(
            f"| {name} | {here:.1f} |" + "".join(f" {t:.1f} | {here / t:.2f} |" for t in other),
            flush=True,
        )


def start(root: Path, folder: str) -> subprocess.Popen[str]:
    """A process that has the cases ready, with the package of the checkout `root`."""
    without = ("NUMBA_ENABLE_CUDASIM", "INTERNALS_CUDA", "FAKE_LIBCUDA_LOG")
    variables = {k: v for k, v in os.environ.items() if k not in without}
    variables |= {"PYTHONPATH": str(root), "LD_LIBRARY_PATH": folder}
    command = [sys.executable, __file__, "worker"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=root, env=variables, **pipes)


def turn(worker: subprocess.Popen[str], number: int) -> float:
    """Seconds that a call of case `number` takes."""
    assert worker.stdin and worker.stdout
    worker.stdin.write(f"{number}\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def work() -> None:
    """Reads numbers of cases, and writes the time of a call for each."""
    calls = made()
    for call in calls:
        for _ in range(30):
            call()
    for line in sys.stdin:
        call, count, begin = calls[int(line)], 0, time.thread_time()
        while (passed := time.thread_time() - begin) < SECONDS:
            for _ in range(20):
                call()
            count += 20
        print(passed / count, flush=True)


def made() -> list[Callable[[], Any]]:
    """The calls of `CASES`, with operands of a few elements."""
    import internals as torch
    from internals.cuda import gpu_launch

    gpu_launch.load = lambda *args: 1  # any kernel
    x, y, row = (torch.ones(*sizes, device="cuda") for sizes in ((4, 4), (4, 4), (4,)))
    weight, bias = (
        torch.ones(*sizes, device="cuda", requires_grad=True) for sizes in ((4, 4), (4,))
    )
    a, b = torch.ones(4, 4), torch.ones(4, 4)
    F = torch.nn.functional
    return [
        lambda: x + y,
        lambda: torch.mm(x, y),
        lambda: F.layer_norm(x, [4], row, row),
        lambda: F.linear(x, weight, bias).relu().sum().backward(),
        lambda: a + b,
    ]


if __name__ == "__main__":
    work() if sys.argv[1:] == ["worker"] else main()
