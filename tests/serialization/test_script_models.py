"""The model zoo, scripted, traced, frozen and prepared for inference: real PyTorch loads each and
gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import internals
from internals import jit, models
from internals.jit.frontend.recursive import RecursiveScriptModule
from tests.answers import answer
from tests.serialization.archives import comparable, loaded_by_pytorch, records, reloaded, saved
from tests.support import full, to_torch

pytestmark = pytest.mark.sampled(1 / 2)

SMALL_VIT = {
    "image_size": 16,
    "patch_size": 8,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "mlp_dim": 16,
    "num_classes": 5,
}
SMALL_GPT = models.GPTConfig(vocab_size=17, block_size=8, n_layer=2, n_head=2, n_embd=8)

MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "resnet": (
        lambda: models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=4),
        lambda: internals.randn(1, 3, 32, 32),
    ),
    "mobilenet_v2": (
        lambda: models.MobileNetV2(
            num_classes=10, inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2]]
        ),
        lambda: internals.randn(1, 3, 32, 32),
    ),
    "vit": (lambda: models.VisionTransformer(**SMALL_VIT), lambda: internals.randn(1, 3, 16, 16)),
    "gpt": (lambda: models.GPT(SMALL_GPT), lambda: internals.randint(0, 17, (2, 8))),
}
if full():
    MODELS |= {
        "resnet18": (models.resnet18, lambda: internals.randn(1, 3, 64, 64)),
        "resnet50": (models.resnet50, lambda: internals.randn(1, 3, 224, 224)),
        "whole mobilenet_v2": (models.mobilenet_v2, lambda: internals.randn(1, 3, 224, 224)),
        "vit_b_16": (models.vit_b_16, lambda: internals.randn(1, 3, 224, 224)),
    }

COMPILED: dict[str, Callable[[Any, Any], Any]] = {
    "scripted": lambda m, x: jit.script(m),
    "traced": lambda m, x: jit.trace(m, x, check_trace=False),
    "frozen": lambda m, x: jit.freeze(jit.script(m)),
    "for inference": lambda m, x: jit.optimize_for_inference(jit.script(m)),
}
# A GPT without targets returns (logits, None), which no trace can.
CASES = [(name, how) for name in MODELS for how in COMPILED if (name, how) != ("gpt", "traced")]


@cache
def compiled(name: str, how: str) -> tuple[Any, Any]:
    internals.manual_seed(0)
    make, example = MODELS[name]
    x = example()
    return COMPILED[how](make().eval(), x), x


def tensors(result: Any) -> list[Any]:
    """The tensors of a result, as numpy arrays."""
    parts = result if isinstance(result, tuple) else (result,)
    return [t.detach().numpy() for t in parts if t is not None]


def assert_close(a: Any, b: Any) -> None:
    assert len(tensors(a)) == len(tensors(b))
    for x, y in zip(tensors(a), tensors(b)):
        assert x.shape == y.shape and abs(x - y).max() <= 1e-4 * max(1.0, abs(x).max())


@pytest.mark.sampled(1 / 8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, how", CASES, ids=[f"{name}, {how}" for name, how in CASES])
def test_pytorch_runs_it(name: str, how: str) -> None:
    ours, x = compiled(name, how)
    data = saved(ours)

    def ask(torch: Any) -> Any:
        theirs = loaded_by_pytorch(torch, data)
        with torch.no_grad():
            return theirs(to_torch(x)), list(theirs.state_dict()) if how in (
                "scripted",
                "traced",
            ) else None

    result, names = answer(ask, about=sorted(comparable(data)), family="archives")
    with internals.no_grad():
        assert_close(result, ours(x))
    assert names is None or names == list(ours.state_dict())


@pytest.mark.sampled(1 / 8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, how", CASES, ids=[f"{name}, {how}" for name, how in CASES])
def test_it_comes_back(name: str, how: str) -> None:
    ours, x = compiled(name, how)
    again = reloaded(ours)
    assert isinstance(again, RecursiveScriptModule)
    with internals.no_grad():
        assert_close(again(x), ours(x))


def test_a_model_in_training_goes_on_training() -> None:
    internals.manual_seed(0)
    nn = internals.nn
    m = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)
    ).double()
    ours = jit.script(m)
    data, x = saved(ours), internals.randn(5, 1, 6, 6, dtype=internals.float64)

    def train(module: Any, given: Any) -> Any:
        module(given).square().sum().backward()
        return [p.grad for p in module.parameters()], list(module.buffers())

    def ask(torch: Any) -> Any:
        return train(loaded_by_pytorch(torch, data), to_torch(x))

    gradients, buffers = answer(ask, about=sorted(comparable(data)), family="archives")
    mine, written = train(ours, x)
    for a, b in zip(mine, gradients, strict=True):
        assert abs(a.numpy() - b.numpy()).max() < 1e-9
    for a, b in zip(written, buffers, strict=True):
        assert abs(a.numpy() - b.numpy()).max() < 1e-12


def test_every_parameter_is_stored_once() -> None:
    m = jit.script(models.GPT(SMALL_GPT))
    data = records(saved(m))
    storages = {id(t.untyped_storage()) for t in (*m.parameters(), *m.buffers())}
    assert len([name for name in data if name.startswith("data/")]) == len(storages)
