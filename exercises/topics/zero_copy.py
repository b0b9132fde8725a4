"""Exercises of notebook 03: what is shared, what is copied, and who keeps the memory alive."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise


@exercise(
    level=1,
    title="Shared or copied?",
    ask="""
        Six ways from one array to a tensor. For each, say whether the result looks at the array's
        own bytes (`"shared"`) or has bytes of its own (`"copied"`). Decide before you run
        anything.""",
    given="a = np.arange(6.0).reshape(2, 3)",
    start="""
        answer = {
            "torch.tensor(a)": ...,
            "torch.as_tensor(a)": ...,
            "torch.as_tensor(a, dtype=torch.float32)": ...,
            "torch.from_numpy(a)[0]": ...,
            "torch.from_numpy(a).t()": ...,
            "torch.from_numpy(a).t().reshape(6)": ...,
        }""",
    hints=(
        "What would the result have to do to describe the same bytes: are a pointer, sizes, "
        "strides and a dtype enough?",
        "`a` holds float64. A transposed matrix is the same bytes with other strides; its elements "
        "in a row are not.",
    ),
    solution="""
        answer = {
            "torch.tensor(a)": "copied",
            "torch.as_tensor(a)": "shared",
            "torch.as_tensor(a, dtype=torch.float32)": "copied",
            "torch.from_numpy(a)[0]": "shared",
            "torch.from_numpy(a).t()": "shared",
            "torch.from_numpy(a).t().reshape(6)": "copied",
        }""",
    why="Look instead of believing: `viz.memory(a=a, result=torch.from_numpy(a).t().reshape(6))`.",
    mistakes=[
        Mistake(
            "Indexing a tensor copies the row, as a list's slice does.",
            """
            answer = {
                "torch.tensor(a)": "copied",
                "torch.as_tensor(a)": "shared",
                "torch.as_tensor(a, dtype=torch.float32)": "copied",
                "torch.from_numpy(a)[0]": "copied",
                "torch.from_numpy(a).t()": "shared",
                "torch.from_numpy(a).t().reshape(6)": "copied",
            }""",
            "a row is a view",
        ),
        Mistake(
            "`as_tensor` always shares.",
            """
            answer = {
                "torch.tensor(a)": "copied",
                "torch.as_tensor(a)": "shared",
                "torch.as_tensor(a, dtype=torch.float32)": "shared",
                "torch.from_numpy(a)[0]": "shared",
                "torch.from_numpy(a).t()": "shared",
                "torch.from_numpy(a).t().reshape(6)": "copied",
            }""",
            "8 bytes wide",
        ),
        Mistake(
            "`reshape` is always a view.",
            """
            answer = {
                "torch.tensor(a)": "copied",
                "torch.as_tensor(a)": "shared",
                "torch.as_tensor(a, dtype=torch.float32)": "copied",
                "torch.from_numpy(a)[0]": "shared",
                "torch.from_numpy(a).t()": "shared",
                "torch.from_numpy(a).t().reshape(6)": "shared",
            }""",
            "no single stride",
        ),
        Mistake(
            "`torch.tensor` wraps what it is given.",
            """
            answer = {
                "torch.tensor(a)": "shared",
                "torch.as_tensor(a)": "shared",
                "torch.as_tensor(a, dtype=torch.float32)": "copied",
                "torch.from_numpy(a)[0]": "shared",
                "torch.from_numpy(a).t()": "shared",
                "torch.from_numpy(a).t().reshape(6)": "copied",
            }""",
            "always copies",
        ),
    ],
)
def zero_copy_1(answer: dict[str, str]) -> str:
    because = {
        "torch.tensor(a)": "torch.tensor always copies",
        "torch.as_tensor(a)": "as_tensor shares if dtype and device are as wanted, and they are",
        "torch.as_tensor(a, dtype=torch.float32)": (
            "the array's numbers are 8 bytes wide, the tensor's 4"
        ),
        "torch.from_numpy(a)[0]": "a row is a view: same storage, fewer sizes",
        "torch.from_numpy(a).t()": "the transpose only swaps sizes and strides",
        "torch.from_numpy(a).t().reshape(6)": (
            "no single stride leads through the columns in order, so reshape copies"
        ),
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a word for each of its six keys")
    for expression, reason in because.items():
        array = np.arange(6.0).reshape(2, 3)
        result = eval(expression, {"torch": torch, "a": array})
        truth = "shared" if np.shares_memory(array, result.numpy()) else "copied"
        if answer[expression] not in ("shared", "copied"):
            raise Wrong(f"{expression} is either 'shared' or 'copied', not {answer[expression]!r}")
        if answer[expression] != truth:
            raise Wrong(f"{expression} is {truth}: {reason}")
    return (
        "a pointer, sizes, strides and a dtype: what they can describe is shared, everything else "
        "is copied"
    )


@exercise(
    level=2,
    title="Images for PyTorch, without a copy",
    ask="""
        A camera library hands out images as arrays of (height, width, channel); PyTorch's layers
        want (channel, height, width). Write `as_image(array)`: a tensor of the shape PyTorch wants,
        over the array's own memory. No byte may be copied.""",
    start="""
        def as_image(array):
            ...""",
    passes=("as_image",),
    hints=(
        "Which of a tensor's numbers have to change so that the same bytes are read in another "
        "order?",
        "First a tensor that shares the array's memory, then a view of it with its three "
        "dimensions in another order.",
    ),
    solution="""
        def as_image(array):
            return torch.from_numpy(array).permute(2, 0, 1)""",
    why=(
        "The result is not contiguous: its innermost stride is the number of channels. PyTorch "
        "calls this format channels last."
    ),
    mistakes=[
        Mistake(
            "Any other shape with as many elements will do.",
            """
            def as_image(array):
                height, width, channels = array.shape
                return torch.from_numpy(array).view(channels, height, width)""",
            "keeps the order of the elements in memory",
        ),
        Mistake(
            "`torch.tensor` is how an array becomes a tensor.",
            """
            def as_image(array):
                return torch.tensor(array).permute(2, 0, 1)""",
            "bytes of its own",
        ),
        Mistake(
            "A layer needs contiguous memory.",
            """
            def as_image(array):
                return torch.from_numpy(array).permute(2, 0, 1).contiguous()""",
            "contiguous() wrote",
        ),
        Mistake(
            "The transpose swaps the first and the last dimension.",
            """
            def as_image(array):
                return torch.from_numpy(array).transpose(0, 2)""",
            "width before height",
        ),
    ],
)
def zero_copy_2(as_image: Callable[[np.ndarray], Any]) -> str:
    array = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
    image = as_image(array)
    if not isinstance(image, torch.Tensor):
        raise Wrong(f"as_image returned a {type(image).__name__}, not a tensor")
    if image.shape == (4, 3, 2):
        raise Wrong(
            "the result has width before height: its shape is (channel, width, height), that of a "
            "mirrored image"
        )
    if image.shape != (4, 2, 3):
        raise Wrong(
            f"an array of shape (2, 3, 4) became a tensor of {tuple(image.shape)}, not of (4, 2, 3)"
        )
    right = np.array_equal(image.numpy(), array.transpose(2, 0, 1))
    shared = np.shares_memory(image.numpy(), array)
    if not right and shared:
        raise Wrong(
            "view keeps the order of the elements in memory: what was a pixel's channels is now "
            "beside it in a row"
        )
    if not right:
        raise Wrong("pixels are not where they were: image[c, y, x] has to be array[y, x, c]")
    if not shared and image.is_contiguous():
        raise Wrong(
            "the image is right, but contiguous() wrote all of it anew: the order of dimensions is "
            "only strides"
        )
    if not shared:
        raise Wrong(
            "the image is right, but has bytes of its own: writing to the array would not be seen"
        )
    return f"strides {image.stride()}: the same bytes, read in another order"


@exercise(
    level=3,
    title="Lend memory, and get it back",
    ask="""
        Write `lend(array, give_back)`: a tensor over the array's memory, made of a `DataPtr` and a
        `Storage`. It has the array's shape and strides, keeps the array alive, and calls
        `give_back(array)` once, when the last tensor over this memory is gone. Arrays of float64
        have to work, also transposed ones, columns of larger ones, and those without elements or
        dimensions. What no tensor describes, such as an array read backwards, is a ValueError.""",
    given="""
        from internals.core.allocator import DataPtr
        from internals.core.storage import Storage""",
    start="""
        def lend(array, give_back):
            ...""",
    passes=("lend",),
    hints=(
        "`DataPtr(pointer, context, deleter)`: the deleter is called with the context. Which "
        "context keeps the array alive?",
        "The address is `array.ctypes.data`. `Storage(data, nbytes)` counts bytes, `torch.empty(0, "
        "dtype=torch.float64).set_(storage, 0, sizes, strides)` counts elements. numpy's strides "
        "are bytes. How far is it to the last element?",
    ),
    solution="""
        def lend(array, give_back):
            width = array.itemsize
            if array.dtype != np.float64 or any(s < 0 or s % width for s in array.strides):
                raise ValueError(
                    "an array of float64 is wanted, with strides of whole elements that are not "
                    "negative"
                )
            strides = [stride // array.itemsize for stride in array.strides]
            last = sum((size - 1) * stride for size, stride in zip(array.shape, strides))
            data = DataPtr(array.ctypes.data, array, give_back)
            storage = Storage(data, (last + 1) * array.itemsize if array.size else 0)
            return torch.empty(0, dtype=torch.float64).set_(storage, 0, array.shape, strides)""",
    why="`torch.from_numpy` is this, with a deleter that takes the GIL and drops the reference.",
    mistakes=[
        Mistake(
            "The pointer is all that the storage needs.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, None, lambda context: None)
                strides = [stride // array.itemsize for stride in array.strides]
                storage = Storage(data, array.nbytes)
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, strides)""",
            "does not keep the array alive",
        ),
        Mistake(
            "Strides are strides.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, array, give_back)
                storage = Storage(data, array.nbytes * array.itemsize)
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, array.strides)""",
            "numpy counts strides in bytes",
        ),
        Mistake(
            "Every array is row after row.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, array, give_back)
                storage = Storage(data, array.nbytes)
                rows, columns = array.shape
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, (columns, 1))""",
            "transposed",
        ),
        Mistake(
            "The deleter is called by hand, when the tensor is made.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, array, lambda context: None)
                strides = [stride // array.itemsize for stride in array.strides]
                storage = Storage(data, array.nbytes)
                give_back(array)
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, strides)""",
            "while the tensor is in use",
        ),
        Mistake(
            "To keep the array alive is enough.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, array, lambda context: None)
                strides = [stride // array.itemsize for stride in array.strides]
                storage = Storage(data, array.nbytes)
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, strides)""",
            "give_back was never called",
        ),
        Mistake(
            "An array's memory has as many bytes as its elements.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, array, give_back)
                strides = [stride // array.itemsize for stride in array.strides]
                storage = Storage(data, array.nbytes)
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, strides)""",
            "over what lies",
        ),
        Mistake(
            "Any strides will do: numpy's array was right.",
            """
            def lend(array, give_back):
                data = DataPtr(array.ctypes.data, array, give_back)
                strides = [abs(stride) // array.itemsize for stride in array.strides]
                last = sum((size - 1) * stride for size, stride in zip(array.shape, strides))
                storage = Storage(data, (last + 1) * array.itemsize if array.size else 0)
                t = torch.empty(0, dtype=torch.float64)
                return t.set_(storage, 0, array.shape, strides)""",
            "has to be refused",
        ),
    ],
)
def zero_copy_3(lend: Callable[[np.ndarray, Callable[[Any], None]], Any]) -> str:
    array, returned = np.arange(6.0).reshape(2, 3), []
    before = sys.getrefcount(array)
    tensor = lend(array, lambda context: returned.append(context is array))
    if not isinstance(tensor, torch.Tensor) or tensor.shape != (2, 3):
        raise Wrong(f"lend has to return a tensor of the array's shape, (2, 3), not {tensor!r}")
    if tensor.data_ptr() != array.ctypes.data:
        raise Wrong("the tensor's data_ptr() is not the array's address: these are other bytes")
    if returned:
        raise Wrong(
            "give_back was called while the tensor is in use: whoever lent the memory may free it "
            "now"
        )
    if sys.getrefcount(array) <= before:
        raise Wrong(
            "the tensor does not keep the array alive: no reference was added, so `del array` "
            "frees its memory"
        )
    if tensor.stride() == array.strides:
        raise Wrong(
            f"numpy counts strides in bytes, {array.strides}; a tensor counts elements, (3, 1)"
        )
    if tensor.tolist() != array.tolist():
        raise Wrong("the tensor shows other numbers than the array")
    view, storage = tensor[1:], tensor.untyped_storage()
    del tensor
    if returned:
        raise Wrong("give_back was called while a view is still looking at the memory")
    del view
    gc.collect()
    if returned:
        raise Wrong(
            "give_back was called while the storage lives: memory goes back with its storage, not "
            "with a tensor"
        )
    del storage
    gc.collect()
    if returned != [True]:
        times = f"{len(returned)} times" if returned else "never"
        raise Wrong(
            f"give_back was {times} called with the array when the last tensor was gone: is it the "
            "deleter?"
        )
    turned = np.arange(6.0).reshape(2, 3).T
    if lend(turned, lambda context: None).tolist() != turned.tolist():
        raise Wrong(
            "a transposed array comes out wrong: its strides are not those of rows that stand one "
            "behind the other"
        )
    check_parts(lend)
    return "pointer, context, deleter: a promise that travels with the memory"


def check_parts(lend: Callable[[np.ndarray, Callable[[Any], None]], Any]) -> None:
    """What a reader tries next: a column, a part without elements, a field of records, an array
    backwards.
    """
    rows = np.arange(12.0).reshape(3, 4)
    parts = {
        "rows[:, 1]": rows[:, 1],
        "rows[:, ::2]": rows[:, ::2],
        "rows[1:, 2:].T": rows[1:, 2:].T,
        "rows[:0]": rows[:0],
        "np.array(7.0)": np.array(7.0),
        "np.broadcast_to(rows[0], (2, 4))": np.broadcast_to(rows[0], (2, 4)),
    }
    for text, part in parts.items():
        try:
            lent = lend(part, lambda context: None)
        except (RuntimeError, ValueError) as error:
            raise Wrong(
                f"rows of 4, {text}: it was refused. The memory reaches from the first element to "
                "the last, over what lies between them; nbytes counts only the elements"
            ) from error
        if lent.shape != part.shape or lent.tolist() != part.tolist():
            raise Wrong(
                f"rows of 4, {text} is {part.tolist()}; the tensor over it is {lent.tolist()}"
            )
    records = np.array([(1.0, 2), (3.0, 4)], dtype=[("x", "f8"), ("n", "i4")])
    for text, part in {
        "rows[::-1]": rows[::-1],
        "a field of records of 12 bytes": records["x"],
    }.items():
        try:
            lent = lend(part, lambda context: None)
        except (RuntimeError, ValueError):
            continue
        if lent.tolist() != part.tolist():
            raise Wrong(
                f"{text} has strides {part.strides} in bytes, which no tensor has: it has to be "
                "refused"
            )
