"""Gradients of views and copies: each element's gradient comes back to where the element is."""

from __future__ import annotations

from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals._generated import ops
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases
from tests.support import assert_same_outcome, examples, to_numpy

VIEWS = cases("""
    x(2, 3).view(6)
    x(2, 3).view(3, -1)
    x(6).view(1, 2, 3)
    x().view(1)
    x(0, 3).view(3, 0)
    x.strided(2, 3).reshape(6)
    x(2, 3).t().reshape(-1)
    x(2, 3).t().reshape(3, 1, 2)
    x(1).expand(3, 1).reshape(-1)
    x(2, 3, 4)[:, :, 0].reshape(1, 2, 3)
    x(3) @ x(3, 2)
    x(2, 3).t()
    x(3).t()
    x().t()
    x(2, 3, 4).permute(2, 0, 1)
    x(2, 3, 4).permute(-1, 0, -2)
    x(2, 3, 4).transpose(0, -1)
    x().transpose(0, 0)
    x(2, 3).T
    x(2, 3, 4).mT
    x(2, 3, 4).movedim(0, 2)
    x(2, 3, 4).flatten(1)
    x(2, 6).unflatten(1, (2, 3))
    x(1, 2, 1).squeeze()
    x(1, 2, 1).squeeze(0)
    x(1, 2, 1).squeeze(1)
    x(1, 2, 1).squeeze((0, -1))
    x().squeeze(0)
    x(2, 3).unsqueeze(0)
    x(2, 3).unsqueeze(-1)
    x(2, 3).unsqueeze(1)
    x(3).expand(2, 3)
    x(2, 1).expand(4, 2, 3)
    x(1, 3).expand(-1, -1)
    x().expand(2, 2)
    x(1).expand(0)
    x(2, 1).expand_as(T.ones(2, 3))
    x(2, 3)[1]
    x(2, 3).select(1, -1)
    x(3)[0]
    x(2, 3)[:, 1:]
    x(5)[::2]
    x(5)[-3:]
    x(5)[3:1]
    x(5)[:]
    x(5)[...]
    x(5)[None]
    x(2, 3, 4)[1, :, ::3]
    x(4, 3).narrow(0, 1, 2)
    x(3, 4).diagonal()
    x(3, 4).diagonal(1)
    x(3, 4).diagonal(-2)
    x(3, 4).diagonal(7)
    x(2, 3, 4).diagonal(0, -1, 0)
    x(5).unfold(0, 3, 1)
    x(7).unfold(0, 2, 3)
    x(2, 5).unfold(-1, 2, 2)
    x(4, 2).unfold(0, 4, 1)
    x(3, 2).unfold(0, 0, 1)
    x.strided(4, 5).unfold(0, 2, 1).unfold(1, 3, 2)
    x(5).split(2)
    x(5).split([1, 4])
    x(2, 5).split(2, 1)
    x(2, 5).split([2, 0, 3], -1)
    x(5).chunk(2)
    x(2, 3).unbind()
    x(2, 3).unbind(-1)
    x(5).split(2)[1]
    x(2, 5).split([2, 0, 3], -1)[2]
    x(2, 3).unbind(1)[2]
    x(5).split(2)[0] * x(5).split(2)[2]
    x(2, 3).detach()
    x(2, 3).as_strided((3, 2), (1, 3))
    x(2, 3).as_strided((2, 2), (1, 1))
    x(2, 3).as_strided((2,), (2,), 1)
    x(6).as_strided((4, 3), (1, 1))
    x(6).as_strided((2, 3), (0, 1))
    x(6).as_strided((), (), 3)
    x(6).as_strided((0, 2), (1, 1))
    x.strided(2, 3).as_strided((2, 2), (1, 2))
    x.strided(2, 3).as_strided((4,), (2,), 0)
    x(3).expand(2, 3).as_strided((2, 2), (0, 1))
    x(5).unfold(0, 3, 1).as_strided((3,), (1,))
    x(5).unfold(0, 3, 1).as_strided((2, 2), (1, 1), 1)
    x(4).view(T.int64)
    x(2, 3).clone()
    x.strided(2, 3).clone(memory_format=T.contiguous_format)
    x.strided(2, 3).contiguous()
    x(2, 3).contiguous()
    x(3).to(T.float32)
    x(3, dtype="float32").double()
    x(3).long()
    x(3).half().double()
    x(3).type_as(T.ones(1))
    x(3).conj()
    x(3).real
    T.conj_physical(x(3) * 1) * 2
    T.zeros_like(x(3))
    x(3).new_ones(2)
    T.empty_like(x(3)).zero_()
    (x(3) * 1).copy_(x(3))
    (x(2, 3) * 1).copy_(x(3))
    T.zeros(2, 3, dtype=T.float64).copy_(x(3, dtype="float32"))
    put(x(2, 3), 0, x(3))
    put(x(2, 3), s_[:, 1:], x(2, 1))
    put(x(2, 3), s_[..., 0], 1.0)
""")


IN_PLACE = cases("""
    (x(2, 3) * 1).t_()
    (x(2, 3) * 1).unsqueeze_(1)
    (x(1, 3) * 1).squeeze_(0)
    (x(2, 3) * 1).transpose_(0, 1)
    (x(2, 3) * 1).as_strided_((3,), (2,))
""")


@pytest.mark.parametrize("text", IN_PLACE)
def test_a_tensor_becomes_a_view_of_itself(text: str) -> None:
    check_gradients(expression(text))


@pytest.mark.parametrize("text", VIEWS)
def test_like_pytorch(text: str) -> None:
    check_gradients(expression(text))


IN_PLACE_ON_VIEWS = cases("""
    edit(x(4), lambda y: y[1:].mul_(x(3)))
    edit(x(2, 3), lambda y: y.t()[0].exp_())
    edit(x(3, 3), lambda y: y.diagonal().zero_())
    edit(x(2, 3), lambda y: y.view(6)[::2].add_(x(3)).mul_(2))
    edit(x(2, 3), lambda y: y[0].fill_(x()))
    edit(x(2, 3), lambda y: y[:, 0].copy_(x(2)))
    edit(x(4), lambda y: y.unfold(0, 2, 2).tanh_())
    edit(x(2, 3), lambda y: y.select(0, 0).select(0, 1).sigmoid_())
    edit(x(2, 3), lambda y: y.permute(1, 0).masked_fill_(x.mask(3, 2), x()))
    edit(x(2, 3), lambda y: y.unsqueeze(0).squeeze(0).sub_(x(3)))
""")


@pytest.mark.parametrize("text", IN_PLACE_ON_VIEWS)
def test_writing_to_a_view_changes_the_history_of_its_base(text: str) -> None:
    """`edit(x, f)` is a copy of x after `f` has written to it, squared."""

    def case(T: Any, x: Any) -> Any:
        def edit(t: Any, f: Any) -> Any:
            t = t.clone()
            f(t)
            return t * t

        return eval(text, {"T": T, "x": x, "edit": edit})

    check_gradients(case)


@examples(25)
@given(st.data())
def test_views_of_views(data: st.DataObject) -> None:
    """Up to four views, one of the other; whatever they leave out, repeat or reorder."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    text, shape = f"x({', '.join(map(str, sizes))})", internals.zeros(*sizes)
    for _ in range(data.draw(st.integers(1, 4))):
        step = data.draw(st.sampled_from(steps(shape)))
        text, shape = text + step, eval(f"t{step}", {"t": shape})
    check_gradients(expression(text))


def steps(t: internals.Tensor) -> list[str]:
    """Views that can be taken of `t`."""
    found = [
        ".unsqueeze(0)",
        ".unsqueeze(-1)",
        ".squeeze()",
        ".reshape(-1)",
        f".expand(2, {', '.join(['-1'] * t.dim())})",
    ]
    for d, n in enumerate(t.shape):
        found += [f".transpose({d}, 0)", f".flip({d})", f".narrow({d}, {n // 2}, {n - n // 2})"]
        if n:
            found += [
                f".select({d}, {n - 1})",
                f".split(2, {d})[0]",
                f".unbind({d})[0]",
                f".unfold({d}, {(n + 1) // 2}, 1)",
            ]
    if t.dim() > 1:
        found += [
            ".diagonal(0, 0, -1)",
            ".permute(" + ", ".join(map(str, reversed(range(t.dim())))) + ")",
        ]
    return found


@examples(30)
@given(st.data())
def test_any_strides(data: st.DataObject) -> None:
    """as_strided of tensors that themselves overlap or have gaps, at any offset.

    PyTorch's second derivative is left out: it divides 0 by 0 at places of the memory that no
    tensor shows.
    """
    base = 12

    def geometry() -> tuple[list[int], list[int], int]:
        ndim = data.draw(st.integers(0, 3))
        sizes = data.draw(st.lists(st.integers(1, 3), min_size=ndim, max_size=ndim))
        strides = data.draw(st.lists(st.integers(0, 3), min_size=ndim, max_size=ndim))
        reach = sum((n - 1) * s for n, s in zip(sizes, strides))
        return sizes, strides, data.draw(st.integers(0, max(base - 1 - reach, 0)))

    (a, b, i), (c, d, j) = geometry(), geometry()
    text = f"x(24).as_strided({a}, {b}, {i}).as_strided({c}, {d}, {j})"
    check_gradients(expression(text), second=False)


BACKWARD: dict[str, tuple[Any, ...]] = {
    "select_backward": ((2, 4), (2, 3, 4), 1, -1),
    "slice_backward": ((2, 2, 4), (2, 5, 4), 1, 1, 4, 2),
    "diagonal_backward": ((4, 2), (3, 4, 3), 1, 2, 0),
    "unfold_backward": ((3, 4, 3), (3, 6), 1, 3, 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("name", BACKWARD)
def test_gradients_of_views_as_operators(name: str, dtype: str) -> None:
    """Of contiguous and of transposed gradients."""
    sizes, *rest = BACKWARD[name]
    grad = np.random.default_rng(1).integers(-9, 9, sizes).astype(dtype)
    for array in (grad, np.ascontiguousarray(grad.T).T):
        assert_same_outcome(
            lambda a=array: getattr(ops, name)(internals.from_numpy(a), *rest),
            lambda torch, a=array: getattr(torch.ops.aten, name)(torch.from_numpy(a), *rest),
        )


def test_windows_that_overlap_add_up() -> None:
    x = internals.zeros(5, requires_grad=True)
    x.unfold(0, 3, 1).sum().backward()
    assert to_numpy(x.grad).tolist() == [1, 2, 3, 2, 1]


def test_what_a_view_leaves_out_has_gradient_zero() -> None:
    for view in (
        lambda x: x[1],
        lambda x: x[:, ::2],
        lambda x: x.diagonal(),
        lambda x: x.split([1, 2])[1],
    ):
        x = internals.zeros(3, 3, requires_grad=True)
        weights = internals.arange(9.0).view(3, 3)
        (view(x) * view(weights)).sum().backward()
        marked = np.zeros((3, 3))
        marked[
            to_numpy(view(weights)).astype(int) // 3, to_numpy(view(weights)).astype(int) % 3
        ] = 1
        np.testing.assert_array_equal(to_numpy(x.grad), marked * np.arange(9.0).reshape(3, 3))


def test_expanded_dimensions_are_summed() -> None:
    x = internals.zeros(2, 1, requires_grad=True)
    x.expand(4, 2, 3).sum().backward()
    assert to_numpy(x.grad).tolist() == [[12], [12]]
    assert prod(x.expand(4, 2, 3).shape) == 24


def test_a_view_taken_under_no_grad_requires_grad_as_its_base_does() -> None:
    """It has no history, though. As in PyTorch."""
    x = internals.ones(4, requires_grad=True)
    with internals.no_grad():
        views = [
            x.view(2, 2),
            x[1],
            x[1:],
            x.expand(2, 4),
            x.t(),
            x.unsqueeze(0),
            *x.split(2),
            x.unfold(0, 2, 1),
        ]
        detached = x.detach()
    assert all(v.requires_grad and v.grad_fn is None and v._base is x for v in views)
    assert not detached.requires_grad


@pytest.mark.parametrize("dtype", [internals.int32, internals.float32, internals.float64])
def test_bytes_read_as_another_dtype_have_no_gradient(dtype: internals.dtype) -> None:
    view = internals.ones(4, requires_grad=True).view(dtype)
    assert not view.requires_grad and view.grad_fn is None


def test_the_second_derivative_of_what_was_written_to_a_column() -> None:
    """exp saves its result, here a view with gaps; with y = exp(x), d²(y²)/dx² = 4y²."""
    x = internals.tensor([[0.5, 2.0], [1.0, 3.0]], requires_grad=True)
    y = x.clone()
    y[:, 0].exp_()
    (first,) = internals.autograd.grad((y * y).sum(), x, create_graph=True)
    (second,) = internals.autograd.grad(first.sum(), x)
    squares = np.exp([1.0, 2.0])
    np.testing.assert_allclose(
        to_numpy(first.detach()), [[2 * squares[0], 4], [2 * squares[1], 6]], rtol=1e-6
    )
    np.testing.assert_allclose(
        to_numpy(second), [[4 * squares[0], 2], [4 * squares[1], 2]], rtol=1e-6
    )


def inference(T: Any) -> Any:
    with T.inference_mode():
        return T.ones(2, 3)


@pytest.mark.parametrize(
    "view", ["view", "t", "index", "expand", "split", "unbind", "as_strided", "narrow"]
)
@pytest.mark.parametrize("mode", ["normal", "no_grad", "inference_mode"])
def test_a_view_of_an_inference_tensor_is_one_and_autograd_knows_of_no_base(
    T: Any, view: str, mode: str
) -> None:
    calls = {
        "view": lambda t: t.view(6), "t": lambda t: t.t(), "index": lambda t: t[0],
        "expand": lambda t: t[None].expand(1, 2, 3), "split": lambda t: t.split(1)[0],
        "unbind": lambda t: t.unbind()[1], "as_strided": lambda t: t.as_strided((2,), (1,)),
        "narrow": lambda t: t.narrow(0, 0, 1),
    }  # fmt: skip
    base = inference(T)
    with nullcontext() if mode == "normal" else getattr(T, mode)():
        t = calls[view](base)
    assert (
        t.is_inference()
        and not t._is_view()
        and t._base is None
        and t.grad_fn is None
        and t.is_leaf
    )
    assert t.data_ptr() <= base.data_ptr() + 12 and t.detach_() is t
    with pytest.raises(
        RuntimeError,
        match="Inplace update to inference tensor outside InferenceMode is not allowed",
    ):
        t.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        t._version  # noqa: B018
    with pytest.raises(
        RuntimeError,
        match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
    ):
        t.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        t * T.ones(t.shape, requires_grad=True)
    with T.inference_mode():
        t.zero_()
    assert 0 in base.tolist()[0] + base.tolist()[1]
    normal = t.clone()
    assert not normal.is_inference() and (normal.requires_grad_() * 2).requires_grad
