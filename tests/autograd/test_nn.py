"""Gradients of activations, normalizations, embedding, dropout and attention beside PyTorch's, and
gradients of those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals._generated import ops
from internals.nn import functional as F
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases
from tests.support import examples, to_numpy

ACTIVATIONS = cases("""
    F.relu(x(3, 4))
    F.relu(x.coarse(3, 4))
    F.relu(x.strided(3, 4))
    F.relu(x(0, 3))
    F.relu(x() * 2, inplace=True)
    F.relu(x(4, 4, dtype="float32"))
    T.relu(x.of([np.nan, -inf, inf]))
    F.relu6(x(3, 4) * 5)
    F.relu6(x.of([0.0, 6.0, 3.0]))
    F.hardtanh(x(3, 4), -0.5, 0.7)
    F.hardtanh(x(3, 4) * 1, -0.5, 0.7, inplace=True)
    F.gelu(x(3, 4))
    F.gelu(x(3, 4), approximate="tanh")
    F.gelu(x.strided(3, 4) * 4)
    F.silu(x(3, 4))
    F.silu(x(3, 4) * 1, inplace=True)
    F.leaky_relu(x(3, 4))
    F.leaky_relu(x.coarse(3, 4), 0.3)
    F.leaky_relu(x(3, 4), -0.3)
    F.elu(x(3, 4))
    F.elu(x.coarse(3, 4), 1.7)
    F.softplus(x(3, 4))
    F.softplus(x(3, 4) * 5, beta=2, threshold=3)
    F.logsigmoid(x(3, 4))
    F.logsigmoid(x.coarse(3, 4) * 20)
    F.sigmoid(x(3, 4))
    F.tanh(x(3, 4))
    F.tanhshrink(x(3, 4))
    F.softsign(x(3, 4))
    F.softmax(x(3, 4), 1)
    F.softmax(x(3, 4), 0)
    F.softmax(x.strided(3, 4, 2), 1)
    F.softmax(x(), 0)
    F.softmax(x(0, 4), 1)
    F.softmax(x(3, 4, dtype="float32"), 1, dtype=T.float64)
    F.log_softmax(x(3, 4), 1)
    F.log_softmax(x(3, 4), 0)
    F.log_softmax(x.strided(3, 4, 2), -2)
    F.log_softmax(x(), 0)
    F.log_softmax(x(3, 4, dtype="float32"), 1, dtype=T.float64)
    F.softmin(x(3, 4), 1)
    F.softmax(x.of([[1.0, -inf, 2.0], [0.0, 0.0, 500.0]]), 1)
""")

NORMALIZATIONS = cases("""
    F.layer_norm(x(3, 4), (4,))
    F.layer_norm(x(3, 4), (4,), x(4), x(4))
    F.layer_norm(x(2, 3, 4), (3, 4), x(3, 4))
    F.layer_norm(x.strided(2, 3, 4), (4,), x(4), x(4))
    F.layer_norm(x(4), (4,), x(4), x(4))
    F.layer_norm(x(0, 4), (4,), x(4), x(4))
    F.layer_norm(x(3, 4, dtype="float32"), (4,), x(4, dtype="float32"), x(4, dtype="float32"))
    F.group_norm(x(2, 6, 4), 3)
    F.group_norm(x(2, 6, 4), 2, x(6), x(6))
    F.group_norm(x(2, 6, 2, 3), 6, x(6))
    F.group_norm(x.strided(2, 6, 2, 3), 1, x(6), x(6), eps=0.1)
    F.batch_norm(x(4, 3), None, None, training=True)
    F.batch_norm(x(4, 3), None, None, x(3), x(3), training=True)
    F.batch_norm(x(4, 3, 2), None, None, x(3), x(3), training=True, eps=0.1)
    F.batch_norm(x(4, 3, 2, 2), x(3).detach(), x.uniform(3).detach(), x(3), x(3), training=True)
    F.batch_norm(x.strided(4, 3, 2, 2), None, None, x(3), x(3), training=True)
    F.batch_norm(x(4, 3, 2, 2), x(3).detach(), x.uniform(3).detach(), x(3), x(3))
    F.batch_norm(x(4, 3), x(3).detach(), x.uniform(3).detach(), x(3))
    F.batch_norm(x(4, 3), x(3).detach(), x.uniform(3).detach())
    F.normalize(x(3, 4))
    F.normalize(x(3, 4), p=1, dim=0)
    F.normalize(x(3, 4), p=3.0, dim=1, eps=0.1)
""")

LOOKUPS = cases("""
    F.embedding(x.index(0, 2, 2, 1), x(4, 3))
    F.embedding(x.index([0, 2], [2, 2]), x(4, 3))
    F.embedding(x.index([0, 2], [2, 2]), x(4, 3), padding_idx=2)
    F.embedding(x.index(3, 3), x(4, 3), padding_idx=-1)
    F.embedding(x.index(1), x.strided(4, 3))
    F.one_hot(x.index(0, 2, 1), 3) * x(3, 3)
""")

ATTENTION = cases("""
    F.scaled_dot_product_attention(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6))
    F.scaled_dot_product_attention(x(2, 3, 4), x(2, 3, 4), x(2, 3, 4), is_causal=True)
    F.scaled_dot_product_attention(x(2, 3, 4), x(2, 5, 4), x(2, 5, 4), x(3, 5))
    F.scaled_dot_product_attention(x(2, 3, 4), x(2, 5, 4), x(2, 5, 4), T.ones(3, 5).tril() > 0)
    F.scaled_dot_product_attention(x(2, 3, 4), x(2, 5, 4), x(2, 5, 4), scale=0.3)
""")


@pytest.mark.parametrize("line", ACTIVATIONS)
def test_activations(line: str) -> None:
    check_gradients(expression(line))


@pytest.mark.parametrize("line", NORMALIZATIONS)
def test_normalizations(line: str) -> None:
    check_gradients(
        expression(line),
        rtol=1e-6 if "float32" not in line else 1e-4,
        atol=1e-7 if "float32" not in line else 1e-4,
    )


@pytest.mark.parametrize("line", LOOKUPS)
def test_lookups(line: str) -> None:
    check_gradients(expression(line))


@pytest.mark.parametrize("line", ATTENTION)
def test_attention(line: str) -> None:
    check_gradients(expression(line), names=False)


# Second derivatives that PyTorch has not (flash attention), cannot compute (a bias without a
# weight, nothing to look up), forgets a factor of (scale_grad_by_freq), or gets wrong (the
# reciprocal standard deviation); ours are checked by gradcheck.
FIRST_ONLY = cases("""
    F.layer_norm(x(2, 3, 4), (3, 4), None, x(3, 4), eps=0.1)
    F.embedding(x.labels(0, classes=2), x(4, 3))
    F.embedding(x.index(1, 1, 2), x(4, 3), scale_grad_by_freq=True)
    F.scaled_dot_product_attention(x(2, 2, 3, 4), x(2, 2, 5, 4), x(2, 2, 5, 4), scale=0.3)
    F.scaled_dot_product_attention(x(1, 4, 3, 2), x(1, 2, 5, 2), x(1, 2, 5, 2), enable_gqa=True)
    T.native_group_norm(x(2, 6, 4), x(6), x(6), 2, 6, 4, 3, 1e-5)
    T.native_group_norm(x(2, 6, 4), None, None, 2, 6, 4, 3, 1e-5)[1:]
""")


@pytest.mark.parametrize("line", FIRST_ONLY)
def test_first_derivatives(line: str) -> None:
    check_gradients(
        expression(line), second=False, names="attention" not in line, rtol=1e-8, atol=1e-8
    )


SECOND = {
    "layer norm, bias only": lambda x: F.layer_norm(
        x, (4,), None, internals.ones(4, dtype=x.dtype)
    ),
    "statistics": lambda x: sum(
        s.sum() for s in internals.native_group_norm(x, None, None, 3, 4, 1, 2, 1e-5)[1:]
    ),
    "by frequency": lambda x: ops.embedding_dense_backward(
        x, internals.tensor([1, 1, 2]), 4, -1, True
    ),
    "attention": lambda x: F.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None], scale=0.3
    ),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str) -> None:
    internals.manual_seed(0)
    x = internals.randn(3, 4, dtype=internals.float64, requires_grad=True)
    assert internals.autograd.gradcheck(SECOND[name], (x,))
    assert internals.autograd.gradgradcheck(SECOND[name], (x,))


NORMS: dict[str, Any] = {
    "layer": lambda x, w: F.layer_norm(x, (3,), w, eps=0.1),
    "group": lambda x, w: F.group_norm(x, 1, w, eps=0.1),
    "batch": lambda x, w: F.batch_norm(x, None, None, w, training=True, eps=0.1),
    "batch, evaluation": lambda x, w: F.batch_norm(
        x, internals.zeros_like(w.detach()), internals.ones_like(w.detach()), w
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_three_times(name: str) -> None:
    """The second derivative of a norm can be differentiated again: the statistics are followed, not
    taken for constants.
    """
    internals.manual_seed(0)
    x = internals.randn(2, 3, dtype=internals.float64, requires_grad=True)
    w = internals.randn(3, dtype=internals.float64, requires_grad=True)

    def first(x: Any, w: Any) -> Any:
        return internals.autograd.grad(NORMS[name](x, w).tanh().sum(), (x, w), create_graph=True)

    assert internals.autograd.gradcheck(first, (x, w))
    assert internals.autograd.gradgradcheck(first, (x, w))


@pytest.mark.parametrize("name", ["leaky_relu", "elu"])
def test_in_place_twins(name: str) -> None:
    """They share the entry of the functional operator, which keeps a copy of what is overwritten.

    In PyTorch they have entries of their own (LeakyReluBackward1), which use the result and so
    refuse negative slopes.
    """
    check_gradients(
        lambda T, x: getattr(T.nn.functional, name)(x(3, 4) * 1, 0.3, inplace=True), names=False
    )
    x = internals.tensor([-1.0, 2.0], requires_grad=True)
    getattr(F, name)(x * 1, -0.5, inplace=True).sum().backward()
    y = x.detach().requires_grad_()
    getattr(F, name)(y, -0.5).sum().backward()
    assert internals.equal(x.grad, y.grad)


def test_dropout_gives_back_what_was_kept() -> None:
    internals.manual_seed(0)
    x = internals.ones(20, 20, requires_grad=True)
    y = F.dropout(x, 0.25)
    y.backward(internals.ones(20, 20))
    assert internals.equal(x.grad, y.detach())
    assert y.grad_fn.name() == "MulBackward0"
    x.grad = None
    F.dropout(x, 0.25, training=False).sum().backward()
    assert internals.equal(x.grad, internals.ones(20, 20))


def test_batch_norm_may_be_used_twice_before_backward() -> None:
    """The running statistics are changed by the second call; in training the first one's gradient
    does not need them.
    """
    x = internals.randn(4, 3, requires_grad=True)
    mean, var = internals.zeros(3), internals.ones(3)
    first = F.batch_norm(x, mean, var, training=True)
    second = F.batch_norm(x, mean, var, training=True)
    (first * first).sum().backward(retain_graph=True)
    (second * first).sum().backward()
    assert x.grad is not None and not internals.equal(mean, internals.zeros(3))


def test_embedding_renorm_has_no_derivative() -> None:
    x = internals.randn(4, 3, requires_grad=True)
    y = x * 2
    internals.embedding_renorm_(y, internals.tensor([0, 1]), 0.5, 2.0)
    assert y.grad_fn.name() == "EmbeddingRenormBackward0"
    with pytest.raises(
        NotImplementedError, match="the derivative for 'embedding_renorm' is not implemented"
    ):
        y.sum().backward()


@examples(20)
@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=8), st.integers(0, 2**31))
def test_gradients_of_log_softmax_add_up_to_nothing(values: list[float], seed: int) -> None:
    """A constant added to all logits changes nothing."""
    x = internals.tensor(values, dtype=internals.float64, requires_grad=True)
    g = internals.randn(
        len(values), dtype=internals.float64, generator=internals.Generator().manual_seed(seed)
    )
    F.log_softmax(x, 0).backward(g)
    np.testing.assert_allclose(
        to_numpy(x.grad).sum(), 0, atol=1e-12 * (1 + float(np.abs(to_numpy(g)).sum()))
    )
