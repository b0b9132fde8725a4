"""What the tests of all operators have to know about some of them, by area: a module for each kind
of operator.

A module may define any of these; `table` and `rows` put those of all modules together.

    RECIPES         name → arguments that fit together, for tests/aten/op_arguments.py (see
                    tests/aten/op_recipes.py)
    NOT_CALLED      name → why tests/aten/test_op_fuzz.py cannot call it
    KNOWN           (names, when, why): calls that the same test does not compare
    NOT_SAMPLED     names → why tests/autograd/test_gradcheck_ops.py does not call it
    UNSUITABLE      (names, when, why): calls where backward is not the derivative
    ONCE            operators whose gradient has none itself: it raises NotImplementedError
    CONSTANT        (names, arguments): tensors that no gradient is defined for
    GRADIENTS_KNOWN (names, when, why): gradients that the test does not compare
                    (tests/autograd/test_gradients_side_by_side.py)
    OTHER_NODES     names → why their nodes are called otherwise in PyTorch
    NOT_COMPARED    name → why tests/cuda/test_every_operator.py cannot compare devices
    OPEN            (names, when, why): calls whose outcome on another device is open
                    (tests/cuda/operator_calls.py)
    NOT_SCRIPTED    name → why tests/jit/operators/test_every_operator.py leaves it out

`names` is a regular expression for the operator's name; `when` takes the values of its arguments.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any


def table(name: str) -> dict[str, Any]:
    """The dictionaries called `name` of all areas, in one. Raises ValueError when two say something
    about the same operator.
    """
    together: dict[str, Any] = {}
    for module in _modules():
        for key, value in getattr(module, name, {}).items():
            if key in together:
                raise ValueError(f"{module.__name__}: {name}[{key!r}] is in another area, too")
            together[key] = value
    return together


def rows(name: str) -> list[tuple[Any, ...]]:
    """The lists called `name` of all areas, in one."""
    return [row for module in _modules() for row in getattr(module, name, [])]


@cache
def _modules() -> list[Any]:
    return [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
