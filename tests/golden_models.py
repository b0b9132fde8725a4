"""What torchvision's models are made of, in `tests/golden/models/*.txt`: names, shapes and dtypes in the `state_dict`, printed form.

`python -m tests.golden_models`, with real PyTorch and torchvision installed, writes the files. What torchvision does not have
(`gpt`, `vit_tiny`) is built by running our own file with real PyTorch.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import internals.models as here

FOLDER = Path(__file__).parent / "golden" / "models"

# How each one is made, given torchvision.models or internals.models.
MODELS: dict[str, Callable[[Any], Any]] = {
    "resnet18": lambda m: m.resnet18(),
    "resnet34": lambda m: m.resnet34(),
    "resnet50": lambda m: m.resnet50(),
    "resnet50_dilated": lambda m: m.resnet.ResNet(
        m.resnet.Bottleneck, [1, 1, 2, 1], 10, True, 2, 32, [False, True, True]
    ),
    "mobilenet_v2": lambda m: m.mobilenet_v2(),
    "mobilenet_v2_narrow": lambda m: m.mobilenet_v2(num_classes=10, width_mult=0.35),
    "vit_b_16": lambda m: m.vit_b_16(),
    "vit_small": lambda m: m.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10, representation_size=16),
    "vit_tiny": lambda m: m.vit_tiny(),
    "gpt": lambda m: m.GPT(m.GPTConfig(block_size=16, vocab_size=65, n_layer=2, n_head=4, n_embd=32)),
}
OURS_ALONE = {"gpt": "gpt", "vit_tiny": "vision_transformer"}


def describe(model: Any) -> str:
    """A line for every entry of the `state_dict`, a line with the number of parameters, the printed form."""
    lines = [f"{name} {list(t.shape)} {str(t.dtype).rpartition('.')[2]}" for name, t in model.state_dict().items()]
    count = sum(p.numel() for p in model.parameters())
    return "\n".join([*lines, f"{count:,} parameters", repr(model), ""])


def with_torch(file: str) -> ModuleType:
    """One of our files of models, run with real PyTorch: its source with the name of the library exchanged."""
    source = Path(here.__file__).with_name(f"{file}.py").read_text()
    source = source.replace("from internals.models.", "from ours_with_torch.").replace("internals", "torch")
    import sys

    module = ModuleType(f"ours_with_torch.{file}")
    sys.modules[module.__name__] = module  # where dataclasses and the next file look for it
    exec(compile(source, f"{file}.py, with torch", "exec"), module.__dict__)
    return module


def original(name: str) -> Any:
    """The model as torchvision makes it, or as our own file makes it with real PyTorch."""
    if name not in OURS_ALONE:
        return MODELS[name](import_module("torchvision.models"))
    if OURS_ALONE[name] == "vision_transformer":
        with_torch("_blocks")
    return MODELS[name](with_torch(OURS_ALONE[name]))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        path = FOLDER / f"{name}.txt"
        temporary = path.with_suffix(".new")
        temporary.write_text(describe(original(name)))
        os.replace(temporary, path)
        print(path.name)
