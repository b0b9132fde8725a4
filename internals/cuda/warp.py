"""Shuffles, in which the 32 lanes of a warp read each other's registers, in lock step and without
memory (`__shfl_down_sync`).

A lane that shuffles offers a value and names another lane whose value it wants. It yields a
`Request` and waits until all lanes in the mask have reached the same line; then `exchange` gives
each lane its answer.

How the real one differs: a shuffle is one instruction. If a lane in the mask does not reach it, the
result is undefined, or the kernel hangs; here that is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.core.corrected import corrected

from .driver import CudaError

# The lane whose value `lane` gets. If that is not a lane from 0 to 31, `lane` keeps its own value.
SHUFFLES: dict[str, Callable[[int, int], int]] = {
    "shfl_sync": lambda lane, source: source % 32,
    "shfl_up_sync": lambda lane, distance: lane - distance,
    "shfl_down_sync": lambda lane, distance: lane + distance,
    "shfl_xor_sync": lambda lane, bits: lane ^ bits,
}


class Request:
    """The request of one lane at the shuffle `kind` in line `line`. It offers `value` and wants
    that of lane `source`; `exchange` sets `answer`. `mask` has a bit for each lane that takes part.
    """

    __slots__ = ("kind", "line", "lane", "mask", "value", "source", "answer")

    def __init__(
        self, kind: str, line: int, lane: int, mask: int, value: Any, operand: int
    ) -> None:
        self.kind, self.line, self.lane, self.mask, self.value = (
            kind,
            line,
            lane,
            int(mask) & 0xFFFFFFFF,  # -1, too, means all 32 lanes
            value,
        )
        self.source = SHUFFLES[kind](lane, int(operand))
        self.answer: Any = None


def exchange(requests: list[Request]) -> None:
    """Answer the requests of the lanes of one warp. Raises CudaError if a lane in a mask has not
    reached the line, or if a lane is not in its own mask.
    """
    arrived: dict[int, dict[int, Request]] = {}
    for request in requests:
        arrived.setdefault(request.line, {})[request.lane] = request
    for request in requests:
        # a bit for each lane at this line; the mask must be among them, and contain this lane
        here = arrived[request.line]
        lanes = sum(1 << lane for lane in here) if len(here) < 32 else 0xFFFFFFFF
        if request.mask & ~lanes or not request.mask >> request.lane & 1:
            raise CudaError(
                corrected(
                    f"cuda.{request.kind} in line {request.line} is for the lanes "
                    f"{request.mask:#010x} of a warp, and {lanes:#010x} reach it: all lanes of "
                    "the mask have to",
                    f"if i < n: y = cuda.{request.kind}(mask, x, 1)",
                    f"y = cuda.{request.kind}(mask, x, 1)  # outside of the if",
                )
            )
        request.answer = here.get(request.source, request).value
