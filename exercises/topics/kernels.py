"""Exercises of notebook 20: what a warp asks memory for, a grid-stride loop, and running sums with
barriers.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np

from exercises.exercise import Mistake, Wrong, exercise
from exercises.scripts import blank, compare, table
from exercises.topics._simulated import simulated_gpu
from exercises.verdict import does_nothing

SECTORS = {"a[31 - i]": 4, "a[i + 1]": 5, "a[2 * i]": 8, "a[32 * i]": 32, "a[i // 8]": 1, "d[i]": 8}


@exercise(
    level=1,
    title="Count the sectors",
    ask="""
        A warp of 32 threads, i = 0 to 31, loads from `a`, an array of float32, or `d`, one of
        float64. Both begin at a multiple of 512 bytes. How many sectors of 32 bytes does each load
        ask memory for? (For `a[i]` it is 4.) The recorder counts.""",
    start=blank(SECTORS),
    hints=(
        "Write down the addresses of the 32 threads, in bytes. A sector is moved if any of them "
        "lies in it, and once only.",
        "A sector holds 8 float32 or 4 float64. Which of the loads begins in the middle of a "
        "sector? Which touches the same sector with many threads?",
    ),
    solution=table(SECTORS),
    why=(
        "What counts is which sectors are touched, not who touches them, and not in which order. "
        "Look: `viz.access`."
    ),
    mistakes=[
        Mistake(
            "Backwards is not coalesced.",
            table(SECTORS, **{"a[31 - i]": 32}),
            "Which thread has which address",
        ),
        Mistake(
            "A shift by one costs nothing.",
            table(SECTORS, **{"a[i + 1]": 4}),
            "begins 4 bytes into",
        ),
        Mistake("A shift by one ruins it.", table(SECTORS, **{"a[i + 1]": 32}), "one sector more"),
        Mistake("32 floats are 128 bytes.", table(SECTORS, **{"a[2 * i]": 4}), "moved whole"),
        Mistake(
            "A step of 32 is as bad as one of 2.", table(SECTORS, **{"a[32 * i]": 8}), "of its own"
        ),
        Mistake("Every thread's load costs.", table(SECTORS, **{"a[i // 8]": 32}), "handed to all"),
        Mistake(
            "A warp needs four sectors, whatever it loads.",
            table(SECTORS, **{"d[i]": 4}),
            "8 bytes",
        ),
    ],
)
def kernels_1(answer: dict[str, int]) -> str:
    compare(answer, sectors(), why_not, "a number")
    return "from 1 sector to 32, for the same number of loads"


@cache
def sectors() -> dict[str, int]:
    """How many sectors each load touches, counted by the recorder."""
    from internals.cuda.language import cuda, device_function, kernel, template
    from internals.cuda.recorder import record

    PLACE = template("PLACE")

    @kernel
    def load(out, x):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        out[i] = x[PLACE(i)]

    arrays = {"a": np.zeros(1024, np.float32), "d": np.zeros(1024, np.float64)}
    found = {}
    for expression in SECTORS:
        place = device_function(eval(f"lambda i: {expression[2:-1]}"))
        log = record(load.bind(PLACE=place), 1, 32, np.zeros(32, np.float64), arrays[expression[0]])
        found[expression] = next(
            instruction.sectors for instruction in log.instructions if instruction.kind == "load"
        )
    return found


def why_not(key: str, told: Any) -> str:
    if not isinstance(told, int) or isinstance(told, bool):
        return f"{key}: a whole number is wanted, not {told!r}"
    reasons = {
        "a[31 - i]": (
            "these are the 128 bytes of a[i]. Which thread has which address does not matter to "
            "memory"
        ),
        "a[i + 1]": (
            "128 bytes in a row, but the row begins 4 bytes into a sector and ends 4 bytes into "
            "another"
        ),
        "a[2 * i]": (
            "the 32 addresses span 256 bytes; of each sector half is used, but sectors are moved "
            "whole"
        ),
        "a[32 * i]": "the addresses are 128 bytes apart, so each thread has a sector of its own",
        "a[i // 8]": (
            "the warp wants four different numbers, side by side; a sector is moved once and "
            "handed to all who ask"
        ),
        "d[i]": "a float64 has 8 bytes, so 32 of them in a row are 256 bytes",
    }
    if (key, told) == ("a[i + 1]", 32):
        return (
            "a[i + 1]: not 32: neighbours are still neighbours; the shift costs one sector more, "
            "because of where it begins"
        )
    return f"{key}: not {told}: {reasons[key]}"


BIAS = """
@kernel
def add_bias(out, a, bias, n, width):
    i = cuda.grid(1)
    while i < n:
        out[i] = a[i] + bias[i % width]
        i += cuda.gridsize(1)"""


@exercise(
    level=2,
    title="A bias for every row",
    ask="""
        `a` is a matrix whose rows have `width` numbers, given as one row of `n` numbers. Write a
        kernel that adds `bias`, a vector of `width` numbers, to each row: the last line of a linear
        layer. All arrays but `bias` have `n` elements. Any grid has to do, each element is done
        once, and a warp's loads of `a` fill their sectors.""",
    given="from internals.cuda.language import cuda, kernel",
    start="""
        @kernel
        def add_bias(out, a, bias, n, width):
            ...""",
    passes=("add_bias",),
    hints=(
        "Section 1 has a loop that does any number of elements with any grid. What is the column "
        "of element number i?",
        "Begin with `i = cuda.grid(1)`, and go on while i is less than n; the next one is "
        "`cuda.gridsize(1)` further.",
    ),
    solution=BIAS,
    why=(
        "This shape, the *grid-stride loop*, is that of nearly all elementwise kernels; "
        "`launch_1d` relies on it."
    ),
    mistakes=[
        Mistake(
            "There is a thread for each element.",
            BIAS.replace("while", "if").replace("\n        i += cuda.gridsize(1)", ""),
            "more elements than threads",
        ),
        Mistake(
            "There is an element for each thread.",
            """
            @kernel
            def add_bias(out, a, bias, n, width):
                i = cuda.grid(1)
                out[i] = a[i] + bias[i % width]""",
            "has no element",
        ),
        Mistake(
            "Each thread takes a piece, as each core of a CPU does.",
            """
            @kernel
            def add_bias(out, a, bias, n, width):
                each = (n + cuda.gridsize(1) - 1) // cuda.gridsize(1)
                first = cuda.grid(1) * each
                for i in range(first, min(first + each, n)):
                    out[i] = a[i] + bias[i % width]""",
            "neighbouring threads",
        ),
        Mistake(
            "The next element is a block further.",
            BIAS.replace("cuda.gridsize(1)", "cuda.blockDim.x"),
            "more than once",
        ),
        Mistake(
            "Rows are counted by the remainder.", BIAS.replace("i % width", "i // width"), "the row"
        ),
        Mistake(
            "A thread keeps its bias.",
            """
            @kernel
            def add_bias(out, a, bias, n, width):
                i = cuda.grid(1)
                mine = bias[i % width]
                while i < n:
                    out[i] = a[i] + mine
                    i += cuda.gridsize(1)""",
            "another column",
        ),
        Mistake(
            "A thread is found by its number within the block.",
            BIAS.replace("i = cuda.grid(1)", "i = cuda.threadIdx.x"),
            "the number of its block",
        ),
    ],
)
def kernels_2(add_bias: Any) -> str:
    import internals as torch
    from internals.cuda.driver import IllegalMemoryAccess
    from internals.cuda.recorder import record

    a_kernel(add_bias, "add_bias")

    def run(n: int, width: int, grid: int, block: int) -> tuple[Any, Any, Any]:
        a, bias = np.arange(n, dtype=np.float32), 1000 * np.arange(1, width + 1, dtype=np.float32)
        out = np.full(n, -1, np.float32)
        try:
            log = record(add_bias, grid, block, out, a, bias, n, width)
        except IllegalMemoryAccess as error:
            where = str(error).splitlines()[-1].partition(", ")[2]
            more = (
                "who has no element does nothing"
                if grid * block > n
                else "columns are less than width"
            )
            raise Wrong(
                f"n = {n}, width = {width}, {grid * block} threads: {where}; {more}"
            ) from None
        return out, a + np.tile(bias, -(-n // width))[:n], log

    for n, width, grid, block in (
        (64, 8, 2, 32),
        (40, 8, 2, 32),
        (128, 64, 2, 32),
        (100, 10, 2, 8),
        (7, 3, 1, 1),
    ):
        out, expected, log = run(n, width, grid, block)
        launch = f"n = {n}, width = {width}, a grid of {grid} with {block} threads each"
        stored = Counter(access.element for access in log.of("out", "store"))
        if not stored:
            raise Wrong(f"{launch}: nothing was written to `out`")
        if max(stored.values()) > 1:
            blocks = {access.block for access in log.of("out", "store") if access.element == 0}
            told = "all blocks began at 0: a thread is found by the number of its block, too"
            if len(blocks) == 1:
                told = "the next element of a thread is a whole grid further"
            raise Wrong(
                f"{launch}: element {max(stored, key=stored.__getitem__)} was done more than once; "
                f"{told}"
            )
        if len(stored) < n and max(stored) < grid * block:
            raise Wrong(
                f"{launch}: only {len(stored)} elements were written; there may be more elements "
                "than threads"
            )
        if len(stored) < n:
            raise Wrong(f"{launch}: {n - len(stored)} elements were left out")
        busiest = max(
            Counter((access.block, access.thread) for access in log.of("out", "store")).values()
        )
        if busiest > 2 * -(-n // (grid * block)):
            raise Wrong(
                f"{launch}: one thread does {busiest} elements; the work is to be shared out among "
                "all threads"
            )
        if not np.array_equal(out, expected):
            at = int(np.argmin(out == expected))
            wrong_row = out[at] - at == 1000 * (at // width + 1)
            told = (
                "it got the bias of number i // width, which is the row"
                if wrong_row
                else "a thread comes to another column"
            )
            raise Wrong(f"{launch}: out[{at}] is {out[at]:g}, not {expected[at]:g}; {told}")
    *_, log = run(256, 32, 1, 32)
    for instruction in log.instructions:
        if instruction.array.name in ("a", "out") and instruction.efficiency < 1:
            raise Wrong(
                f"{instruction.array.name}: of what is moved {instruction.efficiency:.0%} is asked "
                "for; neighbouring threads have to take neighbouring elements"
            )
    with simulated_gpu():
        x, bias = torch.arange(70.0, device="cuda"), torch.arange(7.0, device="cuda")
        result = torch.zeros(70, device="cuda")
        add_bias[2, 32](result, x, bias, 70, 7)
        if not torch.equal(result, (x.view(10, 7) + bias).view(-1)):
            raise Wrong("on the device it gives other numbers than `a + bias`")
    return "right with any grid, and 100% of what is moved is asked for"


def a_kernel(answer: Any, name: str) -> None:
    """Raises what fits unless a kernel was written."""
    from internals.cuda.language import Kernel

    if not isinstance(answer, Kernel):
        raise Wrong(
            f"{name} is to be a kernel: keep the line @kernel above it, and call it nowhere"
        )
    if does_nothing(cast(types.FunctionType, answer.function)):
        raise NotImplementedError(f"write the body of `{name}`")


RUNNING = """
@kernel
def running_sums(out, a):
    part = cuda.shared.array(64, np.float32)
    me, row = cuda.threadIdx.x, cuda.blockIdx.x
    part[me] = a[row, me]
    cuda.syncthreads()
    step = 1
    while step < 64:
        left = np.float32(0)
        if me >= step:
            left = part[me - step]
        cuda.syncthreads()
        part[me] += left
        cuda.syncthreads()
        step *= 2
    out[row, me] = part[me]"""
READ = """        left = np.float32(0)
        if me >= step:
            left = part[me - step]
        cuda.syncthreads()
"""


@exercise(
    level=3,
    title="Running sums",
    ask="""
        `out[row, j]` is to be the sum of `a[row, 0]` to `a[row, j]`. Each row has 64 numbers, and
        each row a block of 64 threads. Write the kernel. Every number is loaded from global memory
        once, and six steps are enough: with what its left neighbour has, a thread knows the sum of
        2 numbers; with what the thread 2 to its left has then, of 4; and so on. No races. No
        thread may touch memory more than 60 times.""",
    given="from internals.cuda.language import cuda, kernel",
    start="""
        @kernel
        def running_sums(out, a):
            part = cuda.shared.array(64, np.float32)
            ...""",
    passes=("running_sums",),
    hints=(
        "In each step a thread reads what a neighbour has and writes what it has itself. Who might "
        "be reading that just then? How many barriers does a step need?",
        "First `part[me] = a[row, me]` and a barrier. A step: read `part[me - step]` into a "
        "variable, if there is such a thread; barrier; add it to `part[me]`; barrier; double the "
        "step. All threads have to come to each barrier.",
    ),
    solution=RUNNING,
    why=(
        "This is the scan of Hillis and Steele. `cumsum` on a GPU is made of it, and so is "
        "`x[mask]`."
    ),
    mistakes=[
        Mistake(
            "A step needs one barrier.",
            RUNNING.replace(
                "        cuda.syncthreads()\n        part[me] += left", "        part[me] += left"
            ),
            "the old value",
        ),
        Mistake(
            "What was written is there.",
            RUNNING.replace("a[row, me]\n    cuda.syncthreads()", "a[row, me]"),
            "first",
        ),
        Mistake(
            "Only who has something to do needs to wait.",
            RUNNING.replace(READ, READ.replace("        cuda", "            cuda")),
            "different barriers",
        ),
        Mistake(
            "To the left there is always somebody.",
            RUNNING.replace(READ, "        left = part[me - step]\n        cuda.syncthreads()\n"),
            "to its left",
        ),
        Mistake(
            "One thread can add them up.",
            """
            @kernel
            def running_sums(out, a):
                row, total = cuda.blockIdx.x, np.float32(0)
                if cuda.threadIdx.x == 0:
                    for i in range(64):
                        total += a[row, i]
                        out[row, i] = total""",
            "the others wait",
        ),
        Mistake(
            "Each thread adds up what is to its left.",
            """
            @kernel
            def running_sums(out, a):
                me, row = cuda.threadIdx.x, cuda.blockIdx.x
                total = np.float32(0)
                for i in range(me + 1):
                    total += a[row, i]
                out[row, me] = total""",
            "from global memory",
        ),
        Mistake(
            "The step grows by one.",
            RUNNING.replace("step *= 2", "step += 1"),
            "doubles",
        ),
    ],
)
def kernels_3(running_sums: Any) -> str:
    import internals as torch
    from internals.cuda.driver import CudaError, IllegalMemoryAccess
    from internals.cuda.recorder import record

    a_kernel(running_sums, "running_sums")
    if only_asks_for_memory(running_sums.function):
        raise NotImplementedError("write the body of `running_sums`")
    a, out = (
        (np.arange(192) % 7 + 1).astype(np.float32).reshape(3, 64),
        np.zeros((3, 64), np.float32),
    )
    try:
        log = record(running_sums, 3, 64, out, a)
    except IllegalMemoryAccess as error:
        told = str(error).splitlines()[-1].partition(", ")[2]
        more = ": not every thread has one so far to its left" if "negative" in told else ""
        raise Wrong(f"{told}{more}") from None
    except CudaError as error:
        raise Wrong(str(error).splitlines()[0]) from None
    for race in log.races[:1]:
        raise Wrong(raced(race, log))
    loads = Counter((access.block, access.element) for access in log.of("a", "load"))
    if loads and max(loads.values()) > 1:
        raise Wrong(
            f"{max(loads.values())} threads load the same number from global memory; once is "
            "enough, by one of them"
        )
    if not np.array_equal(out, np.cumsum(a, axis=1)):
        row, j = (int(n) for n in np.argwhere(out != np.cumsum(a, axis=1))[0])
        doubles = f"{out[row, j]:g} is not {np.cumsum(a, axis=1)[row, j]:g}"
        raise Wrong(
            f"out[{row}, {j}]: {doubles}. After a step what a thread has is of twice as many "
            "numbers: the step doubles"
        )
    busiest = max(Counter((access.block, access.thread) for access in log.accesses).values())
    if busiest > 60:
        raise Wrong(
            f"a thread touches memory {busiest} times, and the others wait for it: six steps are "
            "enough, for all at once"
        )
    with simulated_gpu():
        x = torch.arange(128.0, device="cuda").view(2, 64)
        result = torch.zeros(2, 64, device="cuda")
        running_sums[2, 64](result, x)
        if not torch.equal(result, x.cumsum(1)):
            raise Wrong("on the device it gives other numbers than `cumsum`")
    return f"{log.phases} stretches between barriers, no race, and the numbers of cumsum"


def only_asks_for_memory(function: Callable[..., Any]) -> bool:
    """Whether the line of the start is all there is."""
    return (
        function.__code__.co_varnames[2:] == ("part",)
        and "threadIdx" not in function.__code__.co_names
    )


def raced(race: Any, log: Any) -> str:
    """What is wrong with two accesses between which there is no barrier."""
    first, second = race.first, race.second
    what = f"{first.kind} by thread {first.thread}, {second.kind} by thread {second.thread}"
    told = f"a race on {race.array}[{race.element % 64}]: {what}"
    if first.block != second.block:
        return (
            f"{told} of another block: blocks do not wait for each other, and a row is for one of "
            "them"
        )
    if log.phases == 1:
        return f"{told}, and there is no barrier at all between them"
    if first.phase == 0:
        return f"{told}: who reads what another has loaded has to wait for it first"
    return (
        f"{told}: no barrier lies between. One has to read the old value before the other writes "
        "the new one"
    )
