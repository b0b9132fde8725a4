"""Storing random numbers in a tensor (`aten/src/ATen/native/cpu/DistributionTemplates.h`, `Loops.h:
cpu_serial_kernel`).

The generator gives one number after the other, and they are stored in the order in which the
elements lie in memory: so a transposed tensor gets other numbers at the same indices than a
contiguous one.

How the real one differs: its loop computes each number where it is stored; here all numbers are
computed first, as one array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.aten.broadcasting import memory_order
from internals.aten.native.factories import check_sizes, empty, empty_like
from internals.aten.on_device import on_device
from internals.aten.overlap import check_no_internal_overlap
from internals.aten.writing import resize
from internals.core.device import CPU, device
from internals.core.dtype import dtype, float16
from internals.core.formats import layout
from internals.core.generator import Generator, default_generator
from internals.core.tensor_impl import Tensor, array


def store(t: Tensor, numbers: Callable[[int], Any], name: str = "", *args: Any) -> Any:
    """Fill `t` with the array that `numbers(count)` returns, in the order of memory. A complex
    tensor takes twice as many numbers as it has elements.

    On another device `numbers` is not called: there the kernel `name` fills `t` (`on_device`); it
    is called with `args`.
    """
    check_no_internal_overlap(t)
    if not t._geometry.stored:
        return on_device(name, t, *args)
    a, n = array(t), t.numel()
    if t.is_complex():
        pairs = numbers(2 * n).reshape(-1, 2)
        values = pairs[:, 0] + 1j * pairs[:, 1]
    else:
        values = numbers(n)
    # dimensions from the outermost in memory to the innermost
    order = memory_order(t.shape, [t.stride()]) if not t.is_contiguous() else tuple(range(t.dim()))
    with np.errstate(all="ignore"):
        if t.dtype is float16 and values.dtype == np.float64:
            # rounded twice, as PyTorch converts a double to half
            values = values.astype(np.float32)
        a.transpose(order)[...] = values.reshape([t.shape[d] for d in order])
    return t


def target(
    size: Sequence[int],
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: Any,
    out: Tensor | None = None,
) -> Any:
    """The tensor that a factory fills: a new one, or `out`, which is resized without a warning."""
    if out is None:
        return empty(size, dtype, layout, device, pin_memory)
    check_sizes(size)
    if tuple(out.shape) != tuple(size):
        resize(out, size)
    return out


def on_cpu(given: Generator | None) -> Generator:
    """The generator to draw from: the one given, or for None the default one of the CPU. Raises
    RuntimeError for a generator of another device.
    """
    given = given or default_generator
    if given.device is not CPU:
        raise RuntimeError(
            f"Expected a 'cpu' device type for generator but found '{given.device.type}'"
        )
    return given


def kernel_device(t: Tensor) -> str:
    """The device's name in the errors of a kernel: "cuda" or "cpu", also for "meta"."""
    return "cuda" if t.device.type == "cuda" else "cpu"


def like(t: Tensor) -> Any:
    """An empty tensor with the shape, dtype and device of `t`."""
    return empty_like(t, None, None, None, None, None)
