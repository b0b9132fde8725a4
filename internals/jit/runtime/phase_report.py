"""The report of the phases as a table: the changes that each pass made (`GraphExecutor.phases`; the
counterpart is `torch/csrc/jit/jit_log.cpp`).

    pass                    changed   what
    dce                     -
    cse                     yes       - aten::mul
    loop_unrolling          yes       + aten::add x8, + prim::Loop

The changes are found by counting the kinds of nodes before and after; if the counts are the same,
types, names or order have changed. Times are omitted by default, so that the table of a program is
always the same.

How the real one differs: it has no such table; with `PYTORCH_JIT_LOG_LEVEL` set, passes write the
graphs before and after to a log.
"""

from __future__ import annotations

import re
from collections import Counter

from internals.jit.passes import PassReport


class Phases(list[PassReport]):
    """The records of all passes, in the order they ran, which print as a table;
    `table(times=True)` has milliseconds.
    """

    def table(self, times: bool = False, hide_unchanged: bool = False) -> str:
        """The table, one line for each pass. `hide_unchanged` omits those that changed nothing."""
        rows = [r for r in self if r.changed or not hide_unchanged]
        width = max([len("pass"), *(len(r.name) for r in rows)])
        clock = f"{'ms':>9}  " if times else ""
        lines = [f"{'pass':{width}}  changed  {clock}what"]
        for r in rows:
            clock = f"{r.ms:9.3f}  " if times else ""
            lines.append(
                f"{r.name:{width}}  {'yes' if r.changed else '-':7}  "
                f"{clock}{difference(r)}".rstrip()
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def difference(record: PassReport) -> str:
    """The kinds of nodes whose numbers have changed: `+ aten::add x2, - aten::mul`."""
    if not record.changed:
        return ""
    before, after = _kinds(record.before), _kinds(record.after)
    more, less = after - before, before - after
    parts = [_counted("+", kind, n) for kind, n in sorted(more.items())]
    parts += [_counted("-", kind, n) for kind, n in sorted(less.items())]
    return ", ".join(parts) or "types, names or order"


def _kinds(text: str) -> Counter[str]:
    """The numbers of nodes of each kind in a graph's text; the suffix of a group, `_0`, is cut."""
    return Counter(re.findall(r" = (\^?\w+(?:::[A-Za-z_]\w*?)?)(?:_\d+)?[\[(]", text))


def _counted(sign: str, kind: str, n: int) -> str:
    return f"{sign} {kind}" + (f" x{n}" if n > 1 else "")
