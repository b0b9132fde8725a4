"""Window functions as in scipy.signal, symmetric by default (`torch/signal/windows/windows.py`).

Each is a curve (M,) over M equidistant points. A window for filters is symmetric: the last point
mirrors the first (`sym=True`). A window for spectra is periodic: of M + 1 symmetric points the last
is omitted, as it is the first point of the next period.

All take the keywords of a factory, `dtype`, `layout`, `device` and `requires_grad`, and raise
ValueError for a negative M and for dtypes other than float32 and float64. `torch.hann_window` and
similar functions are older, and operators (`aten.native.fft.signal_windows`).

How the real one differs: every function lists all keywords, and repeats the checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import internals as torch

if TYPE_CHECKING:
    from internals.core.device import device
    from internals.core.dtype import dtype
    from internals.core.formats import layout

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Any:
    """a₀ - a₁ cos(k) + a₂ cos(2k) - ..., for k from 0 to 2π; the following five are special cases.

    Raises TypeError unless `a` is iterable, ValueError if it is empty.
    """
    options = _checked("general_cosine", M, **options)
    if M < 2:
        return _short(M, options)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    k = _points(M, 0, 2 * math.pi / (M - sym), options)
    own = {name: options[name] for name in ("dtype", "device", "requires_grad")}
    signed = torch.tensor([(-1) ** i * w for i, w in enumerate(a)], **own)
    i = torch.arange(signed.shape[0], **own)
    # (terms, 1) * cos((terms, 1) * (M,)), summed over the terms
    return (signed.unsqueeze(-1) * torch.cos(i.unsqueeze(-1) * k)).sum(0)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Any:
    """alpha - (1 - alpha) cos(k)."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Any:
    """0.54 - 0.46 cos(k): 0.08 at the ends, which makes the first side lobe of its spectrum low."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Any:
    """(1 - cos(k)) / 2: 0 at the ends."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Any:
    """0.42 - 0.5 cos(k) + 0.08 cos(2k): 0 at the ends."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **_checked("blackman", M, **options))


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Any:
    """Four terms whose coefficients minimize the side lobes of the spectrum."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Any:
    """Half a period of a sine; the first point is half a step after 0."""
    options = _checked("cosine", M, **options)
    if not M:
        return _short(M, options)
    step = math.pi / _period(M, sym, 1)
    return torch.sin(_points(M, 0.5 * step, step, options))


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Any:
    """A triangle: 0 at the ends, 1 in the middle."""
    options = _checked("bartlett", M, **options)
    return _short(M, options) if M < 2 else 1 - torch.abs(_points(M, -1, 2 / (M - sym), options))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Any:
    """exp(-(k / std)² / 2), k steps from the middle. Raises ValueError unless `std` is positive."""
    options = _checked("gaussian", M, **options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if not M:
        return _short(M, options)
    step = 1 / (std * math.sqrt(2))
    return torch.exp(-(_points(M, -_period(M, sym) / 2.0 * step, step, options) ** 2))


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Any:
    """exp(-|k| / tau), k steps from `center`, by default the middle.

    Raises ValueError unless `tau` is positive, and for a `center` of a symmetric window.
    """
    options = _checked("exponential", M, **options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if not M:
        return _short(M, options)
    middle = _period(M, sym) / 2.0 if center is None else center
    return torch.exp(-torch.abs(_points(M, -middle / tau, 1 / tau, options)))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Any:
    """I₀(beta √(1 - x²)) / I₀(beta) for x from -1 to 1, with the modified Bessel function I₀.

    Raises ValueError for a negative `beta`.
    """
    options = _checked("kaiser", M, **options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _short(M, options)
    edge = torch.tensor(beta, dtype=options["dtype"], device=options["device"])
    step = 2.0 * edge / (M - sym)
    k = torch.linspace(-edge, torch.minimum(edge, (M - 1) * step - edge), M, **options)
    return torch.i0(torch.sqrt(edge * edge - k**2)) / torch.i0(edge)


def _checked(
    name: str,
    M: int,
    dtype: dtype | None = None,
    layout: layout = torch.strided,
    device: device | None = None,
    requires_grad: bool = False,
) -> dict[str, Any]:
    """The keywords for a factory, with defaults filled in; ValueError if they are not allowed."""
    dtype = dtype or torch.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}


def _points(M: int, first: float, step: float, options: dict[str, Any]) -> Any:
    """M numbers (M,), from `first` by `step`."""
    return torch.linspace(first, first + (M - 1) * step, M, **options)


def _period(M: int, sym: bool, more: int = 0) -> int:
    """The number of steps in a period: M - 1 for a symmetric window, M for a periodic one; `more`
    is added.
    """
    return M + more - 1 if sym or M < 2 else M + more


def _short(M: int, options: dict[str, Any]) -> Any:
    """A window of no point, or of a single 1."""
    return torch.ones((M,), **options)
