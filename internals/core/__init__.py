"""Floor 1: what every other floor stands on (`c10/` in PyTorch).

In reading order: `dtype`, `promotion`, `device`, `size` name things; `allocator`, `cpu_allocator`,
`storage` own memory; `geometry` and `tensor_impl` give memory a shape; `dispatch_key`, `schema`,
`dispatcher`, `arg_parser` carry a call from Python to the kernel that does the work; `generator`
draws random numbers.

How the real one differs: c10 is C++ and knows nothing of Python; here the same split is kept, but a
tensor *is* a Python object.
"""
