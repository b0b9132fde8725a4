"""`torch.stft` as the compiler reads it: the same function, typed (`torch/functional.py`). See `functional_scripts.py`.

How the real one differs: it is the source that runs.
"""

from __future__ import annotations

import internals as torch
from internals import Tensor


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
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        signal_dim = input.dim()
        extended_shape = [1] * (3 - signal_dim) + list(input.size())
        pad = int(n_fft // 2)
        input = torch.nn.functional.pad(input.view(extended_shape), [pad, pad], pad_mode)
        input = input.view(input.shape[-signal_dim:])
    return input.stft(n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)
