"""Exercises of notebook 04: build stride arithmetic yourself, from the position of an element to
the rule of `view`.

The last two steps put the reader's functions into the dispatcher: views are made by them, and a
model is trained on these views.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics.strides_in_use import alike, attention, installed, of, shapes, walk


@exercise(
    level=2,
    title="Stride arithmetic 1: where is element [i, j]?",
    ask="""
        Write `position(index, sizes, strides, storage_offset)`: the number of the storage's element
        that a tensor with this geometry shows at `index`. As with a real tensor, an index may be
        negative and then counts from the end; one that is out of range is an IndexError.""",
    start="""
        def position(index, sizes, strides, storage_offset):
            ...""",
    passes=("position",),
    hints=(
        "Section 3 has the formula for indices that are not negative.",
        "Go through `zip(index, sizes, strides)`: is -size <= i < size? Add the size to a negative "
        "i, then multiply.",
    ),
    solution="""
        def position(index, sizes, strides, storage_offset):
            result = storage_offset
            for i, size, stride in zip(index, sizes, strides):
                if not -size <= i < size:
                    raise IndexError(f"index {i} is out of bounds for a dimension of size {size}")
                result += (i % size) * stride
            return result""",
    why=(
        "The element of a 0-d tensor is at `storage_offset`: nothing is added. In C++ this is the "
        "loop of `TensorAccessor`."
    ),
    mistakes=[
        Mistake(
            "A tensor starts where its storage starts.",
            """
            def position(index, sizes, strides, storage_offset):
                for i, size in zip(index, sizes):
                    if not -size <= i < size:
                        raise IndexError(i)
                return sum(
                    (i % size) * stride for i, size, stride in zip(index, sizes, strides)
                )""",
            "storage_offset",
        ),
        Mistake(
            "Sizes say where the rows begin.",
            """
            def position(index, sizes, strides, storage_offset):
                result = 0
                for i, size in zip(index, sizes):
                    if not -size <= i < size:
                        raise IndexError(i)
                    result = result * size + i % size
                return storage_offset + result""",
            "row after row",
        ),
        Mistake(
            "A negative index is a step backwards.",
            """
            def position(index, sizes, strides, storage_offset):
                for i, size in zip(index, sizes):
                    if not -size <= i < size:
                        raise IndexError(i)
                return storage_offset + sum(i * stride for i, stride in zip(index, strides))""",
            "counts from the end",
        ),
        Mistake(
            "Any number is an index.",
            """
            def position(index, sizes, strides, storage_offset):
                return storage_offset + sum(
                    (i % n) * s for i, n, s in zip(index, sizes, strides)
                )""",
            "no IndexError",
        ),
    ],
)
def build_strides_1(position: Callable[..., int]) -> str:
    memory = torch.arange(60)
    x = memory[:24].view(2, 3, 4)
    tensors = [
        x,
        x[1],
        x.transpose(0, 2),
        x[:, 1:, ::2],
        memory[50:].unfold(0, 3, 2),
        x[0, 0].expand(3, 4),
        memory[7],
    ]
    seen = 0
    for t in tensors:
        for index in sorted(
            product(*(range(-n, n) for n in t.shape)), key=lambda index: min(index, default=0) < 0
        ):
            truth = t[index].item()  # element number n of this storage has the value n
            got = position(index, tuple(t.shape), t.stride(), t.storage_offset())
            if got != truth:
                raise Wrong(misplaced(t, index, got, truth))
            seen += 1
        for outside in (
            (i if e == d else 0 for e in range(t.dim()))
            for d, n in enumerate(t.shape)
            for i in (n, -n - 1)
        ):
            index = tuple(outside)
            try:
                got = position(index, tuple(t.shape), t.stride(), t.storage_offset())
            except IndexError:
                continue
            raise Wrong(
                f"{list(index)} is outside of sizes {list(t.shape)}, but there was no IndexError: "
                f"it gave {got!r}"
            )
    return f"{seen} elements of {len(tensors)} tensors found where the storage has them"


def misplaced(t: Any, index: tuple[int, ...], got: Any, truth: int) -> str:
    where = (
        f"sizes {list(t.shape)}, strides {list(t.stride())}, storage_offset {t.storage_offset()}: "
    )
    told = f"{where}{list(index)} is element {truth}, not {got!r}"
    if min(index, default=0) < 0:
        return f"{told}. A negative index counts from the end of its dimension"
    if isinstance(got, int) and got + t.storage_offset() == truth:
        return f"{told}. Index [0, 0, ...] is at storage_offset, not at 0"
    if not t.is_contiguous():
        return (
            f"{told}. You seem to walk row after row, which only contiguous tensors do: use the "
            "strides"
        )
    return told


SELECT = """
def select(v, dim, index):
    sizes, strides = list(v.sizes), list(v.strides)
    size, stride = sizes.pop(dim), strides.pop(dim)
    return View(tuple(sizes), tuple(strides), v.offset + range(size)[index] * stride)
"""
TRANSPOSE = """
def transpose(v, dim0, dim1):
    order = list(range(len(v.sizes)))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return View(tuple(v.sizes[d] for d in order), tuple(v.strides[d] for d in order), v.offset)
"""
EXPAND = """
def expand(v, sizes):
    missing = len(sizes) - len(v.sizes)
    if missing < 0 or -1 in sizes[:missing]:
        raise RuntimeError(f"sizes {v.sizes} cannot become {sizes}")
    old_sizes, strides = (1,) * missing + v.sizes, [0] * missing + list(v.strides)
    for d, (new, old) in enumerate(zip(sizes, old_sizes)):
        if new not in (-1, old):
            if old != 1:
                raise RuntimeError(f"size {old} cannot become {new}")
            strides[d] = 0
    new_sizes = tuple(old if new == -1 else new for new, old in zip(sizes, old_sizes))
    return View(new_sizes, tuple(strides), v.offset)
"""


@exercise(
    level=3,
    title="Stride arithmetic 2: views as pure functions",
    ask="""
        Write `select(v, dim, index)`, `transpose(v, dim0, dim1)` and `expand(v, sizes)` as PyTorch
        has them, from a `View` to a `View`: no tensor, only numbers. Dimensions and indices may be
        negative; one that is out of range is an IndexError. In `expand`, new dimensions come in
        front, -1 keeps a size, and a size other than 1 that would have to change, or go away, is a
        RuntimeError. Then your functions become the kernels of the real operators, and a small
        attention is computed through them.""",
    given="""
        from typing import NamedTuple

        class View(NamedTuple):
            sizes: tuple
            strides: tuple
            offset: int""",
    start="""
        def select(v, dim, index):
            ...

        def transpose(v, dim0, dim1):
            ...

        def expand(v, sizes):
            ...""",
    passes=("select", "transpose", "expand"),
    hints=(
        "Section 4 has them for dimensions that are not negative, and `expand` for one new "
        "dimension. `position` of step 1 knows what a negative index is.",
        "For `expand`, put the missing dimensions in front first, with size 1. A size that is 1 "
        "and changes gets stride 0.",
    ),
    solution="\n".join([SELECT, TRANSPOSE, EXPAND]),
    why=(
        "None of the three asked what the elements are: they cost the same for four bytes and for "
        "four gigabytes."
    ),
    mistakes=[
        Mistake(
            "To select is to leave a dimension out.",
            SELECT.replace("v.offset + range(size)[index] * stride", "v.offset")
            + TRANSPOSE
            + EXPAND,
            "moves the offset",
        ),
        Mistake(
            "A negative index moves the offset backwards.",
            SELECT.replace("range(size)[index]", "index") + TRANSPOSE + EXPAND,
            "counts from the end",
        ),
        Mistake(
            "An index that is too large comes round again.",
            SELECT.replace("range(size)[index]", "(index % size)") + TRANSPOSE + EXPAND,
            "no IndexError",
        ),
        Mistake(
            "A transpose swaps the sizes; strides are made for sizes.",
            SELECT + TRANSPOSE.replace("tuple(v.strides[d] for d in order)", "v.strides") + EXPAND,
            "strides belong to their sizes",
        ),
        Mistake(
            "A repeated dimension still takes its steps.",
            SELECT
            + TRANSPOSE
            + EXPAND.replace("strides[d] = 0", "strides[d] = 1").replace("[0] * m", "[1] * m"),
            "stride 0",
        ),
        Mistake(
            "-1 is a size like any other.",
            SELECT + TRANSPOSE + EXPAND.replace("old if new == -1 else new", "new"),
            "-1 keeps",
        ),
        Mistake(
            "Whatever is asked for can be repeated.",
            SELECT + TRANSPOSE + EXPAND.replace("if old != 1:", "if False:"),
            "must be refused",
        ),
        Mistake(
            "There are at least as many new sizes as old ones.",
            SELECT + TRANSPOSE + EXPAND.replace("missing < 0 or", ""),
            "must be refused",
        ),
    ],
)
def build_strides_2(
    select: Callable[..., Any], transpose: Callable[..., Any], expand: Callable[..., Any]
) -> str:
    x = torch.arange(24).view(2, 3, 4)
    one = torch.arange(8).view(2, 1, 4)[:, :, 1:]
    for t, dim, index in (
        (x, 0, 1),
        (x, 1, 0),
        (x, 2, 3),
        (x[1], -1, 2),
        (x[1].t(), 0, -1),
        (x, -2, -3),
    ):
        alike(f"select({dim}, {index})", select(of(t), dim, index), t, t.select(dim, index))
    for t, dim, index in ((x, 0, 2), (x[:, 1], 0, 1), (x, -1, -3)):
        alike(
            f"transpose({dim}, {index})", transpose(of(t), dim, index), t, t.transpose(dim, index)
        )
    for t, sizes in (
        (one, (2, 5, 3)),
        (one, (4, 2, 6, 3)),
        (one, (-1, 2, -1)),
        (x[0, 0, 0], (3,)),
        (x, (2, 3, 4)),
    ):
        alike(f"expand{sizes}", expand(of(t), sizes), t, t.expand(sizes))
    for t, dim, index in ((x, 0, 2), (x, -1, -5), (x[:0], 0, 0)):
        try:
            got = select(of(t), dim, index)
        except IndexError:
            continue
        raise Wrong(
            f"select({dim}, {index}) of sizes {list(t.shape)} is out of range, but there was no "
            f"IndexError: it gave {got}"
        )
    for t, sizes in ((x, (2, 6, 4)), (x[0, 0], (2,)), (x[:, :, 0], (2,))):
        try:
            expand(of(t), sizes)
        except RuntimeError:
            continue
        raise Wrong(
            f"sizes {list(t.shape)} cannot become {list(sizes)}: only a size of 1 can be repeated, "
            "and none goes away; this must be refused"
        )
    expected, calls = attention(), []

    def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any, *args: Any) -> Any:
            calls.append(function)
            return self.as_strided(*function(of(self), *args))

        return run

    yours = {"select.int": kernel(select), "transpose.int": kernel(transpose)}
    with installed(
        {**yours, "expand": lambda self, sizes, implicit: kernel(expand)(self, tuple(sizes))}
    ):
        got = attention()
    if got != expected:
        raise Wrong(
            "an attention computed through your views has another result than with the built-in "
            "ones"
        )
    return (
        f"{len(calls)} views of a small attention, and their gradients, went through your three "
        "functions"
    )


CHUNKS = """
    chunks = []
    for size, stride in zip(sizes, strides):
        if size != 1 and chunks and chunks[-1][1] == size * stride:
            chunks[-1] = (chunks[-1][0] * size, stride)
        elif size != 1:
            chunks.append((size, stride))"""
CUTS = """
    result, left, step = [], 1, 1
    for size in reversed(new):
        if left == 1 and size != 1:
            left, step = chunks.pop()
        if left % size:
            return None
        result.insert(0, step)
        left, step = left // size, step * size
    return tuple(result)"""


def rule(chunks: str = CHUNKS, cuts: str = CUTS, empty: str = "(1,) * len(new)") -> str:
    head = f"def view_strides(sizes, strides, new):\n    if 0 in sizes:\n        return {empty}"
    return f"{head}{chunks}{cuts}"


@exercise(
    level=3,
    title="Stride arithmetic 3: the rule of view",
    ask="""
        Write `view_strides(sizes, strides, new)`: the strides with which sizes `new` show the same
        elements in the same order, as a tuple, or None if there are none. `new` has as many
        elements as `sizes`. A tensor without elements can have any shape. Then your function
        becomes the kernel of `aten::view`, and a model is trained through it.""",
    start="""
        def view_strides(sizes, strides, new):
            ...""",
    passes=("view_strides",),
    hints=(
        "Section 5: merge the old dimensions into chunks, then let the new ones cut them up. Leave "
        "out dimensions of size 1.",
        "Both from the right: a new dimension takes its size from what is left of the last chunk, "
        "with the stride that is reached there. When nothing is left, the next chunk begins; if "
        "the size does not divide what is left, there is no view.",
    ),
    solution=rule(),
    why=(
        "PyTorch's `computeStride` (`aten/src/ATen/TensorUtils.cpp`) does both in one loop and "
        "needs no list of chunks."
    ),
    mistakes=[
        Mistake(
            "A new shape gets the strides of a fresh tensor.",
            rule(
                chunks="",
                cuts="\n    return tuple(math.prod(new[d + 1:]) for d in range(len(new)))",
            ).replace("def", "import math\n\ndef", 1),
            "fresh tensor",
        ),
        Mistake(
            "Only a contiguous tensor can be viewed.",
            rule(
                chunks=(
                    f"{CHUNKS}\n    if len(chunks) > 1 or (chunks and chunks[0][1] != 1):\n        "
                    "return None"
                )
            ),
            "does exist",
        ),
        Mistake(
            "A dimension of size 1 is a dimension like any other.",
            rule(
                chunks=CHUNKS.replace("size != 1 and chunks", "chunks").replace(
                    "elif size != 1", "else"
                )
            ),
            "never stepped along",
        ),
        Mistake(
            "There are always strides that do it.",
            rule(
                cuts=CUTS.replace("if left % size:\n            return None", "pass").replace(
                    "left // size", "left // size or 1"
                )
            ),
            "cross the border",
        ),
        Mistake(
            "A repeated element cannot be merged with anything.",
            rule(chunks=CHUNKS.replace("and chunks and", "and stride and chunks and")),
            "times stride 0",
        ),
        Mistake("Where there is nothing, there is no view.", rule(empty="None"), "no elements"),
    ],
)
def build_strides_3(view_strides: Callable[..., Any]) -> str:
    y = torch.arange(24).reshape(2, 3, 4)
    examples = [
        y, y[1], y[:, :, :2], y[:, :2], y.transpose(0, 1), y.transpose(1, 2), y[:, ::2], y[:, 1:2],
        y[:, :, 1:2], y[:1].transpose(0, 2), y[0, 0].expand(3, 4), y[0, 0, 0].expand(3, 2), y[:0],
        y[0, 0, 0],
    ]  # fmt: skip
    judged = 0
    for t in examples:
        for new in sorted(shapes(t.numel()), key=lambda new: seen_as(t, new) is None):
            judge(tuple(t.shape), t.stride(), new, view_strides, seen_as(t, new))
            judged += 1
    expected, calls = attention(), []

    def view(self: Any, size: Sequence[int]) -> Any:
        from internals.core.geometry import infer_size

        calls.append(size)
        new = infer_size(size, self.numel())
        strides = view_strides(tuple(self.shape), self.stride(), new)
        if strides is None:
            raise RuntimeError("view size is not compatible with input tensor's size and stride")
        return self.as_strided(new, strides)

    with installed({"view": view}):
        got = attention()
    if got != expected:
        raise Wrong(
            "an attention trained through your `view` has another result than with the built-in one"
        )
    return (
        f"{judged} pairs of tensor and shape, and {len(calls)} views of an attention in training: "
        "all as PyTorch's rule says"
    )


def seen_as(t: Any, new: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of the built-in view; None where it refuses."""
    try:
        return tuple(t.view(new).stride())
    except RuntimeError:
        return None


def judge(
    sizes: Sequence[int],
    strides: Sequence[int],
    new: Sequence[int],
    yours: Any,
    truth: Sequence[int] | None,
) -> None:
    """Compares the reader's strides with the built-in ones by where they lead; strides of size 1
    may be anything.
    """
    got = yours(sizes, strides, new)
    told = f"sizes {list(sizes)}, strides {list(strides)}, seen as {list(new)}"
    if got is not None and (not isinstance(got, (tuple, list)) or len(got) != len(new)):
        raise Wrong(f"{told}: a tuple of {len(new)} strides or None is wanted, not {got!r}")
    if got is None and truth is not None:
        if 0 in sizes:
            raise Wrong(
                f"{told}: there are no elements, so nothing can be out of order; any strides will "
                "do"
            )
        if 0 in strides:
            raise Wrong(
                f"{told}: the view does exist. 3 times stride 0 is 0: repeated elements make one "
                "chunk, too"
            )
        if 1 in sizes:
            raise Wrong(
                f"{told}: the view does exist. A dimension of size 1 is never stepped along: its "
                "stride means nothing"
            )
        raise Wrong(
            f"{told}: the view does exist, with strides {list(truth)}. No new dimension crosses a "
            "border of chunks"
        )
    if got is None or 0 in sizes:
        return
    if walk(new, got) != walk(sizes, strides):
        if truth and tuple(got) == tuple(math.prod(new[d + 1 :]) for d in range(len(new))):
            raise Wrong(
                f"{told}: {list(got)} are the strides of a fresh tensor. Here the elements would "
                "come in another order"
            )
        told += f": with your strides {list(got)} the elements come in another order or are others"
        raise Wrong(
            told
            if truth
            else f"{told}. No strides can do it: a new dimension would cross the border of two "
            "chunks, so None is wanted"
        )
