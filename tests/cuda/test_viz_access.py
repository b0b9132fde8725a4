"""`viz.access`: the picture says what the recorder found, in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
import viz
from internals.cuda.kernels.block_reduction import accumulator, block_total
from internals.cuda.kernels.functors import add
from internals.cuda.kernels.matmul import GemmStrides, store
from internals.cuda.kernels.row_products import row_products
from internals.cuda.language import cuda, kernel, template
from tests.viz.support import assert_good, same_in_two_processes

STEP = template("STEP")
TILE = 4


@kernel
def strided(out, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    out[i] = a[i * STEP]


@kernel
def tiled(out, a, b):  # type: ignore[no-untyped-def]
    left = cuda.shared.array((TILE, TILE), np.float32)
    right = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for t in range(0, a.shape[1], TILE):
        left[y, x] = a[row, t + x]
        right[y, x] = b[t + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    out[row, column] = total


@kernel
def column(out, a):  # type: ignore[no-untyped-def]
    tile = cuda.shared.array((32, 32), np.float32)
    i = cuda.threadIdx.x
    tile[i, 0] = a[i]
    out[i] = tile[31 - i, 0]


@kernel
def square(out, unused):  # type: ignore[no-untyped-def]
    x, y = cuda.grid(2)
    out[y, x] = y * x


def floats(*sizes: int) -> Any:
    return np.arange(int(np.prod(sizes)), dtype=np.float32).reshape(sizes)


def matmul() -> Any:
    return viz.access(
        tiled, (2, 2), (TILE, TILE), np.zeros((8, 8), np.float32), floats(8, 8), floats(8, 8)
    )


def test_a_matmul_in_tiles() -> None:
    picture = matmul()
    assert [g.name for g in picture.grids] == ["out", "a", "b", "left", "right"]
    out, a, _, left, _ = picture.grids
    assert out.marks[0].label == "0" and out.marks[4].label == "0" and out.marks[9].label == "5"
    # four blocks
    assert [out.marks[e].role for e in (0, 4, 32, 36)] == ["view", "copied", "owner", "allocator"]
    assert {m.role for m in a.marks.values()} == {"shared"} and a.marks[0].label == "×2"
    assert left.marks[0].label == "×4"  # 4 threads, in 2 tiles
    assert left.marks[0].tip == "8× load, 2× store: block 0 thread 0, 1, 2, 3"
    assert a.marks[0].tip == "2× load: block 0 thread 0; block 1 thread 0"
    assert (
        "16 bytes loaded and 4 stored per element of output; each element of input loaded 2 times"
        in picture.text()
    )
    assert_good(picture)


def test_what_a_stride_costs() -> None:
    picture = viz.access(
        strided.bind(STEP=8), 2, 32, np.zeros(64, np.float32), floats(512), warp=0, of_block=1
    )
    assert picture.instructions[0].efficiency == 4 / 32
    assert "32       4      8         12%" in picture.text()
    words = [text.text for text in picture.canvas().texts()]
    assert "32 sectors, 4 needed: 12%" in words and "and 24 more" in words
    assert_good(picture)
    # 8-byte elements
    assert_good(viz.access(strided.bind(STEP=1), 1, 32, np.zeros(32), np.zeros(32)))
    assert_good(
        viz.access(strided.bind(STEP=1), 1, 32, np.zeros(32, np.int8), np.zeros(32, np.int8))
    )


def test_conflicts_and_races_are_named() -> None:
    picture = viz.access(column, 1, 32, np.zeros(32, np.float32), floats(32))
    text = picture.text()
    assert "32-way bank conflict" in text and "bank conflicts up to 32-way" in text
    assert "race on tile[0]" in text and "no barrier lies between them" in text
    assert_good(picture)


def test_one_array_by_warps_in_another_shape() -> None:
    picture = viz.access(
        strided.bind(STEP=1),
        2,
        64,
        np.zeros(128, np.float32),
        floats(128),
        array="a",
        by="warp",
        shapes={"a": (8, 16)},
    )
    assert [(g.name, g.rows, g.columns) for g in picture.grids] == [("a", 8, 16)]
    assert [picture.grids[0].marks[e].role for e in (0, 32, 64, 96)] == [
        "view",
        "copied",
        "owner",
        "allocator",
    ]
    assert ("view", "warp 0") in picture.groups() and [
        i.array.name for i in picture.instructions
    ] == ["a"]
    assert_good(picture)


def test_shared_memory_for_a_larger_block_is_drawn_as_far_as_it_is_used() -> None:
    slots = accumulator("number", np.float32)
    summing = row_products.bind(
        ACC=np.float32,
        STORE=store.bind(T=np.float32, ACC=np.float32),
        block_sum=block_total(slots, add, True),
    )
    where = GemmStrides((0, 64, 1), (0, 1, 0), (0, 1, 1), (0, 1, 1))
    one, two = np.zeros(1, np.float32), floats(64)
    picture = viz.access(
        summing, 1, 64, one, two, two, one, 64, 64, where, np.float32(1), np.float32(0)
    )
    assert one[0] == sum(n * n for n in range(64))
    assert [(g.name, g.rows) for g in picture.grids if g.name == "slots"] == [("slots", 2)]  # of 8
    assert_good(picture)


@pytest.mark.sampled(1 / 4)
def test_only_what_is_asked_for_and_touched_is_drawn() -> None:
    a, untouched = np.zeros((32, 32), np.float32), np.zeros(4, np.float32)
    for rows in (0, 3, 16):
        picture = viz.access(square, 1, (32, 32), a, untouched, rows=rows)
        assert [g.name for g in picture.grids] == ["out"]
        assert f"({32 - min(rows, 8)} rows hidden)" in picture.text()
        assert (f"{32 - rows} rows hidden" in [text.text for text in picture.canvas().texts()]) == (
            rows > 0
        )
        assert_good(picture)
    assert (
        len(viz.access(square, 1, (32, 32), a, untouched, rows=3).canvas().marks) < 250
    )  # one box for a row of one warp


def test_banks_are_drawn_where_threads_wait_or_are_asked_for() -> None:
    def boxes(**options: Any) -> int:
        picture = viz.access(
            tiled, (2, 2), (TILE, TILE), *(floats(8, 8) for _ in range(3)), **options
        )
        assert_good(picture)
        return sum(getattr(mark, "tip", "").startswith("bank ") for mark in picture.canvas().marks)

    # each thread a word, then four threads one
    assert boxes() == 0 and boxes(array="left") == 16 + 4


def test_many_groups_share_colours_and_say_so() -> None:
    picture = viz.access(strided.bind(STEP=1), 1, 32, np.zeros(32, np.float32), floats(32))
    assert picture.by == "thread"
    assert picture.groups()[0] == ("view", "thread 0, 7, …") and picture.groups()[6] == (
        "storage",
        "thread 6, 13, …",
    )


def test_from_barrier_to_barrier() -> None:
    steps = matmul().phases()
    assert len(steps.frames) == 5
    assert (
        steps.frames[0][0]
        == "before the first barrier: 32 loads from global memory, 32 stores to shared memory"
    )
    assert steps.frames[1][0] == "after barrier 1: 128 loads from shared memory"
    last: Any = steps.frames[4][1]
    fresh = {(g.name, e) for g in last.grids for e, m in g.marks.items() if m.fresh}
    assert fresh == {("out", row * 8 + c) for row in range(4) for c in range(4)}
    assert_good(steps)


def test_from_instruction_to_instruction() -> None:
    steps = viz.access(column, 1, 32, np.zeros(32, np.float32), floats(32)).steps()
    assert [caption.split(": 32")[0].partition(", ")[2] for caption, _ in steps.frames] == [
        "load a[i]", "store tile[i, 0]", "load tile[31 - i, 0]", "store out[i]",
    ]  # fmt: skip
    assert steps.frames[1][0].endswith("32 threads, 32-way bank conflict")
    assert_good(steps)


def test_tensors_on_the_device_and_nothing_else() -> None:
    out = internals.zeros(32, device="cuda")
    assert_good(viz.access(strided.bind(STEP=1), 1, 32, out, internals.ones(32, device="cuda")))
    assert out.sum().item() == 32
    with pytest.raises(
        ValueError, match="launched with 1 block of 1 warp; there is no warp 1 of block 0"
    ):
        viz.access(strided.bind(STEP=1), 1, 32, out, out, warp=1)
    with pytest.raises(ValueError, match='by must be "thread", "warp" or "block"'):
        viz.access(strided.bind(STEP=1), 1, 32, out, out, by="lane")
    with pytest.raises(KeyError, match="touches no array 'x'"):
        viz.access(strided.bind(STEP=1), 1, 32, out, out, array="x")
    with pytest.raises(ValueError, match="'a' has 32 elements, which is not 5 × 5"):
        viz.access(strided.bind(STEP=1), 1, 32, out, out, shapes={"a": (5, 5)})


def test_the_same_without_any_device_in_every_process() -> None:
    program = (
        "import numpy as np, viz\n"
        "from internals.cuda.kernels.copy import copy_contiguous\n"
        "from internals.cuda import backend\n"
        "p = viz.access(copy_contiguous.bind(T=np.float32), 1, 32, np.zeros(40, np.float32), "
        "np.ones(40, np.float64), 40)\n"
        "assert not backend.initialized()\n"
        "print(p); print(p.html())\n"
    )
    assert "copy_contiguous: grid 1, blocks of 32 threads" in same_in_two_processes(program)
