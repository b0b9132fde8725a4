"""The hidden `X_backward` operators that derivatives call, each beside PyTorch's: dtypes, layouts,
empty and 0-d tensors.

That they are the gradients of the forward operators is what gradcheck and tests/test_autograd_*.py
say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from internals._generated import ops
from internals.core.tensor_impl import from_array
from tests.side_by_side import Inputs, cases, check, ours
from tests.support import to_numpy

# `A` is T.ops.aten; layer, group and batch give what a forward pass saves, max_pool calls with what
# it saves.
POINTWISE = cases("""
    A.threshold_backward(x(3, 4), x(3, 4), 0)
    A.threshold_backward(x(3, 4), x(3, 4), -0.5)
    A.threshold_backward(x.of([nan, inf, 1, 2]), x.of([1, -1, nan, 0]), 0)
    A.threshold_backward(x().expand(2, 3), x(2, 3), 0)
    A.threshold_backward(x(4, 3).t(), x(3, 4), 0)
    A.hardtanh_backward(x(3, 4), x(3, 4), -1, 0.5)
    A.hardtanh_backward(x.of([inf, nan, 1, 1]), x.of([2, -3, nan, 1]), -1, 1)
    A.leaky_relu_backward(x(3, 4), x(3, 4), 0.1, False)
    A.leaky_relu_backward(x(3, 4), x(3, 4), -0.1, False)
    A.leaky_relu_backward(x(3, 4), x(3, 4), -0.1, True)
    A.elu_backward(x(3, 4), 1.5, 0.5, 2, False, x(3, 4))
    A.elu_backward(x(3, 4), 1.5, 0.5, 2, True, x(3, 4))
    A.elu_backward(x(3, 4), -1, 1, 1, True, x(3, 4))
    A.gelu_backward(x(3, 4), x(3, 4))
    A.gelu_backward(x(3, 4), x(3, 4), approximate="tanh")
    A.gelu_backward(x(2, 3).expand(4, 2, 3), x(4, 2, 3))
    A.silu_backward(x(3, 4), x(3, 4))
    A.softplus_backward(x(3, 4), x(3, 4), 2, 1)
    A.softplus_backward(x.of([1, 2, 3]), x.of([100, -100, 0]), 1, 20)
    A.log_sigmoid_backward(x(3, 4), v := x(3, 4), A.log_sigmoid_forward(v)[1])
    A.log_sigmoid_backward(x(3, 4), v := x(3, 4) * 50, A.log_sigmoid_forward(v)[1])
    A.hardsigmoid_backward(x.of([1, 2, nan, 1, 1, 0]), x.of([3, -3, 1, nan, inf, 2]))
    A.hardswish_backward(x(3, 4), x(3, 4) * 3)
    A.hardswish_backward(x.of([1, 2, nan, 1, 1, inf]), x.of([3, -3, 1, nan, inf, -4]))
    A.hardswish_backward(x(2, 3).expand(4, 2, 3), x(4, 2, 3))
    A.mish_backward(x(3, 4), x(3, 4))
    A.hardshrink_backward(x(3, 4), x(3, 4), 0.5)
    A.hardshrink_backward(x.of([nan, inf, 1, 2]), x.of([1, 0.5, nan, -0.5]), 0.5)
    A.softshrink_backward(x.of([nan, inf, 1, 2]), x.of([1, 0.5, nan, -0.5]), 0.5)
    A.glu_backward(x(3, 4), x(3, 8), 1)
    A.glu_backward(x(4, 2).t(), x(4, 4), 0)
    A.glu_backward(x(1), x(8), -1)
    A.glu_backward(x(3, 4), x(3, 7), 1)
    A.glu_backward(x(3), x(8), 0)
    A.logit_backward(x(3, 4), x.uniform(3, 4))
    A.logit_backward(x(3, 4), x.uniform(3, 4), 0.25)
    A.logit_backward(x.of([1, 2, 3, 4, 0]), x.of([-0.5, 0, 1, nan, 2]))
    A.logit_backward(x.of([1, 2, 3, 4, 0]), x.of([-0.5, 0.25, 0.75, nan, 2]), 0.25)
    A.infinitely_differentiable_gelu_backward(x(3, 4), x(3, 4))
    A.rrelu_with_noise_backward(x(3, 4), x(3, 4), x.uniform(3, 4), 0.1, 0.3, True, False)
    A.rrelu_with_noise_backward(x(3, 4), x(3, 4), x.uniform(3, 4), 0.1, 0.3, False, False)
    A.rrelu_with_noise_backward(x(3, 4), x(3, 4), x.uniform(3, 4), -0.3, 0.1, False, True)
    A.sigmoid_backward(x(3, 4), x(3, 4).sigmoid())
    A.sigmoid_backward(x().expand(3, 4), x(3, 4).sigmoid())
    A.tanh_backward(x(3, 4), x(3, 4).tanh())
    A.tanh_backward(x(4, 3).t(), x(3, 4).tanh())
    A.tanh_backward(x(), x().tanh())
    A.sigmoid_backward(x(), x().sigmoid())
    A._softmax_backward_data(x(3, 4), v := x(3, 4).softmax(1), 1, v.dtype)
    A._softmax_backward_data(x(3, 4, 2), v := x(3, 4, 2).softmax(0), -3, v.dtype)
    A._softmax_backward_data(x(4, 3).t(), v := x(3, 4).softmax(1), 1, v.dtype)
    A._softmax_backward_data(x(), v := x().softmax(0), 0, v.dtype)
    A._softmax_backward_data(x(0, 4), v := x(0, 4).softmax(1), 1, v.dtype)
    A._log_softmax_backward_data(x(3, 4), v := x(3, 4).log_softmax(1), 1, v.dtype)
    A._log_softmax_backward_data(x(3, 4, 2), v := x(3, 4, 2).log_softmax(1), 1, v.dtype)
    A._log_softmax_backward_data(x().expand(3, 4), v := x(3, 4).log_softmax(0), 0, v.dtype)
    A._log_softmax_backward_data(x(), v := x().log_softmax(0), 0, v.dtype)
""")

LOSSES = cases("""
    A.mse_loss_backward(x(*G), x(2, 3), x(2, 3), R)
    A.smooth_l1_loss_backward(x(*G), x(2, 3), x(2, 3), R, 0.7)
    A.smooth_l1_loss_backward(x(*G), x(3, 2).t(), x(2, 3), R, 0.0)
    A.huber_loss_backward(x(*G), x(2, 3), x(2, 3), R, 0.7)
    A.binary_cross_entropy_backward(x(*G), x.uniform(2, 3), x.uniform(2, 3), None, R)
    A.binary_cross_entropy_backward(x(*G), x.uniform(2, 3), x.uniform(2, 3), x(2, 3), R)
    A.binary_cross_entropy_backward(x(*G), x.of([[0, 1, 0], [1, 0, 1]]),
        x.of([[0, 1, 1], [0, 0, 1]]), None, R)
""")

CLASSES = cases("""
    A.nll_loss_backward(x(*G), x(4, 3), v := x.labels(4, classes=3), None, R, -100, x.of(2))
    A.nll_loss_backward(x(*G), x(4, 3), v := x.labels(4, classes=3), x(3), R, -100, x.of(2))
    A.nll_loss_backward(x(*G), x(4, 3), x.integers([0, 1, 2, 1], "int64"), x(3), R, 1, x.of(2))
    A.nll_loss_backward(x(*G), x(4, 3), x.integers([-100, 1, 2, -100], "int64"), None, R, -100,
        x.of(2))
    A.nll_loss_backward(x(*G), x(4, 300), x.integers([0, 255, 2, 1], "uint8"), None, R, -100,
        x.of(2))
    A.nll_loss_backward(x(), x(3), x.labels(classes=3), x(3), R, -100, x.of(2))
    A.nll_loss2d_backward(x(*H), x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), None, R, -100,
        x.of(2))
    A.nll_loss2d_backward(x(*H), x(2, 3, 4, 5), x.labels(2, 4, 5, classes=3), x(3), R, 2, x.of(2))
""")

NORMS = cases("""
    A.native_layer_norm_backward(x(3, 4, 5), v := x(3, 4, 5), [5], *layer(v, [5]), x(5), x(5), M)
    A.native_layer_norm_backward(x(3, 4, 5), v := x(3, 4, 5), [4, 5], *layer(v, [4, 5]), x(4, 5),
        x(4, 5), M)
    A.native_layer_norm_backward(x(3, 5), v := x(5, 3).t(), [5], *layer(v, [5]), None, None, I)
    A.native_group_norm_backward(x(2, 6, 4), v := x(2, 6, 4), *group(v, 3), x(6), 2, 6, 4, 3, M)
    A.native_group_norm_backward(x(2, 6, 4), v := x(2, 6, 4), *group(v, 2), None, 2, 6, 4, 2, I)
    A.native_batch_norm_backward(x(4, 3, 5), v := x(4, 3, 5), x(3), None, None, *batch(v), True,
        1e-5, M)
    A.native_batch_norm_backward(x(4, 3), v := x(4, 3), x(3), None, None, *batch(v), True, 1e-5, I)
    A.native_batch_norm_backward(x(4, 3), v := x(4, 3), None, None, None, *batch(v), True, 1e-5, I)
    A.native_batch_norm_backward(x(4, 3, 2, 2), x(4, 3, 2, 2), x(3), x(3), x.uniform(3), None, None,
        False, 1e-5, M)
    A.native_batch_norm_backward(x(4, 3), x(4, 3), None, x(3), x.uniform(3), None, None, False,
        1e-5, I)
""")  # fmt: skip

IMAGES = cases("""
    max_pool(x(2, 3, 3, 3), x(2, 3, 6, 6), [2, 2], [2, 2], [0, 0], [1, 1], False)
    max_pool(x(2, 3, 6, 4), x(2, 3, 6, 7), [3, 3], [1, 2], [1, 1], [1, 1], False)
    max_pool(x(3, 4, 3), x(3, 7, 6), [2, 2], [2, 2], [0, 0], [1, 1], True)
    max_pool(x(1, 2, 3, 3), x(1, 2, 7, 7), [3, 3], [1, 1], [0, 0], [2, 2], False)
    A.avg_pool2d_backward(x(2, 3, 3, 3), x(2, 3, 6, 6), [2, 2], [2, 2], [0, 0], False, True, None)
    A.avg_pool2d_backward(x(2, 3, 6, 4), x(2, 3, 6, 7), [3, 3], [1, 2], [1, 1], False, True, None)
    A.avg_pool2d_backward(x(2, 3, 6, 4), x(2, 3, 6, 7), [3, 3], [1, 2], [1, 1], False, False, None)
    A.avg_pool2d_backward(x(3, 4, 3), x(3, 7, 6), [2, 2], [2, 2], [0, 0], True, True, 3)
    A.avg_pool2d_backward(x(3, 4, 4), x(3, 7, 6), [3, 2], [2, 2], [1, 1], True, True, None)
    A._adaptive_avg_pool2d_backward(x(2, 3, 3, 2), x(2, 3, 7, 5))
    A._adaptive_avg_pool2d_backward(x(3, 1, 1), x(3, 7, 5))
    A._adaptive_avg_pool2d_backward(x(2, 3, 9, 5), x(2, 3, 7, 5))
    adaptive_max_pool(x(2, 3, 7, 5), [3, 2])
    adaptive_max_pool(x(3, 7, 5), [4, 4])
    adaptive_max_pool(x(2, 3, 4, 7, 5), [3, 3, 2])
    A.adaptive_max_pool2d_backward(x(2, 3, 3, 2), x(2, 3, 7, 5), x.labels(2, 3, 3, 3, classes=9))
    A.reflection_pad1d_backward(x(2, 3, 9), x(2, 3, 5), [3, 1])
    A.reflection_pad1d_backward(x(2, 3, 8), x(2, 3, 5), [3, 1])
    A.reflection_pad1d_backward(x(3, 3), x(3, 5), [-1, -1])
    A.reflection_pad2d_backward(x(2, 3, 7, 9), x(2, 3, 5, 5), [3, 1, 2, 0])
    A.reflection_pad2d_backward(x(3, 4, 7), x(3, 5, 5), [3, -1, 0, -1])
    A.reflection_pad3d_backward(x(2, 4, 7, 9), x(2, 3, 5, 5), [3, 1, 2, 0, 1, 0])
    A.replication_pad1d_backward(x(2, 3, 19), x(2, 3, 5), [8, 6])
    A.replication_pad2d_backward(x(2, 3, 7, 9), x(2, 3, 5, 5), [3, 1, 2, 0])
    A.replication_pad2d_backward(x(3, 4, 7), x(3, 5, 5), [3, -1, 0, -1])
    A.replication_pad3d_backward(x(2, 4, 7, 9), x(2, 3, 5, 5), [3, 1, 2, 0, 1, 0])
    A.upsample_nearest2d_backward(x(2, 3, 8, 10), [8, 10], [2, 3, 4, 5], None, None)
    A.upsample_nearest2d_backward(x(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], None, None)
    A.upsample_nearest2d_backward(x(2, 3, 6, 7), [6, 7], [2, 3, 4, 5], 1.5, 1.5)
    A.upsample_bilinear2d_backward(x(2, 3, 8, 10), [8, 10], [2, 3, 4, 5], False, None, None)
    A.upsample_bilinear2d_backward(x(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], True, None, None)
    A.upsample_bilinear2d_backward(x(2, 3, 6, 7), [6, 7], [2, 3, 4, 5], False, 1.5, 1.5)
    A.col2im(x(2, 12, 12), [5, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    A.col2im(x(12, 6), [6, 6], [3, 2], [2, 1], [1, 0], [2, 2])
    A.col2im(x(12, 7), [6, 6], [3, 2], [2, 1], [1, 0], [2, 2])
    A.col2im(x(11, 6), [6, 6], [3, 2], [2, 1], [1, 0], [2, 2])
    A.col2im(x(2, 3, 12, 6), [6, 6], [3, 2], [2, 1], [1, 0], [2, 2])
    A.col2im(x(12, 6), [6, 6], [3, 2], [0, 1], [1, 0], [2, 2])
    A.col2im(x(12, 6), [6, 6], [3, 0], [1, 1], [1, 0], [2, 2])
    A.col2im(x(12, 6), [6], [3, 2], [1, 1], [1, 0], [2, 2])
    A.col2im(x(12, 6), [6, 6], [3, 2], [1, 1], [-1, 0], [2, 2])
    A.col2im(x.integers([[1] * 6] * 12, "int64"), [6, 6], [3, 2], [2, 1], [1, 0], [2, 2])
    A.embedding_dense_backward(x(5, 4), x.integers([1, 3, 1, 0, 1], "int64"), 5, -1, False)
    A.embedding_dense_backward(x(5, 4), x.integers([1, 3, 1, 0, 1], "int64"), 5, 1, False)
    A.embedding_dense_backward(x(2, 3, 4), x.labels(2, 3, classes=4), 4, -1, True)
    A.embedding_dense_backward(x(2, 4), x.integers([3, 3], "int32"), 4, 3, False)
    A.embedding_dense_backward(x(0, 4), x.labels(0, classes=4), 4, -1, False)
""")  # fmt: skip

TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-10}


class Typed:
    """The inputs `x` of a table: floating tensors of one dtype, integers and class labels beside
    them.
    """

    def __init__(self, inputs: Inputs, dtype: str) -> None:
        self.inputs, self.dtype, self.labels, self.integers = (
            inputs,
            dtype,
            inputs.labels,
            inputs.of,
        )

    def __call__(self, *sizes: int) -> Any:
        return self.inputs(*sizes, dtype=self.dtype)

    def of(self, values: Any) -> Any:
        return self.inputs.of(values, self.dtype)

    def uniform(self, *sizes: int) -> Any:
        return self.inputs.uniform(*sizes, dtype=self.dtype)


def adaptive_max_pool(A: Any, v: Any, size: list[int]) -> tuple[Any, Any, Any]:
    """A gradient, the input and the indices; each dimension has its own operator."""
    values, indices = getattr(A, f"adaptive_max_pool{len(size)}d")(v, size)
    return values * 2, v, indices


def run(line: str, dtype: str, **names: Any) -> None:
    """Both libraries evaluate `line`, where `A` is T.ops.aten, and agree."""
    code = compile(line, "<case>", "eval")
    common = {"nan": float("nan"), "inf": float("inf"), **names}

    def case(T: Any, x: Inputs) -> Any:
        A = T.ops.aten
        saved = {
            "layer": lambda v, sizes: A.native_layer_norm(v, sizes, None, None, 1e-5)[1:],
            "group": lambda v, groups: A.native_group_norm(v, None, None, 2, 6, 4, groups, 1e-5)[
                1:
            ],
            "batch": lambda v: A.native_batch_norm(v, None, None, None, None, True, 0.1, 1e-5)[1:],
            "max_pool": lambda g, *pool: A.max_pool2d_with_indices_backward(
                g, *pool, A.max_pool2d_with_indices(*pool)[1]
            ),
            "adaptive_max_pool": lambda v, size: getattr(
                A, f"adaptive_max_pool{len(size)}d_backward"
            )(*adaptive_max_pool(A, v, size)),
        }
        return eval(code, {"A": A, "x": Typed(x, dtype), **saved, **common})

    check(case, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("line", POINTWISE)
def test_pointwise(line: str, dtype: str) -> None:
    run(line, dtype)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("line", LOSSES)
def test_losses(line: str, dtype: str, reduction: int) -> None:
    run(line, dtype, R=reduction, G=() if reduction else (2, 3))


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("line", CLASSES)
def test_classes(line: str, dtype: str, reduction: int) -> None:
    run(line, dtype, R=reduction, G=() if reduction else (4,), H=() if reduction else (2, 4, 5))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("line", NORMS)
def test_norms(line: str, dtype: str) -> None:
    run(line, dtype, M=[True, True, True], I=[True, False, False])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("line", IMAGES)
def test_images(line: str, dtype: str) -> None:
    run(line, dtype)


ADJOINTS = {
    "col2im": (
        lambda x: ops.im2col(x, [3, 2], [2, 1], [1, 0], [2, 1]),
        lambda g: ops.col2im(g, [6, 7], [3, 2], [2, 1], [1, 0], [2, 1]),
    ),
    "upsample_nearest2d_backward": (
        lambda x: ops.upsample_nearest2d(x, [9, 5], None, None),
        lambda g: ops.upsample_nearest2d_backward(g, [9, 5], [2, 3, 6, 7], None, None),
    ),
    "upsample_bilinear2d_backward": (
        lambda x: ops.upsample_bilinear2d(x, [9, 5], True, None, None),
        lambda g: ops.upsample_bilinear2d_backward(g, [9, 5], [2, 3, 6, 7], True, None, None),
    ),
    "_adaptive_avg_pool2d_backward": (
        lambda x: ops._adaptive_avg_pool2d(x, [4, 3]),
        lambda g: ops._adaptive_avg_pool2d_backward(g, internals.zeros(2, 3, 6, 7, dtype=g.dtype)),
    ),
    "avg_pool2d_backward": (
        lambda x: ops.avg_pool2d(x, [3, 2], [2, 1], [1, 1], True, False, None),
        lambda g: ops.avg_pool2d_backward(
            g, internals.zeros(2, 3, 6, 7, dtype=g.dtype), [3, 2], [2, 1], [1, 1], True, False, None
        ),
    ),
}


@pytest.mark.parametrize("name", ADJOINTS)
def test_linear_operators_have_their_adjoint_as_gradient(name: str) -> None:
    """<f(x), g> = <x, f*(g)>."""
    forward, backward = ADJOINTS[name]
    make = ours()
    x = make(2, 3, 6, 7, dtype="float64")
    y = forward(x)
    g = make(*y.shape, dtype="float64")
    np.testing.assert_allclose(
        (to_numpy(y) * to_numpy(g)).sum(), (to_numpy(x) * to_numpy(backward(g))).sum(), rtol=1e-9
    )


def test_the_gradient_of_a_table_adds_up_however_often_a_row_was_read() -> None:
    """Most rows a few times, some hundreds of times, some never."""
    stream = np.random.default_rng(0)
    rows = np.minimum(stream.zipf(1.3, 3000) - 1, 199)
    g = stream.standard_normal((3000, 5))
    expected = np.zeros((200, 5))
    np.add.at(expected, rows, g)
    got = ops.embedding_dense_backward(from_array(g), from_array(rows), 200, -1, False)
    np.testing.assert_allclose(to_numpy(got), expected, rtol=1e-12, atol=1e-12)


def test_the_slope_of_hardsigmoid_is_a_sixth() -> None:
    """Also in double precision, where PyTorch multiplies by a sixth in single."""
    g, x = from_array(np.array([1.0, -3.0, 2.0])), from_array(np.array([-2.9, 0.0, 3.1]))
    np.testing.assert_array_equal(to_numpy(ops.hardsigmoid_backward(g, x)), [1 / 6, -0.5, 0])


def test_they_are_hidden() -> None:
    assert not hasattr(internals, "threshold_backward")
    assert not hasattr(internals.nn.functional, "mse_loss_backward")
    assert internals.ops.aten.threshold_backward.overloads() == ["default"]
