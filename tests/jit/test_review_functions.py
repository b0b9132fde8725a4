"""Every function of `nn.functional`, called once or more from a script: values and gradients are
those of the call in Python.
"""

from __future__ import annotations

import linecache
import re
import warnings
from inspect import isclass
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals import jit
from internals.nn import functional as F

# What is given as x, and the calls, one a line; w(...) are weights, of which no two are equal and
# none is 1.
CALLS = {
    "torch.randn(2, 3, 8)": """
        adaptive_avg_pool1d(x, 4)
        adaptive_max_pool1d(x, 4)
        adaptive_max_pool1d(x, 4, True)
        avg_pool1d(x, 2)
        conv1d(x, torch.ones(4,3,3), None, 1, 1)
        conv1d(x, torch.ones(4,3,3), padding='same')
        conv_transpose1d(x, torch.ones(3,2,3))
        dropout1d(x, 0.5)
        dropout1d(x, 0.0, True)
        dropout1d(x, 1.0, True)
        instance_norm(x)
        instance_norm(x, torch.zeros(3), torch.ones(3), w(3), -w(3), True, 0.2, 1e-4)
        interpolate(x, size=4, mode='linear', align_corners=False)
        interpolate(x, scale_factor=1.5)
        interpolate(x, size=5, mode='nearest-exact')
        max_pool1d(x, 2)
        max_pool1d_with_indices(x, 2)
        max_pool1d_with_indices(x, 3, 2, 1)
        adaptive_max_pool1d_with_indices(x, 2)
        local_response_norm(x, 2)
        lp_pool1d(x * x, 2.0, 3)
        lp_pool1d(x * x, 2.0, 3, 2)
        lp_pool1d(x, float('inf'), 2, 1)
        max_unpool1d(x, torch.arange(8).expand(2, 3, 8) * 2, 2)
        max_unpool1d(x, torch.arange(8).expand(2, 3, 8) * 2, 2, output_size=(17,))
        conv_tbc(x, torch.ones(2, 8, 3), torch.ones(3), 1)
        pad(x, (1, 2), mode='reflect')
        pad(x, (1, 2), 'circular')
        scaled_dot_product_attention(x, x, x)
        scaled_dot_product_attention(x, x, x, is_causal=True)
        scaled_dot_product_attention(x, x, x, attn_mask=torch.zeros(3, 3), scale=0.5)
    """,
    "torch.randn(2, 3, 8, 8)": """
        adaptive_avg_pool2d(x, (4, 2))
        adaptive_avg_pool2d(x, 4)
        adaptive_max_pool2d(x, (4, 3))
        adaptive_max_pool2d(x, (4, 3), return_indices=True)
        channel_shuffle(x, 3)
        avg_pool2d(x, 2, stride=2, padding=1, ceil_mode=True)
        conv2d(x, torch.ones(4,3,3,3), torch.ones(4), stride=2, padding=(1, 0))
        conv2d(x, torch.ones(3,1,3,3), groups=3, dilation=2)
        conv_transpose2d(x, torch.ones(3,2,3,3), stride=2, output_padding=1)
        dropout2d(x, 0.5)
        dropout2d(x, 0.0, True)
        dropout2d(x, 1.0, True)
        glu(x)
        glu(x, dim=2)
        interpolate(x, scale_factor=2.0)
        interpolate(x, size=[4, 4])
        interpolate(x, size=4, mode='nearest')
        interpolate(x, scale_factor=[2.0, 1.0], mode='bilinear', align_corners=True)
        interpolate(x, size=5, mode='bicubic')
        interpolate(x, size=5, mode='bicubic', antialias=True)
        interpolate(x, size=5, mode='bilinear', antialias=True)
        interpolate(x, size=5, mode='nearest-exact')
        max_pool2d(x, 2)
        max_pool2d(x, (2, 3), stride=1, padding=1, dilation=1, ceil_mode=True)
        max_pool2d(x, 2, return_indices=True)
        max_pool2d_with_indices(x, 2)
        max_pool2d_with_indices(x, 3, (2, 1))
        adaptive_max_pool2d_with_indices(x, 2)
        feature_alpha_dropout(x, 0.5, True)
        feature_alpha_dropout(x, 0.0, True)
        feature_alpha_dropout(x, 1.0, True)
        affine_grid(x[:, 0, :2, :3], [2, 3, 4, 5], False)
        fractional_max_pool2d(x, 2, 3)
        fractional_max_pool2d(x, (2, 3), output_ratio=0.5, return_indices=True)
        fractional_max_pool2d_with_indices(x, 2, (3, 4))
        grid_sample(x, x.tanh()[:, 0, :, :2].unsqueeze(1))
        grid_sample(x, x[:, :, :4, :2] * 0.7, 'bicubic', 'reflection', True)
        local_response_norm(x, 3, 0.1, 0.5, 2.0)
        lp_pool2d(x.abs(), 3.0, 2)
        lp_pool2d(x.abs(), 3.0, 2, 1)
        lp_pool2d(x, -float('inf'), (2, 1), ceil_mode=True)
        max_unpool2d(x, torch.arange(64).reshape(8, 8).expand(2, 3, 8, 8), 2)
        max_unpool2d(x, torch.arange(64).reshape(8, 8).expand(2, 3, 8, 8), 3, 2, 1, (2, 3, 16, 15))
        native_channel_shuffle(x, 3)
        upsample_bilinear(x, size=5)
        upsample_nearest(x, scale_factor=2.0)
        pixel_unshuffle(x, 2)
        unfold(x, 2)
        unfold(x, (2, 3), stride=2)
        upsample(x, scale_factor=2.0)
        upsample(x, size=[4,4], mode='bilinear')
    """,
    "torch.randn(1, 4, 4, 5, 6)": """
        adaptive_avg_pool3d(x, (2, 3, 4))
        adaptive_max_pool3d(x, 2)
        adaptive_max_pool3d(x, 2, return_indices=True)
        avg_pool3d(x, 2)
        avg_pool3d(x, 3, stride=2, padding=1, count_include_pad=False)
        conv3d(x, torch.ones(2,4,3,3,3))
        conv_transpose3d(x, torch.ones(4,2,2,2,2), stride=2)
        interpolate(x, scale_factor=2.0)
        interpolate(x, size=[3, 4, 5], mode='trilinear')
        interpolate(x, size=3, mode='nearest-exact')
        max_pool3d(x, 2)
        max_pool3d(x, 2, 1, return_indices=True)
        max_pool3d_with_indices(x, 2)
        max_pool3d(x, 2, return_indices=True)
        max_pool3d_with_indices(x, (1, 2, 3), 1)
        adaptive_max_pool3d_with_indices(x, 2)
        dropout3d(x, 0.5)
        dropout3d(x, 0.0, True)
        dropout3d(x, 1.0, True)
        fractional_max_pool3d(x, 2, 2)
        fractional_max_pool3d_with_indices(x, 2, output_ratio=(0.5, 0.5, 0.4))
        lp_pool3d(x.abs(), 2.0, 2)
        lp_pool3d(x.abs(), 2.0, 2, 1)
        max_unpool3d(x, torch.arange(120).reshape(4, 5, 6).expand(1, 4, 4, 5, 6), 2)
        max_pool3d(x, 3, stride=1, padding=1)
        pixel_shuffle(x.squeeze(0).transpose(0, 1), 2)
    """,
    "torch.randn(4, 5)": """
        batch_norm(x, torch.zeros(5), torch.ones(5), training=True)
        batch_norm(x, torch.zeros(5), torch.ones(5))
        batch_norm(x, None, None, training=True)
        celu(x, 0.5)
        celu(x, 0.5, True)
        cosine_embedding_loss(x, x + 1, torch.ones(4))
        cosine_similarity(x, x + 1)
        cosine_similarity(x, x + 1, dim=0, eps=1e-6)
        cross_entropy(x, torch.tensor([0,1,2,3]))
        cross_entropy(x, torch.tensor([0,1,2,3]), weight=w(5), ignore_index=1, reduction='sum',
            label_smoothing=0.1)
        cross_entropy(x, x.softmax(1))
        alpha_dropout(x, 0.5, True)
        alpha_dropout(x, 0.0, True)
        alpha_dropout(x, 1.0, True)
        dropout(x, 0.5, True)
        dropout(x, 0.5, False)
        dropout(x, 0.0)
        dropout(x, 1.0)
        dropout(x, training=True, inplace=True)
        elu(x)
        elu(x, alpha=2.0, inplace=True)
        elu_(x, 2.0)
        gaussian_nll_loss(x, x + 1, x * x + 1)
        gaussian_nll_loss(x, x + 1, x * x + 1, full=True, reduction='none')
        gelu(x)
        gelu(x, approximate='tanh')
        hardshrink(x)
        hardshrink(x, 0.2)
        hardsigmoid(x)
        hardsigmoid(x, True)
        hardswish(x)
        hardtanh(x)
        hardtanh(x, -0.5, 0.5)
        hardtanh_(x)
        hinge_embedding_loss(x, torch.ones(4, 5))
        huber_loss(x, x + 2)
        huber_loss(x, x + 2, 'sum', 0.5)
        kl_div(x, x.exp())
        kl_div(x, x, reduction='batchmean', log_target=True)
        l1_loss(x, x + 1)
        l1_loss(x, x + 1, reduction='none')
        layer_norm(x, [5])
        layer_norm(x, (5,), w(5), None, 1e-3)
        leaky_relu(x)
        leaky_relu(x, 0.2, True)
        leaky_relu_(x, 0.2)
        linear(x, torch.ones(2,5))
        linear(x, torch.ones(2,5), torch.ones(2))
        log_softmax(x, 1)
        log_softmax(x, dim=0, dtype=torch.float64)
        log_softmax(x)
        logsigmoid(x)
        margin_ranking_loss(x, x + 1, torch.ones(4, 5), 0.5)
        mish(x)
        mse_loss(x, x + 1)
        mse_loss(x, x + 1, reduction='none')
        mse_loss(x, torch.ones(1))
        multi_margin_loss(x, torch.tensor([0,1,2,3]))
        multi_margin_loss(x, torch.tensor([0,1,2,3]), 2, 0.5, w(5), reduction='sum')
        multilabel_margin_loss(x, torch.tensor([[0,2,-1,1,1]] * 4))
        multilabel_soft_margin_loss(x, torch.ones(4, 5), w(5), reduction='none')
        nll_loss(x, torch.tensor([0,1,2,3]))
        nll_loss(x, torch.tensor([0,1,2,3]), w(5), reduction='sum')
        normalize(x)
        normalize(x, 1.0, 0)
        pad(x, [1, 2])
        pad(x, (1, 2), value=3.0)
        pairwise_distance(x, x + 1)
        pairwise_distance(x, x + 1, 1.0, keepdim=True)
        pdist(x, 1.5)
        poisson_nll_loss(x, x.abs())
        poisson_nll_loss(x.abs(), x.abs(), log_input=False, full=True)
        prelu(x, torch.ones(1) * 0.1)
        relu(x)
        relu(x, True)
        relu(x, inplace=True)
        relu6(x)
        relu_(x)
        rms_norm(x, [5])
        rms_norm(x, [5], w(5), 1e-3)
        selu(x)
        celu_(x, 0.5)
        gumbel_softmax(x)
        gumbel_softmax(x, tau=0.5, hard=True, dim=0)
        rrelu(x)
        rrelu(x, 0.1, 0.3, True)
        rrelu(x, 0.1, 0.3, inplace=True)
        rrelu_(x)
        selu_(x)
        threshold_(x, 0.1, 20.0)
        sigmoid(x)
        silu(x)
        smooth_l1_loss(x, x + 2)
        smooth_l1_loss(x, x + 2, beta=0.5)
        soft_margin_loss(x, torch.ones(4, 5))
        softmax(x, -1)
        softmax(x, dim=0, dtype=torch.float64)
        softmax(x)
        softmin(x, 1)
        softplus(x)
        softplus(x, 2.0, 1.0)
        softshrink(x)
        softsign(x)
        tanh(x)
        tanhshrink(x)
        threshold(x, 0.1, 20.0)
        threshold(x, 0.1, 20.0, True)
        triplet_margin_loss(x, x + 1, x - 3)
        triplet_margin_loss(x, x + 1, x - 3, margin=2.0, swap=True, reduction='sum')
    """,
    "torch.randn(7, 2, 4)": """
        ctc_loss(x.log_softmax(2), torch.tensor([[1,2],[3,3]]), torch.tensor([7,6]),
            torch.tensor([2,1]))
        ctc_loss(x.log_softmax(2), torch.tensor([[0,2],[1,1]]), torch.tensor([7,6]),
            torch.tensor([2,1]), 3, 'sum', True)
    """,
    "torch.randn(2, 3)": """
        bilinear(x, x, w(4, 3, 3), w(4))
    """,
    "torch.rand(4)": """
        binary_cross_entropy(x, torch.ones(4))
        binary_cross_entropy(x, torch.ones(4), weight=w(4), reduction='none')
        binary_cross_entropy_with_logits(x, torch.ones(4), weight=w(4), pos_weight=w(4) + 1)
    """,
    "torch.tensor([0, 1])": """
        embedding(x, torch.ones(3,2))
        embedding(x, torch.ones(3,2), padding_idx=0)
        embedding(x, torch.ones(3,2), -1, scale_grad_by_freq=True)
        embedding_bag(x, torch.ones(3,2), torch.tensor([0]), mode='sum')
    """,
    "torch.randn(1, 12, 9)": """
        fold(x, (4, 4), (2, 2))
    """,
    "torch.randn(2,4,3)": """
        group_norm(x, 2)
        group_norm(x, 2, w(4), -w(4), 1e-4)
    """,
    "torch.tensor([0, 2])": """
        one_hot(x)
        one_hot(x, 4)
    """,
}
CASES = [
    (x, line.strip())
    for x, lines in CALLS.items()
    for line in lines.replace("\n" + " " * 12, " ").strip().splitlines()
]


def scripted(call: str) -> Any:
    """A function of one argument that makes the call, from a source that is found."""
    call = re.sub(
        r"\bw\(([\d, ]+)\)", r"(torch.arange(torch.ones(\1).numel()) * 0.37 + 0.2).view(\1)", call
    )
    source = f"def f(x):\n    return F.{call}\n"
    name = f"<review of {call}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    made = {"torch": torch, "F": F, "__name__": __name__}
    exec(compile(source, name, "exec"), made)
    return made["f"]


def outcome(f: Any, x: Any) -> Any:
    """Outputs and gradient."""
    torch.manual_seed(3)
    leaf = x.clone().requires_grad_() if x.is_floating_point() else x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = f(leaf * 1 if x.is_floating_point() else leaf)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if outputs[0].requires_grad:
        outputs[0].sum().backward()
        outputs += (leaf.grad,)
    return [t.detach().numpy() for t in outputs]


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize(("x", "call"), CASES, ids=[call for _, call in CASES])
def test_a_function_in_a_script_is_the_function(x: str, call: str) -> None:
    torch.manual_seed(2013)
    value = eval(x)
    f = scripted(call)
    expected, found = outcome(f, value), outcome(jit.script(f), value)
    assert len(expected) == len(found)
    for e, s in zip(expected, found, strict=True):
        assert e.dtype == s.dtype
        np.testing.assert_allclose(s, e, rtol=1e-5, atol=1e-6)


def test_no_function_was_forgotten() -> None:
    called = {re.match(r"\w+", call)[0] for _, call in CASES}  # type: ignore[index]
    functions = {
        n for n, f in vars(F).items() if callable(f) and not isclass(f) and not n.startswith("_")
    }
    assert functions - called == {
        "multi_head_attention_forward",  # nn.MultiheadAttention's: in test_jit_layers
        # takes a Python function: not for scripts, in PyTorch either
        "triplet_margin_with_distance_loss",
    }


@pytest.mark.parametrize("size", range(12, 25))
def test_the_sizes_that_a_pool_may_have_come_from(size: int) -> None:
    """4 windows of 3, 5 apart, begin 15 apart and end at 18: a size may differ from that by less
    than a stride.
    """

    f, x = (
        scripted(f"max_unpool1d(x, torch.arange(4).view(1, 4), 3, 5, 0, ({size},))"),
        torch.randn(1, 4),
    )
    for g in (f, jit.script(f)):
        if 13 < size < 23:
            assert g(x).shape == (1, size)
        else:
            with pytest.raises((ValueError, jit.Error), match="invalid output_size"):
                g(x)


# What the call in Python refuses, a script refuses when it runs, in the same words.
REFUSED = {
    "F.interpolate(x)": "either size or scale_factor should be defined",
    "F.dropout(x, 1.5)": "dropout probability has to be between 0 and 1, but got 1.5",
    "F.cross_entropy(x, x.softmax(1), reduction='foo')": "foo is not a valid value for reduction",
    "F.binary_cross_entropy_with_logits(x, torch.ones(3))": "must be the same as input size",
    "F.embedding(x.long(), torch.ones(3, 2), 7)": "Padding_idx must be within num_embeddings",
    "F.kl_div(x, x, reduction='foo')": "foo is not a valid value for reduction",
    "F.huber_loss(x, x, reduction='foo')": "foo is not a valid value for reduction",
    "F.triplet_margin_loss(x, x, x, margin=0.0)": "margin must be greater than 0",
    "F.margin_ranking_loss(x, x, x[0])": "All input tensors should have same dimension",
    "F.gaussian_nll_loss(x, x, -x)": "var has negative entry/entries",
    "F.gaussian_nll_loss(x, x, torch.ones(3))": "var is of incorrect size",
}
# And where it is an operator that refuses, with a RuntimeError that quotes the script.
REFUSED_BY_OPERATORS = {
    "F.triplet_margin_loss(x, x, x[0])": "expected to have the same number of dimensions",
    "F.cosine_embedding_loss(x, x, x)": "multi-target not supported",
    "F.cosine_embedding_loss(x[0], x, x[0])": "1D target tensor expects 2D input tensors",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused_at_run_time(call: str) -> None:
    f = scripted(call.removeprefix("F."))
    x = torch.ones(4, 5)
    with pytest.raises((RuntimeError, ValueError, AssertionError), match=REFUSED[call]):
        f(x)
    with pytest.raises(jit.Error, match=REFUSED[call]):
        jit.script(f)(x)


@pytest.mark.parametrize("call", REFUSED_BY_OPERATORS)
def test_refused_by_an_operator(call: str) -> None:
    f = scripted(call.removeprefix("F."))
    x = torch.ones(4, 5)
    with pytest.raises(RuntimeError, match=REFUSED_BY_OPERATORS[call]):
        f(x)
    with pytest.raises(
        RuntimeError, match=f"(?s)in the TorchScript interpreter.*{REFUSED_BY_OPERATORS[call]}"
    ):
        jit.script(f)(x)
