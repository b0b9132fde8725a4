"""Operators on large tensors, as machine code (`aten/src/ATen/native/cpu`).

The kernels of `internals/aten/native` work with numpy, which is quick to start. From some ten
thousand elements on, they ask here first; each function says by its result whether it did the work.
What is here is imported, compiled and loaded when it is first needed.

In reading order:

- `entries`: a kernel's machine code, or None where it cannot be had. `scratch`: the memory that a
  kernel needs besides its tensors: intermediate values and tables of constants.
- Elementwise: `loops` (which function of one element stands for which loop), `walks` (how operands
  are walked over), `elementwise` (the two put together for what a `TensorIterator` decided).
  `copying` does the same for copies and casts.
- `gathering`: reading and writing where an index says.
- Rows and columns: `rows` (a tensor as such), `row_functions` (what is done with one of them). Of
  these are made `reductions`, `extrema`, `moments`, `scans`, `softmax` and `normalization`.
  `sorting`: rows in order.
- Products: `gemm`, with `bmm` and `dot`; their inner loops (`gemm_code`) are written with vectors,
  in a small language on top of LLVM's (`vector_code`, `registers`). `attention` (`attention_code`)
  puts a softmax between two products.
- Images: `windows` says how they lie. `convolving` is the eager convolution,
  `convolution_gradients` its backward; `pooling` and `batch_norm` go with them.
- `convolution/`: networks that only infer, with packed weights and blocked activations.

How the real one differs: PyTorch has one set of kernels for tensors of all sizes, compiled
beforehand; numpy has no part in it.
"""
