"""Batch normalization and pooling by compiled kernels: against numpy's way and PyTorch, on both
sides of the threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals._generated import ops
from internals.aten.compiled import batch_norm, pooling
from internals.aten.compiled.windows import Pair
from internals.aten.native import normalization, pooling as native_pooling
from internals.machine_code import compiled_kernels
from internals.nn import functional as F
from tests.core.large_results import few_numbers, fingerprint
from tests.side_by_side import check, ours
from tests.support import assert_same, examples, to_numpy


def both_ways(run: Callable[[], Any]) -> tuple[Any, Any]:
    """What `run` gives by numpy, and by machine code."""
    with compiled_kernels(False):
        expected = run()
    with compiled_kernels(threshold=0):
        return expected, run()


def assert_alike(run: Callable[[], Any], **tolerance: Any) -> None:
    expected, found = both_ways(run)
    for a, b in zip(found, expected):
        assert (a is None) == (b is None)
        if a is not None:
            assert_same(a, to_numpy(b), **tolerance)
            assert a.stride() == b.stride()


sizes_of_batches = st.one_of(
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 700)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9)),
)


@given(
    sizes_of_batches,
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
)
@examples(60)
def test_batch_norm(
    sizes: tuple[int, ...], dtype: str, given_parameters: int, training: bool, running: bool
) -> None:
    make = ours()
    x, g = make(*sizes, dtype=dtype), make(*sizes, dtype=dtype)
    weight, bias, mean = (make(sizes[1], dtype=dtype) for _ in range(3))
    weight, bias = (t if given_parameters & bit else None for t, bit in ((weight, 1), (bias, 2)))
    var = make.uniform(sizes[1], dtype=dtype)
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-8, "atol": 1e-9}
    if training and x.numel() == sizes[1]:
        # one element is its own mean: 0, but for rounding, times a large number
        tolerance["atol"] = 1e-2

    def run() -> tuple[Any, ...]:
        m, v = (mean.clone(), var.clone()) if running or not training else (None, None)
        y, saved, rstd = ops.native_batch_norm(x, weight, bias, m, v, training, 0.3, 1e-3)
        gradients = ops.native_batch_norm_backward(
            g, x, weight, m, v, saved, rstd, training, 1e-3, [True, True, True]
        )
        return y, saved, rstd, m, v, *gradients

    assert_alike(run, **tolerance)


@pytest.mark.parametrize("mask", [[True, False, False], [False, True, True], [False, False, False]])
def test_batch_norm_gives_what_is_asked_for(mask: list[bool]) -> None:
    make = ours()
    x, g, w, mean = make(4, 3, 5, 5), make(4, 3, 5, 5), make(3), make(3)
    assert_alike(
        lambda: ops.native_batch_norm_backward(
            g, x, w, mean, mean * mean, None, None, False, 1e-5, mask
        ),
        rtol=1e-4,
    )


def test_batch_norm_of_other_orders_stays_with_numpy() -> None:
    make = ours()
    for x in (
        make(2, 3, 4, 5).contiguous(memory_format=internals.channels_last),
        make(3, 2, 4).transpose(0, 1),
    ):
        assert not batch_norm.fits(x)
        assert_alike(
            lambda x=x: ops.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5), atol=1e-5
        )


def test_batch_norm_of_half_precision_stays_with_numpy() -> None:
    x = ours()(4, 3, 8, dtype="float16")
    assert not batch_norm.fits(x)
    assert_alike(lambda: ops.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5))


@pytest.mark.parametrize("training", [True, False])
def test_large_batch_norm_is_pytorchs(training: bool) -> None:
    def case(T: Any, make: Any) -> Any:
        x, g = make(8, 16, 20, 20), make(8, 16, 20, 20)
        w, bias, *moments = make(16), make(16), make(16), make.uniform(16)
        assert x.numel() >= normalization.COMPILED
        y = T.ops.aten.native_batch_norm(x, w, bias, *moments, training, 0.1, 1e-5)
        dx = T.ops.aten.native_batch_norm_backward(
            g, x, w, *moments, *y[1:], training, 1e-5, [True] * 3
        )
        return few_numbers(T, [*y, *moments, *dx])

    check(case, rtol=1e-4, atol=1e-4, family="layers")


def test_a_large_mean_does_not_spoil_the_variance() -> None:
    x = ours()(16, 4, 100, dtype="float32") + 1e4
    with compiled_kernels(threshold=0):
        _, mean, rstd = ops.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    exact = to_numpy(x).astype(np.float64)
    np.testing.assert_allclose(to_numpy(rstd), 1 / exact.std((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(to_numpy(mean), exact.mean((0, 2)), rtol=1e-7)


def test_batch_norm_on_threads_is_that_on_one() -> None:
    x, before, results = ours()(8, 64, 30, 30), internals.machine_code.get_num_threads(), []
    try:
        for threads in (1, 2):
            internals.machine_code.set_num_threads(threads)
            y = ops.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
            pooled = ops.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1], [1, 1], False)
            results.append([to_numpy(t) for t in (*y, *pooled)])
    finally:
        internals.machine_code.set_num_threads(before)
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)


def test_gradcheck_of_batch_norm() -> None:
    make = ours()
    x, w, bias = (make(*s, dtype="float64").requires_grad_() for s in ((3, 2, 4), (2,), (2,)))
    mean, var = make(2, dtype="float64"), make.uniform(2, dtype="float64")
    with compiled_kernels(threshold=0):
        assert internals.autograd.gradcheck(
            lambda *a: F.batch_norm(a[0], None, None, *a[1:], training=True), (x, w, bias)
        )
        assert internals.autograd.gradcheck(
            lambda *a: F.batch_norm(a[0], mean, var, *a[1:]), (x, w, bias)
        )


@st.composite
def pools(draw: Any) -> tuple[Any, ...]:
    """Sizes of an image with a kernel, stride, padding, dilation and rounding that fit."""
    kernel, stride, dilation = (
        draw(st.tuples(st.integers(1, 4), st.integers(1, 4))) for _ in range(3)
    )
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    sizes = [
        max(1, d * (k - 1) + 1 - 2 * p) + draw(st.integers(0, 14))
        for k, p, d in zip(kernel, padding, dilation)
    ]
    channels = draw(st.integers(1, 3))
    return (
        (draw(st.integers(1, 3)), channels, *sizes),
        kernel,
        stride,
        padding,
        dilation,
        draw(st.booleans()),
    )


@given(pools(), st.sampled_from(["float32", "float64"]), st.booleans())
@examples(60)
def test_max_pool(case: tuple[Any, ...], dtype: str, batched: bool) -> None:
    """With equal elements, infinities and NaN."""
    sizes, *window = case
    x = internals.from_numpy(np.round(to_numpy(ours()(*sizes, dtype=dtype))))
    x[..., ::5] = float("-inf")
    x[..., 3::11] = float("nan")
    x = x if batched else x[0]
    g = ours()(*ops.max_pool2d_with_indices(x, *window)[0].shape, dtype=dtype)

    def run() -> tuple[Any, ...]:
        values, indices = ops.max_pool2d_with_indices(x, *window)
        return values, indices, ops.max_pool2d_with_indices_backward(g, x, *window, indices)

    assert_alike(run, rtol=1e-5, atol=1e-6)


@given(pools(), st.booleans(), st.sampled_from([None, 3]))
@examples(60)
def test_avg_pool(case: tuple[Any, ...], padded: bool, divisor: int | None) -> None:
    sizes, kernel, stride, padding, _, ceil_mode = case
    sizes = (*sizes[:2], *(max(n, k) for n, k in zip(sizes[2:], kernel)))
    x, window = ours()(*sizes), (kernel, stride, padding, ceil_mode, padded, divisor)
    g = ours()(*ops.avg_pool2d(x, *window).shape)
    assert_alike(
        lambda: (ops.avg_pool2d(x, *window), ops.avg_pool2d_backward(g, x, *window)),
        rtol=1e-4,
        atol=1e-5,
    )


@given(st.tuples(*[st.integers(1, 12)] * 4), st.tuples(st.integers(1, 7), st.integers(1, 7)))
@examples(40)
def test_adaptive_pool(sizes: tuple[int, ...], target: tuple[int, int]) -> None:
    x, g = ours()(*sizes), ours()(*sizes[:2], *target)
    assert_alike(
        lambda: (ops._adaptive_avg_pool2d(x, target), ops._adaptive_avg_pool2d_backward(g, x)),
        rtol=1e-4,
        atol=1e-5,
    )


def test_large_pools_are_pytorchs() -> None:
    largest, mean = (
        ([3, 2], [2, 1], [1, 1], [1, 2], True),
        ([3, 4], [2, 3], [1, 2], True, False, None),
    )

    def case(T: Any, make: Any) -> Any:
        aten, x = T.ops.aten, make(2, 9, 61, 60)
        assert x.numel() >= native_pooling.COMPILED
        values, indices = aten.max_pool2d_with_indices(x, *largest)
        results = [values, aten.max_pool2d_with_indices_backward(values, x, *largest, indices)]
        average, small = aten.avg_pool2d(x, *mean), aten._adaptive_avg_pool2d(x, [7, 5])
        results += [average, aten.avg_pool2d_backward(average, x, *mean)]
        results += [small, aten._adaptive_avg_pool2d_backward(small, x)]
        return [*fingerprint(indices), *few_numbers(T, results)]

    check(case, rtol=1e-4, atol=1e-5, family="layers")


def test_pools_of_other_orders_and_dtypes_stay_with_numpy() -> None:
    make = ours()
    for x in (
        make(2, 3, 8, 8).contiguous(memory_format=internals.channels_last),
        make(2, 3, 8, 8, dtype="float16"), make(2, 3, 8, 8, dtype="int64"),
    ):  # fmt: skip
        assert not pooling.fits(x)
        assert_alike(
            lambda x=x: ops.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1], [1, 1], False)
        )


def test_no_images() -> None:
    x = internals.ones(0, 3, 8, 8)
    assert_alike(lambda: ops.max_pool2d_with_indices(x, [2, 2], [2, 2], [0, 0], [1, 1], False))
    assert_alike(
        lambda: (
            ops.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, None),
            ops._adaptive_avg_pool2d(x, [3, 3]),
        )
    )
    assert_alike(lambda: (F.batch_norm(x, None, None, training=True),))


def test_the_loops_are_plain_python() -> None:
    """What machine code is made from, run by the interpreter on arrays."""
    x, g = (np.random.default_rng(i).standard_normal((2, 3, 4)) for i in range(2))
    mean, rstd, out = np.empty(3), np.empty(3), np.empty((2, 3, 4))
    nothing, batch = np.zeros(3), batch_norm.Batch(2, 3, 4)
    batch_norm.train.bind(T=np.float64)(
        0,
        3,
        x.ravel(),
        nothing,
        nothing,
        nothing,
        nothing,
        out.reshape(-1),
        mean,
        rstd,
        batch_norm.Present(0, 0, 0, 0),
        batch,
        0.1,
        1e-5,
    )
    np.testing.assert_allclose(mean, x.mean((0, 2)))
    np.testing.assert_allclose(
        out, (x - x.mean((0, 2))[:, None]) / np.sqrt(x.var((0, 2)) + 1e-5)[:, None]
    )
    dx, dw, db = np.empty((2, 3, 4)), np.empty(3), np.empty(3)
    batch_norm.backward.bind(T=np.float64)(
        0, 3, g.ravel(), x.ravel(), nothing, mean, rstd, dx.reshape(-1), dw, db, 0, 1, 1, batch
    )
    np.testing.assert_allclose(db, g.sum((0, 2)))
    np.testing.assert_allclose(dx.sum((0, 2)), 0, atol=1e-12)
    pooled = np.empty((2, 3, 2))
    pooling.adaptive_pool.bind(T=np.float64)(
        0, 6, x.ravel(), pooled.reshape(-1), Pair(1, 4), Pair(1, 2)
    )
    np.testing.assert_allclose(pooled, x.reshape(2, 3, 2, 2).mean(-1))


@pytest.mark.parametrize("enabled", [False, True])
def test_windows_without_an_element_of_the_image_give_their_gradient_to_nobody(
    enabled: bool,
) -> None:
    """Dilation carries both elements of each window over the edges. Their index is that of PyTorch,
    behind the plane.
    """
    x, window = internals.ones(2, 3, 1, 1), ([1, 2], [1, 3], [0, 1], [1, 2], False)
    with compiled_kernels(enabled, threshold=0):
        values, indices = ops.max_pool2d_with_indices(x, *window)
        dx = ops.max_pool2d_with_indices_backward(internals.ones(2, 3, 1, 1), x, *window, indices)
    assert indices.flatten().tolist() == [1] * 6
    assert dx.flatten().tolist() == [0.0] * 6


def gradients_that_do_not_fit() -> list[Any]:
    """Calls of leaf operators with gradients of another dtype, or of other sizes, than machine code
    takes for granted.
    """
    make = ours()
    x, w, g, of_channels = make(2, 4, 8, 8), make(4, 4, 3, 3), make(2, 4, 8, 8), make(4)
    pool, small = ([2, 2], [2, 2], [0, 0]), make(2, 4, 4, 4)
    _, indices = ops.max_pool2d_with_indices(x, *pool, [1, 1], False)

    def of_convolution(g: Any, w: Any) -> Any:
        return ops.convolution_backward(
            g, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3
        )

    def of_maxima(g: Any, indices: Any) -> Any:
        return ops.max_pool2d_with_indices_backward(g, x, *pool, [1, 1], False, indices)

    def of_batch(g: Any, mean: Any) -> Any:
        return ops.native_batch_norm_backward(
            g, x, of_channels, None, None, mean, mean, True, 1e-5, [True] * 3
        )

    def of_rows(g: Any, mean: Any) -> Any:
        return ops.native_layer_norm_backward(
            g, x, [8, 8], mean, mean, weights, None, [True, True, False]
        )

    moments, weights, twice = make(2, 4, 1, 1), make(8, 8), internals.cat([small, small])
    return [
        pytest.param(lambda: of_convolution(g.double(), w), id="convolution, dtype"),
        pytest.param(lambda: of_convolution(g[:1], w), id="convolution, images"),
        pytest.param(lambda: of_convolution(g[:, :2], w), id="convolution, channels"),
        pytest.param(lambda: of_convolution(make(3, 4, 9, 9), w), id="convolution, sizes"),
        pytest.param(lambda: of_maxima(small.double(), indices), id="maxima, dtype"),
        pytest.param(lambda: of_maxima(small, indices.int()), id="maxima, dtype of indices"),
        pytest.param(lambda: of_maxima(small, indices[:1]), id="maxima, indices"),
        pytest.param(
            lambda: of_maxima(twice, internals.cat([indices, indices])), id="maxima, planes"
        ),
        pytest.param(
            lambda: ops.avg_pool2d_backward(twice, x, *pool, False, True, None),
            id="averages, planes",
        ),
        pytest.param(
            lambda: ops.avg_pool2d_backward(small.double(), x, *pool, False, True, None),
            id="averages, dtype",
        ),
        pytest.param(lambda: ops._adaptive_avg_pool2d_backward(twice, x), id="adaptive, planes"),
        pytest.param(
            lambda: ops._adaptive_avg_pool2d_backward(small.double(), x), id="adaptive, dtype"
        ),
        pytest.param(lambda: of_batch(g[:1], of_channels), id="batch norm, images"),
        pytest.param(lambda: of_batch(g, of_channels[:2]), id="batch norm, channels"),
        pytest.param(lambda: of_rows(g[:1], moments), id="layer norm, rows"),
        pytest.param(lambda: of_rows(g, moments[:1]), id="layer norm, moments"),
        pytest.param(lambda: ops._softmax_backward_data(g[..., :4], g, 3, g.dtype), id="softmax"),
        pytest.param(
            lambda: ops._softmax_backward_data(g, small, 3, g.dtype), id="softmax, result"
        ),
        pytest.param(
            lambda: ops._log_softmax_backward_data(g[:1, :3], g, 3, g.dtype), id="log softmax"
        ),
    ]


@pytest.mark.parametrize("run", gradients_that_do_not_fit())
def test_gradients_that_do_not_fit_are_left_to_numpy(run: Callable[[], Any]) -> None:
    """It raises an error, or broadcasts; machine code would read and write where it likes."""

    def outcome() -> tuple[Any, ...]:
        try:
            found = run()
        except (RuntimeError, ValueError, IndexError) as error:
            return (internals.tensor([ord(letter) for letter in str(error)]),)
        return found if isinstance(found, tuple) else (found,)

    assert_alike(outcome, rtol=1e-5, atol=1e-5)
