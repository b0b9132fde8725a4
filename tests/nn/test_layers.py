"""Layers without recurrence and attention: side by side with PyTorch, and by what must hold of
them.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals import nn
from internals.nn import functional as F
from tests.answers import answer
from tests.nn.layers import compare, layer_tests
from tests.side_by_side import cases, ours
from tests.support import assert_same, examples, to_numpy

CASES = cases("""
    nn.Identity(3, a=4) >> m(x(2, 3))
    nn.Linear(3, 5) >> m(x(2, 3))
    nn.Linear(3, 5, bias=False) >> m(x(4, 2, 3))
    nn.Linear(3, 5, dtype=T.float64) >> m(x(3, dtype="float64"))
    nn.Bilinear(3, 4, 5) >> m(x(2, 3), x(2, 4))
    nn.Bilinear(3, 4, 2, bias=False) >> m(x(2, 6, 3), x(2, 6, 4))
    nn.Flatten() >> m(x(2, 3, 4))
    nn.Flatten(0, 1) >> m(x(2, 3, 4))
    nn.Unflatten(1, (2, 3)) >> m(x(2, 6))
    nn.Conv1d(4, 6, 3) >> m(x(2, 4, 8))
    nn.Conv1d(4, 6, 3, 2, 1, 1, 2, False) >> m(x(2, 4, 8))
    nn.Conv1d(4, 6, 3, padding="same", dilation=2) >> m(x(4, 8))
    nn.Conv1d(4, 6, 4, padding="same", padding_mode="reflect") >> m(x(2, 4, 8))
    nn.Conv2d(3, 4, 3) >> m(x(2, 3, 6, 7))
    nn.Conv2d(3, 4, (3, 2), (2, 1), (1, 0), bias=False) >> m(x(2, 3, 6, 7))
    nn.Conv2d(4, 8, 3, padding=1, groups=4) >> m(x(2, 4, 6, 7))
    nn.Conv2d(3, 4, 3, padding="same", dilation=2) >> m(x(3, 6, 7))
    nn.Conv2d(3, 4, 3, padding="valid") >> m(x(2, 3, 6, 7))
    nn.Conv2d(3, 4, 3, padding=(2, 1), padding_mode="circular") >> m(x(2, 3, 6, 7))
    nn.Conv2d(3, 4, (2, 3), padding="same", padding_mode="replicate") >> m(x(2, 3, 6, 7))
    nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2) >> m(x(2, 4, 5))
    nn.ConvTranspose1d(4, 6, 3, 2, 1) >> m(x(2, 4, 5), output_size=[10])
    nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2) >> m(x(2, 4, 3, 5))
    nn.ConvTranspose2d(4, 3, (3, 2), 2, bias=False, dilation=(1, 2)) >> m(x(2, 4, 3, 5))
    nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1) >> m(x(2, 4, 3, 5), output_size=(2, 3, 6, 9))
    nn.MaxPool1d(3) >> m(x(2, 4, 8))
    nn.MaxPool1d(3, 2, 1, return_indices=True) >> m(x(4, 8))
    nn.MaxPool2d(2) >> m(x(2, 3, 6, 7))
    nn.MaxPool2d((3, 2), 2, padding=(1, 0), ceil_mode=True) >> m(x(2, 3, 6, 7))
    nn.MaxPool2d(2, return_indices=True, dilation=2) >> m(x(2, 3, 6, 7))
    nn.AvgPool1d(3, 2, 1) >> m(x(2, 4, 8))
    nn.AvgPool1d(2, ceil_mode=True, count_include_pad=False) >> m(x(4, 7))
    nn.AvgPool2d(2) >> m(x(2, 3, 6, 7))
    nn.AvgPool2d(3, 2, 1, True, False) >> m(x(2, 3, 6, 7))
    nn.AvgPool2d((2, 3), divisor_override=4) >> m(x(3, 6, 7))
    nn.AdaptiveAvgPool1d(3) >> m(x(2, 4, 8))
    nn.AdaptiveAvgPool2d((2, None)) >> m(x(2, 3, 6, 7))
    nn.AdaptiveAvgPool2d(1) >> m(x(2, 3, 6, 7))
    nn.ReLU() >> m(x(2, 3))
    nn.ReLU(inplace=True) >> m(x(2, 3) * 1)
    nn.ReLU6() >> m(x(2, 3) * 5)
    nn.ReLU6(True) >> m(x(2, 3) * 5)
    nn.GELU() >> m(x(2, 3))
    nn.GELU("tanh") >> m(x(2, 3))
    nn.SiLU() >> m(x(2, 3))
    nn.Sigmoid() >> m(x(2, 3))
    nn.Tanh() >> m(x(2, 3))
    nn.LeakyReLU() >> m(x(2, 3))
    nn.LeakyReLU(0.2, inplace=True) >> m(x(2, 3) * 1)
    nn.PReLU() >> m(x(2, 3))
    nn.PReLU(3, 0.1) >> m(x(2, 3, 4))
    nn.ELU() >> m(x(2, 3))
    nn.ELU(0.5, True) >> m(x(2, 3) * 1)
    nn.CELU(2.0) >> m(x(2, 3))
    nn.CELU(inplace=True) >> m(x(2, 3) * 1)
    nn.SELU() >> m(x(2, 3))
    nn.SELU(True) >> m(x(2, 3) * 1)
    nn.Mish() >> m(x(2, 3))
    nn.Mish(inplace=True) >> m(x(2, 3) * 1)
    nn.Softplus() >> m(x(2, 3))
    nn.Softplus(2, 1) >> m(x(2, 3))
    nn.Hardtanh() >> m(x(2, 3))
    nn.Hardtanh(-2, 0.5, True) >> m(x(2, 3) * 1)
    nn.Hardsigmoid() >> m(x(2, 3) * 3)
    nn.Hardsigmoid(inplace=True) >> m(x(2, 3) * 3)
    nn.Hardswish() >> m(x(2, 3) * 3)
    nn.Hardswish(inplace=True) >> m(x(2, 3) * 3)
    nn.Hardshrink() >> m(x(2, 3))
    nn.Softshrink(0.3) >> m(x(2, 3))
    nn.Softsign() >> m(x(2, 3))
    nn.Tanhshrink() >> m(x(2, 3))
    nn.Threshold(0.1, 20) >> m(x(2, 3))
    nn.Threshold(0.1, 20, True) >> m(x(2, 3) * 1)
    nn.LogSigmoid() >> m(x(2, 3))
    nn.GLU() >> m(x(2, 6))
    nn.GLU(0) >> m(x(2, 6))
    nn.Softmax(1) >> m(x(2, 3))
    nn.Softmax() >> m(x(2, 3))
    nn.LogSoftmax(dim=-1) >> m(x(2, 3))
    nn.Softmin(0) >> m(x(2, 3))
    nn.Softmax2d() >> m(x(2, 3, 4, 5))
    nn.BatchNorm1d(3) >> m(x(4, 3))
    nn.BatchNorm1d(3, eps=0.1, momentum=0.5) >> m(x(4, 3, 5))
    nn.BatchNorm1d(3, momentum=None) >> m(m(x(4, 3, 5)))
    nn.BatchNorm1d(3, affine=False) >> m(x(4, 3))
    nn.BatchNorm1d(3, track_running_stats=False) >> m(x(4, 3))
    nn.BatchNorm1d(3, bias=False) >> m(x(4, 3))
    nn.BatchNorm2d(3) >> m(x(2, 3, 4, 5))
    nn.BatchNorm2d(3, dtype=T.float64) >> m(x(2, 3, 4, 5, dtype="float64"))
    nn.InstanceNorm1d(3) >> m(x(2, 3, 5))
    nn.InstanceNorm1d(3, affine=True, track_running_stats=True) >> m(x(3, 5))
    nn.InstanceNorm2d(3, 0.1, 0.5, True, True, bias=False) >> m(x(2, 3, 4, 5))
    nn.InstanceNorm2d(4) >> m(x(2, 3, 4, 5))
    nn.LayerNorm(4) >> m(x(2, 3, 4))
    nn.LayerNorm((3, 4), eps=0.1) >> m(x(2, 3, 4))
    nn.LayerNorm([4], elementwise_affine=False) >> m(x(2, 3, 4))
    nn.LayerNorm(4, bias=False) >> m(x(2, 3, 4))
    nn.GroupNorm(2, 6) >> m(x(2, 6, 3))
    nn.GroupNorm(3, 6, affine=False) >> m(x(2, 6, 3, 4))
    nn.GroupNorm(1, 6, bias=False) >> m(x(2, 6, 3, 4))
    nn.RMSNorm(4) >> m(x(2, 3, 4))
    nn.RMSNorm((3, 4), eps=0.1, elementwise_affine=False) >> m(x(2, 3, 4))
    nn.RMSNorm(4, dtype=T.float16) >> m(x(2, 3, 4, dtype="float16"))
    nn.RMSNorm(4, elementwise_affine=False) >> m(x(2, 3, 4, dtype="float16") * 0.0001)
    nn.Linear(3, 4, dtype=T.float16) >> m(x(2, 3, dtype="float16"))
    nn.Dropout() >> m(x(20, 30))
    nn.Dropout(0.2, inplace=True) >> m(x(20, 30) * 1)
    nn.Dropout(0.0) >> m(x(2, 3))
    nn.Dropout(1.0) >> m(x(2, 3))
    nn.Dropout1d(0.4) >> m(x(6, 10, 3))
    nn.Dropout1d() >> m(x(10, 3))
    nn.Dropout2d() >> m(x(6, 10, 2, 3))
    nn.Dropout2d(0.3, True) >> m(x(6, 10, 2, 3) * 1)
    nn.ConstantPad1d(2, 3.5) >> m(x(2, 3, 4))
    nn.ConstantPad2d((1, 0, 2, -1), 1) >> m(x(2, 3, 4))
    nn.ZeroPad1d((1, 2)) >> m(x(3, 4))
    nn.ZeroPad2d(1) >> m(x(2, 3, 4, 5))
    nn.ReflectionPad1d(2) >> m(x(2, 3, 4))
    nn.ReflectionPad2d((1, 2, 0, 1)) >> m(x(2, 3, 4, 5))
    nn.ReplicationPad1d((3, 1)) >> m(x(2, 3, 4))
    nn.ReplicationPad2d(2) >> m(x(2, 3, 4, 5))
    nn.CircularPad1d(2) >> m(x(2, 3, 4))
    nn.CircularPad2d((1, 2, 3, 0)) >> m(x(2, 3, 4, 5))
    nn.Upsample(scale_factor=2) >> m(x(2, 3, 4, 5))
    nn.Upsample((5, 3)) >> m(x(2, 3, 4, 5))
    nn.Upsample(scale_factor=(1.5, 2), mode="bilinear") >> m(x(2, 3, 4, 5))
    nn.Upsample(size=6, mode="bilinear", align_corners=True) >> m(x(2, 3, 4, 5))
    nn.UpsamplingNearest2d(scale_factor=3) >> m(x(2, 3, 4, 5))
    nn.UpsamplingBilinear2d((7, 8)) >> m(x(2, 3, 4, 5))
    nn.Unfold((2, 3), padding=1, stride=(1, 2)) >> m(x(2, 3, 4, 5))
    nn.Fold((4, 5), (2, 3), padding=1, stride=(1, 2)) >> m(x(2, 18, 15))
    nn.Embedding(5, 3) >> m(x.labels(2, 4, classes=5))
    nn.Embedding(5, 3, padding_idx=-2) >> m(x.labels(2, 4, classes=5))
    nn.Embedding(5, 3, max_norm=1.0, norm_type=1.0) >> m(x.labels(6, classes=5))
    nn.Embedding(5, 3, scale_grad_by_freq=True) >> m(x.labels(9, classes=5))
    nn.CosineSimilarity() >> m(x(4, 3), x(4, 3))
    nn.CosineSimilarity(-1, 0.1) >> m(x(2, 4, 3), x(4, 3))
    nn.PairwiseDistance() >> m(x(4, 3), x(4, 3))
    nn.PairwiseDistance(1.0, keepdim=True) >> m(x(4, 3), x(4, 3))
    nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
        nn.Linear(64, 2))
        >> m(x(3, 1, 6, 6))
""")
test_as_pytorch, test_gradients_as_pytorch = layer_tests(CASES)


@st.composite
def convolutions(draw: Any) -> str:
    """A case with any arguments that fit each other."""
    groups = draw(st.sampled_from([1, 1, 2]))
    channels = [groups * draw(st.integers(1, 2)) for _ in range(2)]
    kernel, stride, dilation = (
        tuple(draw(st.lists(st.integers(1, most), min_size=2, max_size=2))) for most in (3, 2, 2)
    )
    padding = draw(st.integers(0, 1))
    options = (
        f"{kernel}, {stride}, {padding}, dilation={dilation}, groups={groups}, "
        f"bias={draw(st.booleans())}"
    )
    sizes = ", ".join(str(draw(st.integers(5, 7))) for _ in range(2))
    if draw(st.booleans()):
        return (
            f"nn.ConvTranspose2d({channels[0]}, {channels[1]}, {options}) >> m(x(2, {channels[0]}, "
            f"{sizes}))"
        )
    mode = draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"]))
    return (
        f"nn.Conv2d({channels[0]}, {channels[1]}, {options}, padding_mode='{mode}') >> m(x(2, "
        f"{channels[0]}, {sizes}))"
    )


@given(convolutions())
@examples(25)
def test_any_convolution_as_pytorch(case: str) -> None:
    compare(case, training=True, gradients=True)


@given(
    st.sampled_from(["BatchNorm", "InstanceNorm"]),
    st.sampled_from([1, 2]),
    st.sampled_from([0.1, 0.9, None]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
@examples(25)
def test_any_normalization_as_pytorch(
    kind: str, dims: int, momentum: float | None, affine: bool, track: bool, training: bool
) -> None:
    if kind == "InstanceNorm" and momentum is None:
        momentum = 0.3
    options = f"momentum={momentum}, affine={affine}, track_running_stats={track}"
    sizes = "4, 5" if dims == 2 else "6"
    compare(f"nn.{kind}{dims}d(3, {options}) >> m(m(x(2, 3, {sizes})))", training, gradients=True)


def test_signatures_as_pytorch() -> None:
    # (*args, **kwargs) in both
    names = [name for name in nn.modules.__all__ if name not in ("RNN", "LSTM", "GRU")]

    def signatures(T: Any) -> Any:
        return {name: described(inspect.signature(getattr(T.nn, name).__init__)) for name in names}

    assert signatures(internals) == answer(signatures, about=names, family="layers")


def described(signature: inspect.Signature) -> list[tuple[str, str, str]]:
    """Of each parameter the name, how it is given, and the default; a function's is its name."""
    return [
        (p.name, p.kind.name, getattr(p.default, "__name__", repr(p.default)))
        for p in signature.parameters.values()
    ]


def test_no_two_layers_share_a_weight_after_copying() -> None:
    layer = nn.Linear(3, 4)
    twin = copy.deepcopy(layer)
    assert twin.weight is not layer.weight
    assert twin.weight.data_ptr() != layer.weight.data_ptr()
    assert_same(twin.weight, to_numpy(layer.weight))


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.booleans())
@examples(20)
def test_linear_against_numpy(n: int, features: int, outputs: int, bias: bool) -> None:
    layer = nn.Linear(features, outputs, bias)
    x = ours()(n, features)
    expected = to_numpy(x) @ to_numpy(layer.weight).T
    assert_same(layer(x), expected + to_numpy(layer.bias) if bias else expected)
    bound = 1 / np.sqrt(features)
    assert all(np.abs(to_numpy(p)).max() <= bound for p in layer.parameters())


@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(1, 2)
)
@examples(20)
def test_conv2d_is_a_product_with_unfolded_windows(
    n: int, k: int, stride: int, padding: int, dilation: int
) -> None:
    layer = nn.Conv2d(2, 3, k, stride, padding, dilation)
    x = ours()(n, 2, 7, 6)
    columns = nn.Unfold(k, dilation, padding, stride)(x)
    expected = layer.weight.reshape(3, -1) @ columns + layer.bias.reshape(3, 1)
    result = layer(x)
    np.testing.assert_allclose(
        to_numpy(result).reshape(n, 3, -1), to_numpy(expected), rtol=1e-4, atol=1e-5
    )


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1))
@examples(20)
def test_transposed_convolution_is_the_transpose(k: int, stride: int, padding: int) -> None:
    """<conv(x), y> = <x, conv_transpose(y)>, with the same weights."""
    down = nn.Conv2d(2, 3, k, stride, padding, bias=False, dtype=internals.float64)
    up = nn.ConvTranspose2d(3, 2, k, stride, padding, bias=False, dtype=internals.float64)
    up.load_state_dict(down.state_dict())
    x = ours()(1, 2, 7, 6, dtype="float64")
    if 7 + 2 * padding < k:
        return
    image = down(x)
    y = ours()(*image.shape, dtype="float64")
    back = up(y, output_size=x.shape[2:])
    np.testing.assert_allclose(
        float((image * y).sum()), float((x * back).sum()), rtol=1e-9, atol=1e-9
    )


@given(st.integers(2, 5), st.integers(1, 4), st.sampled_from([0.1, 0.7, None]), st.integers(1, 4))
@examples(20)
def test_batch_norm_keeps_running_statistics(
    n: int, channels: int, momentum: float | None, batches: int
) -> None:
    layer = nn.BatchNorm1d(channels, momentum=momentum, dtype=internals.float64)
    mean, var = np.zeros(channels), np.ones(channels)
    inputs = ours()
    for i in range(batches):
        x = inputs(n, channels, dtype="float64")
        layer(x)
        factor = 1 / (i + 1) if momentum is None else momentum
        mean = (1 - factor) * mean + factor * to_numpy(x).mean(0)
        var = (1 - factor) * var + factor * to_numpy(x).var(0, ddof=1)
    assert_same(layer.running_mean, mean)
    assert_same(layer.running_var, var)
    assert int(layer.num_batches_tracked) == batches
    layer.eval()
    x = inputs(n, channels, dtype="float64")
    assert_same(layer(x), (to_numpy(x) - mean) / np.sqrt(var + layer.eps))
    assert int(layer.num_batches_tracked) == batches
    layer.reset_running_stats()
    assert_same(layer.running_mean, np.zeros(channels))
    assert int(layer.num_batches_tracked) == 0


def test_batch_norm_loads_state_dicts_without_a_count() -> None:
    """Version 1 of the module did not count batches."""
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    layer.load_state_dict(state)
    state = nn.Sequential(nn.BatchNorm1d(2)).state_dict()
    del state["0.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="Missing key"):
        nn.Sequential(nn.BatchNorm1d(2)).load_state_dict(state)


def test_batch_norm_that_stops_tracking() -> None:
    layer = nn.BatchNorm1d(2)
    layer.track_running_stats = False
    layer(ours()(4, 2))
    assert_same(layer.running_mean, np.zeros(2, "float32"))
    assert int(layer.num_batches_tracked) == 0


@given(st.floats(0.05, 0.95), st.sampled_from([nn.Dropout, nn.Dropout2d]))
@examples(10)
def test_dropout_zeroes_and_scales(p: float, kind: Any) -> None:
    internals.manual_seed(3)
    x = internals.ones(40, 50, 2, 2)
    result = to_numpy(kind(p)(x))
    kept = result != 0
    np.testing.assert_allclose(result[kept], 1 / (1 - p), rtol=1e-5)
    whole = kept.reshape(40, 50, 4)
    if kind is nn.Dropout2d:
        assert (whole.all(-1) == whole.any(-1)).all()
    assert abs(whole[..., 0].mean() - (1 - p)) < 0.06
    layer = kind(p).eval()
    assert layer(x) is x or to_numpy(layer(x) == x).all()


def test_dropout2d_warns_about_three_dimensions() -> None:
    with pytest.warns(UserWarning, match="Received a 3D input"):
        nn.Dropout2d()(internals.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="Received a 2-D input"):
        nn.Dropout2d()(internals.ones(2, 3))


def test_inplace_activations_write_over_their_input() -> None:
    kinds: list[Any] = [
        nn.ReLU,
        nn.ReLU6,
        nn.SiLU,
        nn.Mish,
        nn.SELU,
        nn.CELU,
        nn.ELU,
        nn.LeakyReLU,
        nn.Hardtanh,
    ]
    for kind in [*kinds, nn.Hardsigmoid, nn.Hardswish]:
        x = ours()(3, 4)
        expected = to_numpy(kind()(x))
        assert kind(inplace=True)(x) is x, kind
        assert_same(x, expected)


def test_instance_norm_normalizes_each_channel_of_each_sample() -> None:
    x = ours()(2, 3, 5, dtype="float64")
    a = to_numpy(x)
    expected = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    assert_same(F.instance_norm(x), expected)
    mean, var = (
        internals.zeros(3, dtype=internals.float64),
        internals.ones(3, dtype=internals.float64),
    )
    F.instance_norm(x, mean, var, momentum=1.0)
    assert_same(mean, a.mean(-1).mean(0))
    assert_same(var, a.var(-1, ddof=1).mean(0))


def test_embedding_from_a_table() -> None:
    table = ours()(4, 3)
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad
    assert layer.weight.data_ptr() == table.data_ptr()
    assert_same(layer(internals.tensor([2, 0])), to_numpy(table)[[2, 0]])
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad


def test_embedding_padding_row_is_zero() -> None:
    assert to_numpy(nn.Embedding(4, 3, padding_idx=1).weight)[1].tolist() == [0, 0, 0]


def test_softmax_without_a_dimension_warns_where_it_is_called() -> None:
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        nn.Softmax()(internals.ones(2, 3))
