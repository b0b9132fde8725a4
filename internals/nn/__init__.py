"""Neural networks (`torch/nn`). So far their functions: `internals.nn.functional`.

How the real one differs: `torch.nn` also has modules, parameters, initialisation and utilities.
"""

from __future__ import annotations

from internals.nn import functional

__all__ = ["functional"]
