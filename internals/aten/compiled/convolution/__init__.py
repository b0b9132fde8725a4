"""Convolutions for inference: packed weights, blocked activations, kernels in LLVM's language with explicit vectors.

From the top: `network` (a list of `layers`, made ready for inputs of given sizes), `plan` (what was decided), `choice` (an
algorithm for each layer, by trying), `algorithms` (direct, depthwise, Winograd), the kernels (`direct`, `winograd`,
`depthwise`, `small_kernels`, on `products` and `vector_code`), `runner` (all steps in one call).

`jit.optimize_for_inference` uses it (`internals/jit/passes/pack_convolutions.py`).

How the real one differs: all this is oneDNN's work, which PyTorch calls for CPU convolutions.
"""
