"""`internals.return_types.max` and the other types of results with names (`torch/return_types.py`).

They are made in `internals.core.return_types`, on demand: when an operator first returns one, or
when somebody asks for it by name, as pickle does. This is the name by which users and pickle know
them.

How the real one differs: `torch.return_types` lists them all when it is imported.
"""

from __future__ import annotations

from typing import Any

from internals.core import return_types as _made
from internals.core.dispatcher import dispatcher as _dispatcher


def __getattr__(name: str) -> Any:
    if name in vars(_made):
        return vars(_made)[name]
    for op in _dispatcher.operators.overloads(f"aten::{name.removesuffix('_out')}"):
        fields = tuple(r.name for r in op.schema.returns)
        if len(fields) > 1 and all(fields):
            return _made.named(name, fields)
    raise AttributeError(f"module 'internals.return_types' has no attribute '{name}'")
