"""Functions of `nn.functional` that are made of other operators: side by side with PyTorch, at
their edges too.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from internals.nn import functional as F
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, examples, to_numpy

SPECIAL = "x.of([-inf, -1e30, -4, -3, -0.5, -0.0, 0.0, 0.5, 1, 3, 4, 1e30, inf, nan])"

VALUES = cases(f"""
    F.hardsigmoid({SPECIAL})
    F.hardswish({SPECIAL})
    F.mish({SPECIAL})
    F.celu({SPECIAL})
    F.celu({SPECIAL}, alpha=0.3)
    F.celu({SPECIAL}, -0.5)
    F.selu({SPECIAL})
    F.prelu({SPECIAL}, x.of([0.25]))
    F.prelu(x(2, 3, 4), x.of([0.1, 0.2, 0.3]))
    F.prelu(x(2, 3), x.of(0.3))
    F.prelu(x(3), x.of([0.3]))
    F.threshold({SPECIAL}, 0.5, 7)
    F.threshold(x(2, 3, dtype="int64"), 1, 7)
    F.hardshrink({SPECIAL})
    F.hardshrink({SPECIAL}, 3)
    F.softshrink({SPECIAL})
    F.softshrink({SPECIAL}, 0)
    F.hardswish(x(2, 3, dtype="float64"))
    F.bilinear(x(3), x(4), x(5, 3, 4), x(5))
    F.bilinear(x(2, 6, 3), x(2, 6, 4), x(5, 3, 4))
    F.bilinear(x(0, 3), x(0, 4), x(5, 3, 4))
    F.max_pool1d(x(2, 3, 8), 2)
    F.max_pool1d(x(3, 8), [3], [2], [1], [2], True)
    F.max_pool1d(x(2, 3, 8), 3, return_indices=True)
    F.avg_pool1d(x(2, 3, 8), 3)
    F.avg_pool1d(x(3, 8), (3,), (2,), (1,), True, False)
    F.adaptive_avg_pool1d(x(2, 3, 8), 5)
    F.adaptive_avg_pool1d(x(3, 8), (3,))
    F.conv_transpose1d(x(2, 4, 5), x(4, 3, 3), x(6), 2, 1, 1, 2, 2)
    F.conv_transpose1d(x(4, 5), x(4, 3, 3))
    F.fold(x(2, 12, 12), (4, 5), 2)
    F.fold(x(12, 12), (4, 5), (2, 2))
    F.instance_norm(x(2, 3, 5))
    F.instance_norm(x(2, 3, 5, 4), x(3), x.uniform(3), x(3), x(3), False)
    F.instance_norm(x(2, 3, 5), x(3), x.uniform(3), x(3), x(3), momentum=0.5)
    F.rms_norm(x(2, 3, 4), (3, 4), x(3, 4), 0.1)
    F.rms_norm(x(2, 4), [4])
    F.pairwise_distance(x(3, 4), x(3, 4))
    F.pairwise_distance(x(3, 4), x(4), 1, 0.1, True)
    F.pairwise_distance(x(4), x(4), p=inf)
    F.cosine_embedding_loss(x(4), x(4), x.of(-1))
    F.hinge_embedding_loss(x(2, 3), x.of([1, -1, 0]), reduction="none")
    F.poisson_nll_loss(x(4), x.of([0, 1, 2, 5]), full=True, reduction="none")
    F.dropout1d(x(2, 3, 4), 0.5, False)
    F.dropout2d(x(2, 3, 4, 5), 1.0)
""")

ERRORS = cases("""
    F.hardsigmoid(x(3, dtype="int64"))
    F.hardshrink(x(3, dtype="int64"))
    F.softshrink(x(3, dtype="int64"))
    F.softshrink(x(3), -0.5)
    F.softshrink(x(3), inf)
    F.softshrink(x(3, dtype="float16"), 1e30)
    F.celu(x(3), 0)
    F.prelu(x(2, 3), x(2))
    F.prelu(x(2, 3), x(2, 1))
    F.bilinear(x(2, 3), x(3, 4), x(5, 3, 4))
    F.bilinear(x(2, 3), x(2, 4), x(5, 3, 3))
    F.bilinear(x(2, 4), x(2, 4), x(5, 3, 4))
    F.bilinear(x(2, 3), x(2, 1, 4), x(5, 3, 4))
    F.bilinear(x(2, 3), x(2, 4), x(5, 3, 4), x(3))
    F.max_pool1d(x(4), 2)
    F.avg_pool1d(x(4), 2)
    F.avg_pool1d(x(1, 4, dtype="complex64"), 2)
    F.avg_pool2d(x(1, 4, 4, dtype="complex64"), 2)
    F.avg_pool1d(x(2, 4), (2, 2))
    F.adaptive_avg_pool1d(x(4), 2)
    F.adaptive_avg_pool1d(x(2, 4), (2, 2))
    F.instance_norm(x(2, 3, 1))
    F.instance_norm(x(2, 3))
    F.instance_norm(x(2, 3, 4), use_input_stats=False)
    F.rms_norm(x(2, 3), (2,))
    F.rms_norm(x(2, 3), (3,), x(2))
    F.rms_norm(x(2, 3), ())
    F.rms_norm(x(3), (2, 3))
    F.rms_norm(x(3, dtype="int64"), (3,))
    F.dropout1d(x(2))
    F.dropout1d(x(2, 3, 4), 2)
    F.dropout2d(x(2))
    F.dropout2d(x(2, 3, 4, 5), -1)
""")


@pytest.mark.parametrize("text", VALUES)
def test_as_pytorch(text: str) -> None:
    check(expression(text), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    check(expression(text))


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1), st.integers(1, 2))
@examples(20)
def test_folding_what_was_unfolded_counts_windows(
    k: int, stride: int, padding: int, dilation: int
) -> None:
    x = ours()(2, 3, 7, 6, dtype="float64")
    options = {"dilation": dilation, "padding": padding, "stride": stride}
    back = F.fold(F.unfold(x, k, **options), (7, 6), k, **options)
    count = F.fold(F.unfold(x.new_ones(x.shape), k, **options), (7, 6), k, **options)
    assert_same(back, to_numpy(x) * to_numpy(count))


@given(st.floats(-6, 6), st.floats(0.01, 2))
@examples(40)
def test_activations_against_their_formulas(value: float, lambd: float) -> None:
    x = ours().of([value], "float64")
    line = min(max(value + 3, 0), 6) / 6
    assert_same(F.hardsigmoid(x), np.array([line]))
    assert_same(F.hardswish(x), np.array([value * line]))
    assert_same(F.mish(x), np.array([value * np.tanh(np.log1p(np.exp(value)))]))
    assert_same(F.softshrink(x, lambd), np.sign([value]) * np.maximum(np.abs([value]) - lambd, 0))
    assert_same(F.hardshrink(x, lambd), np.array([0.0 if -lambd <= value <= lambd else value]))
    assert_same(
        F.celu(x, lambd), np.array([max(value, 0) + min(0, lambd * np.expm1(value / lambd))])
    )


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
@examples(20)
def test_bilinear_against_numpy(n: int, a: int, b: int, out: int) -> None:
    x = ours()
    one, two, weight, bias = (
        x(*sizes, dtype="float64") for sizes in ((n, a), (n, b), (out, a, b), (out,))
    )
    expected = np.einsum("ni,oij,nj->no", *map(to_numpy, (one, weight, two))) + to_numpy(bias)
    assert_same(F.bilinear(one, two, weight, bias), expected)
