"""`state_dict` and `load_state_dict` of optimizers (the second half of `torch/optim/optimizer.py`).

A state dict must mean the same in another process, so each parameter is replaced by its position in
the optimizer:

    {"state": {0: {...}, 1: {...}}, "param_groups": [{"lr": 0.1, ..., "params": [0, 1]}]}

Loading assigns the positions to the parameters of this optimizer in order, and casts the state of
each parameter to its dtype and device.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from internals._tensor import Tensor
from internals.autograd.node_hooks import RemovableHandle, register

StateDict = dict[str, Any]


class Checkpoint:
    """The part of `Optimizer` that saves and restores."""

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]

    def state_dict(self) -> StateDict:
        """The options and the state, with positions for parameters; tensors are not copied."""
        for before in self._optimizer_state_dict_pre_hooks.values():
            before(self)
        numbers: dict[int, int] = {}  # id of a parameter → its position in all groups
        groups = []
        start = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for after in self._optimizer_state_dict_post_hooks.values():
            changed = after(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Restore a state dict, made here or by PyTorch.

        Raises ValueError when the groups differ in number, or in their numbers of parameters.
        """
        state_dict = state_dict.copy()
        for before in self._optimizer_load_state_dict_pre_hooks.values():
            changed = before(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(ours["params"]) != len(theirs["params"]) for ours, theirs in zip(groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        parameters = {
            i: p
            for ours, theirs in zip(groups, saved)
            for i, p in zip(theirs["params"], ours["params"])
        }
        # whether the step count was kept as a tensor on the parameter's device
        counts_there = {
            i: bool(g.get("capturable") or g.get("fused")) for g in saved for i in g["params"]
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = cast_like(parameters[key], value, counts_there[key])
            else:
                state[key] = value
        for ours, theirs in zip(groups, saved):
            theirs["params"] = ours["params"]
            if "param_names" in ours:
                theirs.setdefault("param_names", ours["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in self._optimizer_load_state_dict_post_hooks.values():
            after(self)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs before `state_dict`."""
        return register(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs after `state_dict`, and may return another one."""
        return register(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` runs before loading, and may return another one to load."""
        return register(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` runs after loading."""
        return register(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _make_hooks(self) -> None:
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]] = (
            OrderedDict()
        )
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]] = (
            OrderedDict()
        )


def cast_like(p: Tensor, value: Any, cast_step: bool, key: str | None = None) -> Any:
    """The state `value` of a parameter, with tensors on the device of `p` and, if `p` is floating,
    in its dtype. Dicts and sequences are converted element by element.

    The step count keeps its dtype and device, as half precision cannot represent 2049; with
    `cast_step` it becomes float32 on the device of `p`.
    """
    if isinstance(value, Tensor):
        if key == "step":
            from internals import float32

            return value.to(p.device, float32) if cast_step else value
        return value.to(p.device, p.dtype) if p.is_floating_point() else value.to(p.device)
    if isinstance(value, dict):
        return {k: cast_like(p, v, cast_step, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(cast_like(p, v, cast_step) for v in value)  # type: ignore[call-arg]
    return value
