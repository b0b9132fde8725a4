"""Host code: the operators of the CUDA key, which check, allocate and launch (`aten/src/ATen/native/cuda/*.cpp`).

A function here is what `CUDA: cuda.reductions.sum` in an entry of `native_functions/` names. Checks and dtype rules are those of
`internals.aten.native`; what is left is to choose a kernel, fill in its template parameters and say how many threads run it.
`instances()` of a file lists what it launches, so that all of it can be compiled where there is no GPU (`ptx.py`).

- The beginning: `copy` (copies in all directions, fills, and `walk`, with which tensors are walked over together), `opmath` (in
  which type is computed); `ranges`, `joining`, `moving`.
- Elementwise operators: `elementwise`, which `TensorIterator` comes to.
- Reductions: `reducing` (how a reduction is spread over the device), `reductions`, `extrema`, `moments`, `norms`; of rows:
  `softmax`, `normalization`, `normalization_backward`, `nll_loss`, `scans`, `sorting`.
- Indices: `scatter_gather`, `indexing` with `device_index`, `compaction`, `embedding`; `accumulating` adds with atomics.
- Products: `matmul` (which kernel, in which shape), `linear_algebra` (the operators), `convolution`.
- Images: `pooling`, `upsampling`, `windows`.
- Random numbers: `random`, `dropout`, `sampling`.

How the real one differs: many operators reach their kernels through a stub (`DispatchStub`) in a function that all devices share;
here only those made of a `TensorIterator` do.
"""
