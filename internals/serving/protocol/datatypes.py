"""The names of dtypes in the Open Inference Protocol: `FP32` is `float32`.

The protocol also has `UINT16`, `UINT32` and `UINT64`, and `BYTES` (strings, each after its length),
for which there are no tensors here.

How the real one differs: PyTorch's `ScalarType` has no such names. Triton's backend for PyTorch has
the same table in `libtorch_utils.cc`, and Triton adds `BF16` to the protocol's types.
"""

from __future__ import annotations

import internals as torch

DTYPES: dict[str, torch.dtype] = {
    "BOOL": torch.bool,
    "UINT8": torch.uint8,
    "INT8": torch.int8,
    "INT16": torch.int16,
    "INT32": torch.int32,
    "INT64": torch.int64,
    "FP16": torch.float16,
    "FP32": torch.float32,
    "FP64": torch.float64,
}
DATATYPES: dict[torch.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}


def datatype_of(dtype: torch.dtype) -> str:
    """The protocol's name of a dtype. Raises TypeError if it has none, as for complex64."""
    if dtype not in DATATYPES:
        raise TypeError(
            f"{dtype} has no name in the Open Inference Protocol; it has {', '.join(DTYPES)}"
        )
    return DATATYPES[dtype]
