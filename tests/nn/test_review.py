"""Names where PyTorch has them: programs also import from the files of `torch.nn`, `torch.optim`
and `torch.utils.data`.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

PLACES = [
    "nn.modules.container Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "nn.modules.module Module register_module_forward_hook",
    "nn.modules.batchnorm _BatchNorm BatchNorm2d",
    "nn.modules.conv _ConvNd Conv2d",
    "nn.modules.utils _pair _single",
    "nn.parameter Parameter Buffer",
    "nn.utils.rnn pad_sequence unpad_sequence",
    "nn.utils.clip_grad clip_grad_norm_",
    "optim.lr_scheduler LRScheduler StepLR",
    "optim.optimizer Optimizer",
    "optim.adam Adam",
    "utils.data.dataset Dataset random_split",
    "utils.data.sampler RandomSampler",
    "utils.data.dataloader DataLoader default_collate",
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.split()[0])
def test_names_are_where_pytorch_has_them(T: Any, place: str) -> None:
    path, *names = place.split()
    module = importlib.import_module(f"{T.__name__}.{path}")
    package = importlib.import_module(f"{T.__name__}.{path.rpartition('.')[0]}")
    for name in names:
        assert getattr(package, name, getattr(module, name)) is getattr(module, name)
