"""Exercises of notebook 19: what is reserved, which free memory is stuck, and blocks that are split
and merged.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, table
from exercises.topics._simulated import simulated_gpu

MIB = 1 << 20
PROGRAM = """
def room(nbytes):
    return torch.empty(nbytes, dtype=torch.uint8, device="cuda")

def program():
    loss = room(4)
    hidden = room(6 * MIB)
    weights = room(12 * MIB)
    images = room(15 * MIB)
    del hidden, images
    output = room(5 * MIB)
    return loss, weights, output"""
BILL = {
    "calls of cudaMalloc": 3,
    "allocated": 18 * MIB + 512,
    "reserved": 38 * MIB,
    "largest free block": 16 * MIB,
    "reserved after empty_cache": 22 * MIB,
}


@exercise(
    level=1,
    title="Read the bill",
    ask="""
        `program()` runs on an empty GPU of 64 MiB. When it has returned and its three tensors are
        still there: how often was `cudaMalloc` called, how many bytes are allocated, how many
        reserved, and how large is the largest free block? And how many bytes are reserved after
        `torch.cuda.empty_cache()`? Write bytes as `3 * MIB + 512`.""",
    given=f"MIB = 1 << 20\n{PROGRAM}",
    start=blank(BILL),
    hints=(
        "Draw the segments: the small pool asks for 2 MiB, the large one for 20 MiB below 10 MiB "
        "and for just what is needed (in multiples of 2 MiB) from there on. Then best fit, and a "
        "look at what is split off.",
        "`weights` fits behind `hidden`. In the large pool a rest of up to 1 MiB is not split off: "
        "that matters twice here.",
    ),
    solution="""
        answer = {
            "calls of cudaMalloc": 3,
            "allocated": 18 * MIB + 512,
            "reserved": 38 * MIB,
            "largest free block": 16 * MIB,
            "reserved after empty_cache": 22 * MIB,
        }""",
    why=(
        "`print(viz.allocator('cuda'))` draws it. Of the 20 MiB that are free in the end, 4 are "
        "stuck in a segment with others."
    ),
    mistakes=[
        Mistake(
            "Every tensor is a call.", table(BILL, **{"calls of cudaMalloc": 5}), "was cut from"
        ),
        Mistake(
            "Allocated is what was asked for.",
            table(BILL, allocated=17 * MIB + 4),
            "blocks, not requests",
        ),
        Mistake(
            "The output goes where there is most room.",
            table(BILL, allocated=17 * MIB + 512, **{"largest free block": 11 * MIB}),
            "best fit takes the hole of 6 MiB",
        ),
        Mistake(
            "What is deleted is given back.",
            table(BILL, reserved=18 * MIB + 512),
            "nothing was given back",
        ),
        Mistake(
            "Free memory is one pool.",
            table(BILL, **{"largest free block": 20 * MIB}),
            "do not add up",
        ),
        Mistake(
            "empty_cache leaves what is in use.",
            table(BILL, **{"reserved after empty_cache": 18 * MIB + 512}),
            "entirely free",
        ),
    ],
)
def gpu_memory_1(answer: dict[str, int]) -> str:
    import internals as torch

    with simulated_gpu(64 * MIB):
        names: dict[str, Any] = {"torch": torch, "MIB": MIB}
        exec(PROGRAM, names)
        kept = names["program"]()
        stats = torch.cuda.memory_stats()
        blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
        torch.cuda.empty_cache()
        truth = {
            "calls of cudaMalloc": stats["segment.all.allocated"],
            "allocated": stats["allocated_bytes.all.current"],
            "reserved": stats["reserved_bytes.all.current"],
            "largest free block": max(
                block["size"] for block in blocks if block["state"] == "inactive"
            ),
            "reserved after empty_cache": torch.cuda.memory_reserved(),
        }
        del kept
    compare(answer, truth, why_not, "a number")
    return "the GPU sees 38 MiB gone, the tensors hold 18, and they had asked for 17"


def why_not(key: str, told: Any) -> str:
    if not isinstance(told, int) or isinstance(told, bool):
        return f"{key}: a whole number is wanted, not {told!r}"
    reasons = {
        (
            "calls of cudaMalloc",
            5,
        ): "fewer than 5: `weights` was cut from the segment of `hidden`, and `output` took a hole",
        (
            "allocated",
            17 * MIB + 4,
        ): "not 17 MiB and 4 bytes: blocks, not requests, are counted, and `output`'s rest was too"
        " small to be split off",
        (
            "allocated",
            17 * MIB + 512,
        ): "more than that: best fit takes the hole of 6 MiB for the 5 MiB of `output`, and a rest"
        " of 1 MiB is not split off",
        (
            "reserved",
            18 * MIB + 512,
        ): "more than is allocated: nothing was given back to the GPU, and segments are larger than"
        " what was cut from them",
        (
            "largest free block",
            20 * MIB,
        ): "not 20 MiB: free blocks of different segments do not add up to one",
        (
            "reserved after empty_cache",
            18 * MIB + 512,
        ): "more than is allocated: only segments that are entirely free go back",
    }
    general = {
        "calls of cudaMalloc": (
            "one for each new segment. Which requests found no free block that was large enough?"
        ),
        "allocated": (
            "add up the blocks of loss (multiples of 512), weights, and output (which hole, and is "
            "it split?)"
        ),
        "reserved": (
            "add up the segments: one of the small pool, one below 10 MiB, one for `images`, "
            "rounded to 2 MiB"
        ),
        "largest free block": (
            "which blocks are free? What `hidden`, `images` left, and what nobody had. Which were "
            "taken?"
        ),
        "reserved after empty_cache": (
            "take away the segments in which nobody lives; the small pool's has `loss` in it"
        ),
    }
    return f"{key}: {reasons.get((key, told)) or f'not {told:,}; {general[key]}'}"


@exercise(
    level=2,
    title="Free, and stuck",
    ask="""
        Write `stuck(segments)`: of the bytes that are free, how many can `empty_cache()` *not* give
        back? It gets what `torch.cuda.memory_snapshot()` returns: a list of segments, dicts with
        `"total_size"` and `"blocks"`. A block is a dict with `"size"`, `"requested_size"` and
        `"state"`, which is `"active_allocated"` or `"inactive"`.""",
    start="""
        def stuck(segments):
            ...""",
    passes=("stuck",),
    hints=(
        "Segments go back that are *entirely* free. Which free blocks lie in the others?",
        "Go through the segments; leave out those whose blocks are all inactive, and add up the "
        "inactive ones of the rest.",
    ),
    solution="""
        def stuck(segments):
            total = 0
            for segment in segments:
                free = [
                    block["size"] for block in segment["blocks"] if block["state"] == "inactive"
                ]
                if len(free) < len(segment["blocks"]):
                    total += sum(free)
            return total""",
    why=(
        "`memory_summary()` calls it *non-releasable memory*, `memory_stats()` has it as "
        "`inactive_split_bytes.all.current`."
    ),
    mistakes=[
        Mistake(
            "All that is free is fragmented.",
            """
            def stuck(segments):
                blocks = [block for segment in segments for block in segment["blocks"]]
                return sum(block["size"] for block in blocks if block["state"] == "inactive")""",
            "entirely free",
        ),
        Mistake(
            "A segment that can not go back is stuck as a whole.",
            """
            def stuck(segments):
                kept = [s for s in segments if any(b["state"] != "inactive" for b in s["blocks"])]
                return sum(segment["total_size"] for segment in kept)""",
            "counts those segments whole",
        ),
        Mistake(
            "What is lost is what rounding adds.",
            """
            def stuck(segments):
                blocks = [block for segment in segments for block in segment["blocks"]]
                return sum(
                    b["size"] - b["requested_size"] for b in blocks if b["state"] != "inactive"
                )""",
            "free blocks",
        ),
        Mistake(
            "Inactive blocks were never asked for by anybody, so their requested size is what "
            "counts.",
            """
            def stuck(segments):
                total = 0
                for segment in segments:
                    free = [
                        b["requested_size"] for b in segment["blocks"] if b["state"] == "inactive"
                    ]
                    if len(free) < len(segment["blocks"]):
                        total += sum(free)
                return total""",
            "nobody",
        ),
        Mistake(
            "The largest hole is what counts.",
            """
            def stuck(segments):
                kept = [s for s in segments if any(b["state"] != "inactive" for b in s["blocks"])]
                free = [b["size"] for s in kept for b in s["blocks"] if b["state"] == "inactive"]
                return max(free, default=0)""",
            "only the largest",
        ),
    ],
)
def gpu_memory_2(stuck: Callable[[list[dict[str, Any]]], int]) -> str:
    import internals as torch

    def tensor_of(nbytes: int) -> Any:
        return torch.empty(nbytes, dtype=torch.uint8, device="cuda")

    def situations() -> dict[str, Any]:
        return {
            "a tensor of 700 bytes and one of 6 MiB": lambda: [tensor_of(700), tensor_of(6 * MIB)],
            "one tensor of 20 MiB": lambda: [tensor_of(20 * MIB)],
            "one tensor of 20 MiB, dropped": lambda: (tensor_of(20 * MIB), [])[1],
            "twelve tensors of 5 MiB, every second one dropped": lambda: [
                tensor_of(5 * MIB) for _ in range(12)
            ][1::2],
            "a scalar of 4 bytes and 15 MiB, the 15 dropped": lambda: (
                tensor_of(4),
                tensor_of(15 * MIB),
            )[:1],
        }

    for what, make in situations().items():
        with simulated_gpu(64 * MIB):
            kept = make()
            before = torch.cuda.memory_snapshot()
            got = stuck(torch.cuda.memory_snapshot())
            torch.cuda.empty_cache()
            truth = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
            del kept
        if got != truth or isinstance(got, bool):
            raise Wrong(f"{what}: {truth:,} bytes stay, not {got!r}{mistaken(got, before)}")
    return "each number is what was reserved and not allocated after empty_cache()"


def mistaken(got: Any, segments: list[dict[str, Any]]) -> str:
    """What somebody has counted who got this number, if it can be told."""
    blocks = [block for segment in segments for block in segment["blocks"]]
    free = [block["size"] for block in blocks if block["state"] == "inactive"]
    lived_in = [s for s in segments if any(b["state"] != "inactive" for b in s["blocks"])]
    stuck = [b["size"] for s in lived_in for b in s["blocks"] if b["state"] == "inactive"]
    if got == sum(segment["total_size"] for segment in lived_in):
        return ": that counts those segments whole, and what is in use is not free"
    if got == sum(free):
        return ": that is all that is free, but segments that are entirely free go back"
    if stuck and got == max(stuck):
        return ": that is only the largest of the free blocks"
    if got and got == sum(
        b["size"] - b["requested_size"] for b in blocks if b["state"] != "inactive"
    ):
        return ": what rounding adds to tensors is in use; look at the free blocks"
    if got == 0:
        return ": a free block was asked for by nobody, so it has a size and no requested size"
    return ""


POLICY = """
def best_fit(free, size):
    large_enough = (block for block in free if block.size >= size)
    return min(large_enough, key=lambda block: block.size, default=None)

def split(block, size):
    rest = Block(block.pointer + size, block.size - size, block.stream, block.pool)
    rest.prev, rest.next = block, block.next
    if rest.next is not None:
        rest.next.prev = rest
    block.next, block.size = rest, size
    return rest

def merge(left, right):
    left.size += right.size
    left.next = right.next
    if left.next is not None:
        left.next.prev = left"""


@exercise(
    level=3,
    title="Cut and join",
    ask="""
        The heart of the allocator, on its own `Block`s. A block has a `pointer` (an address), a
        `size` in bytes, a `stream` and a `pool`; `prev` and `next` are its neighbours in the
        segment, or None at the ends.

        - `best_fit(free, size)`: the free block to take, or None if none is large enough. `free` is
          a list in order of address; of equally good blocks take the first.
        - `split(block, size)`: leaves the first `size` bytes to `block`, and returns the rest as a
          new `Block`.
        - `merge(left, right)`: two neighbours become one, which is `left`.

        Your three functions are put into a real allocator. It has to stand a thousand requests, and
        a training.""",
    given="from internals.cuda.allocator.blocks import Block",
    start="""
        def best_fit(free, size):
            ...

        def split(block, size):
            ...

        def merge(left, right):
            ...""",
    passes=("best_fit", "split", "merge"),
    hints=(
        "A segment is a chain without gaps. Draw three blocks in a row and cut the one in the "
        "middle: which four links change?",
        "`Block(pointer, size, stream, pool)` makes one. Whoever comes after the new block has to "
        "know it as its `prev`, and whoever came after `right` must know `left`.",
    ),
    solution=POLICY,
    why=(
        "Each is a few lines in `c10/cuda/CUDACachingAllocator.cpp`, too: `get_free_block`, "
        "`alloc_block`, `try_merge_blocks`."
    ),
    mistakes=[
        Mistake(
            "The first block that is large enough will do.",
            POLICY.replace(
                "min(large_enough, key=lambda block: block.size, default=None)",
                "next(large_enough, None)",
            ),
            "the smallest of those",
        ),
        Mistake(
            "From the largest block most is left.",
            POLICY.replace("return min(", "return max("),
            "largest",
        ),
        Mistake(
            "A block has to be larger than the request.",
            POLICY.replace("block.size >= size", "block.size > size"),
            "exactly",
        ),
        Mistake(
            "The rest knows its neighbours, that is enough.",
            POLICY.replace("    if rest.next is not None:\n        rest.next.prev = rest\n", ""),
            "behind the rest",
        ),
        Mistake(
            "The rest begins where the block begins.",
            POLICY.replace("Block(block.pointer + size,", "Block(block.pointer,"),
            "begins",
        ),
        Mistake(
            "The block keeps its size.",
            POLICY.replace("block.next, block.size = rest, size", "block.next = rest"),
            "twice",
        ),
        Mistake(
            "To merge is to add up sizes.",
            POLICY.replace("    left.next = right.next\n", ""),
            "still in the chain",
        ),
        Mistake(
            "A chain is followed forwards only.",
            POLICY.replace("    if left.next is not None:\n        left.next.prev = left", ""),
            "backwards",
        ),
    ],
)
def gpu_memory_3(
    best_fit: Callable[..., Any], split: Callable[..., Any], merge: Callable[..., None]
) -> str:
    from exercises.topics._blocks import one_by_one, same_as_real, trained

    one_by_one(best_fit, split, merge)
    requests = same_as_real(best_fit, split, merge, random.Random(19))
    steps = trained(best_fit, split, merge)
    return (
        f"{requests:,} requests placed where the real allocator places them, and {steps} steps of "
        "training in your blocks"
    )
