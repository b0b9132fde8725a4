"""Small services around tensors (`torch/utils`): `internals.utils.checkpoint`, `data`, `dlpack`,
`hooks`.

How the real one differs: `torch.utils` also has profiling and much else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from internals.utils import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def __getattr__(name: str) -> Any:
    """They are imported when first used."""
    if name in __all__:
        import importlib

        return importlib.import_module(f"internals.utils.{name}")
    raise AttributeError(f"module 'internals.utils' has no attribute '{name}'")
