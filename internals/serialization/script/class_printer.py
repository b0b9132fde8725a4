"""Prints the code of an archive: every class and everything it refers to, in files named like
Python modules (`python_print.cpp`, `export_module.cpp`).

    class Net(Module):                                code/__torch__.py
      __parameters__ = ["w", ]
      __buffers__ = []
      w : Tensor
      fc : __torch__.torch.nn.modules.linear.Linear   ──► code/__torch__/torch/nn/modules/linear.py
      n : Final[int] = 3
      def forward(self: __torch__.Net,
        x: Tensor) -> Tensor:
        ...
        return __torch__.helper(x, )                  ──► a `def helper` in code/__torch__.py

The printed text refers to types and functions, which are printed next, and so on until nothing new
occurs. All files share one table of constants. While it prints, the printer also finds the version
number that the archive needs (`op_versions.py`), and refuses calls of Python functions.

How the real one differs: it also prints interfaces and enums, and adds to each file a table
(`.debug_pkl`) from its text to the lines of the user's source.
"""

from __future__ import annotations

from typing import Any

from internals.jit.frontend.error_report import error
from internals.jit.ir import ClassType, FunctionType, Node, TensorType, TupleType, Type, type_of
from internals.jit.python_expressions import is_identifier
from internals.jit.python_print import PythonPrinter

from .op_versions import LOWEST, version_of
from .type_names import TypeNames

PYTHON_CALL = (
    "Could not export Python function call '{}'. Remove calls to Python functions before export. "
    "Did you forget to add @script or @script_method annotation? If this is a nn.ModuleList, add "
    "it to __constants__"
)
ONE_VALUE = (
    "Exportable methods must have a single return value. Normal use of ScriptMethods should "
    "enforce this"
)


class ArchiveCode:
    """All code of one archive: `add` classes and functions, then `files()` is the text, `constants`
    the content of constants.pkl, and `version` that of the archive.
    """

    def __init__(self, names: TypeNames | None = None) -> None:
        self.names = names or TypeNames()
        self.constants: list[Any] = []
        self.printers: dict[str, ClassPrinter] = {}
        self.needed: dict[Type, None] = {}
        self.printed: set[Type] = set()
        self.version = LOWEST

    def add(self, type: Type) -> None:
        """Prints one class, named tuple or function, unless it has been printed."""
        if type not in self.printed:
            self.printed.add(type)
            prefix = self.names.of(type).rpartition(".")[0]
            if prefix not in self.printers:
                self.printers[prefix] = ClassPrinter(self)
            self.printers[prefix].definition(type)

    def add_with_all_it_needs(self, root: Type) -> None:
        """Prints a type, and all types and functions that the printed text refers to."""
        self.need(root)
        while todo := [type for type in self.needed if type not in self.printed]:
            for type in todo:
                self.add(type)

    def need(self, type: Type) -> None:
        """Notes that the named types in this type, such as `C` in `List[C]`, have to be printed."""
        if isinstance(type, TensorType) or type in self.needed:
            return
        if isinstance(type, (ClassType, FunctionType)) or (
            isinstance(type, TupleType) and type.qualified_name
        ):
            self.needed[type] = None
        for part in type.containedTypes():
            self.need(part)

    def files(self) -> dict[str, str]:
        """The text of each record by its name, in the order in which they were started."""
        return {
            f"code/{prefix.replace('.', '/')}.py": p.text() for prefix, p in self.printers.items()
        }


class ClassPrinter(PythonPrinter):
    """Prints one file of an archive, `code/__torch__/a/b.py`."""

    def __init__(self, archive: ArchiveCode) -> None:
        super().__init__(archive.constants)
        self.archive = archive

    def spell(self, type: Type) -> str:
        """A type as an annotation; it has to be printed, too."""
        self.archive.need(type)
        return self.archive.names.spell(type)

    def visit(self, node: Node) -> None:
        """Notes the types and the version that a node needs. Raises RuntimeError for a call of a
        Python function.
        """
        for value in (*node.inputs(), *node.outputs()):
            if not isinstance(value.type(), FunctionType):
                self.archive.need(value.type())
        if node.kind().startswith("^"):
            raise error(node.sourceRange(), PYTHON_CALL.format(node.kind()[1:]))
        if node.kind() == "prim::Return" and node.inputsSize() != 1:
            raise error(node.sourceRange(), ONE_VALUE)
        self.archive.version = max(self.archive.version, version_of(node))

    def definition(self, type: Type) -> None:
        """Prints a class, a function or a named tuple."""
        if isinstance(type, ClassType):
            self.class_(type)
        elif isinstance(type, FunctionType):
            name = self.archive.names.of(type).rpartition(".")[2]
            self.function(name, type.function.graph, type.function.schema)
        else:
            assert isinstance(type, TupleType)
            self.named_tuple(type)

    def named_tuple(self, type: TupleType) -> None:
        self.line(f"class {(type.qualified_name or '').rpartition('.')[2]}(NamedTuple):")
        self.level += 1
        for name, element in zip(type.names or (), type.elements):
            self.line(f"{name} : {self.spell(element)}")
        self.level -= 1

    def class_(self, type: ClassType) -> None:
        """Prints a class: its attributes and their types, its constants, its methods and hooks."""
        self.line(f"class {type.qualified_name.rpartition('.')[2]}{'(Module)' * type.is_module}:")
        self.level += 1
        if type.is_module:
            self.members(type)
        for i, (name, attribute) in enumerate(type.attributes.items()):
            if is_identifier(name):
                self.line(f"{name} : {self.spell(attribute.type)}")
                continue
            # A Sequential has the attributes "0", "1", ..., which are not Python identifiers.
            if i == 0:
                self.line("__annotations__ = []")
            self.line(f'__annotations__["{name}"] = {self.spell(attribute.type)}')
        for name, value in type.constants.items():
            self.line(
                f"{name} : Final[{self.spell(type_of(value))}] = {self.expressions.literal(value)}"
            )
        methods = dict(type.methods)
        for hook in (*type.forward_hooks, *type.forward_pre_hooks):
            # the hooks of a class that was loaded are among its methods already
            methods.setdefault(hook.name, hook)
        for name, method in methods.items():
            self.function(name, method.graph, method.schema)
        self.level -= 1

    def members(self, type: ClassType) -> None:
        """Prints the lists of a module's parameters, buffers and hooks."""
        self.line(
            "__parameters__ = "
            f"[{_names(n for n, a in type.attributes.items() if a.kind == 'parameter')}]"
        )
        self.line(
            f"__buffers__ = [{_names(n for n, a in type.attributes.items() if a.kind == 'buffer')}]"
        )
        for kind in ("forward_pre_hooks", "forward_hooks"):
            if hooks := getattr(type, kind):
                self.line(f"__{kind}__ = [{_names(hook.name for hook in hooks)}]")


def _names(names: Any) -> str:
    return "".join(f'"{name}", ' for name in names)
