"""`torch.fft`: discrete Fourier transforms (`torch/fft/__init__.py`).

Every function here is an operator whose name begins with `fft_`, declared in
`aten/native_functions/fft.yaml`.

How the real one differs: there the module holds the documentation of functions in `torch._C._fft`.
"""

from __future__ import annotations

from typing import Any

from internals._generated.fft_functions import *
from internals.aten.pytorch_names import missing_attribute


def __getattr__(name: str) -> Any:
    raise missing_attribute("module 'internals.fft'", name, prefix="fft_")
