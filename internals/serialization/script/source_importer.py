"""Finds the classes and functions that the code of an archive defines
(`torch/csrc/jit/serialization/import_source.cpp`).

The class `__torch__.models.resnet.Block` is defined in the record
`code/__torch__/models/resnet.py`. A record is read and parsed when the first of its names is used:
the pickle names the class of the module, whose attributes have types, and whose methods call
functions. Unused definitions are never compiled.

    class Linear(Module):                            a `ClassType`; without `(Module)` a class of
                                                     plain objects
      __parameters__ = ["weight", "bias", ]
      weight : Tensor                                an attribute
      in_features : Final[int] = 3                   a constant
      def forward(self: ..., input: Tensor) -> ...   an `ImportedFunction`
    class Pair(NamedTuple): ...                      a tuple type with names
    def relu(input: Tensor) -> Tensor: ...           an `ImportedFunction`

Every archive has its own names: two archives may each define a `__torch__.Net`.

How the real one differs: it also reads enums and interfaces (which stand for modules that can be
swapped), and has its own parser.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from internals.jit.frontend.annotations import BY_NAME, type_of_expr
from internals.jit.frontend.build_expressions import build_expression
from internals.jit.frontend.python_values import FunctionValue, NamedTupleConstructor
from internals.jit.frontend.source import PARSER_LOCK, ParsedFunction, SourceContext
from internals.jit.frontend.sugared_values import SugaredValue
from internals.jit.ir import ClassType, TupleType, Type
from internals.jit.schema import Argument, FunctionSchema

from ..errors import ArchiveError
from .archive_literals import dotted_name, is_name, join_bytes_of_strings
from .archive_names import CURRENT_VERSION, ClassValue, Namespace
from .class_importer import import_class_body
from .imported_function import ImportedFunction, compile_in_archive, refusing

if TYPE_CHECKING:
    Definition: TypeAlias = ast.ClassDef | ast.FunctionDef

__all__ = ["SourceImporter", "compile_in_archive", "record_of"]


class SourceImporter:
    """Finds the definitions in an archive's code by their qualified names.

    `read_source(record)` returns the text of a record, or None if there is none of that name.
    `archive` is the archive's name in errors.
    """

    def __init__(
        self,
        read_source: Callable[[str], str | None],
        constants: Sequence[Any] = (),
        version: int = CURRENT_VERSION,
        archive: str = "",
    ) -> None:
        self.read_source, self.archive = read_source, archive
        self.namespace = Namespace(constants, version, self.find_value, self.find_type)
        self._contexts: dict[str, ArchiveSource | None] = {}  # record -> text; None if missing
        self._definitions: dict[str, Definition] = {}
        self._types: dict[str, Type] = {}
        self._functions: dict[str, ImportedFunction] = {}
        self._in_progress: set[str] = set()

    def find_type(self, name: str) -> Type | None:
        """The class or named tuple of this name; None if none is defined. Raises ArchiveError if
        its definition is wrong.
        """
        if name in self._types:
            return self._types[name]
        definition = self._definition(name)
        if not isinstance(definition, ast.ClassDef):
            return None
        with refusing(self.archive, record_of(name)):
            return self._import_class(name, definition)

    def class_type(self, name: str) -> ClassType:
        """The class of this name. Raises ArchiveError if there is none."""
        found = self.find_type(name)
        if not isinstance(found, ClassType):
            what = "not defined" if found is None else "not a class"
            raise ArchiveError(
                f"the class '{name}' is {what}", archive=self.archive, record=record_of(name)
            )
        return found

    def find_function(self, name: str) -> ImportedFunction | None:
        """The function of this name; None if none is defined."""
        found = self._functions.get(name)
        if found is None:
            definition = self._definition(name)
            if isinstance(definition, ast.FunctionDef):
                found = self._functions[name] = self._imported(definition, name, None)
        return found

    def find_value(self, name: str) -> SugaredValue | None:
        """The compiler's value for a name: a function, a class, the constructor of a named tuple;
        None if it is not defined.
        """
        found = self.find_type(name)
        if isinstance(found, TupleType):
            assert found.names is not None
            arguments = tuple(Argument(n, t) for n, t in zip(found.names, found.elements))
            return NamedTupleConstructor((found, FunctionSchema(name, "", arguments, ())))
        if isinstance(found, ClassType):
            return ClassValue(found)
        function = self.find_function(name)
        return None if function is None else FunctionValue(function)

    def type_of(self, node: ast.expr, record: str) -> Type:
        """The type that an annotation in a record means. Raises RuntimeError, with the place."""
        name = dotted_name(node)
        # Most annotations are just a name: no need for the compiler.
        known = self.find_type(name) if "." in name else BY_NAME.get(name)
        if known is not None:
            return known
        context = self._contexts[record]
        assert context is not None
        return type_of_expr(build_expression(context, node), self.namespace)

    # Reading.

    def _definition(self, name: str) -> Definition | None:
        """The parsed definition of a name, whose record is read if necessary."""
        record = record_of(name)
        if record not in self._contexts:
            with refusing(self.archive, record):
                self._read(record, name.rpartition(".")[0])
        return self._definitions.get(name)

    def _read(self, record: str, prefix: str) -> None:
        """Parses a record, and notes its definitions as `prefix.name`."""
        text = self.read_source(record)
        if text is None:
            self._contexts[record] = None
            return
        self._contexts[record] = ArchiveSource(text, record, 1)
        for statement in parse(text).body:
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                if f"{prefix}.{statement.name}" in self._definitions:
                    raise ValueError(
                        f"line {statement.lineno}: '{statement.name}' is defined twice"
                    )
                self._definitions[f"{prefix}.{statement.name}"] = statement
            elif not _is_version(statement):
                raise ValueError(
                    f"line {statement.lineno}: neither a class nor a function is defined here"
                )

    def _imported(
        self, definition: ast.FunctionDef, name: str, self_type: ClassType | None
    ) -> ImportedFunction:
        context = self._contexts[
            record_of(self_type.qualified_name if self_type is not None else name)
        ]
        assert context is not None
        parsed = ParsedFunction(definition, context, context.text)
        return ImportedFunction(parsed, self.namespace, name, self_type, self.archive)

    def _import_class(self, name: str, definition: ast.ClassDef) -> Type:
        """The type for a class. Its attributes are read before it is known by its name, as no
        object can contain one of its own class; its methods after that, as they may use it.
        """
        if name in self._in_progress:
            raise ValueError(
                f"the class '{name}' has an attribute that is an object of this class, or has one "
                "in it"
            )
        bases = [dotted_name(base) for base in definition.bases]
        self._in_progress.add(name)
        try:
            if bases == ["NamedTuple"]:
                self._types[name] = self._named_tuple(name, definition)
                return self._types[name]
            if bases not in ([], ["Module"]):
                what = ", ".join(bases)
                raise ValueError(
                    f"the class '{name}' is of the kind {what}: modules, plain classes and named "
                    "tuples can be read"
                )
            made = ClassType(name, is_module=bool(bases))
            body = import_class_body(
                definition, self.namespace, lambda node: self.type_of(node, record_of(name))
            )
        finally:
            self._in_progress.discard(name)
        for each in body.attributes:
            made.addAttribute(*each)
        made.constants.update(body.constants)
        self._types[name] = made
        for method in body.methods:
            if method.name in made.methods or made.hasAttribute(method.name):
                raise ValueError(f"line {method.lineno}: '{method.name}' is defined twice")
            made.methods[method.name] = self._imported(method, f"{name}.{method.name}", made)
        made.forward_pre_hooks, made.forward_hooks = (
            [made.getMethod(n) for n in names] for names in body.hooks
        )
        return made

    def _named_tuple(self, name: str, definition: ast.ClassDef) -> TupleType:
        """The type for a class whose base is `NamedTuple`."""
        names, elements = [], []
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                names.append(statement.target.id)
                elements.append(self.type_of(statement.annotation, record_of(name)))
            elif not isinstance(statement, ast.Pass):
                raise ValueError(
                    f"line {statement.lineno}: a named tuple has fields, 'name : type', and "
                    "nothing else"
                )
        return TupleType(elements, names, name)


class ArchiveSource(SourceContext):
    """The text of a record. `is_archive` tells the compiler that `-1` is a number there, and that
    functions may contain functions.
    """

    is_archive = True


def record_of(name: str) -> str:
    """The record that defines a qualified name: `code/__torch__/a/b.py` for `__torch__.a.b.C`."""
    return f"code/{name.rpartition('.')[0].replace('.', '/')}.py"


def parse(text: str) -> ast.Module:
    """Parses archive code. Raises SyntaxError, ValueError, RecursionError or MemoryError."""
    if "\\" in text:
        with PARSER_LOCK, warnings.catch_warnings():
            # about unknown escapes; filters are global to all threads, so only where needed
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    else:
        with PARSER_LOCK:
            module = ast.parse(text)
    if "\\" in text or not text.isascii():
        join_bytes_of_strings(module)
    return module


def _is_version(statement: ast.stmt) -> bool:
    """Whether a statement is `op_version_set = 1`, the first line in older archives."""
    return isinstance(statement, ast.Assign) and is_name(statement.targets[0], "op_version_set")
