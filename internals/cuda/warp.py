"""Shuffles: the 32 lanes of a warp read each other's registers, in lock step and without memory
(`__shfl_down_sync`).

A lane that shuffles offers a value and names another lane whose value it wants. It yields a
`Request` and waits until all lanes that the mask names have come to the same line; `exchange` then
gives each what it asked for.

How the real one differs: one instruction does it. Lanes that the mask names and that do not come
make the result undefined, or the kernel hang; here they are an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.core.corrected import corrected

from .driver import CudaError

# Which lane's value `lane` gets. Where there is no such lane it keeps its own.
SHUFFLES: dict[str, Callable[[int, int], int]] = {
    "shfl_sync": lambda lane, source: source % 32,
    "shfl_up_sync": lambda lane, distance: lane - distance,
    "shfl_down_sync": lambda lane, distance: lane + distance,
    "shfl_xor_sync": lambda lane, bits: lane ^ bits,
}


class Request:
    """A lane at the shuffle `kind` in line `line`, which offers `value`. `mask` has a bit for every
    lane that takes part.
    """

    __slots__ = ("kind", "line", "lane", "mask", "value", "source", "answer")

    def __init__(
        self, kind: str, line: int, lane: int, mask: int, value: Any, operand: int
    ) -> None:
        self.kind, self.line, self.lane, self.mask, self.value = (
            kind,
            line,
            lane,
            int(mask) & 0xFFFFFFFF,
            value,
        )
        self.source = SHUFFLES[kind](lane, int(operand))
        self.answer: Any = None


def exchange(requests: list[Request]) -> None:
    """Answer the requests of the lanes of one warp. Raises CudaError if one that a mask names has
    not come to the line.
    """
    come: dict[int, dict[int, Request]] = {}
    for request in requests:
        come.setdefault(request.line, {})[request.lane] = request
    for request in requests:
        here = come[request.line]
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
