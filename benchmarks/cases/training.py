"""What one step of training costs: forward, backward, update.

Two networks. The 784-128-10 perceptron on a batch of 64 has enough arithmetic for it to count;
micrograd's two-moons demo (https://github.com/karpathy/micrograd, `demo.ipynb`) has hardly any, so
the bookkeeping counts. All sides begin with the same weights and take the same steps. numpy's side
is the arithmetic alone, with the gradients written out by hand: what a framework adds is the
distance to it. `a + b` is there because recording one operation is where it begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import internals
from benchmarks import peers
from benchmarks.cases.small_ops import plus
from benchmarks.harness import OURS, Absent, Call, Case

TITLE = "Training"
ABOUT = (
    "One step: forward, backward, update; one thread. numpy's side is the arithmetic alone, with "
    "the gradients written out by hand."
)
RATE = 0.1
PENALTY = 1e-4
WARM_UP = 3  # steps that tinygrad's TinyJit takes before it repeats what it has captured


def cases() -> list[Case]:
    """The two networks, and the sum of two small tensors of which one wants a gradient."""
    ones = np.ones(4, np.float32)
    return [
        Case(
            "MLP 784-128-10, step",
            lambda: digits_sides(digits_weights()),
            reference=lambda: digits_by_hand(digits_weights(), np.float64)(),
            goals={"torch": 0.7},
            rounds=100,
        ),
        Case(
            "micrograd's moons, step",
            lambda: moons_sides(moons_weights()),
            reference=lambda: moons_by_hand(moons_weights(), np.float64)(),
            goals={"micrograd": 1 / 300},
            rounds=9,
        ),
        Case(
            "a + b, 4 floats, with gradient",
            lambda: {**in_libraries(lambda T: plus(leaf(T), leaf(T))), "numpy": plus(ones, ones)},
            reference=lambda: np.full(4, 2.0),
            goals={"torch": 1.0},
            rounds=200,
        ),
    ]


def in_libraries(make: Callable[[Any], Call]) -> dict[str, Call | Absent]:
    torch = peers.library("torch")
    return {OURS: make(internals), "torch": make(torch) if torch else peers.not_installed("torch")}


def leaf(T: Any) -> Any:
    return T.ones(4, requires_grad=True)


# The perceptron: 784 inputs, 128 hidden units, 10 classes


def digits_weights() -> list[Any]:
    return [w * 0.05 for w in normal((128, 784), (128,), (10, 128), (10,))]


def digits_batch() -> tuple[Any, Any]:
    (images,) = normal((64, 784))
    return images, np.arange(64) % 10


def digits_sides(weights: list[Any]) -> dict[str, Call | Absent]:
    sides = in_libraries(lambda T: digits_step(T, weights))
    return sides | {"tinygrad": digits_in_tinygrad(weights), "numpy": digits_by_hand(weights)}


def digits_step(T: Any, weights: list[Any]) -> Call:
    model = T.nn.Sequential(T.nn.Linear(784, 128), T.nn.ReLU(), T.nn.Linear(128, 10))
    set_weights(T, model, weights)
    optimizer = T.optim.SGD(model.parameters(), lr=RATE)
    criterion = T.nn.CrossEntropyLoss()
    images, labels = (T.tensor(a) for a in digits_batch())

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def digits_in_tinygrad(weights: list[Any]) -> Call | Absent:
    """The whole step under `TinyJit`. It needs some steps to capture, after which the weights are
    set back.
    """
    if (reason := peers.tinygrad_lacks()) is not None:
        return Absent(reason)
    from tinygrad import Context, Device, Tensor, TinyJit, nn

    parameters = [Tensor(w).realize() for w in weights]
    optimizer = nn.optim.SGD(parameters, lr=RATE)
    images, labels = (Tensor(a).realize() for a in digits_batch())
    device = Device[Device.DEFAULT]

    @TinyJit
    def captured() -> Any:
        optimizer.zero_grad()
        w1, b1, w2, b2 = parameters
        loss = (images.linear(w1.T, b1).relu().linear(w2.T, b2)).sparse_categorical_crossentropy(
            labels
        )
        loss.backward()
        return loss.realize(*optimizer.schedule_step())

    with Context(TRAINING=1):
        for _ in range(WARM_UP):
            captured()
    for parameter, w in zip(parameters, weights):
        parameter.assign(Tensor(w)).realize()

    def step() -> object:
        with Context(TRAINING=1):
            loss = captured()
        device.synchronize()
        return loss

    return step


def digits_by_hand(weights: list[Any], dtype: Any = np.float32) -> Call:
    w1, b1, w2, b2 = (w.astype(dtype) for w in weights)  # copies
    images, labels = digits_batch()
    images = images.astype(dtype)
    rows = np.arange(64)

    def step() -> Any:
        hidden = np.maximum(images @ w1.T + b1, 0)
        scores = hidden @ w2.T + b2
        scores -= scores.max(1, keepdims=True)
        exponentials = np.exp(scores)
        sums = exponentials.sum(1, keepdims=True)
        loss = (np.log(sums[:, 0]) - scores[rows, labels]).mean()
        gradient = exponentials / sums
        gradient[rows, labels] -= 1
        gradient /= 64
        back = (gradient @ w2) * (hidden > 0)
        for w, g in (
            (w1, back.T @ images),
            (b1, back.sum(0)),
            (w2, gradient.T @ hidden),
            (b2, gradient.sum(0)),
        ):
            g *= RATE
            w -= g
        return loss

    return step


# micrograd's demo: 2 inputs, twice 16 hidden units, 1 score; margins; a penalty on the weights


def moons(n: int = 100) -> tuple[Any, Any]:
    """Two half circles that reach into each other, with noise, and labels of -1 and 1."""
    angle = np.linspace(0, np.pi, n // 2)
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.concatenate([upper, lower]) + np.random.default_rng(1).normal(0, 0.1, (n, 2))
    return points.astype(np.float32), np.repeat(np.array([-1, 1], np.float32), n // 2)


def moons_weights() -> list[Any]:
    w1, w2, w3 = (0.5 * w for w in normal((16, 2), (16, 16), (1, 16)))
    return [w1, zeros(16), w2, zeros(16), w3, zeros(1)]


def moons_sides(weights: list[Any]) -> dict[str, Call | Absent]:
    sides = in_libraries(lambda T: moons_step(T, weights))
    return sides | {"numpy": moons_by_hand(weights), "micrograd": moons_in_micrograd(weights)}


def moons_step(T: Any, weights: list[Any]) -> Call:
    layers = [T.nn.Linear(2, 16), T.nn.ReLU(), T.nn.Linear(16, 16), T.nn.ReLU(), T.nn.Linear(16, 1)]
    model = T.nn.Sequential(*layers)
    set_weights(T, model, weights)
    parameters = list(model.parameters())
    optimizer = T.optim.SGD(parameters, lr=RATE)
    points, labels = (T.tensor(a) for a in moons())

    def step() -> Any:
        optimizer.zero_grad()
        scores = model(points)[:, 0]
        loss = (1 - labels * scores).relu().mean() + PENALTY * sum(
            (p * p).sum() for p in parameters
        )
        loss.backward()
        optimizer.step()
        return loss

    return step


def moons_by_hand(weights: list[Any], dtype: Any = np.float32) -> Call:
    weights = [w.astype(dtype) for w in weights]  # copies
    w1, b1, w2, b2, w3, b3 = weights
    points, labels = (a.astype(dtype) for a in moons())

    def step() -> Any:
        first = np.maximum(points @ w1.T + b1, 0)
        second = np.maximum(first @ w2.T + b2, 0)
        margins = np.maximum(1 - labels * (second @ w3.T + b3)[:, 0], 0)
        loss = margins.mean() + PENALTY * sum((w * w).sum() for w in weights)
        g3 = (np.where(margins > 0, -labels, dtype(0)) / len(labels))[:, None]
        g2 = (g3 @ w3) * (second > 0)
        g1 = (g2 @ w2) * (first > 0)
        gradients = [g1.T @ points, g1.sum(0), g2.T @ first, g2.sum(0), g3.T @ second, g3.sum(0)]
        for w, g in zip(weights, gradients):
            w -= RATE * (g + 2 * PENALTY * w)
        return loss

    return step


def moons_in_micrograd(weights: list[Any]) -> Call | Absent:
    """The demo as it stands in micrograd's notebook, number by number."""
    if not peers.installed("micrograd"):
        return peers.not_installed("micrograd")
    from micrograd.engine import Value
    from micrograd.nn import MLP

    model = MLP(2, [16, 16, 1])
    for layer, w, b in zip(model.layers, weights[0::2], weights[1::2]):
        for neuron, row, bias in zip(layer.neurons, w.tolist(), b.tolist()):
            neuron.b.data = bias
            for value, number in zip(neuron.w, row):
                value.data = number
    points, labels = (a.tolist() for a in moons())

    def step() -> Any:
        inputs = [list(map(Value, point)) for point in points]
        scores = list(map(model, inputs))
        losses = [(1 + -label * score).relu() for label, score in zip(labels, scores)]
        loss = sum(losses) * (1.0 / len(losses)) + PENALTY * sum(p * p for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= RATE * p.grad
        return loss.data

    return step


# Helpers


def normal(*shapes: tuple[int, ...]) -> list[Any]:
    stream = np.random.default_rng(0)
    return [stream.standard_normal(shape).astype(np.float32) for shape in shapes]


def zeros(n: int) -> Any:
    return np.zeros(n, np.float32)


def set_weights(T: Any, model: Any, weights: list[Any]) -> None:
    with T.no_grad():
        for p, w in zip(model.parameters(), weights, strict=True):
            p.copy_(T.tensor(w))
