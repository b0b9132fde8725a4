"""What the tests of moving elements share: the same call on the CPU and on the device, with its
gradients, and no fallback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import internals as torch
from internals.core.tensor_impl import TensorImpl, array
from internals.cuda.fallback import no_fallback

MOVABLE = [
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.complex64,
]


def numbers(*sizes: int, dtype: Any = None, seed: int = 0) -> Any:
    """A tensor of small integers, which every dtype holds, and whose sums are exact in any
    order.
    """
    stream = np.random.default_rng(seed)
    return torch.tensor(stream.integers(0, 5, sizes)).to(dtype or torch.float32)


def same_on_both(call: Callable[..., Any], *args: Any, grad: bool = False) -> Any:
    """Check that `call(*args)` gives the same on the device, natively; with `grad` also the
    gradients of floating `args`.
    """
    outcomes = []
    for where in ("cpu", "cuda"):
        moved = [_moved(a, where, grad) for a in args]
        if where == "cuda":
            with no_fallback():
                result = call(*moved)
                gradients = _gradients(result, moved) if grad else []
        else:
            result = call(*moved)
            gradients = _gradients(result, moved) if grad else []
        outcomes.append([*(result if isinstance(result, (tuple, list)) else [result]), *gradients])
    on_cpu, on_cuda = outcomes
    for a, b in zip(on_cuda, on_cpu, strict=True):
        assert a.device.type == "cuda"
        assert (a.dtype, tuple(a.shape), a.stride()) == (b.dtype, tuple(b.shape), b.stride())
        np.testing.assert_allclose(array(a.detach().cpu()), array(b.detach()), rtol=1e-5, atol=1e-6)
    return on_cuda[0]


def _moved(value: Any, where: str, grad: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return [_moved(v, where, grad) for v in value]
    if not isinstance(value, TensorImpl):
        return value
    t: Any = value
    t = t.to(where)
    return t.detach().requires_grad_() if grad and t.is_floating_point() else t


def _gradients(result: Any, args: list[Any]) -> list[Any]:
    flat = [t for a in args for t in (a if isinstance(a, list) else [a])]
    leaves = [t for t in flat if isinstance(t, TensorImpl) and t.requires_grad]
    results = result if isinstance(result, (tuple, list)) else [result]
    total = sum(
        (r * torch.arange(r.numel(), device=r.device).reshape(r.shape)).sum() for r in results
    )
    return list(torch.autograd.grad(total, leaves))
