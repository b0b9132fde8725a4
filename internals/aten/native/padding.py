"""Padding (`aten/src/ATen/native/{PadNd,ReflectionPad,ReplicationPadding}.cpp`).

Constant padding writes the input into the middle of a filled tensor. The other modes only repeat what is there, so each is one
`index_select` a dimension: reflect reads the indices 2 1 | 0 1 2 3 | 2 1, replicate 0 0 | 0 1 2 3 | 3 3, circular
2 3 | 0 1 2 3 | 0 1.
`pad` lists the amounts from the last dimension backwards, as PyTorch does.

How the real one differs: reflection and replication have kernels (and gradients) of their own, for one to three dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.memory_format import empty_as
from internals.core.device import CPU
from internals.core.tensor_impl import array, from_array

from . import views


def constant_pad_nd(self: Any, pad: Sequence[int], value: Any) -> Any:
    """`self` with `pad[0]` elements before and `pad[1]` after the last dimension, `pad[2:4]` for the one before, and so on.

    Negative amounts cut off. Raises RuntimeError when `pad` does not fit or nothing would be left.
    """
    _check_length(pad, self.dim())
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    around = [(0, 0)] * (self.dim() - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    sizes = [n + before + after for n, (before, after) in zip(self.shape, around)]
    for d, (n, (before, after)) in enumerate(zip(self.shape, around)):
        if sizes[d] < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative output size, which is "
                f"invalid. Check dimension {d} of your input."
            )
    out = empty_as(self, sizes)
    inner = tuple(slice(max(b, 0), s - max(a, 0)) for s, (b, a) in zip(sizes, around))
    kept = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(self.shape, around))
    if self.device is CPU:
        target, source = array(out), array(self)
        target[...] = value
        target[inner] = source[kept]
        return out
    ops.fill__Scalar(out, value)
    target = out
    for d, (to, since) in enumerate(zip(inner, kept)):
        target, self = views.slice(target, d, to.start, to.stop, 1), views.slice(self, d, since.start, since.stop, 1)
    if self.numel():
        ops.copy_(target, self, False)
    return out


def pad(self: Any, pad: Sequence[int], mode: str, value: float | None) -> Any:
    """`nn.functional.pad`: mode "constant", "reflect", "replicate" or "circular".

    Raises RuntimeError for amounts that do not fit and NotImplementedError for a mode or a rank that has no such padding.
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    _check_length(pad, self.dim(), "Padding length should be less than or equal to two times the input dimension but got")
    if mode == "constant":
        return ops.constant_pad_nd(self, list(pad), 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    n = len(pad) // 2
    if mode not in _SOURCE or self.dim() not in (n + 1, n + 2) or (mode == "circular" and n > 3):
        if mode not in _SOURCE:
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {self.dim()}D input tensor.")
    result = self
    for i in range(n):
        before, after = pad[2 * i], pad[2 * i + 1]
        dim = self.dim() - 1 - i
        _check_amount(self, mode, before, after, dim)
        first = max(-before, 0)  # what a negative amount cuts off is gone before anything is repeated
        kept = self.shape[dim] - first - max(-after, 0)
        positions = np.arange(-max(before, 0), kept + max(after, 0))
        index = from_array(np.asarray(first + _SOURCE[mode](positions, kept), np.int64))
        result = result.index_select(dim, index.to(self.device))
    return result


def _reflect(i: Any, n: int) -> Any:
    i = np.abs(i)
    return np.where(i >= n, 2 * (n - 1) - i, i)


_SOURCE = {"reflect": _reflect, "replicate": lambda i, n: np.clip(i, 0, n - 1), "circular": lambda i, n: i % n}


def _check_amount(t: Any, mode: str, before: int, after: int, dim: int) -> None:
    n = t.shape[dim]
    if mode == "reflect" and max(before, after) >= n:
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({before}, {after}) at dimension {dim} of input {list(t.shape)}"
        )
    if mode == "circular" and max(before, after) > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if n + before + after < 0 or n == 0:
        raise RuntimeError(f"{mode} padding of ({before}, {after}) leaves nothing of dimension {dim} of input {list(t.shape)}")


def _check_length(pad: Sequence[int], ndim: int, text: str = "") -> None:
    if len(pad) > 2 * ndim:
        if text:
            raise RuntimeError(f"{text} padding length {len(pad)} and input of dimension {ndim}")
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} while "
            f"the input has {ndim} dimensions."
        )
