"""Fourier transforms, windows, spectra of pieces: arguments, errors, out=, strides, gradients;
against PyTorch, and numpy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from tests.answers import answer
from tests.side_by_side import cases, check, expression
from tests.support import to_numpy

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [f"{name}{k}" for name in ONE for k in "2n"]
REAL = {"rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn"}

TABLE = """
T.fft.fft(x(0))
T.fft.fft(x(4, 0))
T.fft.fft(x.of(1.0))
T.fft.fft(x(3), 0)
T.fft.fft(x(3), -1)
T.fft.fft(x(3), norm="x")
T.fft.fft(x(3), dim=1)
T.fft.fft(x(3, dtype="float16"))
T.fft.fft(x(3, dtype="bool")), T.fft.rfft(x(3, dtype="int64")), T.fft.irfft(x(3, dtype="uint8"))
T.fft.fft(input=x(2, 5), n=4, dim=0, norm="ortho")
T.fft.rfft(x(3, dtype="complex64"))
T.fft.ihfft(x(3, dtype="complex64"))
T.fft.irfft(x(1))
T.fft.irfft(x(3), n=0)
T.fft.irfft(x(3), n=5), T.fft.irfft(x(3), n=9), T.fft.hfft(x(3), n=3)
T.fft.fftn(x(3, 3), dim=(0, 0))
T.fft.fftn(x(3, 3), dim=(0, -2))
T.fft.fftn(x(3, 3), s=(2,), dim=(0, 1))
T.fft.fftn(x(3, 3), s=(2, 2, 2))
T.fft.fftn(x(3, 3), s=(2,)), T.fft.fftn(x(3, 3), s=(2, -1)),
    T.fft.fft2(x(3, 3), s=(4, 2), dim=(1, 0))
T.fft.fftn(x(3, 3), s=(2, 0))
T.fft.fftn(x(3, 3), dim=()), T.fft.ifftn(x(3, dtype="complex64"), dim=()), T.fft.fftn(x.of(2.0))
T.fft.rfftn(x(3, 3), dim=())
T.fft.irfftn(x(3, 3), dim=())
T.fft.hfftn(x(3, 3), dim=())
T.fft.ihfftn(x(3, 3), dim=())
T.fft.rfftn(x(3, dtype="complex64"))
T.fft.ihfftn(x(3, dtype="complex64"))
T.fft.fft2(x(3))
T.fft.fft2(x(3, 3), s=2)
T.fft.fft2(x(3, 3), dim=1), T.fft.irfftn(x(3, 3), s=(3, -1))
T.fft.irfftn(x(3, 1))
T.fft.fft(x(3), out=T.empty(3))
T.fft.ifft2(x(3, 3), out=T.empty(3))
T.fft.irfft(x(3), out=T.empty(3, dtype=T.complex64))
T.fft.hfft2(x(3, 3), out=T.empty(3, dtype=T.complex64))
T.fft.irfftn(x(3, 3), out=T.empty(3, dtype=T.int64))
T.fft.irfft(x(3), out=T.empty(0).double()),
    T.fft.fft(x(3, dtype="float64"), out=T.empty(0, dtype=T.complex64))
T.fft.fftfreq(5), T.fft.fftfreq(4, 0.5, dtype=T.float64), T.fft.fftfreq(4, dtype=T.float16),
    T.fft.fftfreq(0)
T.fft.rfftfreq(5), T.fft.rfftfreq(6, d=2.0), T.fft.fftfreq(5, out=T.empty(0)),
    T.fft.fftfreq(1, requires_grad=True)
T.fft.fftfreq(4, 0), T.fft.rfftfreq(0)
T.fft.fftfreq(4, dtype=T.int64)
T.fft.fftfreq(-1)
T.fft.rfftfreq(5, dtype=T.complex64)
T.fft.rfftfreq(5, out=T.empty(0, dtype=T.int64))
T.fft.fftshift(x(5)), T.fft.fftshift(x(2, 3), dim=1), T.fft.fftshift(x(4, 3), dim=(0, 0)),
    T.fft.ifftshift(x(4, 5, 3))
T.fft.fftshift(x.of(1.0))
T.fft.fftshift(x(2, 3), dim=())
T.fft.ifftshift(x(5), dim=3)
T.hann_window(4, dtype=T.int64)
T.hann_window(-1)
T.hann_window(3.0)
T.hann_window(5, dtype=T.complex64)
T.kaiser_window(5, False, 3.0), T.kaiser_window(5, True, beta=3), T.kaiser_window(1),
    T.kaiser_window(0), T.kaiser_window(9)
T.hann_window(4, False, dtype=T.float16), T.hann_window(7),
    T.hann_window(window_length=8, periodic=False, dtype=T.float64)
T.hamming_window(4, False, 0.5, 0.3), T.hamming_window(6, True, alpha=0.5),
    T.hamming_window(7, requires_grad=True)
T.bartlett_window(5), T.bartlett_window(6, periodic=False), T.bartlett_window(2)
T.blackman_window(8), T.blackman_window(7, False)
T.stft(x(16), 4)
T.stft(x(16, dtype="int64"), 4, return_complex=True)
T.stft(x(2, 2, 16), 4, return_complex=True, center=False)
T.stft(x(16), 4, return_complex=True, align_to_window=True)
T.stft(x(16), 4, 0, return_complex=True)
T.stft(x(16), 4, 1, 5, return_complex=True)
T.stft(x(16), 4, 1, window=T.ones(3), return_complex=True)
T.stft(x(16), 40, center=False, return_complex=True)
T.stft(x(16), 40, return_complex=True)
T.stft(x(16, dtype="complex64"), 4, onesided=True)
T.stft(x(2, 16), 5, 2, 4, T.hann_window(4), False, return_complex=True, align_to_window=True)
T.stft(x(2, 16), 5, 2, 4, T.hann_window(4), normalized=True, onesided=False, return_complex=True)
T.stft(x(16), n_fft=6, win_length=3, pad_mode="constant", return_complex=False)
x(2, 16).stft(6, 2, return_complex=True), x(16, dtype="complex64").stft(6, 2, window=T.ones(6))
x(16).stft(6, return_complex=True)
T.stft(x(16), 6, 2, 3, T.ones(3), False, return_complex=True, align_to_window=True)
T.istft(x(4, 5), 6)
T.istft(x(4, 5, dtype="complex64"), 8)
T.istft(x(4, 5, dtype="complex64"), 6, onesided=False)
T.istft(x(0, 5, dtype="complex64"), 6)
T.istft(x(4, dtype="complex64"), 6)
T.istft(x(4, 5, dtype="complex64"), 6, 7)
T.istft(x(4, 5, dtype="complex64"), 6, window=T.ones(3))
T.istft(x(4, 5, dtype="complex64"), 6, 2, window=T.hann_window(6), center=False)
T.istft(x(4, 5, dtype="complex64"), 6, return_complex=True)
T.istft(x(4, 5, dtype="complex64"), 6, 2),
    T.istft(x(2, 4, 5, dtype="complex64"), 6, 2, window=T.hann_window(6), length=9)
T.istft(x(6, 5, dtype="complex64"), 6, 3, 4, normalized=True, onesided=False),
    x(4, 5, dtype="complex64").istft(7, length=30)
T.istft(x(6, 5, dtype="complex64"), 6, 3, window=T.ones(6), return_complex=True, onesided=False)
"""


WINDOWS = """
[W.hann(M, sym=s) for M in (0, 1, 2, 5) for s in (True, False)],
    [W.hamming(M, sym=s) for M in (1, 6) for s in (True, False)]
[W.blackman(M, sym=s) for M in (0, 1, 7) for s in (True, False)],
    [W.nuttall(5, sym=s) for s in (True, False)]
[W.bartlett(M, sym=s) for M in (0, 1, 2, 8) for s in (True, False)], W.general_hamming(6, alpha=0.7)
[W.cosine(M, sym=s) for M in (0, 1, 2, 5) for s in (True, False)],
    W.general_cosine(4, a=(0.5, 0.3, 0.2), dtype=T.float64)
[W.gaussian(M, std=2.5, sym=s) for M in (0, 1, 2, 5) for s in (True, False)]
[W.exponential(M, tau=3.0, sym=s) for M in (0, 1, 2, 5) for s in (True, False)],
    W.exponential(5, center=1.0, sym=False)
[W.kaiser(M, beta=4.0, sym=s) for M in (0, 1, 2, 9) for s in (True, False)], W.kaiser(5, beta=0)
W.hann(5, requires_grad=True).requires_grad
W.hann(-1)
W.blackman(-1)
W.cosine(4, dtype=T.float16)
W.gaussian(4, std=0)
W.exponential(4, tau=0)
W.exponential(4, center=1)
W.kaiser(4, beta=-1)
W.general_cosine(4, a=[])
W.general_cosine(4, a=0.5)
"""


@pytest.mark.parametrize("text", cases(WINDOWS))
def test_windows_like_pytorch(text: str) -> None:
    case = eval(f"lambda T, W: ({text})")
    check(lambda T, x: case(T, T.signal.windows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases(TABLE))
def test_like_pytorch(text: str) -> None:
    check(expression(text))


@pytest.mark.parametrize("layout", ["plain", "permuted"])
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_strides_of_spectra_are_pytorchs(name: str, layout: str) -> None:
    def case(T: Any, x: Any) -> Any:
        t = x(3, 4, 5, 2)
        t = t.permute(2, 0, 3, 1) if layout == "permuted" else t
        dims = [-1, 0, 2] if name in ONE else [(0, 1), (3, 2), (1, 3, 0)]
        results = [getattr(T.fft, name)(t, dim=d) for d in dims]
        return [tuple(r.stride()) for r in results]

    assert case(torch, torch.ones) == answer(lambda real: case(real, real.ones))


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2", "ifftn"])
def test_zeros_have_pytorchs_signs(name: str) -> None:
    """One half is the mirror image of the other, as the signs of zeros, which are printed, show."""

    def case(T: Any) -> Any:
        tensors = (T.arange(8.0).reshape(2, 4), T.ones(3, 4, dtype=T.float64))
        return [
            T.signbit(T.view_as_real(getattr(T.fft, name)(t).resolve_conj())).tolist()
            for t in tensors
        ]

    assert case(torch) == answer(case)


# Against numpy


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(
    "name", [*ONE, "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
)
def test_like_numpy(name: str, norm: str) -> None:
    a = np.random.default_rng(0).standard_normal((4, 5, 6))
    a = a if name in REAL else a + 1j * np.random.default_rng(1).standard_normal((4, 5, 6))
    got = to_numpy(getattr(torch.fft, name)(torch.tensor(a), norm=norm))
    np.testing.assert_allclose(got, getattr(np.fft, name)(a, norm=norm), atol=1e-12)


@pytest.mark.parametrize("name", ["hfft2", "hfftn"])
def test_hermitian_transforms_undo_their_inverses(name: str) -> None:
    t = torch.randn(3, 4, 6, dtype=torch.float64)
    inverse = getattr(torch.fft, "i" + name)
    np.testing.assert_allclose(
        to_numpy(getattr(torch.fft, name)(inverse(t))), to_numpy(t), atol=1e-12
    )


def test_single_precision_stays_single() -> None:
    assert torch.fft.fft(torch.ones(3)).dtype is torch.complex64
    assert torch.fft.irfft(torch.ones(3)).dtype is torch.float32
    assert torch.fft.fft(torch.ones(3, dtype=torch.int64)).dtype is torch.complex64


def test_a_batch_of_nothing_has_a_spectrum_of_nothing() -> None:
    # in PyTorch it depends on the library: MKL refuses
    assert torch.fft.rfft(torch.ones(0, 4)).shape == (0, 3)
    assert torch.fft.irfft(torch.ones(0, 4)).shape == (0, 6)


@pytest.mark.parametrize(
    "name, window",
    [("hann", "hann"), ("hamming", "hamming"), ("blackman", "blackman"), ("bartlett", "bartlett")],
)
def test_windows_are_scipys(name: str, window: str) -> None:
    from scipy import signal

    make = getattr(torch, f"{name}_window")
    for n in (2, 7, 8):
        for periodic in (True, False):
            expected = signal.get_window(name, n, fftbins=periodic)
            np.testing.assert_allclose(
                to_numpy(make(n, periodic, dtype=torch.float64)), expected, atol=1e-12
            )
            kaiser = torch.kaiser_window(n, periodic, 5.0, dtype=torch.float64)
            np.testing.assert_allclose(
                to_numpy(kaiser), signal.get_window(("kaiser", 5.0), n, periodic), atol=1e-7
            )


@pytest.mark.parametrize("onesided", [True, False])
def test_istft_undoes_stft(onesided: bool) -> None:
    x, window = torch.randn(2, 50, dtype=torch.float64), torch.hann_window(8, dtype=torch.float64)
    spectra = torch.stft(x, 8, 3, window=window, onesided=onesided, return_complex=True)
    back = torch.istft(spectra, 8, 3, window=window, onesided=onesided, length=50)
    np.testing.assert_allclose(to_numpy(back), to_numpy(x), atol=1e-12)


# Gradients, of complex numbers too


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_gradients(name: str, norm: str | None) -> None:
    kind = torch.float64 if name in REAL else torch.complex128
    x = torch.randn(3, 4, dtype=kind, requires_grad=True)
    size = {"n": 5} if name in ONE else {"s": (2, 5)}
    for arguments in ({}, size):
        function = partial(getattr(torch.fft, name), norm=norm, **arguments)
        assert gradcheck(function, (x,)) and gradgradcheck(function, (x,))


@pytest.mark.filterwarnings("ignore:A window was not provided")
def test_gradients_of_pieces() -> None:
    x = torch.randn(12, dtype=torch.float64, requires_grad=True)
    window = torch.rand(4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda t, w: torch.stft(t, 4, 2, window=w, return_complex=True), (x, window))
    z = torch.randn(3, 5, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda t, w: torch.istft(t, 4, 2, window=w), (z, window))


@pytest.mark.parametrize("name", ["bartlett", "blackman", "cosine", "hamming", "hann", "nuttall"])
def test_windows_are_those_of_scipy(name: str) -> None:
    theirs = getattr(pytest.importorskip("scipy.signal.windows"), name)
    for sym in (True, False):
        found = getattr(torch.signal.windows, name)(9, sym=sym, dtype=torch.float64)
        np.testing.assert_allclose(to_numpy(found), theirs(9, sym=sym), atol=1e-12)


# In the JIT


def test_scripted_and_traced() -> None:
    def power(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 8, 3, window=w, return_complex=True).abs()

    x, w = torch.randn(40), torch.hann_window(8)
    expected = power(x, w).tolist()
    scripted = torch.jit.script(power)
    assert (
        scripted(x, w).tolist() == expected and "__torch__.torch.functional.stft" in scripted.code
    )
    assert torch.jit.trace(power, (x, w))(x, w).tolist() == expected
    filtered = torch.jit.trace(lambda t: torch.fft.irfft(torch.fft.rfft(t) * 2, n=40), (x,))
    np.testing.assert_allclose(to_numpy(filtered(x)), 2 * to_numpy(x), rtol=1e-4, atol=1e-5)


def test_what_is_not_said_is_warned_about_where_it_was_called() -> None:
    with pytest.warns(UserWarning, match="A window was not provided") as caught:
        spectra = torch.stft(torch.ones(16), 4, return_complex=True)
        torch.istft(spectra, 4)
        torch.ones(16).stft(4, return_complex=True)
        spectra.istft(4)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated") as deprecated:
        torch.stft(torch.ones(16), 4, window=torch.ones(4), return_complex=False)
    assert [w.filename for w in [*caught, *deprecated]] == [__file__] * 5


def test_a_signal_of_no_points_has_no_transform() -> None:
    """Numbers would have to come from somewhere, and came from memory that was in use before."""
    spectrum = torch.zeros(2, 0, dtype=torch.complex64)
    with pytest.raises(
        RuntimeError, match=r"cannot reshape tensor of 0 elements into shape \[-1, 0\]"
    ):
        torch._fft_c2r(spectrum, [1], 0, 1)
    assert torch._fft_c2r(torch.zeros(0, 3, dtype=torch.complex64), [1], 0, 4).shape == (0, 4)
