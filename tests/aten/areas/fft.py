"""What tests of all operators have to know about Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.aten.op_tensors import Stream, TensorSpec, n, tensor

NORMS = [None, "backward", "forward", "ortho"]


def _sizes(s: Stream) -> tuple[int, ...]:
    return tuple(n(s, 1, 6) for _ in range(n(s, 1, 4)))


def _along_one(s: Stream) -> dict[str, Any]:
    sizes = _sizes(s)
    return {
        "self": sizes,
        "n": None if s.random() < 0.5 else n(s, 1, 8),
        "dim": n(s, -len(sizes), len(sizes)),
        "norm": NORMS[n(s, 0, 4)],
        "floating": s.random() < 0.6,
    }


def _along_many(s: Stream) -> dict[str, Any]:
    sizes = (n(s, 1, 4), *_sizes(s))
    dims = [int(d) for d in s.permutation(len(sizes))[: n(s, 1, len(sizes) + 1)]]
    lengths = [n(s, 1, 7) if s.random() < 0.7 else -1 for _ in dims]
    s_ = None if s.random() < 0.5 else lengths
    return {
        "self": sizes,
        "s": s_,
        "dim": dims,
        "norm": NORMS[n(s, 0, 4)],
        "floating": s.random() < 0.6,
    }


def _leaf(s: Stream) -> dict[str, Any]:
    sizes = _sizes(s)
    dims = [int(d) for d in s.permutation(len(sizes))[: n(s, 1, len(sizes) + 1)]]
    last = max(2 * (sizes[dims[-1]] - 1), 1) + (sizes[dims[-1]] > 1) * n(s, 0, 2)
    return {"self": sizes, "dim": dims, "normalization": n(s, 0, 3), "last_dim_size": last}


def _complex_leaf(s: Stream) -> dict[str, Any]:
    given = _leaf(s)
    return {**given, "self": tensor(s, given["self"], str(s.choice(["complex64", "complex128"])))}


def _into_complex(recipe: Any) -> Any:
    """`recipe` with an out= that suits it half of the time."""

    def with_out(s: Stream) -> dict[str, Any]:
        return {
            **recipe(s),
            **({"out": TensorSpec(np.zeros(0, "complex64"))} if s.random() < 0.5 else {}),
        }

    return with_out


def _window(s: Stream) -> dict[str, Any]:
    return {"window_length": n(s, 0, 9), "n": n(s, 1, 9), "d": 0.5, "alpha": 0.6, "beta": 2.0}


def _pieces(s: Stream) -> dict[str, Any]:
    points, n_fft = n(s, 12, 20), n(s, 3, 7)
    width = n(s, 2, n_fft + 1)
    dtype = str(s.choice(["float32", "float64", "complex64"]))
    return {
        "self": tensor(s, [(points,), (2, points)][n(s, 0, 2)], dtype, "plain"),
        "n_fft": n_fft,
        "hop_length": n(s, 1, width + 1),
        "win_length": width,
        "window": tensor(s, (width,), dtype, "plain") if s.random() < 0.7 else None,
        "pad_mode": ["reflect", "constant", "replicate"][n(s, 0, 3)],
        "align_to_window": None,
    }


def _spectra(s: Stream) -> dict[str, Any]:
    n_fft, frames, onesided = n(s, 3, 7), n(s, 3, 6), s.random() < 0.5
    sizes = (n_fft // 2 + 1 if onesided else n_fft, frames)
    return {
        "self": tensor(s, [sizes, (2, *sizes)][n(s, 0, 2)], "complex64", "plain"),
        "n_fft": n_fft,
        "hop_length": 1,
        "win_length": n_fft,
        "window": None,
        "onesided": onesided,
        "center": True,
        "length": [None, 3, 40][n(s, 0, 3)],
    }


RECIPES = {
    **{f"fft_{name}": _along_one for name in "fft ifft rfft irfft hfft ihfft".split()},
    **{
        f"fft_{name}{k}": _along_many
        for name in "fft ifft rfft irfft hfft ihfft".split()
        for k in "2n"
    },
    **{
        f"fft_{name}": _into_complex(_along_many) for name in ("rfft2", "rfftn", "ihfft2", "ihfftn")
    },
    **{f"fft_{name}": _into_complex(_along_one) for name in ("rfft", "ihfft")},
    "_fft_r2c": _into_complex(_leaf),
    **dict.fromkeys(["_fft_c2r", "_fft_c2c"], _complex_leaf),
    **{f"{name}_window": _window for name in "bartlett blackman hann hamming kaiser".split()},
    **dict.fromkeys(["fft_fftfreq", "fft_rfftfreq"], _window),
    "stft": _pieces,
    "istft": _spectra,
}


def _wider_out(v: dict[str, Any]) -> bool:
    return (
        "out" in v
        and v["out"].values.real.itemsize == 8
        and v["self"].values.dtype not in ("float64", "complex128")
    )


def _other_out(v: dict[str, Any]) -> bool:
    return "out" in v and v["out"].values.dtype != np.result_type(
        v["self"].values.dtype, np.complex64
    )


def _unfinite(v: dict[str, Any]) -> bool:
    return not np.isfinite(v["self"].values).all()


KNOWN = [
    (
        "_?fft_.*|i?stft",
        lambda v: "self" in v and _unfinite(v),
        "infinities minus infinities in another order",
    ),
    (
        "fft_ihfft[2n]",
        lambda v: "out" in v and len(v["dim"] or [1]) == 1,
        "PyTorch resizes the result, not out=",
    ),
    (
        "fft_(?!.*(freq|shift)).*",
        _wider_out,
        "computed in single precision, by another library, and compared in double",
    ),
    (
        "fft_ih?fft[2n]?",
        _other_out,
        "PyTorch conjugates some results straight into out=, which then needs their dtype",
    ),
    (
        "_fft_r2c|_fft_c2c|_fft_c2r",
        _other_out,
        "the leaves of PyTorch copy to any out=, without a question",
    ),
    (
        "fft_r?fftfreq",
        lambda v: "out" in v and v["out"].values.size,
        "PyTorch keeps the shape of an out= of as many elements",
    ),
]
