"""The negative log likelihood (`aten/src/ATen/native/cuda/Loss.cu`, `NLLLoss2d.cu`).

Targets are (N, inner), where `inner` is 1 or the pixels of an image. Each names a class, and so
picks one log-probability out of (N, C, inner). A sum or a mean over them is a reduction whose
accumulator is a pair, the loss and the weight, and whose elements are found through the target
(`absorb_target` is an `absorb` for `reduction.reduce`). The gradient is 0 except at the elements
that were picked.

How the real one differs: it reduces matrices by one block, images with atomic additions.
"""

from __future__ import annotations

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .accumulators import Pair
from .assertion import check
from .copy import split

T = template("T")  # the type to compute in
OUT = template("OUT")  # the type of the result
weight_of = template("weight_of")  # weight_of(weight, t)
grad_of = template("grad_of")  # grad_of(grad, i): the gradient of the i-th loss
divisor = template("divisor")  # divisor(total)


@device_function
def place_of(i: int, t: int, classes: int, inner: int):
    """The offset in (N, classes, inner) of class `t` for the i-th target. Fails if there is no such
    class.
    """
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
    """The loss of each target: out[i] = -source[class] * weight[class], or 0 for an ignored one."""
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
    acc: Pair,
    source: Elements,
    target: Elements,
    weight: Elements,
    at: int,
    i: int,
    numbers: tuple[Element, ...],
):
    """Adds the loss and weight of target i to `acc`, (sum of losses, sum of weights). `numbers`
    are the class to ignore, the number of classes and `inner`.
    """
    t = target[i]
    if t == numbers[0]:
        return acc
    place = place_of(i, t, numbers[1], numbers[2])  # checks the class
    w = weight_of(weight, t)
    return acc[0] - T(source[place]) * w, acc[1] + w


@device_function
def nothing():
    """The accumulator of no targets."""
    return T(0), T(0)


@device_function
def write_sum(
    out: Elements,
    total: Elements,
    third: Elements,
    at: int,
    acc: Pair,
    numbers: tuple[Element, ...],
):
    """Writes the sum of the losses, and the total weight, which the gradient needs."""
    out[at] = OUT(acc[0])
    total[at] = OUT(acc[1])


@device_function
def write_mean(
    out: Elements,
    total: Elements,
    third: Elements,
    at: int,
    acc: Pair,
    numbers: tuple[Element, ...],
):
    """Writes the weighted mean, NaN if all targets are ignored (0 / 0), and the total weight."""
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
    """Writes -grad * weight / divisor where each target picked an element of (N, classes, inner);
    `out` is zero before.
    """
    i = cuda.grid(1)
    while i < n:
        t = target[i]
        if t != ignored:
            place = place_of(i, t, classes, inner)  # checks the class
            out[place] = OUT(-grad_of(grad, i) * weight_of(weight, t) / divisor(total))
        i += cuda.gridsize(1)


@device_function
def its_own(array: Elements, i: int):
    """`grad_of` without a reduction, and `weight_of`: element i of the array."""
    return T(array[i])


@device_function
def the_only_one(array: Elements, i: int):
    """`grad_of` of a sum or a mean, whose gradient is a single number."""
    return T(array[0])


@device_function
def no_weight(array: Elements, i: int):
    """`weight_of` where no weights are given."""
    return T(1)


@device_function
def first_of(total: Elements):
    """`divisor` of a mean: the total weight."""
    return T(total[0])


@device_function
def undivided(total: Element):
    """`divisor` where there is no mean."""
    return T(1)
