"""Reads the body of a class in the code of an archive (`SourceImporterImpl::importClass` of
`import_source.cpp`).

    class Net(Module):
      __parameters__ = ["weight", ]
      __buffers__ = []
      weight : Tensor
      training : bool
      size : Final[int] = 3
      __annotations__["0"] = __torch__.Layer
      def forward(self: __torch__.Net, x: Tensor) -> Tensor: ...

Attributes whose names are not Python identifiers, as those of a Sequential, are entries of
`__annotations__`.

How the real one differs: it adds attributes that a few quantized modules of old archives lack.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from internals.jit.ir import ClassType, Type

from .archive_literals import is_name, literal
from .archive_names import Namespace

# the lists of names in a class body
LISTS = (
    "__parameters__",
    "__buffers__",
    "__attributes__",
    "__forward_hooks__",
    "__forward_pre_hooks__",
)
# names that a module uses in its own `__dict__`, so that an attribute would overwrite them
RESERVED = frozenset(
    "_parameters _buffers _modules _methods _jit_type _concrete_type "
    "_non_persistent_buffers_set _forward_hooks _forward_pre_hooks _backward_hooks "
    "_backward_pre_hooks _state_dict_hooks _state_dict_pre_hooks "
    "_load_state_dict_pre_hooks _load_state_dict_post_hooks original_name".split()
)


@dataclass
class ClassBody:
    """The parts of a class. `attributes` are (name, type, kind), with a kind of "parameter",
    "buffer", "module" or "attribute"; `lists` are the names in each of `LISTS`.
    """

    attributes: list[tuple[str, Type, str]] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    methods: list[ast.FunctionDef] = field(default_factory=list)
    lists: dict[str, list[str]] = field(default_factory=dict)

    @property
    def hooks(self) -> tuple[list[str], list[str]]:
        """The names of the methods that are forward pre-hooks, and those that are forward hooks."""
        return self.lists.get("__forward_pre_hooks__", []), self.lists.get("__forward_hooks__", [])


def import_class_body(
    definition: ast.ClassDef, namespace: Namespace, type_of: Callable[[ast.expr], Type]
) -> ClassBody:
    """Reads a class. Raises ValueError, with the line, for a statement that is not allowed."""
    body = ClassBody()
    for statement in definition.body:
        if isinstance(statement, ast.FunctionDef):
            body.methods.append(statement)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            _annotated(body, statement.target.id, statement, namespace, type_of)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            _assigned(body, statement.targets[0], statement.value, namespace, type_of)
        elif not isinstance(statement, ast.Pass):
            raise ValueError(f"line {statement.lineno}: this is nothing that a class has")
    for name in (*(a[0] for a in body.attributes), *body.constants):
        if name in RESERVED or (name.startswith("__") and name.endswith("__")):
            raise ValueError(
                f"an attribute of the class '{definition.name}' is called '{name}': that is a name "
                "of Python's"
            )
    return body


def _annotated(
    body: ClassBody,
    name: str,
    statement: ast.AnnAssign,
    namespace: Namespace,
    type_of: Callable[[ast.expr], Type],
) -> None:
    """Adds the attribute `name : Type`, or the constant `name : Final[Type] = value`."""
    if statement.value is not None:
        body.constants[name] = literal(statement.value, namespace)
    else:
        _add(body, name, type_of(statement.annotation))


def _assigned(
    body: ClassBody,
    target: ast.expr,
    value: ast.expr,
    namespace: Namespace,
    type_of: Callable[[ast.expr], Type],
) -> None:
    """Reads `__parameters__ = ["weight", ]`, `__annotations__["0"] = Type`, or the form `name =
    Type` of older archives.
    """
    if isinstance(target, ast.Subscript) and is_name(target.value, "__annotations__"):
        key = literal(target.slice, namespace)
        if not isinstance(key, str):
            raise ValueError(f"line {target.lineno}: the name of an attribute is a string")
        _add(body, key, type_of(value))
    elif isinstance(target, ast.Name) and target.id in LISTS:
        names = literal(value, namespace)
        if not (isinstance(names, list) and all(isinstance(each, str) for each in names)):
            raise ValueError(f"line {target.lineno}: {target.id} is a list of names")
        body.lists[target.id] = names
    elif isinstance(target, ast.Name) and target.id != "__annotations__":
        _add(body, target.id, type_of(value))
    elif not isinstance(target, ast.Name):
        raise ValueError(f"line {target.lineno}: this is nothing that a class has")


def _add(body: ClassBody, name: str, type: Type) -> None:
    """Adds an attribute. The lists of names come first in a class, so its kind is known here."""
    kind = "attribute"
    if name in body.lists.get("__parameters__", ()):
        kind = "parameter"
    elif name in body.lists.get("__buffers__", ()):
        kind = "buffer"
    elif isinstance(type, ClassType) and type.is_module:
        kind = "module"
    body.attributes.append((name, type, kind))
