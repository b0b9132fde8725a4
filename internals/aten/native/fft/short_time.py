"""The spectrum of a signal piece by piece, and back (`aten/src/ATen/native/SpectralOps.cpp`: `stft`, `istft`).

`stft` slides a window over the signal, `hop_length` points at a time: the pieces are a view with overlapping rows, which is
multiplied by the window and transformed. `istft` transforms back, multiplies by the window again and adds the pieces where they
came from; what a point was multiplied by in all is divided out at the end, so there must be no point that no window saw.

How the real one differs: nothing but the C++.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals._generated import ops
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import wrap_dim

from .arguments import BY_NUMBER, BY_ROOT, NOT_DIVIDED

NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,{} To suppress this warning and use a rectangular window, "
    "explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
LEAKS = (
    " which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window are recommended "
    "to reduce spectral leakage."
)
LOSES = " which is the inverse only if stft used none, either: give the window that it used."
PAIRS = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all inputs, "
    "and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex output to recover "
    "the old return format."
)
NEEDS_RETURN_COMPLEX = (
    "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in "
    "a future PyTorch release."
)
ONESIDED = "Cannot have onesided output if window or input is complex"


def stft(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Any:
    """`stft.center` without padding."""
    return stft_center(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        False,
        "constant",
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


def stft_center(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Any:
    """Spectra of shape (batch?, frequencies, pieces).

    With `center` the signal is padded by half a window at both ends. Raises RuntimeError for a tensor that is not floating, is no
    signal or batch of signals, and where the lengths do not fit.
    """
    hop = n_fft >> 2 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if window is None:
        warnings.warn(NO_WINDOW.format(LEAKS), UserWarning, stacklevel=5)
    elif window.device is not self.device:
        raise RuntimeError(
            f"stft input and window must be on the same device but got self on {self.device} and window on {window.device}"
        )
    any_complex = self.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not any_complex:
        raise RuntimeError(NEEDS_RETURN_COMPLEX)
    if return_complex is False:
        warnings.warn(PAIRS, UserWarning, stacklevel=5)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false.")
    call = (
        f"stft({_described(self, '[]')}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={_described(window, '{}')}, "
        f"normalized={int(normalized)}, onesided={_flag(onesided)}, return_complex={_flag(return_complex)}, "
        f"align_to_window={_flag(align_to_window)})"
    )
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if not 1 <= self.dim() <= 2:
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    signal = ops.unsqueeze(self, 0) if self.dim() == 1 else self
    if center:
        signal = ops.squeeze_dim(ops.pad(ops.unsqueeze(signal, 0), [n_fft // 2, n_fft // 2], pad_mode, None), 0)
    batch, points = signal.shape
    if not 0 < n_fft <= points:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {points}, but got n_fft={length}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )
    if length < n_fft:
        ones = ops.ones([length], self.dtype, None, self.device, None) if window is None else window
        left = (n_fft - length) // 2
        window = ops.constant_pad_nd(ones, [left, n_fft - length - left], 0)
    covered = n_fft
    if align_to_window:  # the window, not the piece in whose middle it is, begins and ends with the signal
        covered, left = length, (n_fft - length) // 2
        signal = ops.constant_pad_nd(signal, [left, left], 0)
    step, stride = signal.stride()
    pieces = ops.as_strided(signal, [batch, 1 + (points - covered) // hop, n_fft], [step, hop * stride, stride], None)
    if window is not None:
        pieces = ops.mul_Tensor(pieces, window)
    by = BY_ROOT if normalized else NOT_DIVIDED
    if pieces.is_complex():
        if onesided:
            raise RuntimeError(ONESIDED)
        spectra = ops._fft_c2c(pieces, [2], by, True)
    else:
        spectra = ops._fft_r2c(pieces, [2], by, onesided is None or onesided)
    ops.transpose_(spectra, 1, 2)
    if self.dim() == 1:
        ops.squeeze__dim(spectra, 0)
    return spectra if return_complex or return_complex is None else ops.view_as_real(spectra)


def istft(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    """The signal that `stft` with the same arguments made these spectra of, `length` points of it.

    Raises RuntimeError where the arguments do not fit, and when there is a point at which all windows are zero.
    """
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        warnings.warn(NO_WINDOW.format(LOSES), UserWarning, stacklevel=6)
    elif window.device is not self.device:
        raise RuntimeError(
            f"istft input and window must be on the same device but got self on {self.device} and window on {window.device}"
        )
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    wrap_dim(-3, self.dim() + 1)
    call = (
        f"istft({_described(self, '[]')}, n_fft={n_fft}, hop_length={hop}, win_length={width}, "
        f"window={_described(window, '{}')}, "
        f"center={int(center)}, normalized={int(normalized)}, onesided={_flag(onesided)}, "
        f"length={length}, return_complex={int(return_complex)}) "
    )
    if not self.numel():
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    if not 2 <= self.dim() <= 3:  # counted with one for the real and the imaginary part
        raise RuntimeError(f"{call}: expected a tensor with 3 or 4 dimensions, but got {self.dim() + 1}")
    frequencies, frames = self.shape[-2:]
    half = frequencies != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if half else n_fft
    if frequencies != wanted:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft{' / 2 + 1' * half} when onesided={half}, but got {frequencies}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(f"{call}: Invalid window shape. window has to be 1D and length of `win_length`")
    if window is None:
        window = ops.ones([width], self.dtype.to_real(), None, self.device, None)
    if width != n_fft:
        left = (n_fft - width) // 2
        window = ops.constant_pad_nd(window, [left, n_fft - width - left], 0)

    spectra = ops.transpose_int(ops.unsqueeze(self, 0) if self.dim() == 2 else self, 1, 2)
    pieces = _back(spectra, n_fft, window, half, normalized, return_complex)
    points = n_fft + hop * (frames - 1)
    total = ops.unfold_backward(ops.mul_Tensor(pieces, window), [pieces.shape[0], points], 1, n_fft, hop)
    squares = ops.expand(ops.pow_Tensor_Scalar(window, 2), [1, frames, n_fft], False)
    weight = ops.unfold_backward(squares, [1, points], 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else points - start
    total, weight = ops.slice_Tensor(total, 1, start, end, 1), ops.slice_Tensor(weight, 1, start, end, 1)
    if bool((weight.detach().abs() < 1e-11).any()):
        raise RuntimeError(f"{call}window overlap add min: 1")
    signal = ops.div_Tensor(total, weight)
    if self.dim() == 2:
        signal = ops.squeeze_dim(signal, 0)
    if end > points:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please "
            "check your center and hop_length settings.",
            UserWarning,
            stacklevel=6,
        )
        signal = ops.constant_pad_nd(signal, [0, end - points], 0)
    return signal


def _back(spectra: Any, n_fft: int, window: Any, half: bool, normalized: bool, return_complex: bool) -> Any:
    """The pieces whose spectra these are."""
    by = BY_ROOT if normalized else BY_NUMBER
    if return_complex:
        if half:
            raise RuntimeError(ONESIDED)
        return ops._fft_c2c(spectra, [2], by, False)
    if window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not half:
        spectra = ops.slice_Tensor(spectra, -1, 0, n_fft // 2 + 1, 1)
    return ops._fft_c2r(spectra, [2], by, n_fft)


def _described(t: Any, brackets: str) -> str:
    """The name of its legacy type and its sizes, as these messages have them."""
    if t is None:
        return "None"
    name = f"CPU{SCALAR_TYPE_NAME[t.dtype]}Type" if t.is_complex() else t.type()
    return f"{name}{list(t.shape)}" if brackets == "[]" else f"{name}{{{list(t.shape)}}}"


def _flag(value: bool | None) -> str:
    return "None" if value is None else str(int(value))
