"""The guards of an exported program: checks of the inputs at each call
(`_get_input_guards_for_graph` of `torch/export/_unlift.py`).

A size that was fixed at export must be the same again. Sizes that depend on symbols must agree with
one another and be in range. A number or a string that was an argument must have the same value, as
the graph has been specialized to it.

How the real one differs: its guards are generated Python code; dtypes and numbers of dimensions are
left to the operators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from internals.core.dtype import dtype
from internals.core.tensor_impl import TensorImpl
from internals.serialization.json_node import JsonNode

from .pt2_archive import dtype_of
from .symbolic_sizes import Formula


class ValueRange(NamedTuple):
    """The values that a symbol may take, both ends included; None is no bound."""

    lower: int | None
    upper: int | None

    def __repr__(self) -> str:
        return (
            f"VR[{self.lower if self.lower is not None else '-int_oo'}, "
            f"{self.upper if self.upper is not None else 'int_oo'}]"
        )


@dataclass(frozen=True)
class InputCheck:
    """The check of one input: `sizes` and `dtype` of a tensor, the formula of a `number` that may
    vary, or the `constant` that it must equal.
    """

    name: str
    dtype: dtype | None = None
    sizes: tuple[Formula, ...] | None = None
    number: Formula | None = None
    constant: Any = None
    is_constant: bool = False

    @classmethod
    def of_tensor(cls, name: str, content: JsonNode) -> InputCheck:
        meta = content["tensor_values"].get(name)
        if meta is None:
            return cls(name)
        return cls(name, dtype_of(meta["dtype"]), tuple(map(Formula.read, meta["sizes"])))

    @classmethod
    def of_number(cls, name: str, content: JsonNode) -> InputCheck:
        values = content.get("sym_int_values")
        value = values.get(name) if values is not None else None
        return cls(name) if value is None else cls(name, number=Formula.read(value))

    @classmethod
    def of_constant(cls, content: JsonNode) -> InputCheck:
        """The check of an argument that the graph has as a constant; None stands for `as_none`."""
        kind, value = content["value"].union()
        read = {
            "as_int": JsonNode.integer,
            "as_float": JsonNode.number,
            "as_bool": JsonNode.boolean,
            "as_string": JsonNode.text,
        }
        constant = read[kind](value) if kind in read else None
        return cls(content["name"].text(), constant=constant, is_constant=True)


@dataclass
class Guards:
    """The checks of all inputs, and the ranges of what they depend on."""

    checks: list[InputCheck] = field(default_factory=list)
    ranges: dict[str, ValueRange] = field(default_factory=dict)

    def check(self, values: list[Any]) -> list[Any]:
        """Check the leaves of a call's arguments, and return those that the graph takes.

        Raises AssertionError for a size or constant that does not fit, RuntimeError for another
        type of value.
        """
        symbols: dict[str, int] = {}  # s86 → 4
        sources: dict[str, str] = {}  # s86 → "x.size()[0]", for the messages
        found = [each for check, value in zip(self.checks, values) for each in _sizes(check, value)]
        for line in (False, True):
            # first sizes that are a symbol themselves, then those that can be solved for one
            for where, formula, n in found:
                _learn(formula, line, where, n, symbols, sources)
        for where, formula, n in found:
            if where.endswith("]"):  # a size; an integer input has no range
                self._in_range(formula, where, n)
            expected = formula.evaluate(symbols)
            if expected is not None and expected != n:
                raise AssertionError(f"Guard failed: {where} == {formula.show(sources)}")
        return [value for check, value in zip(self.checks, values) if not check.is_constant]

    def _in_range(self, formula: Formula, where: str, n: int) -> None:
        low, high = self.ranges.get(str(formula), (None, None))
        if low is not None and n < low:
            raise AssertionError(f"Guard failed: {where} >= {low}")
        if high is not None and n > high:
            raise AssertionError(f"Guard failed: {where} <= {high}")


def ranges_of(program: JsonNode) -> dict[str, ValueRange]:
    """The range of each symbol, and of formulas, as the file lists them."""
    found = {}
    for name, each in program["range_constraints"].items():
        low, high = (
            bound if bound is None else bound.integer()
            for bound in map(each.get, ("min_val", "max_val"))
        )
        found[name] = ValueRange(low, high)
    return found


def _sizes(check: InputCheck, value: object) -> list[tuple[str, Formula, int]]:
    """For each size of an input, or its number: (where it is, the expected formula, its value).

    Constants, types, dtypes and numbers of dimensions are checked here.
    """
    name = check.name
    if check.is_constant:
        if check.constant is not None and (
            type(value) is not type(check.constant) or value != check.constant
        ):
            raise AssertionError(f"Guard failed: {name} == {check.constant!r}")
        if check.constant is None and value is not None:
            raise AssertionError(f"Guard failed: {name} is None")
    if check.number is not None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise RuntimeError(
                f"Expected input '{name}' to be of type int, but got {type(value).__name__}"
            )
        return [(name, check.number, value)]
    if check.sizes is None:  # a constant, which has passed
        return []
    if not isinstance(value, TensorImpl):
        raise RuntimeError(
            f"Expected input '{name}' to be a tensor, but got {type(value).__name__}"
        )
    if value.dtype is not check.dtype:
        raise RuntimeError(
            f"Expected input '{name}' to be of dtype {check.dtype}, but got {value.dtype}"
        )
    if len(check.sizes) != value.dim():
        raise RuntimeError(
            f"Expected input '{name}' to have {len(check.sizes)} dimensions, but got {value.dim()}"
        )
    return [
        (f"{name}.size()[{i}]", size, int(n))
        for i, (size, n) in enumerate(zip(check.sizes, value.shape))
    ]


def _learn(
    formula: Formula,
    line: bool,
    where: str,
    n: int,
    symbols: dict[str, int],
    sources: dict[str, str],
) -> None:
    """Set the value of a symbol from the first size `n` that determines it.

    If `line`, formulas `a*s + b` are solved too: s = (n - b) / a, which must be an integer.
    """
    if formula.kind == "symbol" and formula.value not in symbols:
        symbols[formula.value], sources[formula.value] = n, where
    solved = formula.line() if line and formula.kind != "symbol" else None
    if solved is None or solved[0] in symbols:
        return
    name, a, b = solved
    # for messages, the solution as text: "((x.size()[0] - 1) // 2)"
    shifted = where if b == 0 else f"({where} {'-' if b > 0 else '+'} {abs(b)})"
    if (n - b) % a:
        raise AssertionError(f"Guard failed: {shifted} % {abs(a)} == 0")
    symbols[name], sources[name] = (n - b) // a, shifted if a == 1 else f"({shifted} // {a})"
