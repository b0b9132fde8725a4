"""`torch.fft`: discrete Fourier transforms (`torch/fft/__init__.py`).

Every function here is an operator whose name begins with `fft_`, declared in `aten/native_functions/fft.yaml`.

How the real one differs: there the module holds the documentation of functions in `torch._C._fft`.
"""

from internals._generated.fft_functions import *
