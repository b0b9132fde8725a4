"""A forked child for each run of pytest: what is costly to import is imported once, the project
itself anew in each.

The child has a process group, a limit of CPU time (so that a busy machine makes no difference), of
memory, and a generous one of time on the clock, for what waits for ever.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

COSTLY = (
    "numpy", "scipy.special", "scipy.linalg", "numba", "yaml", "IPython", "torch",
    "pytest", "_pytest.assertion.rewrite", "hypothesis", "hypothesis.strategies",
)  # fmt: skip
MEMORY = 6 << 30
GRACE = 3  # times the CPU time may pass on the clock: other processes run too


class Ended(NamedTuple):
    status: int | None  # of exit; negative: the signal that ended it; None: it was taking too long
    cpu: float


def prepare() -> None:
    for name in COSTLY:
        try:
            importlib.import_module(name)
        except ImportError:  # real PyTorch may be absent or hidden
            pass
    gc.collect()
    gc.freeze()


def run(task: Callable[[], int], log: Path, cpu: float) -> Ended:
    """Run `task` in a child and wait for it; what it prints is in `log`."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _become(task, log, cpu)
    end = time.monotonic() + GRACE * cpu
    status = None
    while status is None and time.monotonic() < end:
        done, state, usage = os.wait4(child, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(state)
        else:
            time.sleep(0.01)
    _end_group(child)
    if status is None:
        _, _, usage = os.wait4(child, 0)
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        status = None
    return Ended(status, usage.ru_utime + usage.ru_stime)


def share(count: int, jobs: int, task: Callable[[int, int], None]) -> None:
    """Call `task(i, worker)` for each i below `count`, in `jobs` forks of this process, which take
    the next one when they are done. Raises RuntimeError if one of them fails."""
    source, sink = os.pipe()  # a pipe holds 64 KiB
    os.write(sink, struct.pack(f"{count}H", *range(count)))
    os.close(sink)
    sys.stdout.flush()
    workers = []
    for worker in range(jobs):
        workers.append(os.fork())
        if workers[-1] == 0:
            status = 70
            try:
                while taken := os.read(source, 2):
                    task(struct.unpack("H", taken)[0], worker)
                    sys.stdout.flush()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
    os.close(source)
    failed = [worker for worker in workers if os.waitpid(worker, 0)[1] != 0]
    if failed:
        raise RuntimeError(f"{len(failed)} of {jobs} workers failed")


def _become(task: Callable[[], int], log: Path, cpu: float) -> None:
    """The child: never returns."""
    status = 70
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        status = task()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _end_group(leader: int) -> None:
    """Ends the child and what it started and left behind."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass
