"""Tables of expressions and statements about views and indexing, evaluated with `internals` and
with real PyTorch.

In a table `T` is the library, `np` numpy and `x` is `T.arange(24.).view(2, 3, 4)`. Compared are
values, shape, dtype, strides, storage offset, whether the result is a view, and warnings; or the
type of the error and the first line of its message.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import internals
from internals.core.tensor_impl import TensorImpl, array
from tests.answers import answer
from tests.support import first_line


def table(text: str) -> list[str]:
    """The lines of a table, without blank ones and comments; a line that is indented further goes
    on with the one above it.
    """
    found: list[str] = []
    for line in textwrap.dedent(text).splitlines():
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if line[0].isspace():
            found[-1] += f" {content}"
        else:
            found.append(content)
    return found


def assert_same_value(expression: str) -> None:
    """The expression means the same in both libraries."""
    observe_both(lambda names: eval(expression, names), expression)


def assert_same_effect(statement: str, setup: str = "x = T.zeros(2, 3)") -> None:
    """After the setup and the statement `x` looks the same in both libraries, version included,
    even if an error was raised.
    """

    def run(names: dict[str, Any]) -> Any:
        exec(setup, names)
        try:
            exec(statement, names)
        except Exception as error:
            return description(names["x"]), names["x"]._version, failure(error)
        return description(names["x"]), names["x"]._version

    observe_both(run, (setup, statement))


def observe_both(run: Callable[[dict[str, Any]], Any], about: Any) -> None:
    def ask(torch: Any) -> Any:
        torch.set_warn_always(True)
        return observe(torch, run)

    assert observe(internals, run) == answer(ask, about, family="views")


def observe(T: Any, run: Callable[[dict[str, Any]], Any]) -> tuple[Any, list[str]]:
    """What `run` gave, described so that both libraries' results can be compared, and the warnings
    it caused.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = description(
                run({"T": T, "np": np, "nan": float("nan"), "x": T.arange(24.0).view(2, 3, 4)})
            )
        except Exception as error:
            result = failure(error)
    return result, [
        str(w.message).split(" (Triggered")[0] for w in caught if w.category is UserWarning
    ]


def description(value: Any) -> Any:
    """A tensor as plain data; containers and everything else as they are."""
    if isinstance(value, (list, tuple)):
        return [description(v) for v in value]
    if isinstance(value, TensorImpl):
        a = array(value)
    elif type(value).__module__ == "torch" and hasattr(value, "storage_offset"):
        a = value.detach().numpy()
    else:
        return str(value).replace("torch.", "internals.")
    return {
        "dtype": str(a.dtype),
        "shape": tuple(value.shape),
        "strides": value.stride(),
        "offset": value.storage_offset(),
        "is view": value._base is not None,
        "values": repr(a.tolist()),
    }


def failure(error: Exception) -> tuple[str, str]:
    return type(error).__name__, first_line(error)
