"""The short-time Fourier transform of a signal, and its inverse
(`aten/src/ATen/native/SpectralOps.cpp`: `stft`, `istft`).

`stft` slides a window over the signal, `hop_length` points at a time: the frames are a view with
overlapping rows, which is multiplied by the window and transformed. `istft` transforms back,
multiplies by the window again and adds the frames at their positions. The sum is divided by the sum
of the squares of the windows at each point, so that must not be 0 anywhere.

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor
from internals.core.warn import warn_once

from . import short_time_checks as check
from .arguments import BY_NUMBER, BY_ROOT, NOT_DIVIDED


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Any:
    """`stft_center` without padding."""
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
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Any:
    """The spectra (frequencies, frames) of a signal (points,), or (batch, frequencies, frames) of
    (batch, points).

    With `center` the signal is padded by half a window at both ends. Raises RuntimeError for dtypes
    that are neither floating nor complex, for other shapes, and where the lengths do not fit.
    """
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    # checks the arguments; the call as text, for messages
    call_text = check.stft_call(
        self,
        n_fft,
        hop,
        width,
        window,
        center,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )
    signal = ops.unsqueeze(self, 0) if self.dim() == 1 else self
    if center:
        signal = ops.squeeze_dim(
            ops.pad(ops.unsqueeze(signal, 0), [n_fft // 2, n_fft // 2], pad_mode, None), 0
        )
    check.stft_lengths(call_text, signal.shape[1], n_fft, hop, width, window)
    if window is None and width < n_fft:
        window = ops.ones([width], self.dtype, None, self.device, None)
    # (batch, frames, n_fft), transformed to (batch, frames, frequencies)
    framed = _overlapping(signal, n_fft, hop, width if align_to_window else n_fft)
    if window is not None:
        framed = ops.mul_Tensor(framed, _widened(window, n_fft))
    normalization = BY_ROOT if normalized else NOT_DIVIDED
    if framed.is_complex():
        if onesided:
            raise RuntimeError(check.ONESIDED)
        spectra = ops._fft_c2c(framed, [2], normalization, True)
    else:
        spectra = ops._fft_r2c(framed, [2], normalization, onesided is None or onesided)
    ops.transpose_(spectra, 1, 2)
    if self.dim() == 1:
        ops.squeeze__dim(spectra, 0)
    return spectra if return_complex or return_complex is None else ops.view_as_real(spectra)


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    """The signal whose `stft` with the same arguments is `self`, (batch, points) or (points,), cut
    or padded to `length`.

    Raises RuntimeError where the arguments do not fit, and if all windows are zero at some point.
    """
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    # checks the arguments; the call as text, for messages
    call_text = check.istft_call(
        self, n_fft, hop, width, window, center, normalized, onesided, length, return_complex
    )
    if window is None:
        window = ops.ones([width], self.dtype.to_real(), None, self.device, None)
    window = _widened(window, n_fft)
    frequencies, frames = self.shape[-2:]
    half = frequencies != n_fft if onesided is None else onesided

    spectra = ops.transpose_int(ops.unsqueeze(self, 0) if self.dim() == 2 else self, 1, 2)
    framed = _inverse_transform(spectra, n_fft, window, half, normalized, return_complex)
    # unfold_backward adds up overlapping frames, (batch, frames, n_fft) -> (batch, points)
    points = n_fft + hop * (frames - 1)
    total = ops.unfold_backward(
        ops.mul_Tensor(framed, window), [framed.shape[0], points], 1, n_fft, hop
    )
    squares = ops.expand(ops.pow_Tensor_Scalar(window, 2), [1, frames, n_fft], False)
    weight = ops.unfold_backward(squares, [1, points], 1, n_fft, hop)
    # the padding of `center` is cut off again
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else points - start
    total, weight = (
        ops.slice_Tensor(total, 1, start, end, 1),
        ops.slice_Tensor(weight, 1, start, end, 1),
    )
    if bool((weight.detach().abs() < 1e-11).any()):
        raise RuntimeError(f"{call_text}window overlap add min: 1")
    signal = ops.div_Tensor(total, weight)
    if self.dim() == 2:
        signal = ops.squeeze_dim(signal, 0)
    if end > points:
        warn_once(check.TOO_SHORT)
        signal = ops.constant_pad_nd(signal, [0, end - points], 0)
    return signal


def _overlapping(signal: Tensor, n_fft: int, hop: int, covered: int) -> Any:
    """The frames of signals (batch, points), as a view (batch, frames, n_fft).

    `covered` is how many points in the middle of a frame lie in the signal. If that is less than
    n_fft, the signal is padded with zeros, so that the first frame can begin before it.
    """
    batch, points = signal.shape
    if covered < n_fft:
        left = (n_fft - covered) // 2
        signal = ops.constant_pad_nd(signal, [left, left], 0)
    # frame i starts i * hop points after the first: overlapping rows of the same memory
    step, stride = signal.stride()
    return ops.as_strided(
        signal, [batch, 1 + (points - covered) // hop, n_fft], [step, hop * stride, stride], None
    )


def _widened(window: Tensor, n_fft: int) -> Any:
    """The window, padded with zeros on both sides to n_fft points."""
    width = window.shape[0]
    left = (n_fft - width) // 2
    return (
        window if width == n_fft else ops.constant_pad_nd(window, [left, n_fft - width - left], 0)
    )


def _inverse_transform(
    spectra: Tensor, n_fft: int, window: Tensor, half: bool, normalized: bool, return_complex: bool
) -> Any:
    """The frames (batch, frames, n_fft) with the given spectra. Raises RuntimeError where complex
    windows or results contradict the other arguments.
    """
    normalization = BY_ROOT if normalized else BY_NUMBER
    if return_complex:
        if half:
            raise RuntimeError(check.ONESIDED)
        return ops._fft_c2c(spectra, [2], normalization, False)
    if window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not half:
        spectra = ops.slice_Tensor(spectra, -1, 0, n_fft // 2 + 1, 1)
    return ops._fft_c2r(spectra, [2], normalization, n_fft)
