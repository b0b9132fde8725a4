"""`internals.return_types.max` and the other types of results with names (`torch/return_types.py`).

They are made in `internals.core.return_types`, on demand; this is the name by which users and pickle know them.

How the real one differs: `torch.return_types` lists them all when it is imported.
"""

from __future__ import annotations

from typing import Any

from internals.core import return_types as _made


def __getattr__(name: str) -> Any:
    try:
        return vars(_made)[name]
    except KeyError:
        raise AttributeError(f"module 'internals.return_types' has no attribute '{name}'") from None
