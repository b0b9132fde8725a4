"""Chains of views: after every step sizes, strides, offset, contiguity and values are those of real
PyTorch and of numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals.core.geometry import contiguous_strides, is_contiguous, view_strides
from internals.core.tensor_impl import array, from_array
from tests.answers import answer
from tests.aten.view_support import failure
from tests.support import examples, outcome

Step = Callable[[Any], Any]


def factorizations(n: int) -> st.SearchStrategy[list[int]]:
    """Shapes with n elements, among them some with sizes of 1."""

    @st.composite
    def build(draw: st.DrawFn) -> list[int]:
        left, sizes = n, []
        while left > 1:
            sizes.append(draw(st.sampled_from([d for d in range(2, left + 1) if left % d == 0])))
            left //= sizes[-1]
        for _ in range(draw(st.integers(0, 2))):
            sizes.insert(draw(st.integers(0, len(sizes))), 1)
        return sizes

    return build()


@st.composite
def steps(draw: st.DrawFn, sizes: tuple[int, ...]) -> tuple[str, tuple[Any, ...]]:
    """A view method and arguments that make sense for these sizes (`view` may still have to
    refuse).
    """
    n = len(sizes)
    dim = st.integers(-n, n - 1) if n else st.just(0)
    choices = ["unsqueeze", "squeeze", "reshape", "view", "expand_new"]
    if n:
        choices += [
            "transpose",
            "permute",
            "select",
            "slice",
            "flatten",
            "unfold",
            "expand",
            "narrow",
        ]
    if n > 1:
        choices += ["diagonal", "movedim", "t"]
    kind = draw(st.sampled_from(choices))
    count = int(np.prod(sizes))
    if kind == "transpose":
        return kind, (draw(dim), draw(dim))
    if kind == "permute":
        return kind, (tuple(draw(st.permutations(range(n)))),)
    if kind == "movedim":
        return kind, (draw(dim), draw(dim))
    if kind == "unsqueeze":
        return kind, (draw(st.integers(-n - 1, n)),)
    if kind == "squeeze":
        return kind, draw(st.sampled_from([(), (draw(dim),)]))
    if kind == "select":
        d = draw(dim)
        return (
            (kind, (d, draw(st.integers(-sizes[d], sizes[d] - 1))))
            if sizes[d]
            else ("unsqueeze", (0,))
        )
    if kind == "slice":
        d = draw(dim)
        ends = st.none() | st.integers(-5, 5)
        return kind, (d, draw(ends), draw(ends), draw(st.integers(1, 3)))
    if kind == "narrow":
        d = draw(dim)
        start = draw(st.integers(0, sizes[d]))
        return kind, (d, start, draw(st.integers(0, sizes[d] - start)))
    if kind == "flatten":
        first = draw(st.integers(0, n - 1))
        return kind, (first, draw(st.integers(first, n - 1)))
    if kind == "unfold":
        d = draw(dim)
        return kind, (d, draw(st.integers(0, sizes[d])), draw(st.integers(1, 3)))
    if kind == "expand":
        return kind, (tuple(draw(st.integers(1, 3)) if size == 1 else -1 for size in sizes),)
    if kind == "expand_new":
        return "expand", ((draw(st.integers(1, 2)), *sizes),)
    if kind == "diagonal":
        a, b = draw(st.permutations(range(n)))[:2]
        return kind, (draw(st.integers(-3, 3)), a, b)
    if kind == "t":
        return ("t", ()) if n == 2 else ("transpose", (0, 1))
    return kind, (tuple(draw(factorizations(count))) if count else (0, *sizes),)


def apply(x: Any, step: tuple[str, tuple[Any, ...]]) -> Any:
    name, arguments = step
    if name == "slice":
        dim, start, stop, jump = arguments
        return x[(slice(None),) * (dim % x.ndim) + (slice(start, stop, jump),)]
    return getattr(x, name)(*arguments)


def geometry(x: Any) -> Any:
    return tuple(x.shape), x.stride(), x.storage_offset(), x.is_contiguous(), x._base is not None


@pytest.mark.sampled(1 / 4)
@given(st.data(), st.lists(st.sampled_from([1, 2, 3, 4]), max_size=4), st.integers(1, 8))
@examples(150)
def test_chains_of_views_like_torch(data: st.DataObject, sizes: list[int], length: int) -> None:
    start = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    x, chain, ours = from_array(start), [], []
    for _ in range(length):
        chain.append(data.draw(steps(tuple(x.shape))))
        x, seen = stepped(x, chain[-1])
        ours.append(seen)

    def walked(torch: Any) -> list[Any]:
        x, seen = torch.from_numpy(start.copy()), []
        for step in chain:
            x, last = stepped(x, step)
            seen.append(last)
        return seen

    assert ours == answer(walked, about=(sizes, chain), family="views")


def stepped(x: Any, step: tuple[str, tuple[Any, ...]]) -> tuple[Any, Any]:
    """What the step makes of x and how that looks; x itself and the error, if there is one."""
    result, error = outcome(lambda: apply(x, step))
    return (x, failure(error)) if error else (result, (geometry(result), result.tolist()))


NUMPY: dict[str, Callable[..., Any]] = {
    "transpose": lambda a, i, j: a.swapaxes(i, j),
    "t": lambda a: a.T,
    "permute": lambda a, order: a.transpose(order),
    "movedim": np.moveaxis,
    "unsqueeze": lambda a, d: np.expand_dims(a, d),
    "squeeze": lambda a, *d: a.squeeze(
        tuple(i for i in d if a.ndim and a.shape[i] == 1) if d else None
    ),
    "select": lambda a, d, i: a.take(i, d),
    "slice": lambda a, d, start, stop, step: a[
        (slice(None),) * (d % a.ndim) + (slice(start, stop, step),)
    ],
    "narrow": lambda a, d, start, n: a.take(range(start, start + n), d),
    "flatten": lambda a, i, j: a.reshape(
        *a.shape[:i], int(np.prod(a.shape[i : j + 1])), *a.shape[j + 1 :]
    ),
    "unfold": lambda a, d, size, step: np.stack(
        [np.moveaxis(a, d, -1)[..., i : i + size] for i in range(0, a.shape[d] - size + 1, step)],
        d if d >= 0 else d - 1,
    ),
    "expand": lambda a, sizes: np.broadcast_to(
        a, [n if s == -1 else s for s, n in zip(sizes, (0,) * (len(sizes) - a.ndim) + a.shape)]
    ),
    "diagonal": np.diagonal,
    "reshape": lambda a, sizes: a.reshape(sizes),
}


@given(st.data(), st.lists(st.sampled_from([1, 2, 3, 4]), max_size=4), st.integers(1, 6))
@examples(80)
def test_chains_of_views_like_numpy(data: st.DataObject, sizes: list[int], length: int) -> None:
    """Where `view` refuses, a copy is needed; where it does not, it is `reshape` without one."""
    expected = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    x = from_array(expected)
    for _ in range(length):
        name, arguments = data.draw(steps(tuple(x.shape)))
        if name == "view":
            (shape,) = arguments
            strides = view_strides(x.shape, x.stride(), shape)
            result, error = outcome(lambda x=x, shape=shape: x.view(shape))
            assert (strides is None) == isinstance(error, RuntimeError)
            if error is None:
                assert result.untyped_storage() is x.untyped_storage()
            name = "reshape"
        x, expected = apply(x, (name, arguments)), NUMPY[name](expected, *arguments)
        np.testing.assert_array_equal(array(x), expected)
        assert x.is_contiguous() == is_contiguous(expected.shape, x.stride())


@given(
    st.lists(st.integers(0, 4), max_size=4).flatmap(
        lambda s: st.tuples(st.just(s), st.permutations(range(len(s))))
    )
)
@examples(60)
def test_contiguity_is_what_walking_in_order_means(case: tuple[list[int], list[int]]) -> None:
    sizes, order = case
    x = internals.empty(*sizes).permute(order) if sizes else internals.empty(())
    a = array(x)
    assert x.is_contiguous() == (a.flags.c_contiguous or a.size == 0)
    if x.is_contiguous() and x.numel():
        steps_taken = [s for n, s in zip(x.shape, x.stride()) if n > 1]
        assert steps_taken == [s for n, s in zip(x.shape, contiguous_strides(x.shape)) if n > 1]
