"""The recorder: what it says about transactions, banks, reuse and races can be worked out by hand,
and here it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.cuda.access_log import AccessLog, Instruction
from internals.cuda.device_array import flat
from internals.cuda.driver import IllegalMemoryAccess
from internals.cuda.language import cuda, device_function, kernel, template
from internals.cuda.recorder import record

STEP = template("STEP")
TILE = 4


@kernel
def copy(out, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    out[i] = a[i]


@kernel
def strided(out, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    out[i] = a[i * STEP]


@kernel
def through_shared(out, a):  # type: ignore[no-untyped-def]
    tile = cuda.shared.array(1024, np.float32)
    i = cuda.threadIdx.x
    tile[i * STEP] = a[i]
    cuda.syncthreads()
    out[i] = tile[i * STEP]


@kernel
def without_barrier(out, a):  # type: ignore[no-untyped-def]
    tile = cuda.shared.array(32, np.float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    out[i] = tile[31 - i]


@kernel
def histogram(counts, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    cuda.atomic.add(counts, a[i], 1)


@kernel
def wrong_histogram(counts, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    counts[a[i]] += 1


@device_function
def element(a, row, k):  # type: ignore[no-untyped-def]
    return a[row, k]


@kernel
def matmul(out, a, b):  # type: ignore[no-untyped-def]
    column, row = cuda.grid(2)
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += element(a, row, k) * element(b, k, column)
    out[row, column] = total


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


def floats(*sizes: int) -> Any:
    return np.arange(int(np.prod(sizes)), dtype=np.float32).reshape(sizes)


def only(log: AccessLog, kind: str, array: str) -> Instruction:
    found = [i for i in log.instructions if (i.kind, i.array.name) == (kind, array)]
    assert len(found) == 1, found
    return found[0]


def test_a_copy_is_perfect() -> None:
    out, a = np.zeros(64, np.float32), floats(64)
    log = record(copy, 2, 32, out, a)
    assert out.tolist() == a.tolist()  # it really ran
    assert (len(log.accesses), log.nbytes("load"), log.nbytes("store")) == (128, 256, 256)
    for instruction in log.instructions:
        assert (len(instruction.requests), instruction.sectors) == (2, 8)
        assert (instruction.transactions, instruction.efficiency, instruction.conflict) == (1, 1, 0)
    assert [(i.place.text, i.place.function) for i in log.instructions] == [
        ("a[i]", "copy"),
        ("out[i]", "copy"),
    ]
    assert log.races == [] and log.phases == 1
    assert log.summary() == (
        "4 bytes loaded and 4 stored per element of output; each element of input loaded once; "
        "1.0 transactions per request, 100% of the sectors needed"
    )


@given(step=st.integers(1, 33), start=st.integers(0, 40))
def test_strides_and_misalignment_cost_sectors(step: int, start: int) -> None:
    """Against the addresses themselves: the set of `address // 32`."""
    whole = floats(32 * 33 + 41)
    log = record(strided.bind(STEP=step), 1, 32, np.zeros(32, np.float32), whole[start:])
    load = only(log, "load", "a")
    addresses = [4 * (start + lane * step) for lane in range(32)]
    assert load.requests[0].sectors == tuple(sorted({a // 32 for a in addresses}))
    assert load.requests[0].lines == tuple(sorted({a // 128 for a in addresses}))
    assert load.efficiency == 4 / load.sectors
    assert [r.offsets for r in load.requests] == [tuple(4 * lane * step for lane in range(32))]


def test_one_address_for_all_is_one_sector() -> None:
    load = only(
        record(strided.bind(STEP=0), 1, 32, np.zeros(32, np.float32), floats(4)), "load", "a"
    )
    assert (load.sectors, load.efficiency) == (1, 1.0)


@pytest.mark.parametrize(
    ("step", "degree"),
    [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (31, 1), (32, 32), (0, 1)],
)
def test_bank_conflicts(step: int, degree: int) -> None:
    """32 threads, `step` words apart: gcd(step, 32) of them meet in each bank; all on one word do
    not.
    """
    log = record(through_shared.bind(STEP=step), 1, 32, np.zeros(32, np.float32), floats(32))
    load = only(log, "load", "tile")
    assert (load.conflict, load.requests[0].wavefronts) == (degree, degree)
    assert sum(map(len, load.requests[0].banks.values())) == (32 if step else 1)
    assert load.sectors == 0 and load.efficiency == 1.0
    worst = f"up to {degree}-way" if degree > 1 else "no bank conflicts"
    assert worst in log.summary()


def test_eight_byte_words_are_served_by_halves() -> None:
    @kernel
    def doubles(out, a):  # type: ignore[no-untyped-def]
        tile = cuda.shared.array(32, np.float64)
        i = cuda.threadIdx.x
        tile[i] = a[i]
        out[i] = tile[i]

    load = only(record(doubles, 1, 32, np.zeros(32), np.ones(32)), "load", "tile")
    assert (load.conflict, load.requests[0].wavefronts) == (1, 2)
    assert only(record(doubles, 1, 32, np.zeros(32), np.ones(32)), "load", "a").sectors == 8
    # though the interpreter compiled it without its indentation
    assert load.place.text == "tile[i]"


def test_a_missing_barrier_is_a_race() -> None:
    log = record(without_barrier, 1, 32, np.zeros(32, np.float32), floats(32))
    assert {(r.array, r.element) for r in log.races} == {("tile", i) for i in range(32)}
    assert "no barrier lies between" in log.races[0].why
    assert {log.races[0].first.kind, log.races[0].second.kind} == {"load", "store"}
    assert (
        record(through_shared.bind(STEP=1), 1, 32, np.zeros(32, np.float32), floats(32)).races == []
    )


def test_atomics_do_not_race_and_stores_of_two_blocks_do() -> None:
    counts, a = np.zeros(2, np.int64), np.array([0] * 32 + [1] + [0] * 31)
    log = record(histogram, 2, 32, counts, a)
    assert counts.tolist() == [63, 1] and log.races == []
    assert only(log, "atomic", "counts").place.text == "cuda.atomic.add(counts, a[i], 1)"
    assert log.reuse("counts") == {0: 63, 1: 1}
    one_a_block = record(wrong_histogram, 2, 1, np.zeros(2, np.int64), np.zeros(2, np.int64))
    assert [(r.element, r.why) for r in one_a_block.races] == [
        (0, "different blocks: nothing orders them")
    ]
    assert "a race on 1 element" in one_a_block.summary()


def test_tiles_load_less() -> None:
    """Naive: each output reads a row and a column, 2n elements. Tiles of 4: a quarter of it."""
    n = 8
    a, b = floats(n, n), floats(n, n).T
    logs = []
    for program in (matmul, tiled):
        out = np.zeros((n, n), np.float32)
        logs.append(record(program, (2, 2), (TILE, TILE), out, a, b))
        np.testing.assert_allclose(out, a @ b)
    assert [log.nbytes("load") // (n * n) for log in logs] == [4 * 2 * n, 4 * 2 * n // TILE]
    assert [set(log.reuse("a").values()) for log in logs] == [{8}, {2}]
    assert [log.phases for log in logs] == [1, 2 * 2 + 1]
    assert not logs[1].races
    # two calls
    assert [i.place.text for i in logs[0].instructions if i.kind == "load"] == [
        "a[row, k]",
        "a[row, k]",
    ]
    assert [i.array.name for i in logs[0].instructions if i.kind == "load"] == ["a", "b"]
    assert logs[0].array("b").strides == (1, n)


def test_instructions_of_a_loop_are_many_requests() -> None:
    log = record(matmul, 1, (8, 4), np.zeros((4, 8), np.float32), floats(4, 3), floats(3, 8))
    left = only(log, "load", "a")
    assert [r.occurrence for r in left.requests] == [0, 1, 2]
    assert left.requests[1].elements == tuple(row * 3 + 1 for row in range(4) for _ in range(8))
    assert {(a.warp, a.lane) for a in log.accesses} == {(0, lane) for lane in range(32)}


def test_tensors_are_written_in_place_wherever_they_are() -> None:
    a = internals.arange(12, dtype=internals.float32)
    for device in ("cpu", "cuda"):
        here = a.to(device)
        out = internals.zeros(4, device=device)
        log = record(copy, 1, 4, out, here[4:])
        assert out.tolist() == [4, 5, 6, 7]
        assert only(log, "load", "a").requests[0].addresses == (16, 20, 24, 28)
    out = internals.zeros(32, device="cuda")
    record(copy, 1, 32, flat(out), flat(internals.ones(32, device="cuda")))
    assert out.sum().item() == 32
    whole = internals.arange(64, dtype=internals.float32, device="cuda")
    record(copy, 1, 32, whole[:32], whole[16:])  # two arguments that overlap are one memory
    assert whole[:20].tolist() == [*range(16, 36)]


def test_kernels_of_numba_and_plain_functions() -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")
    numba_cuda = pytest.importorskip("numba.cuda", reason="numba is not installed")

    def double(value):  # type: ignore[no-untyped-def]
        return 2 * value

    device_double = numba_cuda.jit(device=True)(double)

    def plain(out, a):  # type: ignore[no-untyped-def]
        kept = cuda.shared.array(32, numba.float32)
        i = cuda.grid(1)
        if i < out.size:
            kept[i] = device_double(a[i])
            out[i] = kept[i]

    for given_kernel in (plain, numba_cuda.jit(plain)):
        out = np.zeros(5, np.float32)
        log = record(given_kernel, 1, 32, out, np.ones(5, np.float32))
        assert out.tolist() == [2] * 5 and log.kernel == "plain" and len(log.accesses) == 20


def test_what_is_refused() -> None:
    out = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="'a' of a kernel is a "):
        record(copy, 1, 4, out, "text")
    with pytest.raises(TypeError, match="strides"):
        record(copy, 1, 4, out, floats(4)[::-1])
    with pytest.raises(TypeError, match="takes 2 arguments"):
        record(copy, 1, 4, out)
    with pytest.raises(TypeError, match="a kernel is a function"):
        record(3, 1, 4, out)
    with pytest.raises(TypeError, match="single elements"):
        record(copy, 1, 4, out, floats(4, 4))
    with pytest.raises(
        IllegalMemoryAccess, match=r"kernel copy, block \(1, 0, 0\), thread \(0, 0, 0\)"
    ):
        record(copy, 2, 4, out, floats(4))
    with pytest.raises(KeyError, match="touches no array 'x'; it touches out, a"):
        record(copy, 1, 4, out, floats(4)).array("x")
