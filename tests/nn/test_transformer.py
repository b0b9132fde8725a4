"""Attention and transformers as layers: side by side with PyTorch, and by what must hold of
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals import nn
from internals.nn import functional as F
from tests.nn.layers import compare, layer_tests
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, examples, to_numpy

CASES = cases("""
    nn.MultiheadAttention(8, 2) >> m(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8))
    nn.MultiheadAttention(8, 2) >> (lambda q: m(q, q, q))(x(5, 3, 8))
    nn.MultiheadAttention(8, 2) >> (lambda q, k: m(q, k, k))(x(5, 3, 8), x(4, 3, 8))
    nn.MultiheadAttention(8, 2) >> (lambda q: m(q, q, q))(x(5, 8))
    nn.MultiheadAttention(8, 4, batch_first=True)
        >> (lambda q: m(q, q, q, average_attn_weights=False))(x(3, 5, 8))
    nn.MultiheadAttention(8, 4, batch_first=True)
        >> (lambda q: m(q, q, q, need_weights=False))(x(3, 5, 8))
    nn.MultiheadAttention(8, 2, bias=False)
        >> m(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), need_weights=False)
    nn.MultiheadAttention(8, 2, kdim=6, vdim=7) >> m(x(5, 3, 8), x(4, 3, 6), x(4, 3, 7))
    nn.MultiheadAttention(8, 2, kdim=6, bias=False) >> m(x(5, 8), x(4, 6), x(4, 8))
    nn.MultiheadAttention(8, 2, add_bias_kv=True) >> m(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8))
    nn.MultiheadAttention(8, 2, add_zero_attn=True) >> m(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8))
    nn.MultiheadAttention(8, 2, 0, True, True, True)
        >> m(x(5, 2, 8), x(4, 2, 8), x(4, 2, 8), padding(2, 4), attn_mask=mask(5, 4))
    nn.MultiheadAttention(8, 2, 0.3) >> m(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8))
    nn.MultiheadAttention(8, 2, 0.3) >> m(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), need_weights=False)
    nn.MultiheadAttention(8, 2)
        >> m(x(5, 2, 8), x(4, 2, 8), x(4, 2, 8), key_padding_mask=padding(2, 4))
    nn.MultiheadAttention(8, 2) >> m(x(5, 2, 8), x(4, 2, 8), x(4, 2, 8), padding(2, 4), False)
    nn.MultiheadAttention(8, 2) >> m(x(5, 2, 8), x(4, 2, 8), x(4, 2, 8), attn_mask=mask(5, 4))
    nn.MultiheadAttention(8, 2)
        >> m(x(5, 2, 8), x(4, 2, 8), x(4, 2, 8), attn_mask=mask(4, 5, 4).float())
    nn.MultiheadAttention(8, 2)
        >> m(x(5, 2, 8), x(4, 2, 8), x(4, 2, 8), padding(2, 4), False, mask(4, 5, 4))
    nn.MultiheadAttention(8, 2)
        >> m(x(5, 8), x(4, 8), x(4, 8), padding(1, 4)[0], attn_mask=mask(2, 5, 4))
    nn.MultiheadAttention(8, 2) >> (lambda q: m(q, q, q, attn_mask=causal(5), is_causal=True,
        need_weights=False))(x(5, 2, 8))
    nn.MultiheadAttention(8, 2)
        >> (lambda q: m(q, q, q, attn_mask=causal(5), is_causal=True))(x(5, 2, 8))
    nn.MultiheadAttention(8, 1, dtype=T.float64)
        >> (lambda q: m(q, q, q))(x(5, 3, 8, dtype="float64"))
    nn.TransformerEncoderLayer(8, 2, 12) >> m(x(5, 3, 8))
    nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", 1e-3, True, True, False) >> m(x(3, 5, 8))
    nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True)
        >> m(x(2, 5, 8), src_key_padding_mask=padding(2, 5))
    nn.TransformerEncoderLayer(8, 2, 12, 0.0) >> m(x(5, 2, 8), causal(5), is_causal=True)
    nn.TransformerEncoderLayer(8, 4, 12, 0.3, F.gelu) >> m(x(5, 8), mask(5, 5))
    nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 2, enable_nested_tensor=False)
        >> m(x(5, 3, 8))
    nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, 0.0), 2, nn.LayerNorm(8), False)
        >> m(x(5, 2, 8), causal(5))
    nn.TransformerDecoderLayer(8, 2, 12, 0.1) >> m(x(5, 3, 8), x(4, 3, 8))
    nn.TransformerDecoderLayer(8, 2, 12, 0.0, "gelu", 1e-5, True, True)
        >> m(x(2, 5, 8), x(2, 4, 8), causal(5), mask(5, 4))
    nn.TransformerDecoderLayer(8, 2, 12, 0.0)
        >> m(x(5, 2, 8), x(4, 2, 8), memory_key_padding_mask=padding(2, 4))
    nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12), 2, nn.LayerNorm(8))
        >> m(x(5, 3, 8), x(4, 3, 8), causal(5))
    nn.Transformer(8, 2, 1, 2, 12, 0.1) >> m(x(4, 3, 8), x(5, 3, 8), tgt_mask=causal(5))
    nn.Transformer(8, 2, 1, 1, 12, 0.0, "gelu", batch_first=True, bias=False)
        >> m(x(3, 4, 8), x(3, 5, 8))
""")
test_as_pytorch, test_gradients_as_pytorch = layer_tests(CASES)


@given(st.sampled_from([1, 2, 4]), st.sampled_from([None, 3, 4]), st.tuples(*[st.booleans()] * 8))
@examples(25)
def test_any_attention_as_pytorch(heads: int, kdim: int | None, flags: tuple[bool, ...]) -> None:
    bias, bias_kv, zero, batch_first, weights, average, masked, padded = flags
    build = (
        f"nn.MultiheadAttention(4, {heads}, 0.2, {bias}, {bias_kv}, {zero}, {kdim}, {kdim}, "
        f"{batch_first})"
    )
    key = f"{'2, 5' if batch_first else '5, 2'}, {kdim or 4}"
    call = (
        f"x({'2, 3' if batch_first else '3, 2'}, 4), x({key}), x({key}), "
        f"{'padding(2, 5)' if padded else None}"
    )
    call += f", {weights}, {'mask(3, 5)' if masked else None}, {average}"
    compare(f"{build} >> m({call})", training=True, gradients=True)


ERRORS = cases("""
    T.nn.MultiheadAttention(0, 2)
    T.nn.MultiheadAttention(8, 0)
    T.nn.MultiheadAttention(8, 3)
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 7), x(5, 3, 7), x(5, 3, 7))
    T.nn.MultiheadAttention(8, 2)(x(8), x(8), x(8))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(5, 8), x(5, 8))
    T.nn.MultiheadAttention(8, 2)(x(5, 8), x(5, 3, 8), x(5, 3, 8))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(5, 3, 8))
    T.nn.MultiheadAttention(8, 2, kdim=6)(x(5, 3, 8), x(4, 3, 6), x(5, 3, 8))
    T.nn.MultiheadAttention(8, 2, kdim=6)(x(5, 3, 8), x(4, 3, 7), x(4, 3, 8))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), x(4))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), x(2, 4))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), x(3, 5))
    T.nn.MultiheadAttention(8, 2)(x(5, 8), x(4, 8), x(4, 8), x(1, 4))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), attn_mask=x(4))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), attn_mask=x(5, 5))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), attn_mask=x(3, 5, 4))
    T.nn.MultiheadAttention(8, 2)(x(5, 8), x(4, 8), x(4, 8), attn_mask=x(3, 5, 4))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8),
        attn_mask=x(5, 4, dtype="int64"))
    T.nn.MultiheadAttention(8, 2)(x(5, 3, 8), x(4, 3, 8), x(4, 3, 8), is_causal=True)
    T.nn.TransformerEncoderLayer(8, 2, activation="tanh")
    T.nn.TransformerDecoderLayer(8, 2, activation="tanh")
    T.nn.Transformer(8, 2, 1, 1, 12)(x(4, 3, 8), x(5, 2, 8))
    T.nn.Transformer(8, 2, 1, 1, 12)(x(4, 3, 8), x(5, 3, 7))
""")


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    check(expression(text))


def test_masks_of_different_types_warn() -> None:
    layer = nn.MultiheadAttention(8, 2)
    q = ours()(5, 2, 8)
    padding = internals.zeros(2, 5, dtype=internals.bool)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        layer(q, q, q, padding, attn_mask=internals.zeros(5, 5))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.sampled_from([1, 2, 4]))
@examples(20)
def test_attention_against_numpy(length: int, source: int, batch: int, heads: int) -> None:
    layer = nn.MultiheadAttention(8, heads, dtype=internals.float64)
    x = ours()
    q, k = x(length, batch, 8, dtype="float64"), x(source, batch, 8, dtype="float64")
    output, weights = layer(q, k, k)
    w, b = to_numpy(layer.in_proj_weight), to_numpy(layer.in_proj_bias)
    parts = zip((q, k, k), np.split(w, 3), np.split(b, 3))
    nq, nk, nv = (split(to_numpy(t) @ matrix.T + bias, heads) for t, matrix, bias in parts)
    scores = np.exp(nq @ nk.swapaxes(-2, -1) / np.sqrt(8 / heads))
    expected = scores / scores.sum(-1, keepdims=True)
    seen = (expected @ nv).transpose(2, 0, 1, 3).reshape(length, batch, 8)
    assert_same(weights, expected.mean(1))
    assert_same(output, seen @ to_numpy(layer.out_proj.weight).T + to_numpy(layer.out_proj.bias))


def split(a: np.ndarray, heads: int) -> np.ndarray:
    """(L, N, E) to (N, heads, L, E / heads)."""
    length, batch, features = a.shape
    return a.reshape(length, batch, heads, features // heads).transpose(1, 2, 0, 3)


@given(st.integers(2, 5), st.integers(1, 3), st.booleans())
@examples(15)
def test_the_same_with_and_without_weights_and_projected_together(
    length: int, batch: int, batch_first: bool
) -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first, dtype=internals.float64)
    q = (
        ours()(batch, length, 8, dtype="float64")
        if batch_first
        else ours()(length, batch, 8, dtype="float64")
    )
    together, weights = layer(q, q, q)
    assert weights.shape == (batch, length, length)
    np.testing.assert_allclose(to_numpy(weights).sum(-1), 1)
    without, nothing = layer(q, q, q, need_weights=False)
    assert nothing is None
    assert_same(without, to_numpy(together))
    assert_same(layer(q, q.clone(), q.clone())[0], to_numpy(together))
    k = q.clone()
    assert_same(layer(q, k, k)[0], to_numpy(together))


@given(st.integers(2, 6), st.booleans())
@examples(15)
def test_nobody_sees_the_future(length: int, norm_first: bool) -> None:
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 12, norm_first=norm_first, batch_first=True),
        2,
        enable_nested_tensor=False,
    ).eval()
    x = ours()
    a, b = x(1, length, 8), x(1, length, 8)
    b[:, : length - 1] = a[:, : length - 1]  # they differ in the last position
    mask = nn.Transformer.generate_square_subsequent_mask(length)
    before, after = (to_numpy(encoder(t, mask)) for t in (a, b))
    np.testing.assert_allclose(before[:, :-1], after[:, :-1], rtol=1e-5, atol=1e-6)
    assert not np.allclose(before[:, -1], after[:, -1])
    # unmasked, everybody does
    assert not np.allclose(to_numpy(encoder(a))[:, 0], to_numpy(encoder(b))[:, 0])


def test_nobody_sees_padding() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True).eval()
    x = ours()(2, 5, 8)
    other = x.clone()
    other[0, 3:] = 7
    padding = internals.tensor([[False] * 3 + [True] * 2, [False] * 5])
    a, b = (to_numpy(layer(t, src_key_padding_mask=padding)) for t in (x, other))
    np.testing.assert_allclose(a[0, :3], b[0, :3], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(a[1], b[1])


def test_the_causal_mask() -> None:
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    inf = np.inf
    assert to_numpy(mask).tolist() == [[0, -inf, -inf], [0, 0, -inf], [0, 0, 0]]
    assert (
        nn.Transformer.generate_square_subsequent_mask(2, dtype=internals.float64).dtype
        is internals.float64
    )


def test_layers_of_a_stack_start_alike_and_are_their_own() -> None:
    encoder: Any = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 12), 2, enable_nested_tensor=False
    )
    first, second = encoder.layers
    assert_same(first.linear1.weight, to_numpy(second.linear1.weight))
    assert first.linear1.weight.data_ptr() != second.linear1.weight.data_ptr()


def test_projected_keys_can_be_given() -> None:
    """`static_k` and `static_v` are (N * heads, S, E / heads), after the projection."""
    layer = nn.MultiheadAttention(4, 2)
    x = ours()
    q, k = x(3, 1, 4), x(5, 1, 4)
    w, b = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    static_k, static_v = (F.linear(k, w[i], b[i]).view(5, 2, 2).transpose(0, 1) for i in (1, 2))

    def attend(**static: Any) -> Any:
        return F.multi_head_attention_forward(
            q, k, k, 4, 2, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0,
            layer.out_proj.weight, layer.out_proj.bias, **static,
        )[0]  # fmt: skip

    assert_same(attend(static_k=static_k, static_v=static_v), to_numpy(layer(q, k, k)[0]))
    with pytest.raises(AssertionError, match=r"expecting static_k.size\(0\) of 2, but got 1"):
        attend(static_k=static_k[:1])
