"""What the checkers of notebook 04 share: two small models whose views the reader makes, and where
the elements of a view are.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple

import internals as torch
from exercises.exercise import Wrong


@contextmanager
def installed(kernels: dict[str, Callable[..., Any]], key: str = "CPU") -> Iterator[None]:
    """These functions as kernels of aten's operators for one dispatch key, and the built-in ones
    again afterwards.
    """
    from internals.library import Library

    with Library("aten", "IMPL") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in kernels.items():
            library.impl(name, function, key)
        yield


def attention() -> list[float]:
    """The losses of an attention in two steps of training: it views, transposes, expands and
    selects.
    """
    nn = torch.nn
    with torch.random.fork_rng():
        torch.manual_seed(4)
        layer, words, losses = nn.MultiheadAttention(8, 2), torch.randn(3, 2, 8), []
        scale = torch.randn(8, requires_grad=True)
        for _ in range(2):
            found, weights = layer(words, words, words)
            last = found.select(0, -1) * scale.expand(2, -1)
            loss = (last**2).mean() + weights.transpose(1, 2)[0].sum(0).view(3, 1).expand(3, 2).pow(
                2
            ).mean()
            loss.backward()
            with torch.no_grad():
                for weight in (scale, *layer.parameters()):
                    weight -= 0.1 * weight.grad
                    weight.grad = None
            losses.append(loss.item())
    return losses


def trained() -> list[float]:
    """The losses of a small model that reshapes what a convolution gives it, as it is and
    turned.
    """
    nn = torch.nn
    with torch.random.fork_rng():
        torch.manual_seed(4)
        convolution, linear = nn.Conv2d(1, 2, 3), nn.Linear(32, 3)
        images, losses = torch.randn(2, 1, 6, 6), []
        optimizer = torch.optim.SGD([*convolution.parameters(), *linear.parameters()], lr=0.1)
        for _ in range(2):
            found = torch.relu(convolution(images))
            scores = linear(found.flatten(1)) + linear(found.transpose(2, 3).reshape(2, 32))
            loss = (scores**2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


class Layout(NamedTuple):
    """Sizes, strides and an offset: a `View`, as the reader's cell has it."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def of(t: Any) -> Layout:
    return Layout(tuple(t.shape), tuple(t.stride()), t.storage_offset())


def alike(call: str, got: Any, t: Any, theirs: Any) -> None:
    """Compares a View with a real one; the stride of a dimension of size 1 may be anything."""
    if not isinstance(got, tuple) or len(got) != 3:
        raise Wrong(f"{call} returned {got!r}; a View of sizes, strides and an offset is wanted")
    (sizes, strides, offset), truth = got, of(theirs)
    told = f"{call} of sizes {told_of(of(t))} gives {told_of(truth)}, not {told_of(got)}"
    if tuple(sizes) != truth.sizes:
        raise Wrong(f"{told}. -1 keeps a size" if "-1" in call and -1 in tuple(sizes) else told)
    if offset != truth.offset:
        negative = "-" in call.partition(",")[2]
        raise Wrong(
            f"{told}. A negative index counts from the end"
            if negative
            else f"{told}. An index moves the offset"
        )
    if len(strides) != len(sizes) or any(
        n > 1 and a != b for n, a, b in zip(sizes, strides, truth.strides)
    ):
        why = (
            "what is repeated has stride 0"
            if call.startswith("expand")
            else "strides belong to their sizes"
        )
        raise Wrong(f"{told}: {why}")


def told_of(view: Any) -> str:
    return f"{list(view[0])}, strides {list(view[1])}, offset {view[2]}"


def walk(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The positions of all elements, in the order of the indices."""
    return [sum(i * s for i, s in zip(index, strides)) for index in product(*map(range, sizes))]


def shapes(numel: int) -> list[tuple[int, ...]]:
    """The shapes of at most three dimensions with this many elements; for none, a few."""
    if not numel:
        return [(0,), (0, 3), (2, 0, 5)]
    parts = [n for n in range(1, numel + 1) if numel % n == 0]
    return [
        shape
        for dims in (1, 2, 3)
        for shape in product(parts, repeat=dims)
        if math.prod(shape) == numel
    ]
