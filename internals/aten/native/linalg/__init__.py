"""Linear algebra on batches of matrices, through LAPACK
(`aten/src/ATen/native/BatchLinearAlgebra.cpp`).

What all share: `checks` (what is refused, and how), `batches` (a LAPACK routine for every matrix of
a batch).

Decompositions: `cholesky`, `qr` (and the `reflections` it is made of), `svd`, `eigen`, `lu` and
`ldl`. With their help: `lu_solve`, `least_squares`, `pseudo_inverse`, `rank`, and `condition`, the
condition number.

Without a decomposition as their result: `factors` (P A = L U as a means), which `determinants`,
`inverse` and `solving` (with `systems`, what is asked of both sides) start from; `triangular`
systems; `matrix_norms`; `powers` and the `exponential`.

Products: `chains` of matrices, `tensor_products`, `outer`, `cross`; and the trace (`diagonals`).
`errors` is what LAPACK reports, `deprecation` what older names say.

How the real one differs: it is one file of 4,000 lines in front of another of kernels; CUDA has a
third.
"""
