"""The gradients of eigenvalues and eigenvectors (`torch/csrc/autograd/FunctionsManual.cpp`:
`linalg_eig_backward`).

A V = V diag(L), with the eigenvalues L (..., n) and the eigenvectors in the columns of V (..., n,
n). When A changes by dA, look at M = V⁻¹ dA V. Its diagonal is the change of the eigenvalues.
Element (i, j) off the diagonal, divided by L[j] - L[i], is how much of eigenvector i is added to
eigenvector j. So gradients of eigenvectors grow without bound as two eigenvalues come together.

Eigenvectors have length 1, but the phase of complex ones is arbitrary: a loss must not depend on
it.
"""

from __future__ import annotations

from typing import Any

from internals._generated.functions import allclose, diag_embed, eye, zeros_like
from internals._generated.linalg_functions import solve
from internals.core.tensor_impl import Tensor

from .complex import real_part


def linalg_eig_backward(gL: Any, gV: Any, L: Tensor, V: Tensor, is_hermitian: bool) -> Any:
    """The gradient of A, given those of the eigenvalues and the eigenvectors (either may be None).

    Raises RuntimeError if the eigenvectors were not computed, and if the loss depends on a phase.
    """
    if gL is None and gV is None:
        return None
    if V.dim() < 2:
        raise RuntimeError(
            "linalg_eig_backward: cannot compute backward without computing eigenvectors in "
            "forward. Please set compute_v=True in the forward pass."
        )
    if gV is None:
        # only eigenvalues: V⁻ᴴ diag(gL) Vᴴ, where V⁻ᴴ is V itself for a Hermitian A
        return (
            (V * gL.unsqueeze(-2)) @ V.mH if is_hermitian else solve(V.mH, gL.unsqueeze(-1) * V.mH)
        )
    projected = V.mH @ gV
    _check_phase(projected, is_hermitian)
    if is_hermitian:
        # V stays unitary, so only changes V K with a skew-Hermitian K are possible
        projected = (projected - projected.mH) / 2
    else:
        # each column keeps its length 1: the part that would change it is subtracted
        projected = projected - (V.mH @ V) * real_part(projected.diagonal(0, -2, -1)).unsqueeze(-2)
    # element (i, j) is conj(L[j] - L[i]); ones on the diagonal, whose elements are dropped below
    gaps = (L.unsqueeze(-2) - L.unsqueeze(-1)).conj() + eye(
        L.shape[-1], dtype=L.dtype, device=L.device
    )
    inner = projected / gaps
    inner = inner - diag_embed(inner.diagonal(0, -2, -1))
    if gL is not None:
        inner = inner + diag_embed(gL)
    return V @ inner @ V.mH if is_hermitian else solve(V.mH, inner @ V.mH)


def _check_phase(projected: Any, is_hermitian: bool) -> None:
    """Raises RuntimeError if the loss depends on a phase: turning the phase of eigenvector i
    changes the loss by the imaginary part of element (i, i) of `projected`, Vᴴ gV.
    """
    if not projected.is_complex():
        return
    phases = projected.detach().diagonal(0, -2, -1).imag
    if not allclose(phases, zeros_like(phases), rtol=1e-2, atol=1e-2):
        name = "eigh" if is_hermitian else "eig"
        raise RuntimeError(
            f"linalg_{name}_backward: The eigenvectors in the complex case are specified up to "
            f"multiplication by e^{{i phi}}. "
            "The specified loss function depends on this quantity, so it is ill-defined."
        )
