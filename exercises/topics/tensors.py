"""Exercises of notebook 01: dtypes and their widths, the bytes of an element, and a tensor from
nested lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise

WIDTHS = {
    "torch.tensor([1, 2])": ("int64", 16),
    "torch.tensor([True, 2.5])": ("float32", 8),
    "torch.tensor([True, False, True])": ("bool", 3),
    "torch.tensor(np.array([1.5, 2.5]))": ("float64", 16),
    "torch.tensor(7)": ("int64", 8),
    "torch.tensor([1, 2j])": ("complex64", 16),
    "torch.empty(2, 0, 3)": ("float32", 0),
}


def widths(**other: tuple[str, int]) -> str:
    """The text of an answer to `tensors_1`: `WIDTHS`, with other pairs for the first, second, ...
    expression.
    """
    pairs = [other.get(f"n{n}", pair) for n, pair in enumerate(WIDTHS.values(), 1)]
    lines = [
        f'    "{expression}": ("{dtype}", {n}),' for expression, (dtype, n) in zip(WIDTHS, pairs)
    ]
    return "\n".join(["answer = {", *lines, "}"])


@exercise(
    level=1,
    title="Which dtype, how many bytes?",
    ask="""
        For each tensor, say its dtype, as text, and how many bytes its elements have in memory, all
        together. The answer is a pair such as `("int8", 2)`.""",
    start="""
        answer = {
            "torch.tensor([1, 2])": ...,
            "torch.tensor([True, 2.5])": ...,
            "torch.tensor([True, False, True])": ...,
            "torch.tensor(np.array([1.5, 2.5]))": ...,
            "torch.tensor(7)": ...,
            "torch.tensor([1, 2j])": ...,
            "torch.empty(2, 0, 3)": ...,
        }""",
    hints=(
        "The section on a single data type has the rule for mixed numbers, and what happens to an "
        "array's dtype.",
        "The number in a dtype's name says how many bits an element has; a bool has a byte of its "
        "own. How many elements has a tensor without dimensions, how many one with a dimension of "
        "size 0?",
    ),
    solution=widths(),
    why=(
        "`t.element_size()` and `t.numel()` say it for any tensor; their product is what the "
        "storage has to hold."
    ),
    mistakes=[
        Mistake("Integers have 32 bits.", widths(n1=("int32", 8)), "Python integers become"),
        Mistake(
            "A Python float has 64 bits, and so has its tensor.",
            widths(n2=("float64", 16)),
            "default dtype",
        ),
        Mistake("The first element decides.", widths(n2=("bool", 2)), "all of them"),
        Mistake("A bool is a bit.", widths(n3=("bool", 1)), "a byte of its own"),
        Mistake("PyTorch's floats have 32 bits.", widths(n4=("float32", 8)), "already has a dtype"),
        Mistake(
            "A number without dimensions has no elements.", widths(n5=("int64", 0)), "one element"
        ),
        Mistake(
            "complex64 is two floats of 64 bits.", widths(n6=("complex64", 32)), "64 bits for both"
        ),
        Mistake("A tensor has at least one element.", widths(n7=("float32", 24)), "2 · 0 · 3"),
    ],
)
def tensors_1(answer: dict[str, tuple[str, int]]) -> str:
    because = {
        "torch.tensor([1, 2])": "Python integers become 64 bits wide",
        "torch.tensor([True, 2.5])": (
            "the dtype must hold all of them; Python floats get the default dtype, which has 32 "
            "bits"
        ),
        "torch.tensor([True, False, True])": (
            "each bool has a byte of its own, so that it has an address"
        ),
        "torch.tensor(np.array([1.5, 2.5]))": (
            "an array already has a dtype, and keeps it; numpy's default has 64 bits"
        ),
        "torch.tensor(7)": "an empty shape has one element: the product of no sizes is 1",
        "torch.tensor([1, 2j])": "complex64 has 64 bits for both parts together, two times float32",
        "torch.empty(2, 0, 3)": (
            "2 · 0 · 3 elements are none, whatever the dtype; the default is float32"
        ),
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a pair for each of its seven tensors")
    for expression, reason in because.items():
        told = answer[expression]
        if not isinstance(told, (tuple, list)) or len(told) != 2:
            raise Wrong(f'{expression}: a pair such as ("int8", 2) is wanted, not {told!r}')
        t = eval(expression, {"torch": torch, "np": np})
        name = str(told[0]).rpartition(".")[2]
        if (name, told[1]) != (str(t.dtype).rpartition(".")[2], t.numel() * t.element_size()):
            raise Wrong(f"{expression} is not {name} in {told[1]} bytes: {reason}")
    return "bytes = elements · width, and the width is in the name of the dtype"


@exercise(
    level=2,
    title="The bytes of one element",
    ask="""
        Write `bytes_of(t, *index)`: the bytes of the element `t[index]`, cut out of
        `bytes(t.untyped_storage())`. Tensors of any dtype have to work, also transposed ones, parts
        of others, and those without dimensions. An index may be negative; one that is out of range
        is an IndexError.""",
    start="""
        def bytes_of(t, *index):
            ...""",
    passes=("bytes_of",),
    hints=(
        "The function `element` above does nearly the same for floats, by address. Which of its "
        "numbers count elements, which bytes?",
        "The element's number is `storage_offset + Σ index · stride`. It begins at that number "
        "times `t.element_size()`, and is as long as one element.",
    ),
    solution="""
        def bytes_of(t, *index):
            steps = zip(index, t.shape, t.stride())
            number = t.storage_offset() + sum(range(size)[i] * stride for i, size, stride in steps)
            width = t.element_size()
            return bytes(t.untyped_storage())[number * width : (number + 1) * width]""",
    why=(
        "No dtype was needed, only its width: what the bytes mean is asked later, by whoever "
        "computes with them."
    ),
    mistakes=[
        Mistake(
            "Strides count bytes.",
            """
            def bytes_of(t, *index):
                start = t.storage_offset() + sum(i * stride for i, stride in zip(index, t.stride()))
                return bytes(t.untyped_storage())[start : start + t.element_size()]""",
            "count elements, not bytes",
        ),
        Mistake(
            "An element has four bytes.",
            """
            def bytes_of(t, *index):
                start = 4 * (
                    t.storage_offset() + sum(i * stride for i, stride in zip(index, t.stride()))
                )
                return bytes(t.untyped_storage())[start : start + 4]""",
            "bytes wide",
        ),
        Mistake(
            "A tensor starts where its storage starts.",
            """
            def bytes_of(t, *index):
                start = sum(i * stride for i, stride in zip(index, t.stride())) * t.element_size()
                return bytes(t.untyped_storage())[start : start + t.element_size()]""",
            "storage_offset",
        ),
        Mistake(
            "Elements lie in the order of their indices.",
            """
            def bytes_of(t, *index):
                number = 0
                for i, size in zip(index, t.shape):
                    number = number * size + i
                start = (t.storage_offset() + number) * t.element_size()
                return bytes(t.untyped_storage())[start : start + t.element_size()]""",
            "strides",
        ),
        Mistake(
            "The formula takes any index.",
            """
            def bytes_of(t, *index):
                number = t.storage_offset() + sum(
                    i * stride for i, stride in zip(index, t.stride())
                )
                size = t.element_size()
                return bytes(t.untyped_storage())[number * size : (number + 1) * size]""",
            "counts from the end",
        ),
        Mistake(
            "An index that is too large comes round again.",
            """
            def bytes_of(t, *index):
                steps = zip(index, t.shape, t.stride())
                number = t.storage_offset() + sum(i % size * stride for i, size, stride in steps)
                width = t.element_size()
                return bytes(t.untyped_storage())[number * width : (number + 1) * width]""",
            "no IndexError",
        ),
    ],
)
def tensors_2(bytes_of: Callable[..., bytes]) -> str:
    grid = torch.arange(12, dtype=torch.float32).reshape(3, 4) + 0.5
    for t in (
        grid,
        torch.arange(12, dtype=torch.int64).reshape(3, 4) + 300,
        torch.tensor([[True, False], [False, True]]),
        torch.tensor([1.5, -2.0], dtype=torch.float64),
        torch.tensor([1 + 2j, 3 - 4j]),
        grid.t(),
        grid[1:, 1:],
        grid[:, ::2].double(),
        (torch.arange(20, dtype=torch.int16) + 7)[5:].reshape(3, 5).t()[1:],
        torch.tensor(7),
    ):
        for index in np.ndindex(*t.shape):
            truth, got = t[index].numpy().tobytes(), bytes_of(t, *index)
            if not isinstance(got, (bytes, bytearray, memoryview)):
                raise Wrong(f"bytes_of returned {got!r}; bytes are wanted")
            if bytes(got) != truth:
                raise Wrong(which_bytes(t, index, bytes(got), truth))
    for t in (grid, grid[1:, ::2].t()):
        if bytes(bytes_of(t, -1, -2)) != t[-1, -2].numpy().tobytes():
            raise Wrong(
                "[-1, -2] is not the element that t[-1, -2] is: a negative index counts from the "
                "end of its dimension"
            )
        try:
            got = bytes_of(t, 0, t.shape[1])
        except IndexError:
            continue
        raise Wrong(
            f"[0, {t.shape[1]}] is outside of sizes {list(t.shape)}, but there was no IndexError: "
            f"it gave {got!r}"
        )
    return "eight dtypes and views, and the formula did not care"


def which_bytes(t: Any, index: tuple[int, ...], got: bytes, truth: bytes) -> str:
    kind = str(t.dtype).rpartition(".")[2]
    where = (
        f"{kind} of sizes {list(t.shape)}, strides {list(t.stride())}, storage_offset "
        f"{t.storage_offset()}: "
    )
    told = f"{where}element {list(index)} is {truth.hex(' ')}, not {got.hex(' ') or 'nothing'}"
    if len(got) != len(truth):
        return f"{told}. It is {len(truth)} bytes wide"
    if t.storage_offset():
        return f"{told}. The tensor's first element is not the storage's: storage_offset"
    if not t.is_contiguous():
        return (
            f"{told}. The tensor does not lie in the order of its indices: the strides say how far "
            "it is to the next one"
        )
    return f"{told}. Strides and offset count elements, not bytes"


TENSOR = """
def tensor(data):
    shape, flat = (), [data]
    while flat and isinstance(flat[0], list):
        length = len(flat[0])
        if any(not isinstance(row, list) or len(row) != length for row in flat):
            raise ValueError(f"expected sequences of length {length} at dim {len(shape)}")
        shape, flat = (*shape, length), [item for row in flat for item in row]
    kinds = {type(item) for item in flat}
    dtypes = {complex: torch.complex64, float: torch.float32, int: torch.int64, bool: torch.bool}
    dtype = next((dtypes[kind] for kind in dtypes if kind in kinds), torch.float32)
    result = torch.empty(shape, dtype=dtype)
    for place, item in enumerate(flat):
        result.view(-1)[place] = item
    return result"""


@exercise(
    level=3,
    title="torch.tensor, by hand",
    ask="""
        Write `tensor(data)` for a number or nested lists of numbers, without `torch.tensor`,
        `as_tensor` and numpy: find the shape, refuse what has none with a ValueError, promote over
        all elements (bool < int < float < complex; without elements, the default), take an
        uninitialised tensor and write the elements. The checker compares with the real one, and
        computes a layer of a network with what you made.""",
    start="""
        def tensor(data):
            ...""",
    passes=("tensor",),
    hints=(
        "Unfold the lists one level at a time: rows of the same length become a new size and one "
        "flat list of items.",
        "Begin with `shape, flat = (), [data]`, and repeat while the first item of `flat` is a "
        "list. For the dtype, look at the set of `type(item)`: True is an int for isinstance.",
    ),
    solution=TENSOR,
    why=(
        "The real one does the same in three walks, for shape, dtype and values "
        "(`torch/csrc/utils/tensor_new.cpp`)."
    ),
    mistakes=[
        Mistake(
            "The first element says what all are.",
            TENSOR.replace("{type(item) for item in flat}", "{type(item) for item in flat[:1]}"),
            "all elements",
        ),
        Mistake(
            "A bool is an int.",
            TENSOR.replace("bool: torch.bool", "bool: torch.int64"),
            "bool",
        ),
        Mistake(
            "A Python float has 64 bits.",
            TENSOR.replace("float: torch.float32", "float: torch.float64"),
            "default dtype",
        ),
        Mistake(
            "The first row says how long all are.",
            TENSOR.replace(
                "        if any(not isinstance(row, list) or len(row) != length for row in flat):\n"
                '            raise ValueError(f"expected sequences of length {length} '
                'at dim {len(shape)}")\n',
                "",
            ),
            "ValueError",
        ),
        Mistake(
            "No elements, no decimals.",
            TENSOR.replace("kinds), torch.float32)", "kinds), torch.int64)"),
            "no elements",
        ),
        Mistake(
            "A tensor has at least one dimension.",
            TENSOR.replace("torch.empty(shape, dtype", "torch.empty(shape or (1,), dtype"),
            "without dimensions",
        ),
        Mistake(
            "Fresh memory is zero, and zero is a start.",
            TENSOR.replace("place] = item", "place] = 0"),
            "elements",
        ),
    ],
)  # fmt: skip
def tensors_3(tensor: Callable[[Any], Any]) -> str:
    if tensor is torch.tensor:
        raise Wrong("that is the real one")
    good: list[Any] = [
        [1.0, 2.0], [[1, 2, 3], [4, 5, 6]], [True, False], [1, 2.5], [True, 2], [1, 2.5, 3j],
        [[[0.5], [1]], [[2], [False]]], 7, 2.5, [], [[], []], [[1]], [-(2**40), 2**40],
    ]  # fmt: skip
    for data in good:
        compare(data, tensor(data), torch.tensor(data))
    for ragged in ([[1], [2, 3]], [[1, 2], [3]], [[[1], [2]], [[3], [4, 5]]], [[1, 2], []]):
        try:
            result = tensor(ragged)
        except ValueError:
            continue
        except (IndexError, RuntimeError) as error:
            raise Wrong(
                f"{ragged} has no shape: a ValueError should say so, not a later "
                f"{type(error).__name__}"
            ) from None
        raise Wrong(f"{ragged} has no shape, and became {result!r}: a ValueError is wanted")
    weight, bias, images = [[0.5, -1], [2, 0.25]], [1, -1.5], [[1.0, 2], [3, 4], [5, 6]]
    layer = torch.nn.functional.linear
    got = layer(tensor(images), tensor(weight), tensor(bias))
    if (
        got.tolist()
        != layer(torch.tensor(images), torch.tensor(weight), torch.tensor(bias)).tolist()
    ):
        raise Wrong("a linear layer computes something else with your tensors")
    return f"{len(good)} tensors as torch.tensor makes them, and a layer computed with yours"


def compare(data: Any, got: Any, truth: Any) -> None:
    if not isinstance(got, torch.Tensor):
        raise Wrong(f"{data} became a {type(got).__name__}, not a tensor")
    if got.shape != truth.shape:
        number = ": a number is a tensor without dimensions" if not truth.dim() else ""
        raise Wrong(f"{data} has the shape {tuple(truth.shape)}, not {tuple(got.shape)}{number}")
    if got.dtype != truth.dtype:
        kinds = (str(truth.dtype).rpartition(".")[2], str(got.dtype).rpartition(".")[2])
        why = "the dtype has to hold all elements, not only the first one"
        if not truth.numel():
            why = "with no elements, it is the default dtype"
        elif kinds[0] == "bool":
            why = "True is an instance of int, and yet of type bool"
        elif kinds == ("float32", "float64"):
            why = "Python's floats get the default dtype"
        raise Wrong(f"{data} becomes {kinds[0]}, not {kinds[1]}: {why}")
    if got.numel() and got.untyped_storage().allocator is None:
        raise Wrong(
            f"{data} is in numpy's memory: take a tensor from torch.empty, and write the elements "
            "into it"
        )
    if got.tolist() != truth.tolist():
        raise Wrong(f"{data} became a tensor with the elements {got.tolist()}")
