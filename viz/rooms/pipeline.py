"""`viz.pipeline`: what every phase of the executor does to a graph, for arguments like the reader's.

One frame for each phase that changed something, with the graph before and after it side by side; the phases that found nothing to
do are named in between. The slider works without a kernel.

How the real one differs: PyTorch logs graphs to stderr, when asked by an environment variable.
"""

from __future__ import annotations

import re
from typing import Any

from viz.rooms.diff import diff
from viz.stepper import Stepper
from viz.text import plural


def pipeline(fn: Any, *args: Any, show_unchanged: bool = False, context: int = 1000) -> Stepper:
    """The phases of `fn`, a scripted or traced function or module, for `args`.

    `show_unchanged` gives phases that changed nothing a frame too; a small `context` folds what is far from any change.

    Raises TypeError for what has no phases.
    """
    if not hasattr(fn, "phases"):
        raise TypeError(
            f"a {type(fn).__name__} has no phases; give what internals.jit.script or internals.jit.trace returned"
        )
    from internals.jit.ir import type_verbosity

    with type_verbosity(1):
        records = fn.phases(*args)
    frames: list[tuple[str, object]] = []
    idle: list[str] = []
    for r in records:
        if not r.changed and not show_unchanged:
            idle.append(r.name)
            continue
        note = f" (after {', '.join(idle)}, which changed nothing)" if idle else ""
        picture = diff(_bare(r.before), _bare(r.after), names=(f"before {r.name}", f"after {r.name}"), context=context)
        frames.append((f"{r.name}: {picture.summary()}{note}", picture))
        idle = []
    if idle:
        frames.append((f"{', '.join(idle)} changed nothing", _bare(records[-1].after)))
    changed = sum(r.changed for r in records)
    name = getattr(fn, "name", None) or getattr(fn, "original_name", "graph")
    return Stepper(frames, f"{name}: {plural(changed, 'phase')} of {len(records)} changed the graph")


def _bare(text: str) -> str:
    """A graph's text without the places in the source."""
    return re.sub(r" # \S+:\d+:\d+$", "", text, flags=re.MULTILINE)
