"""Every layer of `nn` that has a test is scripted and gives what it gave: outputs and gradients,
random numbers included.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import internals
from internals import jit, models
from internals.models.gpt import GPT, GPTConfig
from internals.models.vision_transformer import VisionTransformer
from tests.nn import layers
from tests.side_by_side import cases

pytestmark = pytest.mark.sampled(1 / 4)

FILES = ("test_layers", "test_recurrent", "test_transformer", "test_breadth")
CASES = [
    case
    for name in FILES
    for table in re.findall(
        r'""".*?"""', (Path(__file__).parents[1] / "nn" / f"{name}.py").read_text(), re.S
    )
    if ">>" in table
    for case in cases(table.strip('"'))
    if re.match(r"nn\.\w+\(.*>>", case)
]
# The values below are ints where the function takes floats, or None in a list: PyTorch refuses them
# as well.
REFUSED = (
    "nn.Threshold(0.1, 20", "nn.Threshold(0, -1,", "nn.Hardtanh(-2,",
    "nn.ConstantPad2d((1, 0, 2, -1), 1)",
    "nn.AdaptiveAvgPool2d((2, None))",
    "nn.MultiheadAttention(8, 2, 0,",
)  # fmt: skip


def outcome(case: str, script: bool) -> list[np.ndarray]:
    build, call = (part.strip() for part in case.split(">>"))
    x = layers.Recorded(layers.ours(), True)
    names = layers.namespace(internals) | {"x": x}
    internals.manual_seed(2013)
    m = eval(build, names)
    m = jit.script(m) if script else m
    internals.manual_seed(1969)
    outputs = layers.tensors(eval(call, names | {"m": m}))
    layers.backward(internals, outputs)
    return [layers.numpy(t) for t in outputs] + [layers.gradient(p) for p in m.parameters()]


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("case", CASES)
def test_a_scripted_layer_is_the_layer(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.startswith(REFUSED):
            with pytest.raises(
                RuntimeError,
                match="Expected a value of type '.*' for argument '.*' but instead found type",
            ):
                outcome(case, script=True)
            return
        for found, expected in zip(
            outcome(case, script=True), outcome(case, script=False), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


MODELS = {
    "resnet18": (lambda: models.resnet18(num_classes=5), lambda: (internals.randn(2, 3, 32, 32),)),
    "resnet50": (lambda: models.resnet50(num_classes=5), lambda: (internals.randn(2, 3, 32, 32),)),
    "mobilenet_v2": (
        lambda: models.mobilenet_v2(num_classes=5),
        lambda: (internals.randn(2, 3, 32, 32),),
    ),
    "vision transformer": (
        lambda: VisionTransformer(16, 8, 2, 2, 8, 16, dropout=0.1, num_classes=5),
        lambda: (internals.randn(2, 3, 16, 16),),
    ),
    "gpt": (
        lambda: GPT(GPTConfig(16, 32, 2, 2, 8, dropout=0.1)),
        lambda: (internals.randint(0, 32, (2, 8)), internals.randint(0, 32, (2, 8))),
    ),
}


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n == "resnet50" else n for n in MODELS]
)
def test_a_scripted_model_is_the_model(name: str, training: bool) -> None:
    make, inputs = MODELS[name]
    internals.manual_seed(0)
    model, xs = make().train(training), inputs()
    scripted = jit.script(model)
    found = []
    for each in (model, scripted):
        model.zero_grad()
        state = {k: v.clone() for k, v in model.state_dict().items()}
        internals.manual_seed(1)
        out = each(*xs)
        out = out[0] if isinstance(out, tuple) else out
        out.sum().backward()
        found.append(
            [
                out.detach().numpy(),
                *(p.grad.numpy().copy() for p in model.parameters() if p.grad is not None),
            ]
        )
        model.load_state_dict(state)  # batch normalization has counted
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-4, atol=1e-5)
