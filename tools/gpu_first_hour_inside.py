"""What `gpu_first_hour.py` runs in processes of their own: `python -m tools.gpu_first_hour_inside
gemm`.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import internals as torch
from benchmarks.cuda.harness import Clock
from internals.cuda.device_array import flat
from internals.cuda.language import Kernel
from internals.cuda.native import matmul

SIDE, ROUNDS = 4096, 10


def gemm(side: int = SIDE, rounds: int = ROUNDS) -> Iterator[str]:
    """The large matrix product with room for two blocks on a multiprocessor, and for one; in turns,
    checked first.
    """
    a, b = (torch.ones(side, side, device="cuda") * (0.5 + i) for i in range(2))
    clock = Clock(torch.cuda)
    times: dict[int, list[float]] = {2: [], 1: []}
    calls = {resident: product(a, b, resident) for resident in (2, 1)}
    for resident, call in calls.items():
        assert (call() == 0.75 * side).all().item(), f"wrong result with {resident} blocks resident"
    for _ in range(rounds):
        for resident, call in calls.items():
            times[resident].append(clock.seconds(call, 3))
    for resident, found in times.items():
        median = statistics.median(found)
        yield (
            f"launch bounds (256, {resident}): {median * 1e3:.3f} ms, "
            f"{2 * side**3 / median / 1e12:.2f} TFLOP/s"
        )
    ratio = statistics.median(one / two for two, one in zip(times[2], times[1]))
    yield f"(256, 1) takes {ratio:.2f} times as long as (256, 2)"


def product(a: Any, b: Any, resident: int) -> Any:
    """A call of the blocked kernel in the blocking for this device, with other launch bounds."""
    side, c = a.shape[0], torch.empty_like(a)
    how = matmul.blocking(side, side, 1, a.dtype)
    bound = matmul.blocked(np.float32, how, True, False)
    kernel = Kernel(bound.function, bound.bindings)
    kernel.launch_bounds = (how.threads, resident)
    where = matmul.GemmStrides(*[(0, side, 1)] * 4)
    launch = kernel[how.grid(side, side, 1), how.threads]

    def call() -> Any:
        launch(
            flat(c),
            flat(a),
            flat(b),
            flat(c),
            side,
            side,
            side,
            side,
            1,
            where,
            np.float32(1),
            np.float32(0),
        )
        return c

    return call


def registers() -> Iterator[str]:
    """What ptxas says of the matrix products and convolutions, for this device."""
    from internals.cuda.ptx import PtxError, compile_all
    from internals.cuda.ptxas import registers_of
    from tests.cuda.launched import convolutions, noted, products

    cc = torch.cuda.get_device_capability()
    items = noted(lambda: [*products(torch.float32), *convolutions(torch.float32)])
    for (kernel, types), text in zip(items, compile_all(items, cc)):
        found = text if isinstance(text, PtxError) else registers_of(text, cc)
        yield f"{kernel.name} {types[0]}, launch bounds {kernel.launch_bounds}: {found}"


def rows(device: str = "cuda") -> Iterator[str]:
    """Scan, softmax and sort: what shares memory within a block."""
    x = torch.arange(8000.0, device=device).reshape(8, 1000) / 8000
    for call in (lambda: x.cumsum(1), lambda: x.softmax(1), lambda: x.sort(1)[0]):
        yield f"{call().sum().item():.5g}"


def questions() -> Iterator[str]:
    """Who may fork, what counts as pinned, what a failed kernel leaves."""
    from apparatus.gpu_preflight import trials

    for trial in trials():
        if trial.name in ("NVML", "fork", "pinned memory", "failed kernels"):
            yield f"{trial.name}: {trial.run()}"


if __name__ == "__main__":
    for line in {"gemm": gemm, "registers": registers, "rows": rows, "questions": questions}[
        sys.argv[1]
    ]():
        print(line, flush=True)
