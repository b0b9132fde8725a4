"""The roles of an exported graph's inputs and outputs (`torch/export/graph_signature.py`).

    # inputs
    p_fc_weight: PARAMETER target='fc.weight'
    x: USER_INPUT

An exported graph is a pure function: parameters and buffers are inputs like any other, and the new
contents of a buffer are one more output. The signature says which is which.

How the real one differs: it has a few more kinds (tokens, custom objects, gradients of exported
losses).
"""

from __future__ import annotations

from dataclasses import dataclass

from internals.serialization.json_node import JsonNode


@dataclass(frozen=True)
class Spec:
    """One input or output. `kind` is the name of an InputKind or OutputKind, `name` that in the
    graph, `target` the parameter, buffer or user input that it is or replaces.
    """

    kind: str
    name: str
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.name}: {self.kind}{target}" + (
            "" if self.persistent is None else f" persistent={self.persistent}"
        )


@dataclass(frozen=True)
class ExportGraphSignature:
    """The specs of all inputs and outputs, in the graph's order."""

    input_specs: tuple[Spec, ...]
    output_specs: tuple[Spec, ...]

    @classmethod
    def read(cls, signature: JsonNode) -> ExportGraphSignature:
        return cls(*(tuple(map(_spec, signature[f"{side}_specs"])) for side in ("input", "output")))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The full names of the parameters."""
        return self._targets("PARAMETER")

    @property
    def buffers(self) -> tuple[str, ...]:
        return self._targets("BUFFER")

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """For each output that is copied into a buffer: its name in the graph → the buffer's."""
        return {s.name: str(s.target) for s in self.output_specs if s.kind == "BUFFER_MUTATION"}

    @property
    def user_inputs(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.input_specs if s.kind == "USER_INPUT")

    @property
    def user_outputs(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.output_specs if s.kind == "USER_OUTPUT")

    def _targets(self, kind: str) -> tuple[str, ...]:
        return tuple(str(s.target) for s in self.input_specs if s.kind == kind)

    def __repr__(self) -> str:
        inputs, outputs = (
            "\n".join(map(str, specs)) for specs in (self.input_specs, self.output_specs)
        )
        return f"# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _spec(node: JsonNode) -> Spec:
    """One entry of the file, such as `{"parameter": {"arg": ..., "parameter_name": "fc.weight"}}`;
    PyTorch counts constants among the user's inputs.
    """
    kind, content = node.union()
    if kind == "constant_input":
        return Spec("USER_INPUT", content["name"].text())
    target = next((content[key].text() for key in TARGETS if content.get(key) is not None), None)
    persistent = content["persistent"].boolean() if kind == "buffer" else None
    return Spec(KINDS.get(kind, kind.upper()), _name(content["arg"]), target, persistent)


TARGETS = ("parameter_name", "buffer_name", "tensor_constant_name", "user_input_name")
KINDS = {"tensor_constant": "CONSTANT_TENSOR"}


def _name(arg: JsonNode) -> str:
    """The name of a value in the graph; "" for a constant."""
    if arg.get("name") is not None:  # the tensor itself: {"name": "x"}
        return arg["name"].text()
    # an argument of one member: {"as_tensor": {"name": "x"}}, {"as_sym_int": {"as_name": "n"}}
    content = arg.union()[1]
    named = (
        (content.get("name") or content.get("as_name")) if isinstance(content.value, dict) else None
    )
    return "" if named is None else named.text()
