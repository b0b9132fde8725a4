"""Host code: what the operators are on the device, which kernel they launch and how
(`aten/src/ATen/native/cuda/*.cpp`).

An operator is a function of `internals.aten.native`, which checks the arguments and makes the
result; a function here fills it (`on_device`): it chooses a kernel, fills in its template
parameters and says how many threads run it. Where hardly anything is shared, as in copies, and
where the result's size depends on the data, an entry of `native_functions/` names a function here.

- The beginning: `copy` (copies in all directions, fills, and `walk`, with which tensors are walked
  over together), `opmath` (in which type is computed); `ranges`, `joining`, `moving`.
- Elementwise operators: `elementwise`, which `TensorIterator` comes to.
- Reductions: `reducing` (how a reduction is spread over the device), `reductions`, `extrema`,
  `moments`, `norms`; of rows: `softmax`, `normalization`, `normalization_backward`, `nll_loss`,
  `scans`, `sorting`.
- Indices: `scatter_gather`, `indexing`, `compaction`, `embedding`; `accumulating` adds with
  atomics.
- Products: `matmul` (which kernel, in which shape), `linear_algebra` (the operators),
  `convolution`.
- Images: `pooling`, `upsampling`, `windows`.
- Random numbers: `random`, `dropout`, `sampling`.

How the real one differs: structured operators have one function for each device that fills the
result, named in `native_functions.yaml`; others reach their kernels through a `DispatchStub`.
"""
