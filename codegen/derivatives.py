"""What codegen knows about one derivative: an entry of a file in derivatives, parsed and analysed
(`tools/autograd/load_derivatives.py`).

The formula of an entry mentions arguments and results of the operator. Which ones decides what the
node has to save: a tensor that is mentioned itself is kept; of `self.shape` or `self.dim()` only
the value is.

How the real one differs: its formulas are C++ and are searched with regular expressions; it also
derives forward-mode formulas.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.model import NAMESPACES, NativeFunction, read_entries
from internals.core.schema import FunctionSchema, parse_schema

AUTOGRAD = Path(__file__).parent.parent / "internals" / "autograd"
FOLDER = AUTOGRAD / "derivatives"
ATTRIBUTES = ("shape", "dtype", "device")
METHODS = ("dim", "numel", "stride", "storage_offset")


@dataclass(frozen=True)
class Saved:
    """One thing a node keeps: `of` an argument or output; `detail` ("shape", ...) if only that is
    kept of it.
    """

    of: str
    detail: str = ""
    is_output: bool = False

    @property
    def name(self) -> str:
        return f"{self.of}_{self.detail}" if self.detail else self.of


@dataclass(frozen=True)
class Formula:
    """`names` are the arguments it gives gradients for; `text` the expression, with details
    replaced by their saved names.
    """

    names: tuple[str, ...]
    text: str
    saved: tuple[Saved, ...]
    functions: tuple[str, ...]
    uses: frozenset[str]


@dataclass(frozen=True)
class Derivative:
    """One entry. `differentiable`: for each output, whether a gradient can come from it."""

    schema: FunctionSchema
    node: str
    formulas: tuple[Formula, ...]
    differentiable: tuple[bool, ...]
    place: str = ""  # "pointwise_binary.yaml:12"

    @property
    def saved(self) -> list[Saved]:
        return list(dict.fromkeys(s for f in self.formulas for s in f.saved))

    @property
    def names(self) -> list[str]:
        """The arguments that have gradients, in schema order."""
        given = {n for f in self.formulas for n in f.names}
        return [a.name for a in self.schema.arguments if a.name in given]


def load(functions: list[NativeFunction], path: Path = FOLDER) -> dict[str, Derivative]:
    """Every entry by the full name of its operator. Raises ValueError naming the entry that is
    wrong.
    """
    declared = {f.schema.full_name: f for f in functions}
    entries: dict[str, Derivative] = {}
    count: dict[str, int] = {}
    for entry in read_entries(path):
        entry = dict(entry)
        text, place = entry.pop("name"), entry.pop("place")
        schema = parse_schema(text)
        f = declared.get(schema.full_name)
        if f is None or str(f.schema) != str(schema):
            raise ValueError(
                f"derivatives: {text} is not declared like this: {f.schema if f else 'not at all'}"
            )
        if f.is_composite:
            raise ValueError(f"derivatives: {text} is composite; autograd sees through it")
        if schema.full_name in entries:
            raise ValueError(f"derivatives: {text} has two entries")
        flags = tuple(entry.pop("output_differentiability", [True] * len(schema.returns)))
        base = schema.name.strip("_")  # bernoulli and bernoulli_ are numbered together
        index = count.get(base, 0)
        if entry:
            count[base] = index + 1
        known = {a.name for a in schema.arguments}
        formulas = []
        for key, expression in entry.items():
            names = tuple(n.strip() for n in key.split(","))
            if not set(names) <= known:
                hint = (
                    "; a formula for a result is PyTorch's forward mode, which is not here"
                    if "result" in key
                    else ""
                )
                raise ValueError(
                    f"derivatives: {text}: no argument called "
                    f"{', '.join(sorted(set(names) - known))}{hint}"
                )
            formulas.append(_formula(schema, names, str(expression)))
        entries[schema.full_name] = Derivative(
            schema, node_name(schema.name, index), tuple(formulas), flags, place
        )
    return entries


def node_name(op: str, index: int) -> str:
    """`max_pool2d_with_indices` → MaxPool2DWithIndicesBackward0."""
    words = op.strip("_").removesuffix("_forward").replace("_", " ").title().replace(" ", "")
    return f"{words}Backward{index}"


def function_homes(functions: list[NativeFunction]) -> dict[str, str]:
    """Where the functions that formulas may call are defined: name → module, or "module: its_name
    as name".

    The helpers come before the operators.
    """
    # called with all arguments
    homes = {f.identifier: "internals._generated.ops" for f in functions}
    homes |= {
        f.schema.name: "internals._generated.nn_functions"
        for f in functions
        if f.python_module == "nn" and "function" in f.variants
    }
    home = "internals._generated.{}_functions: {} as {}"
    homes |= {
        f.schema.name: home.format(f.python_module, f.python_name, f.schema.name)
        for f in functions
        if f.python_module in NAMESPACES and "function" in f.variants
    }
    homes |= {
        f.schema.name: "internals._generated.functions"
        for f in functions
        if not f.python_module and "function" in f.variants
    }
    homes |= {
        "inf": "math",
        "pi": "math",
        "nan": "math",
        "is_grad_enabled": "internals.core.grad_mode",
    }
    for file in sorted((AUTOGRAD / "formulas").glob("*.py")):
        for statement in ast.parse(file.read_text()).body:
            if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
                homes[statement.name] = f"internals.autograd.formulas.{file.stem}"
    return homes


def output_names(schema: FunctionSchema) -> list[str]:
    """What a formula calls the outputs: by their names, or result, or result0, result1, ..."""
    if len(schema.returns) == 1:
        return [schema.returns[0].name or "result"]
    return [r.name or f"result{i}" for i, r in enumerate(schema.returns)]


class _Details(ast.NodeTransformer):
    """Replaces `self.shape`, `self.dim()` and their kind by the name of the saved value."""

    def __init__(self, tensors: Iterable[str]) -> None:
        self.tensors, self.found = set(tensors), dict[str, Saved]()

    def visit_Call(self, call: ast.Call) -> Any:
        f = call.func
        if (
            isinstance(f, ast.Attribute)
            and f.attr in METHODS
            and not call.args
            and self._is_tensor(f.value)
        ):
            return self._saved(f)
        return self.generic_visit(call)

    def visit_Attribute(self, attribute: ast.Attribute) -> Any:
        if attribute.attr in ATTRIBUTES and self._is_tensor(attribute.value):
            return self._saved(attribute)
        return self.generic_visit(attribute)

    def _is_tensor(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Name) and value.id in self.tensors

    def _saved(self, attribute: ast.Attribute) -> ast.Name:
        assert isinstance(attribute.value, ast.Name)
        saved = Saved(attribute.value.id, attribute.attr)
        self.found[saved.name] = saved
        return ast.Name(saved.name, ast.Load())


def _formula(schema: FunctionSchema, names: tuple[str, ...], expression: str) -> Formula:
    outputs = output_names(schema)
    tensors = [a.name for a in schema.arguments if a.type.base == "Tensor"] + outputs
    details = _Details(tensors)
    try:
        tree = details.visit(ast.parse(expression.strip(), mode="eval"))
    except SyntaxError as error:
        raise ValueError(
            f"derivatives: {schema.full_name}: {expression!r} is no Python expression: {error.msg}"
        ) from None
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    mentioned = dict.fromkeys(
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in bound
    )
    arguments = {a.name for a in schema.arguments}
    saved, functions, uses = [], [], set()
    for name in mentioned:
        if name in details.found:
            found = details.found[name]
            saved.append(Saved(found.of, found.detail, found.of in outputs))
        elif name in arguments:
            saved.append(Saved(name))
        elif name in outputs:
            saved.append(Saved(name, is_output=True))
        elif name in ("grad", "grads", "grad_input_mask"):
            uses.add(name)
        else:
            functions.append(name)
    return Formula(names, ast.unparse(tree), tuple(saved), tuple(functions), frozenset(uses))


def home(name: str, homes: dict[str, str], where: str) -> str | None:
    """The module to import `name` from, None for a builtin. Raises ValueError when there is no such
    function.
    """
    if name in homes:
        return homes[name]
    if hasattr(builtins, name):
        return None
    raise ValueError(
        f"derivatives: {where}: nothing is called {name!r}; a formula calls operators and the "
        "public functions of internals/autograd/formulas"
    )
