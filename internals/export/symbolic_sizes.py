"""Sizes that depend on the input, as formulas of symbols: `s86 + 1`
(`torch/fx/experimental/symbolic_shapes.py`).

A file has them in SymPy's notation: `Add(Symbol('s86', positive=True, integer=True), Integer(1))`.
The text is parsed as Python, but never executed, as a file may come from anywhere. The functions in
`FUNCTIONS` are known; any other makes the formula "unknown".

How the real one differs: SymPy simplifies formulas and solves equations between them; here a
formula of one symbol is solved if it is linear.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from internals.jit.frontend.source import parse_expression
from internals.serialization.json_node import JsonNode

LONGEST, DEEPEST = 2000, 40  # limits: characters of a formula, functions inside functions


@dataclass(frozen=True)
class Formula:
    """`kind` is "symbol" (`value`: its name), "integer" (`value`: the number), "unknown" (`value`:
    the text), or one of FUNCTIONS, applied to `parts`.
    """

    kind: str
    value: Any = None
    parts: tuple[Formula, ...] = ()

    @classmethod
    def read(cls, size: JsonNode) -> Formula:
        """Read an entry of "sizes": `{"as_int": 3}` or `{"as_expr": {"expr_str": ...}}`.

        Raises ArchiveError for anything else.
        """
        kind, content = size.union()
        if kind == "as_int":
            return cls("integer", content.integer())
        return cls.parse(content["expr_str"].text())

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Parse SymPy's notation; text that is too long or not understood becomes "unknown"."""
        try:
            if len(text) <= LONGEST:
                return _read(parse_expression(text), 0)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            pass
        return cls("unknown", text if len(text) <= 60 else f"{text[:57]}...")

    def symbols(self) -> set[str]:
        """The names of all symbols in the formula."""
        return (
            {self.value}
            if self.kind == "symbol"
            else set().union(*(part.symbols() for part in self.parts))
        )

    def known(self) -> bool:
        """Whether no part of the formula is "unknown"."""
        return self.kind != "unknown" and all(part.known() for part in self.parts)

    def evaluate(self, symbols: Mapping[str, int]) -> int | None:
        """The value, or None if a symbol is missing, a part is unknown, or it divides by 0."""
        if self.kind == "integer":
            return int(self.value)
        if self.kind == "symbol":
            return symbols.get(self.value)
        parts = [part.evaluate(symbols) for part in self.parts]
        known = [part for part in parts if part is not None]
        if self.kind == "unknown" or len(known) != len(parts):
            return None
        try:
            return int(FUNCTIONS[self.kind](*known))
        except (ArithmeticError, TypeError, ValueError):
            return None

    def line(self) -> tuple[str, int, int] | None:
        """(name, a, b) if the formula is `a * s + b` of a single symbol with a != 0, else None."""
        names = self.symbols()
        if len(names) != 1 or not self.known():
            return None
        (name,) = names
        # Multiplying out is not needed: b is the value at 0, a the difference of those at 0 and 1.
        at = [self.evaluate({name: s}) for s in (0, 1, 2, 7, 1000)]
        if any(y is None for y in at):
            return None
        b = int(at[0] or 0)
        a = int(at[1] or 0) - b
        straight = a != 0 and at[2:] == [a * s + b for s in (2, 7, 1000)]
        return (name, a, b) if straight and _is_linear(self) else None

    def show(self, names: Mapping[str, str] | None = None) -> str:
        """The text as SymPy prints it; `names` maps symbols to what is printed instead."""
        if self.kind == "symbol":
            return (names or {}).get(self.value, self.value)
        if self.kind in ("integer", "unknown"):
            return str(self.value)
        parts = [part.show(names) for part in self.parts]
        if self.kind == "Add":
            # SymPy's order: numbers last in a sum, `s86 + 1`, and first in a product, `2*s86`
            return " + ".join(sorted(parts, key=_is_number)).replace("+ -", "- ")
        if self.kind == "Mul":
            factors = zip(self.parts, parts)
            shown = [f"({text})" if part.kind == "Add" else text for part, text in factors]
            return "*".join(sorted(shown, key=_is_number, reverse=True))
        if self.kind == "FloorDiv":
            return "//".join(
                f"({text})" if part.parts else text for part, text in zip(self.parts, parts)
            )
        return f"{self.kind}({', '.join(parts)})"

    __str__ = show


FUNCTIONS: dict[str, Callable[..., int]] = {
    "Add": lambda *parts: sum(parts),
    "Mul": lambda *parts: math.prod(parts),
    "FloorDiv": lambda a, b: a // b,
    "CleanDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b,
    "Max": lambda *parts: max(parts),
    "Min": lambda *parts: min(parts),
}


def _read(node: ast.expr, depth: int) -> Formula:
    """The formula of a parsed call. Raises ValueError for any other expression."""
    if (
        depth > DEEPEST
        or not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or not node.args
    ):
        raise ValueError("not a formula")
    kind = node.func.id
    if kind in FUNCTIONS:
        return Formula(kind, None, tuple(_read(part, depth + 1) for part in node.args))
    value = ast.literal_eval(node.args[0])
    if kind == "Symbol" and isinstance(value, str) and value.isidentifier():
        return Formula("symbol", value)
    if kind in ("Integer", "int") and isinstance(value, int) and abs(value) < 2**63:
        return Formula("integer", int(value))
    raise ValueError(f"{kind} is not known")


def _is_linear(formula: Formula) -> bool:
    """Whether the formula has only sums, and products of at most one part with symbols."""
    if formula.kind in ("symbol", "integer"):
        return True
    with_symbols = [part for part in formula.parts if part.symbols()]
    if formula.kind == "Mul" and len(with_symbols) > 1:
        return False
    return formula.kind in ("Add", "Mul") and all(map(_is_linear, formula.parts))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()
