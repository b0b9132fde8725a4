"""Measures the limits of this machine: bytes a second from memory, operations a second in
registers.

No loop over memory can take less time than its bytes divided by `bandwidth()`, nor less than its
operations divided by `peak()`. Its operations per byte decide which limit applies: plotted over
them, the two limits have the shape of a roof (Williams, Waterman, Patterson, "Roofline", 2009).

`bandwidth` adds two arrays into a third, together far larger than the caches, and counts 12 bytes
an element. `peak` multiplies and adds in twelve vectors of 16 float32 at once: enough independent
chains to hide the latency of an operation, all of them in registers.

How the real one differs: nothing in PyTorch measures this; profilers of GPUs know both numbers from
the data sheet.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from internals.machine_code.records import Elements

from .entry import Entry
from .language import kernel
from .parallel import get_num_threads

CHAINS, LANES = 12, 16
LARGE = 1 << 24  # elements of each array: 64 MB


@kernel
def add_arrays(begin: int, end: int, x: Elements, y: Elements, out: Elements) -> None:
    """out = x + y: two numbers read and one written for each addition."""
    for i in range(begin, end):
        out[i] = x[i] + y[i]


def bandwidth(elements: int = LARGE, seconds: float = 0.2) -> float:
    """The bytes a second that `elements` float32 additions read and write, on all threads. Arrays
    that fit into a cache measure the cache.
    """
    x, y, out = (np.ones(elements, np.float32) for _ in range(3))
    entry = add_arrays.entry("*f4 *f4 *f4")
    arguments = [a.ctypes.data for a in (x, y, out)]
    return 12 * elements / fastest(lambda: entry.parallel(elements, 1 << 14, *arguments), seconds)


def peak(seconds: float = 0.1) -> float:
    """float32 multiplications and additions a second in registers, on all threads."""
    out, n = np.zeros(LANES, np.float32), 100_000 * get_num_threads()
    entry = _chains()
    return (
        2
        * CHAINS
        * LANES
        * n
        / fastest(lambda: entry.parallel(n, 10_000, out.ctypes.data), seconds)
    )


def _chains() -> Entry:
    """A kernel of `begin..end` rounds of CHAINS multiply-adds on vectors, v = v * 0.5 + 1. Their
    sum is stored, else the compiler would remove them.
    """
    from .llvm import entry_from_ir

    vector, fma = f"<{LANES} x float>", f"llvm.fmuladd.v{LANES}f32"
    phis = [
        f"  %v{c} = phi {vector} [ splat (float {c}.0), %start ], [ %w{c}, %round ]"
        for c in range(CHAINS)
    ]
    steps = [
        f"  %w{c} = call {vector} @{fma}({vector} %v{c}, {vector} splat (float 0.5), {vector} "
        "splat (float 1.0))"
        for c in range(CHAINS)
    ]
    sums = [
        f"  %s{c} = fadd {vector} %{f's{c - 1}' if c > 1 else 'w0'}, %w{c}"
        for c in range(1, CHAINS)
    ]
    # a loop that carries CHAINS vectors; each multiply-add has its own, so none waits for another
    text = "\n".join([
        f"declare {vector} @{fma}({vector}, {vector}, {vector})",
        "define void @chains(i64 %begin, i64 %end, ptr %args) {",
        "start:", "  %out = load ptr, ptr %args", "  br label %round",
        "round:", "  %i = phi i64 [ %begin, %start ], [ %next, %round ]", *phis, *steps,
        "  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %end",
        "  br i1 %more, label %round, label %store",
        "store:", *sums, f"  store {vector} %s{CHAINS - 1}, ptr %out, align 4", "  ret void", "}",
    ])  # fmt: skip
    return entry_from_ir(text, "chains", text, "*f4")


def fastest(call: Callable[[], object], seconds: float = 0.2) -> float:
    """The time in seconds of the fastest call. Calls go on for `seconds`, at least three times."""
    best, end, calls = float("inf"), time.perf_counter() + seconds, 0
    while calls < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        calls += 1
    return best
