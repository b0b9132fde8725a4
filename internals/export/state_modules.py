"""Parameters by their full names, as modules inside modules: `fc.weight` is `weight` of the module
`fc`.

An exported graph has all of them as inputs; a compiled module has them where they belong, so that
`state_dict()`, optimizers and `jit.save` find them.

How the real one differs: `ExportedProgram.module()` builds the same tree, of
`torch.fx.GraphModule`s.
"""

from __future__ import annotations

from typing import Any

from internals.core.tensor_impl import Tensor
from internals.jit.ir import BoolType, ClassType, Graph, TensorType, Value
from internals.jit.names import take_name
from internals.jit.script_module import RecursiveScriptModule
from internals.nn.parameter import Parameter
from internals.serialization.json_node import JsonNode


class Folder:
    """A module to be: `tensors` name → (tensor, kind, persistent), `folders` name → Folder."""

    def __init__(self, class_name: str) -> None:
        self.class_name = class_name
        self.tensors: dict[str, tuple[Any, str, bool]] = {}
        self.folders: dict[str, Folder] = {}

    def place(
        self, where: JsonNode, tensor: Tensor, kind: str, persistent: bool, classes: dict[str, str]
    ) -> None:
        """Put a tensor under its full name, which is `where`'s text. Raises ArchiveError if the
        place is taken.
        """
        *path, name = where.text().split(".")
        folder = self
        for i, each in enumerate(path):
            made = Folder(classes.get(".".join(path[: i + 1]), "Module"))
            folder = folder.folders.setdefault(each, made)
        if not all((*path, name)) or name in folder.tensors or name in folder.folders:
            raise where.error(
                f"is '{where.text()}', where something else is already, or which is no name"
            )
        if any(p in f.tensors for f, p in zip(self._along(path), path)):
            raise where.error(f"is '{where.text()}', inside what is a tensor")
        folder.tensors[name] = (tensor, kind, persistent)

    def _along(self, path: list[str]) -> list[Folder]:
        found = [self]
        for each in path[:-1]:
            found.append(found[-1].folders[each])
        return found

    def build(self) -> Any:
        """The compiled module, without methods."""
        type = ClassType(take_name(f"__torch__.{self.class_name}"))
        values: dict[str, Any] = {}
        for name, (tensor, kind, _) in self.tensors.items():
            type.addAttribute(name, TensorType.get(), kind)
            values[name] = (
                Parameter(tensor, tensor.requires_grad) if kind == "parameter" else tensor
            )
        type.addAttribute("training", BoolType.get())
        values["training"] = False
        for name, folder in self.folders.items():
            values[name] = folder.build()
            type.addAttribute(name, values[name]._jit_type, "module")
        module = RecursiveScriptModule._construct(type, self.class_name.rpartition(".")[2], values)
        module._non_persistent_buffers_set.update(
            n for n, (_, _, persistent) in self.tensors.items() if not persistent
        )
        return module


def get_attributes(graph: Graph, known: dict[str, Value], path: str) -> Value:
    """`self.fc.weight` in a graph. `known` has the modules met so far, by path; `known[""]` is
    `self`.
    """
    folder, _, name = path.rpartition(".")
    if folder not in known:
        known[folder] = get_attributes(graph, known, folder)
    owner = known[folder].type()
    assert isinstance(owner, ClassType)
    node = graph.insertNode(graph.create("prim::GetAttr", [known[folder]]).s_("name", name))
    return node.output().setType(owner.getAttribute(name))
