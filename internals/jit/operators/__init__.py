"""The operators of graphs.

    registry.py          finds them, by name or for a node
    properties.py        side effects, randomness, mutation
    alias_analysis.py    what may share memory with what
    numbers.py, comparisons.py, conversions.py, strings.py, lists.py, dicts.py, tensors_meta.py, prim.py
                         those that only the JIT has

The order of the imports is the order in which overloads of the same name are tried: those of lists before those of numbers.
"""

from . import lists, strings, numbers, comparisons, tensors_meta, conversions, dicts, prim  # noqa: F401, I001
from .registry import (
    Operator,
    accepts,
    all_operators,
    find_operator,
    find_operators,
    op,
    operator_for,
    register_operator,
)

__all__ = [
    "Operator", "accepts", "all_operators", "find_operator", "find_operators", "op", "operator_for", "register_operator",
]  # fmt: skip
