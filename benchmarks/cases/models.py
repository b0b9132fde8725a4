"""Whole networks: ResNet-18, MobileNet-v2 and a small Vision Transformer answer; ResNet-18 takes a
step of training.

Both libraries run the same source: our `internals/models` is ordinary PyTorch code, so PyTorch's
side is that code with the name of the library exchanged, and our weights. The right answers are
PyTorch's in float64 (our own in float64 where it is not installed).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import internals
from benchmarks import peers
from benchmarks.harness import OURS, Absent, Call, Case
from internals import models

TITLE = "Networks"
ABOUT = (
    "Images of 224 x 224, weights at random but the same for all. Optimised: "
    "`internals.jit.optimize`, beside PyTorch's eager mode, `torch.compile` with freezing, and "
    "TorchScript frozen and prepared by `optimize_for_inference`."
)
TRAINING_BATCH, TRAINING_SIDE, RATE = 8, 64, 0.01
# In float32 one ReLU in a million gets its input on the other side of zero, which changes the first
# layer's gradient by up to a percent, in either library; in float64 ours agrees with PyTorch's to
# thirteen digits (tests/benchmarks/test_cases.py).
KINKS = 0.01


@dataclass(frozen=True)
class Network:
    """How a network is made, given `internals.models` or its twin, and what is promised of it."""

    name: str
    make: Callable[[Any], Any]
    batches: tuple[int, ...] = (1,)
    optimised: Mapping[str, float] | None = None
    eager: Mapping[str, float] | None = None


NETWORKS = (
    Network(
        "ResNet-18",
        lambda m: m.resnet18(),
        batches=(1, 8),
        optimised={"torch": 0.5, "torch.compile": 0.9},
        eager={"torch": 1.3},
    ),
    Network("MobileNet-v2", lambda m: m.mobilenet_v2(), optimised={"torch": 1.0}),
    Network("ViT tiny", lambda m: m.vit_tiny(), optimised={"torch": 1.0}),
)


def cases() -> list[Case]:
    """Answers, optimised and eager, on one and two threads; the step of training."""
    found = []
    for network in NETWORKS:
        for batch in network.batches:
            for threads in (1, 2):
                found += answers(network, batch, threads)
    step = Case(
        f"ResNet-18, step of training, batch {TRAINING_BATCH}, {TRAINING_SIDE} x {TRAINING_SIDE}",
        training_sides,
        reference=training_reference,
        tolerance=KINKS,
        goals={"torch": 2.0},
        clock="cpu",
        rounds=20,
    )
    return [*found, step]


def answers(network: Network, batch: int, threads: int) -> list[Case]:
    shared: dict[str, Any] = {
        "reference": partial(right_answer, network.name, batch),
        "tolerance": 1e-4,
        "threads": threads,
        "clock": "cpu" if threads == 1 else "wall",
        "rounds": 40,
        "full": batch > 1 or threads > 1,
    }
    where = f"{network.name}, batch {batch}, {threads} thread{'s' * (threads > 1)}"
    optimised, eager = dict(network.optimised or {}), dict(network.eager or {})
    return [
        Case(
            f"{where}, optimised",
            partial(optimised_sides, network.name, batch),
            goals=optimised,
            **shared,
        ),
        Case(f"{where}, eager", partial(eager_sides, network.name, batch), goals=eager, **shared),
    ]


def optimised_sides(name: str, batch: int) -> dict[str, Call | Absent]:
    ours, images = ready(name), pictures(batch)
    made: dict[str, Call | Absent] = {OURS: peers.optimized(ours, [internals.tensor(images)])}
    if (torch := peers.library("torch")) is None:
        return made | {"torch": peers.not_installed("torch")}
    theirs, inputs = twin(name), [torch.tensor(images)]
    return made | {
        "torch": without_gradients(torch, theirs, *inputs),
        "torch.compile": peers.torch_compiled(theirs, inputs, freezing=True),
        "TorchScript": peers.torch_scripted(theirs, inputs),
    }


def eager_sides(name: str, batch: int) -> dict[str, Call | Absent]:
    images = pictures(batch)
    made: dict[str, Call | Absent] = {
        OURS: without_gradients(internals, ready(name), internals.tensor(images)),
        "torch": peers.not_installed("torch"),
    }
    if torch := peers.library("torch"):
        made["torch"] = without_gradients(torch, twin(name), torch.tensor(images))
    return made


def without_gradients(T: Any, model: Any, *inputs: Any) -> Call:
    def call() -> object:
        with T.no_grad():
            return model(*inputs)

    return call


def right_answer(name: str, batch: int) -> Any:
    images = pictures(batch).astype(np.float64)
    torch = peers.library("torch")
    T, model = (torch, twin.__wrapped__(name)) if torch else (internals, ready.__wrapped__(name))
    with T.no_grad():
        return model.double()(T.tensor(images))


# A step of training, with batch norm on the batch's own statistics


def training_sides() -> dict[str, Call | Absent]:
    made: dict[str, Call | Absent] = {
        OURS: training_step(internals, ready.__wrapped__("ResNet-18")),
        "torch": peers.not_installed("torch"),
    }
    if torch := peers.library("torch"):
        made["torch"] = training_step(torch, twin.__wrapped__("ResNet-18"))
    return made


def training_reference() -> object:
    torch = peers.library("torch")
    T, model = (
        (torch, twin.__wrapped__("ResNet-18"))
        if torch
        else (internals, ready.__wrapped__("ResNet-18"))
    )
    return training_step(T, model.double(), np.float64)()


def training_step(T: Any, model: Any, dtype: Any = np.float32) -> Call:
    """A call returns the loss and the first convolution's gradient, which has come through all
    layers.
    """
    model.train().requires_grad_(True)
    optimizer = T.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    criterion = T.nn.CrossEntropyLoss()
    images = T.tensor(pictures(TRAINING_BATCH, TRAINING_SIDE).astype(dtype))
    labels = T.tensor(np.arange(TRAINING_BATCH))

    def step() -> object:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        return [loss, model.conv1.weight.grad]

    return step


# The networks


@cache
def ready(name: str) -> Any:
    """Ours, ready to answer, with weights and statistics that make every layer matter."""
    internals.manual_seed(0)
    model = network_called(name).make(models)
    stream = np.random.default_rng(0)
    for key, value in model.state_dict().items():
        if key.endswith("running_mean"):
            value.copy_(internals.tensor(0.1 * stream.standard_normal(value.shape, np.float32)))
        elif key.endswith("running_var"):
            value.copy_(
                internals.tensor(stream.uniform(0.8, 1.2, tuple(value.shape)).astype(np.float32))
            )
        elif value.is_floating_point() and not value.any():
            # biases, and ViT's last layer: all answers would be zero
            value.copy_(internals.tensor(0.02 * stream.standard_normal(value.shape, np.float32)))
    return model.eval().requires_grad_(False)


@cache
def twin(name: str) -> Any:
    """PyTorch's network with the same weights."""
    import torch

    model = network_called(name).make(our_models_in_torch())
    model.load_state_dict(
        {
            key: torch.from_numpy(value.numpy().copy())
            for key, value in ready(name).state_dict().items()
        }
    )
    return model.eval().requires_grad_(False)


@cache
def our_models_in_torch() -> SimpleNamespace:
    """The files of `internals/models` with the name of the library exchanged, all their names in
    one place.
    """
    names: dict[str, Any] = {}
    for file in ("_blocks", "mobilenetv2", "resnet", "vision_transformer"):
        source = Path(models.__file__).with_name(f"{file}.py").read_text()
        source = source.replace("internals.models.", "our_models_in_torch.").replace(
            "internals", "torch"
        )
        module = ModuleType(f"our_models_in_torch.{file}")
        sys.modules[module.__name__] = module  # where the files after it look
        exec(compile(source, f"{file}.py, with torch", "exec"), module.__dict__)
        names |= vars(module)
    return SimpleNamespace(**names)


def network_called(name: str) -> Network:
    return next(network for network in NETWORKS if network.name == name)


def pictures(batch: int, side: int = 224) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((batch, 3, side, side), np.float32)
