"""Convolution against its definition, its adjoint, and its gradients against PyTorch's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from internals import jit
from internals._generated import ops
from internals.nn import functional as F
from tests.answers import answer
from tests.side_by_side import ours
from tests.support import assert_same, assert_same_outcome, examples, to_numpy, to_torch


def by_definition(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Convolution as a loop over output places, in numpy: slow and plainly right."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    kernel = w.shape[2:]
    places = [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *places), x.dtype)
    per_group = w.shape[0] // groups
    for o in range(w.shape[0]):
        channels = slice(o // per_group * w.shape[1], (o // per_group + 1) * w.shape[1])
        for place in product(*map(range, places)):
            window = tuple(
                slice(i * s, i * s + d * (k - 1) + 1, d)
                for i, s, d, k in zip(place, stride, dilation, kernel)
            )
            y[(slice(None), o, *place)] = (x[(slice(None), channels, *window)] * w[o]).sum(
                tuple(range(1, x.ndim))
            )
    return y


@st.composite
def geometries(draw: Any) -> tuple[Any, ...]:
    """Input and weight sizes with stride, padding and dilation that leave at least one place; two
    spatial dimensions.
    """
    groups = draw(st.integers(1, 3))
    small = st.tuples(st.integers(1, 3), st.integers(1, 3))
    kernel, stride, dilation = (
        draw(small),
        draw(small),
        draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
    )
    padding = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    least = [max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, kernel, padding)]
    sizes = [n + draw(st.integers(0, 4)) for n in least]
    x = (draw(st.integers(1, 2)), groups * draw(st.integers(1, 2)), *sizes)
    w = (groups * draw(st.integers(1, 2)), x[1] // groups, *kernel)
    return x, w, stride, padding, dilation, groups


@given(geometries())
@examples(30)
def test_definition(geometry: tuple[Any, ...]) -> None:
    x_sizes, w_sizes, stride, padding, dilation, groups = geometry
    x, w = ours()(*x_sizes, dtype="float64"), ours()(*w_sizes, dtype="float64")
    result = F.conv2d(x, w, None, stride, padding, dilation, groups)
    assert_same(result, by_definition(to_numpy(x), to_numpy(w), stride, padding, dilation, groups))


@given(geometries())
@examples(30)
def test_the_transposed_convolution_is_the_adjoint(geometry: tuple[Any, ...]) -> None:
    """<conv(x), y> = <x, conv_transpose(y)> for all x and y."""
    x_sizes, w_sizes, stride, padding, dilation, groups = geometry
    make = ours()
    x, w = make(*x_sizes, dtype="float64"), make(*w_sizes, dtype="float64")
    forward = F.conv2d(x, w, None, stride, padding, dilation, groups)
    y = make(*forward.shape, dtype="float64")
    spans = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1
        for n, s, p, d, k in zip(y.shape[2:], stride, padding, dilation, w_sizes[2:])
    ]
    extra = [n - span for n, span in zip(x_sizes[2:], spans)]
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)) or min(spans) < 1:
        return
    back = F.conv_transpose2d(y, w, None, stride, padding, extra, groups, dilation)
    assert back.shape == x.shape
    np.testing.assert_allclose(
        (to_numpy(forward) * to_numpy(y)).sum(), (to_numpy(x) * to_numpy(back)).sum(), atol=1e-9
    )


def test_depthwise() -> None:
    """Seed 004's case: as many groups as channels, each with a kernel of its own."""
    x, w = ours()(2, 6, 5, 7, dtype="float64"), ours()(6, 1, 3, 3, dtype="float64")
    result = to_numpy(F.conv2d(x, w, groups=6))
    for c in range(6):
        one = F.conv2d(x[:, c : c + 1], w[c : c + 1])
        np.testing.assert_allclose(result[:, c : c + 1], to_numpy(one), atol=1e-12)


BACKWARD = {
    "plain": ((2, 3, 5, 6), (4, 3, 3, 2), [1, 1], [0, 0], [1, 1], 1),
    "all parameters": ((2, 4, 8, 9), (6, 2, 3, 2), [2, 1], [1, 2], [1, 2], 2),
    "depthwise": ((2, 4, 6, 6), (4, 1, 3, 3), [1, 1], [1, 1], [1, 1], 4),
    "unused border": ((1, 2, 6, 6), (3, 2, 3, 3), [2, 2], [0, 0], [1, 1], 1),
    "one dimension": ((2, 3, 9), (4, 3, 3), [2], [1], [1], 1),
}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", BACKWARD)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_backward(name: str, transposed: bool, dtype: str) -> None:
    x_sizes, w_sizes, stride, padding, dilation, groups = BACKWARD[name]
    if transposed:
        x_sizes = (x_sizes[0], w_sizes[0], *x_sizes[2:])
    make = ours()
    x, w = make(*x_sizes, dtype=dtype), make(*w_sizes, dtype=dtype)
    rest = (stride, padding, dilation, transposed, [0] * len(stride), groups)
    dy = make(*ops.convolution(x, w, None, *rest).shape, dtype=dtype)
    channels = [w_sizes[1] * groups if transposed else w_sizes[0]]
    tolerance = {"rtol": 2e-2, "atol": 5e-2} if dtype == "float16" else {"rtol": 1e-4, "atol": 1e-4}
    for mask in ([True, True, True], [False, True, False]):
        mine = ops.convolution_backward(dy, x, w, channels, *rest, mask)
        given = (channels, *rest, mask)
        theirs = answer(
            lambda torch, given=given: torch.ops.aten.convolution_backward(
                *map(to_torch, (dy, x, w)), *given
            ),
            family="layers",
        )
        assert_same(mine, theirs, **tolerance)


def test_the_gradient_of_the_weight_is_what_the_output_changes_by() -> None:
    """Linear in the weight: the change of <y, dy> is <dw, change of w>, exactly."""
    make = ours()
    x, w, step = (
        make(2, 4, 6, 5, dtype="float64"),
        make(6, 2, 3, 2, dtype="float64"),
        make(6, 2, 3, 2, dtype="float64"),
    )
    rest = ([2, 1], [1, 0], [1, 2], False, [0, 0], 2)
    y = ops.convolution(x, w, None, *rest)
    dy = make(*y.shape, dtype="float64")
    dw = ops.convolution_backward(dy, x, w, None, *rest, [False, True, False])[1]
    change = to_numpy(ops.convolution(x, w + step, None, *rest)) - to_numpy(y)
    np.testing.assert_allclose(
        (change * to_numpy(dy)).sum(), (to_numpy(dw) * to_numpy(step)).sum(), rtol=1e-9
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "compiled", [lambda m: m, jit.script, lambda m: jit.freeze(jit.script(m.eval()))]
)
def test_nothing_comes_of_no_channels(compiled: Any, dims: int) -> None:
    """PyTorch, too, then gives no channels, though the weight has 8."""
    layer = getattr(internals.nn, f"Conv{dims}d")(0, 8, 2)
    for _ in range(2):
        y = compiled(layer)(internals.ones(3, 0, *[4] * dims))
        assert y.shape == (3, 0, *[3] * dims)
    if y.requires_grad:
        y.sum().backward()
        assert layer.bias.grad.tolist() == [0] * 8 and layer.weight.grad.shape == layer.weight.shape


EMPTY = [
    ((2, 0, 4), (8, 0, 2), 8), ((0, 0, 4), (8, 0, 2), None), ((0, 4), (8, 0, 2), 8),
    ((2, 0, 4), (8, 0, 0), 8), ((0, 2, 4), (8, 2, 2), 8), ((2, 3, 4), (4, 3, 0), 4),
    ((2, 3, 0), (4, 3, 2), 4), ((2, 3, 4), (0, 3, 2), 0),
]  # fmt: skip


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize(("x", "w", "b"), EMPTY)
def test_tensors_without_elements(
    x: Any, w: Any, b: Any, padding: int, transposed: bool, dims: int
) -> None:
    def gradients(T: Any) -> Any:
        more = dims - 1
        weight = (w[1], w[0]) if transposed else (w[0], w[1])
        sizes = (*x, *x[-1:] * more), (*weight, *w[-1:] * (1 + more)), b
        inputs = [
            None if n is None else T.ones(n, dtype=T.float64, requires_grad=True) for n in sizes
        ]
        y = getattr(T.nn.functional, f"conv{'_transpose' * transposed}{dims}d")(
            *inputs, padding=padding
        )
        y.sum().backward()
        return [y, *(t.grad for t in inputs if t is not None)]

    assert_same_outcome(lambda: gradients(internals), gradients, message=False, family="layers")


def test_it_is_a_hidden_operator() -> None:
    assert not hasattr(internals, "convolution_backward")
    assert internals.ops.aten.convolution_backward.overloads() == ["default"]
