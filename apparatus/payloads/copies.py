"""How often is an image copied between two programs? Looked up: `follow(PATHS["protobuf"], array)`.

Each step of a path is run and watched by three witnesses:

- **addresses**: memory that the result shares with what went in was not copied. Arrays, tensors,
  bytes and texts have an address;
- **a changed byte**, for what has none, such as a protobuf message: one byte of the memory on the
  one side is changed, and the other side looked at. If it did not change as well, it has a copy of
  its own (the byte is put back);
- **the allocators**: tracemalloc sees the memory of Python and numpy, `memory_stats()` that of our
  tensors, both at its most during the step. protobuf takes memory behind their backs; there what
  the second witness found is added.

Changing a byte of a `bytes` object is otherwise forbidden, since everybody may rely on its staying
the same. Here it is for looking only.

How the real one differs: profilers such as memray hook malloc itself, and would see protobuf's
memory too.
"""

from __future__ import annotations

import ctypes
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import internals

from .paths import Look, Path, Step

SMALLEST = 4096


@dataclass
class Watched:
    """One step that was run: on the `side` of "client" or "server", `nbytes` what came out (0 for
    objects without memory of their own), whether it `copied`, and the most memory it took at once.
    """

    side: str
    what: str
    result: str
    nbytes: int
    copied: bool
    taken: int


@dataclass
class Followed:
    """A path and what its steps did with a payload of `nbytes`; `body` is what goes over the
    socket, `tensor` what arrives.
    """

    name: str
    nbytes: int
    body: Any
    tensor: Any
    steps: list[Watched] = field(default_factory=list)

    @property
    def length(self) -> int:
        return memoryview(self.body).nbytes

    def copies(self, side: str = "") -> int:
        """How many steps wrote the payload anew, on one side or on both."""
        return sum(step.copied for step in self.on(side))

    def taken(self, side: str = "") -> int:
        """The memory that the steps took, added up."""
        return sum(step.taken for step in self.on(side))

    def on(self, side: str) -> Iterator[Watched]:
        return (step for step in self.steps if side in ("", step.side))


def follow(path: Path, array: np.ndarray) -> Followed:
    """Run a path with a contiguous float32 array, and watch. Both sides run in this process, and
    share nothing but the body.

    Raises ValueError for an array that is not contiguous, or so small that its copies would not be
    seen among other things.
    """
    if array.nbytes < SMALLEST or not array.flags.c_contiguous:
        given = f"{array.nbytes} bytes, strides {array.strides}"
        raise ValueError(
            f"follow takes a contiguous array of at least {SMALLEST} bytes, got {given}"
        )
    value: Any = array
    look = None
    followed = Followed(path.name, array.nbytes, None, None)
    for side in ("client", "server"):
        if side == "server":
            followed.body = value = arrived(value)
        for step in getattr(path, side):
            watched, value = watch(side, step, value, look, array.nbytes)
            look = step.look
            followed.steps.append(watched)
    followed.tensor = value
    return followed


def arrived(body: Any) -> bytes:
    """What the other side of a socket has: the same bytes elsewhere."""
    return bytes(bytearray(body))


def watch(
    side: str, step: Step, before: Any, look_before: Look | None, payload: int
) -> tuple[Watched, Any]:
    """Run one step between two looks at the allocators, then compare what went in with what came
    out.
    """
    step.run(before)  # once unwatched: what a first call imports and compiles is not the payload's
    with allocations() as took:
        after = step.run(before)
    copied = not shares(before, look_before, after, step.look)
    extent = extent_of(after)
    taken = took()
    if copied and extent is None and taken < payload:
        taken += payload  # in memory that neither allocator knows
    return Watched(
        side, step.what, type(after).__name__, extent[1] if extent else 0, copied, taken
    ), after


@contextmanager
def allocations() -> Iterator[Callable[[], int]]:
    """The most bytes in use at once above what was in use at the beginning: Python's, numpy's, and
    our tensors'.
    """
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    ours = tensor_bytes()  # first: to ask for it takes memory, which would be part of the peak
    tracemalloc.reset_peak()
    python = tracemalloc.get_traced_memory()[0]
    found = 0
    try:
        yield lambda: found
        found = tracemalloc.get_traced_memory()[1] - python + tensor_bytes() - ours
    finally:
        if not running:
            tracemalloc.stop()


def tensor_bytes() -> int:
    """All that our allocator ever handed out."""
    return int(internals.cpu.memory_stats()["allocated_bytes.all.allocated"])


def shares(before: Any, look_before: Any, after: Any, look_after: Any) -> bool:
    """Whether two objects have the payload in the same memory."""
    first, second = extent_of(before), extent_of(after)
    if first and second:
        return first[0] < second[0] + second[1] and second[0] < first[0] + first[1]
    if second:
        return changes(second[0], lambda: look_before(before))
    if first:
        return changes(first[0], lambda: look_after(after))
    raise TypeError(
        f"neither a {type(before).__name__} nor a {type(after).__name__} has an address"
    )


def changes(address: int, look: Callable[[], Any]) -> bool:
    """Whether a look sees it when the byte at an address is another one for a moment."""
    byte = ctypes.c_ubyte.from_address(address)
    kept, seen = byte.value, look()
    byte.value ^= 1
    try:
        return bool(look() != seen)
    finally:
        byte.value = kept


def extent_of(value: Any) -> tuple[int, int] | None:
    """Where an object has its elements, and how many bytes of them; None for objects that have them
    all over the place.
    """
    if isinstance(value, internals.Tensor):
        value = value.detach().numpy()
    if isinstance(value, str) and value.isascii():
        return id(value) + sys.getsizeof(value) - len(value) - 1, len(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = np.frombuffer(value, np.uint8)
    if isinstance(value, np.ndarray):
        first, end = np.lib.array_utils.byte_bounds(value)
        return int(first), int(end - first)
    return None
