"""Discrete Fourier transforms (`aten/src/ATen/native/SpectralOps.cpp`, `mkl/SpectralOps.cpp`).

    leaves            `_fft_r2c`, `_fft_c2r`, `_fft_c2c`: what the rest is composed of, and what has
                      a derivative
    arguments         dtypes, sizes, dimensions and norms, checked and completed
    one_dimension     `fft`, `rfft`, `irfft`, `hfft`, `ihfft`, ...
    many_dimensions   `fftn`, `fft2` and their kind
    outputs           out= of all these
    frequencies       `fftfreq`, `fftshift`, ...
    short_time        `stft` and `istft`: the spectrum of a signal, piece by piece
    short_time_checks what those two refuse and warn about
    signal_windows    `hann_window` and its kind, with which the pieces are faded in and out

How the real one differs: MKL, pocketfft or cuFFT does the work; here scipy's pocketfft.
"""
