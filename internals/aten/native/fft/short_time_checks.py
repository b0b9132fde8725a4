"""Errors and warnings of `stft` and `istft` (`aten/src/ATen/native/SpectralOps.cpp`).

Their messages begin with the whole call, with the sizes and types of its tensors, so `stft_call`
and `istft_call` return that text for the checks that come later.

How the real one differs: its checks are in the functions themselves.
"""

from __future__ import annotations

from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor
from internals.core.warn import warn_once


def stft_call(
    self: Tensor,
    n_fft: int,
    hop: int,
    width: int,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> str:
    """The call as text for messages, after the checks that do not need the length of the padded
    signal. Raises RuntimeError if one fails.
    """
    _check_window("stft", self, window, LEAKS)
    if return_complex is None and not (
        self.is_complex() or (window is not None and window.is_complex())
    ):
        raise RuntimeError(NEEDS_RETURN_COMPLEX)
    if return_complex is False:
        warn_once(PAIRS)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false.")
    call = (
        f"stft({_described(self, '[]')}, n_fft={n_fft}, hop_length={hop}, win_length={width}, "
        f"window={_described(window, '{}')}, normalized={int(normalized)}, "
        f"onesided={_flag(onesided)}, return_complex={_flag(return_complex)}, "
        f"align_to_window={_flag(align_to_window)})"
    )
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if not 1 <= self.dim() <= 2:
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    return call


def stft_lengths(
    call: str, points: int, n_fft: int, hop: int, width: int, window: Tensor | None
) -> None:
    """Raises RuntimeError unless the lengths fit a signal of `points` points."""
    # (the message names win_length as n_fft, as PyTorch's does)
    if not 0 < n_fft <= points:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {points}, but got n_fft={width}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={width}, but got "
            f"window with size {list(window.shape)}"
        )


def istft_call(
    self: Tensor,
    n_fft: int,
    hop: int,
    width: int,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> str:
    """The call as text for messages, after all checks but that of the sum of the windows. Raises
    RuntimeError if one fails.
    """
    _check_window("istft", self, window, LOSES)
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    wrap_dim(-3, self.dim() + 1)
    call = (
        f"istft({_described(self, '[]')}, n_fft={n_fft}, hop_length={hop}, win_length={width}, "
        f"window={_described(window, '{}')}, center={int(center)}, normalized={int(normalized)}, "
        f"onesided={_flag(onesided)}, length={length}, return_complex={int(return_complex)}) "
    )
    if not self.numel():
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    if not 2 <= self.dim() <= 3:  # the message counts a last dimension of 2 parts
        raise RuntimeError(
            f"{call}: expected a tensor with 3 or 4 dimensions, but got {self.dim() + 1}"
        )
    frequencies = self.shape[-2]
    half = frequencies != n_fft if onesided is None else onesided
    if frequencies != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match {'n_fft / 2 + 1' if half else 'n_fft'} when onesided={half}, but got "
            f"{frequencies}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(
            f"{call}: Invalid window shape. window has to be 1D and length of `win_length`"
        )
    return call


def _check_window(name: str, self: Tensor, window: Tensor | None, effect: str) -> None:
    """Warns if there is no window. Raises RuntimeError for one on another device."""
    if window is None:
        warn_once(NO_WINDOW.format(effect))
    elif window.device is not self.device:
        raise RuntimeError(
            f"{name} input and window must be on the same device but got self on {self.device} and "
            f"window on {window.device}"
        )


def _described(t: Tensor | None, brackets: str) -> str:
    """The legacy type of a tensor and its sizes, as they stand in these messages."""
    if t is None:
        return "None"
    name = f"CPU{SCALAR_TYPE_NAME[t.dtype]}Type" if t.is_complex() else t.type()
    return f"{name}{list(t.shape)}" if brackets == "[]" else f"{name}{{{list(t.shape)}}}"


def _flag(value: bool | None) -> str:
    """A bool as C++ prints it: 1, 0 or None."""
    return "None" if value is None else str(int(value))


NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,{} To suppress this warning "
    "and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
LEAKS = (
    " which is known to cause spectral leakage. Other windows such as torch.hann_window or "
    "torch.hamming_window are recommended to reduce spectral leakage."
)
LOSES = " which is the inverse only if stft used none, either: give the window that it used."
PAIRS = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return "
    "complex tensors for all inputs, and return_complex=False will raise an error.\nNote: you can "
    "still call torch.view_as_real on the complex output to recover the old return format."
)
NEEDS_RETURN_COMPLEX = (
    "stft requires the return_complex parameter be given for real inputs, and will further require "
    "that return_complex=True in a future PyTorch release."
)
ONESIDED = "Cannot have onesided output if window or input is complex"
TOO_SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded with zeros "
    "in the tail. Please check your center and hop_length settings."
)
