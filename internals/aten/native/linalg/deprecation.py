"""Functions of linear algebra from before `torch.linalg`, which say so once (`TORCH_WARN_ONCE` in `BatchLinearAlgebra.cpp`).

How the real one differs: the texts also show the code to write instead.
"""

from __future__ import annotations

import warnings

_said: set[str] = set()


def deprecated(old: str, new: str, before: int = 0) -> None:
    """Warn, the first time only, that `torch.OLD` has a successor, `torch.NEW`.

    `before`: how many functions in Python are between the caller and the operator.
    """
    if old not in _said:
        _said.add(old)
        warnings.warn(
            f"torch.{old} is deprecated in favor of torch.{new} and will be removed in a future PyTorch release.",
            UserWarning,
            stacklevel=4 + before,
        )
