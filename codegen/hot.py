"""The operators whose Autograd kernel is written out: those that steps of training call with
something to record.

Counted in one step each of an MLP with dropout, ResNet-18, MobileNet V2, encoder layers of a
transformer, LSTM, GRU, embeddings and micrograd's moons, with Adam; and those that `benchmarks/`
times by themselves. Written out a kernel saves 1 to 3 µs a call.

How the real one differs: it writes out every kernel.
"""

HOT = frozenset(
    {
        # arithmetic
        "add.Tensor", "add.Scalar", "add_.Tensor", "sub.Tensor", "sub_.Tensor", "rsub.Scalar",
        "mul.Tensor", "mul.Scalar", "mul_.Tensor", "div.Tensor", "div.Scalar", "neg", "exp", "log",
        "sqrt", "pow.Tensor_Scalar", "addcdiv_", "addcmul_", "zero_", "clone", "masked_fill.Scalar",
        "where.self",
        # products, sums, layers
        "mm", "bmm", "addmm", "sum", "sum.dim_IntList", "mean", "mean.dim", "convolution",
        "native_batch_norm", "native_layer_norm", "max_pool2d_with_indices", "embedding",
        "native_dropout",
        # activations and losses
        "relu", "relu_", "sigmoid", "tanh", "gelu", "silu", "hardtanh_", "_softmax", "_log_softmax",
        "nll_loss_forward", "mse_loss",
        # views, and what joins them
        "view", "_unsafe_view", "_reshape_alias", "t", "transpose.int", "permute", "expand",
        "select.int", "slice.Tensor", "squeeze.dim", "unsqueeze", "split.Tensor", "unbind.int",
        "stack", "cat",
    }
)  # fmt: skip
