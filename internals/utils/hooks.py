"""`BackwardHook`, which implements the backward hooks of modules (`torch/utils/hooks.py`).

Autograd knows operations, not modules. To observe the gradients of a module, `BackwardHook` passes
the module's inputs and outputs through an identity operation, and registers hooks on the two nodes
that these add to the graph. In backward, the node of the outputs is reached before all nodes of the
module, and the node of the inputs after them.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from internals.autograd.node_hooks import RemovableHandle
from internals.core.tensor_impl import Tensor

__all__ = ["BackwardHook", "RemovableHandle"]


class WrappedHook:
    """A hook that gets a module as its first argument.

    It has only a weak reference to the module: as the module refers to the hook, a strong one would
    make a cycle.
    """

    def __init__(self, hook: Callable[..., Any], module: object = None) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> Any:
        return {"hook": self.hook, "module": None if self.module is None else self.module()}

    def __setstate__(self, state: Any) -> None:
        self.__init__(state["hook"], state["module"])  # type: ignore[misc]


_NO_INPUT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. "
    "See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHook:
    """The backward hooks of one call of a module.

    `setup_input_hook` and `setup_output_hook` return the arguments and the result that replace the
    given ones. Non-tensor entries stay as they are; hooks get None for them.
    """

    def __init__(self, module: object, user_hooks: list[Any], user_pre_hooks: list[Any]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        # the gradients of the outputs, until those of the inputs are there too
        self.grad_outputs: Any = None
        self.inputs: TensorPositions | None = None
        self.n_inputs = 0

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.n_inputs = len(args)
        args, self.inputs = through_identity(args, self._at_inputs)
        return args

    def setup_output_hook(self, result: object) -> Any:
        outputs = result if isinstance(result, tuple) else (result,)
        outputs, self.outputs = through_identity(outputs, self._at_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _at_outputs(self, _: Sequence[Tensor], grad_output: tuple[Any, ...]) -> Any:
        """Called with the gradients of the outputs, before the backward of the module's operations:
        run the pre-hooks, and return the gradients to continue with.
        """
        assert self.outputs is not None
        grads = self.outputs.spread(grad_output)
        for hook in self.user_pre_hooks:
            changed = hook(self.module, grads)
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(changed)}, but expected {len(grads)}"
                )
            grads = changed
        if self.inputs is None:
            # no gradients of inputs will be computed, so the hooks run now
            warnings.warn(_NO_INPUT, stacklevel=5)
            self._without_inputs(grads)
        else:
            self.grad_outputs = grads
        return self.outputs.collect(grads)

    def _without_inputs(self, grads: Sequence[Tensor]) -> None:
        """Run the hooks with None for all inputs. Raises RuntimeError if one returns gradients."""
        for hook in self.user_hooks:
            changed = hook(self.module, (None,) * self.n_inputs, grads)
            if changed is not None and not (
                isinstance(changed, tuple) and all(c is None for c in changed)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _at_inputs(self, grad_input: tuple[Any, ...], _: Sequence[Tensor | None]) -> Any:
        """Called with the gradients of the inputs, after the backward of the module's operations:
        run the hooks, and return the gradients to continue with.
        """
        if self.grad_outputs is None:
            # the gradient did not come through the module's outputs, as in double backward
            return None
        assert self.inputs is not None
        grads = self.inputs.spread(grad_input)
        for hook in self.user_hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(changed)}, "
                    f"but expected {len(grads)}"
                )
            grads = changed
        self.grad_outputs = None
        return self.inputs.collect(grads)


class TensorPositions:
    """The positions of the tensors among `n` values."""

    def __init__(self, indices: list[int], n: int) -> None:
        self.indices, self.n = indices, n

    def spread(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """`n` values: the tensors at their positions, None elsewhere."""
        values = dict(zip(self.indices, tensors))
        return tuple(values.get(i) for i in range(self.n))

    def collect(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The inverse of `spread`: only the tensors."""
        return tuple(values[i] for i in self.indices)


def through_identity(
    values: tuple[Any, ...], hook: Callable[..., Any]
) -> tuple[tuple[Any, ...], TensorPositions | None]:
    """`values` with the tensors passed through one identity operation, on whose node `hook` is
    registered, and the positions of the tensors.

    If no tensor requires a gradient, the values as they are, and None.
    """
    from internals import Tensor, is_grad_enabled
    from internals.nn._functions import BackwardHookFunction

    places = TensorPositions(
        [i for i, v in enumerate(values) if isinstance(v, Tensor)], len(values)
    )
    tensors = places.collect(values)
    if not (is_grad_enabled() and any(t.requires_grad for t in tensors)):
        return values, None
    passed = BackwardHookFunction.apply(*tensors)
    next(t.grad_fn for t in passed if t.grad_fn is not None).register_hook(hook)
    replaced = dict(zip(places.indices, passed))
    arguments = [replaced.get(i, v) for i, v in enumerate(values)]
    kind: Any = type(values)
    return kind(arguments) if kind is tuple else kind(*arguments), places  # or a named tuple
