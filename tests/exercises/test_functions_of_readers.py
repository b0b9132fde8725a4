"""The functions that notebooks define, or tell the reader to write, on what a reader tries next:
slices with steps, columns, arrays backwards, no elements, no dimensions, other dtypes. Each gives
the right answer, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

import internals as torch
from exercises.attempt import run
from exercises.catalogue import find
from exercises.exercise import PRELUDE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CLEAR = (ValueError, IndexError, RuntimeError, TypeError, AssertionError)
WHOLE = np.arange(24.0).reshape(4, 6)
RECORDS = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", "f8"), ("n", "i4")])
ARRAYS = {
    "whole": WHOLE, "transposed": WHOLE.T, "column": WHOLE[:, 1],
    "every other column": WHOLE[:, ::2], "every other row": WHOLE[::2], "inside": WHOLE[1:3, 2:5].T,
    "backwards": WHOLE[::-1], "columns backwards": WHOLE[:, ::-2], "no rows": WHOLE[:0],
    "no columns": WHOLE[:, 3:3], "a number": np.array(7.0),
    "expanded": np.broadcast_to(WHOLE[0], (3, 6)), "field": RECORDS["x"],
    "float32": WHOLE.astype("f4")[:, 1], "int64": np.arange(6)[::2],
    "bool": np.array([True, False]), "other byte order": WHOLE.astype(">f8"),
}  # fmt: skip
TENSORS = {
    "whole": torch.arange(24.0).view(4, 6), "transposed": torch.arange(24.0).view(4, 6).t(),
    "column": torch.arange(24.0).view(4, 6)[:, 1],
    "steps": torch.arange(24.0).view(4, 6)[1::2, ::3], "expanded": torch.arange(6.0).expand(4, 6),
    "no rows": torch.zeros(0, 3), "no columns": torch.zeros(3, 6)[:, 3:3],
    "a number": torch.tensor(7.0), "a number of a row": torch.arange(6.0)[4],
    "int64": torch.arange(6)[::2], "complex64": torch.tensor([[1 + 2j, 3j], [4, 5]]).t(),
    "bool": torch.tensor([True, False, True])[1:],
}  # fmt: skip


@cache
def solution(exercise: str) -> dict[str, Any]:
    """The names that its solution defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    run(PRELUDE, names)
    run(find(exercise).cell(find(exercise).solution), names)
    return names


@cache
def cell(notebook: str, function: str) -> dict[str, Any]:
    """The names of the cell of a notebook that defines a function."""
    cells = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells
    source = next(
        c.source for c in cells if c.cell_type == "code" and f"def {function}(" in c.source
    )
    names: dict[str, Any] = {"__name__": "__main__", "print": lambda *args: None}
    run(PRELUDE, names)
    run(source, names)
    return names


def right_or_refused(
    compute: Callable[[], Any], truth: Callable[[Any], bool], may_refuse: bool = True
) -> None:
    """That `compute()` gives what is true, or raises an error with words."""
    try:
        found = compute()
    except CLEAR as error:
        assert may_refuse and str(error), error
        return
    assert truth(found), found


def indices(t: Any) -> Iterator[tuple[int, ...]]:
    """Those that a tensor has, from both ends, and some beyond."""
    return product(*(range(-n - 1, n + 1) for n in t.shape))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("function", ["tensor_from_numpy", "lend"])
def test_a_tensor_over_the_memory_of_an_array(function: str, name: str) -> None:
    if function == "lend":
        make = lambda array: solution("zero_copy_3")["lend"](array, lambda context: None)  # noqa: E731
    else:
        make = cell("03_zero_copy", "tensor_from_numpy")["tensor_from_numpy"]
    array = ARRAYS[name]
    possible = array.dtype == np.float64 and all(
        stride >= 0 and stride % 8 == 0 for stride in array.strides
    )
    right_or_refused(
        lambda: make(array),
        lambda t: t.tolist() == array.tolist() and t.shape == array.shape,
        not possible,
    )
    if possible and array.size and array.flags.writeable:
        make(array).view_as(make(array)).mul_(1)  # all of it is there
        assert make(array).data_ptr() == array.ctypes.data


@pytest.mark.parametrize("name", ARRAYS)
def test_more_of_every_element(name: str) -> None:
    array = ARRAYS[name].copy() if name == "expanded" else ARRAYS[name]
    brighter = solution("start_2")["brighter"]
    right_or_refused(lambda: brighter(array), lambda t: t.tolist() == (array + 10).tolist())


@pytest.mark.parametrize(
    "name", ["a[:, 1:3]", "a[::2]", "a[..., :2]", "a[:0]", "a[:, :, ::-1]", "a[0]", "a[0, 0, 0]"]
)
def test_an_image(name: str) -> None:
    image = eval(name, {"a": np.arange(60, dtype="f4").reshape(3, 4, 5)})
    as_image = solution("zero_copy_2")["as_image"]
    right_or_refused(
        lambda: as_image(image), lambda t: np.array_equal(t.numpy(), image.transpose(2, 0, 1))
    )


def test_which_of_them_share() -> None:
    shared, a = solution("start_3")["shared"], WHOLE
    things = {
        "a": a,
        "even": a[:, ::2],
        "odd": a[:, 1::2],
        "back": a[::-1],
        "none": a[:0],
        "t": torch.from_numpy(a)[0],
    }
    assert ("even", "odd") not in shared(**things) and ("a", "none") not in shared(**things)
    assert {("a", "even"), ("a", "odd"), ("a", "back"), ("even", "back"), ("a", "t")} <= set(
        shared(**things)
    )
    assert shared(x=np.array(1.0), y=torch.tensor(1.0)) == []


@pytest.mark.parametrize("name", TENSORS)
def test_one_element(name: str) -> None:
    """By its bytes, and by its address, which must not be outside of the tensor's memory."""
    t, bytes_of = TENSORS[name], solution("tensors_2")["bytes_of"]
    element = cell("01_tensors", "element")["element"]
    for index in indices(t):
        inside = all(-n <= i < n for i, n in zip(index, t.shape))
        truth = t[index] if inside else None
        right_or_refused(
            lambda: bytes_of(t, *index),  # noqa: B023
            lambda got: inside and got == truth.numpy().tobytes(),  # noqa: B023
            not inside,
        )
        floats = inside and t.dtype is torch.float32
        right_or_refused(
            lambda: element(t, *index),  # noqa: B023
            lambda got: floats and got == truth.item(),  # noqa: B023
            not floats,
        )
    with pytest.raises(CLEAR):
        element(t, *[0] * (t.dim() + 1))


@pytest.mark.parametrize(
    "data",
    [
        0,
        2.5,
        True,
        [],
        [[], []],
        [[[]]],
        [1, 2.5, 1j],
        [[True], [2]],
        [[1], 2],
        [1, [2]],
        [[1, 2], [3]],
        ["a"],
        None,
    ],
)
def test_a_tensor_by_hand(data: Any) -> None:
    tensor = solution("tensors_3")["tensor"]

    def alike(t: Any) -> bool:
        real = torch.tensor(data)
        return t.dtype is real.dtype and t.shape == real.shape and t.tolist() == real.tolist()

    right_or_refused(lambda: tensor(data), alike)


@pytest.mark.parametrize("name", TENSORS)
def test_views_as_arithmetic(name: str) -> None:
    t, names = TENSORS[name], solution("build_strides_2")
    view = names["View"](tuple(t.shape), tuple(t.stride()), t.storage_offset())

    def same(theirs: Callable[[], Any], ours: Callable[[], Any]) -> None:
        try:
            real = theirs()
        except (IndexError, RuntimeError):
            with pytest.raises(CLEAR):
                ours()
            return
        right_or_refused(ours, lambda v: t.as_strided(*v).tolist() == real.tolist(), t.dim() == 0)

    for dim, index in product(range(-3, 3), range(-8, 8)):
        same(lambda: t.select(dim, index), lambda: names["select"](view, dim, index))  # noqa: B023
        same(lambda: t.transpose(dim, index), lambda: names["transpose"](view, dim, index))  # noqa: B023
    for sizes in (
        (),
        (-1,),
        (3,),
        (4, 6),
        (2, 4, 6),
        (-1, 4, 6),
        (2, -1, -1),
        (5, 1),
        (0, 3),
        (3, 0),
        (2, 3, 0),
        (2, 2),
    ):
        same(lambda: t.expand(sizes), lambda: names["expand"](view, sizes))  # noqa: B023


@pytest.mark.parametrize("name", TENSORS)
def test_positions_and_shapes(name: str) -> None:
    t, position = TENSORS[name], solution("build_strides_1")["position"]
    flat = torch.arange(
        1 + t.storage_offset() + sum(max(n - 1, 0) * s for n, s in zip(t.shape, t.stride()))
    )
    places = flat.as_strided(t.shape, t.stride(), t.storage_offset()) if t.numel() else t
    for index in indices(t):
        inside = all(-n <= i < n for i, n in zip(index, t.shape))
        right_or_refused(
            lambda: position(index, t.shape, t.stride(), t.storage_offset()),  # noqa: B023
            lambda got: inside and got == places[index].item(),  # noqa: B023
            not inside,
        )
    reshape = solution("views_3")["reshape"]
    for shape in ((), (1, 1), (-1,), (24,), (2, -1, 3), (0,), (0, -1), (3, 0), (6, 4)):
        try:
            truth = t.reshape(shape)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                reshape(t, shape)
            continue
        assert (
            reshape(t, shape).tolist() == truth.tolist() and reshape(t, shape).shape == truth.shape
        )


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_patches(name: str, k: int) -> None:
    image, patches = TENSORS[name], solution("views_2")["patches"]

    def right(found: Any) -> bool:
        return found.dim() == 4 and all(
            found[i, j].tolist() == image[i : i + k, j : j + k].tolist()
            for i, j in np.ndindex(*found.shape[:2]) if k
        )  # fmt: skip

    right_or_refused(
        lambda: patches(image, k), right, image.dim() != 2 or k > min(image.shape) or k == 0
    )


def test_numbers_in_a_message() -> None:
    tensor_in = solution("payloads_3")["tensor_in"]
    memory, numbers = bytearray(64), np.arange(4, dtype="f4")
    messages = {
        "bytes": lambda m: bytes(m),
        "bytearray": lambda m: m,
        "slice": lambda m: memoryview(m)[:],
        "of words": lambda m: memoryview(m).cast("I"),
        "steps": lambda m: memoryview(m)[::2],
    }
    for (name, message), begin, count in product(messages.items(), (0, 1, 4, 50, 64), (0, 1, 4)):
        truth = (
            np.frombuffer(bytes(memory)[begin : begin + 4 * count], "f4")
            if len(memory) >= begin + 4 * count
            else None
        )
        if truth is not None and count:
            memory[begin : begin + 4 * count] = numbers[:count].tobytes()
            truth = numbers[:count]
        right_or_refused(
            lambda: tensor_in(message(memory), begin, count),  # noqa: B023
            lambda t: truth is not None and t.tolist() == truth.tolist(),  # noqa: B023
            truth is None or name == "steps",
        )


@pytest.mark.parametrize("name", TENSORS)
def test_hooks_and_rows(name: str) -> None:
    t = TENSORS[name]
    pack, unpack = solution("versions_3")["pack"], solution("versions_3")["unpack"]
    assert unpack(pack(t)).tolist() == t.tolist()
    if t.dim():
        rows = t.shape[0]
        parts = solution("batching_2")["split"](t, [0, rows // 2, rows - rows // 2])
        assert torch.cat(list(parts)).tolist() == t.tolist()
    if t.dtype is torch.float32:
        leaf = t.clone().requires_grad_()
        solution("autograd_2")["limit_gradient"](leaf, 0.5)
        (leaf * 3).sum().backward()
        assert leaf.grad.tolist() == torch.full_like(t, 0.5).tolist()
