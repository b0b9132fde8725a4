"""Layer, group and batch normalization, normalize and the embedding: side by side with PyTorch, and
against numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from internals.nn import functional as F
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, to_numpy

NORMS = cases("""
    F.layer_norm(x(2, 3), (3,))
    F.layer_norm(x(2, 3, 4), [3, 4], x(3, 4), x(3, 4))
    F.layer_norm(x(2, 3, 4), (4,), x(4))
    F.layer_norm(x(2, 3, 4), (4,), None, x(4), eps=0.5)
    F.layer_norm(x(2, 3, 4).transpose(0, 1), (4,))
    F.layer_norm(x(2, 3, dtype="float64"), (3,))
    F.layer_norm(x(2, 300, dtype="float16"), (300,))
    F.layer_norm(x(2, 3, dtype="float16"), (3,), x(3), x(3))
    F.layer_norm(x(0, 3), (3,))
    F.layer_norm(x(2, 0), (0,))
    T.layer_norm(x(2, 3), (3,), x(3), x(3), 1e-5)
    T.native_layer_norm(x(2, 3, 4), [4], None, None, 1e-5)
    T.native_layer_norm(x(2, 3, 4), [3, 4], x(3, 4), None, 1e-5)
    T.native_layer_norm(x(2, 3, dtype="float16"), [3], None, None, 1e-5)
    T.native_layer_norm(x(2, 3, dtype="float16"), [3], x(3), None, 1e-5)
    T.native_layer_norm(x(0, 3), [3], None, None, 1e-5)
    F.group_norm(x(2, 6, 3), 2)
    F.group_norm(x(2, 6, 3, 4), 3, x(6), x(6))
    F.group_norm(x(2, 6), 1, x(6))
    F.group_norm(x(2, 6), 6)
    F.group_norm(x(0, 6, 3), 2)
    F.group_norm(x(2, 6, 3, dtype="float16"), 2, x(6, dtype="float16"))
    F.group_norm(x(2, 3, 4, 6).permute(0, 3, 1, 2), 2, x(6))
    T.native_group_norm(x(2, 6, 3), None, None, 2, 6, 3, 2, 1e-5)
    T.native_group_norm(x(2, 6, 3, dtype="float16"), x(6), x(6), 2, 6, 3, 2, 1e-5)
    F.batch_norm(x(4, 3), x(3), x.uniform(3))
    F.batch_norm(x(4, 3, 5), x(3), x.uniform(3), x(3), x(3))
    F.batch_norm(x(4, 3, 5, 2), x(3), x.uniform(3), x(3), x(3), eps=0.1)
    F.batch_norm(x(4, 3), None, None, training=True)
    F.batch_norm(x(4, 3, 5), None, None, x(3), x(3), True)
    F.batch_norm(x(4, 5, 2, 3).permute(0, 3, 1, 2), x(3), x.uniform(3), x(3))
    F.batch_norm(x(4, 3, dtype="float16"), x(3), x.uniform(3), x(3))
    F.batch_norm(x(4, 3, dtype="float16"), x(3, dtype="float16"), x.uniform(3, dtype="float16"))
    F.batch_norm(x(4, 3, dtype="float16"), None, None, training=True)
    F.batch_norm(x(0, 3, 4), x(3), x.uniform(3))
    F.batch_norm(x(0, 3, 4), x(3), x.uniform(3), x(3), x(3), True)
    T.native_batch_norm(x(4, 3, 5), None, None, x(3), x.uniform(3), True, 0.1, 1e-5)
    T.native_batch_norm(x(4, 3, 5), x(3), x(3), x(3), x.uniform(3), False, 0.1, 1e-5)
    T.native_batch_norm(x(4, 3, 5), None, None, x(3), x.uniform(3), True, 0.1, 1e-5,
        out=(x(0), x(0), x(0)))
    T.native_batch_norm(x(4, 3, 5), None, None, x(3), x.uniform(3), False, 0.1, 1e-5,
        out=(x(0), x(0), x(7)))
    F.normalize(x(2, 3))
    F.normalize(x(2, 3), p=1, dim=0)
    F.normalize(x(2, 3, 4), dim=(1, 2))
    F.normalize(x.of([[0.0, 0.0]]))
    F.normalize(x(2, 3), out=x(2, 3))
    F.embedding(x.labels(5, classes=3), x(3, 4))
    F.embedding(x.labels(2, 5, classes=3), x(6, 4)[::2])
    F.embedding(x.labels(classes=3), x(3, 4))
    F.embedding(x.labels(0, classes=3), x(3, 4))
    F.embedding(x.of([1, 2], "int32"), x(3, 4, dtype="float64"), padding_idx=-1)
    T.embedding(x(3, 4), x.labels(5, classes=3), 2, True, False)
""")

ERRORS = cases("""
    F.layer_norm(x(2, 3), (2,))
    F.layer_norm(x(2, 3), ())
    F.layer_norm(x(2, 3), (3,), x(2))
    F.layer_norm(x(2, 3), (3,), x(3), x(2))
    F.layer_norm(x(3), [2, 3])
    F.layer_norm(x(2, 3, dtype="int64"), [3])
    F.layer_norm(x(2, 3, dtype="complex64"), [3])
    F.layer_norm(x(2, 3), [3], x(3, dtype="float64"))
    F.layer_norm(x(2, 3, dtype="float64"), [3], x(3))
    F.group_norm(x(2, 6, 3), 4)
    F.group_norm(x(2, 6, 3), 0)
    F.group_norm(x(6), 2)
    F.group_norm(x(1, 6), 6)
    F.group_norm(x(2, 6, 3), 2, x(5))
    F.group_norm(x(2, 6, 3, dtype="int64"), 2)
    F.batch_norm(x(2, 3), x(2), x(3))
    F.batch_norm(x(2, 3), x(3), x(2))
    F.batch_norm(x(2, 3), None, None)
    F.batch_norm(x(2, 3), x(3), None)
    F.batch_norm(x(2, 3), x(3), x(3), x(2))
    F.batch_norm(x(2, 3), x(3), x(3), x(3), x(2))
    F.batch_norm(x(1, 3), x(3), x(3), training=True)
    F.batch_norm(x(1, 3, 1, 1), x(3), x(3), training=True)
    F.batch_norm(x(2, 3), x(3), x(3), training=True, eps=0.0)
    F.batch_norm(x(2, 3), x(3), x(3), eps=-1.0)
    F.batch_norm(x(3), x(3), x(3))
    T.native_batch_norm(x(4, 3), None, None, x(3), x.uniform(3), False, 0.1, 1e-5,
        out=(x(0), x(2, 2), x(0)))
    F.batch_norm(x(2, 3, dtype="int64"), x(3), x(3))
    F.batch_norm(x(2, 3, dtype="float64"), x(3), x(3))
    F.normalize(x(2, 3, dtype="int64"))
    F.embedding(x.of([1, 3], "int64"), x(3, 4))
    F.embedding(x.of([1, -1], "int64"), x(3, 4))
    F.embedding(x(2), x(3, 4))
    F.embedding(x.of([1, 2], "uint8"), x(3, 4))
    F.embedding(x.of([1, 2], "int64"), x(3))
    F.embedding(x.of([1], "int64"), x(3, 2), padding_idx=3)
    F.embedding(x.of([1], "int64"), x(3, 2), padding_idx=-4)
""")


@pytest.mark.parametrize("text", NORMS)
def test_values(text: str) -> None:
    half = {"rtol": 5e-3, "atol": 5e-3} if "float16" in text else {"rtol": 1e-4, "atol": 1e-5}
    check(expression(text), strides=True, **half)


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    check(expression(text))


@pytest.mark.parametrize("momentum", [0.1, 1.0, 0.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_statistics(momentum: float, dtype: str) -> None:
    def case(T: Any, x: Any) -> Any:
        mean, var = x(3, dtype=dtype), x.uniform(3, dtype=dtype)
        out = T.nn.functional.batch_norm(
            x(4, 3, 5, dtype=dtype), mean, var, training=True, momentum=momentum
        )
        return [out, mean, var]

    check(case, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
def test_embedding_renorm(norm_type: float) -> None:
    def case(T: Any, x: Any) -> Any:
        table = x(6, 4)
        rows = T.nn.functional.embedding(
            x.labels(3, classes=4), table, max_norm=1.0, norm_type=norm_type
        )
        return [rows, table]

    check(case)


def test_layer_norm_against_numpy() -> None:
    x = ours()
    t, w, b = x(4, 5, dtype="float64"), x(5, dtype="float64"), x(5, dtype="float64")
    a = to_numpy(t)
    expected = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5) * to_numpy(
        w
    ) + to_numpy(b)
    assert_same(F.layer_norm(t, (5,), w, b), expected)


def test_group_norm_of_one_group_per_channel_is_instance_norm() -> None:
    t = ours()(2, 3, 4, 5, dtype="float64")
    a = to_numpy(t)
    expected = (a - a.mean((2, 3), keepdims=True)) / np.sqrt(a.var((2, 3), keepdims=True) + 1e-5)
    assert_same(F.group_norm(t, 3), expected)


def test_batch_norm_against_numpy() -> None:
    x = ours()
    t, mean, var = x(6, 3, 2, dtype="float64"), x(3, dtype="float64"), x.uniform(3, dtype="float64")
    a, old_mean, old_var = map(to_numpy, (t, mean, var))
    scale = np.sqrt(old_var + 1e-5)[:, None]
    assert_same(F.batch_norm(t, mean, var), (a - old_mean[:, None]) / scale)
    trained = F.batch_norm(t, mean, var, training=True, momentum=0.25)
    batch_mean, batch_var = a.mean((0, 2)), a.var((0, 2))
    assert_same(trained, (a - batch_mean[:, None]) / np.sqrt(batch_var + 1e-5)[:, None])
    assert_same(mean, 0.75 * old_mean + 0.25 * batch_mean)
    assert_same(var, 0.75 * old_var + 0.25 * a.var((0, 2), ddof=1))


def test_normalize_against_numpy() -> None:
    t = ours()(3, 4, dtype="float64")
    a = to_numpy(t)
    assert_same(F.normalize(t), a / np.linalg.norm(a, axis=1, keepdims=True))


def test_embedding_against_numpy() -> None:
    table = ours()(5, 3)
    index = ours().labels(2, 4, classes=5)
    assert_same(F.embedding(index, table), to_numpy(table)[to_numpy(index)])


def test_embedding_renorm_writes_to_the_table_and_counts_it() -> None:
    table = internals.full((3, 4), 10.0)
    F.embedding(internals.tensor([0, 2]), table, max_norm=1.0)
    norms = np.linalg.norm(to_numpy(table), axis=1)
    np.testing.assert_allclose(norms, [1, 20, 1], rtol=1e-5)
    assert table._version == 1


@pytest.mark.parametrize("rows", [3, 4000])  # of which numpy and machine code see to one each
def test_the_gradient_of_a_parameter_that_layer_norm_does_not_have(T: Any, rows: int) -> None:
    g, m, w = T.ones(rows, 16), T.ones(rows, 1), T.ones(16)
    masks = (
        [True, True, True],
        [True, False, True],
        [False, False, True],
        [False, True, False],
        [True, False, False],
    )
    for weight, bias in ((None, None), (w, None), (None, w)):
        for mask in masks:
            if mask[1] and weight is None or mask[2] and bias is None:
                with pytest.raises(RuntimeError):
                    T.ops.aten.native_layer_norm_backward(g, g, [16], m, m, weight, bias, mask)
            else:
                found = T.ops.aten.native_layer_norm_backward(g, g, [16], m, m, weight, bias, mask)
                assert [t is not None for t in found] == mask


def test_the_parameter_that_layer_norm_does_not_have_is_named() -> None:
    g, m = internals.ones(2, 3), internals.ones(2, 1)
    with pytest.raises(
        RuntimeError, match=r"no gradient of bias, which is None; output_mask\[2\] has to be False"
    ):
        internals.ops.aten.native_layer_norm_backward(
            g, g, [3], m, m, internals.ones(3), None, [True, True, True]
        )
