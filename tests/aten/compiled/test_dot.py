"""Products with a transposed matrix by machine code: against BLAS in double precision, at sizes on
both sides of the tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import internals as torch
from internals.aten.compiled import gemm
from internals.machine_code.settings import compiled_kernels

FLOATS = [torch.float32, torch.float64]


def close(found: Any, right: np.ndarray, terms: int) -> bool:
    eps = np.finfo(found.numpy().dtype).eps
    return bool(
        np.abs(found.numpy() - right).max() <= 4 * eps * terms**0.5 * max(1, np.abs(right).max())
    )


def factors(rows: int, terms: int, columns: int, dtype: Any) -> list[Any]:
    torch.manual_seed(rows + terms + columns)
    return [
        torch.randn(*sizes, dtype=dtype) for sizes in ((rows, terms), (columns, terms), (columns,))
    ]


def exact(x: Any, w: Any, bias: Any = 0.0) -> np.ndarray:
    bias = bias if isinstance(bias, float) else bias.numpy()
    return x.numpy().astype(np.float64) @ w.numpy().T.astype(np.float64) + bias


def serves(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What `dot` says from now on, call by call."""
    said: list[bool] = []
    real = gemm.dot

    def told(*args: Any) -> bool:
        said.append(real(*args))
        return said[-1]

    monkeypatch.setattr(gemm, "dot", told)
    return said


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("rows", "terms", "columns"),
    [
        (64, 784, 128),
        (33, 1001, 130),
        (16, 512, 512),
        (128, 256, 129),
        (2, 1024, 1024),
        (3, 1001, 800),
    ],
)
def test_linear_of_few_rows(
    rows: int, terms: int, columns: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = serves(monkeypatch)
    x, w, bias = factors(rows, terms, columns, dtype)
    assert close(torch.nn.functional.linear(x, w, bias), exact(x, w, bias), terms)
    assert close(torch.mm(x, w.t()), exact(x, w), terms)
    assert close(
        torch.nn.functional.linear(x, w, bias[:1].expand(columns)), exact(x, w, bias[:1]), terms
    )
    assert said == [True] * 3
    with compiled_kernels(False):
        assert close(torch.nn.functional.linear(x, w, bias), exact(x, w, bias), terms)
    assert len(said) == 3


@settings(deadline=None, max_examples=60)
@given(
    st.integers(4, 13),
    st.integers(1, 70),
    st.integers(6, 25),
    st.sampled_from(FLOATS),
    st.booleans(),
)
def test_any_size_from_a_tile_on(
    rows: int, terms: int, columns: int, dtype: Any, apart: bool
) -> None:
    x, w, bias = factors(rows, terms + 3, columns, dtype)
    x, w = (x[:, 3:], w[:, 3:]) if apart else (x[:, 3:].contiguous(), w[:, 3:].contiguous())
    out = torch.full((rows, columns), float("nan"), dtype=dtype)
    with compiled_kernels(threshold=0):
        assert gemm.dot(x, w.t(), bias, out)
    assert close(out, exact(x, w, bias), terms)


def test_nothing_is_read_or_written_beyond_the_ends() -> None:
    """All around lie NaNs, which one product would let in."""
    memory = torch.full((3, 40, 50), float("nan"))
    x, w, out = memory[0, :7, :19], memory[1, :11, :19], torch.empty(7, 11)
    x.fill_(2.0)
    w.fill_(3.0)
    with compiled_kernels(threshold=0):
        assert gemm.dot(x, w.t(), None, out)
    assert bool((out == 2 * 3 * 19).all())


def test_not_a_number_and_signs_go_through() -> None:
    x, w, _ = factors(8, 300, 16, torch.float32)
    x[2, 299], w[5, 0], x[3] = float("nan"), float("inf"), 0.0
    with compiled_kernels(threshold=0):
        found = torch.mm(x, w.t()).numpy()
    with np.errstate(all="ignore"):
        right = x.numpy() @ w.numpy().T
    assert np.array_equal(np.isnan(found), np.isnan(right))
    assert np.array_equal(np.isinf(found), np.isinf(right))


def test_two_threads_give_the_same_bits_as_one() -> None:
    x, w, bias = factors(64, 784, 512, torch.float32)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = torch.addmm(bias, x, w.t())
        torch.set_num_threads(2)
        assert torch.equal(torch.addmm(bias, x, w.t()), alone)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((200, 256), (256, 256)),
        ((64, 64), (256, 64)),
        ((2, 784), (256, 784)),
        ((64, 4096), (128, 4096)),
    ],
    ids=["many rows", "few terms", "less than a tile", "too large for the cache"],
)
def test_the_others_go_to_blas(
    a: tuple[int, int], b: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = serves(monkeypatch)
    x, w = torch.randn(*a), torch.randn(*b)
    assert close(x @ w.t(), exact(x, w), a[1])
    assert True not in said


def test_gradients_of_a_layer() -> None:
    x, w, bias = (t.requires_grad_() for t in factors(32, 512, 256, torch.float64))
    y = torch.nn.functional.linear(x, w, bias)
    y.backward(torch.ones_like(y))
    assert close(x.grad, np.ones((32, 256)) @ w.detach().numpy(), 256)
    assert close(w.grad, np.ones((256, 32)) @ x.detach().numpy(), 32)
    assert close(bias.grad, np.full(256, 32.0), 1)
