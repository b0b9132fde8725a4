"""Optimizers and learning rate schedules (`torch/optim`).

`Optimizer` has the common parts, a file for each algorithm its update. `lr_scheduler` changes the
options of an optimizer from epoch to epoch, `swa_utils` averages parameters over many steps.

How the real one differs: `torch.optim` also has Adafactor, Muon and SparseAdam.
"""

from internals.optim import lr_scheduler, swa_utils
from internals.optim.adadelta import Adadelta
from internals.optim.adagrad import Adagrad
from internals.optim.adam import Adam
from internals.optim.adamax import Adamax
from internals.optim.adamw import AdamW
from internals.optim.asgd import ASGD
from internals.optim.lbfgs import LBFGS
from internals.optim.nadam import NAdam
from internals.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)  # fmt: skip
from internals.optim.radam import RAdam
from internals.optim.rmsprop import RMSprop
from internals.optim.rprop import Rprop
from internals.optim.sgd import SGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "lr_scheduler", "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook", "swa_utils",
]  # fmt: skip
