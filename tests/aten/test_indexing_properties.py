"""Random index expressions, reading and writing: real PyTorch and numpy say the same as we do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from hypothesis import assume, given, strategies as st

import internals
from internals.core.tensor_impl import array, from_array
from tests.answers import answer
from tests.aten.view_support import description, failure
from tests.support import examples, outcome

KINDS = ["slice", "int", "array", "mask", "none", "bool", "ellipsis", "array", "slice"]
INDEX_SHAPES = [(3,), (1,), (2, 3), (2, 1), (3, 1), (0,), ()]


@st.composite
def sources(draw: st.DrawFn) -> tuple[Any, tuple[int, ...]]:
    """An array of distinct numbers and an order for its dimensions."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4, 0]), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(sizes))))
    return np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes), tuple(order)


@st.composite
def integer_arrays(draw: st.DrawFn, size: int, wild: bool) -> Any:
    """Indices into a dimension, as an int64 array; `wild` ones may be out of range."""
    shape = draw(st.sampled_from(INDEX_SHAPES))
    low, high = (-size - 1, size) if wild else (-size, size - 1)
    if size == 0 and not wild:
        shape, low, high = (0,), 0, 0
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
    return np.array(values, np.int64).reshape(shape)


@st.composite
def indices(draw: st.DrawFn, sizes: tuple[int, ...], wild: bool = False) -> tuple[Any, ...]:
    """A tuple of ints, slices, None, ..., bools, integer arrays and masks for a tensor of these
    sizes.
    """
    parts: list[Any] = []
    d = 0
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=6)):
        left = len(sizes) - d
        if kind == "none":
            parts.append(None)
        elif kind == "bool":
            parts.append(draw(st.booleans()))
        elif kind == "ellipsis" and not any(p is ... for p in parts):
            parts.append(...)
            d += draw(st.integers(0, left))
        elif not left:
            continue
        elif kind == "slice":
            ends = st.none() | st.integers(-6, 6)
            parts.append(slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3]))))
            d += 1
        elif kind == "int" and (sizes[d] or wild):
            parts.append(draw(st.integers(-sizes[d] - wild, sizes[d] - 1 + wild)))
            d += 1
        elif kind == "array":
            parts.append(draw(integer_arrays(sizes[d], wild)))
            d += 1
        elif kind == "mask":
            n = draw(st.integers(1, min(2, left)))
            shape = list(sizes[d : d + n])
            shape[-1] += wild and draw(st.booleans())
            parts.append(draw(masks(tuple(shape))))
            d += n
    return tuple(parts)


def masks(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Boolean arrays of this shape."""
    return st.integers(0, 2 ** int(np.prod(shape)) - 1).map(
        lambda bits: np.array([bits >> i & 1 for i in range(int(np.prod(shape)))], bool).reshape(
            shape
        )
    )


def translated(index: tuple[Any, ...], forms: list[int], from_numpy: Any) -> Any:
    """The index with each array as a tensor, a numpy array or a list; a single part without its
    tuple.

    Beside `...` PyTorch counts one dimension for a mask that is no tensor, whatever its shape: such
    masks stay tensors.
    """
    parts = []
    for i, part in enumerate(index):
        if isinstance(part, np.ndarray):
            form = (
                0 if part.dtype == bool and any(p is ... for p in index) else forms[i % len(forms)]
            )
            as_list = form == 2 and part.ndim and part.size and part.ndim < 2
            part = part.tolist() if as_list else part if form == 1 else from_numpy(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else tuple(parts)


def theirs(a: Any) -> Any:
    """A numpy array as a real tensor with memory of its own."""
    import torch

    return torch.from_numpy(a).clone(memory_format=torch.contiguous_format)


def observed(call: Any) -> Any:
    """The result as plain data, or the error. Strides of tensors without elements tell nothing."""
    result, error = outcome(call)
    if error is not None:  # which of several wrong indices is found first is not promised
        kind, message = failure(error)
        return kind, "index out of bounds" if re.match(
            r"index .*out of bounds", message
        ) else message
    seen = description(result)
    if isinstance(seen, dict) and 0 in seen["shape"]:
        del seen["strides"]
    return seen


def numpy_agrees(index: tuple[Any, ...]) -> bool:
    """numpy takes an integer or a bool beside an array for an array (PyTorch selects), lets empty
    masks pass anywhere, and counts arrays with an empty `...` between them as apart."""
    arrays = [p for p in index if isinstance(p, np.ndarray)]
    if any(p.dtype == bool and not p.size for p in arrays) or (
        arrays and any(p is ... for p in index)
    ):
        return False
    numbers = [p for p in index if isinstance(p, int) or (isinstance(p, np.ndarray) and not p.ndim)]
    return not numbers or not (arrays or any(isinstance(p, bool) for p in index))


@given(st.data(), sources(), st.lists(st.integers(0, 2), min_size=1, max_size=4))
@examples(150)
def test_reading_like_torch(data: st.DataObject, source: Any, forms: list[int]) -> None:
    a, order = source
    sizes = tuple(a.shape[d] for d in order)
    index = data.draw(indices(sizes, wild=data.draw(st.booleans())))

    def read(from_numpy: Any) -> Any:
        return observed(lambda: from_numpy(a).permute(order)[translated(index, forms, from_numpy)])

    assert read(from_array) == answer(
        lambda torch: read(theirs), about=(sizes, order, index, forms), family="views"
    )


@given(st.data(), sources(), st.lists(st.integers(0, 2), min_size=1, max_size=4))
@examples(80)
def test_reading_like_numpy(data: st.DataObject, source: Any, forms: list[int]) -> None:
    a, order = source
    view = a.transpose(order)
    index = data.draw(indices(view.shape))
    assume(numpy_agrees(index))
    try:
        expected = view[index]
    except IndexError:  # shapes that do not broadcast, masks that do not fit
        assume(False)
    result = array(from_array(a).permute(order)[translated(index, forms, from_array)])
    np.testing.assert_array_equal(result, expected)
    assert result.shape == expected.shape


def has_repeats(index: tuple[Any, ...]) -> bool:
    """Whether a position may be written twice, so that the order of the writes would matter."""
    return any(isinstance(p, np.ndarray) and p.dtype != bool for p in index)


@given(st.data(), sources(), st.lists(st.integers(0, 2), min_size=1, max_size=4))
@examples(150)
def test_writing_like_torch(data: st.DataObject, source: Any, forms: list[int]) -> None:
    a, order = source
    sizes = tuple(a.shape[d] for d in order)
    index = data.draw(indices(sizes))
    value: Any = 7.5
    if not has_repeats(index):
        try:
            wanted = tuple(from_array(a).permute(order)[translated(index, forms, from_array)].shape)
        except IndexError:
            wanted = ()
        kept = data.draw(st.integers(0, len(wanted)))
        shape = tuple(data.draw(st.sampled_from([n, n, 1])) for n in wanted[kept:])
        value = 100 + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    def written(from_numpy: Any) -> Any:
        x, given = (
            from_numpy(a.copy()),
            from_numpy(value) if isinstance(value, np.ndarray) else value,
        )
        x.permute(order)[translated(index, forms, from_numpy)] = given
        return [x, x._version]

    about = (sizes, order, index, forms, value)
    expected = answer(lambda torch: observed(lambda: written(theirs)), about, family="views")
    assert observed(lambda: written(from_array)) == expected


@given(st.data(), sources())
@examples(60)
def test_writing_like_numpy(data: st.DataObject, source: Any) -> None:
    a, order = source
    index = data.draw(indices(a.transpose(order).shape))
    assume(numpy_agrees(index))
    expected = a.copy()
    try:
        expected.transpose(order)[index] = 7.5
    except IndexError:
        assume(False)
    x = from_array(a)
    x.permute(order)[translated(index, [0, 1], from_array)] = 7.5
    np.testing.assert_array_equal(array(x), expected)


@given(st.data(), sources())
@examples(60)
def test_accumulating_like_numpy(data: st.DataObject, source: Any) -> None:
    """`index_put_(accumulate=True)` adds as often as an index occurs, and `index_put` leaves its
    argument alone.
    """
    a, order = source
    view = a.transpose(order)
    index = tuple(p for p in data.draw(indices(view.shape)) if isinstance(p, np.ndarray))
    assume(
        numpy_agrees(index)
        and 0 < sum(p.ndim if p.dtype == bool else 1 for p in index) <= view.ndim
    )
    expected = a.copy()
    try:
        np.add.at(expected.transpose(order), index, np.float32(2))
    except IndexError:
        assume(False)
    x = from_array(a)
    result = x.permute(order).index_put(
        [from_array(p) for p in index], internals.tensor(2.0), accumulate=True
    )
    np.testing.assert_array_equal(array(x), a)
    x.permute(order).index_put_([from_array(p) for p in index], internals.tensor(2.0), True)
    np.testing.assert_array_equal(array(x), expected)
    np.testing.assert_array_equal(array(result), expected.transpose(order))
