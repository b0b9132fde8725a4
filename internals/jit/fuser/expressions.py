"""Templates: for each loop of the eager operators, its text for one element in the kernel of a
group.

The formulas are those of `internals/aten/scalar_functions`. A formula that is a single expression
is written out, `{x} * T(0.5) * (T(1) + erf({x} * T(0.707...)))`. One of several lines, or one that
others use, as `erf`, is called. The names in braces are the operands, already converted to the
dtype that is computed in, then the numbers that belong to the loop; T(0.5) is a constant of that
dtype. The operations and their order are those of the eager loops, so that +, -, *, / and
comparisons give the same bits.

How the real one differs: PyTorch 1.0.1 has a table of C expressions for NVRTC and for gcc, `1.f /
(1.f + expf(-${0}))`, beside the operators' own kernels.
"""

from __future__ import annotations

import ast
from functools import cache
from math import isfinite
from typing import Any

from internals.aten.compiled.loops import on_cpu
from internals.aten.scalar_functions import ScalarFunction, entries, kind_of, name_of, of_loop
from internals.aten.scalar_functions.on_arrays import parsed
from internals.core.dtype import dtype

from .row_steps import normalized
from .steps import NotFusable

NORMALIZED = "({a} - {b}) * {c}", ("a", "b", "c")
_FORMULAS = [entry.formula for entry in entries() if entry.formula is not None]
USED = frozenset().union(*[f.open_parameters() for f in _FORMULAS]) - {"T"}
"""The functions that formulas use."""


def expression(loop: Any, common: dtype) -> tuple[str, tuple[str, ...]]:
    """The template for `loop` on elements of dtype `common`, and the names in its braces, operands
    first: `("{a} * {b}", ("a", "b"))`.

    Raises NotFusable if the table has no formula for the loop.
    """
    if loop is normalized:
        return NORMALIZED
    entry, kind = of_loop(loop), kind_of(common)
    function = on_cpu(entry.on(kind)) if entry is not None and kind in entry.dtypes else None
    if entry is None or function is None:
        raise NotFusable(
            f"the loop {name_of(loop)} for {common.name} is not in the table of functions"
        )
    code = function.function.__code__
    return template(entry.on(kind), names := code.co_varnames[: code.co_argcount]), names


@cache
def template(entry: ScalarFunction, names: tuple[str, ...]) -> str:
    """The formula of `entry` if it is one expression, else a call of it; with `names` in braces."""
    if is_called(entry):
        return f"{entry.name}({', '.join(f'{{{name}}}' for name in names)})"
    formula: Any = parsed(entry)
    return ast.unparse(_Written(entry, names).visit(formula.body))


def is_called(entry: ScalarFunction) -> bool:
    """Whether kernels call the function instead of writing it out: it has several lines or no
    formula, or formulas use it.
    """
    return entry.name in USED or entry.formula is None or not entry.is_line


class _Written(ast.NodeTransformer):
    """Puts `names` in braces, and replaces the names of constants by their values, because the text
    of the kernel does not have them.
    """

    def __init__(self, entry: ScalarFunction, names: tuple[str, ...]) -> None:
        assert entry.formula is not None
        self.globals, self.names = entry.formula.function.__globals__, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.globals.get(node.id)
        if node.id in self.names:
            return ast.Name(f"{{{node.id}}}", ast.Load())
        # inf and nan stay names: they cannot be written as numbers
        return ast.Constant(value) if isinstance(value, float) and isfinite(value) else node
