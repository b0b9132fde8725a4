"""Scaled dot-product attention: side by side with PyTorch, and against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import internals
from internals.nn import functional as F
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, to_numpy

VALUES = [
    text.replace("SDPA", "F.scaled_dot_product_attention")
    for text in cases("""
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6))
    SDPA(x(3, 4), x(5, 4), x(5, 6))
    SDPA(x(2, 8, 3, 4), x(2, 8, 5, 4), x(2, 8, 5, 4))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), x(3, 5))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), x(2, 3, 5))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), x(3, 5, dtype="bool"))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6),
        attn_mask=x.of([[True] * 5, [False] * 5, [True, False] * 2 + [True]], "bool"))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), is_causal=True)
    SDPA(x(2, 5, 4), x(2, 3, 4), x(2, 3, 6), is_causal=True)
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), scale=0.1)
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), scale=-0.7)
    SDPA(x(2, 3, 4), x(1, 5, 4), x(1, 5, 6))
    SDPA(x(2, 3, 4, dtype="float64"), x(2, 5, 4, dtype="float64"), x(2, 5, 6, dtype="float64"))
    SDPA(x(2, 3, 4, dtype="float16"), x(2, 5, 4, dtype="float16"), x(2, 5, 6, dtype="float16"))
    SDPA(x(1, 8, 3, 4), x(1, 2, 5, 4), x(1, 2, 5, 4), enable_gqa=True)
    SDPA(x(1, 8, 3, 4), x(1, 2, 5, 4), x(1, 4, 5, 4), enable_gqa=True)
    SDPA(query=x(3, 4), key=x(5, 4), value=x(5, 6), dropout_p=0.0)
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), x(3, 5, dtype="int64"))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), x(3, 5, dtype="float64"))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 6), x(3, 5), is_causal=True)
    SDPA(x(4), x(5, 4), x(5, 6))
    SDPA(x(2, 3, 4, dtype="float64"), x(2, 5, 4), x(2, 5, 6))
    SDPA(x(2, 3, 4), x(2, 5, 3), x(2, 5, 6))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 6, 6))
    SDPA(x(1, 8, 3, 4), x(1, 2, 5, 4), x(1, 2, 5, 4))
    SDPA(x(2, 3, 4), x(2, 5, 4), x(2, 5, 4), dropout_p=1.5)
""")
]


@pytest.mark.parametrize("text", VALUES)
def test_as_pytorch(text: str) -> None:
    half = {"rtol": 5e-3, "atol": 5e-3} if "float16" in text else {}
    check(expression(text), **half)


def test_against_numpy() -> None:
    x = ours()
    q, k, v = x(2, 3, 4, dtype="float64"), x(2, 5, 4, dtype="float64"), x(2, 5, 6, dtype="float64")
    nq, nk, nv = map(to_numpy, (q, k, v))
    scores = np.exp(nq @ nk.swapaxes(1, 2) / 2)
    assert_same(
        F.scaled_dot_product_attention(q, k, v), scores / scores.sum(-1, keepdims=True) @ nv
    )


def test_heads_that_cannot_be_shared() -> None:
    x = ours()
    with pytest.raises(
        RuntimeError, match="key and value must divide the number of heads in query"
    ):
        F.scaled_dot_product_attention(x(1, 8, 3, 4), x(1, 3, 5, 4), x(1, 3, 5, 4), enable_gqa=True)


def test_causal_attention_does_not_see_the_future() -> None:
    x = ours()
    q, k, v = x(4, 2), x(4, 2), x(4, 3)
    before = to_numpy(F.scaled_dot_product_attention(q, k, v, is_causal=True))
    v[3] = 100.0
    k[3] = -7.0
    after = to_numpy(F.scaled_dot_product_attention(q, k, v, is_causal=True))
    np.testing.assert_array_equal(before[:3], after[:3])
    assert (before[3] != after[3]).all()


def test_dropout_is_drawn_from_the_default_generator() -> None:
    x = ours()
    q, k, v = x(2, 3, 4), x(2, 5, 4), x(2, 5, 6)
    internals.manual_seed(3)
    first = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    internals.manual_seed(3)
    assert_same(F.scaled_dot_product_attention(q, k, v, dropout_p=0.5), to_numpy(first))
