"""Products of batches and attention by machine code: against double precision, BLAS, and PyTorch,
at sizes around the tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import internals as torch
from internals.aten.compiled import attention, gemm
from internals.aten.compiled.gemm_code import Gemm, Tile
from internals.aten.compiled.registers import Vector
from internals.machine_code.settings import compiled_kernels
from internals.nn.functional import scaled_dot_product_attention
from tests.core.large_results import few_numbers
from tests.support import assert_same_outcome

FLOATS = [torch.float32, torch.float64]
ORDERS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0)]


def made(seed: int, dtype: Any, sizes: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """Random numbers of these sizes, whose dimensions lie in memory in another order, with gaps."""
    numbers = np.random.default_rng(seed).standard_normal([sizes[d] + 1 for d in order])
    t = torch.tensor(numbers.astype(dtype.np))
    return t.permute([order.index(d) for d in range(len(sizes))])[
        tuple(slice(1, None) for _ in sizes)
    ]


def close(found: Any, right: np.ndarray, terms: int) -> bool:
    eps = np.finfo(found.numpy().dtype).eps
    return found.shape == right.shape and bool(
        np.abs(found.numpy() - right).max(initial=0) <= 8 * eps * (terms + 4)
    )


def exact(*tensors: Any) -> list[np.ndarray]:
    return [t.numpy().astype(np.longdouble) for t in tensors]


def product(a: Any, b: Any) -> np.ndarray:
    x, y = exact(a, b)
    return np.einsum("brk,bkc->brc", x, y)


sizes = st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(1, 19), st.integers(1, 70))


@settings(deadline=None, max_examples=120)
@given(sizes, st.sampled_from(ORDERS), st.sampled_from(ORDERS), st.sampled_from(FLOATS))
def test_any_size_and_strides(sizes: tuple[int, ...], of_a: Any, of_b: Any, dtype: Any) -> None:
    batch, rows, terms, columns = sizes
    a, b = made(1, dtype, (batch, rows, terms), of_a), made(2, dtype, (batch, terms, columns), of_b)
    out = torch.full((batch, rows, columns), float("nan"), dtype=dtype)
    with compiled_kernels(threshold=0):
        assert gemm.bmm(a, b, out)
    assert close(out, product(a, b), terms)
    with compiled_kernels(False):
        assert close(torch.bmm(a, b), product(a, b), terms)


@settings(deadline=None, max_examples=30)
@given(sizes, st.sampled_from(FLOATS), st.data())
def test_every_tile(sizes: tuple[int, ...], dtype: Any, data: Any) -> None:
    """Also those that would not be chosen, and those of other processors."""
    batch, rows, terms, columns = sizes
    a, b = (
        made(1, dtype, (batch, rows, terms), ORDERS[0]),
        made(2, dtype, (batch, terms, columns), ORDERS[0]),
    )
    memory = torch.full((batch, rows, columns + 2), float("nan"), dtype=dtype)
    tile = data.draw(st.sampled_from(gemm.tiles(dtype)))
    two, some = Vector(tile.vector.number, 2), Vector(tile.vector.number, 32 // dtype.itemsize)
    tile = data.draw(st.sampled_from([tile, tile._replace(vector=two), Tile(some, 6, 2, 1)]))
    offsets, (a_matrix, a_row, a_term) = gemm.rows_apart(terms, b.stride(1)), a.stride()
    g = Gemm(
        a.data_ptr(), b.data_ptr(), offsets.address, memory.data_ptr(), rows, columns, terms,
        columns, a_row, a_term, memory.stride(1), b.stride(0), memory.stride(0), a_matrix,
        factor=-0.5,
    )  # fmt: skip
    gemm.entry(tile)(0, batch * -(-rows // tile.rows), *g)
    assert close(memory[:, :, :columns].contiguous(), -0.5 * product(a, b), terms)
    assert bool(memory[:, :, columns:].isnan().all())  # nothing is written behind the rows


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "shape", [(64, 8, 8, 8), (3, 197, 64, 197), (5, 33, 100, 1), (4, 1, 65, 129)], ids=str
)
def test_operators_of_some_size(shape: tuple[int, ...], dtype: Any) -> None:
    batch, rows, terms, columns = shape
    for order in ORDERS[:2]:
        a, b = (
            made(3, dtype, (batch, rows, terms), ORDERS[0]),
            made(4, dtype, (batch, terms, columns), order),
        )
        right, addend = product(a, b), made(5, dtype, (batch, rows, columns), order)
        assert close(torch.bmm(a, b), right, terms)
        assert close(torch.matmul(a[None], b), right[None], terms)
        assert close(torch.baddbmm(addend, a, b), right + exact(addend)[0], terms)
        assert close(
            torch.baddbmm(addend, a, b, beta=0.5, alpha=2),
            2 * right + exact(addend)[0] / 2,
            2 * terms,
        )
        assert close(addend.clone().baddbmm_(a, b), right + exact(addend)[0], terms)
        out = torch.empty(batch, rows, columns, dtype=dtype)
        assert torch.bmm(a, b, out=out) is out and close(out, right, terms)


def test_expanded_batches() -> None:
    a, b = (
        made(1, torch.float32, (5, 30, 20), ORDERS[0]),
        made(2, torch.float32, (1, 20, 40), ORDERS[1]),
    )
    with compiled_kernels(threshold=0):
        assert close(torch.bmm(a, b.expand(5, 20, 40)), product(a, b.expand(5, 20, 40)), 20)
        assert close(
            torch.bmm(a[:1].expand(5, 30, 20), b.expand(5, 20, 40)),
            product(a[:1], b).repeat(5, 0),
            20,
        )


def test_small_large_and_others_stay_with_blas() -> None:
    def multiply(*sizes: int, dtype: Any = torch.float32, transposed: bool = False) -> bool:
        batch, rows, terms, columns = sizes
        b = torch.ones(batch, columns, terms, dtype=dtype).transpose(1, 2)
        b = b if transposed else b.contiguous()
        a, out = (
            torch.ones(batch, rows, terms, dtype=dtype),
            torch.empty(batch, rows, columns, dtype=dtype),
        )
        return gemm.bmm(a, b, out)

    assert (
        multiply(64, 8, 8, 8) and multiply(64, 8, 8, 8, transposed=True) and multiply(64, 1, 64, 64)
    )
    assert not multiply(2, 3, 4, 5)
    assert not multiply(2, 100, 1000, 100)
    assert not multiply(1, 4, 512, 2048)
    assert not multiply(64, 1, 64, 64, transposed=True)
    assert not multiply(64, 8, 8, 8, dtype=torch.int64)
    with compiled_kernels(False):
        assert not multiply(64, 8, 8, 8)
    with compiled_kernels(threshold=0):
        assert multiply(2, 3, 4, 5)
        for empty in ((0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)):
            a, b = torch.ones(empty[:3]), torch.ones(empty[0], *empty[2:])
            assert torch.equal(torch.bmm(a, b), torch.zeros(empty[0], empty[1], empty[3]))


def test_what_is_wrong_is_said_as_before() -> None:
    with compiled_kernels(threshold=0):
        with pytest.raises(
            RuntimeError,
            match=r"Expected size for first two dimensions of batch2 tensor to be: \[2, 4\]",
        ):
            torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6))
        with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
            torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 6, dtype=torch.float64))
        with pytest.raises(RuntimeError, match="Input dtypes must be the same"):
            torch.baddbmm(
                torch.ones(2, 3, 6, dtype=torch.float64), torch.ones(2, 3, 4), torch.ones(2, 4, 6)
            )


def test_not_a_number_and_infinity_go_through() -> None:
    a, b = (
        made(1, torch.float32, (4, 20, 30), ORDERS[0]),
        made(2, torch.float32, (4, 30, 50), ORDERS[0]),
    )
    a[0, 3, 7], a[1, 19, 0], b[2, 5, 49], b[3, 29, 0], a[3, 2] = (
        float("nan"),
        float("inf"),
        float("-inf"),
        float("nan"),
        0.0,
    )
    with compiled_kernels(threshold=0):
        found = torch.bmm(a, b).numpy()
    with np.errstate(all="ignore"):
        right = np.einsum("brk,bkc->brc", a.numpy(), b.numpy())
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    np.testing.assert_array_equal(found[np.isinf(right)], right[np.isinf(right)])
    np.testing.assert_array_equal(np.isinf(found), np.isinf(right))


def test_gradients_of_bmm() -> None:
    a, b = (
        made(i, torch.float64, s, ORDERS[1]).requires_grad_()
        for i, s in enumerate([(3, 5, 4), (3, 4, 6)])
    )
    with compiled_kernels(threshold=0):
        assert torch.autograd.gradcheck(torch.bmm, (a, b))


# Attention


def attend(q: Any, k: Any, v: Any, factor: float, is_causal: bool) -> np.ndarray:
    x, y, z = exact(q, k, v)
    with np.errstate(all="ignore"):
        scores = np.einsum("...qe,...ke->...qk", x, y) * factor
        if is_causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        weights = np.where(
            (scores == -np.inf).all(-1, keepdims=True), 0, e / e.sum(-1, keepdims=True)
        )
        return np.einsum("...qk,...kv->...qv", weights, z)


HEADS = [(0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 2, 3), (0, 1, 3, 2)]
lengths = st.tuples(*(st.integers(1, n) for n in (3, 3, 40, 40, 20, 20)))


@settings(deadline=None, max_examples=80)
@given(
    lengths,
    st.sampled_from(FLOATS),
    st.booleans(),
    st.sampled_from(HEADS),
    st.sampled_from([None, 0.3, -0.7, 0.0]),
)
def test_attention_of_any_size(
    lengths: Any, dtype: Any, is_causal: bool, order: Any, scale: float | None
) -> None:
    batch, heads, queries, keys, size, value_size = lengths
    shapes = (queries, size), (keys, size), (keys, value_size)
    q, k, v = (made(i, dtype, (batch, heads, *s), order) for i, s in enumerate(shapes))
    right = attend(q, k, v, size**-0.5 if scale is None else scale, is_causal)
    with compiled_kernels(threshold=0):
        found = scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=scale)
        flat = scaled_dot_product_attention(q[0], k[0], v[0], is_causal=is_causal, scale=scale)
    assert close(found, right, 8 * size + keys)
    assert close(flat, right[0], 8 * size + keys) and flat.is_contiguous()
    with compiled_kernels(False):
        assert close(
            scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=scale),
            right,
            8 * size + keys,
        )


@pytest.mark.parametrize(
    "case", ["causal", "heads last", "few queries", "gqa", "other values", "three dimensions"]
)
def test_attention_as_pytorch(case: str) -> None:
    given = np.random.default_rng(0).standard_normal((3, 2, 4, 100, 32)).astype(np.float32)
    q, k, v = given[0], given[1], given[2]
    q = q[:, :, :3] if case == "few queries" else q
    k, v = (k[:, :2], v[:, :2]) if case == "gqa" else (k, v)
    v = v[..., :24] if case == "other values" else v
    if case == "three dimensions":
        q, k, v = q[0], k[0], v[0]
    how = {"is_causal": case == "causal", "enable_gqa": case == "gqa"}

    def attention(library: Any) -> Any:
        tensors = [library.from_numpy(t) for t in (q, k, v)]
        if case == "heads last":
            tensors = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in tensors]
        return library.nn.functional.scaled_dot_product_attention(*tensors, **how)

    assert_same_outcome(
        lambda: few_numbers(torch, attention(torch)),
        lambda torch: few_numbers(torch, attention(torch)),
        rtol=1e-5,
        atol=1e-6,
        family="layers",
    )


def test_attention_with_strange_scores() -> None:
    """A NaN spoils its query (or, in a key, all queries), nothing to look at is nothing, and large
    scores do not overflow.
    """
    q, k, v = (made(i, torch.float32, (1, 2, 40, 16), (0, 1, 2, 3)) for i in range(3))
    q[0, 0, 5, 3], q[0, 1, 7] = float("nan"), 1e4
    q[0, 0, 9], k[0, 0, :, :] = float("-inf"), k[0, 0].abs()
    found, right = scaled_dot_product_attention(q, k, v), attend(q, k, v, 0.25, False)
    np.testing.assert_array_equal(np.isnan(found.numpy()), np.isnan(right))
    assert bool(found[0, 0, 5].isnan().all()) and not bool(found[0, 0, 4].isnan().any())
    assert not found[0, 0, 9].any()
    np.testing.assert_allclose(
        np.nan_to_num(found.numpy()), np.nan_to_num(right.astype(np.float64)), rtol=1e-3, atol=1e-4
    )


def test_who_needs_gradients_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    real = attention.attend
    monkeypatch.setattr(attention, "attend", lambda *args: asked.append(real(*args)) or asked[-1])
    q, k, v = (made(i, torch.float32, (2, 3, 50, 16), (0, 1, 2, 3)) for i in range(3))
    plain = scaled_dot_product_attention(q, k, v)
    assert asked == [True]
    recorded = scaled_dot_product_attention(q, k.requires_grad_(), v)
    assert asked == [True] and recorded.requires_grad
    assert close(recorded.detach(), plain.numpy(), 200)
    with torch.no_grad():
        assert torch.equal(scaled_dot_product_attention(q, k, v), plain)
    scaled_dot_product_attention(q, k, v, torch.zeros(50, 50))
    assert asked == [True, True]


def test_two_threads_give_the_same_bits_as_one() -> None:
    q, k, v = (made(i, torch.float32, (2, 3, 197, 64), (0, 1, 2, 3)) for i in range(3))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = scaled_dot_product_attention(q, k, v), torch.matmul(q, k.mT)
        torch.set_num_threads(2)
        for _ in range(5):
            assert torch.equal(scaled_dot_product_attention(q, k, v), alone[0])
            assert torch.equal(torch.matmul(q, k.mT), alone[1])
    finally:
        torch.set_num_threads(before)


def test_the_source_of_the_weights_in_python() -> None:
    scores = np.random.default_rng(0).standard_normal(3 * 7).astype(np.float32)
    weights = np.full(21, np.nan, np.float32)
    source = attention.weights_of_rows.bind(
        T=np.float32, W=np.float64, **attention.keys_for(np.float32)
    )
    source(0, 3, scores, weights, 6, 7, 2, 1)
    for row in range(3):
        seen = np.exp(scores[7 * row : 7 * row + 2 + row].astype(np.float64))
        np.testing.assert_allclose(
            weights[7 * row : 7 * row + 2 + row], seen / seen.sum(), rtol=1e-5
        )
        assert not weights[7 * row + 2 + row : 7 * row + 6].any() and np.isnan(weights[7 * row + 6])
