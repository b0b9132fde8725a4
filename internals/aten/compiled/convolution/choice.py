"""Chooses the algorithm for a layer by trying several, once on each machine.

A model of the processor says which tiles are worth trying, the clock says which is best. Before
each timed run a large array is written, so that weights come from memory, as they do in a network
that is larger than the cache. The choice is kept on disk under the layer's sizes, the CPU and the
number of threads.

How the real one differs: oneDNN decides by rules; cuDNN's `benchmark` and Inductor's `max_autotune`
try as here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache as once
from math import ceil, inf
from typing import NamedTuple

from internals.machine_code import cache
from internals.machine_code.llvm import digest, host

from ..registers import LANES
from ..vector_code import version_of
from . import algorithms, direct, winograd
from .algorithms import (
    Algorithm,
    Depthwise,
    Direct,
    PreparedStep,
    Scratch,
    Winograd,
    from_list,
    registers,
    small_step,
    to_list,
)
from .buffers import NOWHERE, Buffer
from .problem import Problem, View
from .runner import Program
from .small_kernels import Combine

RUNS = 4  # of which the quickest counts
PROMISING = 4  # direct tiles that are tried
LARGE = 1 << 16  # weights; more may not stay in a processor's caches
AHEAD = 1 << 12  # how far ahead they are fetched then, in numbers: 16 kilobytes
# the most numbers of Winograd's scratch memory for one thread: a megabyte
CACHE_NUMBERS = 1 << 18


class Choice(NamedTuple):
    """The algorithm for a layer. `ratio` is its time over that of the best one that is not
    Winograd's; `tried` is how many were tried now, 0 if the choice was on disk."""

    algorithm: Algorithm
    ratio: float
    tried: int


def choose(
    p: Problem, scratch: Scratch, tell: Callable[[], None] = lambda: None
) -> tuple[Choice, PreparedStep]:
    """The best algorithm for a layer, from the disk or by trying; `tell` is called before trying,
    which takes a while.
    """
    # the version of the code is part of the key: other kernels have other times
    key = digest(
        "convolution choice",
        p.key,
        host(),
        version_of(*(m.__name__ for m in (algorithms, direct, winograd))),
    )
    stored = cache.read(key, "json")
    if stored is not None:
        try:
            description, ratio = json.loads(stored)
            choice = Choice(from_list(description), float(ratio), 0)
        except (KeyError, TypeError, ValueError):
            cache.damaged(key, "json", "it names no algorithm")
        else:
            return choice, choice.algorithm.make(p, scratch)
    tell()
    choice = _try_all(p, scratch)
    cache.write(key, "json", json.dumps([to_list(choice.algorithm), choice.ratio]).encode())
    return choice, choice.algorithm.make(p, scratch)


def candidates(p: Problem) -> list[Algorithm]:
    """The algorithms worth trying. A depthwise convolution has only its own."""
    if p.depthwise and p.x.lanes == LANES:
        width = p.out.sizes[3]
        return [
            Depthwise(c) for c in sorted({_fit(width, most) for most in (14, 8, 4)}, reverse=True)
        ]
    return [*_direct_candidates(p), *_winograd_candidates(p)]


def _direct_candidates(p: Problem) -> list[Algorithm]:
    """The `PROMISING` direct tiles with the least estimated cost, each in two variants: fetching
    weights ahead or not if they are many, else with either order of the loops."""
    view, room = View.of(p), registers()
    found: list[tuple[float, Direct]] = []  # (cost, tile)
    for blocks in (1, 2, 3, 4, 8):
        if blocks > p.out.blocks or (p.layer.groups > 1 and blocks > 1):
            continue
        for rows in range(1, min(view.height, 8) + 1):
            # widths that cut a row into equal tiles: a last tile that begins earlier repeats work
            widths = {_fit(view.width, most) for most in range(1, room // (rows * blocks) + 1)}
            for columns in widths:
                found.append(
                    (
                        _cost(rows, columns, blocks, view, p.out.blocks, room),
                        Direct(rows, columns, blocks),
                    )
                )
    found.sort()
    best = [tile for _, tile in found[:PROMISING]]
    if p.layer.weight.size > LARGE:
        # keep the order that reads them from memory once, and try to fetch them ahead
        return [t._replace(ahead=a) for t in best for a in (0, AHEAD)]
    several = p.out.blocks > best[0].blocks and view.height * view.batch > 1
    return [
        t._replace(groups_fastest=f) for t in best for f in ((False, True) if several else (False,))
    ]


def _cost(rows: int, columns: int, blocks: int, view: View, all_blocks: int, room: int) -> float:
    """An estimate of the cycles for one inner step of all tiles. A cycle has room for two
    multiply-adds and two loads, and a sum is ready four cycles after its addition began.
    """
    sums = rows * columns * blocks
    # one block of weights: the input number is spread as part of the multiply-add itself
    loads = blocks + (rows * columns if blocks > 1 else 0) + (sums if blocks == 1 else 0) * 0.1
    # sums that fit into no register are written to memory and read again
    spilled = max(0, sums + blocks + 1 - room - 3)
    step = max(sums / 2, loads / 2, 4.0) + spilled
    tiles = ceil(view.height / rows) * ceil(view.width / columns) * ceil(all_blocks / blocks)
    return tiles * (step + 0.25)


def _winograd_candidates(p: Problem) -> list[Algorithm]:
    """Winograd's algorithms with several sizes; none unless it is a plain 3x3 convolution of
    blocks."""
    a = p.layer
    n, _, height, width = p.out.sizes
    three = a.weight.shape[2:] == (3, 3) and a.stride == a.dilation == (1, 1) and a.groups == 1
    if not three or p.x.lanes != LANES or p.x.sizes[1] < LANES:
        return []
    found: list[Algorithm] = []
    for m in (4, 2):
        if min(height, width) < m:
            continue
        tiles = n * ceil(height / m) * ceil(width / m)
        most = max(CACHE_NUMBERS // ((m + 2) ** 2 * LANES * (p.x.blocks + p.out.blocks)), 4)
        # tiles done together: as many as the cache holds, half of them, or a thread's whole share
        sizes = {
            _fit(tiles, most),
            _fit(tiles, max(most // 2, 4)),
            _fit(tiles, min(ceil(tiles / p.threads), 4 * most)),
        }
        for size in sorted(sizes):
            # fewer groups of tiles than threads: the output channels are shared out instead
            slices = 1 if ceil(tiles / size) >= p.threads else min(p.threads, p.out.blocks)
            for columns, blocks in (
                ((4, 4), (7, 2), (14, 1)) if registers() > 6 else ((3, 2), (6, 1), (2, 1))
            ):
                if (
                    columns <= size
                    and columns * blocks <= registers()
                    and blocks * slices <= p.out.blocks
                ):
                    ahead = (0, 4 * AHEAD) if p.layer.weight.size > LARGE else (0,)
                    found += [Winograd(m, columns, blocks, size, slices, a) for a in ahead]
    return found


def _fit(total: int, most: int) -> int:
    """The size of the parts when `total` is cut into as few equal parts of at most `most` as
    possible."""
    return ceil(total / ceil(total / max(1, min(most, total))))


def _try_all(p: Problem, scratch: Scratch) -> Choice:
    """The quickest candidate, as measured."""
    times = [(measure(a.make(p, scratch), p.threads), a) for a in candidates(p)]
    best, algorithm = min(times, key=lambda pair: pair[0])
    plain = [t for t, a in times if not isinstance(a, Winograd)]
    return Choice(algorithm, round(best / min(plain), 3), len(times))


def measure(made: PreparedStep, threads: int) -> float:
    """The least time in seconds that a step takes with its weights in memory, not in the cache.

    On one thread only that thread's own time counts, not what other programs take.
    """
    program = Program([made.step], threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    program.run()
    times: list[float] = []
    for _ in range(RUNS):
        _evict(threads)
        start = clock()
        program.run()
        times.append(clock() - start)
    return min(times)


def _evict(threads: int) -> None:
    """Fill the caches of all threads with other data. This also wakes the threads."""
    b = _ballast()
    place, (_, _, h, w) = b.place(), b.sizes
    record = Combine(place, NOWHERE, place, b.blocks, h, w, -inf, inf)
    Program([small_step("combine", record, h, threads)], threads).run()


@once
def _ballast() -> Buffer:
    """48 megabytes, more than most caches hold."""
    return Buffer((1, LANES, 768, 1024), 0)
