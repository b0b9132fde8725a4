"""Named ranges in a profile: your own labels, calls of modules, steps of optimizers
(`torch/autograd/profiler.py`, `record_function`).

    with record_function("## forward ##"):
        y = model(x)

Labels cost next to nothing without a profile. Modules and optimizers are observed by hooks, which
are registered only while a profile is taken.

How the real one differs: labels work in compiled functions as well; modules are found in the Python
stack.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from internals.core.recording import Recorder, Scope, recording
from internals.core.tensor_impl import Tensor

if TYPE_CHECKING:
    from internals.nn.module import Module
    from internals.optim.optimizer import Optimizer


class record_function:
    """A label: the block, or each call of the decorated function, is a range in the profile.

    `args` is stored as an attribute, but not recorded. Raises TypeError if `name` is not a str.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"record_function(): argument 'name' must be str, not {type(name).__name__}"
            )
        self.name, self.args = name, args
        # a stack, as the same label may be entered again before it is left
        self._open: list[tuple[Recorder, Any] | None] = []

    def __enter__(self) -> record_function:
        recorder = recording.recorder
        self._open.append(
            None if recorder is None else (recorder, recorder.enter(self.name, Scope.USER_SCOPE))
        )
        return self

    def __exit__(self, *exception: Any) -> None:
        entered = self._open.pop()
        if entered is not None:
            entered[0].exit(entered[1])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def labelled(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return labelled


@contextmanager
def record_modules(recorder: Recorder) -> Iterator[None]:
    """A block in which calls of modules are ranges: "nn.Module: Linear_0" is the first instance of
    `Linear` that is called.
    """
    from internals.nn.modules.module import (
        register_module_forward_hook,
        register_module_forward_pre_hook,
    )

    names: dict[Any, str] = {}
    counts: dict[str, int] = {}
    entered: list[Any] = []

    def before(module: Module, args: Any) -> None:
        if recording.recorder is recorder:
            if module not in names:
                kind = type(module).__name__
                counts[kind] = counts.get(kind, -1) + 1
                names[module] = f"nn.Module: {kind}_{counts[kind]}"
            entered.append((module, recorder.enter(names[module], Scope.MODULE)))

    def after(module: Module, args: Any, output: Tensor | None) -> None:
        if recording.recorder is recorder:
            while entered:  # also end modules within, whose own hooks failed before this one ran
                inner, span = entered.pop()
                recorder.exit(span)
                if inner is module:
                    break

    handles = (
        register_module_forward_pre_hook(before),
        register_module_forward_hook(after, always_call=True),
    )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def record_optimizers(recorder: Recorder) -> Iterator[None]:
    """A block in which steps of optimizers are ranges: "Optimizer.step#SGD.step"."""
    from internals.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    entered: list[tuple[Any, Any]] = []

    def before(optimizer: Optimizer, args: Any, kwargs: dict[str, Any]) -> None:
        if recording.recorder is recorder:
            name = f"Optimizer.step#{type(optimizer).__name__}.step"
            entered.append((optimizer, recorder.enter(name, Scope.USER_SCOPE)))

    def after(optimizer: Optimizer, args: Any, kwargs: dict[str, Any]) -> None:
        while entered and recording.recorder is recorder:
            stepped, span = entered.pop()
            recorder.exit(span)
            if stepped is optimizer:
                break

    handles = register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
