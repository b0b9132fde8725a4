"""An exported program, read from its archive (`torch/export/exported_program.py`).

    program = internals.export.load("model.pt2")
    program.graph            our IR: parameters are attributes of %self, then the inputs
    program(x)               run it; the inputs are checked against the sizes it was exported for
    program.module()         a compiled module: `jit.save` makes a TorchScript archive of it
    program.graph_signature  the role of each input (parameter, buffer, user input) and output
    program.range_constraints   the symbols that sizes depend on, and their ranges
    program.missing          operators that are not known here, with the number of their calls;
                             the program can run only if there are none

How the real one differs: its graph is an FX graph whose parameters are inputs ("lifted"), and
`run_decompositions` lowers the operators to a smaller set.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from internals.jit.ir import Graph, TensorType, TupleType, Type, Value
from internals.jit.schema import Argument, FunctionSchema
from internals.jit.script_function import ScriptFunction
from internals.serialization.container.zip_reader import ArchiveReader
from internals.serialization.json_node import JsonNode

from .graph_blocks import plain
from .graph_reader import SYMBOLS, GraphReader
from .graph_signature import ExportGraphSignature
from .input_checks import Guards, InputCheck, ValueRange, ranges_of
from .pt2_archive import read_program, read_tensors
from .pytree import TreeSpec
from .state_modules import Folder, get_attributes
from .symbolic_sizes import Formula

if TYPE_CHECKING:
    from internals.jit.script_module import ScriptModule


class ExportedProgram:
    """A graph with its parameters, and the checks of its inputs; made by `load`.

    `missing` counts the calls of operators that are not known here, by target.
    """

    def __init__(
        self,
        module: ScriptModule,
        guards: Guards,
        specs: tuple[TreeSpec, TreeSpec],
        graph_signature: ExportGraphSignature,
        sizes: dict[str, tuple[Formula, ...]],
        missing: Counter[str],
    ) -> None:
        self._module, self._guards, (self.in_spec, self.out_spec) = module, guards, specs
        self.graph_signature, self._sizes, self.missing = graph_signature, sizes, missing

    @property
    def graph(self) -> Graph:
        return self._module.graph

    @property
    def range_constraints(self) -> dict[str, ValueRange]:
        """The range of each symbol, and of formulas of symbols, by their text: `"s86"`."""
        return dict(self._guards.ranges)

    @property
    def input_checks(self) -> tuple[InputCheck, ...]:
        """For each leaf of the arguments: its name, dtype and sizes, or its required constant."""
        return tuple(self._guards.checks)

    def sizes_of(self, name: str) -> tuple[int | str, ...]:
        """The sizes of a tensor in the exported graph: numbers, and formulas as text. Raises
        KeyError for another name.
        """
        return tuple(
            size.value if size.kind == "integer" else str(size) for size in self._sizes[name]
        )

    @property
    def state_dict(self) -> dict[str, Any]:
        return self._module.state_dict()

    def module(self) -> Any:
        """The compiled module: flat inputs, a flat tuple of outputs (one alone as it is). Raises
        NotImplementedError if operators are missing."""
        if self.missing:
            listed = ", ".join(f"{name} ({n}x)" for name, n in sorted(self.missing.items()))
            raise NotImplementedError(
                f"this program calls operators that are not known here: {listed}"
            )
        return self._module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it on arguments nested as they were when it was exported.

        Raises ValueError for another nesting, AssertionError for sizes and constants that it was
        not exported for ("Guard failed: x.size()[0] == 2"), RuntimeError for other dtypes,
        NotImplementedError if operators are missing.
        """
        module = self.module()
        given = self.in_spec.flatten_inputs(args, kwargs)
        result = module(*self._guards.check(given))
        # the compiled module returns one output as it is, not as a tuple of one
        leaves = result if self.out_spec.leaves() != 1 else (result,)
        return self.out_spec.unflatten(iter(leaves))

    def __repr__(self) -> str:
        return f"ExportedProgram(\n{self.graph.str(False)})"


def load(f: object) -> ExportedProgram:
    """Read a `.pt2` archive of `torch.export.save` from a path or file object; tensors of a path
    are mapped, not copied.

    A program with unknown operators is read all the same: see `ExportedProgram.missing`.
    Raises ArchiveError for another kind of file, or a damaged one. Source: `torch.export.load`.
    """
    with ArchiveReader(f) as reader:
        program = read_program(reader)
        tensors = {**read_tensors(reader, "constants"), **read_tensors(reader, "weights")}
        return _Loader(program, tensors).load()


class _Loader:
    """One run of `load`: first the modules with their tensors, then the graph that uses them."""

    def __init__(self, program: JsonNode, tensors: dict[str, Any]) -> None:
        self.program, self.tensors = program, tensors
        module = program["graph_module"]
        self.content, self.signature = module["graph"], module["signature"]
        # entry 0 is the whole program: its signature says how arguments and results are nested
        self.call = module["module_call_graph"][0]["signature"]
        self.guards = Guards(ranges=ranges_of(program))
        self.graph = Graph()
        self.values: dict[str, Value] = {}
        self.modules: dict[str, Value] = {}  # by path; "" is `self`
        self.state: set[str] = set()  # the names of the tensors that the module has

    def load(self) -> ExportedProgram:
        """Build modules and graph, and make a method `forward` of the graph."""
        # The order matters: the type of `self` is known once the modules are built, nodes refer to
        # inputs by name, and outputs to the results of nodes.
        root = self.build_module()
        self.modules[""] = self.graph.addInput("self").setType(root._jit_type)
        reader = GraphReader(self.graph, self.content, self.values)
        arguments = [Argument("self", root._jit_type), *self.inputs(reader)]
        reader.read()
        returned = self.outputs(reader)
        schema = FunctionSchema("forward", "", tuple(arguments), (Argument("", returned),))
        name = f"{root._jit_type.qualified_name}.forward"
        root._jit_type.addMethod(
            "forward",
            ScriptFunction("forward", self.graph, schema, qualified_name=name, is_method=True),
        )
        # `__call__` flattens the arguments by `in_spec` and pairs the leaves with the checks
        in_spec, out_spec = (
            TreeSpec.parse(self.call["in_spec"]),
            TreeSpec.parse(self.call["out_spec"]),
        )
        if in_spec.leaves() != len(self.guards.checks):
            raise self.call["in_spec"].error(
                f"has {in_spec.leaves()} leaves; the graph has {len(self.guards.checks)} inputs"
            )
        signature, sizes = ExportGraphSignature.read(self.signature), self.sizes()
        return ExportedProgram(
            root, self.guards, (in_spec, out_spec), signature, sizes, reader.missing
        )

    def sizes(self) -> dict[str, tuple[Formula, ...]]:
        """The sizes of every tensor in the graph, by its name."""
        values = self.content["tensor_values"].items()
        return {name: tuple(map(Formula.read, meta["sizes"])) for name, meta in values}

    def build_module(self) -> Any:
        """The compiled module that has the parameters, buffers and constants; no methods yet."""
        classes = _classes(self.content)
        root = Folder(classes.get("", "ExportedProgram"))
        for spec in self.signature["input_specs"]:
            kind, content = spec.union()
            if kind in STATE:
                name = content[f"{STATE[kind]}_name"]
                if name.text() not in self.tensors:
                    raise name.error(f"is '{name.text()}', of which the archive has no tensor")
                # a constant is kept as a buffer that `state_dict()` omits
                persistent = kind == "parameter" or (
                    kind == "buffer" and content["persistent"].boolean()
                )
                kept = "parameter" if kind == "parameter" else "buffer"
                root.place(name, self.tensors[name.text()], kept, persistent, classes)
                self.state.add(name.text())
        return root.build()

    def inputs(self, reader: GraphReader) -> list[Argument]:
        """Define the graph's inputs, and return the arguments of `forward` among them.

        State becomes an attribute of `self`, a user's input an argument. A constant input is only
        checked: its value is already in the graph.
        """
        arguments = []
        for spec in self.signature["input_specs"]:
            kind, content = spec.union()
            if kind in STATE:
                value = get_attributes(
                    self.graph, self.modules, content[f"{STATE[kind]}_name"].text()
                )
                reader.define(content["arg"]["name"], value)
            elif kind == "user_input":
                form, arg = content["arg"].union()
                # The schema accepts any tensor, while the value in the graph has the exact type.
                t: Type = (
                    TensorType.get() if form == "as_tensor" else SYMBOLS.get(form, TensorType.get())
                )
                name = arg["name"] if form == "as_tensor" else arg["as_name"]
                value = self.graph.addInput().setType(
                    reader.tensor_type(name.text()) if form == "as_tensor" else t
                )
                reader.define(name, value)
                check = InputCheck.of_tensor if form == "as_tensor" else InputCheck.of_number
                self.guards.checks.append(check(name.text(), self.content))
                arguments.append(Argument(name.text(), t))
            elif kind == "constant_input":
                self.guards.checks.append(InputCheck.of_constant(content))
            else:
                raise spec.error(f"is an input of the kind {kind}, which is not known here")
        return arguments

    def outputs(self, reader: GraphReader) -> Type:
        """Register the graph's output, and return its type: several results become a tuple.

        An exported graph returns the new contents of buffers and inputs as further outputs; they
        are copied back into these tensors here.
        """
        returned: list[Value] = []
        for spec in self.signature["output_specs"]:
            kind, content = spec.union()
            if kind == "user_output":
                returned.append(reader.arguments.read(content["arg"]))
            elif kind in MUTATIONS:
                target = content[MUTATIONS[kind]]
                if kind == "user_input_mutation":
                    written = reader.arguments.named(target)
                elif target.text() in self.state:
                    written = get_attributes(self.graph, self.modules, target.text())
                else:
                    raise target.error(f"is '{target.text()}', which is no tensor of the program")
                # arguments of copy_: target, source, non_blocking
                self.graph.insert(
                    "aten::copy_", [written, reader.arguments.named(content["arg"]["name"]), False]
                )
            else:
                raise spec.error(f"is an output of the kind {kind}, which is not known here")
        if len(returned) != 1:
            t = TupleType([plain(v.type()) for v in returned])
            returned = [
                self.graph.insertNode(self.graph.create("prim::TupleConstruct", returned))
                .output()
                .setType(t)
            ]
        self.graph.registerOutput(returned[0])
        return plain(returned[0].type())


# kind of an input or output → the member of its entry that names the tensor (STATE: + "_name")
STATE = {"parameter": "parameter", "buffer": "buffer", "tensor_constant": "tensor_constant"}
MUTATIONS = {
    "buffer_mutation": "buffer_name",
    "parameter_mutation": "parameter_name",
    "user_input_mutation": "user_input_name",
}


def _classes(content: JsonNode) -> dict[str, str]:
    """The class of the module at each path, which the nodes remember as
    "L__self__fc,fc,torch.nn.modules.linear.Linear".
    """
    found: dict[str, str] = {}
    for node in content["nodes"]:
        stack = node["metadata"].get("nn_module_stack")
        for entry in stack.text().split(";") if stack is not None else ():
            _, _, rest = entry.partition(",")
            path, _, name = rest.rpartition(",")
            if all(part.isidentifier() and part.isascii() for part in name.split(".")):
                found[path] = name.removeprefix("__main__.")
    return found
