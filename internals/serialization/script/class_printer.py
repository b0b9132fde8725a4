"""The code of an archive: every class with everything it needs, in files named as Python modules
(`python_print.cpp`, `export_module.cpp`).

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

What is printed mentions types and functions, which are printed next, and so on until nothing new
turns up. All files share one table of constants. While it prints, the printer also finds the
version number that the archive needs (`op_versions.py`), and refuses what means nothing without
Python.

How the real one differs: interfaces and enums can be printed as well, and beside each file lies a
table (`.debug_pkl`) that says from which line of the user's source every piece of it came.
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
    """All code of one archive. `add` what is to be in it; `files()` is the text; `constants` goes
    into constants.pkl.
    """

    def __init__(self, names: TypeNames | None = None) -> None:
        self.names = names or TypeNames()
        self.constants: list[Any] = []
        self.printers: dict[str, ClassPrinter] = {}
        self.needed: dict[Type, None] = {}
        self.printed: set[Type] = set()
        self.version = LOWEST

    def add(self, type: Type) -> None:
        """Print one class, named tuple or function, unless that is done."""
        if type not in self.printed:
            self.printed.add(type)
            prefix = self.names.of(type).rpartition(".")[0]
            if prefix not in self.printers:
                self.printers[prefix] = ClassPrinter(self)
            self.printers[prefix].definition(type)

    def add_with_all_it_needs(self, root: Type) -> None:
        self.need(root)
        while todo := [type for type in self.needed if type not in self.printed]:
            for type in todo:
                self.add(type)

    def need(self, type: Type) -> None:
        """What has a name in this type, and in its parts, has to be printed."""
        if isinstance(type, TensorType) or type in self.needed:
            return
        if isinstance(type, (ClassType, FunctionType)) or (
            isinstance(type, TupleType) and type.qualified_name
        ):
            self.needed[type] = None
        for part in type.containedTypes():
            self.need(part)

    def files(self) -> dict[str, str]:
        """Record name → text, in the order in which the files came up."""
        return {
            f"code/{prefix.replace('.', '/')}.py": p.text() for prefix, p in self.printers.items()
        }


class ClassPrinter(PythonPrinter):
    """One file of an archive."""

    def __init__(self, archive: ArchiveCode) -> None:
        super().__init__(archive.constants)
        self.archive = archive

    def spell(self, type: Type) -> str:
        self.archive.need(type)
        return self.archive.names.spell(type)

    def visit(self, node: Node) -> None:
        """Notes what the node needs. Raises RuntimeError for a call of Python."""
        for value in (*node.inputs(), *node.outputs()):
            if not isinstance(value.type(), FunctionType):
                self.archive.need(value.type())
        if node.kind().startswith("^"):
            raise error(node.sourceRange(), PYTHON_CALL.format(node.kind()[1:]))
        if node.kind() == "prim::Return" and node.inputsSize() != 1:
            raise error(node.sourceRange(), ONE_VALUE)
        self.archive.version = max(self.archive.version, version_of(node))

    def definition(self, type: Type) -> None:
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
        """A class: its attributes and their types, its constants, its methods and hooks."""
        self.line(f"class {type.qualified_name.rpartition('.')[2]}{'(Module)' * type.is_module}:")
        self.level += 1
        if type.is_module:
            self.members(type)
        for i, (name, attribute) in enumerate(type.attributes.items()):
            if is_identifier(name):
                self.line(f"{name} : {self.spell(attribute.type)}")
                continue
            if i == 0:
                self.line("__annotations__ = []")
            self.line(f'__annotations__["{name}"] = {self.spell(attribute.type)}')
        for name, value in type.constants.items():
            self.line(
                f"{name} : Final[{self.spell(type_of(value))}] = {self.expressions.literal(value)}"
            )
        methods = dict(type.methods)
        for hook in (*type.forward_hooks, *type.forward_pre_hooks):
            # those of loaded classes are methods already
            methods.setdefault(hook.name, hook)
        for name, method in methods.items():
            self.function(name, method.graph, method.schema)
        self.level -= 1

    def members(self, type: ClassType) -> None:
        """Which attributes of a module are parameters, which buffers; the names of the hooks."""
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
