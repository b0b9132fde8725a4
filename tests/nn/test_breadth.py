"""The layers that are rarer: three dimensions, pooling backwards and by norms, shuffled channels,
packed sequences.

Side by side with PyTorch (`tests/nn/layers.py`), and in scripts (`test_jit_layers.py`) and traces.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import internals
from internals import jit, nn
from tests.nn import layers
from tests.nn.layers import layer_tests
from tests.side_by_side import cases, check, expression, ours
from tests.support import assert_same, to_numpy

CASES = cases("""
    nn.Conv3d(2, 3, 2) >> m(x(2, 2, 3, 4, 5))
    nn.Conv3d(2, 4, (1, 2, 3), (1, 2, 1), (0, 1, 1), dilation=(1, 1, 2), groups=2, bias=False)
        >> m(x(2, 2, 3, 4, 5))
    nn.Conv3d(2, 3, 3, padding="same") >> m(x(2, 3, 4, 5))
    nn.Conv3d(2, 3, 2, padding=(0, 1, 2), padding_mode="circular") >> m(x(2, 2, 3, 4, 5))
    nn.Conv3d(2, 3, 3, padding=1, padding_mode="reflect") >> m(x(1, 2, 3, 4, 5))
    nn.ConvTranspose3d(2, 3, 2) >> m(x(2, 2, 2, 3, 4))
    nn.ConvTranspose3d(4, 2, 2, (1, 2, 3), (0, 1, 0), (0, 1, 2), 2, dilation=(1, 2, 1))
        >> m(x(1, 4, 2, 3, 2))
    nn.ConvTranspose3d(2, 3, 2, 2, bias=False) >> m(x(1, 2, 2, 3, 2), output_size=[4, 7, 5])
    nn.MaxPool3d(2) >> m(x(2, 3, 4, 5, 6))
    nn.MaxPool3d((1, 2, 3), 2, (0, 1, 1), ceil_mode=True) >> m(x(3, 4, 5, 6))
    nn.MaxPool3d(2, 1, 1, 2, return_indices=True) >> m(x(2, 3, 4, 5, 6))
    nn.AvgPool3d(2) >> m(x(2, 3, 4, 5, 6))
    nn.AvgPool3d((2, 3, 2), 2, (1, 1, 0), True, False) >> m(x(2, 3, 4, 5, 7))
    nn.AvgPool3d(2, divisor_override=3) >> m(x(3, 4, 5, 6))
    nn.AdaptiveAvgPool3d((2, 3, 1)) >> m(x(2, 3, 4, 5, 6))
    nn.AdaptiveAvgPool3d(1) >> m(x(2, 3, 4, 5, 6))
    nn.AdaptiveMaxPool1d(3) >> m(x(2, 3, 7))
    nn.AdaptiveMaxPool1d(2, True) >> m(x(3, 7))
    nn.AdaptiveMaxPool2d((2, 3)) >> m(x(2, 3, 4, 5))
    nn.AdaptiveMaxPool2d(3, return_indices=True) >> m(x(2, 3, 4, 5))
    nn.AdaptiveMaxPool3d((1, 2, 3)) >> m(x(2, 3, 4, 5, 6))
    nn.AdaptiveMaxPool3d(2, True) >> m(x(3, 4, 5, 6))
    nn.LPPool1d(2, 3) >> m(x.uniform(2, 3, 7))
    nn.LPPool1d(inf, 2, stride=1) >> m(x(2, 3, 7))
    nn.LPPool2d(3, (2, 3), stride=(1, 2), ceil_mode=True) >> m(x.uniform(2, 3, 4, 6))
    nn.LPPool2d(1.5, 2) >> m(x.uniform(2, 3, 4, 6))
    nn.LPPool3d(2, 2, 1) >> m(x(2, 3, 4, 5, 6))
    nn.MaxUnpool1d(2) >> m(*F.max_pool1d(x(2, 3, 8), 2, return_indices=True))
    nn.MaxUnpool1d(2, 3, 1)
        >> m(*F.max_pool1d(x(2, 3, 9), 2, 3, 1, return_indices=True), output_size=[2, 3, 9])
    nn.MaxUnpool2d(2) >> m(*F.max_pool2d(x(2, 3, 4, 6), 2, return_indices=True))
    nn.MaxUnpool2d((2, 3), 2, (0, 1))
        >> m(*F.max_pool2d(x(3, 4, 6), (2, 3), 2, (0, 1), return_indices=True), output_size=(4, 6))
    nn.MaxUnpool3d(2) >> m(*F.max_pool3d(x(2, 3, 4, 2, 6), 2, return_indices=True))
    nn.MaxUnpool3d((1, 2, 2), 2)
        >> m(*F.max_pool3d(x(3, 4, 4, 5), (1, 2, 2), 2, return_indices=True), output_size=[4, 4, 5])
    nn.FractionalMaxPool2d(2, 3) >> m(x(2, 3, 7, 8))
    nn.FractionalMaxPool2d((2, 3), output_ratio=(0.5, 0.6), return_indices=True) >> m(x(2, 3, 7, 8))
    nn.FractionalMaxPool3d(2, (2, 3, 3)) >> m(x(2, 3, 4, 6, 7))
    nn.FractionalMaxPool3d((1, 2, 2), output_ratio=0.5, return_indices=True) >> m(x(3, 4, 6, 7))
    nn.BatchNorm3d(3) >> m(x(2, 3, 2, 3, 4))
    nn.BatchNorm3d(3, momentum=None, affine=False) >> m(x(2, 3, 2, 3, 4))
    nn.InstanceNorm3d(3) >> m(x(2, 3, 2, 3, 4))
    nn.InstanceNorm3d(3, affine=True, track_running_stats=True) >> m(x(3, 2, 3, 4))
    nn.LocalResponseNorm(3) >> m(x(2, 5, 4))
    nn.LocalResponseNorm(2, 0.1, 0.5, 2.0) >> m(x(2, 5, 4, 3))
    nn.LocalResponseNorm(5, alpha=1.0) >> m(x(2, 7, 2, 3, 2))
    nn.SyncBatchNorm(3) >> m(x(4, 3))
    nn.SyncBatchNorm(3, momentum=None, bias=False) >> m(x(2, 3, 4, 5))
    nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3),
        nn.Sequential(nn.BatchNorm1d(3)))) >> m(x(4, 3))
    nn.PixelShuffle(2) >> m(x(2, 8, 3, 4))
    nn.PixelUnshuffle(2) >> m(x(2, 3, 4, 6))
    nn.ChannelShuffle(3) >> m(x(2, 6, 4, 5))
    nn.ConstantPad3d(1, 2.5) >> m(x(2, 3, 2, 3, 4))
    nn.ZeroPad3d((1, 0, 2, -1, 0, 1)) >> m(x(2, 3, 2, 3, 4))
    nn.ReflectionPad3d((1, 2, 0, 1, 1, 1)) >> m(x(2, 3, 2, 3, 4))
    nn.ReplicationPad3d((1, 2, 0, 1, 3, 1)) >> m(x(2, 3, 2, 3, 4))
    nn.CircularPad3d((1, 2, 0, 1, 2, 1)) >> m(x(2, 3, 2, 3, 4))
    nn.Upsample(scale_factor=(2.0, 1.5, 1.0), mode="trilinear") >> m(x(1, 2, 2, 3, 4))
    nn.Upsample(7, mode="linear", align_corners=True) >> m(x(2, 3, 4))
    nn.Upsample((5, 6), mode="bicubic") >> m(x(1, 2, 3, 4))
    nn.Upsample((2, 3), mode="nearest-exact") >> m(x(1, 2, 3, 4))
    nn.Upsample(scale_factor=2.0, mode="bilinear", recompute_scale_factor=True) >> m(x(1, 2, 3, 4))
    nn.RReLU() >> m(x(3, 4))
    nn.RReLU(0.2, 0.4, inplace=True) >> m(x(3, 4) * 1)
""")
test_as_pytorch, test_gradients_as_pytorch = layer_tests(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_traced_layer_is_the_layer(case: str) -> None:
    """In evaluation: a trace of random numbers would not be the same twice."""
    build, call = (part.strip() for part in case.split(">>"))
    names = layers.namespace(internals) | {"x": ours(), "inf": float("inf")}
    internals.manual_seed(2013)
    layer = eval(build, names).eval()
    if "Fractional" in case:
        layer._random_samples = internals.rand(
            2 if "x(2" in call else 1, 3, 3 if "3d" in case else 2
        )
    if "output_size" in call:
        return  # a number that is no tensor is not an input of a trace
    given: list[internals.Tensor] = []
    eval(call, names | {"m": lambda *inputs: given.extend(inputs)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = jit.trace(layer, tuple(given))
        expected, found = layers.tensors(layer(*given)), layers.tensors(traced(*given))
    for e, t in zip(expected, found, strict=True):
        assert_same(t, to_numpy(e))


# What is refused, or warned of, as PyTorch does it.
REFUSED = cases("""
    T.nn.Conv3d(2, 3, 2)(x(2, 3, 4, 4, 4))
    T.nn.Conv3d(2, 3, 2, groups=2)
    T.nn.ConvTranspose3d(2, 3, 2, padding_mode="reflect")
    T.nn.ConvTranspose3d(2, 3, 2, 2)(x(1, 2, 2, 3, 2), output_size=[4, 9, 5])
    T.nn.BatchNorm3d(3)(x(2, 3, 4, 5))
    T.nn.InstanceNorm3d(3)(x(2, 3, 4))
    T.nn.CircularPad3d(1)(x(2, 3, 4))
    T.nn.FractionalMaxPool2d(2)
    T.nn.FractionalMaxPool2d(2, 3, 0.5)
    T.nn.FractionalMaxPool2d(2, output_ratio=1.5)
    T.nn.FractionalMaxPool3d(0, 2)
    T.nn.MaxUnpool2d(2)(x(2, 3, 2, 2), x.of([[[[0, 3], [5, 6]]] * 3] * 2, "int64"),
        output_size=[9, 9])
    T.nn.MaxUnpool2d(2)(x(2, 3, 2, 2), x.of([[[[0, 3], [5, 6]]] * 3] * 2, "int64"), output_size=[4])
    T.nn.MaxUnpool2d(2)(x(2, 3, 2, 2), x.of([[[[0, 3], [5, 16]]] * 3] * 2, "int64"))
    T.nn.AvgPool3d(3, 1, 1)(x(2, 2, 4, 4))
    T.nn.MaxPool3d(2, 0)(x(2, 2, 4, 4))
    T.nn.PixelShuffle(2)(x(2, 3, 4))
    T.nn.SyncBatchNorm(3)(x(3))
    T.nn.SyncBatchNorm(0)(x(2, 0, 4))
    T.nn.CrossMapLRN2d(3)(x(2, 3, 4))
""")


@pytest.mark.parametrize("case", REFUSED)
def test_refused_as_pytorch(case: str) -> None:
    check(expression(case))


CROSS_MAP = ["(3)", "(5, 0.1, 0.5, 2.0)", "(2, 0.1)", "(4, 0.3)"]


@pytest.mark.parametrize("arguments", CROSS_MAP)
def test_cross_map_lrn_as_pytorch(arguments: str) -> None:
    """Its running sums and its gradient, slips included; it cannot be scripted, there neither."""

    def run(T, x):  # type: ignore[no-untyped-def]
        layer = eval(f"nn.CrossMapLRN2d{arguments}", {"nn": T.nn})
        given = x(2, 7, 2, 3).requires_grad_()
        result = layer(given)
        (result**2).sum().backward()
        return result.detach(), given.grad, repr(layer)

    check(run, rtol=1e-4, atol=1e-5)


PACKED = cases("""
    nn.RNN(3, 4), [5, 3, 2, 2], True
    nn.RNN(3, 4, nonlinearity="relu", num_layers=2, bidirectional=True), [2, 5, 1, 3], False
    nn.GRU(3, 4, num_layers=2, bias=False), [5, 3, 2, 2], True
    nn.GRU(3, 4, bidirectional=True), [2, 5, 1, 3], False
    nn.LSTM(3, 4, num_layers=2, bidirectional=True), [2, 5, 1, 3], False
    nn.LSTM(3, 4, proj_size=2), [5, 5, 4, 1], True
""")


@pytest.mark.parametrize("batch_first", [False, True], ids=["time first", "batch first"])
@pytest.mark.parametrize("case", PACKED)
def test_packed_sequences_as_pytorch(case: str, batch_first: bool) -> None:
    def run(T, x):  # type: ignore[no-untyped-def]
        T.manual_seed(2013)
        layer, lengths, is_sorted = eval(case, {"nn": T.nn})
        given = x(4, 5, 3) if batch_first else x(5, 4, 3)
        given.requires_grad_()
        rnn = T.nn.utils.rnn
        output, last = layer(rnn.pack_padded_sequence(given, lengths, batch_first, is_sorted))
        states = last if isinstance(last, tuple) else (last,)
        padded, count = rnn.pad_packed_sequence(output, batch_first, -1.0, 6)
        ((padded**2).sum() + sum((h**3).sum() for h in states)).backward()
        return (
            padded.detach(),
            count,
            output.batch_sizes,
            *(h.detach() for h in states),
            given.grad,
            output.data.shape,
        )

    check(run, rtol=1e-4, atol=1e-5)


def test_packed_sequences_against_single_ones() -> None:
    """A layer gives each packed sequence what it gives that sequence alone, backwards too."""
    internals.manual_seed(2)
    layer = nn.LSTM(3, 4, bidirectional=True)
    sequences = [ours()(n, 3) for n in (2, 5, 3)]
    output, (h, _) = layer(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    for i, (sequence, found) in enumerate(
        zip(sequences, nn.utils.rnn.unpack_sequence(output), strict=True)
    ):
        alone, (last, _) = layer(sequence)
        np.testing.assert_allclose(to_numpy(found), to_numpy(alone), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(to_numpy(h)[:, i], to_numpy(last), rtol=1e-5, atol=1e-6)


UNPACKED = cases("""
    T.nn.utils.rnn.pack_padded_sequence(x(5, 4, 3), [1, 2, 3, 4])
    T.nn.utils.rnn.pack_padded_sequence(x(5, 4, 3), [4, 3])
    T.nn.utils.rnn.pack_padded_sequence(x(5, 4, 3), [4, 3, 2, 0])
    T.nn.utils.rnn.pack_padded_sequence(x(0, 4, 3), [4, 3, 2, 1])
    T.nn.utils.rnn.pack_sequence([x(3, 2), x(1, 2)]).data
    T.nn.utils.rnn.pack_sequence([x(3, 2), x(1, 2)]).double().data
    T.nn.utils.rnn.pad_packed_sequence(T.nn.utils.rnn.pack_sequence([x(3, 2), x(1, 2)]),
        total_length=2)
    T.nn.utils.rnn.unpack_sequence(T.nn.utils.rnn.pack_sequence([x(1, 2), x(3, 2)],
        enforce_sorted=False))
    T.nn.utils.rnn.invert_permutation(x.of([2, 0, 1], "int64"))
    T.nn.GRU(2, 4)(T.nn.utils.rnn.pack_sequence([x(3, 3)]))
    T.nn.GRU(3, 4)(T.nn.utils.rnn.pack_sequence([x(3, 3)]), x(1, 2, 4))
    T._pad_packed_sequence(x(4, 2), x.of([2, 1, 1], "int64"), True, 0.5, 4)
""")


@pytest.mark.parametrize("case", UNPACKED)
def test_packing_as_pytorch(case: str) -> None:
    check(expression(case))
