"""What a module offers: its public classes and functions, with signatures and docstrings, read from
the source.

Nothing is imported, so annotations stay as they were written and a module that needs a GPU is read
like any other. How the real one differs: PyTorch's pages import everything and ask `inspect`
(`sphinx.ext.autodoc`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = ("_generated", "__pycache__")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Item:
    """A class, function, method or property. `signature` has the parentheses and the result, or a
    property's type.
    """

    kind: str
    name: str
    signature: str
    text: str
    line: int
    flags: tuple[str, ...] = ()
    members: list[Item] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


@dataclass
class Module:
    """One file. `imports` maps a name to the full name of what it stands for, as far as that is
    ours.
    """

    name: str
    path: Path
    text: str
    is_package: bool
    items: list[Item] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def summary(self) -> str:
        """The first sentence of the docstring, on one line, without its full stop."""
        first = " ".join(self.text.split("\n\n")[0].split())
        return first.partition(". ")[0].rstrip(".:")


def read_packages(root: Path, packages: Sequence[str]) -> dict[str, Module]:
    """Every module in these folders, by its full name. A folder that is not there is left out."""
    modules = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            if not set(SKIPPED) & set(path.parts):
                module = read_module(root, path)
                modules[module.name] = module
    return modules


def read_module(root: Path, path: Path) -> Module:
    """Raises SyntaxError, naming the file and line, for what is not Python."""
    parts = path.relative_to(root).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    module = Module(name, path.relative_to(root), ast.get_docstring(tree) or "", is_package)
    module.items = list(_items(tree.body))
    module.imports = _imports(tree, module)
    return module


def names_of(modules: dict[str, Module]) -> set[str]:
    """The full names of all modules, classes, functions and methods that a page has an entry
    for.
    """
    names = set(modules)
    for module in modules.values():
        for item in module.items:
            if has_entry(item):
                names.add(f"{module.name}.{item.name}")
                names.update(
                    f"{module.name}.{item.name}.{member.name}"
                    for member in item.members
                    if member.text
                )
    return names


def has_entry(item: Item) -> bool:
    """What has a docstring, and every class; the rest is only listed."""
    return bool(item.text) or item.kind == "class"


def lines_of(modules: dict[str, Module]) -> dict[str, str]:
    """Where each function and class is: by its full name, `internals/core/storage.py#L29`."""
    places = {}
    for module in modules.values():
        for item in module.items:
            for name, line in [
                (item.name, item.line),
                *((f"{item.name}.{m.name}", m.line) for m in item.members),
            ]:
                places[f"{module.name}.{name}"] = f"{module.path.as_posix()}#L{line}"
    return places


def docs_of(modules: dict[str, Module]) -> dict[str, str]:
    """The docstring of each function, by its full name."""
    return {
        f"{module.name}.{item.name}": item.text
        for module in modules.values()
        for item in module.items
    }


def _items(body: list[ast.stmt]) -> Iterator[Item]:
    seen: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if statement.name.startswith("_") or statement.name in seen:
                continue  # what follows under the same name is a setter or another overload
            seen.add(statement.name)
            yield _class(statement) if isinstance(statement, ast.ClassDef) else _function(statement)


def _class(node: ast.ClassDef) -> Item:
    item = Item(
        "class", node.name, _class_signature(node), ast.get_docstring(node) or "", node.lineno
    )
    item.members = [
        _as_member(m, node)
        for m in _items([s for s in node.body if not isinstance(s, ast.ClassDef)])
    ]
    if any("Enum" in ast.unparse(base) or "Flag" in ast.unparse(base) for base in node.bases):
        item.values = [
            t.id
            for s in node.body
            if isinstance(s, ast.Assign)
            for t in s.targets
            if isinstance(t, ast.Name)
        ]
    return item


def _class_signature(node: ast.ClassDef) -> str:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return _parameters(statement.args, bound=True)
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        fields = [
            s for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        shown = [f for f in fields if not ast.unparse(f.annotation).startswith("ClassVar")]
        return "(" + ", ".join(_field(f) for f in shown) + ")"
    return ""


def _field(node: ast.AnnAssign) -> str:
    default = ""
    if node.value is not None:
        text = ast.unparse(node.value)
        default = " = ..." if text.startswith("field(") else f" = {text}"
    return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}{default}"


def _function(node: Function) -> Item:
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    flags = ("async",) if isinstance(node, ast.AsyncFunctionDef) else ()
    signature = _parameters(node.args, bound=False) + result
    return Item("function", node.name, signature, ast.get_docstring(node) or "", node.lineno, flags)


def _as_member(item: Item, owner: ast.ClassDef) -> Item:
    node = next(s for s in owner.body if isinstance(s, Function) and s.name == item.name)
    decorators = {ast.unparse(d).rpartition(".")[2] for d in node.decorator_list}
    if decorators & {"property", "cached_property"}:
        item.kind, item.signature = "property", ast.unparse(node.returns) if node.returns else ""
        return item
    item.kind = "method"
    item.flags += tuple(sorted(decorators & {"classmethod", "staticmethod", "abstractmethod"}))
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    item.signature = _parameters(node.args, bound="staticmethod" not in decorators) + result
    return item


def _parameters(arguments: ast.arguments, bound: bool) -> str:
    """The parameters in parentheses; without the first of them, `self` or `cls`, if `bound`."""
    if bound:
        first = arguments.posonlyargs or arguments.args
        if first:
            del first[0]
    return f"({ast.unparse(arguments)})"


def _imports(tree: ast.Module, module: Module) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            source = _absolute(node, module)
            found.update(
                {a.asname or a.name: f"{source}.{a.name}" for a in node.names if a.name != "*"}
            )
    return found


def _absolute(node: ast.ImportFrom, module: Module) -> str:
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)
