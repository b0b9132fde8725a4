"""Exercises of notebook 05: what an allocator is asked for, which storages keep memory, and an
arena of the reader's own.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics.watched import Watched, in_training

PROGRAM = """
a = torch.ones(100)
head = a[:3]
del a
b = torch.ones(110)
c = b * 2
del b
d = torch.ones(105)
row = torch.ones(20)
del c"""


def counted(**numbers: int) -> str:
    right = {
        "asked the system": 4,
        "blocks in use": 3,
        "bytes in use": 1024,
        "bytes reserved": 1472,
    }
    right |= {key.replace("_", " "): number for key, number in numbers.items()}
    return (
        "answer = {\n"
        + "\n".join(f'    "{key}": {number},' for key, number in right.items())
        + "\n}"
    )


@exercise(
    level=1,
    title="Count blocks",
    ask="""
        A fresh `CachingAllocator` serves `program()` below; a float has 4 bytes. How often did the
        allocator ask the system by the end? And just before `program` returns: how many blocks are
        in use, how many bytes do they have, and how many bytes are reserved? Count first;
        `memory_stats()` can be asked afterwards.""",
    given=f"""
        def program():
            {PROGRAM.strip().replace(chr(10), chr(10) + " " * 12)}
            return head, d, row""",
    start="""
        answer = {
            "asked the system": ...,
            "blocks in use": ...,
            "bytes in use": ...,
            "bytes reserved": ...,
        }""",
    hints=(
        "Write down for each line which block is taken, from the system or from the cache, and "
        "which one comes back. Section 1 says who keeps a block when its tensor has gone.",
        "100, 110 and 105 floats share the size class of 448 bytes, 20 floats take 128. `head` "
        "looks at the storage of `a`.",
    ),
    solution=counted(),
    why="Watch it with `viz.allocator_timeline`, as section 3 does.",
    mistakes=[
        Mistake(
            "`del a` gives the memory of `a` back.", counted(asked_the_system=3), "head still looks"
        ),
        Mistake(
            "A cached block serves requests of its own size only.",
            counted(asked_the_system=5),
            "size class",
        ),
        Mistake("Every tensor asks the system.", counted(asked_the_system=6), "from the cache"),
        Mistake("A view has a block of its own.", counted(blocks_in_use=4), "head, d and row"),
        Mistake(
            "Blocks are as large as the tensors that are left.",
            counted(bytes_in_use=512),
            "size classes",
        ),
        Mistake(
            "Memory that is not in use is not reserved.", counted(bytes_reserved=1024), "keeps it"
        ),
    ],
)
def allocators_1(answer: dict[str, int]) -> str:
    allocator = torch.cpu.CachingAllocator()
    with torch.cpu.use_cpu_allocator(allocator):
        names: dict[str, Any] = {"torch": torch}
        exec(PROGRAM, names)
        stats = allocator.memory_stats()
        names.clear()
    truth = {
        "asked the system": stats["segment.all.allocated"],
        "blocks in use": stats["allocation.all.current"],
        "bytes in use": stats["allocated_bytes.all.current"],
        "bytes reserved": stats["reserved_bytes.all.current"],
    }
    if not isinstance(answer, dict) or answer.keys() != truth.keys():
        raise Wrong("the answer is the dict above, with a number for each of its four keys")
    for key, number in truth.items():
        if answer[key] != number or isinstance(answer[key], bool):
            raise Wrong(f"{key}: {why_not(key, answer[key])}")
    return (
        "a block belongs to a storage, comes back with its last tensor, and stays in the cache for "
        "its size class"
    )


def why_not(key: str, told: Any) -> str:
    if not isinstance(told, int) or isinstance(told, bool):
        return f"a whole number is wanted, not {told!r}"
    reasons = {
        ("asked the system", 3):
            "more than 3 times. `del a` gives nothing back: head still looks at the storage, so b "
            "cannot have that block",
        ("asked the system", 5):
            "fewer than 5 times. d is smaller than b was, but of the same size class, and takes "
            "b's block",
        ("asked the system", 6):
            "fewer than 6 times: what came back is handed out again, from the cache",
        ("blocks in use", 4):
            "fewer than 4: c's block came back. head, d and row are what is left, and a's block is "
            "head's",
        ("blocks in use", 2):
            "more than 2: head, d and row each keep a block; that of head was made for a",
        ("bytes in use", 512):
            "not what the tensors need (3 + 105 + 20 floats), but what their blocks have: size "
            "classes, and head keeps all of a",
        ("bytes reserved", 1024):
            "more than is in use: c's block is free, but the cache keeps it",
    }  # fmt: skip
    general = {
        "asked the system": (
            f"not {told} times; b finds nothing in the cache, nor does c. Does d, does row?"
        ),
        "blocks in use": (
            f"not {told}. Which storages does a tensor with a name look at in the end?"
        ),
        "bytes in use": (
            f"not {told:,}. Add up the size classes of the blocks in use: 448 for up to 448 bytes, "
            "128 for 80"
        ),
        "bytes reserved": (
            f"not {told:,}. All that was ever asked of the system and not given back, in use or not"
        ),
    }
    return reasons.get((key, told), general[key])


@exercise(
    level=2,
    title="Who keeps the memory?",
    ask="""
        A cache of results holds a list of tensors, and the process grows. Write `held(tensors)`:
        how many bytes of memory these tensors keep alive together. Look at their storages: a view
        keeps all of its storage, and tensors may share one.""",
    start="""
        def held(tensors):
            ...""",
    passes=("held",),
    hints=(
        "`t.untyped_storage().nbytes()` is what one tensor keeps. Which of them must not be "
        "counted again?",
        "Collect the storages by address, `untyped_storage().data_ptr()`, which is the same for "
        "all views of one storage.",
    ),
    solution="""
        def held(tensors):
            storages = [t.untyped_storage() for t in tensors]
            return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())""",
    why=(
        "Ten numbers out of a batch of 74 MB keep 74 MB. What `held` finds too large, `clone()` "
        "makes small."
    ),
    mistakes=[
        Mistake(
            "A tensor keeps what it shows.",
            """
            def held(tensors):
                return sum(t.numel() * t.element_size() for t in tensors)""",
            "shows 12 bytes and keeps",
        ),
        Mistake(
            "Each tensor has a storage.",
            """
            def held(tensors):
                return sum(t.untyped_storage().nbytes() for t in tensors)""",
            "counted twice",
        ),
        Mistake(
            "Tensors share a storage if they have the same address.",
            """
            def held(tensors):
                return sum(
                    {t.data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values()
                )""",
            "begins in the middle",
        ),
        Mistake(
            "Storages of the same size are the same.",
            """
            def held(tensors):
                return sum({t.untyped_storage().nbytes() for t in tensors})""",
            "two storages",
        ),
    ],
)
def allocators_2(held: Callable[[Sequence[Any]], int]) -> str:
    watched = Watched(torch.cpu.SystemAllocator())
    with torch.cpu.use_cpu_allocator(watched):
        compare_held(held, watched, "3 of 1000 floats, the rest without a name",
                     lambda: [torch.zeros(1000)[:3]],
                     "the view shows 12 bytes and keeps all 4,000")  # fmt: skip
        compare_held(held, watched, "a tensor and its transpose", lambda: both(torch.zeros(10, 10)),
                     "one storage, counted twice")  # fmt: skip
        compare_held(held, watched, "the two halves of a tensor",
                     lambda: list(torch.zeros(100).split(50)),
                     "one of them begins in the middle of the storage, and it is still the "
                     "same")  # fmt: skip
        compare_held(held, watched, "two tensors of ten floats",
                     lambda: [torch.zeros(10), torch.ones(10)],
                     "two storages, though of the same size")  # fmt: skip
        compare_held(held, watched, "a million times the same number",
                     lambda: [torch.zeros(1).expand(1_000_000)],
                     "expand repeats without memory")  # fmt: skip
        compare_held(held, watched, "doubles and bytes",
                     lambda: [torch.zeros(8, dtype=torch.float64),
                              torch.zeros(3, dtype=torch.uint8)],
                     "elements have 8 bytes, or 1")  # fmt: skip
        compare_held(held, watched, "no tensors", list, "nothing keeps nothing")
    return "each number is what an allocator had handed out for these tensors, and had not got back"


def both(t: Any) -> list[Any]:
    return [t, t.t()]


def compare_held(
    held: Any, watched: Watched, what: str, make: Callable[[], list[Any]], otherwise: str
) -> None:
    tensors = make()
    truth = sum(watched.live.values())
    got = held(tensors)
    del tensors
    if got != truth or isinstance(got, bool):
        raise Wrong(f"{what}: {truth:,} bytes are kept, not {got!r}: {otherwise}")


START = """
class Arena(torch.cpu.Allocator):
    def __init__(self, size):
        self.memory = torch.empty(size, dtype=torch.uint8)
        self.size, self.used, self.alive = size, 0, 0

    def allocate(self, nbytes):
        ...

    def give_back(self, context):
        ..."""
ARENA = """
class Arena(torch.cpu.Allocator):
    def __init__(self, size):
        self.memory = torch.empty(size, dtype=torch.uint8)
        self.size, self.used, self.alive = size, 0, 0

    def allocate(self, nbytes):
        start = self.used
        if start + nbytes > self.size:
            raise RuntimeError(f"the arena of {self.size} bytes has no {nbytes} left")
        self.used = (start + nbytes + 63) // 64 * 64
        self.alive += 1
        return torch.cpu.DataPtr(self.memory.data_ptr() + start, self, self.give_back)

    def give_back(self, context):
        self.alive -= 1
        if self.alive == 0:
            self.used = 0"""


@exercise(
    level=3,
    title="An arena",
    ask="""
        The fastest allocator has no free lists. An *arena* hands out one piece of its memory after
        the other, and begins anew when all pieces have come back. Write `allocate`, which returns a
        `DataPtr` whose pointer is a multiple of 64 or raises RuntimeError when the rest is too
        small, and its deleter `give_back`. `memory.data_ptr()` is a multiple of 64. Real tensors
        will be made in it, and a model will be trained.""",
    start=START,
    passes=("Arena",),
    hints=(
        "`used` says where the next piece begins, `alive` how many are out. When may `used` become "
        "0 again?",
        "`DataPtr(pointer, context, deleter)` calls `deleter(context)`, but only if the context is "
        "not None. Round `used` up to a multiple of 64: `(n + 63) // 64 * 64`.",
    ),
    solution=ARENA,
    why=(
        "Compilers and servers use arenas for what lives as long as one request. PyTorch's CUDA "
        "graphs get private pools for it."
    ),
    mistakes=[
        Mistake(
            "Pieces can follow each other without gaps.",
            ARENA.replace("(start + nbytes + 63) // 64 * 64", "start + nbytes"),
            "multiple of 64",
        ),
        Mistake(
            "What comes back can be handed out at once.",
            ARENA.replace("if self.alive == 0:", "if True:"),
            "still in use",
        ),
        Mistake(
            "An arena never looks back.",
            ARENA.replace("if self.alive == 0:\n            self.used = 0", "pass"),
            "begins anew",
        ),
        Mistake(
            "The address is all that a deleter needs, and here not even that.",
            ARENA.replace("+ start, self, self", "+ start, None, self"),
            "context",
        ),
        Mistake(
            "Who asks will not ask for too much.",
            ARENA.replace("start + nbytes > self.size", "False"),
            "beyond the end",
        ),
        Mistake(
            "The block that is full is the block that is lent.",
            ARENA.replace(".data_ptr() + start", ".data_ptr()"),
            "same address",
        ),
    ],
)
def allocators_3(Arena: type[Any]) -> str:
    arena: Any = Arena(1024)
    if not isinstance(arena, torch.cpu.Allocator):
        raise Wrong("Arena has to be a subclass of torch.cpu.Allocator")
    pair = [arena.allocate(64) for _ in range(2)]
    if (
        all(isinstance(piece, torch.cpu.DataPtr) for piece in pair)
        and pair[0].pointer == pair[1].pointer
    ):
        raise Wrong(
            "two pieces, handed out one after the other, begin at the same address: the second one "
            "begins at `used`"
        )
    arena = Arena(1024)
    begin, end = arena.memory.data_ptr(), arena.memory.data_ptr() + 1024
    watched = Watched(arena, begin, end)
    first, second, third = watched.allocate(4), watched.allocate(100), watched.allocate(64)
    if not watched.refuses(end - third.pointer - 63):
        raise Wrong(
            "more was asked for than is left, and there was no RuntimeError: tensors would write "
            "beyond the end"
        )
    second.clear()
    fourth = watched.allocate(100)
    for piece in (first, third, fourth):
        piece.clear()
    if watched.refuses(1000) or watched.allocate(1).pointer != begin:
        raise Wrong(
            "all pieces came back, and the next one is not at the beginning: an arena then begins "
            "anew"
        )
    plain, _ = in_training()
    arena = Arena(1 << 16)
    watched = Watched(arena, arena.memory.data_ptr(), arena.memory.data_ptr() + (1 << 16))
    with torch.cpu.use_cpu_allocator(watched):
        losses, _ = in_training()
    if losses != plain:
        raise Wrong(f"a model trained in the arena has the losses {losses}; elsewhere {plain}")
    gc.collect()
    if watched.live:
        raise Wrong(f"{len(watched.live)} pieces did not come back although all tensors are gone")
    if watched.allocate(64).pointer != arena.memory.data_ptr():
        raise Wrong("after the training all pieces came back, but the arena did not begin anew")
    return f"{watched.count} pieces of one block, and a model was trained in them"
