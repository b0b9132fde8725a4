"""Floor 2: the operators (`aten/src/ATen/native` in PyTorch).

The files of `native_functions/` declare them, `tensor_iterator` does what all pointwise operators
have in common, `native/` holds the kernels, `adinplaceorview` counts versions and remembers views,
`writing` puts results where the caller wants them. `pytorch_names` knows which ones PyTorch has
besides, and `deferred` imports scipy for the kernels that need it.

How the real one differs: ATen's CPU kernels are vectorised C++ loops over raw pointers, in several
builds for several instruction sets; here they are numpy calls on arrays over the same kind of
memory.
"""
