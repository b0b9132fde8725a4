"""Modules as functions of their parameters (`torch/func`, `torch/_functorch/functional_call.py`).

`functional_call(module, {"weight": w}, x)` runs the module with other tensors in the place of its own: so a step of an optimizer
can be differentiated, as MAML does, or a model averaged without a copy.

How the real one differs: `grad`, `vmap`, `jvp` and their kind, which transform functions; here `internals.autograd.functional`
has the Jacobians and Hessians.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the named parameters and buffers replaced for the time of the call.

    A tensor the module uses under several names is replaced under all of them if `tie_weights`. Raises RuntimeError for names
    the module does not have if `strict`, ValueError for a name in two dicts.
    """
    dicts = parameter_and_buffer_dicts
    given: dict[str, Any] = {}
    for d in [dicts] if isinstance(dicts, Mapping) else dicts:
        repeated = [name for name in d if name in given]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given |= d
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def _replaced(module: Any, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    if strict:
        _check_names(module, sorted(own.keys() - given.keys()), sorted(given.keys() - own.keys()))
    if tie_weights:
        by_tensor = {id(own[name]): t for name, t in given.items() if name in own}
        given = {name: by_tensor[id(t)] for name, t in own.items() if id(t) in by_tensor} | given
    before = []
    try:
        for name, t in given.items():
            path, _, last = name.rpartition(".")
            place = module.get_submodule(path)
            home = place._buffers if last in place._buffers else place._parameters
            before.append((home, last, home.get(last, _NOTHING)))
            home[last] = t
        yield
    finally:
        for home, last, t in reversed(before):
            if t is _NOTHING:
                del home[last]
            else:
                home[last] = t


def _check_names(module: Any, missing: list[str], unexpected: list[str]) -> None:
    lines = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if lines:
        raise RuntimeError("\n\t".join([f"Error(s) in reparametrizing for {type(module).__name__}:", *lines]))


_NOTHING = object()
