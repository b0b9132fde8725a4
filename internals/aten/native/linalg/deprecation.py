"""Functions of linear algebra from before `torch.linalg`, which say so once (`TORCH_WARN_ONCE` in
`BatchLinearAlgebra.cpp`).

How the real one differs: the texts also show the code to write instead.
"""

from __future__ import annotations

from internals.core.warn import warn_once


def deprecated(old: str, new: str) -> None:
    """Warn, the first time only, that `torch.OLD` has a successor, `torch.NEW`."""
    warn_once(
        f"torch.{old} is deprecated in favor of torch.{new} and will be removed in a future "
        "PyTorch release."
    )
