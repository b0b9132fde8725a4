"""Tensors out of what is none (`torch/csrc/utils`, `torch/csrc/tensor`), before there is a class
`Tensor`.

- `tensor_new`: from numbers and nested lists, by copying
- `tensor_numpy`, `dlpack`: memory shared with numpy, and with other libraries
- `conversions`: the casts by name, `x.float()`; `legacy`: `FloatTensor(2, 3)`, and what came before
  `tensor()`

How the real one differs: it is C++; its `dlpack` is in ATen.
"""
