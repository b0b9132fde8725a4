"""`python -m internals fuzz-archive [FILE ...]`: loads damaged archives, and reports every one that
does harm.

A damaged archive must either load, to tensors that lie in their storages and modules whose code
compiles, or be refused by an `ArchiveError`. Another exception, a crash, a hang, or memory out of
proportion to the file is a finding. Programs made to harm (`programs.py`) are run as well, where an
error is what a script may raise. Input number N of a seed is always the same, so `--seed S --first
N --count 1` shows a finding again; its bytes are kept as well.

The inputs are loaded in a process of their own, which says before each what it is about to do: a
crash leaves the number behind.

How the real one differs: PyTorch is fuzzed from outside, by OSS-Fuzz.
"""

from __future__ import annotations

import argparse
import gc
import io
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import internals
from internals import jit
from internals.core.cpu_allocator import limited_blocks
from internals.core.tensor_impl import TensorImpl, array
from internals.serialization.errors import ArchiveError

from .mutations import Start, mutate
from .starts import starts

PATIENCE = 20.0  # seconds for one input
MEMORY_RATIO, MEMORY_ALLOWANCE = 10, 256 << 20


class Outcome(NamedTuple):
    """What came of one input: "loaded", "refused", or the finding's kind; where, and the
    traceback.
    """

    number: int
    start: str
    kind: str
    place: str = ""
    details: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("loaded", "refused")


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m internals fuzz-archive", description="load damaged archives"
    )
    parser.add_argument("files", nargs="*", help="archives to damage, beside our own of every kind")
    parser.add_argument("--count", type=int, default=100_000, help="how many inputs (100,000)")
    parser.add_argument("--seed", default="0", help="other inputs for another seed (0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input (0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument(
        "--out",
        default="fuzz-findings",
        help="folder for the inputs that are findings (fuzz-findings)",
    )
    options = parser.parse_args(list(arguments))
    found = starts(options.files)
    began, counts, places = time.monotonic(), Counter[str](), Counter[str]()
    for n, outcome in enumerate(
        run(found, options.seed, options.first, options.count, options.jobs), 1
    ):
        counts[outcome.kind] += 1
        if outcome.is_finding:
            places[f"{outcome.kind} {outcome.place}"] += 1
            if places[f"{outcome.kind} {outcome.place}"] <= 3:
                tell(outcome, found, options.seed, Path(options.out))
        if n % 1000 == 0:
            speed = n / (time.monotonic() - began)
            print(
                f"\r{n} of {options.count}: {summary(counts)}, {speed:.0f} a second",
                end="",
                file=sys.stderr,
                flush=True,
            )
    print(file=sys.stderr)
    print(f"{options.count} damaged archives: {summary(counts)}")
    for place, n in places.most_common():
        print(f"  {n} x {place}")
    return 1 if places else 0


def summary(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))


def tell(outcome: Outcome, found: list[Start], seed: str, folder: Path) -> None:
    """Prints a finding and keeps its input."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{seed}-{outcome.number}.bin"
    path.write_bytes(make(found, seed, outcome.number)[1])
    print(
        f"\n{outcome.kind}: input {outcome.number} of seed {seed}, from '{outcome.start}': "
        f"{path}\n{outcome.details}",
        file=sys.stderr,
    )


def make(found: list[Start], seed: str, number: int) -> tuple[Start, bytes]:
    """Input `number` of this seed, and what it was made of."""
    random = Random(f"{seed}:{number}")
    chosen = random.choice(found)
    return chosen, mutate(random, chosen, found)


# Processes


def run(found: list[Start], seed: str, first: int, count: int, jobs: int = 1) -> Iterator[Outcome]:
    """The outcomes of inputs `first` to `first + count - 1`, as they come."""
    context = multiprocessing.get_context("spawn")
    workers = []
    for job in range(jobs):
        numbers = range(first + job, first + count, jobs)
        if numbers:
            workers.append(Worker(context, found, seed, numbers))
    while workers:
        for worker in list(workers):
            outcome = worker.next()
            if outcome is None:
                workers.remove(worker)
            else:
                yield outcome


class Worker:
    """A process that loads the inputs of these numbers; a new one goes on behind the input that
    ended it.
    """

    def __init__(self, context: Any, found: list[Start], seed: str, numbers: range) -> None:
        self.context, self.found, self.seed, self.numbers = context, found, seed, numbers
        self.done = 0
        self.process: Any = None

    def next(self) -> Outcome | None:
        """The next outcome; None when all numbers are through."""
        if self.done == len(self.numbers):
            self.end()
            return None
        if self.process is None:
            self.connection, theirs = self.context.Pipe(duplex=False)
            self.process = self.context.Process(
                target=work,
                args=(theirs, self.found, self.seed, self.numbers[self.done :]),
                daemon=True,
            )
            self.process.start()
            theirs.close()
            self.connection.poll(60)  # imports
            self.connection.recv()
        number = self.numbers[self.done]
        self.done += 1
        try:
            if self.connection.poll(PATIENCE):
                return Outcome(*self.connection.recv())
            kind = "hang"
        except EOFError:
            self.process.join()
            kind = f"crash ({self.process.exitcode})"
        self.end()
        return Outcome(
            number,
            make(self.found, self.seed, number)[0].name,
            kind,
            details="the process had to be ended",
        )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None


def work(connection: Connection, found: list[Start], seed: str, numbers: range) -> None:
    """What the process does: sends one outcome for each number."""
    warnings.simplefilter("ignore")
    sys.stdout = open(os.devnull, "w")
    limit_memory(8 << 30)
    connection.send("ready")
    for number in numbers:
        connection.send(tuple(attempt(found, seed, number)))


def limit_memory(nbytes: int) -> None:
    """Nobody gets more than this, so that a finding does not take the machine with it."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (nbytes, nbytes))
    except (ImportError, ValueError, OSError):
        pass


# One input


def attempt(found: list[Start], seed: str, number: int) -> Outcome:
    """Makes an input, loads it, touches what was loaded, and watches the memory."""
    chosen, data = make(found, seed, number)
    before = memory()
    kind = place = details = ""
    try:
        loaded = load(data, chosen.how)
        touch(loaded)
        kind = "loaded"
        if chosen.how == "run":
            touch(run_script(loaded))
    except ArchiveError:
        kind = "refused"
    except EOFError as error:
        kind = "refused" if not data else type(error).__name__
        details = traceback.format_exc(limit=-6)
    except BaseException as error:
        kind, place, details = type(error).__name__, place_of(error), traceback.format_exc(limit=-6)
    grown = peak_memory() - before
    if kind in ("loaded", "refused") and grown > MEMORY_RATIO * len(data) + MEMORY_ALLOWANCE:
        kind, place = "memory", chosen.name
        details = f"{len(data)} bytes took {grown >> 20} MiB"
        gc.collect()
    return Outcome(number, chosen.name, kind, place, details[-4000:])


def load(data: bytes, how: str) -> Any:
    return internals.load(io.BytesIO(data)) if how == "load" else jit.load(io.BytesIO(data))


def run_script(module: Any) -> Any:
    """What the module gives for four numbers; None if its script raises an error, which is a
    RuntimeError.
    """
    str(module.inlined_graph)
    try:
        with limited_blocks(MEMORY_ALLOWANCE // 4, "an archive that is tried"):
            return module(internals.arange(1.0, 5.0))
    except (RuntimeError, NotImplementedError, jit.Error):
        return None


def touch(value: Any) -> None:
    """Looks at everything that was loaded. Raises AssertionError for a tensor that does not lie in
    its storage.
    """
    seen: set[int] = set()
    pending = [value]
    while pending:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, TensorImpl):
            touch_tensor(x)
        elif isinstance(x, dict):
            pending += [*x.keys(), *x.values()]
        elif isinstance(x, (list, tuple, set)):
            pending += x
        elif isinstance(x, internals.nn.Module):
            pending += [*x.state_dict().values(), *x.children()]
            for function in x._jit_type.methods.values():
                str(function.graph)


def touch_tensor(t: Any) -> None:
    """Reads the first and the last element, after making sure that they are there."""
    sizes, strides, offset = t.size(), t.stride(), t.storage_offset()
    assert len(sizes) == len(strides) and all(n >= 0 for n in sizes) and offset >= 0, (
        sizes,
        strides,
        offset,
    )
    if t.device.type != "cpu":
        return
    ends = [(n - 1) * s for n, s in zip(sizes, strides)]
    if 0 not in sizes:
        low, high = offset + sum(min(e, 0) for e in ends), offset + sum(max(e, 0) for e in ends)
        assert low >= 0 and (high + 1) * t.itemsize <= t.untyped_storage().nbytes(), (
            sizes,
            strides,
            offset,
        )
        values = array(t)
        values[(0,) * len(sizes)] + values[tuple(n - 1 for n in sizes)]
    repr(t.dtype)


def place_of(error: BaseException) -> str:
    """The innermost line of this package that the exception came through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "internals" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


def memory() -> int:
    """The bytes of memory in use now, and the peak set to it; 0 where the system does not tell."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return status("VmRSS")
    except OSError:
        return 0


def peak_memory() -> int:
    """The most bytes of memory in use since `memory()`."""
    try:
        return status("VmHWM")
    except OSError:
        return 0


def status(field: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))
