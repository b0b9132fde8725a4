"""The transforms with `out=`: real results need a floating `out`, complex results a complex one
(`SpectralOps.cpp`).

How the real one differs: the check is in the functions that these call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals.aten.writing import write_out
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor

from . import many_dimensions as many, one_dimension as one


def into(transform: Callable[..., Any], gives_real: bool) -> Callable[..., Any]:
    """The kernel that writes the result of `transform` to `out`. It raises RuntimeError for an
    `out` that is not floating, or not complex.
    """
    # as in PyTorch, the message for fft2 names fftn, and so does that for ifftn
    name = transform.__name__.removeprefix("fft_").replace("2", "n")
    name = "fftn" if name == "ifftn" else name
    kind = "floating point" if gives_real else "complex"

    def kernel(
        self: Tensor,
        size: int | Sequence[int] | None,
        dim: int | Sequence[int],
        norm: str | None,
        out: Tensor,
    ) -> Any:
        if not (out.is_floating_point() if gives_real else out.is_complex()):
            raise RuntimeError(
                f"{name} expects a {kind} output tensor, but got {SCALAR_TYPE_NAME[out.dtype]}"
            )
        return write_out(out, transform(self, size, dim, norm))

    return kernel


fft_fft_out = into(one.fft_fft, gives_real=False)
fft_ifft_out = into(one.fft_ifft, gives_real=False)
fft_rfft_out = into(one.fft_rfft, gives_real=False)
fft_irfft_out = into(one.fft_irfft, gives_real=True)
fft_hfft_out = into(one.fft_hfft, gives_real=True)
fft_ihfft_out = into(one.fft_ihfft, gives_real=False)
fft_fft2_out = into(many.fft_fft2, gives_real=False)
fft_ifft2_out = into(many.fft_ifft2, gives_real=False)
fft_rfft2_out = into(many.fft_rfft2, gives_real=False)
fft_irfft2_out = into(many.fft_irfft2, gives_real=True)
fft_hfft2_out = into(many.fft_hfft2, gives_real=True)
fft_ihfft2_out = into(many.fft_ihfft2, gives_real=False)
fft_fftn_out = into(many.fft_fftn, gives_real=False)
fft_ifftn_out = into(many.fft_ifftn, gives_real=False)
fft_rfftn_out = into(many.fft_rfftn, gives_real=False)
fft_irfftn_out = into(many.fft_irfftn, gives_real=True)
fft_hfftn_out = into(many.fft_hfftn, gives_real=True)
fft_ihfftn_out = into(many.fft_ihfftn, gives_real=False)
