"""`torch.linalg`: decompositions, solvers, norms (`torch/linalg/__init__.py`).

Every function here is an operator whose name begins with `linalg_`, declared in `aten/native_functions/linalg_*.yaml`.

How the real one differs: there the module holds the documentation, 3,000 lines of it, of functions in `torch._C._linalg`.
"""

from internals._generated.linalg_functions import *
