"""Modules made of modules: `Sequential`, `ModuleList`, `ModuleDict`
(`torch/nn/modules/container.py`).

A plain Python list of layers, assigned to a module, would hide them: the module only registers
modules and parameters. These are lists and dictionaries that are modules themselves. Their members
are children named "0", "1", ... or by their keys; `Sequential` also has a `forward`, which calls
them one after the other.

How the real one differs: `ParameterList` and `ParameterDict` are in the same file there.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Self

from internals.core.tensor_impl import Tensor
from internals.nn.module import Module, indented


class _Numbered(Module):
    """A list whose children are named by their positions: "0", "1", ..."""

    _modules: dict[str, Any]

    def __setitem__(self, idx: int, module: Module | None) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        # renumber, so that there is no gap
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module | None) -> Self:
        """Add a module at the end. Returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove a module, or a slice of them, and return it."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found

    def _insert(self, index: int, module: Any) -> None:
        # from the end, so that no module is overwritten before it has moved up
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def _key(self, idx: Any) -> str:
        """The name of the child at a position, which may be counted from the end. Raises IndexError
        if there is none.
        """
        idx, n = operator.index(idx), len(self)
        if not -n <= idx < n:
            raise IndexError(f"index {idx} is out of range")
        return list(self._modules)[idx]


class Sequential(_Numbered):
    """Modules that are called one after the other, each with the result of the one before.

    The children of `Sequential(a, b)` are named "0" and "1", those of
    `Sequential(OrderedDict(first=a, second=b))` by the keys.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        """The module at a position; for a slice a new `Sequential`, with the same names."""
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`. Raises IndexError beyond the ends. Returns the
        container.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index % n if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Any]) -> Self:
        """Append several modules."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self).__iadd__(other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is "
                "given."
            )
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        """The same modules `other` times over; they are shared, not copied."""
        return Sequential(*self).__imul__(other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return self.extend(list(self) * (other - 1))


class ModuleList(_Numbered):
    """A list of modules. It has no `forward`: the module that owns it calls its members."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        """The module at a position; for a slice a new list."""
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._key(idx)]

    def insert(self, index: int, module: Module | None) -> None:
        """Put a module before the one at `index`."""
        self._insert(index, module)

    def extend(self, modules: Iterable[Any]) -> Self:
        """Append several modules. Raises TypeError for an argument that is not iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Consecutive modules that print the same are shown once: "(0-2): 3 x ReLU()"."""
        runs: list[tuple[int, int, str]] = []  # (first, last, text)
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        lines = [
            f"({start}): {text}" if start == end else f"({start}-{end}): {end - start + 1} x {text}"
            for start, end, text in runs
        ]
        inside = "\n  " + "\n  ".join(map(indented, lines)) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


class ModuleDict(Module):
    """A dictionary of modules, in the order of insertion. It has no `forward`."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module | None) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove the module of `key` and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: object) -> None:
        """Add modules from a mapping or an iterable of pairs; existing keys are replaced.

        Raises TypeError or ValueError for anything else.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        for key, module in pairs("ModuleDict", modules):
            self[key] = module


def pairs(container: str, entries: Any) -> Iterator[Any]:
    """The (key, value) pairs of a mapping or of an iterable of pairs.

    Raises TypeError or ValueError, with the name of the `container`, for elements that are not
    pairs.
    """
    if hasattr(entries, "items"):
        yield from entries.items()
        return
    for i, entry in enumerate(entries):
        element = f"{container} update sequence element #{i}"
        if not isinstance(entry, Iterable):
            raise TypeError(f"{element} should be Iterable; is{type(entry).__name__}")
        if len(entry) != 2:  # type: ignore[arg-type]
            raise ValueError(f"{element} has length {len(entry)}; 2 is required")  # type: ignore[arg-type]
        key, value = entry
        yield key, value
