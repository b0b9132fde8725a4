"""A reduction over the threads of a block: each holds an accumulator, and each gets the total
(`aten/src/ATen/native/cuda/block_reduce.cuh`).

The threads that work on one total are the *lanes* of a row. Lanes lie along x, so that neighbours
read neighbouring elements of a row in memory; or along y, when it is the rows that are neighbours
in memory. A block has one or several rows, and a power of two of lanes; along x at least 32.

There are two forms. In shared memory, half of the lanes add what the other half holds, then half of
those, with a barrier each time: log2(lanes) steps. On a GPU the 32 lanes of a warp can also read
each other's registers, without memory or barrier (`shfl`); then only the warps' totals go through
shared memory.

How the real one differs: the last step, over the warps' totals, is done by one warp with shuffles
again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from internals.machine_code.records import Element

from ..language import by_executor, cuda, device_function, template
from . import accumulators

if TYPE_CHECKING:
    from internals.machine_code.templates import DeviceFunction

ALONG_X = template("ALONG_X")  # whether the lanes of a row lie along x
combine = template("combine")  # two accumulators into one
slots, put, get, shuffle = template("slots"), template("put"), template("get"), template("shuffle")


@device_function
def lane_and_row():
    """(lane, lanes, row): which lane of how many this thread is, and which row of the whole grid it
    works on.
    """
    if ALONG_X:
        return (
            cuda.threadIdx.x,
            cuda.blockDim.x,
            cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y,
        )
    return cuda.threadIdx.y, cuda.blockDim.y, cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x


@device_function
def total_in_shared_memory(acc: Element):
    """The total of `acc` over the lanes of a row, for each of them. Every thread of the block has
    to call it.
    """
    first, second, third = slots()
    lane = cuda.threadIdx.x if ALONG_X else cuda.threadIdx.y
    lanes = cuda.blockDim.x if ALONG_X else cuda.blockDim.y
    # how many threads further the next lane of the row is
    distance = 1 if ALONG_X else cuda.blockDim.x
    thread = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x  # each thread has a slot
    put(first, second, third, thread, acc)
    cuda.syncthreads()
    # a tree: lanes 0 .. half - 1 add what lanes half .. 2 * half - 1 hold, then `half` is halved
    half = lanes // 2
    while half > 0:
        if lane < half:
            acc = combine(acc, get(first, second, third, thread + half * distance))
            put(first, second, third, thread, acc)
        # outside of the `if`: every thread has to arrive, or the others wait forever
        cuda.syncthreads()
        half //= 2
    acc = get(first, second, third, thread - lane * distance)  # the slot of lane 0
    cuda.syncthreads()  # all have read it: the slots may be used again
    return acc


@device_function
def total_by_shuffles(acc: Element):
    """The same for lanes along x, in whole warps: within a warp by shuffles, between the warps
    through shared memory.
    """
    first, second, third = slots()
    lane = cuda.threadIdx.x
    thread = cuda.threadIdx.y * cuda.blockDim.x + lane
    # after distances 16, 8, 4, 2 and 1, lane 0 of each warp has combined all 32; the others hold
    # sums that are not used
    distance = 16
    while distance > 0:
        acc = combine(acc, shuffle(acc, distance))
        distance //= 2
    if lane % 32 == 0:
        put(first, second, third, thread // 32, acc)
    cuda.syncthreads()
    warp = (thread - lane) // 32  # the row's first warp
    # each thread combines the few totals of the row's warps by itself, in the same order
    acc = get(first, second, third, warp)
    for i in range(1, cuda.blockDim.x // 32):
        acc = combine(acc, get(first, second, third, warp + i))
    cuda.syncthreads()  # all have read the totals: the slots may be used again
    return acc


class Accumulator:
    """The functions of `accumulators.py` for one kind: "number", "pair" or "triple", with their
    types filled in.
    """

    def __init__(self, kind: str, T: type, S: type | None = None) -> None:
        types = {"T": T} if S is None else {"T": T, "S": S}
        self.slots = getattr(accumulators, f"{kind}_slots").bind(**types)
        self.put, self.get = (
            getattr(accumulators, f"put_{kind}"),
            getattr(accumulators, f"get_{kind}"),
        )
        self.shuffle = getattr(accumulators, f"shuffle_{kind}")
        # the dtype of each part
        self.parts = ((T,), (T, S), (T, T, T))[("number", "pair", "triple").index(kind)]


@cache
def accumulator(kind: str, T: type, S: type | None = None) -> Accumulator:
    """The `Accumulator` of these types, made once: kernels are cached by the functions in it."""
    return Accumulator(kind, T, S)


@cache
def block_total(kind: Accumulator, combine: DeviceFunction, along_x: bool) -> Any:
    """The device function with which the lanes of a row find their total: by shuffles on a GPU if
    the lanes lie along x, so that they are whole warps, and else in shared memory.
    """
    names = {
        "combine": combine,
        "slots": kind.slots,
        "put": kind.put,
        "get": kind.get,
        "ALONG_X": along_x,
    }
    in_shared_memory = total_in_shared_memory.bind(**names)
    if not along_x:
        return in_shared_memory
    return by_executor(
        gpu=total_by_shuffles.bind(**names, shuffle=kind.shuffle), elsewhere=in_shared_memory
    )
