"""Makes functions and methods when they are first used (`tools/autograd/gen_python_functions.py`).

`_generated/functions.py` and its like have a line of text for each function,
`_generated/methods.py` for each method:

    add add_Tensor>add_out add_Scalar | add_Tensor>add_out:self,alpha,other

its name, then its overloads, each followed by `>` and its out= variant, and after `|` those with a
deprecated order of arguments. The function is made when its name is first looked up. It then stays
in the module, as a method does in its class.

How the real one differs: all of them are compiled in, and bound when `torch` is imported.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

from internals.core.arg_parser import PythonArgParser
from internals.core.dispatcher import OperatorHandle, dispatcher

from .registration import identifier


class Functions:
    """The functions of a module. `prefix` is the beginning of their operators' names: "linalg_"."""

    def __init__(self, module: str, table: str, prefix: str = "") -> None:
        self.module, self.prefix, self.lines = module, prefix, _lines(table)

    def make(self, name: str) -> Callable[..., Any]:
        """The function called `name`. Raises AttributeError if the module has none."""
        if name not in self.lines:
            raise AttributeError(f"module {self.module!r} has no attribute {name!r}")
        parse = _parser(self.prefix + name, self.lines[name])

        def function(*args: Any, **kwargs: Any) -> Any:
            return parse(args, kwargs)

        return _named(function, name, "", self.module, self.lines[name])


class Methods:
    """The methods of a class, which gets a `Method` in place of each that it does not define."""

    def __init__(self, owner: type, table: str) -> None:
        self.owner, self.lines, self.parsers = owner, _lines(table), dict[str, PythonArgParser]()
        own = vars(owner)
        for name in self.lines:
            if name not in own:
                setattr(owner, name, Method(self, name))

    def parser(self, name: str) -> PythonArgParser:
        """The parser of the arguments of the method called `name`."""
        if name not in self.parsers:
            self.parsers[name] = _parser(name, self.lines[name], method=True)
        return self.parsers[name]

    def make(self, name: str) -> Callable[..., Any]:
        """The method called `name`: a function that parses its arguments, or, if `self` is the only
        one, calls the operator directly."""
        op = next(iter(Overloads(self.lines[name])))[0]
        arguments = [a.name for a in op.schema.arguments]
        position = arguments.index("self")  # 1 in where(condition, self, other)
        call, parse = op.call, self.parser(name)

        def only_self(self: Any) -> Any:
            return call(self)

        def self_first(self: Any, *args: Any, **kwargs: Any) -> Any:
            return parse((self, *args), kwargs)

        def self_later(self: Any, *args: Any, **kwargs: Any) -> Any:
            return parse((*args[:position], self, *args[position:]), kwargs)

        # a single overload whose only argument is `self`: nothing to parse
        alone = len(parse.overloads) == len(arguments) == 1  # type: ignore[arg-type]
        method: Any = only_self if alone else self_later if position else self_first
        owner = self.owner
        return _named(method, name, f"{owner.__name__}.", owner.__module__, self.lines[name])


class Method:
    """A placeholder in a class: at its first lookup it makes the method, which replaces it."""

    __slots__ = ("methods", "name")

    def __init__(self, methods: Methods, name: str) -> None:
        self.methods, self.name = methods, name

    def __get__(self, tensor: Any, kind: type | None = None) -> Any:
        method = self.methods.make(self.name)
        setattr(self.methods.owner, self.name, method)
        return method.__get__(tensor, kind)


class Overloads:
    """The overloads of a name, as `PythonArgParser` wants them: (operator, its out= variant or
    None, order of arguments) for each word, such as "add_Tensor>add_out"."""

    def __init__(self, words: str) -> None:
        self.words = words.split()

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for word in self.words:
            names, _, order = word.partition(":")
            op, *out_variant = (operator_named(name) for name in names.split(">"))
            yield (op, out_variant[0] if out_variant else None, order.replace(",", " "))


def operator_named(name: str) -> OperatorHandle:
    """The operator of an identifier, such as add_Tensor. Raises KeyError if there is none."""
    return dispatcher.operators[_full_names()[name]]


@cache
def _full_names() -> dict[str, str]:
    """Identifiers and the names of their operators: add_Tensor, aten::add.Tensor."""
    return {identifier(name): name for name in dispatcher.operators.lines}


def _lines(table: str) -> dict[str, str]:
    """The rest of each line of a table, by the name that it begins with."""
    return dict(row.split(" ", 1) for row in table.split("\n") if row)


def _parser(name: str, line: str, method: bool = False) -> PythonArgParser:
    words, _, deprecated = line.partition("|")
    return PythonArgParser(name, Overloads(words), method, Overloads(deprecated))


def _named(function: Callable[..., Any], name: str, owner: str, module: str, line: str) -> Any:
    """A copy of the function with its own name, which tracebacks show, and module; its docstring
    has the schemas of its overloads."""
    qualname = f"{owner}{name}"
    code = function.__code__.replace(co_name=name, co_qualname=qualname)
    home = {"__name__": module, "__builtins__": builtins}  # its globals, which say its module
    made = FunctionType(code, home, name, None, function.__closure__)
    made.__qualname__ = qualname
    words = line.partition("|")[0].split()
    texts = [dispatcher.operators.lines[_full_names()[word.partition(">")[0]]] for word in words]
    made.__doc__ = "\n".join("aten::" + text.partition(" | ")[0] for text in texts)
    return made
