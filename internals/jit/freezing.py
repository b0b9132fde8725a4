"""Freezing: a module that will not change any more becomes one graph with its weights inside
(`torch/csrc/jit/passes/freeze_module.cpp`, `torch/jit/_freeze.py`).

    frozen = jit.freeze(jit.script(model.eval()))

A module's graph reads parameters and attributes whenever it runs, because they may have changed. By
freezing a trained model, you promise that they will not change. Then every read becomes a constant,
and whatever depends on constants only can be computed once: branches on `self.training` disappear,
dropout is removed, and batch norm is folded into the convolution before it
(`passes/fold_conv_bn.py`).

1. The methods that are kept (`forward`, and those in `preserved_attrs`) are inlined.
2. An attribute stays if it is named in `preserved_attrs`, if a kept method sets it or may write to
   its memory, or if it shares memory with one that is written to. Every other attribute whose value
   can be a constant becomes one.
3. The new module has only the attributes that stay, and only the submodules that contain them.

The new module shares the tensors of these attributes with the old one, as in PyTorch.

How the real one differs: its alias analysis knows the objects behind attributes and interfaces of
submodules; its `optimize_for_inference` converts weights to the layouts that MKLDNN and cuDNN
prefer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from internals.core.tensor_impl import Tensor, TensorImpl

from .ir import ClassType, Graph, Node, Value, all_nodes
from .ir.constants import is_constant_value
from .names import take_name
from .operators.alias_analysis import AliasDb
from .passes.constant_pooling import constant_pooling
from .passes.constant_propagation import constant_propagation
from .passes.cse import cse
from .passes.dce import dce
from .passes.fold_conv_bn import (
    fold_frozen_conv_arithmetic,
    fold_frozen_conv_bn,
    fold_frozen_linear_bn,
    remove_dropout,
)
from .passes.inline import inline
from .passes.lower_tuples import lower_simple_tuples
from .passes.pack_convolutions import pack_convolutions
from .passes.peephole import peephole
from .script_function import ScriptFunction
from .script_module import RecursiveScriptModule, ScriptModule, get_attribute

IMMUTABLE = (bool, int, float, complex, str, type(None))
Slot = tuple[int, str]  # an attribute: id of the module that has it, its name


def freeze(
    mod: object, preserved_attrs: Sequence[str] | None = None, optimize_numerics: bool = True
) -> RecursiveScriptModule:
    """A copy of the compiled module `mod`, with its parameters and attributes as constants of the
    graph.

    preserved_attrs: attributes (`"scale"`, `"sub.scale"`) and methods to keep besides `forward`.
    optimize_numerics: also fold batch norm and constant arithmetic into convolutions, which changes
    the results by rounding errors.

    Raises RuntimeError for a module that is not compiled, is in training mode, or does not have one
    of the preserved attributes.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    names = list(preserved_attrs or [])
    frozen = _Freezer(mod, names).run()
    run_frozen_optimizations(
        frozen, optimize_numerics, [n for n in names if mod._jit_type.findMethod(n) is not None]
    )
    return frozen


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: Sequence[str] | None = None
) -> None:
    """Optimise the graphs of a frozen module, in place: `forward` and the preserved methods. For
    `optimize_numerics`, see `freeze`.
    """
    for name in ("forward", *(preserved_methods or ())):
        function = mod._jit_type.findMethod(name)
        if function is not None:
            optimize_frozen_graph(function.graph, optimize_numerics)
            function._executor = None  # drop its plans, which are for the old graph


def optimize_frozen_graph(graph: Graph, optimize_numerics: bool = True) -> bool:
    """Run the passes for a graph whose weights are constants. Returns whether it changed
    (`frozen_graph_optimizations.cpp`).
    """
    changed = remove_dropout(graph)
    # until nothing can be folded: conv → mul → batch norm takes two rounds
    again = optimize_numerics
    while again:
        again = False
        for fold in (fold_frozen_conv_bn, fold_frozen_conv_arithmetic, fold_frozen_linear_bn):
            again = fold(graph) or again
        changed = changed or again
    return dce(graph) or changed


def optimize_for_inference(mod: object, other_methods: Sequence[str] | None = None) -> Any:
    """Freeze a module in evaluation mode, and run all optimisations. A module that is frozen
    already is only optimised.

    Convolutions and the operators that can be fused with them become groups (see `passes`). When
    the module is first called with inputs of certain sizes, kernels are chosen and compiled, with a
    note on stderr. This takes some seconds the first time on a machine, so call the module once
    before measuring. `convolution_plan(module)` returns the choice.

    Raises RuntimeError for a module that is not compiled.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script "
            "or torch.jit.trace to script your 'nn.Module'."
        )
    if hasattr(mod, "training"):  # a frozen module has no such attribute
        mod = freeze(mod.eval(), preserved_attrs=other_methods)
    else:
        run_frozen_optimizations(mod, True, other_methods)
    for name in ("forward", *(other_methods or ())):
        function = mod._jit_type.findMethod(name)
        if function is not None and pack_convolutions(function.graph):
            for group in function.graph.findAllNodes("prim::ConvolutionGroup"):
                group.s_("name", getattr(mod, "original_name", name))
            function._executor = None
    return mod


class _Freezer:
    """Freezes one module. `names` are the attributes and methods to keep besides `forward`."""

    def __init__(self, module: ScriptModule, names: Sequence[str]) -> None:
        self.module = module
        self.kept: set[Slot] = set()  # attributes that stay
        self.whole: set[int] = set()  # modules of which everything stays, by id
        self.methods: dict[str, Graph] = {}  # copies of the graphs of the methods that stay
        self.types: dict[int, ClassType] = {}  # the new types, by id of the old module
        for name in ("forward", *names):
            self.preserve(name)

    def preserve(self, name: str) -> None:
        """Keep a method of the module, or an attribute of it or of a submodule (`"sub.scale"`).
        Raises RuntimeError for an unknown name; a module need not have a `forward`.
        """
        method = self.module._jit_type.findMethod(name)
        if method is not None:
            graph = method.graph.copy()
            inline(graph)
            self.methods[name] = graph
            return
        owner, *path = self.module, *name.split(".")
        for step in path:
            if not isinstance(owner, ScriptModule) or not owner._jit_type.hasAttribute(step):
                if name == "forward":
                    return
                raise RuntimeError(f"Unknown name: {name}")
            self.kept.add((id(owner), step))
            owner = get_attribute(owner, step)
        if isinstance(owner, ScriptModule):
            self.keep_whole(owner)

    def keep_whole(self, module: Any) -> None:
        """Keep all attributes and methods of a module and of its submodules."""
        if id(module) in self.whole:
            return
        self.whole.add(id(module))
        for name, attribute in module._jit_type.attributes.items():
            if attribute.kind == "module":
                self.keep_whole(get_attribute(module, name))

    def run(self) -> RecursiveScriptModule:
        """Freeze the module, and return the new one."""
        for graph in self.methods.values():
            self.find_exposed(graph)
        # First only immutable attributes, such as `training`: the branches for training, and the
        # writes in them, must be gone before the next step looks for writes.
        for graph in self.methods.values():
            self.fold_reads(graph, only=IMMUTABLE)
            for p in (constant_propagation, lower_simple_tuples, dce):
                p(graph)
        while self.find_all_written():  # an attribute that stays may make others stay
            pass
        for graph in self.methods.values():
            self.fold_reads(graph)
            for p in (
                constant_propagation,
                lower_simple_tuples,
                dce,
                cse,
                peephole,
                constant_pooling,
                dce,
            ):
                p(graph)
        frozen = self.prune(self.module)
        for name, graph in self.methods.items():
            self.set_types(graph)
            old = self.module._jit_type.findMethod(name)
            function = ScriptFunction(
                name,
                graph,
                old.schema,
                qualified_name=f"{frozen._jit_type.name()}.{name}",
                is_method=True,
            )
            frozen._jit_type.addMethod(name, function)
        return frozen

    # Which attributes stay

    def stays(self, owner: ScriptModule, name: str) -> bool:
        """Whether an attribute stays: it must, or its value cannot be a constant."""
        return (
            id(owner) in self.whole
            or (id(owner), name) in self.kept
            or not is_constant_value(get_attribute(owner, name))
        )

    def find_exposed(self, graph: Graph) -> None:
        """Keep the attributes that the graph sets, and whole modules that are used in any other way
        than by reading and setting attributes.
        """
        objects = self.objects(graph)
        for v, module in objects.items():
            for use in v.uses():
                kind = use.user.kind()
                if kind == "prim::SetAttr" and use.offset == 0:
                    self.kept.add((id(module), use.user.s("name")))
                elif kind != "prim::GetAttr":
                    self.keep_whole(module)

    def find_all_written(self) -> bool:
        """`find_written` for all graphs. Returns whether more attributes stay than before."""
        before = len(self.kept)
        for graph in self.methods.values():
            self.find_written(graph)
        return len(self.kept) > before

    def find_written(self, graph: Graph) -> None:
        """Keep the attributes whose memory the graph may write to.

        In a copy of the graph they are made constants, and alias analysis finds the constants that
        have writers.
        """
        copy = graph.copy()
        reads = self.fold_reads(copy)
        aliases = AliasDb(copy)
        written = {slot for slot, (v, _) in reads.items() if aliases.has_writers(v)}
        memory = {
            id(value._storage)
            for slot, (_, value) in reads.items()
            if slot in written and _is_tensor(value)
        }
        shared = {
            slot
            for slot, (_, value) in reads.items()
            if _is_tensor(value) and id(value._storage) in memory
        }
        self.kept |= written | shared

    # From reads to constants

    def objects(self, graph: Graph) -> dict[Value, Any]:
        """The values of a graph that are modules, each with its module."""
        found: dict[Value, Any] = {graph.inputs()[0]: self.module}  # `self`
        for node in all_nodes(graph.block()):
            if node.kind() == "prim::GetAttr" and node.input() in found:
                value = get_attribute(found[node.input()], node.s("name"))
                if isinstance(value, ScriptModule):
                    found[node.output()] = value
        return found

    def fold_reads(
        self, graph: Graph, only: tuple[type, ...] = (object,)
    ) -> dict[Slot, tuple[Value, Any]]:
        """Replace reads of attributes that do not stay by constants. Returns the constants, each
        with its Python value.

        only: the classes of the values to replace.
        """
        objects = self.objects(graph)
        names = {v: _path(v) for v in objects}
        constants: dict[Slot, tuple[Value, Any]] = {}
        for node in list(all_nodes(graph.block())):
            if (
                node.kind() != "prim::GetAttr"
                or node.input() not in objects
                or node.output() in objects
            ):
                continue
            owner, name = objects[node.input()], node.s("name")
            slot = id(owner), name
            if self.stays(owner, name) or not isinstance(get_attribute(owner, name), only):
                continue
            if slot not in constants:  # all reads of one attribute share one constant
                value = get_attribute(owner, name)
                constants[slot] = (
                    self.constant(graph, node, value, f"{names[node.input()]}.{name}"),
                    value,
                )
            node.output().replaceAllUsesWith(constants[slot][0])
            node.destroy()
        return constants

    def constant(self, graph: Graph, node: Node, value: object, name: str) -> Value:
        """A constant at the start of the graph, named after the attribute (`self.conv.weight`)."""
        with graph.insert_point_guard(graph.param_node().next()):
            if isinstance(value, TensorImpl):
                return graph.insertConstant(cast("Any", value).detach()).setDebugName(name)
            return graph.insertConstant(
                value, node.output().type() if value is not None else None
            ).setDebugName(name)

    # The new module

    def prune(self, module: Any) -> RecursiveScriptModule:
        """A new module with only the attributes of `module` that stay or are still read."""
        old = module._jit_type
        new = self.types[id(module)] = ClassType(take_name(old.name()))
        new.constants.update(old.constants)
        values: dict[str, Any] = {}
        for name, attribute in old.attributes.items():
            value = get_attribute(module, name)
            if isinstance(value, ScriptModule):
                if self.holds_kept(value) or self.reads(value):
                    values[name] = self.prune(value)
                    new.addAttribute(name, self.types[id(value)], "module")
            elif (
                id(module) in self.whole
                or (id(module), name) in self.kept
                or self.read_of(module, name)
            ):
                values[name] = value
                new.addAttribute(name, attribute.type, attribute.kind)
        if id(module) in self.whole:
            new.methods.update(old.methods)
        # `training` is an attribute like the others here, so it goes, too, unless it stays
        frozen = cast(
            "RecursiveScriptModule",
            RecursiveScriptModule._construct(new, module.original_name, values),
        )
        frozen.__dict__.pop("training", None)
        if "training" in values:
            frozen.__dict__["training"] = values["training"]
        return frozen

    def holds_kept(self, module: Any) -> bool:
        """Whether a module, or one below it, has attributes that must stay."""
        if id(module) in self.whole or any(owner == id(module) for owner, _ in self.kept):
            return True
        attributes = module._jit_type.attributes.items()
        return any(
            a.kind == "module" and self.holds_kept(get_attribute(module, n)) for n, a in attributes
        )

    def reads(self, module: Any) -> bool:
        """Whether a kept method still reads an attribute of the module."""
        return any(
            v.uses() and m is module
            for graph in self.methods.values()
            for v, m in self.objects(graph).items()
        )

    def read_of(self, module: ScriptModule, name: str) -> bool:
        """Whether a kept method still reads this attribute of the module."""
        return any(
            use.user.kind() == "prim::GetAttr" and use.user.s("name") == name
            for graph in self.methods.values()
            for v, m in self.objects(graph).items()
            if m is module
            for use in v.uses()
        )

    def set_types(self, graph: Graph) -> None:
        """Give the values of the graph that are modules the types of the new modules."""
        for v, module in self.objects(graph).items():
            if id(module) in self.types:
                v.setType(self.types[id(module)])


def _path(v: Value) -> str:
    """The path of a value that is a module: `self.conv`."""
    if v.node().kind() != "prim::GetAttr":
        return "self"
    return f"{_path(v.node().input())}.{v.node().s('name')}"


def _is_tensor(value: Tensor) -> bool:
    return isinstance(value, TensorImpl)
