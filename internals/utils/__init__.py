"""Small services around tensors (`torch/utils`): `internals.utils.dlpack`, `internals.utils.hooks`.

How the real one differs: `torch.utils` also has data loading, checkpointing, profiling and much else.
"""

from internals.utils import dlpack, hooks

__all__ = ["dlpack", "hooks"]
