"""Small modules made of the library under test, and what it says in words that are the same in
both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def text(value: Any) -> str:
    """`repr`, with one spelling of the package's name."""
    return normalized(repr(value))


def normalized(words: str) -> str:
    return words.replace("torch.", "internals.").replace("(torch Tensor", "(internals Tensor")


def error_of(call: Callable[[], Any]) -> str:
    """The type and the message of the exception that a call raises, as `ValueError: message`."""
    try:
        result = call()
    except Exception as error:
        message = error.args[0] if isinstance(error, KeyError) else str(error)
        return normalized(f"{type(error).__name__}: {message}")
    raise AssertionError(f"no exception, but {result!r}")


def make_leaf(T: Any) -> Any:
    """A class of modules with two parameters and two buffers, one of which is not saved. Takes the
    number of rows.
    """

    class Leaf(T.nn.Module):
        def __init__(self, rows: int = 2) -> None:
            super().__init__()
            self.rows = rows
            self.weight = T.nn.Parameter(T.arange(3.0 * rows).reshape(rows, 3))
            self.bias = T.nn.Parameter(T.zeros(rows))
            self.register_buffer("count", T.tensor(7))
            self.register_buffer("scratch", T.ones(2), persistent=False)

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return (x @ self.weight.t() + self.bias) * scale

        def extra_repr(self) -> str:
            return f"rows={self.rows}"

    return Leaf


def make_net(T: Any) -> Any:
    """A module of three, `first`, `second` and `block.inner`, the last two being the same
    object.
    """
    Leaf = make_leaf(T)

    class Block(T.nn.Module):
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

    class Net(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Leaf()
            self.second = Leaf(1)
            self.block = Block(self.second)
            self.scale = T.nn.Parameter(T.tensor(2.0))

        def forward(self, x: Any) -> Any:
            return self.first(x) * self.scale

    return Net()
