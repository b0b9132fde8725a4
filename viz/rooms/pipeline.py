"""`viz.pipeline`: what every phase of the executor does to a graph, for arguments like the
reader's.

One frame for each phase that changed something, with the graph before and after it side by side;
the phases that found nothing to do are counted in between. The buttons work without a kernel.

How the real one differs: PyTorch logs graphs to stderr, when asked by an environment variable.
"""

from __future__ import annotations

import re
from typing import Any

from viz.rooms.diff import diff
from viz.stepper import LeanStepper, Stepper
from viz.text import corrected, plural


def pipeline(fn: Any, *args: Any, show_unchanged: bool = False, context: int = 1000) -> Stepper:
    """The phases of `fn`, a scripted or traced function or module, for `args`.

    `show_unchanged` gives phases that changed nothing a frame too; a small `context` folds what is
    far from any change.

    Raises TypeError for what has no phases.
    """
    if not hasattr(fn, "phases"):
        raise TypeError(
            corrected(
                f"a {type(fn).__name__} has no phases: what jit.script and jit.trace return does",
                "viz.pipeline(f, x)",
                "viz.pipeline(torch.jit.script(f), x)",
            )
        )
    from internals.jit.ir import type_verbosity

    with type_verbosity(1):
        records = fn.phases(*args)
    # with all that is known of tensors, for changes that short types do not show
    full = fn.phases(*args)
    frames: list[tuple[str, object]] = []
    idle: list[str] = []
    for r, long in zip(records, full):
        if not r.changed and not show_unchanged:
            idle.append(r.name)
            continue
        note = f" ({_idle(idle)} before it)" if idle else ""
        names = (f"before {r.name}", f"after {r.name}")
        picture = diff(_bare(r.before), _bare(r.after), names=names, context=context)
        if r.changed and not picture.changed:
            picture = diff(_bare(long.before), _bare(long.after), names=names, context=context)
        frames.append((f"{r.name}: {picture.summary()}{note}", picture))
        idle = []
    if idle:
        frames.append((f"the result ({_idle(idle)} after that)", _bare(records[-1].after)))
    changed = sum(r.changed for r in records)
    name = getattr(fn, "name", None) or getattr(fn, "original_name", "graph")
    return LeanStepper(
        frames, f"{name}: {plural(changed, 'phase')} of {len(records)} changed the graph"
    )


def _idle(names: list[str]) -> str:
    """Phases that changed nothing: by name if there are few."""
    few = " and ".join(names) if len(names) <= 2 else plural(len(names), "phase")
    return f"{few} changed nothing"


def _bare(text: str) -> str:
    """A graph's text without the places in the source."""
    return re.sub(r" # \S+:\d+:\d+$", "", text, flags=re.MULTILINE)
