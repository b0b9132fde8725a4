"""The results as a table, and as the page `docs/mutants.md`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import Any

from tools.mutants.results import OPEN, RESULTS

Rows = list[dict[str, Any]]


def table(rows: Rows, by: str = "layer") -> str:
    """One line for each layer (or kind), and their sum."""
    groups = list(dict.fromkeys(row[by] for row in rows))
    lines = [
        _line([by, "drawn", *RESULTS, "of those that can be"]),
        _line(["---"] + ["--:"] * (len(RESULTS) + 2)),
    ]
    for group in groups:
        lines.append(_counts(group, [row for row in rows if row[by] == group]))
    return "\n".join([*lines, _counts("all", rows)])


def _counts(name: str, rows: Rows) -> str:
    count = Counter(row["result"] for row in rows)
    caught = count["caught"] + count["timed out"]
    possible = len(rows) - count["equivalent"]
    share = f"{caught / possible:.0%}" if possible else ""
    return _line([name, len(rows), *(count[result] for result in RESULTS), share])


def _line(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def page(rows: Rows, named: dict[str, str], options: argparse.Namespace) -> str:
    beside = "without" if options.without_torch else "with"
    command = f"--seed {options.seed} --count {options.count} --save" + (
        " --without-torch" if options.without_torch else ""
    )
    open_ones = [row for row in rows if row["result"] in OPEN]
    equivalent = [row for row in rows if row["result"] == "equivalent"]
    return f"""# A test of the tests

`make mutants` plants faults and looks whether a test fails. They are drawn from the syntax trees by
kind and seed, not chosen (`tools/mutants/kinds.py` has the kinds); each is planted in a copy of the
project, and the tests that reach its block run until one fails, those first that reach little else.
A fault is *not reached* when no test runs its block. One that changes nothing a caller could tell
is named in `tools/mutants/equivalent.yaml` with its reason.

{date.today()}, {beside} PyTorch: `make mutants ARGS="{command}"`; what is not found costs
{options.budget:.0f} s of tests.

{table(rows)}

{table(rows, "kind")}

## Survivors

{_list(open_ones)}

## Named equivalent

{_list(equivalent, named)}
"""


def _list(rows: Rows, reasons: dict[str, str] | None = None) -> str:
    lines = []
    for row in sorted(rows, key=lambda row: row["fault"]):
        reason = f" {(reasons or {}).get(row['fault'], '')}".rstrip()
        lines.append(f"- `{row['place']}`, {row['kind']}, {row['result']}.{reason}\n")
        lines.append(f"  ```diff\n  - {row['before']}\n  + {row['after']}\n  ```\n")
    return "\n".join(lines).replace("](", "] (") or "None."  # in code it is no link
