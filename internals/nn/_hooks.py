"""Hooks of modules: functions called around `forward` and around its backward
(`torch/nn/modules/module.py`, `_call_impl`).

    forward pre-hook     hook(module, args) -> None, or other arguments
    forward hook         hook(module, args, output) -> None, or another output
    backward pre-hook    hook(module, grad_output) -> None, or other gradients of the outputs
    backward hook        hook(module, grad_input, grad_output) -> None, or other gradients of the
                         inputs

They run in the order of registration, those for all modules first (`internals.nn._global_hooks`);
`prepend=True` puts a hook in front. With `with_kwargs=True` forward hooks also get the keyword
arguments. A forward hook with `always_call=True` runs even if `forward` raised an exception; its
own exceptions then become warnings.

How the real one differs: the older kind of backward hook (`internals.nn._last_operation`) can also
be registered for all modules.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from internals import Tensor
from internals.autograd.node_hooks import RemovableHandle, register
from internals.core.tracer import tracer
from internals.nn import _global_hooks as all_modules
from internals.nn._last_operation import hook_last_operation
from internals.nn._tree import Tree

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

Run = Callable[[Any, Any, Any], Any]


class Hooks(Tree):
    """The part of `Module` that registers hooks, and calls a module that has some."""

    forward: Callable[..., Any]
    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _backward_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; its result, if not None, replaces the
        arguments.

        With `with_kwargs` the call is `hook(module, args, kwargs)`, and the result None or a pair
        of both.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return register(self._forward_pre_hooks, hook, flags, prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; its result, if not None, replaces the
        output.

        With `with_kwargs` the call is `hook(module, args, kwargs, output)`. With `always_call` it
        happens even if `forward` raised an exception; the output is None then.
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        return register(self._forward_hooks, hook, flags, prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when backward reaches the module's outputs.

        `grad_output` is a tuple, with None for non-tensor outputs. A tuple that the hook returns
        replaces it.
        """
        return register(self._backward_pre_hooks, hook, (), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the module's inputs
        have been computed.

        Both are tuples, `grad_input` with an entry for every positional argument. A tuple that the
        hook returns replaces `grad_input`. If no input requires a gradient, the hook is called as
        soon as the gradients of the outputs are known.
        """
        self._one_kind_of_backward_hooks(full=True)
        return register(self._backward_hooks, hook, (), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated: call `hook(module, grad_input, grad_output)` with the gradients of the last
        operation of `forward`.
        """
        self._one_kind_of_backward_hooks(full=False)
        return register(self._backward_hooks, hook)

    def _one_kind_of_backward_hooks(self, full: bool) -> None:
        """Raise RuntimeError if hooks of the other kind are registered; the two are not mixed."""
        if self._is_full_backward_hook is not None and self._is_full_backward_hook is not full:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`__call__` of a module with hooks, in this order: forward pre-hooks, `forward`, forward
        hooks. Backward hooks see the arguments after the first and the output after the last step.
        """
        result: Any = None
        called = set()  # the numbers of the forward hooks that ran, in case one of them fails
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward = self._backward_hook()
            if backward is not None:
                args = backward.setup_input_hook(args)
            state = tracer.state
            result = (
                self.forward(*args, **kwargs)
                if state is None
                else state.call_module(self, args, kwargs)
            )
            for key, run, _ in self._all_forward_hooks():
                called.add(key)
                result = run(args, kwargs, result)
            if backward is not None:
                if not isinstance(result, (Tensor, tuple)):
                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a "
                        f"tuple of Tensors but received {type(result)}",
                        stacklevel=3,
                    )
                result = backward.setup_output_hook(result)
            if self._backward_hooks and not self._is_full_backward_hook:
                hook_last_operation(self, list(self._backward_hooks.values()), args, result)
            return result
        except Exception:
            for key, run, always in self._all_forward_hooks():
                if always and key not in called:
                    result = _run_silenced(key, run, args, kwargs, result)
            raise

    def _run_forward_pre_hooks(self, args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The arguments after all forward pre-hooks. A hook may return one argument untupled."""
        for key, hook in [*all_modules.forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _all_forward_hooks(self) -> Iterator[tuple[int, Run, bool]]:
        """For each forward hook: its number, a function from (args, kwargs, output) to the new
        output, and whether it has `always_call`.
        """
        for hooks, with_kwargs, always in (
            (
                all_modules.forward_hooks,
                all_modules.forward_hooks_with_kwargs,
                all_modules.forward_hooks_always_called,
            ),
            (
                self._forward_hooks,
                self._forward_hooks_with_kwargs,
                self._forward_hooks_always_called,
            ),
        ):
            for key, hook in list(hooks.items()):
                yield key, partial(self._run_forward_hook, hook, key in with_kwargs), key in always

    def _run_forward_hook(
        self,
        hook: Callable[..., Any] | ScriptFunction,
        with_kwargs: bool,
        args: Any,
        kwargs: dict[str, Any],
        result: Tensor | None,
    ) -> Any:
        """The output after one hook, which leaves it as it is by returning None."""
        changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
        return result if changed is None else changed

    def _backward_hook(self) -> Any:
        """The `BackwardHook` that runs the backward hooks of one call; None if there are none."""
        pre_hooks = [*all_modules.backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        hooks = list(all_modules.backward_hooks.values())
        if self._is_full_backward_hook:
            hooks += self._backward_hooks.values()
        if not (hooks or pre_hooks):
            return None
        from internals.utils.hooks import BackwardHook

        return BackwardHook(self, hooks, pre_hooks)


def _run_silenced(
    key: int, run: Run, args: Any, kwargs: dict[str, Any], result: Tensor | None
) -> Any:
    """Run a hook after `forward` raised an exception; an exception of the hook becomes a warning,
    so that the first one is not lost.
    """
    try:
        return run(args, kwargs, result)
    except Exception as error:
        which = "global module" if key in all_modules.forward_hooks else "module"
        warnings.warn(
            f"{which} forward hook with ``always_call=True`` raised an exception that was "
            f"silenced as another error was raised in forward: {error}",
            stacklevel=4,
        )
        return result
