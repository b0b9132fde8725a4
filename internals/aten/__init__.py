"""Floor 2: the operators (`aten/src/ATen/native` in PyTorch).

`native_functions.yaml` declares them, `tensor_iterator` does what all pointwise operators have in common, `native/` holds the
kernels, `adinplaceorview` counts versions and remembers views, `writing` puts results where the caller wants them.

How the real one differs: ATen's CPU kernels are vectorised C++ loops over raw pointers, in several builds for several
instruction sets; here they are numpy calls on arrays over the same kind of memory.
"""
