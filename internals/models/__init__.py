"""Whole networks built of `internals.nn`: ResNet, MobileNet V2, a Vision Transformer and a small
GPT.

They are ordinary PyTorch code: replace `internals` by `torch` in a file and it runs there too.
Constructors, initialization, names in the `state_dict` and the printed form are those of
`torchvision.models` (`torchvision/models/__init__.py`), so weights trained there load here with
`model.load_state_dict(...)`. GPT, which torchvision does not have, uses the names of nanoGPT.
Each file is imported when one of its names is first used.

How the real one differs: torchvision has some eighty architectures, and downloads trained weights
(`weights="DEFAULT"`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from internals.models.gpt import GPT, GPTConfig
    from internals.models.mobilenetv2 import MobileNetV2, mobilenet_v2
    from internals.models.resnet import ResNet, resnet18, resnet34, resnet50
    from internals.models.vision_transformer import VisionTransformer, vit_b_16, vit_tiny

__all__ = [
    "GPT",
    "GPTConfig",
    "MobileNetV2",
    "ResNet",
    "VisionTransformer",
    "mobilenet_v2",
    "resnet18",
    "resnet34",
    "resnet50",
    "vit_b_16",
    "vit_tiny",
]

_FILES = {
    "gpt": ("GPT", "GPTConfig"),
    "mobilenetv2": ("MobileNetV2", "mobilenet_v2"),
    "resnet": ("ResNet", "resnet18", "resnet34", "resnet50"),
    "vision_transformer": ("VisionTransformer", "vit_b_16", "vit_tiny"),
}


def __getattr__(name: str) -> Any:
    for file, names in _FILES.items():
        if name in names or name == file:
            module = import_module(f"internals.models.{file}")
            return module if name == file else getattr(module, name)
    raise AttributeError(f"module 'internals.models' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *_FILES])
