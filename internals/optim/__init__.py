"""Optimizers and learning rate schedules (`torch/optim`).

`Optimizer` has what all share, a file per algorithm has its update, `lr_scheduler` changes the options of an optimizer from epoch
to epoch.

How the real one differs: `torch.optim` also has Adadelta, Adafactor, Adamax, ASGD, LBFGS, Muon, NAdam, RAdam, Rprop, SparseAdam
and averaging of weights (`swa_utils`).
"""

from internals.optim import lr_scheduler
from internals.optim.adagrad import Adagrad
from internals.optim.adam import Adam
from internals.optim.adamw import AdamW
from internals.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)  # fmt: skip
from internals.optim.rmsprop import RMSprop
from internals.optim.sgd import SGD

__all__ = [
    "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler", "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]  # fmt: skip
