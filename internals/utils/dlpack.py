"""`to_dlpack` and `from_dlpack` under the names they have in `torch.utils.dlpack`. The work is done
in `internals.construction.dlpack`.
"""

from internals.construction.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
