"""Exercises of notebook 04: which tensors look at one memory, how strides find an element, and when
`view` has to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise
from exercises.topics.strides_in_use import installed, trained

SIX = {
    "x[1:].view(8)": "view",
    "x[:, 1:3].view(6)": "refused",
    "x[:, 1:3].reshape(6)": "copy",
    "x[:, 1:3].view(3, 2, 1)": "view",
    "x.t().contiguous()": "copy",
    "x[[0, 1, 2]]": "copy",
}


def six(**other: str) -> str:
    """The text of an answer to `views_1`: `SIX`, with other words for the first, second, ...
    expression.
    """
    words = [other.get(f"n{n}", word) for n, word in enumerate(SIX.values(), 1)]
    lines = [f'    "{expression}": "{word}",' for expression, word in zip(SIX, words)]
    return "\n".join(["answer = {", *lines, "}"])


@exercise(
    level=1,
    title="View, copy or refused?",
    ask="""
        `x` is a 3×4 grid. Say of each expression whether its result looks at `x`'s memory
        (`"view"`), has a memory of its own (`"copy"`), or is a RuntimeError (`"refused"`). Decide
        before you run anything.""",
    given="x = torch.arange(12).reshape(3, 4)",
    start="""
        answer = {
            "x[1:].view(8)": ...,
            "x[:, 1:3].view(6)": ...,
            "x[:, 1:3].reshape(6)": ...,
            "x[:, 1:3].view(3, 2, 1)": ...,
            "x.t().contiguous()": ...,
            "x[[0, 1, 2]]": ...,
        }""",
    hints=(
        "Section 5: which chunks does each of the tensors consist of, and does the new shape cross "
        "a border between two?",
        "`x[1:]` has strides (4, 1) and sizes (2, 4): one chunk. `x[:, 1:3]` has the same strides "
        "and sizes (3, 2): two.",
    ),
    solution=six(),
    why=(
        "`view` promises to share and would rather fail; `reshape` promises the shape; a list as "
        "an index always copies."
    ),
    mistakes=[
        Mistake(
            "`view` needs a tensor that starts where its storage does.",
            six(n1="refused"),
            "one chunk",
        ),
        Mistake("`view` copies if it has to.", six(n2="copy"), "never copies"),
        Mistake("`reshape` is another name for `view`.", six(n3="refused"), "reshape asks for"),
        Mistake("`view` needs a contiguous tensor.", six(n4="refused"), "a dimension of size 1"),
        Mistake("`contiguous()` is a way of looking.", six(n5="view"), "order in memory"),
        Mistake(
            "An index that happens to pick everything in order is a view.",
            six(n6="view"),
            "form of the index",
        ),
    ],
)
def views_1(answer: dict[str, str]) -> str:
    because = {
        "x[1:].view(8)": (
            "the two rows are one chunk, wherever in the storage it begins, and 8 fills it"
        ),
        "x[:, 1:3].view(6)": (
            "between two rows of x[:, 1:3] lie two elements that do not belong to it; view never "
            "copies"
        ),
        "x[:, 1:3].reshape(6)": (
            "no single stride leads through it, and reshape asks for the shape, so it copies"
        ),
        "x[:, 1:3].view(3, 2, 1)": (
            "it is not contiguous, but a dimension of size 1 crosses no border"
        ),
        "x.t().contiguous()": (
            "contiguous elements have another order in memory than x's, so they must be written "
            "anew"
        ),
        "x[[0, 1, 2]]": "the form of the index decides, not its values: a list copies",
    }
    if not isinstance(answer, dict) or answer.keys() != because.keys():
        raise Wrong("the answer is the dict above, with a word for each of its six keys")
    for expression, reason in because.items():
        if answer[expression] not in ("view", "copy", "refused"):
            raise Wrong(f"{expression} is 'view', 'copy' or 'refused', not {answer[expression]!r}")
        truth = outcome(expression)
        if answer[expression] != truth:
            raise Wrong(f"{expression}: {truth}. {reason[0].upper()}{reason[1:]}")
    return "chunks decide about view; reshape and contiguous copy where it would refuse"


def outcome(expression: str) -> str:
    x = torch.arange(12).reshape(3, 4)
    try:
        result = eval(expression, {"x": x})
    except RuntimeError:
        return "refused"
    return "view" if result.untyped_storage() is x.untyped_storage() else "copy"


@exercise(
    level=2,
    title="Every patch of an image",
    ask="""
        A convolution looks at every k×k patch of an image. Write `patches(image, k)`: for an image
        of sizes (H, W) a tensor of sizes (H-k+1, W-k+1, k, k), where `patches(image, k)[i, j]` is
        the patch whose top left corner is `image[i, j]`. Patches overlap, yet no element may be
        copied. The image may itself be a view, such as a transpose or a part.""",
    start="""
        def patches(image, k):
            ...""",
    passes=("patches",),
    hints=(
        "Four indices: i and j say where a patch begins, two more walk inside it. How far in "
        "memory is each step?",
        "One row down is `image.stride(0)`, whether you move the corner or walk inside. "
        "`as_strided` starts at the tensor's own offset unless you give it another.",
    ),
    solution="""
        def patches(image, k):
            (height, width), (down, right) = image.shape, image.stride()
            return image.as_strided(
                (height - k + 1, width - k + 1, k, k), (down, right, down, right)
            )""",
    why=(
        "Also `image.unfold(0, k, 1).unfold(1, k, 1)`: the same strides. On this view a "
        "convolution is one `einsum`."
    ),
    mistakes=[
        Mistake(
            "An image's rows stand one behind the other.",
            """
            def patches(image, k):
                height, width = image.shape
                return image.as_strided(
                    (height - k + 1, width - k + 1, k, k), (width, 1, width, 1)
                )""",
            "asked for its own strides",
        ),
        Mistake(
            "A storage begins where the tensor does.",
            """
            def patches(image, k):
                (height, width), (down, right) = image.shape, image.stride()
                return image.as_strided(
                    (height - k + 1, width - k + 1, k, k), (down, right, down, right), 0
                )""",
            "storage_offset",
        ),
        Mistake(
            "Patches are what is left when an image is cut up.",
            """
            def patches(image, k):
                (height, width), (down, right) = image.shape, image.stride()
                return image.as_strided(
                    (height // k, width // k, k, k), (down * k, right * k, down, right)
                )""",
            "overlap",
        ),
        Mistake(
            "Elements that appear twice have to be there twice.",
            """
            def patches(image, k):
                rows = range(image.shape[0] - k + 1)
                columns = range(image.shape[1] - k + 1)
                return torch.stack(
                    [torch.stack([image[i : i + k, j : j + k] for j in columns]) for i in rows]
                )""",
            "were copied",
        ),
        Mistake(
            "The first index runs along a row.",
            """
            def patches(image, k):
                (height, width), (down, right) = image.shape, image.stride()
                return image.as_strided(
                    (height - k + 1, width - k + 1, k, k), (right, down, right, down)
                )""",
            "elements of the image [i:i+k, j:j+k]",
        ),
    ],
)
def views_2(patches: Callable[[Any, int], Any]) -> str:
    line: Any = torch.arange(80)
    for name, image, k in (
        ("an image of (5, 6)", line.as_strided((5, 6), (6, 1), 0), 2),
        ("an image of (5, 6)", line.as_strided((5, 6), (6, 1), 0), 1),
        ("a transposed image", line.as_strided((4, 6), (1, 4), 0), 3),
        ("every second column", line.as_strided((5, 4), (8, 2), 0), 2),
        ("a part that begins in the middle", line.as_strided((4, 4), (8, 1), 27), 2),
        ("an image of one patch", line.as_strided((3, 3), (3, 1), 0), 3),
    ):
        try:
            result = patches(image, k)
        except RuntimeError as error:
            raise Wrong(f"{name}, k={k}: {error}") from None
        compare_patches(name, image, k, result)
    return (
        "one element stands in up to k*k patches, and once in memory: strides may lead to the same "
        "place twice"
    )


def compare_patches(name: str, image: Any, k: int, result: Any) -> None:
    rows, columns = image.shape[0] - k + 1, image.shape[1] - k + 1
    if not isinstance(result, torch.Tensor):
        raise Wrong(f"patches returned a {type(result).__name__}, not a tensor")
    if result.shape == (image.shape[0] // k, image.shape[1] // k, k, k) != (rows, columns, k, k):
        raise Wrong(
            "these are tiles that stand side by side; patches overlap, one begins at every element"
        )
    if result.shape != (rows, columns, k, k):
        raise Wrong(
            f"{name}, k={k}: sizes {(rows, columns, k, k)} are wanted, not {tuple(result.shape)}"
        )
    right = all(
        result[i, j].tolist() == image[i : i + k, j : j + k].tolist()
        for i in range(rows)
        for j in range(columns)
    )
    if right and result.untyped_storage() is not image.untyped_storage():
        raise Wrong(
            "the numbers are right, but they were copied: the result does not look at the image's "
            "storage"
        )
    if right:
        return
    if image.storage_offset():
        raise Wrong(
            f"{name}: as_strided counts from the start of the storage; the image has a "
            "storage_offset"
        )
    if image.is_contiguous():
        raise Wrong(
            f"{name}, k={k}: patch [i, j] does not consist of the elements of the image [i:i+k, "
            "j:j+k]"
        )
    raise Wrong(
        f"{name} has strides {image.stride()}: the image has to be asked for its own strides"
    )


@exercise(
    level=3,
    title="Your own reshape",
    ask="""
        Write `reshape(t, shape)`: a view of `t` whenever one is possible, a copy only when not.
        `shape` may contain a -1, and a shape that does not fit is a RuntimeError. Do not call
        `reshape` or `flatten`: the checker puts your function into the dispatcher in place of
        `aten::reshape`, and a model is trained through it.""",
    start="""
        def reshape(t, shape):
            ...""",
    passes=("reshape",),
    hints=(
        "Who already knows when a view is possible? And what makes one possible that is not?",
        "`t.view(shape)` raises RuntimeError if there are no such strides. A contiguous tensor has "
        "one chunk.",
    ),
    solution="""
        def reshape(t, shape):
            try:
                return t.view(shape)
            except RuntimeError:
                return t.contiguous().view(shape)""",
    why="""
        A shape that does not fit fails in the second `view`, too. The real one
        (`aten/src/ATen/native/TensorShape.cpp`) computes the strides first and tries nothing; ours
        is in `internals/aten/native/view_composites.py`.""",
    mistakes=[
        Mistake(
            "A view is possible if the tensor is contiguous.",
            """
            def reshape(t, shape):
                if t.is_contiguous():
                    return t.view(shape)
                return t.contiguous().view(shape)""",
            "is not contiguous and can be viewed",
        ),
        Mistake(
            "`clone` is the safe way.",
            """
            def reshape(t, shape):
                return t.clone().view(shape)""",
            "a write through the result",
        ),
        Mistake(
            "A new shape needs the strides of a fresh tensor, and that is all.",
            """
            def reshape(t, shape):
                shape = [t.numel() if n == -1 else n for n in shape]
                strides, step = [], 1
                for n in reversed(shape):
                    strides.insert(0, step)
                    step *= n
                return t.as_strided(shape, strides)""",
            "order of the elements",
        ),
        Mistake(
            "`reshape` is `view`.",
            """
            def reshape(t, shape):
                return t.view(shape)""",
            "a copy is needed",
        ),
        Mistake(
            "To ask `reshape` is not forbidden if it has another name.",
            """
            def reshape(t, shape):
                return t.reshape(shape)""",
            "called itself",
        ),
    ],
)
def views_3(reshape: Callable[[Any, Sequence[int]], Any]) -> str:
    expected = trained()
    y = torch.arange(24).reshape(2, 3, 4)
    cases: list[tuple[str, Any, list[int]]] = [
        ("y", y, [4, 6]),
        ("y", y, [-1]),
        ("y[:, :, :2]", y[:, :, :2], [6, 2]),
        ("y[1]", y[1], [2, -1]),
        ("y.transpose(1, 2)", y.transpose(1, 2), [2, 12]),
        ("y.t of a row", y[0].t(), [12]),
        ("y[0, 0, 0]", y[0, 0, 0], [1, 1]),
        ("y[:0]", y[:0], [0, 7]),
        ("expanded", y[0, 0].expand(3, 4), [12]),
    ]
    wanted = [(t.reshape(shape), t, name, shape) for name, t, shape in cases]
    calls, running = 0, False

    def kernel(self: Any, shape: Sequence[int]) -> Any:
        nonlocal calls, running
        if running:
            raise Wrong(
                "your function called itself: reshape and flatten go through the kernel you are "
                "writing"
            )
        calls, running = calls + 1, True
        try:
            return reshape(self, list(shape))
        finally:
            running = False

    with installed({"reshape": kernel}, "CompositeImplicitAutograd"):
        for theirs, t, name, shape in wanted:
            compare_reshape(name, t, shape, theirs)
        got = trained()
        for shape in ([5, 5], [7, -1], [-1, -1]):
            try:
                y.reshape(shape)
            except RuntimeError:
                continue
            raise Wrong(
                f"24 elements became a tensor of {shape}; a shape that does not fit is a "
                "RuntimeError"
            )
    if got != expected:
        raise Wrong(
            f"a model trained through your reshape has the losses {got}; with the built-in one "
            f"{expected}"
        )
    return (
        f"{calls} calls went through your function, in two steps of training too, and the losses "
        "are the same"
    )


def compare_reshape(name: str, t: Any, shape: list[int], theirs: Any) -> None:
    copied = theirs.untyped_storage() is not t.untyped_storage()
    try:
        result = t.reshape(shape)
    except RuntimeError as error:
        if copied:
            raise Wrong(
                f"{name} of strides {t.stride()} has no view of {shape}: a copy is needed, in order"
            ) from None
        raise Wrong(f"{name} to {shape}: {error}") from None
    if not isinstance(result, torch.Tensor) or result.shape != theirs.shape:
        shown = tuple(result.shape) if isinstance(result, torch.Tensor) else repr(result)
        raise Wrong(f"{name} to {shape}: wanted is a tensor of {tuple(theirs.shape)}, not {shown}")
    if result.tolist() != theirs.tolist():
        raise Wrong(
            f"{name} to {shape}: the order of the elements has changed, {t.tolist()} became "
            f"{result.tolist()}"
        )
    if copied or result.untyped_storage() is t.untyped_storage() or not t.numel():
        return
    if t.is_contiguous():
        raise Wrong(
            f"{name} to {shape} was copied, so a write through the result is not seen in {name}"
        )
    raise Wrong(
        f"{name} is not contiguous and can be viewed as {shape}: strides {theirs.stride()}. Yours "
        "was copied"
    )
