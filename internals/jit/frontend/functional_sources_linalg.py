"""`torch.norm` and `torch.tensordot` as the compiler reads them: a definition for each kind of argument (`torch/functional.py`).

A call is first tried as a call of the operators `aten::norm` and `aten::tensordot`, then as one of these (`builtin_calls.py`).

How the real one differs: it compiles these functions of Python, whose arguments have alternatives marked `@overload`.
"""

NORM = """
def norm(
  input: Tensor, p: str = "fro", dim: Optional[List[int]] = None, keepdim: bool = False, dtype: Optional[int] = None
) -> Tensor:
  if p == "fro" and (dim is None or len(dim) <= 2):
    result = torch.linalg.vector_norm(input, 2, dim, keepdim, dtype=dtype)
  else:
    dims = list(range(input.dim())) if dim is None else dim
    result = torch.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype)
  return result
def norm(input: Tensor, p: str = "fro", dim: int = 0, keepdim: bool = False, dtype: Optional[int] = None) -> Tensor:
  if p != "fro":
    return torch.linalg.matrix_norm(input, p, [dim], keepdim, dtype=dtype)
  return torch.linalg.vector_norm(input, 2, [dim], keepdim, dtype=dtype)
def norm(
  input: Tensor, p: number = 2, dim: Optional[List[int]] = None, keepdim: bool = False, dtype: Optional[int] = None
) -> Tensor:
  return torch.linalg.vector_norm(input, p, dim, keepdim, dtype=dtype)
"""
TENSORDOT = """
def tensordot(a: Tensor, b: Tensor, dims: int = 2) -> Tensor:
  if dims < 0:
    raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
  if dims > min(a.dim(), b.dim()):
    raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
  return torch.tensordot(a, b, list(range(-dims, 0)), list(range(dims)))
def tensordot(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]]) -> Tensor:
  return torch.tensordot(a, b, dims[0], dims[1])
def tensordot(a: Tensor, b: Tensor, dims: List[List[int]]) -> Tensor:
  return torch.tensordot(a, b, dims[0], dims[1])
"""
