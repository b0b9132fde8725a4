"""The order in which the overloads of an operator are tried.

It matters when several fit: `torch.any(x)` is `any`, not `any.dims` with its defaults, and `max(x,
y)` is `max.other`. The orders are those of PyTorch 2.13 (`torch._C._jit_get_schemas_for_operator`),
for all its operators, whether they are here or not: so an operator that is added comes in the right
order by itself. In `overload_order.txt` a line is a name and its overloads; `-` is the one without
a name. `python -m tools.operators --names` writes it.

How the real one differs: there is no table. Operators register in the order of generated files.
"""

from __future__ import annotations

from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")


def overload_order() -> dict[str, list[str]]:
    """Names of overloads in PyTorch's order, by operator: `aten::max` → ["other", "-", "dim",
    ...].
    """
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = (line.split(" ") for line in lines if not line.startswith("#"))
    return {symbol: overloads for symbol, *overloads in rows}
