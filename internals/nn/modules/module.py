"""`Module` and the hooks for all modules, by the path they have in PyTorch
(`torch/nn/modules/module.py`).

How the real one differs: what is in `internals.nn.module` and the files beside it is all in this
one there.
"""

from internals.nn._global_hooks import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from internals.nn.module import Module

__all__ = [
    "Module", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip
