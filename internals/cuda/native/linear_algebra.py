"""Products of matrices and vectors on the device (`aten/src/ATen/native/cuda/Blas.cpp`).

All of them are `beta * self + alpha * (a @ b)` in some shape, computed by `matmul.multiply`.
`addbmm` sums over the batch: as that is one more dimension to sum over, it is a single product of
two longer matrices.

How the real one differs: `addmm` with a row as addend becomes cuBLASLt's product with a fused bias;
half precision uses tensor cores.
"""

from __future__ import annotations

from internals._generated import ops
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from ..fallback import NoKernel
from . import matmul


def product(result: Tensor, a: Tensor, b: Tensor) -> None:
    """result = a @ b."""
    _fill(result, a, b, None, 1, 0)


def dot(result: Tensor, self: Tensor, tensor: Tensor) -> None:
    """result = the product of two vectors, 0-d."""
    if self.dtype.is_complex:
        raise NoKernel
    matmul.dot(result, self, tensor)


def scale_and_add(
    result: Tensor, addend: Tensor, a: Tensor, b: Tensor, beta: Scalar, alpha: Scalar
) -> None:
    """result = beta * addend + alpha * (a @ b), or its sum over batches if the result has none.
    With alpha 0 the factors are not read, as in BLAS.
    """
    if a.dim() > result.dim() == 2:
        # (batch, n, k) as (n, batch * k), and (batch, k, m) as (batch * k, m)
        n, k = a.shape[1], a.shape[0] * a.shape[2]
        a, b = ops.reshape(ops.permute(a, [1, 0, 2]), [n, k]), ops.reshape(b, [k, b.shape[2]])
    if alpha == 0:  # with k = 0 the products are 0, whatever a and b hold
        a, b = a.narrow(-1, 0, 0), b.narrow(0 if b.dim() == 1 else -2, 0, 0)
    _fill(result, a, b, addend, alpha, beta)


def _fill(
    result: Tensor, a: Tensor, b: Tensor, addend: Tensor | None, alpha: Scalar, beta: Scalar
) -> None:
    """The same for shapes that fit. `result` may be the addend. If it shares memory in any other
    way, a new tensor is filled first: blocks would write what other blocks still have to read.
    """
    if a.dtype.is_complex:
        raise NoKernel
    multiply = matmul.multiply_vector if b.dim() == 1 else matmul.multiply
    memory = result._storage
    if a._storage is memory or b._storage is memory or _overlaps(addend, result):
        target = result.new_empty(result.shape)
        multiply(target, a, b, addend, alpha, beta)
        ops.copy_(result, target, False)
    else:
        multiply(result, a, b, addend, alpha, beta)


def _overlaps(addend: Tensor | None, result: Tensor) -> bool:
    """Whether they share memory, unless each element lies at the same address in both."""
    if addend is None or addend._storage is not result._storage:
        return False
    same = (
        addend.shape == result.shape
        and addend.stride() == result.stride()
        and addend._offset == result._offset
    )
    return not same
