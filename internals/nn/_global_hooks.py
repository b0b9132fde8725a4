"""Hooks for all modules at once, for debugging and profiling
(`torch.nn.modules.module.register_module_*`).

They run before the hooks of the individual module. This is global state: remove a hook through its
handle when you are done.

How the real one differs: it also has `register_module_backward_hook`, which is deprecated.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from internals.autograd.node_hooks import RemovableHandle, register

Hook = Callable[..., Any]

# Each maps the number of a hook to the hook; the flags are there for hooks that asked for them.
forward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
forward_hooks: OrderedDict[int, Hook] = OrderedDict()
forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
backward_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
backward_hooks: OrderedDict[int, Hook] = OrderedDict()
# the numbers of all hooks above: if it is empty, a call can skip all of them
around_calls: OrderedDict[int, bool] = OrderedDict()

parameter_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
buffer_registration_hooks: OrderedDict[int, Hook] = OrderedDict()
module_registration_hooks: OrderedDict[int, Hook] = OrderedDict()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the `forward` of every module; see
    `Module.register_forward_pre_hook`.
    """
    return register(forward_pre_hooks, hook, [around_calls])


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the `forward` of every module; see
    `Module.register_forward_hook`.
    """
    flags = [forward_hooks_with_kwargs] if with_kwargs else []
    flags += [forward_hooks_always_called] if always_call else []
    return register(forward_hooks, hook, [around_calls, *flags])


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` for every module; see
    `Module.register_full_backward_pre_hook`.
    """
    return register(backward_pre_hooks, hook, [around_calls])


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` for every module; see
    `Module.register_full_backward_hook`.
    """
    return register(backward_hooks, hook, [around_calls])


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a parameter is registered; it may return another
    one.
    """
    return register(parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a buffer is registered; it may return another one."""
    return register(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when a module is registered; it may return another
    one.
    """
    return register(module_registration_hooks, hook)


def registered(hooks: OrderedDict[int, Hook], module: object, name: str, value: object) -> Any:
    """The value to register: each hook gets the result of the one before, and may replace it."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value
