"""Convolution by compiled kernels: against numpy's way, the definition and PyTorch, on both sides
of the threshold.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals._generated import ops
from internals.aten.compiled import convolution_gradients, convolving, gemm, windows
from internals.aten.compiled.gemm import best_tile, factors, rows_apart, tiles
from internals.aten.compiled.gemm_code import Gemm, Tile
from internals.aten.compiled.registers import Vector
from internals.aten.compiled.windows import Pair, Spread, Strides, Window, planned
from internals.aten.native import convolution as native
from internals.core import dtype as dt
from internals.machine_code import compiled_kernels
from internals.machine_code.llvm import CompileError
from internals.nn import functional as F
from tests.core.large_results import few_numbers
from tests.nn.test_convolution import by_definition
from tests.side_by_side import check, ours
from tests.support import assert_same, examples, to_numpy

TILES = [
    *tiles(dt.float32), *tiles(dt.float64), Tile(Vector("f4", 8), 6, 2, 1),
    Tile(Vector("f8", 4), 4, 3, 2), Tile(Vector("f4", 4), 2, 5, 2),
]  # fmt: skip


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("adding", [False, True])
def test_gemm_of_every_tile(tile: Tile, adding: bool) -> None:
    """Also those of CPUs with smaller registers: LLVM splits or joins what this one cannot hold."""
    random, number = np.random.default_rng(0), np.dtype(tile.vector.number)
    images, turns, terms = 4, 2, 5
    # what is added to must be of whole tiles high
    rows, columns = tile.rows * 2 + (not adding), tile.columns * 3 + 1
    weights = random.standard_normal((turns, rows, terms)).astype(number)
    x = random.standard_normal((images, 200 + columns)).astype(number)
    offsets = np.array([7, 0, 200, 31, 31], np.int64)
    out = random.standard_normal((images, rows, columns + 2)).astype(number)
    expected = out.copy()
    b = np.stack([x[:, o : o + columns] for o in offsets], 1)
    expected[..., :columns] = np.stack([weights[i % turns] @ b[i] for i in range(images)])
    expected[..., :columns] += out[..., :columns] if adding else 0
    block = tile.columns * 2
    addresses = (a.ctypes.data for a in (weights, x, offsets, out))
    g = Gemm(
        *addresses, rows, columns, terms, block, terms, 1, columns + 2, 200 + columns, out[0].size,
        rows * terms, turns, int(adding),
    )  # fmt: skip
    gemm.entry(tile)(0, images * -(-rows // tile.rows) * -(-columns // block), *g)
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_gemm_on_threads_is_that_on_one(dtype: dt.dtype) -> None:
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(s).astype(dtype.np) for s in ((50, 33), (33, 400)))
    c = np.empty((50, 400), dtype.np)
    tile = best_tile(dtype, 50, 400)
    before = internals.machine_code.get_num_threads()
    results = []
    try:
        for threads in (1, 3):
            internals.machine_code.set_num_threads(threads)
            offsets = rows_apart(33, 400)
            gemm.gemm(
                tile,
                factors(tile, a.ctypes.data, b.ctypes.data, offsets, c.ctypes.data, 50, 400, 400),
            )
            results.append(c.copy())
    finally:
        internals.machine_code.set_num_threads(before)
    np.testing.assert_allclose(results[0], a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(*results)


def test_tiles_for_every_number_of_rows() -> None:
    for d in (dt.float32, dt.float64):
        for rows in range(1, 40):
            assert rows % best_tile(d, rows, 100, exact=True).rows == 0


@st.composite
def geometries(draw: Any) -> tuple[Any, ...]:
    """Input and weight sizes with stride, padding and dilation that leave at least one place; two
    spatial dimensions.
    """
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride, dilation = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(2))
    padding = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    least = [max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, kernel, padding)]
    sizes = [n + draw(st.integers(0, 12)) for n in least]
    x = (draw(st.integers(0, 3)), groups * draw(st.integers(1, 5)), *sizes)
    w = (groups * draw(st.integers(1, 9)), x[1] // groups, *kernel)
    return x, w, stride, padding, dilation, groups


def rest_of(geometry: tuple[Any, ...], transposed: bool = False) -> tuple[Any, ...]:
    return (*map(list, geometry[2:5]), transposed, [0, 0], geometry[5])


@given(geometries(), st.sampled_from(["float32", "float64"]), st.booleans(), st.booleans())
@examples(60)
def test_forward_and_backward_are_numpys(
    geometry: tuple[Any, ...], dtype: str, channels_last: bool, with_bias: bool
) -> None:
    make = ours()
    x, w = make(*geometry[0], dtype=dtype), make(*geometry[1], dtype=dtype)
    bias = make(geometry[1][0], dtype=dtype) if with_bias else None
    if channels_last:
        x = x.contiguous(memory_format=internals.channels_last)
    rest, tolerance = (
        rest_of(geometry),
        {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-10},
    )
    results: list[Any] = []
    for threshold in (None, 0):
        with compiled_kernels(threshold == 0, threshold):
            y = ops.convolution(x, w, bias, *rest)
            g = ours()(*y.shape, dtype=dtype)
            results.append((y, *ops.convolution_backward(g, x, w, [w.shape[0]], *rest, [True] * 3)))
    for expected, found in zip(*results):
        assert_same(found, to_numpy(expected), **tolerance)
    assert results[0][0].stride() == results[1][0].stride()
    if x.numel():
        assert_same(results[1][0], by_definition(*map(to_numpy, (x, w)), *geometry[2:]) + (
            to_numpy(bias).reshape(-1, 1, 1) if with_bias else 0), **tolerance)  # fmt: skip


@given(geometries(), st.booleans())
@examples(30)
def test_transposed_is_numpys(geometry: tuple[Any, ...], with_bias: bool) -> None:
    x_sizes, w_sizes, stride, padding, dilation, groups = geometry
    made = [
        (i - 1) * s - 2 * p + d * (k - 1) + 1
        for i, s, p, d, k in zip(x_sizes[2:], stride, padding, dilation, w_sizes[2:])
    ]
    if min(made) < 1:
        return
    make = ours()
    x, w = (
        make(x_sizes[0], w_sizes[0], *x_sizes[2:], dtype="float64"),
        make(*w_sizes, dtype="float64"),
    )
    bias = make(w_sizes[1] * groups, dtype="float64") if with_bias else None
    rest = rest_of(geometry, True)
    results: list[Any] = []
    for threshold in (None, 0):
        with compiled_kernels(threshold == 0, threshold):
            y = ops.convolution(x, w, bias, *rest)
            g = ours()(*y.shape, dtype="float64")
            results.append(
                (y, *ops.convolution_backward(g, x, w, [w_sizes[1] * groups], *rest, [True] * 3))
            )
    for expected, found in zip(*results):
        assert_same(found, to_numpy(expected), rtol=1e-9, atol=1e-10)


LARGE = {
    "in place": ((2, 16, 40, 40), (24, 16, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    "one by one": ((2, 32, 40, 40), (40, 32, 1, 1), [1, 1], [0, 0], [1, 1], 1),
    "stride": ((2, 16, 41, 40), (24, 16, 3, 3), [2, 2], [1, 1], [1, 1], 1),
    "strided one by one": ((2, 64, 40, 40), (64, 64, 1, 1), [2, 2], [0, 0], [1, 1], 1),
    "columns": ((16, 64, 4, 4), (64, 64, 3, 3), [1, 1], [1, 1], [1, 1], 1),
    "first layer": ((2, 3, 64, 64), (24, 3, 7, 7), [2, 2], [3, 3], [1, 1], 1),
    "groups": ((2, 32, 30, 30), (64, 8, 3, 3), [1, 1], [1, 1], [1, 1], 4),
    "dilation": ((2, 16, 40, 40), (24, 16, 3, 3), [1, 1], [2, 2], [2, 2], 1),
    "depthwise": ((2, 64, 60, 60), (64, 1, 3, 3), [1, 1], [1, 1], [1, 1], 64),
    "depthwise stride": ((4, 64, 66, 66), (64, 1, 3, 3), [2, 2], [1, 1], [1, 1], 64),
    "one dimension": ((4, 24, 600), (32, 24, 5), [1], [2], [1], 1),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_ones_are_pytorchs(name: str) -> None:
    """Above the threshold by themselves."""
    x_sizes, w_sizes, *how, groups = LARGE[name]
    rest = (*how, False, [0] * len(how[0]), groups)

    def tensors(make: Any) -> Any:
        return make(*x_sizes), make(*w_sizes), make(w_sizes[0])

    def forward(T: Any, make: Any) -> Any:
        y = T.ops.aten.convolution(*tensors(make), *rest)
        assert y.numel() * np.prod(w_sizes[1:]) >= native.REUSE * native.COMPILED
        return few_numbers(T, y)

    def backward(T: Any, make: Any) -> Any:
        x, w, bias = tensors(make)
        g = make(*T.ops.aten.convolution(x, w, bias, *rest).shape)
        return few_numbers(
            T, T.ops.aten.convolution_backward(g, x, w, [w_sizes[0]], *rest, [True] * 3)
        )

    check(forward, rtol=1e-4, atol=1e-3, family="layers")
    check(backward, rtol=1e-3, atol=5e-3, family="layers")


def test_small_ones_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(native, "compiled_fits", lambda *args: called.append(args))
    F.conv2d(internals.ones(1, 1, 8, 8), internals.ones(1, 1, 3, 3))
    assert not called
    F.conv2d(internals.ones(1, 16, 64, 64), internals.ones(16, 16, 3, 3))
    assert called


@pytest.mark.parametrize("dtype", ["float16", "complex64", "int64"])
def test_other_dtypes_stay_with_numpy(dtype: str) -> None:
    x, w = (internals.ones(*s).to(getattr(internals, dtype)) for s in ((1, 2, 6, 6), (3, 2, 3, 3)))
    with compiled_kernels(threshold=0):
        found = ops.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    with compiled_kernels(False):
        expected = ops.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    np.testing.assert_array_equal(to_numpy(found), to_numpy(expected))


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("groups, stride", [(1, 1), (1, 2), (2, 1), (4, 2)])
def test_gradcheck(groups: int, stride: int) -> None:
    make = ours()
    x = make(2, 4, 5, 6, dtype="float64").requires_grad_()
    w = make(4, 4 // groups, 3, 2, dtype="float64").requires_grad_()
    bias = make(4, dtype="float64").requires_grad_()
    with compiled_kernels(threshold=0):
        run = lambda *args: F.conv2d(*args, stride=stride, padding=1, groups=groups)  # noqa: E731
        assert internals.autograd.gradcheck(run, (x, w, bias))
        assert internals.autograd.gradgradcheck(run, (x, w, bias))


def test_nan_and_infinity_go_where_they_belong() -> None:
    """A border of zeros is no product with them: only windows that hold the element know it."""
    x = internals.zeros(1, 2, 30, 30)
    x[0, 0, 0, 29], x[0, 1, 20, 10] = float("nan"), float("inf")
    w = internals.ones(9, 2, 3, 3)
    with compiled_kernels(threshold=0):
        y = to_numpy(F.conv2d(x, w, padding=1))
    with compiled_kernels(False):
        expected = to_numpy(F.conv2d(x, w, padding=1))
    np.testing.assert_array_equal(y, expected)
    assert np.isnan(y[0]).sum() == 9 * 4 and np.isinf(y[0]).sum() == 9 * 9


def test_weights_that_are_views() -> None:
    make = ours()
    x, w = make(2, 6, 9, 9, dtype="float64"), make(3, 3, 6, 8, dtype="float64").permute(3, 2, 0, 1)
    with compiled_kernels(threshold=0):
        found = F.conv2d(x[:, :, ::2], w), F.conv2d(x.transpose(2, 3), w)
    with compiled_kernels(False):
        expected = F.conv2d(x[:, :, ::2], w), F.conv2d(x.transpose(2, 3), w)
    for a, b in zip(found, expected):
        assert_same(a, to_numpy(b), rtol=1e-9, atol=1e-10)


def test_many_images_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied at once is limited; the sums of weights go on from part to part."""
    make = ours()
    x, w = make(7, 5, 9, 8, dtype="float64"), make(6, 5, 3, 3, dtype="float64")
    rest = ([2, 1], [1, 1], [1, 1], False, [0, 0], 1)
    with compiled_kernels(False):
        y = ops.convolution(x, w, None, *rest)
        g = make(*y.shape, dtype="float64")
        expected = y, *ops.convolution_backward(g, x, w, None, *rest, [True, True, False])
    monkeypatch.setattr(windows, "CHUNK", 1 << 14)
    monkeypatch.setattr(convolution_gradients, "PIXELS", 1 << 13)
    with compiled_kernels(threshold=0):
        found = (
            ops.convolution(x, w, None, *rest),
            *ops.convolution_backward(g, x, w, None, *rest, [True, True, False]),
        )
    for a, b in zip(found, expected):
        if a is not None:
            assert_same(a, to_numpy(b), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_gradient_that_is_one_number_everywhere(groups: int) -> None:
    """What `sum` hands back is expanded: all strides are 0."""
    grads = []
    for enabled in (False, True):
        make = ours()
        x, w, bias = (
            make(*s, dtype="float64").requires_grad_()
            for s in ((2, 4, 7, 6), (8, 4 // groups, 3, 3), (8,))
        )
        with compiled_kernels(enabled, 0):
            F.conv2d(x, w, bias, padding=1, stride=groups, groups=groups).sum().backward()
        grads.append([to_numpy(t.grad) for t in (x, w, bias)])
    for a, b in zip(*grads):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_scratch_memory_is_reused_and_no_tensor() -> None:
    from internals.aten.compiled.scratch import Scratch

    internals.empty(1)
    before = internals.cpu.memory_stats()["allocation.all.allocated"]
    first = Scratch(100_000, dt.float32)
    address = first.address
    del first
    assert Scratch(100_000, dt.float32).address == address
    assert Scratch(0, dt.float32).address == 0
    assert internals.cpu.memory_stats()["allocation.all.allocated"] == before


def test_convolutions_in_several_threads_at_once() -> None:
    make = ours()
    x, w = make(2, 8, 20, 20), make(8, 8, 3, 3)
    with compiled_kernels(threshold=0):
        expected = to_numpy(F.conv2d(x, w))
        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(lambda _: to_numpy(F.conv2d(x, w)), range(60)))
    for found in results:
        np.testing.assert_array_equal(found, expected)


def test_without_a_compiler_numpy_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(tile: Tile) -> Any:
        raise CompileError("no vectors today")

    make = ours()
    x, w = make(2, 16, 40, 40), make(16, 16, 3, 3)
    expected = F.conv2d(x, w)
    gemm.available.cache_clear()
    monkeypatch.setattr(gemm, "entry", refuse)
    try:
        with pytest.warns(
            UserWarning,
            match="matrix products and convolutions go by numpy, more slowly: no vectors today",
        ):
            found = F.conv2d(x, w)
    finally:
        gemm.available.cache_clear()
    assert_same(found, to_numpy(expected), rtol=1e-4, atol=1e-4)


def test_kernels_are_plain_python() -> None:
    """The loops that copy, run by the interpreter on arrays: what they are compiled from."""
    x = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)  # two planes
    window = Window(Pair(3, 1), Pair(2, 1), Pair(1, 0), Pair(1, 1))
    plan = planned(window, 2, 3, 4, 2, 4)
    laid = np.full(2 * plan.plane, 99, np.float32)
    spread_out = windows.spread_out.bind(T=np.float32)
    places = Pair(plan.rows, plan.columns)
    strides = Strides(24, 12, 4, 1)
    how = Spread(2, plan.parts, Pair(3, 4), places, window, strides, 2 * plan.plane, 12)
    spread_out(0, 2, x.reshape(-1), laid, plan.phases.array.reshape(-1), how, 0.0)
    assert (plan.parts, plan.rows, plan.columns) == (2, 3, 4)
    padded = np.pad(x, ((0, 0), (1, 2), (0, 0)))
    np.testing.assert_array_equal(laid.reshape(2, 2, 3, 4)[:, 0], padded[:, 0::2])
    np.testing.assert_array_equal(laid.reshape(2, 2, 3, 4)[:, 1], padded[:, 1::2])
    turned = np.empty(12, np.float32)
    convolution_gradients.swap_channels.bind(T=np.float32)(
        0, 1, x[0].reshape(-1), turned, 2, 2, 3, 1
    )
    np.testing.assert_array_equal(
        turned.reshape(2, 2, 3), x[0].reshape(2, 2, 3).swapaxes(0, 1)[..., ::-1]
    )
    assert convolving.available(dt.float32) and not convolving.available(dt.float16)


def test_weight_gradients_of_many_images_are_summed_in_parts() -> None:
    """One chain of additions through all 49,152 places would be wrong by four times as much."""
    make = ours()
    x, g = make.uniform(12, 16, 64, 64), make.uniform(12, 16, 64, 64)
    w = make(16, 16, 3, 3)

    def gradient(*tensors: Any) -> Any:
        return ops.convolution_backward(
            *tensors, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]
        )[1]

    with compiled_kernels(threshold=0):
        found = to_numpy(gradient(g, x, w))
    with compiled_kernels(False):
        exact = to_numpy(gradient(g.double(), x.double(), w.double()))
    assert np.max(np.abs(found - exact)) < 6e-6 * np.max(np.abs(exact))
