"""Whole models: made of what torchvision's are made of, and computing what those compute, forwards
and backwards.

`golden/models/*.txt` says what torchvision's are made of, so that this is tested where it is not
installed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals import models
from internals.nn import functional as F
from tests.answers import answer, oracle
from tests.models.golden_models import (
    FOLDER,
    MODELS,
    OURS_ALONE,
    describe,
    original,
    ours_with_torch,
)
from tests.support import assert_same, from_torch, to_torch

HEAVY = {"vit_b_16"}
EACH = [pytest.param(name, marks=[pytest.mark.slow] if name in HEAVY else []) for name in MODELS]
# sides of the picture; 48 for the others
IMAGES = {"resnet18": 64, "vit_small": 32, "vit_tiny": 224}


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", EACH)
def test_names_shapes_dtypes_and_printed_form_are_those_of_torchvision(name: str) -> None:
    assert describe(MODELS[name](models)) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", EACH)
def test_our_files_are_pytorch_code(name: str) -> None:
    oracle()
    assert describe(MODELS[name](ours_with_torch())) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "count"),
    [("resnet18", 11_689_512), ("resnet50", 25_557_032), ("mobilenet_v2", 3_504_872)],
)
def test_number_of_parameters(name: str, count: int) -> None:
    assert sum(p.numel() for p in MODELS[name](models).parameters()) == count


@pytest.mark.parametrize("name", [n for n in MODELS if n not in HEAVY | {"resnet34", "resnet50"}])
def test_the_same_seed_gives_the_same_weights(name: str) -> None:

    def samples(T: Any) -> dict[str, Any]:
        T.manual_seed(7)
        model = MODELS[name](models) if T is internals else reference(name)
        return {key: sample(value) for key, value in model.state_dict().items()}

    ours, theirs = samples(internals), answer(samples, family="models")
    assert list(ours) == list(theirs)
    for key, value in ours.items():
        np.testing.assert_allclose(value, theirs[key].numpy(), rtol=1e-5, atol=1e-6, strict=True)


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", [n for n in MODELS if n not in HEAVY])
def test_outputs_and_gradients_with_the_same_weights(name: str) -> None:
    ours = MODELS[name](models)
    stir(ours)
    without_chance(ours)
    x = inputs(name, batch=2)

    def run(model: Any, x: Any) -> Any:
        given = sample(scores(model.eval(), x), 500)
        # In double: small batch norms multiply rounding errors until single precision agrees on one
        # digit only.
        model.double().train()
        x = x.double() if x.is_floating_point() else x
        scores(model, x).square().mean().backward()
        gradients = {key: sample(p.grad) for key, p in model.named_parameters()}
        return given, gradients, {key: sample(buffer) for key, buffer in model.named_buffers()}

    def ask(torch: Any) -> Any:
        theirs = reference(name)
        theirs.load_state_dict({key: to_torch(value) for key, value in ours.state_dict().items()})
        without_chance(theirs)
        return run(theirs, to_torch(x))

    expected, wanted, running = answer(ask, family="models")
    got, gradients, buffers = run(ours, x)
    assert_close(got, expected, 1e-4)
    assert list(gradients) == list(wanted) and list(buffers) == list(running)
    for key, gradient in gradients.items():
        assert_close(gradient, wanted[key], 1e-7, key)
    for key, buffer in buffers.items():
        np.testing.assert_allclose(buffer, running[key].numpy(), rtol=1e-7, atol=1e-9, strict=True)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2_narrow", "vit_small", "gpt"])
def test_state_dict_of_the_original_loads(name: str) -> None:
    oracle()
    theirs, ours = reference(name), MODELS[name](models)
    result = ours.load_state_dict(
        {key: from_torch(value) for key, value in theirs.state_dict().items()}
    )
    assert not result.missing_keys and not result.unexpected_keys
    for key, value in ours.state_dict().items():
        assert_same(value, theirs.state_dict()[key], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["resnet50_dilated", "mobilenet_v2_narrow", "vit_small", "gpt"])
def test_a_model_trains(name: str) -> None:
    internals.manual_seed(0)
    model, x, labels = MODELS[name](models), inputs(name, batch=4), internals.tensor([0, 1, 2, 3])
    without_chance(model)
    losses = []
    for _ in range(6):
        model.zero_grad()
        loss = F.cross_entropy(scores(model, x)[:, :10].flatten(1)[:, :10], labels)
        loss.backward()
        with internals.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p.sub_(p.grad, alpha=0.05)
        losses.append(loss.item())
    assert losses[-1] < losses[0] and all(np.isfinite(losses))


def test_blocks_start_as_the_identity_when_asked() -> None:
    block = (
        models.ResNet(models.resnet.BasicBlock, [2, 1, 1, 1], 10, zero_init_residual=True)
        .layer1[1]
        .eval()
    )
    x = internals.rand(1, 64, 4, 4)
    assert block(x).tolist() == x.tolist()


BAD: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (
        lambda m: m.ResNet(m.resnet.BasicBlock, [1, 1, 1, 1], groups=2), ValueError,
        "only supports groups=1",
    ),
    (
        lambda m: m.ResNet(
            m.resnet.BasicBlock, [1, 1, 1, 1], replace_stride_with_dilation=[True] * 3,
        ),
        NotImplementedError, "Dilation > 1 not supported in BasicBlock",
    ),
    (lambda m: m.resnet50(replace_stride_with_dilation=[True]), ValueError, "3-element tuple, got"),
    (
        lambda m: m.mobilenet_v2(inverted_residual_setting=[]), ValueError,
        "should be non-empty or a 4-element list",
    ),
    (
        lambda m: m.mobilenet_v2(inverted_residual_setting=[[1, 16, 1, 3]]), ValueError,
        "stride should be 1 or 2 instead of 3",
    ),
    (
        lambda m: m.VisionTransformer(30, 8, 1, 1, 8, 8), AssertionError,
        "Input shape indivisible by patch size!",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_errors(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(models)


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_torchvision_raises_the_same(
    call: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        answer(lambda torch: call(torchvision_models()), family="models")


def test_pictures_of_the_wrong_size() -> None:
    vit = MODELS["vit_small"](models)
    with pytest.raises(AssertionError, match="Wrong image height! Expected 32 but got 16!"):
        vit(internals.zeros(1, 3, 16, 32))
    with pytest.raises(AssertionError, match="Wrong image width! Expected 32 but got 16!"):
        vit(internals.zeros(1, 3, 32, 16))


@pytest.mark.parametrize("name", ["resnet18", "resnet34", "resnet50", "mobilenet_v2", "vit_b_16"])
def test_weights_are_not_downloaded(name: str) -> None:
    with pytest.raises(ValueError, match=r"weights='DEFAULT'.*load_state_dict"):
        getattr(models, name)(weights="DEFAULT")


def test_files_are_imported_when_first_used() -> None:
    program = "import sys, internals; internals.models.resnet18; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    loaded = {
        m.removeprefix("internals.models.")
        for m in run.stdout.split()
        if m.startswith("internals.models.")
    }
    assert loaded == {"resnet", "_blocks"}
    assert set(models.__all__) <= set(dir(models)) and all(
        hasattr(models, name) for name in models.__all__
    )
    with pytest.raises(
        AttributeError, match="module 'internals.models' has no attribute 'resnet19'"
    ):
        models.resnet19  # noqa: B018


def reference(name: str) -> Any:
    """The model in real PyTorch: torchvision's where that is installed and has it, else our own
    file's.
    """
    if name not in OURS_ALONE:
        try:
            return original(name)
        except ImportError:
            pass
    return MODELS[name](ours_with_torch())


def torchvision_models() -> Any:
    pytest.importorskip("torchvision", reason="torchvision is not installed", exc_type=ImportError)
    import torchvision

    return torchvision.models


def stir(model: Any) -> None:
    """Move everything a little: layers that start as zero (the ViT's head, biases, running means)
    would hide mistakes.
    """
    internals.manual_seed(1)
    with internals.no_grad():
        for p in model.parameters():
            p.add_(internals.randn(p.shape), alpha=0.02)
        for b in model.buffers():
            if b.is_floating_point():
                b.add_(internals.rand(b.shape), alpha=0.1)


def without_chance(model: Any) -> None:
    for m in model.modules():
        if type(m).__name__ == "Dropout":
            m.p = 0.0


def inputs(name: str, batch: int) -> Any:
    internals.manual_seed(2)
    if name == "gpt":
        return internals.randint(0, 65, (batch, 12))
    side = IMAGES.get(name, 48)
    return internals.randn(batch, 3, side, side)


def sample(t: Any, most: int = 10) -> Any:
    """Some of the tensor's numbers, from all over it, as an array; then the largest and the root
    mean square of all.
    """
    numbers = t.detach().numpy().reshape(-1)
    some = numbers[:: max(1, -(-numbers.size // most))]
    if numbers.dtype.kind != "f":
        return some
    return np.append(
        some, [np.abs(numbers).max(), np.sqrt(np.square(numbers, dtype=np.float64).mean())]
    ).astype(numbers.dtype)


def scores(model: Any, x: Any) -> Any:
    """What a model says of its input; the GPT is asked about every position."""
    return model(x, x)[0] if type(model).__name__ == "GPT" else model(x)


def assert_close(ours: Any, theirs: Any, of_the_largest: float, name: str = "") -> None:
    """The same numbers, up to a small share of the largest: by so much sums in another order
    differ.
    """
    expected = theirs.numpy()
    assert (ours.dtype, ours.shape) == (expected.dtype, expected.shape), name
    difference = np.abs(ours - expected).max()
    assert difference <= of_the_largest * max(np.abs(expected).max(), 1e-6), f"{name}: {difference}"
