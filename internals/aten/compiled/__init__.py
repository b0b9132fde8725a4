"""Operators on large tensors, as machine code (`aten/src/ATen/native/cpu`).

The kernels of `internals/aten/native` work with numpy, which is quick to start. From some ten thousand elements on, they ask here
first; each function says by its result whether it did the work. What is here is imported, compiled and loaded when it is first
needed.

- `loops`: which function of one element stands for which loop; `walks`: how operands are walked over; `elementwise` puts the two
  together for what a `TensorIterator` decided. `copying` does the same for copies, casts and tensors put together.
- `gathering` and `scattering`: reading and writing where an index says.
- `rows`: a tensor as rows or columns to be reduced; `pieces` and `column_pieces`: what is done with one of them. Of these
  are made `reductions`, `extrema`, `moments`, `scans`, `softmax`, `normalization`. `sorting`: rows in order.
- `dots`: products with a transposed matrix, for few rows; its inner loop is written in `dots_code`.
- `ready`: a kernel's machine code, or None where it cannot be had.

How the real one differs: there are no others; what numpy does here for small tensors, the same vectorised loops do there.
"""
