"""Exercises of notebook 05: build a caching allocator yourself: size classes, free lists, and both
under a training loop.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics.watched import Watched, in_training
from internals.core.cpu_allocator import round_size

ROUND = """
def size_class(nbytes):
    step = 64
    if nbytes > 1024:
        step = 2 ** ((nbytes - 1).bit_length() - 3)
    return (nbytes + step - 1) // step * step"""


@exercise(
    level=2,
    title="A free list 1: size classes",
    ask="""
        Write `size_class(nbytes)`: to how many bytes a request is rounded up. Up to 1024 the
        classes are the multiples of 64. Above, there are four to each doubling: 1280, 1536, 1792,
        2048, then 2560, 3072, 3584, 4096, and so on. The checker makes tensors of many sizes and
        looks at the blocks they get.""",
    start="""
        def size_class(nbytes):
            ...""",
    passes=("size_class",),
    hints=(
        "In each doubling the classes are evenly spaced. How far are they from each other between "
        "1024 and 2048, how far between 2048 and 4096?",
        "Find the step first: 64, or a quarter of the largest power of two below `nbytes`. `(n - "
        "1).bit_length()` says which power of two n reaches up to. Then round up to a multiple of "
        "the step.",
    ),
    solution=ROUND,
    why=(
        "At most a fifth of a large block is unused, and 56 classes serve all sizes up to a "
        "megabyte: that is the bargain."
    ),
    mistakes=[
        Mistake(
            "A request is rounded to the nearest class.",
            ROUND.replace("nbytes + step - 1", "nbytes + step // 2"),
            "too small",
        ),
        Mistake(
            "What fits exactly needs the next class.",
            ROUND.replace("(nbytes + step - 1) // step * step", "nbytes // step * step + step"),
            "fits exactly",
        ),
        Mistake(
            "A size class is a power of two.",
            """
            def size_class(nbytes):
                return max(64, 2 ** (nbytes - 1).bit_length())""",
            "multiple of 64",
        ),
        Mistake(
            "Multiples of 64 all the way.",
            """
            def size_class(nbytes):
                return (nbytes + 63) // 64 * 64""",
            "four to each doubling",
        ),
        Mistake(
            "Above 1 KiB, a class is a power of two.",
            """
            def size_class(nbytes):
                if nbytes <= 1024:
                    return (nbytes + 63) // 64 * 64
                return 2 ** (nbytes - 1).bit_length()""",
            "half of the block",
        ),
    ],
)
def build_free_list_1(size_class: Callable[[int], int]) -> str:
    if size_class is round_size:
        raise Wrong("that is the real one: find the rule yourself")
    allocator = torch.cpu.CachingAllocator()
    sizes = [
        *range(1, 2600),
        *(4096 * k + d for k in range(1, 40) for d in (-1, 0, 1)),
        77_000,
        1 << 20,
        (1 << 20) + 1,
    ]
    with torch.cpu.use_cpu_allocator(allocator):
        for nbytes in sizes:
            tensor = torch.empty(nbytes, dtype=torch.uint8)
            truth = next(
                block["size"] for block in allocator.snapshot() if block["state"] == "active"
            )
            del tensor
            got = size_class(nbytes)
            if got != truth:
                raise Wrong(
                    f"{nbytes} bytes got a block of {truth}, not "
                    f"{got!r}{reason(nbytes, truth, got)}"
                )
            allocator.empty_cache()
    return f"{len(sizes)} tensors got blocks as your function says, from 1 byte to a megabyte"


def reason(nbytes: int, truth: int, got: Any) -> str:
    if not isinstance(got, int):
        return ": the answer is a whole number"
    if got < nbytes:
        return ": yours is too small for the request"
    if truth == nbytes:
        return ": what fits exactly needs no larger block"
    if nbytes <= 1024:
        return ": up to 1024, a class is the next multiple of 64"
    if got < truth:
        return ": above 1024 there are only four to each doubling, with longer and longer steps"
    return ": with so few classes nearly half of the block would be unused"


LISTS = """
class FreeLists:
    def __init__(self):
        self.lists, self.free = {}, set()

    def put(self, size, pointer):
        if pointer in self.free:
            raise RuntimeError(f"double free of {pointer:#x}")
        self.free.add(pointer)
        self.lists.setdefault(size, []).append(pointer)

    def take(self, size):
        if not self.lists.get(size):
            return None
        pointer = self.lists[size].pop()
        self.free.remove(pointer)
        return pointer"""


@exercise(
    level=3,
    title="A free list 2: blocks that come back",
    ask="""
        Write `put`, which keeps the block at address `pointer` for its size class, and `take`,
        which returns the address of a block of exactly this class and forgets it, or None. The
        block that came back last is taken first: the processor's cache may still know it. A block
        that is put back twice in a row is a RuntimeError. Then real tensors live on these
        blocks.""",
    start="""
        class FreeLists:
            def __init__(self):
                self.lists, self.free = {}, set()

            def put(self, size, pointer):
                ...

            def take(self, size):
                ...""",
    passes=("FreeLists",),
    hints=(
        "A dictionary from size to a list of pointers. Which two methods of a list make it last "
        "in, first out?",
        "`self.free` may hold all pointers that are in some list: `put` looks there first, and "
        "`take` removes what it returns.",
    ),
    solution=LISTS,
    why=(
        "One `append` and one `pop`. PyTorch's `BlockPool` for GPUs is a sorted set instead, since "
        "it also splits blocks."
    ),
    mistakes=[
        Mistake(
            "A block is free once it was freed.",
            LISTS.replace(".pop()", "[-1]").replace("        self.free.remove(pointer)\n", ""),
            "has to be forgotten",
        ),
        Mistake("First come, first served.", LISTS.replace(".pop()", ".pop(0)"), "came back last"),
        Mistake(
            "Any block that is large enough will do.",
            LISTS.replace(
                "if not self.lists.get(size):",
                "size = max((n for n in self.lists if self.lists[n]), default=0)\n"
                "        if size not in self.lists:",
            ),
            "exactly this class",
        ),
        Mistake(
            "Nobody gives back twice.",
            LISTS.replace("if pointer in self.free:", "if False:")
            .replace("free.remove", "free.discard"),
            "double free",
        ),
        Mistake(
            "Once freed, a pointer is known.",
            LISTS.replace("        self.free.remove(pointer)\n", ""),
            "taken in between",
        ),
        Mistake(
            "If nothing is there, that is an error.",
            LISTS.replace("if not self.lists.get(size):\n            return None\n        ", ""),
            "None",
        ),
    ],
)  # fmt: skip
def build_free_list_2(FreeLists: type[Any]) -> str:
    lists = FreeLists()
    try:
        empty = lists.take(64)
    except (LookupError, RuntimeError) as error:
        raise Wrong(
            f"nothing was put, and take(64) stopped with {type(error).__name__}; None is the answer"
        ) from None
    if empty is not None:
        raise Wrong(f"nothing was put, and take(64) returned {empty!r} instead of None")
    for pointer in (0x1000, 0x2000):
        lists.put(64, pointer)
    lists.put(128, 0x3000)
    if (first := lists.take(64)) != 0x2000:
        also = ", the one that came back last" if first == 0x1000 else ", one of exactly this class"
        raise Wrong(
            f"0x1000 and 0x2000 of 64 bytes and 0x3000 of 128 were put; take(64) is 0x2000{also}, "
            f"not {told(first)}"
        )
    if (second := lists.take(64)) != 0x1000:
        again = (
            "a block that was taken has to be forgotten" if second == 0x2000 else "0x1000 is left"
        )
        raise Wrong(f"the second take(64) returned {told(second)}: {again}")
    if (third := lists.take(64)) is not None:
        raise Wrong(
            f"no block of 64 bytes is left, but take(64) returned {told(third)}, which is not of "
            "exactly this class"
        )
    try:
        lists.put(64, 0x1000)
    except RuntimeError:
        raise Wrong(
            "a block that was put, taken in between, and put again is no double free, but raised "
            "one"
        ) from None
    try:
        lists.put(64, 0x1000)
    except RuntimeError:
        return lived(FreeLists())
    raise Wrong(
        "a block was put twice in a row without being taken: a double free has to be a RuntimeError"
    )


def told(pointer: Any) -> str:
    return hex(pointer) if isinstance(pointer, int) else repr(pointer)


def lived(lists: Any) -> str:
    """Lets a training live on blocks from the reader's lists."""
    system, blocks, taken = torch.cpu.SystemAllocator(), {}, 0

    class OnLists(torch.cpu.Allocator):
        def allocate(self, nbytes: int) -> Any:
            nonlocal taken
            size = (nbytes + 1023) // 1024 * 1024
            pointer = lists.take(size)
            taken += pointer is not None
            if pointer is None:
                memory = system.allocate(size)
                blocks[pointer := memory.pointer] = memory
            return torch.cpu.DataPtr(pointer, (size, pointer), lambda block: lists.put(*block))

    plain, _ = in_training()
    watched = Watched(OnLists())
    with torch.cpu.use_cpu_allocator(watched):
        losses, _ = in_training()
    gc.collect()
    for memory in blocks.values():
        memory.clear()
    if losses != plain or watched.live:
        raise Wrong(
            f"a training with tensors on your lists has the losses {losses}; elsewhere {plain}"
        )
    return (
        f"{watched.count} tensors of a training lived on {len(blocks)} blocks: {taken} times one "
        "was taken from your lists"
    )


CACHING = """
class Caching(torch.cpu.Allocator):
    def __init__(self, upstream):
        self.upstream, self.lists = upstream, {}

    def allocate(self, nbytes):
        size = size_class(nbytes)
        free = self.lists.setdefault(size, [])
        memory = free.pop() if free else self.upstream.allocate(size)
        return torch.cpu.DataPtr(memory.pointer, (size, memory), self.release)

    def release(self, context):
        size, memory = context
        self.lists[size].append(memory)

    def empty_cache(self):
        for free in self.lists.values():
            while free:
                free.pop().clear()"""


@exercise(
    level=3,
    title="A free list 3: an allocator for a training loop",
    ask="""
        Put it together. `Caching(upstream)` asks `upstream.allocate(size)` for blocks, which are
        `DataPtr`s with a `pointer` and a `clear()` that gives them back. `allocate` returns a
        `DataPtr` whose deleter is `release`; it takes a free block of the size class if there is
        one. `empty_cache` gives all free blocks back. A model is trained on your allocator: from
        the second step on, upstream must not be asked any more.""",
    given="""
        from internals.core.cpu_allocator import round_size as size_class  # or yours, of step 1""",
    start="""
        class Caching(torch.cpu.Allocator):
            def __init__(self, upstream):
                self.upstream, self.lists = upstream, {}

            def allocate(self, nbytes):
                ...

            def release(self, context):
                ...

            def empty_cache(self):
                ...""",
    passes=("Caching",),
    hints=(
        "The deleter gets what you chose as the context. What must it know to keep the block, and "
        "later to give it back?",
        "`lists` can be a dictionary from size class to blocks from upstream. `allocate` pops one "
        "or asks for a whole class, and returns `torch.cpu.DataPtr(memory.pointer, (size, memory), "
        "self.release)`.",
    ),
    solution=CACHING,
    why=(
        "That is `CachingAllocator` in internals/core/cpu_allocator.py, without the counters. The "
        "GPU's also splits and merges."
    ),
    mistakes=[
        Mistake(
            "Upstream is asked for what was asked for.",
            CACHING.replace("upstream.allocate(size)", "upstream.allocate(nbytes)"),
            "whole class",
        ),
        Mistake(
            "A deleter frees.",
            CACHING.replace("self.lists[size].append(memory)", "memory.clear()"),
            "nothing was kept",
        ),
        Mistake(
            "One list is enough.",
            CACHING.replace("setdefault(size, [])", "setdefault(0, [])")
            .replace("lists[size]", "lists[0]"),
            "too small",
        ),
        Mistake(
            "A free block may stay in its list.",
            CACHING.replace("free.pop() if free else", "free[-1] if free else"),
            "still in use",
        ),
        Mistake(
            "To forget the blocks is to give them back.",
            CACHING.replace(
                "for free in self.lists.values():\n            while free:\n"
                "                free.pop().clear()",
                "self.lists = {}",
            ),
            "never given back",
        ),
        Mistake(
            "The memory stays with the allocator, so the context may be empty.",
            CACHING.replace("(size, memory), self.release", "None, self.release"),
            "context is None",
        ),
    ],
)  # fmt: skip
def build_free_list_3(Caching: type[Any]) -> str:
    upstream = Watched(torch.cpu.SystemAllocator())
    allocator: Any = Caching(upstream)
    if torch.cpu.Allocator not in type(allocator).__mro__:
        raise Wrong("Caching has to be a subclass of torch.cpu.Allocator")
    if isinstance(allocator, torch.cpu.CachingAllocator):
        raise Wrong(
            "that is the real one: begin with torch.cpu.Allocator, and keep the blocks yourself"
        )
    watched = Watched(allocator)
    watched.allocate(100).clear()
    if not upstream.live:
        raise Wrong(
            "100 bytes came back, and nothing was kept: upstream has the block again. `release` "
            "keeps it in a list"
        )
    watched.allocate(120).clear()
    if upstream.count != 1:
        raise Wrong(
            "a block of 100 bytes came back, 120 were asked for: the same size class, but upstream "
            "was asked again"
        )
    if (had := max(upstream.live.values())) < 120:
        raise Wrong(
            f"120 bytes were put on a block of {had}: upstream has to be asked for a whole class, "
            "not for the request"
        )
    kept = watched.allocate(5000)
    if sum(upstream.live.values()) < 5120:
        raise Wrong(
            "5000 bytes were put on a block that is too small: a free block serves its own size "
            "class only"
        )
    kept.clear()
    allocator.empty_cache()
    return trained_on(Caching)


def trained_on(Caching: type[Any]) -> str:
    plain, _ = in_training(4)
    upstream = Watched(torch.cpu.SystemAllocator())
    allocator: Any = Caching(upstream)
    watched, asked = Watched(allocator), []
    with torch.cpu.use_cpu_allocator(watched):
        losses, _ = in_training(4, lambda step: asked.append(upstream.count))
    gc.collect()
    if losses != plain:
        raise Wrong(f"a model trained on your allocator has the losses {losses}; elsewhere {plain}")
    if asked[1] != asked[-1]:
        raise Wrong(
            f"upstream was asked {asked} times by the end of each step; what a step gave back "
            "serves the next one"
        )
    if watched.live:
        raise Wrong(f"{len(watched.live)} blocks did not come back although all tensors are gone")
    held = len(upstream.live)
    allocator.empty_cache()
    if upstream.live:
        raise Wrong(
            f"after empty_cache() {len(upstream.live)} of {held} blocks were never given back to "
            "upstream"
        )
    return (
        f"{watched.count} requests of four training steps, {upstream.count} of them asked "
        "upstream; all was given back"
    )
