"""Operators of PyTorch 1.0.1 that are gone, or that usually meant a simpler one, as functions of
today's operators.

A ReLU was recorded as `torch.threshold(x, 0., 0.)`, `x.argmax(1)` as `torch._argmax(x, 1, False)`.
When code of that time is compiled, these functions replace such operators, in the same way as for
operators that changed their meaning (`script/upgraders.py`).

How the real one differs: PyTorch has kept `threshold`, and dropped most operators with an
underscore.
"""

from __future__ import annotations

from typing import Any

from internals.jit.ir import Graph

from ..script.archive_names import Namespace
from ..script.imported_function import ImportedFunction
from ..script.upgraders import Upgrader, compiled
from .lower import decide_branches

THRESHOLD = """
def function(self: Tensor, threshold: number, value: number) -> Tensor:
  if threshold == 0 and value == 0:
    return torch.relu{in_place}(self)
  {result}
"""
RETURNED = "return torch.where(self <= threshold, torch.full_like(self, value), self)"
WRITTEN = "return self.masked_fill_(self <= threshold, value)"

# the schema that 1.0.1 had -> today's code for it
FUNCTIONS = {
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor": THRESHOLD.format(
        in_place="", result=RETURNED
    ),
    "threshold_(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)": THRESHOLD.format(
        in_place="_", result=WRITTEN
    ),
    "_argmax(Tensor self, int dim, bool keepdim) -> Tensor": """
def function(self: Tensor, dim: int, keepdim: bool) -> Tensor:
  return torch.argmax(self, dim, keepdim)
""",
    "_argmin(Tensor self, int dim, bool keepdim) -> Tensor": """
def function(self: Tensor, dim: int, keepdim: bool) -> Tensor:
  return torch.argmin(self, dim, keepdim)
""",
    "ger(Tensor self, Tensor vec2) -> Tensor": """
def function(self: Tensor, vec2: Tensor) -> Tensor:
  return torch.outer(self, vec2)
""",
    "erfc(Tensor self) -> Tensor": """
def function(self: Tensor) -> Tensor:
  return 1 - torch.erf(self)
""",
    "log10(Tensor self) -> Tensor": """
def function(self: Tensor) -> Tensor:
  return torch.log(self) / 2.302585092994046
""",
    **{
        f"_cast_{name}(Tensor self, bool non_blocking=False) -> Tensor": f"""
def function(self: Tensor, non_blocking: bool) -> Tensor:
  return self.to({code}, non_blocking)
"""
        for code, name in enumerate(  # the codes of dtypes: uint8 is 0, float64 is 7
            ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double")
        )
    },
}
_BY_SYMBOL = {
    f"aten::{schema.partition('(')[0]}": Upgrader(f"aten::{schema}", 1, code)
    for schema, code in FUNCTIONS.items()
}


class Namespace101(Namespace):
    """The names in code of 1.0.1, with `FUNCTIONS` for its operators."""

    def upgrades(self, symbol: str) -> dict[str, Any]:
        found = dict(super().upgrades(symbol))
        if symbol in _BY_SYMBOL:
            # the overload without a name; those for numbers have names, and stay as they are
            found[""] = compiled(_BY_SYMBOL[symbol])
        return found


class Function101(ImportedFunction):
    """A method of an old archive. After it is compiled, branches with constant conditions are
    decided: the `threshold == 0` above becomes a plain ReLU.
    """

    def _compile(self) -> Graph:
        graph = super()._compile()
        decide_branches(graph)
        return graph
