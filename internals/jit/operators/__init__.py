"""The operators of graphs (`torch/csrc/jit/runtime/operator.h`, `register_prim_ops.cpp`).

    registry.py, overload_order.py   find an operator, by name or for a node
    second_names.py                  synonyms: what a graph calls `arccos`
    properties.py                    side effects, randomness, mutation
    alias_analysis.py, memory_dag.py, topological_moves.py
                                     which values may share memory, and which nodes may be moved
                                     past others
    numbers.py, comparisons.py, conversions.py, strings.py, lists.py, dicts.py, tensors_meta.py,
    prim.py                          the operators that only the JIT has
    c_math.py, hashing.py, value_text.py
                                     arithmetic, hashes and texts as in C++

The order of the imports is the order in which overloads of the same name are tried: those of lists
before those of numbers.

How the real one differs: an operator is made for a node, and pops its arguments off a stack of
values.
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
    "Operator", "accepts", "all_operators", "find_operator", "find_operators", "op", "operator_for",
    "register_operator",
]  # fmt: skip
