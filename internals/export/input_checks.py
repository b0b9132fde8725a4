"""What a program was exported for, checked when it is called (`torch/_export/utils.py`, `_check_input_constraints_for_graph`).

A size that was a number when the program was exported must be that number; sizes that were given one symbol must be equal, and
in its range; a number or text that was an argument must be what it was, because the graph has been made for it.

How the real one differs: sizes that depend on symbols by a formula are checked as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from internals.core.dtype import dtype
from internals.core.tensor_impl import TensorImpl
from internals.serialization.json_node import JsonNode

from .pt2_archive import dtype_of

Ranges = dict[str, tuple[int | None, int | None]]


@dataclass(frozen=True)
class InputCheck:
    """`sizes`: numbers, or the names of symbols, or None where a formula would be needed; `constant`: the value it must have."""

    name: str
    dtype: dtype | None = None
    sizes: tuple[int | str | None, ...] | None = None
    ranges: Ranges | None = None
    constant: Any = None
    is_constant: bool = False

    @classmethod
    def of_input(cls, name: str, content: JsonNode, ranges: Ranges) -> InputCheck:
        meta = content["tensor_values"].get(name)
        if meta is None:
            return cls(name)
        return cls(name, dtype_of(meta["dtype"]), tuple(_size(each) for each in meta["sizes"]), ranges)

    @classmethod
    def of_constant(cls, content: JsonNode) -> InputCheck:
        kind, value = content["value"].union()
        read = {
            "as_int": JsonNode.integer,
            "as_float": JsonNode.number,
            "as_bool": JsonNode.boolean,
            "as_string": JsonNode.text,
        }
        constant = read[kind](value) if kind in read else None
        return cls(content["name"].text(), constant=constant, is_constant=True)

    def passes_on(self, value: Any, symbols: dict[str, int]) -> bool:
        """Whether the graph takes this input; raises RuntimeError if it is not what the program was exported for."""
        if self.is_constant:
            if type(value) is not type(self.constant) or value != self.constant:
                raise RuntimeError(f"Expected input '{self.name}' to be equal to {self.constant}, but got {value}")
            return False
        if self.sizes is None:
            return True
        if not isinstance(value, TensorImpl):
            raise RuntimeError(f"Expected input '{self.name}' to be a tensor, but got {type(value).__name__}")
        if value.dtype is not self.dtype:
            raise RuntimeError(f"Expected input '{self.name}' to be of dtype {self.dtype}, but got {value.dtype}")
        if len(self.sizes) != value.dim():
            raise RuntimeError(
                f"Expected input '{self.name}' to have {len(self.sizes)} dimensions, but got {value.dim()}"
            )
        for i, (wanted, n) in enumerate(zip(self.sizes, value.shape)):
            self._check_size(f"{self.name}.shape[{i}]", wanted, int(n), symbols)
        return True

    def _check_size(self, where: str, wanted: int | str | None, n: int, symbols: dict[str, int]) -> None:
        if isinstance(wanted, str):
            low, high = (self.ranges or {}).get(wanted, (None, None))
            if (low is not None and n < low) or (high is not None and n > high):
                raise RuntimeError(f"Expected input at {where} to be {_between(low, high)}, but got {n}")
            wanted = symbols.setdefault(wanted, n)
        if wanted is not None and wanted != n:
            raise RuntimeError(f"Expected input at {where} to be equal to {wanted}, but got {n}")


def ranges_of(program: JsonNode) -> Ranges:
    found: Ranges = {}
    for name, each in program["range_constraints"].items():
        low, high = (bound if bound is None else bound.integer() for bound in map(each.get, ("min_val", "max_val")))
        found[name] = low, high
    return found


def _size(node: JsonNode) -> int | str | None:
    """A number, or the symbol's name out of `Symbol('s31', positive=True, integer=True)`; None for a formula."""
    kind, value = node.union()
    if kind == "as_int":
        return value.integer()
    text = value["expr_str"].text()
    inside = text.removeprefix("Symbol('")
    name = inside.partition("'")[0]
    return (
        name if inside != text and text.count("Symbol(") == 1 and text.endswith(")") and text.count("(") == 1 else None
    )


def _between(low: int | None, high: int | None) -> str:
    return f">= {low}" if high is None else f"<= {high}" if low is None else f"between {low} and {high}"
