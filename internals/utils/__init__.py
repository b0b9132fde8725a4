"""Small services around tensors (`torch/utils`): `internals.utils.data`, `internals.utils.dlpack`, `internals.utils.hooks`.

How the real one differs: `torch.utils` also has checkpointing, profiling and much else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.utils import dlpack, hooks

if TYPE_CHECKING:
    from internals.utils import data

__all__ = ["data", "dlpack", "hooks"]


def __getattr__(name: str) -> Any:
    """`data` is imported when first used."""
    if name == "data":
        import importlib

        return importlib.import_module("internals.utils.data")
    raise AttributeError(f"module 'internals.utils' has no attribute '{name}'")
