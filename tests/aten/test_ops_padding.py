"""Reflection, replication and circular padding, and rrelu's noise: what random arguments do not
reach.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals as T
from tests.autograd.gradients_beside import check_gradients, expression as gradient
from tests.side_by_side import cases, check, expression

PADDING = cases("""
    F.pad(x(2, 3, 5), (2, 4), "reflect")
    F.pad(x(2, 3, 5), (-2, 4), "reflect")
    F.pad(x(2, 3, 5), (-6, 4), "reflect")
    F.pad(x(2, 3, 5), (-6, 7), "replicate")
    F.pad(x(2, 3, 5), (-3, -2), "replicate")
    F.pad(x(2, 3, 5), (5, 1), "reflect")
    F.pad(x(3, 4, 5), (1, 1, 4, 0), "reflect")
    F.pad(x(2, 3, 4, 5), (1, 1, 1, 1), "reflect").stride()
    F.pad(x(2, 3, 4, 5).contiguous(memory_format=T.channels_last), (1, 1, 1, 1), "reflect").stride()
    F.pad(x(2, 3, 4, 5).contiguous(memory_format=T.channels_last), (1, 1, 1, 1),
        "replicate").stride()
    F.pad(x(0, 3, 4, 5), (1, 1, 1, 1), "reflect")
    F.pad(x(2, 0, 4, 5), (1, 1, 1, 1), "reflect")
    F.pad(x(3, 4, 5), (-3, -2, 1, 1), "replicate")
    F.pad(x(3, 4, 5, dtype="bool"), (1, 1), "replicate")
    F.pad(x(3, 4, 5, dtype="complex64"), (1, 1), "replicate")
    F.pad(x(3, 4, 5, dtype="int64"), (1, 1), "reflect")
    F.pad(x(2, 3, 5), (6, 0), "circular")
    F.pad(x(2, 3, 5), (-3, -3), "circular")
    F.pad(x(2, 3, 5), (1, 1), "mirror")
    F.pad(x(2, 3, 5), (1, 1, 1), "reflect")
    F.pad(x(2, 3, 5), (1, 1), "reflect", 1.0)
    F.pad(x(5), (1, 1), "reflect")
    T.ops.aten.reflection_pad1d(x(2, 5), [1])
    T.ops.aten.reflection_pad1d(x(5), [1, 1])
    T.ops.aten.reflection_pad2d(x(2, 5), [1, 1, 1, 1])
    T.ops.aten.replication_pad3d(x(2, 3, 0, 5), [1, 1, 1, 1, 1, 1])
    T.ops.aten._pad_circular(x(2, 3, 5), [1, 2])
    T.ops.aten._pad_circular(x(5), [1, 2])
    [T.ops.aten._pad_enum(x(2, 3, 5), [1, 2], mode) for mode in range(4)]
    T.ops.aten._pad_enum(x(2, 3, 5), [1, 2], 1, 1.0)
""")

NOISE = cases("""
    noise(x(3, 4), T.zeros(3, 4), 0.1, 0.3, True)
    noise(x(3, 4), T.ones(3, 4), 0.1, 0.3, False)
    noise(x(4, 3).t(), T.zeros(3, 4), 0.1, 0.3, True)
    noise(x.of(-1), T.zeros(()), 0.1, 0.3, True)
    noise(x(3), T.zeros(4), 0.1, 0.3, False)
    noise(x(3), T.zeros(3), 0.3, 0.1, True)
    noise(x(3), T.zeros(3), 0.3, 0.1, False)
    noise(x(3), T.zeros(3, dtype=T.float64), 0.1, 0.3, True)
    noise(x(3), T.zeros(3, requires_grad=True), 0.1, 0.3, True)
    noise(x(3, dtype="float16"), T.zeros(3, dtype=T.float16), 0.1, 0.3, True)
    noise(x(3, dtype="int64"), T.zeros(3, dtype=T.int64), 0.1, 0.3, False)
    F.rrelu(x.of(-1), training=True)
""")

GRADIENTS = cases("""
    T.nn.functional.pad(x(2, 3, 5), (2, 4), "reflect")
    T.nn.functional.pad(x(2, 3, 5), (-2, 4), "reflect")
    T.nn.functional.pad(x(2, 3, 4, 5), (1, 2, 0, 3), "reflect")
    T.nn.functional.pad(x(2, 3, 2, 3, 3), (1, 2, 0, 1, 1, 0), "reflect")
    T.nn.functional.pad(x(2, 3, 5), (7, -1), "replicate")
    T.nn.functional.pad(x(2, 3, 4, 5), (1, 2, 0, 9), "replicate")
    T.nn.functional.pad(x(3, 2, 3, 3), (1, 2, 0, 1, 1, 0), "replicate")
    T.nn.functional.rrelu(x(3, 4))
    T.nn.functional.rrelu(x(3, 4) * 2, inplace=True)
    [T.manual_seed(0), T.nn.functional.rrelu(x(3, 4), training=True)][1]
    [T.manual_seed(0), T.nn.functional.rrelu(x(3, 4) * 2, 0.1, 0.1, training=True, inplace=True)][1]
""")


@pytest.mark.parametrize("line", PADDING)
def test_padding_like_pytorch(line: str) -> None:
    check(expression(line), message=False)


@pytest.mark.parametrize("line", NOISE)
def test_noise_like_pytorch(line: str) -> None:
    """In place and not, the result and the noise."""

    def case(T: Any, x: Any) -> Any:
        def noise(x: Any, noise: Any, *arguments: Any) -> Any:
            T.manual_seed(3)
            result = T.ops.aten.rrelu_with_noise(x, noise, *arguments)
            T.manual_seed(3)
            return result, noise, T.ops.aten.rrelu_with_noise_(x, noise, *arguments)

        T.manual_seed(0)
        return eval(line, {"T": T, "x": x, "F": T.nn.functional, "noise": noise})

    check(case, message=False)


@pytest.mark.parametrize("line", GRADIENTS)
def test_gradients_like_pytorch(line: str) -> None:
    check_gradients(gradient(line))


def test_padding_as_numpy_does_it() -> None:
    a = np.arange(12.0).reshape(1, 3, 4)
    for ours, theirs in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        padded = T.nn.functional.pad(T.tensor(a)[None], (1, 2, 2, 0), ours)
        np.testing.assert_array_equal(
            padded.numpy()[0], np.pad(a, [(0, 0), (2, 0), (1, 2)], theirs)
        )


def test_the_noise_is_saved_when_it_is_there() -> None:
    """The node keeps the slopes that were drawn, and notices when somebody writes over them."""
    x, noise = T.tensor([-1.0, 2.0], requires_grad=True), T.zeros(2)
    result = T.ops.aten.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    (grad,) = T.autograd.grad(result.sum(), x, retain_graph=True)
    assert grad.tolist() == noise.tolist() and noise[1] == 1
    noise.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
