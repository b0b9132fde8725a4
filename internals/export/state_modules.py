"""A tree of modules built from the full names of parameters: `fc.weight` is `weight` of the module
`fc` (`ExportedProgram.module()`, `torch/export/_unlift.py`).

An exported graph takes all of them as inputs. A compiled module owns them, so that `state_dict()`,
optimizers and `jit.save` find them.

How the real one differs: its modules are `torch.fx.GraphModule`s.
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
    """A module that is not built yet: `tensors` maps a name to (tensor, "parameter" or "buffer",
    persistent), `folders` maps a name to a submodule.
    """

    def __init__(self, class_name: str) -> None:
        self.class_name = class_name
        self.tensors: dict[str, tuple[Any, str, bool]] = {}
        self.folders: dict[str, Folder] = {}

    def place(
        self, where: JsonNode, tensor: Tensor, kind: str, persistent: bool, classes: dict[str, str]
    ) -> None:
        """Put a tensor under its full name, which is `where`'s text; folders are made as needed.

        `classes` has the class of the module at each path. Raises ArchiveError if the name is
        taken or invalid.
        """
        *path, name = where.text().split(".")
        folder = self
        for i, each in enumerate(path):
            child = Folder(classes.get(".".join(path[: i + 1]), "Module"))
            folder = folder.folders.setdefault(each, child)
        if not all((*path, name)) or name in folder.tensors or name in folder.folders:
            raise where.error(
                f"is '{where.text()}', where something else is already, or which is no name"
            )
        # `fc` cannot be both a tensor and a module with a `weight`
        if any(p in f.tensors for f, p in zip(self._along(path), path)):
            raise where.error(f"is '{where.text()}', inside what is a tensor")
        folder.tensors[name] = (tensor, kind, persistent)

    def _along(self, path: list[str]) -> list[Folder]:
        """The folders in which the names of `path` stand: this one, then all but the last."""
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
    """Insert the nodes that read an attribute, such as `self.fc.weight` for the path "fc.weight".

    `known` caches the values of modules by path, so each is read once; `known[""]` is `self`.
    """
    folder, _, name = path.rpartition(".")
    if folder not in known:
        known[folder] = get_attributes(graph, known, folder)
    owner = known[folder].type()
    assert isinstance(owner, ClassType)
    node = graph.insertNode(graph.create("prim::GetAttr", [known[folder]]).s_("name", name))
    return node.output().setType(owner.getAttribute(name))
