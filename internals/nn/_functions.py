"""`BackwardHookFunction`: the identity, as an operation with a node in the graph
(`torch/nn/modules/_functions.py`).

`internals.utils.hooks.BackwardHook` passes the inputs and outputs of a module through it to have a
place for hooks.

How the real one differs: nothing; the file also has the function behind `SyncBatchNorm`.
"""

from __future__ import annotations

from typing import Any

from internals.autograd import Function


class BackwardHookFunction(Function):
    """Returns its arguments. The gradients of those that require none are not computed."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[t for t in args if not t.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args
