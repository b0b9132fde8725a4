"""Small services around tensors (`torch/utils`): `internals.utils.dlpack`.

How the real one differs: `torch.utils` also has data loading, checkpointing, profiling and much else.
"""

from internals.utils import dlpack

__all__ = ["dlpack"]
