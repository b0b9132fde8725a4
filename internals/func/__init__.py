"""Modules as functions of their parameters (`torch/func`, `torch/_functorch/functional_call.py`,
`torch/nn/utils/stateless.py`).

`functional_call(module, {"weight": w}, x)` runs the module with other tensors in place of its own.
That makes it possible to differentiate a step of an optimizer, as MAML does, or to average models
without a copy.

How the real one differs: `torch.func` has `grad`, `vmap`, `jvp` and more, which transform
functions; here `internals.autograd.functional` has Jacobians and Hessians. It restores tensors in
the order in which it replaced them; if a module is registered under two names, that leaves a
tensor of the caller in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from internals import Tensor
from internals.core.tracer import tracer
from internals.nn import Module

__all__ = ["functional_call"]

_NOTHING = object()


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Any] | Sequence[dict[str, Any]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the named tensors (parameters, buffers and attributes)
    replaced during the call.

    With `tie_weights`, a tensor that the module has under several names is replaced under all of
    them. If `forward` assigns to a replaced name, the new value ends up in the dict (if it is a
    single one), never in the module. Raises RuntimeError for compiled modules and, if `strict`,
    for missing and unexpected names; ValueError for a name in two dicts, and for several values of
    a tied tensor; AttributeError and TypeError for paths that do not lead to a module, and for
    non-tensor values.
    """
    given = _one_dict(parameter_and_buffer_dicts)
    if tracer.state is not None or hasattr(module, "_jit_type"):
        # a compiled graph reads its tensors itself: replacing attributes would have no effect
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _one_dict(dicts: Any) -> dict[str, Any]:
    """Several dicts as one; a single dict as it is, so that changes of its values are seen.

    Raises ValueError for other types, and for a name in two dicts.
    """
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: t for d in dicts for name, t in d.items()}


@contextmanager
def _replaced(
    module: Any, given: dict[str, Any], tie_weights: bool, strict: bool
) -> Iterator[None]:
    """A block in which the module has the tensors `given`; afterwards it has its own again."""
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    wanted = _with_tied_names(own, given) if tie_weights else given
    if strict:
        _check_names(module, sorted(own.keys() - wanted.keys()), sorted(wanted.keys() - own.keys()))
    before: dict[str, Any] = {}
    try:
        for name, t in wanted.items():
            before[name] = _swap(module, name, t)
        yield
    finally:
        # values that `forward` assigned go to the caller, before the module's own come back
        after = {name: _get(module, name) for name in given if name in before}
        given.update({name: t for name, t in after.items() if t is not _NOTHING})
        # In reverse: if two names lead to the same place, the first swap saw the original.
        for name, t in reversed(before.items()):
            _swap(module, name, t)


def _with_tied_names(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """`given`, with the same value under every other name of a tensor that it replaces."""
    names_of: dict[int, list[str]] = {}
    for name, t in own.items():
        names_of.setdefault(id(t), []).append(name)
    wanted = dict(given)
    for names in names_of.values():
        values = [given[name] for name in names if name in given]
        if any(v is not values[0] for v in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if values:
            wanted |= dict.fromkeys(names, values[0])
    return wanted


def _swap(module: object, path: str, value: Tensor | None) -> Any:
    """Put `value` (or `_NOTHING`) at `path`; returns what was there."""
    place, name = _place(module, path)
    if value is not _NOTHING:
        _check_tensor(value, str(value))
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    before = getattr(place, name, _NOTHING)
    if before is not _NOTHING:
        _check_tensor(before, f"attribute `{name}`: {before}")
    registered = next((d for d in (place._parameters, place._buffers) if name in d), None)
    if value is not _NOTHING:
        setattr(place, name, value) if registered is None else registered.update({name: value})
    elif before is not _NOTHING:
        delattr(place, name)
    return before


def _get(module: object, path: str) -> Any:
    place, name = _place(module, path)
    return getattr(place, name, _NOTHING)


def _place(module: Any, path: str) -> tuple[Any, str]:
    """The submodule and attribute of a path: "fc.weight" gives (module.fc, "weight")."""
    *steps, name = path.split(".")
    for i, step in enumerate(steps):
        if not hasattr(module, step):
            raise AttributeError(f"{module._get_name()} has no attribute `{step}`")
        module = getattr(module, step)
        if not isinstance(module, Module):
            raise TypeError(
                f"submodule `{'.'.join(steps[: i + 1])}`: {module} is not an instance of "
                "internals.nn.Module"
            )
    return module, name


def _check_tensor(value: object, what: str) -> None:
    if not (value is None or isinstance(value, Tensor)):
        raise TypeError(f"{what} is not an instance of internals.Tensor")


def _check_names(module: Any, missing: list[str], unexpected: list[str]) -> None:
    """Raise RuntimeError if there are missing or unexpected names."""
    lines = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if lines:
        raise RuntimeError(
            "\n\t".join([f"Error(s) in reparametrizing for {type(module).__name__}:", *lines])
        )
