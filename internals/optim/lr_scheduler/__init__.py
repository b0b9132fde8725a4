"""Learning rate schedules (`torch/optim/lr_scheduler.py`).

    base             `LRScheduler`: epochs, and how learning rates are set
    user_functions   `LambdaLR`, `MultiplicativeLR`: by your own function
    decay            `StepLR`, `MultiStepLR`, `ConstantLR`, `LinearLR`, `ExponentialLR`,
                     `PolynomialLR`
    cosine           `CosineAnnealingLR`, `CosineAnnealingWarmRestarts`
    cycles           `CyclicLR`, `OneCycleLR`: up and down, with the momentum
    plateau          `ReduceLROnPlateau`: when progress stops
    combine          `SequentialLR`, `ChainedScheduler`: several at once

How the real one differs: it is one file.
"""

from internals.optim.lr_scheduler.base import EPOCH_DEPRECATION_WARNING, LRScheduler
from internals.optim.lr_scheduler.combine import ChainedScheduler, SequentialLR
from internals.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from internals.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from internals.optim.lr_scheduler.decay import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)  # fmt: skip
from internals.optim.lr_scheduler.plateau import ReduceLROnPlateau
from internals.optim.lr_scheduler.user_functions import LambdaLR, MultiplicativeLR

_LRScheduler = LRScheduler  # its name before PyTorch 2.0

__all__ = [
    "EPOCH_DEPRECATION_WARNING", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
