"""`stft`: the spectra of consecutive pieces of a signal (`torch/functional.py`).

This function pads the signal; the operator `stft` does the rest.

How the real one differs: it first looks for a `__torch_function__` of its arguments.
"""

from __future__ import annotations

from internals._generated import functions as F
from internals._generated.nn_functions import pad
from internals.core.tensor_impl import Tensor


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform: the spectra of pieces of `n_fft` points, one beginning
    every `hop_length` points. (batch?, length) -> (batch?, frequencies, pieces).

    With `center` the signal is padded so that the first piece is centred on its first point. If the
    signal and the window are real, only the first half of the frequencies is returned, unless
    `onesided` is False. `return_complex` has to be given for a real signal; False gives real
    numbers with a last dimension of 2. With `align_to_window` the first window, not the first
    piece, begins at the first point. Raises RuntimeError where lengths, dtypes or dimensions do not
    fit.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        dims = input.dim()
        # reflection padding takes (batch, channels, length)
        input = input.view([1] * (3 - dims) + list(input.size()))
        input = pad(input, [n_fft // 2, n_fft // 2], pad_mode)
        input = input.view(input.shape[-dims:])
    return F.stft(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip
