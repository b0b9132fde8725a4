"""Products of matrices on the device beside the CPU's: every kernel, sizes that are no multiples of
a tile, any strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from internals.core import dtype as dt
from internals.cuda.device_array import flat
from internals.cuda.fallback import fallbacks
from internals.cuda.kernels.gemm import Blocking
from internals.cuda.native import matmul
from internals.cuda.ptx import PtxUnavailable, ptx
from internals.cuda.ptxas import registers_of
from internals.cuda.recorder import record
from tests.cuda.beside_cpu import (
    compare,
    compare_gradients,
    moved,
    on_the_device_alone,
    random_tensor,
    same,
)

DTYPES = [dt.float32, dt.float64, dt.float16, dt.int64, dt.int32, dt.uint8]


@pytest.fixture(params=matmul.FORMS)
def form(request: pytest.FixtureRequest) -> Any:
    """Each kernel in turn."""
    with matmul.using(request.param):
        yield request.param


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_mm_in_every_dtype(form: str, dtype: dt.dtype) -> None:
    compare(internals.mm, random_tensor((5, 9), dtype), random_tensor((9, 7), dtype))


@pytest.mark.parametrize(
    "m, k, n",
    [(1, 1, 1), (8, 8, 8), (9, 3, 17), (1, 12, 6), (6, 12, 1), (3, 0, 2), (0, 4, 2), (4, 4, 0)],
)
def test_sizes_that_tiles_do_not_divide(form: str, m: int, k: int, n: int) -> None:
    compare(internals.mm, random_tensor((m, k)), random_tensor((k, n)))


def test_operands_are_read_through_their_strides(form: str) -> None:
    a, b = random_tensor((6, 5)), random_tensor((7, 6))
    compare(lambda a, b: a.t() @ b.t(), a, b)
    compare(
        lambda a, b: a.t()[1:4, ::2] @ b[::2, 1:4].t()[:, 1:],
        random_tensor((6, 5)),
        random_tensor((7, 6)),
    )
    compare(lambda a, row: a @ row.expand(5, 4), random_tensor((3, 5)), random_tensor((1, 4)))


def test_batches(form: str) -> None:
    x, y = random_tensor((3, 4, 5)), random_tensor((3, 5, 2))
    compare(internals.bmm, x, y)
    compare(
        lambda x, y: internals.bmm(x.transpose(1, 2), y.transpose(1, 2)),
        random_tensor((2, 5, 3)),
        random_tensor((2, 4, 5)),
    )
    compare(internals.matmul, random_tensor((2, 1, 3, 4)), random_tensor((3, 4, 2)))
    compare(internals.baddbmm, random_tensor((4, 2)), x, y, alpha=0.5, beta=2)
    compare(internals.addbmm, random_tensor((4, 2)), x, y, alpha=0.5, beta=2)


def test_more_batches_than_a_grid_is_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul, "LAST_BLOCK", 2)
    compare(
        internals.baddbmm,
        random_tensor((5, 3, 2)),
        random_tensor((5, 3, 4)),
        random_tensor((5, 4, 2)),
    )


def test_addends(form: str) -> None:
    a, b, row, full = (
        random_tensor((4, 3)),
        random_tensor((3, 6)),
        random_tensor((6,)),
        random_tensor((4, 6)),
    )
    compare(internals.addmm, row, a, b)
    compare(internals.addmm, full, a, b, alpha=-2, beta=0.25)
    compare(internals.addmm, random_tensor((4, 1)), a, b)
    compare(internals.addmm, internals.tensor(2.0), a, b)
    compare(internals.addmm, internals.full((6,), float("nan")), a, b, beta=0)
    compare(internals.addmm, full, internals.full((4, 3), float("nan")), b, alpha=0)
    compare(internals.addmm, full.long(), a.long(), b.long(), alpha=3, beta=-2)


def test_vectors(form: str) -> None:
    compare(internals.mv, random_tensor((5, 7)), random_tensor((7,)))
    compare(lambda a, x: a.t().mv(x[::2]), random_tensor((4, 6)), random_tensor((8,)))
    compare(
        internals.addmv,
        random_tensor((5,)),
        random_tensor((5, 3)),
        random_tensor((3,)),
        alpha=2,
        beta=3,
    )
    compare(internals.matmul, random_tensor((3,)), random_tensor((3, 4)))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("n", [0, 1, 70])
def test_dot(dtype: dt.dtype, n: int) -> None:
    compare(internals.dot, random_tensor((n,), dtype), random_tensor((2 * n,), dtype, 1)[::2])


def test_a_block_for_each_row() -> None:
    """The kernel that a GPU gets for matrix times vector; the simulator has to be told."""
    for dtype in (dt.float32, dt.float16, dt.int64):
        a, x, addend = (
            random_tensor((3, 50), dtype),
            random_tensor((50,), dtype),
            random_tensor((3,), dtype),
        )
        result = internals.empty(3, dtype=dtype, device="cuda")
        matmul.launch_rows(result, a.cuda(), x.cuda(), addend.cuda(), 2, 3)
        same(result, internals.addmv(addend, a, x, alpha=2, beta=3))


def test_a_long_dot_is_cut_into_parts() -> None:
    a, b = random_tensor((100,)), random_tensor((100,), seed=1)
    result = internals.empty((), device="cuda")
    matmul.dot(result, a.cuda(), b.cuda(), longest=40)
    same(result, internals.dot(a, b))


@pytest.mark.parametrize(
    "blocking",
    [Blocking(8, 16, 4, 2, 4), Blocking(16, 8, 8, 4, 2), Blocking(16, 16, 4, 8, 8)],
    ids=repr,
)
@pytest.mark.parametrize("a_along_k", [False, True])
@pytest.mark.parametrize("b_along_k", [False, True])
def test_the_blocked_kernel_in_other_blockings(
    blocking: Blocking, a_along_k: bool, b_along_k: bool
) -> None:
    """Rows and columns of a thread in two runs, tiles filled along either dimension."""
    m, n, k = 18, 19, 7
    a, b = random_tensor((m, k)), random_tensor((k, n))
    c = internals.empty(m, n, device="cuda")
    x, y = a.cuda(), b.cuda()
    where = matmul.GemmStrides((0, k, 1), (0, n, 1), (0, n, 1), (0, n, 1))
    kernel = matmul.blocked(np.float32, blocking, a_along_k, b_along_k)
    kernel[blocking.grid(m, n, 1), blocking.threads](
        flat(c), flat(x), flat(y), flat(c), m, n, k, k, 1, where, np.float32(1), np.float32(0)
    )
    same(c, a @ b)


def test_blockings_that_cannot_be_shared_evenly_are_refused() -> None:
    with pytest.raises(
        ValueError, match="256 threads cannot share the 16 rows x 8 of a tile evenly"
    ):
        Blocking(16, 256, 8, 4, 4)


@pytest.mark.sampled(1 / 4)
def test_the_sums_of_a_thread_stay_in_registers() -> None:
    """The blocked kernel for a GPU: one multiplication after the other, loads of four numbers, no
    local memory.
    """
    kernel = matmul.blocked(np.float32, matmul.LARGE, True, False)
    where = matmul.GemmStrides(*[(1, 1, 1)] * 4)
    try:
        text = ptx(kernel, *["float32[:]"] * 4, *[int] * 5, where, np.float32, np.float32)
    except PtxUnavailable as error:
        pytest.skip(str(error))
    assert "ld.local" not in text and "st.local" not in text
    assert ".maxntid 256" in text and ".minnctapersm 2" in text
    assert text.count("fma.rn.f32") >= 64 and text.count("ld.shared.v4.f32") >= 3
    # what does not fit into the registers is seen only by who assigns them
    assert spilled(text, (9, 0)) == 0


def spilled(text: str, cc: tuple[int, int]) -> int:
    try:
        return registers_of(text, cc).spilled
    except PtxUnavailable as error:
        pytest.skip(str(error))


def test_a_spill_is_reported() -> None:
    """Twice as many sums as there are registers for them: what the test above would say of that."""
    lines = [f"ld.global.f32 %f{i}, [%rd1+{4 * i}];" for i in range(200)]
    lines += [f"st.global.f32 [%rd1+{4 * i + 4000}], %f{i};" for i in reversed(range(200))]
    text = (
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) .maxntid "
        "512, 1, 1 .minnctapersm 2\n{\n"
        ".reg .f32 %f<200>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, "
        f"[p];\n{chr(10).join(lines)}\nret;\n}}\n"
    )
    assert spilled(text, (9, 0)) > 200


def test_out_and_in_place(form: str) -> None:
    a, b = random_tensor((4, 4)), random_tensor((4, 4), seed=1)
    x, y = a.cuda(), b.cuda()
    with on_the_device_alone():
        out = internals.empty(0, device="cuda")
        assert internals.mm(x, y, out=out) is out
        same(out, a @ b)
        turned = internals.empty(4, 4, device="cuda").t()
        internals.mm(x, y, out=turned)
        assert turned.stride() == (1, 4)
        same(turned.contiguous(), a @ b)
        same(internals.mm(x, y, out=x), a @ b)  # the result is one of the factors
        x = a.cuda()
        same(x.addmm_(x, y, beta=2, alpha=3), internals.addmm(a, a, b, beta=2, alpha=3))
        x = a.cuda()
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            internals.addmm(x.t(), y, y, out=x)
    with pytest.raises(
        RuntimeError, match="Expected out tensor to have dtype float, but got double instead"
    ):
        internals.mm(x, y, out=internals.empty(4, 4, dtype=dt.float64, device="cuda"))


def test_gradients(form: str) -> None:
    compare_gradients(internals.mm, random_tensor((3, 5)), random_tensor((5, 4)))
    compare_gradients(
        internals.addmm, random_tensor((4,)), random_tensor((3, 5)), random_tensor((5, 4))
    )
    compare_gradients(internals.bmm, random_tensor((2, 3, 4)), random_tensor((2, 4, 2)))
    compare_gradients(
        internals.nn.functional.linear,
        random_tensor((2, 3)),
        random_tensor((4, 3)),
        random_tensor((4,)),
    )


def test_vector_gradients() -> None:
    compare_gradients(internals.mv, random_tensor((3, 5)), random_tensor((5,)))
    compare_gradients(internals.dot, random_tensor((5,)), random_tensor((5,), seed=1))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: internals.mm(a, b),
        lambda a, b: internals.mm(a[0], b),
        lambda a, b: internals.bmm(a, b),
        lambda a, b: internals.mv(a, b[:, 0]),
        lambda a, b: internals.dot(a[0], b[0, :2]),
        lambda a, b: internals.addmm(a[0, :2], a, b.t()),
        lambda a, b: internals.addmm(a, a.double(), b.t()),
        lambda a, b: a.long().addmm(a.long(), b.long().t(), alpha=0.5),
    ],
)
def test_the_same_errors_as_on_the_cpu(call: Any) -> None:
    a, b = random_tensor((2, 3)), random_tensor((4, 3))
    with pytest.raises(RuntimeError) as expected:
        call(a, b)
    with pytest.raises(RuntimeError) as got:
        call(moved(a), moved(b))
    assert str(got.value) == str(expected.value)


def test_two_dtypes_are_named_otherwise_than_on_the_cpu() -> None:
    a, b = internals.ones(2, 2, dtype=internals.float16).cuda(), internals.ones(2, 2).cuda()
    with pytest.raises(
        RuntimeError,
        match="^expected mat1 and mat2 to have the same dtype, but got: c10::Half != float$",
    ):
        a @ b


def test_bool_is_refused_and_complex_falls_back() -> None:
    t = internals.ones(2, 2, dtype=dt.bool_, device="cuda")
    with pytest.raises(RuntimeError, match="\"addmm_cuda\" not implemented for 'Bool'"):
        internals.mm(t, t)
    z = random_tensor((2, 2), dt.complex64)
    before = fallbacks().get("aten::mm", 0)
    np.testing.assert_allclose(
        internals.mm(z.cuda(), z.cuda()).cpu().numpy(), (z @ z).numpy(), 1e-5
    )
    assert fallbacks()["aten::mm"] == before + 1


def test_which_kernel_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERNALS_CUDA_MATMUL", raising=False)
    driver = matmul.backend.driver()
    if driver.simulated:
        assert matmul.choose(512, 512, 512) == "naive"
    monkeypatch.setattr(type(driver), "simulated", False)
    assert [matmul.choose(n, n, n) for n in (4, 32, 512)] == ["naive", "tiled", "blocked"]
    assert matmul.blocking(4096, 4096, 1, dt.float32) is matmul.LARGE
    assert (
        matmul.blocking(4096, 4096, 1, dt.float64)
        is matmul.blocking(256, 256, 1, dt.float32)
        is matmul.MEDIUM
    )
    monkeypatch.setenv("INTERNALS_CUDA_MATMUL", "tiled")
    assert matmul.choose(512, 512, 512) == "tiled"
    with matmul.using("naive"):
        assert matmul.choose(512, 512, 512) == "naive"
    monkeypatch.setenv("INTERNALS_CUDA_MATMUL", "fast")
    with pytest.raises(
        ValueError,
        match="there is no matrix product called 'fast': choose one of naive, tiled, blocked",
    ):
        matmul.choose(1, 1, 1)


@pytest.mark.sampled(1 / 4)
def test_no_form_has_bank_conflicts_and_each_reads_less_than_the_last() -> None:
    n, one = 32, np.float32(1)
    a, b = (np.random.default_rng(seed).random((n, n), np.float32) for seed in (0, 1))
    where, cut = matmul.GemmStrides(*[(0, n, 1)] * 4), Blocking(32, 32, 8, 4, 4)
    logs = []
    for kernel, grid, block, extra in (
        (matmul.naive(np.float32), (1, 4), (32, 8), ()),
        (matmul.tiled(np.float32, 16), (2, 2), (16, 16), ()),
        (matmul.blocked(np.float32, cut, True, False), cut.grid(n, n, 1), cut.threads, (n, 1)),
    ):
        c = np.zeros(n * n, np.float32)
        logs.append(
            record(
                kernel,
                grid,
                block,
                c,
                a.ravel(),
                b.ravel(),
                c,
                n,
                n,
                n,
                *extra,
                where,
                one,
                0 * one,
            )
        )
        np.testing.assert_allclose(c.reshape(n, n), a @ b, 1e-5)
    assert [log.nbytes("load") // c.nbytes for log in logs] == [2 * n, 2 * n // 16, 2 * n // 32]
    assert [max(i.conflict for i in log.instructions) for log in logs] == [0, 1, 1]
    assert not any(log.races for log in logs)
