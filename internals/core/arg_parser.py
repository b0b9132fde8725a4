"""The parser from Python arguments to an operator's arguments
(`torch/csrc/utils/python_arg_parser.cpp`).

A Python function such as `sum` stands for several overloads. The parser tries their signatures in
order, checks each argument against its declared type, fills in defaults and calls the operator with
all arguments in the order of its schema. The choice depends only on the *types* of the arguments,
so it is cached as an adapter, a small compiled function (`signature.py`): the next call with
arguments of the same types calls it at once.

How the real one differs: PyTorch parses on every call (in C++), also looks for
`__torch_function__`, and generates the signatures from the schemas ahead of time; its error lists
show C++ spellings of the types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .tensor_impl import TensorImpl

if TYPE_CHECKING:
    from .signature import Signature


# Functions that take a number where their schema says Tensor, as in add(2, t) and mul(t, 2, out=o).
NUMBERS_AS_TENSORS = {
    "add",
    "sub",
    "subtract",
    "mul",
    "multiply",
    "div",
    "divide",
    "true_divide",
    "floor_divide",
}


class PythonArgParser:
    """The parser of one Python function; `parser(args, kwargs)` calls the operator.

    `overloads` are tuples of the arguments of `Signature`: an operator, its `out=` variant or None,
    an order of arguments or "". `deprecated` are others with an old order of arguments, which are
    tried when none of the overloads fits. With `method` the first argument is `self`; a function
    calls it `input`. Raises TypeError, with the accepted signatures, when nothing matches.
    """

    __slots__ = ("name", "signatures", "overloads", "method", "deprecated", "cache")

    def __init__(
        self,
        name: str,
        overloads: Iterable[tuple[Any, ...]],
        method: bool = False,
        deprecated: Iterable[tuple[Any, ...]] = (),
    ) -> None:
        self.name, self.overloads, self.method, self.deprecated = (
            name,
            overloads,
            method,
            deprecated,
        )
        self.signatures: list[Signature] | None = None
        self.cache: dict[Any, Callable[..., Any]] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # the types of the positional arguments, and the names and types of the others
        key: Any = (_kind(args[0]),) if len(args) == 1 else tuple(map(_kind, args))
        if kwargs:
            key = key, *kwargs, *map(_kind, kwargs.values())
        adapter = self.cache.get(key)
        if adapter is None:
            adapter = self._match(args, kwargs)
            self.cache[key] = adapter
        try:
            return adapter(args, kwargs)
        except Exception as error:
            from .stray_errors import translate

            translate(error, self.name, args, kwargs)
            raise

    def _match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """The adapter of the first signature that fits. Overloads come first, then deprecated ones,
        then, for arithmetic, all of them with numbers in place of tensors.
        """
        from .arg_types import type_name
        from .signature import Signature

        if self.signatures is None:
            self.signatures = [Signature(self.name, self.method, *o) for o in self.overloads]
        n = len(args) + len(kwargs)
        reasons, plausible = [], []
        for signature in self.signatures:
            bound = signature.bind(args, kwargs)
            if not isinstance(bound, str):
                return bound
            reasons.append(bound)
            if signature.fewest <= n <= signature.most:
                plausible.append(bound)
        old = [Signature(self.name, self.method, *o) for o in self.deprecated]
        for signature in old:
            bound = signature.bind(args, kwargs)
            if not isinstance(bound, str):
                return bound
        if self.name.rstrip("_") in NUMBERS_AS_TENSORS:
            for signature in [*self.signatures, *old]:
                bound = signature.bind(args, kwargs, numbers_as_tensors=True)
                if not isinstance(bound, str):
                    return bound
        # With one signature, or only one for this number of arguments, its reason is the message.
        if len(reasons) == 1 or len(plausible) == 1:
            raise TypeError(f"{self.name}{(plausible or reasons)[0]}")
        got = ", ".join(
            [type_name(a) for a in args[self.method :]]
            + [f"{k}={type_name(v)}" for k, v in kwargs.items()]
        )
        listing = "\n".join(f" * {s}" for s in self.signatures)
        raise TypeError(
            f"{self.name}() received an invalid combination of arguments - got ({got}), but "
            f"expected one of:\n{listing}\n"
        )


def _kind(v: Any) -> Any:
    """The property of a value that the choice of an overload depends on: its type; for sequences
    also those of their elements; for 0-d tensors, which may stand for a number, also dtype and
    requires_grad.
    """
    t = v.__class__
    if t in _tensors:
        return t if v._geometry.sizes else (t, v._geometry.dtype, v.requires_grad)
    if t in _atoms:
        return t
    if isinstance(v, (list, tuple)):
        return (t, *{_kind(x) for x in v})
    # a new type: `isinstance` is slow, and the sets answer from now on
    (_tensors if isinstance(v, TensorImpl) else _atoms).add(t)
    return _kind(v)


_tensors: set[type] = set()
_atoms: set[type] = set()
