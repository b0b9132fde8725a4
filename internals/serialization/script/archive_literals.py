"""Reads the literals in the code of an archive that are outside of function bodies: defaults of
arguments, constants of classes, strings.

    def forward(self, x: Tensor, eps: float=1.0000000000000001e-05, mode: Optional[str]=None): ...
    in_features : Final[int] = 3

They are read from Python's `ast`, never evaluated.

PyTorch prints a string as the bytes of its UTF-8, and those that are not printable ASCII as three
octal digits: `"h\\303\\251"` is "hé". Python reads one character for each byte, so
`join_bytes_of_strings` decodes them.

How the real one differs: it compiles a function that returns the values, and runs it.
"""

from __future__ import annotations

import ast
from typing import Any

from internals.core.device import device

from .archive_names import NUMBERS, ConstantTable, Namespace


def defaults_of(args: ast.arguments, namespace: Namespace) -> dict[str, Any]:
    """The default values of a signature, by argument. Raises ValueError for other expressions than
    literals.
    """
    positional = [*args.posonlyargs, *args.args]
    # `args.defaults` belong to the last positional arguments; keyword-only ones may have None.
    pairs = [*zip(positional[len(positional) - len(args.defaults) :], args.defaults)]
    pairs += [
        (arg, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults)
        if default is not None
    ]
    return {arg.arg: literal(default, namespace) for arg, default in pairs}


def literal(node: ast.expr, namespace: Namespace) -> Any:
    """The value of a literal: numbers, strings, None, lists, tuples and dicts of them, devices,
    `CONSTANTS.c0`.

    Raises ValueError for anything else.
    """
    if (
        isinstance(node, ast.Constant)
        and node.value is not Ellipsis
        and not isinstance(node.value, bytes)
    ):
        return node.value
    # -1 is an operator and a literal in Python's syntax
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand, namespace)
        if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
            return -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):  # 1.+2.j
        left, right = literal(node.left, namespace), literal(node.right, namespace)
        if isinstance(left, (int, float)) and isinstance(right, complex):
            return left + right if isinstance(node.op, ast.Add) else left - right
    if isinstance(node, (ast.List, ast.Tuple)):
        values = [literal(each, namespace) for each in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [literal(each, namespace) for each in node.keys if each is not None]
        return dict(zip(keys, (literal(each, namespace) for each in node.values)))
    if isinstance(node, ast.Name) and node.id in NUMBERS:
        return NUMBERS[node.id]
    if isinstance(node, ast.Call):
        return _called(node, namespace)
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "CONSTANTS"
    ):
        table = namespace.names["CONSTANTS"]
        number = node.attr[1:]
        if (
            isinstance(table, ConstantTable)
            and number.isdecimal()
            and int(number) < len(table.constants)
        ):
            return table.constants[int(number)]
    raise ValueError(f"not a constant value: {ast.unparse(node)[:100]}")


def dotted_name(node: ast.expr) -> str:
    """The text of a name such as `a.b.C`; "" for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def is_name(node: ast.expr, name: str) -> bool:
    """Whether an expression is this name."""
    return isinstance(node, ast.Name) and node.id == name


def _called(node: ast.Call, namespace: Namespace) -> Any:
    """The value of `torch.device("cpu")` or `annotate(List[int], [])`."""
    name = dotted_name(node.func)
    if name == "torch.device" and len(node.args) == 1 and not node.keywords:
        return device(literal(node.args[0], namespace))
    if name in ("annotate", "unchecked_cast") and len(node.args) == 2 and not node.keywords:
        return literal(node.args[1], namespace)
    raise ValueError(f"not a constant value: {ast.unparse(node)[:100]}")


def join_bytes_of_strings(module: ast.Module) -> None:
    """Decodes the strings of a parsed module in place, as their UTF-8 was printed byte by byte."""
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not node.value.isascii()
        ):
            try:
                node.value = node.value.encode("latin-1").decode()
            except UnicodeError:  # it was printed as characters, not as bytes
                continue
