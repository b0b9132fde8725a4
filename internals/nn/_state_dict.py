"""`state_dict` and `load_state_dict`: a module's tensors, as a dictionary and back
(`torch/nn/modules/module.py`).

A state dict is a flat dictionary from paths (`encoder.layers.0.weight`) to tensors: the parameters
and the persistent buffers of the whole tree. Each module writes its own (`_save_to_state_dict`) and
reads its own (`_load_from_state_dict`); subclasses override these two. Loading continues after a
mismatch, so that one error at the end can list all of them.

The dictionary has an attribute `_metadata` with a version number for every module, so that a later
version of a class can read the state of an earlier one.

How the real one differs: it can swap the contents of tensors instead of copying
(`torch.__future__`).
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from internals import Tensor, no_grad
from internals.autograd.node_hooks import RemovableHandle, register
from internals.nn._tree import Tree
from internals.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from internals.nn.utils.spectral_norm import SpectralNormStateDictHook

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
_RETURNED = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
    "values, if incompatible_keys need to be modified, it should be done inplace."
)
_META = (
    "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
    "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
    "state dictionary to their corresponding key in the module instead of copying them in place?)"
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of `load_state_dict`: two lists of keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict(Tree):
    """The part of `Module` that saves and loads its state."""

    _version: int = 1
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]

    # Saving

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The tensors of the tree by path: detached, but sharing memory with the module's.

        With `keep_vars` they are the parameters and buffers themselves. They are put into
        `destination` if one is given. Keys begin with `prefix`.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given: list[Any] = [*args, *[destination, prefix, keep_vars][len(args) :]]
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata  # the key has no dot at its end
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state into `destination`."""
        for name, t in self._local_state().items():
            destination[prefix + name] = t if keep_vars else t.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _local_state(self) -> dict[str, Any]:
        """This module's own parameters and persistent buffers that are not None, by name."""
        omitted = self._non_persistent_buffers_set
        buffers = {name: buffer for name, buffer in self._buffers.items() if name not in omitted}
        return {name: t for name, t in {**self._parameters, **buffers}.items() if t is not None}

    def get_extra_state(self) -> Any:
        """Override it to save something picklable besides tensors, under the key `_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state: Any) -> None:
        """Override it to read back what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    # Loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of `state_dict` into those of this tree, or with `assign` replace these
        by them.

        Returns the keys that are missing in `state_dict` and those that are unexpected. Raises
        RuntimeError for either if `strict`, and always for sizes that do not fit; TypeError if
        `state_dict` is not a mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)  # a copy: hooks and overrides may change it
        if metadata is not None:
            state_dict._metadata = metadata  # type: ignore[attr-defined]

        keys = _IncompatibleKeys(missing, unexpected)
        _load_tree(self, state_dict, "", metadata, assign, keys, errors)
        if strict:
            mismatches = (("Missing", missing), ("Unexpected", unexpected))
            errors = [
                f"{what} key(s) in state_dict: {_quoted(keys)}. "
                for what, keys in mismatches
                if keys
            ] + errors
        if errors:
            listing = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listing}"
            )
        return keys

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Read this module's own state; mismatches are appended to the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        local_state = self._local_state()
        for name, target in local_state.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_one(name, key, target, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)

        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if _overrides(self, "set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)

        if strict:
            # Unexpected here are unknown names, and paths through unknown children. Keys of known
            # children are left to these.
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else local_state):
                        unexpected_keys.append(key)

    def _load_one(
        self, name: str, key: str, target: Tensor, source: Tensor, assign: bool
    ) -> str | None:
        """Load `source` into `target`, this module's `name`. Returns an error message or None."""
        if not isinstance(source, Tensor):
            return (
                f'While copying the parameter named "{key}", expected internals.Tensor or '
                f"Tensor-like object from checkpoint but received {type(source)}"
            )
        if is_lazy(target):
            return None  # the source is lazy too: otherwise the pre-hook has given target its sizes
        if not target.shape and source.shape == (1,):
            source = source[0]  # before 0.4 there were no tensors without dimensions
        if source.shape != target.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {source.shape} from "
                f"checkpoint, the shape in current model is {target.shape}."
            )
        if target.is_meta and not source.is_meta and not assign:
            warnings.warn(_META.format(key), stacklevel=5)
        try:
            if assign:
                setattr(self, name, _like(target, source))
            else:
                with no_grad():
                    target.copy_(source)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{target.size()} and whose dimensions in the checkpoint are {source.size()}, an "
                f"exception occurred : {error.args}."
            )
        return None

    # Hooks

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change
        the dictionary in place.
        """
        hook._from_public_api = True
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(
        self, hook: Callable[..., Any] | SpectralNormStateDictHook
    ) -> RemovableHandle:
        """The older form: the hook of the root module may also return another dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`."""
        return register(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` first.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        from internals.utils.hooks import WrappedHook

        return register(
            self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None)
        )

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the two lists in
        place, but must return None.
        """
        return register(self._load_state_dict_post_hooks, hook)


def _load_tree(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Any,
    assign: bool,
    keys: _IncompatibleKeys,
    errors: list[str],
) -> None:
    """Load `module`, whose keys in `state` begin with `prefix`, and the modules below it."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local_metadata, True, *keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            # a child sees its own keys only, so a hook cannot change those of others
            child_prefix = f"{prefix}{name}."
            child_state = {k: v for k, v in state.items() if k.startswith(child_prefix)}
            _load_tree(child, child_state, child_prefix, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(_RETURNED)


def _like(target: Tensor, source: Tensor) -> Any:
    """`source` as a replacement of `target`: a Parameter if that is one, and as trainable."""
    if not isinstance(target, Parameter):
        return source
    if isinstance(source, Parameter):
        return source.requires_grad_(target.requires_grad)
    return Parameter(source, requires_grad=target.requires_grad)


def _overrides(module: StateDict, method: str) -> bool:
    """Whether the module's class has its own version of a method."""
    return getattr(type(module), method) is not getattr(StateDict, method)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
