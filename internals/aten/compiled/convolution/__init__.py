"""Convolutions for inference: packed weights, blocked activations, kernels in LLVM's language with
explicit vectors.

From the top:

- `network`: a list of `layers` (fused first), made ready for inputs of given sizes; `plan` is what
  was decided, to be printed.
- `choice`: an algorithm for each `problem`, by trying; `algorithms`: the ways there are, and how
  each packs the weights.
- The kernels: `direct`, `winograd`, `depthwise`, and `small_kernels` around them, in the language
  that products are written in (`aten/compiled/vector_code.py`).
- `buffers`: where activations lie; `runner`: all steps in one call.

`jit.optimize_for_inference` uses it (`internals/jit/passes/pack_convolutions.py`).

How the real one differs: all this is oneDNN's work, which PyTorch calls for CPU convolutions.
"""
