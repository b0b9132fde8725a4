"""Padding with a constant, circular padding, and `pad`, which chooses among all modes
(`aten/src/ATen/native/PadNd.cpp`).

Constant padding writes the input into the middle of a filled tensor. Reflection and replication are
operators of their own (`border_padding.py`). Circular padding of 4 elements by 2 on each side reads
the positions 2 3 | 0 1 2 3 | 0 1, by one `index_select` for each dimension. `pad` lists the amounts
from the last dimension backwards: (left, right, top, bottom, ...).

How the real one differs: it writes circular padding piece by piece into an empty tensor, in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.memory_format import empty_as
from internals.core.device import CPU
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, array, from_array

from . import views

MODES = ("reflect", "replicate", "circular", "constant")
"""The ways of padding, in the order of `at::padding_mode` (`aten/src/ATen/native/PadNd.h`)."""

_SUPPORTED = """
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def constant_pad_nd(self: Tensor, pad: Sequence[int], value: Scalar) -> Any:
    """`self` with `pad[0]` elements before and `pad[1]` after the last dimension, `pad[2:4]` for
    the one before, and so on.

    Negative amounts cut elements off. Raises RuntimeError when `pad` is longer than twice the
    number of dimensions, has an odd length, or cuts off more than there is.
    """
    _check_length(pad, self.dim())
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    # (before, after) for each dimension, in the order of the dimensions
    around = [(0, 0)] * (self.dim() - len(pad) // 2) + [
        (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
    ]
    sizes = [n + before + after for n, (before, after) in zip(self.shape, around)]
    for d, (n, (before, after)) in enumerate(zip(self.shape, around)):
        if sizes[d] < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a "
                f"negative output size, which is invalid. Check dimension {d} of your input."
            )
        if n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    out = empty_as(self, sizes)
    # the part of the result that is not padding, and the part of the input that is not cut off
    inner = tuple(slice(max(b, 0), s - max(a, 0)) for s, (b, a) in zip(sizes, around))
    kept = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(self.shape, around))
    if self.device is CPU:
        target, source = array(out), array(self)
        target[...] = value
        target[inner] = source[kept]
        return out
    ops.fill__Scalar(out, value)
    target = out
    for d, (to, origin) in enumerate(zip(inner, kept)):
        target, self = (
            views.slice(target, d, to.start, to.stop, 1),
            views.slice(self, d, origin.start, origin.stop, 1),
        )
    if self.numel():
        ops.copy_(target, self, False)
    return out


def pad(self: Tensor, pad: Sequence[int], mode: str, value: float | None) -> Any:
    """`nn.functional.pad`: mode "constant", "reflect", "replicate" or "circular".

    Raises RuntimeError for amounts that do not fit and NotImplementedError for a mode or a rank
    that has no such padding.
    """
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return ops._pad_enum(self, pad, MODES.index(mode), value)


def _pad_enum(self: Tensor, pad: Sequence[int], mode: int, value: float | None) -> Any:
    """`pad`, with the mode as its number in `MODES`."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    _check_length(
        pad,
        self.dim(),
        "Padding length should be less than or equal to two times the input dimension but got",
    )
    if mode == 3:  # constant, the only mode for any number of dimensions
        return ops.constant_pad_nd(self, list(pad), 0.0 if value is None else value)
    if not 0 <= mode < len(MODES):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    name, n = MODES[mode], len(pad) // 2
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{name}" doesn\'t take in value argument')
    if self.dim() not in (n + 1, n + 2) or n > 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.dim()}D input tensor.{_SUPPORTED}"
        )
    if name == "circular":
        return ops._pad_circular(self, pad)
    kind = "reflection" if name == "reflect" else "replication"
    return getattr(ops, f"{kind}_pad{n}d")(self, pad)


def _pad_circular(self: Tensor, pad: Sequence[int]) -> Any:
    """`self` with up to three last dimensions continued on both sides as if their ends were joined.
    Raises RuntimeError for amounts above the dimension's size.
    """
    n = len(pad) // 2
    if self.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            "Invalid padding size, expected 1 or 2 non-padded dimensions, which would be "
            f"equivalent to padding of length {2 * (self.dim() - 1)} or {2 * (self.dim() - 2)} "
            f"respectively but got {len(pad)}"
        )
    result = self
    for i in range(n):
        before, after, dim = pad[2 * i], pad[2 * i + 1], self.dim() - 1 - i
        size = self.shape[dim]
        if max(before, after) > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        # a negative amount cuts off first; `kept` elements from `first` on are then repeated
        first = max(-before, 0)
        kept = size - first - max(-after, 0)
        positions = np.arange(-max(before, 0), kept + max(after, 0))
        index = from_array(np.asarray(first + positions % max(kept, 1), np.int64))
        result = result.index_select(dim, index.to(self.device))
    return result


def _check_length(pad: Sequence[int], ndim: int, text: str = "") -> None:
    """Raises RuntimeError, which begins with `text` if given, when `pad` has more than two amounts
    for each dimension.
    """
    if len(pad) > 2 * ndim:
        if text:
            raise RuntimeError(f"{text} padding length {len(pad)} and input of dimension {ndim}")
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {ndim} dimensions."
        )
