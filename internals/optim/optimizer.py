"""`Optimizer`: the base class of all optimizers (`torch/optim/optimizer.py`).

An optimizer has its parameters in groups; a group is a dict with the parameters and the options
that apply to them (`lr`, ...). The memory of an algorithm between steps is in `state`, one dict per
parameter, filled when the parameter first has a gradient. `step` reads `p.grad` and changes `p` in
place, with gradients off, so that an update is not differentiated.

A subclass has its `defaults`, and either `update(group)` (the optimizers of this package) or its
own `step`.

How the real one differs: it adds hooks around the `step` of a class when the first optimizer of the
class is made; here that happens when the class is defined. PyTorch has every algorithm three times:
parameter by parameter, which is the default on the CPU and the only form here; operator by operator
over lists of parameters (`foreach`); and as one kernel (`fused`). These options, and `capturable`
(for CUDA graphs), are accepted here, but have no effect.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from internals._tensor import Tensor
from internals.autograd.node_hooks import RemovableHandle, register
from internals.construction.tensor_new import tensor
from internals.core.grad_mode import set_grad_mode
from internals.optim.checkpoint import Checkpoint
from internals.optim.options import number, step_dtype

Closure = Callable[[], Any]
Params = Iterable[Any]  # of tensors, of (name, tensor), or of dicts with "params" and options


class _Required:
    """The default of an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


_global_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the optimizer's hooks around it, which run once even if `step` calls the step of
    its base class.
    """

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not hooked:  # called by a subclass, which runs the hooks
            return step(self, *args, **kwargs)
        for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, (self, *args), kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
            (_, *args), kwargs = changed
        result = step(self, *args, **kwargs)
        self._opt_called = True  # a learning rate scheduler checks it
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
            hook(self, (self, *args), kwargs)
        return result

    return hooked


class Optimizer(Checkpoint):
    """Base class. `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts, one for
    each group.

    Raises TypeError for a single tensor and for non-tensors, ValueError for no parameters, for a
    tensor that is the result of an operation, and for a parameter in two groups.
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]
    defaults: dict[str, Any]
    # options that are missing in old state dicts, with the value to use
    added_later: dict[str, Any] = {}
    counts_steps = False  # whether state["step"] is a tensor
    _opt_called = False  # whether a step has been taken

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got " + params.type()
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._make_hooks()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    @with_hooks
    def step(self, closure: Closure | None = None) -> Any:
        """Update every parameter that has a gradient.

        `closure`, if given, computes the loss and its gradients first; its result is returned.
        """
        if type(self).update is Optimizer.update:
            raise NotImplementedError
        was = set_grad_mode(True)
        try:
            loss = None if closure is None else closure()
            set_grad_mode(bool(self.defaults.get("differentiable", False)))
            for group in self.param_groups:
                self.update(group)
        finally:
            set_grad_mode(was)
        return loss

    def update(self, group: dict[str, Any]) -> None:
        """One step of the algorithm for one group; gradients are off."""
        raise NotImplementedError

    def _gradients(self, group: dict[str, Any]) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        """Each parameter of `group` that has a gradient, with the gradient and its state, in which
        this step is counted already.

        The gradient is negated if `maximize`. Weight decay is included: as an L2 penalty it is part
        of the gradient; if decoupled, the parameter has been multiplied by 1 - lr * weight_decay.
        """
        weight_decay, decoupled = group.get("weight_decay"), group.get("decoupled_weight_decay")
        for p in group["params"]:
            if (grad := p.grad) is None:
                continue
            if not (state := self.state[p]):
                self._begin(p, group)
            state["step"].add_(1)
            if group["maximize"]:
                grad = -grad
            if weight_decay and decoupled:
                p.mul_(1 - number(group["lr"]) * weight_decay)
            elif weight_decay:
                grad = grad.add(p, alpha=weight_decay)
            yield p, grad, state

    def _first_state(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The state of `p` before the first step, without the number of steps."""
        raise NotImplementedError

    def _begin(self, p: Tensor, group: dict[str, Any]) -> None:
        self.state[p].update(step=tensor(0.0, dtype=step_dtype()), **self._first_state(p, group))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set all gradients to None, or to zeros in place if `set_to_none` is False."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the parameters `param_group["params"]`; the other entries are their options, with
        `defaults` for the rest.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _unpack_names(param_group)
        params = param_group["params"]
        for p in params:
            self._check_parameter(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other
        `(args, kwargs)` for the step.
        """
        return register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return register(self._optimizer_step_post_hooks, hook)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"
            )
        return text + ")"

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, default in self.added_later.items():
                group.setdefault(name, default)
        if self.counts_steps:
            self._counts_as_tensors()

    def _counts_as_tensors(self) -> None:
        """Turn step counts into tensors; old versions of PyTorch saved them as numbers."""
        for state in self.state.values():
            if "step" in state and not isinstance(state["step"], Tensor):
                state["step"] = tensor(float(state["step"]), dtype=step_dtype())

    def _make_hooks(self) -> None:
        super()._make_hooks()
        self._optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def _check_parameter(self, p: Tensor) -> None:
        """Raise TypeError for a non-tensor, ValueError for the result of an operation."""
        if not isinstance(p, Tensor):
            from internals import typename

            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {typename(p)}"
            )
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_group(self, added: dict[str, Any]) -> None:
        """Raise ValueError if only some groups have names, or a parameter is in two groups."""
        named = "param_names" in added
        seen: set[Any] = set()
        for group in self.param_groups:
            seen.update(group["params"])
            if ("param_names" in group) != named:
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {'with' if named else 'without'} names to the optimizer"
                )
        if not seen.isdisjoint(added["params"]):
            raise ValueError("some parameters appear in more than one parameter group")


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    return register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return register(_global_post_hooks, hook)


def _unpack_names(group: dict[str, Any]) -> None:
    """Make `group["params"]` a list of tensors; the names of (name, tensor) pairs are moved to
    `group["param_names"]`.

    Raises TypeError for a set, ValueError if only some tensors have names.
    """
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    params = [params] if isinstance(params, Tensor) else list(params)
    names = [p[0] for p in params if isinstance(p, tuple)]
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
    if names and len(names) != len(params):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    if names:
        group["param_names"] = names
