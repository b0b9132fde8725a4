"""Alias annotations of a schema, like `Tensor(a! -> a|b)`: which arguments and results may share
memory, and which arguments are written to (`aten/src/ATen/core/alias_info.h`).

An argument's `before` names the alias sets its memory is in when the op is called, `after` those it
is in afterwards (the same, mostly), and `is_write` says that the op writes to it. A result in set
`a` may share memory with the arguments in set `a`. `*` is the wildcard: it may share memory with
anything that is in no named set.

How the real one differs: sets are symbols of the namespace `alias::`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

WILDCARD = "*"


@dataclass(frozen=True)
class AliasInfo:
    """One annotation. `contained` has the annotations of the elements of a list, tuple or dict:
    in `Tensor(a)[](b)`, the list is in set b and its tensors are in set a.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    is_write: bool = False
    contained: tuple[AliasInfo, ...] = ()

    @property
    def is_wildcard_before(self) -> bool:
        return WILDCARD in self.before

    @property
    def is_wildcard_after(self) -> bool:
        return WILDCARD in self.after

    def with_contained(self, inner: AliasInfo) -> AliasInfo:
        """A copy of this annotation, of a container whose elements have the annotation `inner`."""
        return replace(self, contained=(*self.contained, inner))

    def __str__(self) -> str:
        """The text behind a type in a schema; "" for a container without a set of its own."""
        if not self.before:
            return ""
        moved = f" -> {'|'.join(self.after)}" if self.after != self.before else ""
        return f"({'|'.join(self.before)}{'!' if self.is_write else ''}{moved})"
