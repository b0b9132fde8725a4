"""Local response normalization as in Torch7, with a derivative of its own
(`torch/nn/modules/_functions.py`).

The sum over neighbouring channels is a running one: from channel to channel, the channel that
enters the window is added and the one that leaves is subtracted. PyTorch has an old mistake that is
kept here: the first channel is never subtracted, and the gradient ignores that.

How the real one differs: it writes into its result step by step.
"""

from __future__ import annotations

from typing import Any

from internals import cat, stack, zeros_like
from internals.autograd import Function
from internals.core.tensor_impl import Tensor


class CrossMapLRN2d(Function):
    """`input` (N, C, H, W) divided by (k + alpha / size * sum of squares) ** beta.

    Raises ValueError for other numbers of dimensions.
    """

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> Any:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        squares = input.pow(2).unbind(1)  # C tensors of (N, H, W)
        # the window of channel c is [c - reach + 1, c + reach - 1]
        reach = int((size - 1) / 2 + 1)
        total = sum(squares[1:reach], squares[0])
        totals = [total]
        for c in range(1, len(squares)):
            if c + reach - 1 < len(squares):
                total = total + squares[c + reach - 1]
            if c > reach:  # c >= reach would be right, but is not PyTorch's
                total = total - squares[c - reach]
            totals.append(total)
        scale = stack(totals, 1) * (alpha / size) + k
        output = scale.pow(-beta) * input
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        ctx.save_for_backward(input, output, scale)
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradient of `input`; the options have none."""
        # Through `scale`, each input also changes its neighbours' outputs: their shares are summed
        # over the same window. d output_j / d input_i has the term
        # -2 alpha beta / size * input_i * output_j / scale_j.
        (grad,), (input, output, scale) = grads, ctx.saved_tensors
        channels, size = input.shape[1], ctx.size
        ratio = grad * output / scale  # (N, C, H, W)
        before = int(size - (size - 1) / 2)
        nothing = zeros_like(ratio[:, :1])
        padded = cat([nothing] * before + [ratio] + [nothing] * (size - 1 - before), 1)
        window = sum(padded.narrow(1, i, channels) for i in range(size))
        to_input = scale.pow(-ctx.beta) * grad - input * window * (2 * ctx.alpha * ctx.beta / size)
        return to_input, None, None, None, None
