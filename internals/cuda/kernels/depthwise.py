"""The gradient of a depthwise convolution's weight, with a block for each element
(`aten/src/ATen/native/cuda/DepthwiseConv2d.cu`).

Every channel has a kernel of its own, and no product mixes two channels. Weight (ch, kh, kw) is
multiplied once for each image and place of the output, so its gradient is the sum

    // Assumes: input (N, C, H, W), gradOutput (N, C, goH, goW), gradWeight (C, kH, kW)
    for (int ch = 0; ch < C; ++ch)
      for (int gw_h_offset = 0; gw_h_offset < kH; ++gw_h_offset)
        for (int gw_w_offset = 0; gw_w_offset < kW; ++gw_w_offset)    // each (ch, h, w): one block
          for (int n = 0; n < N; ++n)
            for (int go_h = 0; go_h < goH; ++go_h)
              for (int go_w = 0; go_w < goW; ++go_w)            // shared among the block's threads
                gradWeight[ch][gw_h_offset][gw_w_offset] +=
                    gradOutput[n][ch][go_h][go_w]
                    * input[n][ch][go_h + gw_h_offset][go_w + gw_w_offset];

(shown with stride 1 and no padding). The steps of the three outer loops are independent, so each
becomes a block, which alone writes its element of the gradient. The three inner loops are one sum
over N * goH * goW products. The threads of the block share them: thread t takes products t, t +
blockDim, and so on, so that neighbours read neighbouring elements of both tensors; then a block
reduction adds the threads' sums. Stride, padding and dilation only change which element of the
input belongs to a product; `window_element` finds it.

How the real one differs: it counts in warps, has instances for kernels of 1, 3 and 5, and takes `n`
from the warp's number; the sum over the block is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.machine_code.records import Elements

from ..language import cuda, kernel, template

if TYPE_CHECKING:
    from internals.cuda.kernels.convolution import Windows

T = template("T")  # the dtype of the gradient
ACC = template("ACC")  # the dtype of products and sums
OUTPUT_ELEMENT = template("OUTPUT_ELEMENT")  # `convolution.output_element`
WINDOW_ELEMENT = template("WINDOW_ELEMENT")  # `convolution.window_element`, with ACC filled in
block_sum = template("block_sum")  # the sum over the threads of a block, for all of them


@kernel
def weight_gradient(
    grad_weight: Elements, grad_output: Elements, x: Elements, windows: int, how: Windows
):
    """Block number (channel, element of the kernel) sums over all `windows`, of all images."""
    channel, q = cuda.blockIdx.x // how.taps, cuda.blockIdx.x % how.taps
    # a group is one channel of the input; it may have several outputs (a depth multiplier)
    group, i = channel // how.outputs, channel % how.outputs
    total = ACC(0)
    p = cuda.threadIdx.x
    while p < windows:
        total += ACC(OUTPUT_ELEMENT(grad_output, group, i, p, how)) * WINDOW_ELEMENT(
            x, group, q, p, how
        )
        p += cuda.blockDim.x
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        grad_weight[cuda.blockIdx.x] = T(total)
