"""What `gpu_memory_3` does with a reader's blocks: looks at each function alone, then lets the real
allocator run on them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from exercises.exercise import Wrong
from exercises.topics._simulated import simulated_gpu
from internals.cuda.allocator import CachingAllocator, FakeSegments
from internals.cuda.allocator.blocks import Block, Pool
from internals.cuda.allocator.stats import DeviceStats

MIB = 1 << 20


class Yours(CachingAllocator):
    """The real allocator, with the reader's way to choose, cut and join blocks."""

    def __init__(
        self, segments: Any, functions: tuple[Callable[..., Any], ...], **more: Any
    ) -> None:
        super().__init__(segments, **more)
        self.best_fit, self.split, self.merge = functions

    def _best_fit(self, pool: Pool, size: int, stream: int) -> Block | None:
        free = sorted((b for b in pool.blocks() if b.stream == stream), key=lambda b: b.pointer)
        block = self.best_fit(list(free), size)
        if block is None:
            return None
        if not any(block is other for other in free):
            raise Wrong(f"best_fit has to return one of the free blocks, or None, not {block!r}")
        pool.remove(block)
        return block

    def _cut(self, block: Block, size: int) -> None:
        rest = block.size - size
        if (
            rest >= self.config.round_small
            if block.pool.is_small
            else rest > self.config.small_size
        ):
            block.pool.insert(checked(self.split(block, size)))

    def _make_free(self, block: Block, frames: Any) -> None:
        block.frames = None
        if block.next is not None and block.next.is_free():
            block.pool.remove(block.next)
            self.merge(block, block.next)
        if block.prev is not None and block.prev.is_free():
            left = block.prev
            left.pool.remove(left)
            self.merge(left, block)
            block = left
        block.pool.insert(block)


def checked(block: Any) -> Block:
    if not isinstance(block, Block):
        raise Wrong(f"split has to return the rest, a Block, not {block!r}")
    return block


def row(*sizes: int) -> list[Block]:
    """Blocks of these sizes, one behind the other, from address 1024 on."""
    pool, blocks, at = Pool(False, DeviceStats().large_pool), list[Block](), 1024
    for size in sizes:
        blocks.append(Block(at, size, 0, pool))
        at += size
    for left, right in zip(blocks, blocks[1:]):
        left.next, right.prev = right, left
    return blocks


def one_by_one(
    best_fit: Callable[..., Any], split: Callable[..., Any], merge: Callable[..., None]
) -> None:
    """Each function by itself; raises Wrong for the first thing that is not right."""
    sizes = [2048, 512, 1024, 4096, 1024]
    for size, right in ((600, 2), (1024, 2), (3000, 3), (512, 1), (9999, None)):
        free = row(*sizes)
        got, best = best_fit(list(free), size), None if right is None else free[right]
        if got is best:
            continue
        asked = f"best_fit, free blocks of {sizes}, {size} bytes wanted: "
        if best is None or got is None or not any(got is block for block in free):
            raise Wrong(
                f"{asked}{'None' if best is None else f'the block of {best.size}'} is right, not "
                f"{got!r}"
            )
        if got.size < size:
            raise Wrong(f"{asked}the block of {got.size} is too small")
        if best.size == size and got.size > size:
            raise Wrong(
                f"{asked}a block of exactly that size is large enough, and it was not taken"
            )
        if got.size == max(sizes):
            raise Wrong(
                f"{asked}the largest was taken; then no large block lives long. The smallest that "
                f"fits is of {best.size}"
            )
        if got is free[4]:
            raise Wrong(f"{asked}of two equally good ones take the first")
        raise Wrong(
            f"{asked}the first that fits has {got.size}; the smallest of those that fit has "
            f"{best.size}"
        )
    for place in (0, 1, 2):
        blocks = row(4096, 4096, 4096)
        block = blocks[place]
        rest = checked(split(block, 1024))
        in_order(
            f"split, 1024 bytes of block {place + 1} of three",
            [*blocks[: place + 1], rest, *blocks[place + 1 :]],
        )
        if (rest.stream, rest.pool) != (block.stream, block.pool):
            raise Wrong("the rest has another stream or pool than the block it was cut from")
    for place in (0, 1, 2):
        blocks = row(512, 1024, 2048, 4096)
        merge(blocks[place], blocks[place + 1])
        if blocks[place].next is blocks[place + 1]:
            raise Wrong(
                "merge: `right` is still in the chain behind `left`, which has its bytes already"
            )
        in_order(
            f"merge, blocks {place + 1} and {place + 2} of four",
            blocks[: place + 1] + blocks[place + 2 :],
        )


def in_order(what: str, blocks: list[Block]) -> None:
    """Whether these blocks are a chain without gaps, up to the end of the segment."""
    for left, right in zip(blocks, blocks[1:]):
        if right.pointer < left.pointer + left.size:
            told = "begins inside" if right.pointer > left.pointer else "begins where"
            more = (
                " the one before it"
                if right.pointer > left.pointer
                else " the one before it begins"
            )
            raise Wrong(f"{what}: a block {told}{more}, so some bytes are there twice")
        if right.pointer > left.pointer + left.size:
            raise Wrong(f"{what}: between two blocks there are bytes that belong to nobody")
        if left.next is not right:
            raise Wrong(
                f"{what}: followed forwards, the chain goes from {left!r} to {left.next!r}, not to "
                f"{right!r}"
            )
        if right.prev is not left:
            raise Wrong(behind(what, blocks, right))
    if blocks[-1].next is not None or blocks[0].prev is not None:
        raise Wrong(
            f"{what}: the ends of the chain have no neighbours: prev, or next, is None there"
        )
    if min(block.size for block in blocks) <= 0:
        raise Wrong(f"{what}: a block without bytes is left")


def behind(what: str, blocks: list[Block], right: Block) -> str:
    if what.startswith("split") and right.prev is None:
        return f"{what}: the rest does not know who comes before it: that is its `prev`"
    if what.startswith("split"):
        return (
            f"{what}: the block behind the rest has another one for its `prev`: it would be merged "
            "with the wrong one"
        )
    return (
        f"{what}: followed backwards, the chain goes from {right!r} to {right.prev!r}, which is no "
        "more"
    )


def same_as_real(
    best_fit: Callable[..., Any],
    split: Callable[..., Any],
    merge: Callable[..., None],
    chance: random.Random,
) -> int:
    """A thousand requests, to the real allocator and to one with the reader's functions. How many
    there were.
    """
    real = CachingAllocator(FakeSegments(256 * MIB))
    yours = Yours(FakeSegments(256 * MIB), (best_fit, split, merge))
    live: list[tuple[Any, Any]] = []
    for number in range(1000):
        if live and (len(live) > 40 or chance.random() < 0.45):
            mine, other = live.pop(chance.randrange(len(live)))
            real.free(mine)
            yours.free(other)
        else:
            nbytes = int(512 * 2 ** chance.uniform(0, 13.5))
            live.append((real.malloc(nbytes, 0), yours.malloc(nbytes, 0)))
            if live[-1][0].pointer != live[-1][1].pointer:
                raise Wrong(
                    f"request {number}, of {nbytes:,} bytes, was placed elsewhere than the real "
                    "allocator places it"
                )
    if places(yours) != places(real):
        raise Wrong(
            "after a thousand requests the blocks are others than those of the real allocator"
        )
    return 1000


def places(allocator: CachingAllocator) -> list[Any]:
    blocks = [block for segment in allocator.snapshot() for block in segment["blocks"]]
    return [(block["address"], block["size"], block["state"]) for block in blocks]


def trained(*functions: Callable[..., Any]) -> int:
    """A small model on a simulated GPU, whose memory the reader's functions cut; the number of
    steps.
    """
    import internals as torch
    from internals.cuda.allocator.segments import DriverSegments

    def losses() -> list[float]:
        nn = torch.nn
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(19)
            model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
            images = torch.randn(8, 8)
        model, images = model.cuda(), images.cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        found = []
        for _ in range(2):
            loss = model(images).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    with simulated_gpu():
        expected = losses()
    with simulated_gpu() as driver:
        with torch.cuda.memory.use_allocator(Yours(DriverSegments(driver, 0), functions)):
            if losses() != expected:
                raise Wrong(
                    "a model that is trained in these blocks has other losses: blocks overlap"
                )
    return len(expected)
