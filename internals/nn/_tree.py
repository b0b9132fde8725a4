"""A module is a tree: walking it, and finding things in it (`torch/nn/modules/module.py`).

Every module holds three dictionaries: its parameters, its buffers, and its children, which are
modules again. Names are paths through the tree, joined by dots: `encoder.layers.0.weight`. A module
or parameter that is reachable by several paths is visited once, under the first of them, unless
`remove_duplicate=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from internals import Tensor
from internals.nn.parameter import Parameter


class Tree:
    """The part of `Module` that has the dictionaries of the tree, and walks through it."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]

    # Walking

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[Any]:
        """Pairs of path and module: the module itself (its path is `prefix`), then each child with
        everything below it. Modules in `memo` are skipped, and visited ones are added to it.
        """
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, path(prefix, name), remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """The modules of `named_modules`."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Pairs of name and module, one for each different child."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules of `named_children`."""
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs of path and parameter; with `recurse=False` only the module's own."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of `named_parameters`, as an optimizer takes them."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Pairs of path and buffer; with `recurse=False` only the module's own."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of `named_buffers`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[Any]:
        """Pairs of path and member, for the members that `get_members_fn` finds in each module.

        Members that are None are skipped.
        """
        memo = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for module_prefix, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in memo:
                    continue
                if remove_duplicate:
                    memo.add(member)
                yield path(module_prefix, name), member

    # Finding by path

    def get_submodule(self, target: str) -> Any:
        """The module at the path `target`; the module itself for "".

        Raises AttributeError if a name on the path does not exist or is not a module.
        """
        module: Any = self
        for name in target.split(".") if target else []:
            module = _member(module, name)
            if not isinstance(module, Tree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: object, strict: bool = False) -> None:
        """Put `module` at the path `target`, replacing another; with `strict` there must be one.

        Raises ValueError for an empty path and a non-module, AttributeError like `get_submodule`.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent_path, _, name = target.rpartition(".")
        parent = self.get_submodule(parent_path)
        if (strict or hasattr(parent, name)) and not isinstance(_member(parent, name), Tree):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the path `target`. Raises AttributeError if there is none."""
        module_path, _, name = target.rpartition(".")
        parameter = _member(self.get_submodule(module_path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the path `target`. Raises AttributeError if there is none."""
        module_path, _, name = target.rpartition(".")
        module = self.get_submodule(module_path)
        buffer = _member(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    # Doing something everywhere

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call `fn` with every module of the tree, children first, the module itself last. Returns
        the module.
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set `training` everywhere in the tree, which changes dropout and batch normalization.

        Returns the module.
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters; False freezes the module. Returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros if `set_to_none` is False."""
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            # a gradient with a graph of its own (create_graph=True) is detached before the write
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()


def path(prefix: str, name: str) -> str:
    """A path extended by one name; the empty path is the root."""
    return f"{prefix}.{name}" if prefix else name


def _member(module: Any, name: str) -> Any:
    """An attribute of a module. Raises AttributeError with PyTorch's words if there is none."""
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)
