"""Operators that archives of PyTorch's layers call: values and gradients beside PyTorch's, and
archives with such layers.
"""

from __future__ import annotations

import io
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals import jit
from internals.autograd.gradcheck import gradcheck, gradgradcheck
from internals.nn import functional as F
from tests.autograd.gradients_beside import check_gradients, expression as with_gradients
from tests.serialization.archives import saved_by_pytorch
from tests.side_by_side import cases, check, expression

pytestmark = pytest.mark.sampled(1 / 4)

VALUES = cases("""
F.interpolate(x(1, 2, 5), size=3)
F.interpolate(x(1, 2, 5), scale_factor=1.7, mode="nearest-exact")
F.interpolate(x(1, 2, 5), scale_factor=0.6, mode="linear")
F.interpolate(x(1, 2, 3), scale_factor=1.3, mode="linear")
F.interpolate(x(1, 2, 3, 3), scale_factor=1.3, mode="bilinear")
F.interpolate(x(1, 2, 3, 4, 5), scale_factor=(1.3, 2, 1.1), mode="trilinear")
F.interpolate(x(1, 2, 5), size=9, mode="linear", align_corners=True)
F.interpolate(x(1, 2, 5), size=3, mode="area")
F.interpolate(x(1, 2, 3, 4), size=(5, 2), mode="nearest-exact")
F.interpolate(x(1, 2, 3, 4), scale_factor=2.3, mode="bicubic")
F.interpolate(x(1, 2, 5, 4), size=(3, 7), mode="bicubic", align_corners=True)
F.interpolate(x(1, 2, 9, 8), size=(4, 11), mode="bilinear", antialias=True)
F.interpolate(x(1, 2, 9, 8), size=(4, 11), mode="bicubic", antialias=True)
F.interpolate(x(1, 2, 9, 8), scale_factor=0.4, mode="bicubic", antialias=True)
F.interpolate(x(1, 2, 9, 14), size=(4, 11), mode="lanczos", antialias=True)
F.interpolate(x(1, 2, 3, 4, 5), size=(5, 3, 7))
F.interpolate(x(1, 2, 3, 4, 5), scale_factor=1.7, mode="nearest-exact")
F.interpolate(x(1, 2, 3, 4, 5), scale_factor=1.7, mode="trilinear")
F.interpolate(x(1, 2, 3, 4, 5), size=2, mode="area")
F.interpolate(x(1, 2, 3, 4, dtype="float16"), scale_factor=2, mode="bicubic")
F.interpolate(x(1, 2, 3, 4), size=5, mode="linear")
F.interpolate(x(1, 2, 3, 4), size=5, mode="trilinear")
F.interpolate(x(1, 2, 3), size=5, mode="bilinear")
F.interpolate(x(1, 2, 3), size=0, mode="linear")
T.conv3d(x(2, 3, 4, 5, 6), x(4, 3, 2, 3, 3), x(4), (1, 2, 1), (0, 1, 1), (1, 1, 2))
T.conv3d(x(3, 4, 5, 6), x(4, 3, 3, 3, 3), padding="same")
T.conv3d(x(3, 4), x(4, 3, 3, 3, 3))
T._convolution_mode(x(2, 3, 5, 6), x(4, 3, 3, 3), None, [1, 1], "same", [1, 1], 1)
T.conv_transpose1d(x(2, 3, 5), x(3, 4, 3), x(4), 2, 1, 1)
T.conv_transpose1d(x(2, 3, 5), x(3, 4, 3), output_padding=2)
T.conv_transpose3d(x(1, 3, 4, 4, 3), x(3, 2, 3, 3, 3), x(2), 2, 1, (1, 0, 1))
T.conv_transpose3d(x(1, 3, 4, 4, 3), x(3, 2, 3, 3, 3), output_padding=2)
F.max_pool1d(x(2, 3, 9), 3, 2, 1, return_indices=True)
F.max_pool1d(x(2, 9), (2, 2))
F.max_pool3d(x(2, 3, 5, 6, 7), (2, 3, 2), (1, 2, 2), 1, (1, 1, 2))
F.max_pool3d(x(3, 5, 6, 7), 2, ceil_mode=True)
F.avg_pool3d(x(2, 3, 5, 6, 7), (2, 3, 2), (1, 2, 2), 1, True, False)
F.avg_pool3d(x(3, 5, 6, 7), 3, divisor_override=5)
F.avg_pool3d(x(3, 5, 6, 7), 3, divisor_override=0)
F.adaptive_avg_pool3d(x(2, 3, 5, 6, 7), (2, None, 4))
F.adaptive_max_pool1d(x(2, 3, 9), 4, True)
F.adaptive_max_pool1d(x(2, 9), (2, 2))
F.adaptive_max_pool2d(x(2, 3, 5, 7), (3, 4), True)
F.adaptive_max_pool2d(x(3, 5, 7, dtype="int64"), (3, None))
F.adaptive_max_pool3d(x(2, 5, 6, 7), (2, 3, 4), True)
F.pixel_shuffle(x(2, 8, 3, 4), 2)
F.pixel_shuffle(x(2, 7, 3, 4), 2)
F.pixel_unshuffle(x(2, 4, 6), 2)
F.pixel_unshuffle(x(2, 4, 5), 2)
T.channel_shuffle(x(2, 6, 3, 2), 3)
T.channel_shuffle(x(2, 6, 3, 2), 4)
T.hardshrink(x(3, 4), 0.3)
F.threshold(x(3, 4), 0.1, 20.0)
F.threshold(x(3, 4, dtype="int64"), 1, 20)
T.celu_(x(3, 4), 0.7)
T.threshold_(x(3, 4), 0.1, 20.0)
T.selu_(x(3, 4))
T.rrelu(x(3, 4))
T.prelu(x(2, 3, 4), x(3))
T.prelu(x(2, 3, 4), x(2))
T.instance_norm(x(2, 3, 4), x(3), x(3), None, None, True, 0.1, 1e-5, False)
T.rms_norm(x(2, 3, 4), [3, 4], x(3, 4), 1e-3)
T.bilinear(x(5, 2), x(5, 3), x(4, 2, 3), x(4))
T.pairwise_distance(x(5, 2), x(5, 2), 3.0)
T.feature_dropout(x(2, 3, 4), 0.5, False)
T.alpha_dropout(x(2, 3, 4), 1.0, True)
T.feature_alpha_dropout(x(2, 3, 4), 0.0, True)
""")

GRADIENTS = cases("""
    F.interpolate(x(1, 2, 5), scale_factor=1.7, mode="linear")
    F.interpolate(x(1, 2, 5, 4), size=(3, 7), mode="bicubic")
    F.interpolate(x(1, 2, 9, 8), size=(4, 11), mode="bicubic", antialias=True)
    F.interpolate(x(1, 2, 9, 8), size=(4, 11), mode="lanczos", antialias=True)
    F.interpolate(x(1, 1, 3, 4, 5), scale_factor=1.7, mode="trilinear")
    F.interpolate(x(1, 1, 3, 4, 5), scale_factor=1.7, mode="nearest-exact")
    F.hardswish(x(4, 5) * 4)
    F.mish(x(4, 5))
    F.glu(x(4, 6))
    F.threshold(x(4, 5), 0.1, 2.0)
    F.celu(x(4, 5), 0.7)
    F.conv3d(x(1, 2, 4, 4, 3), x(3, 2, 2, 2, 2), x(3), padding=1)
""")


@pytest.mark.parametrize("text", VALUES)
def test_as_pytorch(text: str) -> None:
    tolerance = 2e-2 if "float16" in text else 1e-4
    check(expression(text), rtol=10 * tolerance, atol=tolerance)


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradients_as_pytorch(text: str) -> None:
    check_gradients(with_gradients(text))


LAYERS = cases("""
nn.Conv1d(2, 3, 3, padding="same")  # 2 2 7
nn.Conv2d(2, 3, 3, padding="same")  # 2 2 7 6
nn.Conv3d(2, 3, 3)  # 2 2 5 6 4
nn.ConvTranspose3d(2, 3, 3)  # 2 2 3 3 3
nn.Upsample(scale_factor=2, mode="bicubic")  # 1 2 3 4
nn.Upsample(scale_factor=2, mode="trilinear")  # 1 2 3 4 2
nn.Upsample(size=5)  # 1 2 3
nn.InstanceNorm2d(3, affine=True)  # 2 3 4 5
nn.AdaptiveMaxPool2d(2)  # 2 3 4 5
nn.AdaptiveAvgPool3d(2)  # 2 3 4 5 3
nn.MaxPool3d(2)  # 2 3 4 5 3
nn.LocalResponseNorm(2)  # 2 4 3 3
nn.Sequential(nn.Hardswish(), nn.Hardsigmoid(), nn.Mish(), nn.SELU(), \
nn.CELU(), nn.PReLU(), nn.RReLU())  # 3 4
nn.Sequential(nn.Softshrink(), nn.Hardshrink(), nn.Threshold(0.1, 2.0), nn.GLU())  # 3 4
nn.Sequential(nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.PixelShuffle(2))  # 1 2 4 4
nn.Sequential(nn.Dropout2d(), nn.Dropout3d(), nn.AlphaDropout())  # 1 2 4 4
nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)  # 3 5 4
nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True, activation="gelu")  # 3 5 4
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)  # 5 3 4
""")
RECURRENT = cases("""
nn.LSTM(2, 3, 2, bidirectional=True)
nn.LSTM(2, 4, proj_size=2, batch_first=True)
nn.GRU(2, 3, 2)
nn.RNN(2, 3)
nn.RNN(2, 3, nonlinearity="relu", bias=False)
""")


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("text", LAYERS)
def test_an_archive_with_the_layer(text: str, how: str) -> None:
    def layer(torch: Any) -> Any:
        return eval(text, {"nn": torch.nn}).eval()

    compare_archives(layer, tuple(map(int, text.partition("#")[2].split())), how)


LOSSES = cases("""
F.ctc_loss(x.log_softmax(-1).unsqueeze(1), \
torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2]))
F.multi_margin_loss(x, torch.tensor([0, 2, 1, 1, 0]), p=2)
F.multilabel_margin_loss(x, \
torch.tensor([[0, -1, 1, 1], [2, 1, -1, 0], [1, 1, 1, 1], [3, 2, 1, 0], [-1, 0, 0, 0]]))
F.cosine_embedding_loss(x, x.flip([0]), torch.tensor([1, -1, 1, 1, -1]))
F.triplet_margin_loss(x, x.flip([0]), x + 1.0, swap=True)
F.hinge_embedding_loss(x, x.sign(), reduction="sum")
F.margin_ranking_loss(x, x.flip([0]), x.sign(), 0.5)
F.poisson_nll_loss(x, x.abs(), full=True)
F.multilabel_soft_margin_loss(x, x.sign().clamp_min(0.0), reduction="none")
F.embedding_bag(torch.tensor([[0, 1], [4, 2]]), x, mode="max")
F.embedding_bag(torch.tensor([0, 1, 4, 2]), x, torch.tensor([0, 3]), mode="sum", padding_idx=1)
""")


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("text", LOSSES)
def test_an_archive_with_the_loss(text: str, how: str, tmp_path: Path) -> None:
    """PyTorch compiles from a file."""
    lines = (
        "import torch",
        "from torch.nn import functional as F",
        "",
        "def loss(x):",
        f"    return {text}",
        "",
    )
    file = tmp_path / "loss_of_a_test.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    compare_archives(lambda torch: runpy.run_path(str(file))["loss"], (5, 4), how)


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("text", RECURRENT)
def test_an_archive_with_a_recurrent_layer(text: str, how: str) -> None:

    def first(torch: Any) -> Any:
        class First(torch.nn.Module):  # type: ignore[name-defined, misc]
            def __init__(self) -> None:
                super().__init__()
                self.inner = eval(text, {"nn": torch.nn})

            def forward(self, x):  # type: ignore[no-untyped-def]
                return self.inner(x)[0]

        return First().eval()

    compare_archives(first, (5, 3, 2), how)


def compare_archives(make: Callable[[Any], Any], shape: tuple[int, ...], how: str) -> None:
    x = np.random.default_rng(1).standard_normal(shape, "float32")

    def ask(torch: Any) -> tuple[bytes, Any]:
        torch.manual_seed(1)
        layer, given, buffer = make(torch), torch.from_numpy(x), io.BytesIO()
        with torch.no_grad():
            expected = layer(given)
            made = (
                torch.jit.script(layer)
                if how == "script"
                else torch.jit.trace(layer, given, check_trace=False)
            )
        torch.jit.save(made, buffer)
        return buffer.getvalue(), expected

    data, expected = saved_by_pytorch(ask)
    with internals.no_grad():
        found = jit.load(io.BytesIO(data))(internals.from_numpy(x))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


PACKED = {
    "lstm": (4, 2),
    "gru": (3, 1),
    "rnn_tanh": (1, 1),
    "rnn_relu": (1, 1),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_sequence_is_as_many_sequences(name: str) -> None:
    """Three sequences of 4, 2 and 1 steps, forwards and backwards: each as if it were alone. And
    the gradients are right.
    """
    gates, states = PACKED[name]
    stream = np.random.default_rng(3)
    lengths, inputs, hidden = [4, 2, 1], 2, 3
    sequences = [stream.standard_normal((n, inputs)) for n in lengths]
    data = internals.tensor(
        np.concatenate([[s[t] for s in sequences if t < len(s)] for t in range(4)])
    )
    shapes = [
        (gates * hidden, inputs),
        (gates * hidden, hidden),
        (gates * hidden,),
        (gates * hidden,),
    ]
    weights = [internals.tensor(stream.standard_normal(shape)) for shape in shapes * 2]
    first = [internals.tensor(stream.standard_normal((2, 3, hidden))) for _ in range(states)]
    run = getattr(internals.ops.aten, name)
    options = (weights, True, 1, 0.0, False, True)

    def state(tensors: list[Any]) -> Any:
        return tensors if name == "lstm" else tensors[0]

    sizes = internals.tensor([3, 2, 1, 1])
    output, *last = run(data, sizes, state(first), *options)
    starts = [0, 3, 5, 6]
    for i, sequence in enumerate(sequences):
        alone, *ends = run(
            internals.tensor(sequence).unsqueeze(1),
            state([h[:, i : i + 1] for h in first]),
            *options,
            False,
        )
        rows = [starts[t] + i for t in range(len(sequence))]
        np.testing.assert_allclose(output.numpy()[rows], alone.squeeze(1).numpy(), atol=1e-12)
        for h, end in zip(last, ends, strict=True):
            np.testing.assert_allclose(h[:, i].numpy(), end.squeeze(1).numpy(), atol=1e-12)
    if name != "rnn_relu":  # which has kinks
        data.requires_grad_()
        assert gradcheck(lambda d: run(d, sizes, state(first), *options)[0], [data])
        assert gradgradcheck(lambda d: run(d, sizes, state(first), *options)[0], [data])


@pytest.mark.parametrize("mask_type", [0, 1, 2])
def test_attention_does_not_look_where_the_mask_is_true(mask_type: int) -> None:
    stream = np.random.default_rng(4)
    x, w, b, proj, bias = (
        internals.tensor(stream.standard_normal(shape))
        for shape in [(2, 3, 4), (12, 4), (12,), (4, 4), (4,)]
    )
    mask = np.zeros({0: (3, 3), 1: (2, 3), 2: (2, 2, 3, 3)}[mask_type], bool)
    mask[..., 1] = True
    attend = internals.ops.aten._native_multi_head_attention
    out, weights = attend(
        x, x, x, 4, 2, w, b, proj, bias, internals.tensor(mask), True, False, mask_type
    )
    assert weights.shape == (2, 2, 3, 3)
    assert not weights[..., 1].any()
    changed = x.clone()
    changed[:, 1] += 1
    other, _ = attend(
        changed,
        changed,
        changed,
        4,
        2,
        w,
        b,
        proj,
        bias,
        internals.tensor(mask),
        True,
        False,
        mask_type,
    )
    np.testing.assert_allclose(out.numpy()[:, [0, 2]], other.numpy()[:, [0, 2]], atol=1e-12)
    assert not np.allclose(out.numpy()[:, 1], other.numpy()[:, 1])


def test_hand_made_resampling() -> None:
    """Without PyTorch: numbers anyone can check."""
    x = internals.tensor([[[0.0, 4.0]]])
    assert F.interpolate(x, size=4, mode="linear").tolist() == [[[0, 1, 3, 4]]]
    assert F.interpolate(x, size=4, mode="linear", align_corners=True)[0, 0, 3].item() == 4
    assert F.interpolate(
        internals.arange(5.0).view(1, 1, 5), size=2, mode="nearest-exact"
    ).tolist() == [[[1, 3]]]
    ramp = internals.arange(8.0).expand(1, 1, 8, 8)
    half = F.interpolate(ramp, size=(8, 4), mode="bilinear", antialias=True)
    # inside, a ramp stays a ramp
    np.testing.assert_allclose(half[0, 0, 0, 1:3].numpy(), [2.5, 4.5], atol=1e-6)
    cube = F.interpolate(internals.ones(1, 1, 2, 2, 2), scale_factor=2.0, mode="trilinear")
    assert cube.shape == (1, 1, 4, 4, 4) and (cube == 1).all()
