"""What torchvision's models are made of, in `tests/golden/models/*.txt`: names, shapes, dtypes in
the `state_dict`, printed form.

`python -m tests.models.golden_models`, with real PyTorch and torchvision installed, writes the
files. What torchvision does not have (`gpt`, `vit_tiny`) is built by running our own file with real
PyTorch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from internals import models

FOLDER = Path(__file__).parents[1] / "golden" / "models"

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
    "vit_small": lambda m: m.VisionTransformer(
        32, 8, 2, 4, 32, 64, num_classes=10, representation_size=16
    ),
    "vit_tiny": lambda m: m.vit_tiny(),
    "gpt": lambda m: m.GPT(
        m.GPTConfig(block_size=16, vocab_size=65, n_layer=2, n_head=4, n_embd=32)
    ),
}
OURS_ALONE = ("vit_tiny", "gpt")


def describe(model: Any) -> str:
    """A line for every entry of the `state_dict`, a line with the number of parameters, the printed
    form.
    """
    lines = [
        f"{name} {list(t.shape)} {str(t.dtype).rpartition('.')[2]}"
        for name, t in model.state_dict().items()
    ]
    count = sum(p.numel() for p in model.parameters())
    return "\n".join([*lines, f"{count:,} parameters", repr(model), ""])


@cache
def ours_with_torch() -> SimpleNamespace:
    """Our own files, run with real PyTorch: their source with the name of the library exchanged.
    All their names in one place.
    """
    names: dict[str, Any] = {}
    for file in ("_blocks", "gpt", "mobilenetv2", "resnet", "vision_transformer"):
        source = Path(models.__file__).with_name(f"{file}.py").read_text()
        source = source.replace("internals.models.", "ours_with_torch.").replace(
            "internals", "torch"
        )
        module = ModuleType(f"ours_with_torch.{file}")
        sys.modules[module.__name__] = module  # where dataclasses and the files after it look
        exec(compile(source, f"{file}.py, with torch", "exec"), module.__dict__)
        names |= {**vars(module), file: module}
    return SimpleNamespace(**names)


def original(name: str) -> Any:
    """The model as torchvision makes it; where torchvision has none, as our own file makes it with
    real PyTorch.
    """
    return MODELS[name](
        ours_with_torch() if name in OURS_ALONE else import_module("torchvision.models")
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        path = FOLDER / f"{name}.txt"
        temporary = path.with_suffix(".new")
        temporary.write_text(describe(original(name)))
        os.replace(temporary, path)
        print(path.name)
