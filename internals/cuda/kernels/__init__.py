"""Device code: the kernels, one idea a file (`aten/src/ATen/native/cuda/*.cu`, `*.cuh`).

What they are written in is told in `language.py`. A way through them, from one thread that minds
its own element to blocks that work together:

- Each thread for itself: `copy` (and `offset_of`, with which most kernels find an element),
  `ranges`, `moving`; `elementwise`, whose operations are those of `functors`.
- Threads that read, or write, where data tells them to: `assertion` (how a kernel says that an
  index is wrong), `gather`, `indexing`, `embedding`. Threads that look at the neighbourhood of
  their element: `pooling`, `upsampling`, `windows`.
- A block that puts together what its threads found, in shared memory or by shuffles: `accumulators`
  (what is put together), `block_reduction` (how), `reduction` with `reduction_functors`,
  `nll_loss`, `softmax`, `normalization` and `normalization_backward`; `scan` (all partial sums),
  `compaction` (which elements are true), `sort`.
- A block that keeps a tile of memory because it is used many times: `matmul` (naive, then tiled),
  `gemm` (registers, too), `row_products`, `convolution` (a product whose matrix is never made),
  `depthwise`.
- Random numbers: `philox` (words from a counter), `distributions`, `dropout`, `sampling`.

How the real one differs: it is C++, where these files hold the host's side as well; the products
and convolutions are closed libraries (cuBLAS, cuDNN), scans and sorts are CUB's.
"""
