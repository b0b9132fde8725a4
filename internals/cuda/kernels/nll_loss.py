"""The negative log likelihood (`aten/src/ATen/native/cuda/Loss.cu`, `NLLLoss2d.cu`).

Each target names a class, and picks one log-probability out of (N, C, inner). A sum or a mean over
them is a reduction whose accumulator is a pair, the loss and the weight, and whose elements are
found through the target (`absorb_target` is an `absorb` for `reduction.reduce`). The gradient is 0
but at the elements that were picked.

How the real one differs: matrices are reduced by one block, images with atomic additions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..language import cuda, device_function, kernel, template
from .assertion import check
from .copy import split

if TYPE_CHECKING:
    from internals.machine_code.records import Element, Elements

T = template("T")  # the type to compute in
OUT = template("OUT")  # the type of the result
weight_of = template("weight_of")  # weight_of(weight, t)
grad_of = template("grad_of")  # grad_of(grad, i): the gradient of the i-th loss
divisor = template("divisor")  # divisor(total)


@device_function
def place_of(i: int, t: int, classes: int, inner: int):
    """Where in (N, classes, inner) class `t` of the i-th target lies."""
    check(0 <= t < classes)
    image, at = split(i, inner)
    return (image * classes + t) * inner + at


@kernel
def pick(
    out: Elements,
    source: Elements,
    target: Elements,
    weight: Elements,
    n: int,
    ignored: int,
    classes: int,
    inner: int,
):
    """The loss of each target."""
    i = cuda.grid(1)
    while i < n:
        t = target[i]
        if t == ignored:
            out[i] = OUT(0)
        else:
            out[i] = OUT(-T(source[place_of(i, t, classes, inner)]) * weight_of(weight, t))
        i += cuda.gridsize(1)


@device_function
def absorb_target(
    acc: Elements,
    source: Elements,
    target: Elements,
    weight: Elements,
    at: int,
    i: int,
    numbers: tuple[Element, ...],
):
    """(losses, weights), with those of target number i. `numbers` are the class to ignore, the
    classes and `inner`.
    """
    t = target[i]
    if t == numbers[0]:
        return acc
    place = place_of(i, t, numbers[1], numbers[2])  # checks the class
    w = weight_of(weight, t)
    return acc[0] - T(source[place]) * w, acc[1] + w


@device_function
def nothing():
    return T(0), T(0)


@device_function
def write_sum(
    out: Elements,
    total: Elements,
    third: Elements,
    at: int,
    acc: Elements,
    numbers: tuple[Element, ...],
):
    out[at] = OUT(acc[0])
    total[at] = OUT(acc[1])


@device_function
def write_mean(
    out: Elements,
    total: Elements,
    third: Elements,
    at: int,
    acc: Elements,
    numbers: tuple[Element, ...],
):
    out[at] = OUT(acc[0] / acc[1])
    total[at] = OUT(acc[1])


@kernel
def put(
    out: Elements,
    grad: Elements,
    target: Elements,
    weight: Elements,
    total: Element,
    n: int,
    ignored: int,
    classes: int,
    inner: int,
):
    """The gradient of each loss, weighted, where it was picked; `out` is zero."""
    i = cuda.grid(1)
    while i < n:
        t = target[i]
        if t != ignored:
            place = place_of(i, t, classes, inner)  # checks the class
            out[place] = OUT(-grad_of(grad, i) * weight_of(weight, t) / divisor(total))
        i += cuda.gridsize(1)


@device_function
def its_own(array: Elements, i: int):
    return T(array[i])


@device_function
def the_only_one(array: Elements, i: int):
    return T(array[0])


@device_function
def no_weight(array: Elements, i: int):
    return T(1)


@device_function
def first_of(total: Elements):
    return T(total[0])


@device_function
def undivided(total: Element):
    return T(1)
