"""Writing, converting, cloning, resizing, comparing: any dtype into any other, from any layout into
any other.

The error messages are in `golden/copying.txt`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from tests.answers import answer
from tests.aten.view_support import description
from tests.support import DTYPES, assert_same, assert_same_outcome, examples, to_numpy, to_torch

kinds = st.sampled_from(DTYPES)


@st.composite
def strided(draw: Any, kind: Any = None, shape: Any = None) -> Any:
    """A tensor with small numbers in it, behind slices and a permutation."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4)) if shape is None else list(shape)
    kind = kind or draw(kinds)
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.integers(1, 2)) for _ in shape]
    full = np.zeros([shape[d] * steps[d] for d in order])
    full[...] = np.random.default_rng(draw(st.integers(0, 999))).integers(0, 100, full.shape)
    with np.errstate(all="ignore"):
        a = full.astype(kind.np)
    index = tuple(slice(None, None, steps[d]) for d in order)
    return torch.from_numpy(a[(*index, ...)].transpose(np.argsort(order).astype(int)))


def cast(a: Any, kind: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return a.astype(kind.np)


@given(st.data(), kinds, kinds)
@examples(100)
def test_copy_casts_and_follows_both_layouts(data: Any, source: Any, target: Any) -> None:
    src = data.draw(strided(source))
    dst = data.draw(strided(target, src.shape))
    before = dst._version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert dst.copy_(src) is dst
    assert_same(dst, cast(to_numpy(src), target), rtol=0, atol=0)
    assert dst._version == before + 1


@pytest.mark.parametrize("source", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("target", DTYPES, ids=lambda d: d.name)
def test_every_cast_like_pytorch(source: Any, target: Any) -> None:
    just_above_a_tie = 1 + 2**-11 + 2**-26  # for float16, unless it is a float32 on the way
    values = torch.tensor(
        [0, 1, -1, 2.75, -2.75, 100, 1e4, just_above_a_tie], dtype=torch.float64
    ).to(source)
    if source.is_complex:
        values[0] = 1j
    assert_same_outcome(
        lambda: values.to(target),
        lambda torch: to_torch(values).to(to_torch(target)),
        rtol=0,
        atol=0,
        strides=True,
    )


def test_copy_broadcasts() -> None:
    t = torch.zeros(2, 3)
    assert t.copy_(torch.tensor([1.0, 2.0, 3.0])).tolist() == [[1, 2, 3]] * 2
    assert t.copy_(torch.tensor(7)).tolist() == [[7] * 3] * 2
    assert t.copy_(5).tolist() == [[5] * 3] * 2
    assert t[:, 1].copy_(torch.tensor([8.0, 9.0])).tolist() == [8, 9] and t.tolist() == [
        [5, 8, 5],
        [5, 9, 5],
    ]


def test_complex_to_real_warns() -> None:
    with pytest.warns(
        UserWarning, match="Casting complex values to real discards the imaginary part"
    ):
        assert torch.tensor([1 + 2j]).to(torch.float32).tolist() == [1]
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        torch.zeros(1).copy_(torch.tensor([1j]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor([1j, 0]).bool().tolist() == [True, False]  # nothing is lost


@given(strided(), st.sampled_from([None, torch.preserve_format, torch.contiguous_format]))
@examples(60)
def test_clone_has_the_values_and_memory_of_its_own(t: Any, memory_format: Any) -> None:
    c = t.clone(memory_format=memory_format)
    assert_same(c, to_numpy(t))
    assert c.untyped_storage() is not t.untyped_storage() and c._base is None and c._version == 0
    if memory_format is torch.contiguous_format:
        assert c.is_contiguous()


@given(strided(), kinds, st.sampled_from([None, torch.preserve_format, torch.contiguous_format]))
@examples(60)
def test_clone_and_to_choose_strides_as_pytorch_does(t: Any, kind: Any, memory_format: Any) -> None:
    def strides(t: Any, kind: Any, memory_format: Any) -> list[Any]:
        copies = [t.clone(memory_format=memory_format), t.to(kind), t.contiguous()]
        return [copy.stride() for copy in copies]

    given = (t, kind, memory_format)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = answer(
            lambda torch: strides(*to_torch(given)), about=description(list(given)), family="views"
        )
        assert strides(*given) == theirs


def test_to_returns_the_tensor_itself_when_nothing_changes() -> None:
    t = torch.ones(2, 3)
    same = (
        t.to("cpu"), t.to(torch.float32), t.to(t), t.to(), t.to("cpu", torch.float32),
        t.to(device="cpu"), t.float(), t.cpu(), t.type_as(t), t.contiguous(), t.to(None),
        t.type(torch.float32),
    )  # fmt: skip
    assert all(s is t for s in same)
    for copy in (t.to("cpu", copy=True), t.to(t, copy=True), t.to(torch.float32, False, True)):
        assert copy is not t and copy.tolist() == t.tolist()
    assert (
        t.to(torch.ones(1, dtype=torch.int8)).dtype
        is t.to(torch.int8).dtype
        is t.to("cpu", torch.int8).dtype
        is torch.int8
    )
    last = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    assert (
        last.is_contiguous(memory_format=torch.channels_last)
        and last.to(memory_format=torch.channels_last) is last
    )


def test_casts_by_name() -> None:
    t = torch.ones(2)
    names = {
        "double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32",
        "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64",
        "cdouble": "complex128",
    }  # fmt: skip
    for method, name in names.items():
        assert getattr(t, method)().dtype.name == name
    assert (
        t.type("torch.LongTensor").dtype
        is t.type(torch.LongTensor).dtype
        is t.type("internals.LongTensor").dtype
        is torch.int64
    )
    assert t.long().type() == "internals.LongTensor"


@pytest.mark.parametrize("kind", DTYPES, ids=lambda d: d.name)
def test_fill_and_zero(kind: Any) -> None:
    t = torch.ones(3, 4, dtype=kind)
    t[:, ::2].zero_()
    assert to_numpy(t).real.astype(int).tolist() == [[0, 1, 0, 1]] * 3
    assert t.fill_(1)._version == 2 and to_numpy(t).all()
    t.fill_(torch.tensor(0))
    assert not to_numpy(t).any()


# Resizing and other storages


@given(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=6))
@examples(40)
def test_resize_keeps_what_was_there_and_never_shrinks(shapes: list[list[int]]) -> None:
    t = torch.arange(6.0)
    size = t.untyped_storage().nbytes()
    valid = list(range(6))
    for shape in shapes:
        t.resize_(shape)
        n = int(np.prod(shape, dtype=int))
        now = t.untyped_storage().nbytes()
        assert t.shape == tuple(shape) and t.is_contiguous() and now >= size and now >= 4 * n
        kept = min(n, len(valid))
        assert np.asarray(t.clone()).reshape(-1)[:kept].tolist() == valid[:kept]
        size = now


def test_a_resized_storage_moves_all_its_tensors() -> None:
    t = torch.arange(4.0)
    view, base = t[1:3], t.untyped_storage()
    t.resize_(100_000)
    assert t.untyped_storage() is base
    t[1] = 50.0
    assert view.tolist() == [50.0, 2.0] and view.data_ptr() == t.data_ptr() + 4


def test_resize_refuses_borrowed_and_lent_memory() -> None:
    borrowed, lent = torch.from_numpy(np.zeros(3)), torch.zeros(3)
    array = lent.numpy()
    for t in (borrowed, lent):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            t.resize_(4)
        assert t.shape == (3,) and t.resize_(2).shape == (2,)
    assert array.shape == (3,)


def test_set_points_a_tensor_at_another_storage() -> None:
    t, other = torch.zeros(2), torch.arange(9.0)
    t.set_(other.untyped_storage(), 1, (2, 2), (4, 1))
    assert t.tolist() == [[1, 2], [5, 6]] and t.untyped_storage() is other.untyped_storage()
    assert t.set_(other).is_set_to(other) and t.set_(other.storage()).tolist() == other.tolist()
    assert t.set_(other, 3, (2,)).tolist() == [3, 4]
    assert t.set_().shape == (0,)
    with pytest.raises(
        RuntimeError, match="Could not set tensor of type int to a tensor of type float"
    ):
        t.set_(other.int())


# Numbers and comparisons


@given(strided())
@examples(40)
def test_tolist_and_item(t: Any) -> None:
    assert t.tolist() == to_numpy(t).tolist()
    if t.numel() == 1:
        assert t.item() == to_numpy(t).item() and type(t.item()) is type(to_numpy(t).item())


@given(st.data(), kinds)
@examples(50)
def test_equal_and_isclose_like_numpy(data: Any, kind: Any) -> None:
    a = data.draw(strided(kind))
    b = data.draw(strided(kind, a.shape))
    if data.draw(st.booleans()):
        b.copy_(a)
    x, y = to_numpy(a), to_numpy(b)
    assert torch.equal(a, b) is bool(np.array_equal(x, y)) and a.equal(b) is torch.equal(a, b)
    if kind is not torch.float16:
        with np.errstate(all="ignore"):
            close = np.isclose(x.astype(complex), y.astype(complex), rtol=0.01, atol=0.5)
        assert torch.isclose(a, b, rtol=0.01, atol=0.5).tolist() == close.tolist()
        assert torch.allclose(a, b, rtol=0.01, atol=0.5) is bool(close.all())


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("name", ["float32", "float64", "complex64"])
def test_isclose_of_special_values_like_pytorch(equal_nan: bool, name: str) -> None:
    inf, nan = float("inf"), float("nan")
    a = torch.tensor([inf, -inf, nan, 1.0, inf, nan, 0.0], dtype=getattr(torch, name))
    b = torch.tensor([inf, inf, nan, inf, 1.0, 1.0, 1e-9], dtype=getattr(torch, name))
    for rtol in (1e-5, 0.0):
        assert_same_outcome(
            lambda rtol=rtol: torch.isclose(a, b, rtol=rtol, equal_nan=equal_nan),
            lambda real, rtol=rtol: real.isclose(
                to_torch(a), to_torch(b), rtol=rtol, equal_nan=equal_nan
            ),
        )
