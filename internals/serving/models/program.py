"""Programs that a server can run: each has named arguments, and is called with a list of tensors.

There are three kinds. A *compiled module* (TorchScript) has a schema with the names and types of
its arguments. An *exported program* (.pt2) also has sizes and ranges, and takes nested structures
of tensors. Any other callable is *Python*, with the arguments of its signature.

A request can contain only tensors and numbers. An argument that has a default value keeps it; a
number without one (`def forward(self, x, steps: int)`) is sent as a tensor of one element. Strings,
lists and dicts of tensors cannot be sent, so a model that needs them is refused when it is loaded,
not at the first request.

Mirrors Triton's libtorch backend, `ModelInstanceState::SetInputTensors`
(`triton-inference-server/pytorch_backend`).

How the real one differs: it passes all inputs by position, and can build dicts of tensors; it runs
TorchScript and Python, and since 2025 also the output of AOTInductor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import internals as torch
from internals.core.corrected import corrected
from internals.core.dtype import dtype
from internals.export.exported_program import ExportedProgram
from internals.export.input_checks import InputCheck
from internals.jit.ir import (
    BoolType,
    FloatType,
    Graph,
    IntType,
    OptionalType,
    TensorType,
    TupleType,
    Type,
)
from internals.jit.schema import Argument
from internals.jit.script_function import ScriptFunction
from internals.jit.script_module import ScriptModule
from internals.nn.module import Module

# type of an argument that is a number -> dtype of the tensor that a client sends for it
NUMBERS: dict[type[Type], dtype] = {
    IntType: torch.int64,
    FloatType: torch.float64,
    BoolType: torch.bool,
}


@dataclass(frozen=True)
class Parameter:
    """An argument that a request has to contain. `number` is the dtype of a one-element tensor that
    becomes a Python number, None for an argument that is a tensor.

    `dtype` and `sizes` are those of an exported program; a size of -1 is any.
    """

    name: str
    number: dtype | None = None
    dtype: dtype | None = None
    sizes: tuple[int, ...] | None = None


class Program:
    """A program: `call(inputs)` runs it with values for its `parameters`, which are None for
    `*args`, where the operator has to declare them.

    `platform` is its name in the model's metadata. `max_rows` is the largest number of rows it was
    exported for, None for any. `result` is the type it returns, if known.
    """

    platform: str
    parameters: tuple[Parameter, ...] | None = None
    max_rows: int | None = None
    result: Type | None = None

    def call(self, inputs: Sequence[Any]) -> Any:
        raise NotImplementedError

    def graph(self) -> tuple[Graph, dict[str, int]] | None:
        """The graph of `forward`, with calls inlined and weights as constants, and the position of
        each argument among its inputs. None if there is no graph.
        """
        return None

    def optimized(self) -> Program | None:
        """The same program after `jit.optimize`; None if it cannot be optimised."""
        return None

    def packs_convolutions(self) -> bool:
        """Whether it has packed convolutions, which are laid out anew for each input size."""
        return False


class CompiledProgram(Program):
    """A scripted or traced module or function, or one from an archive."""

    platform = "internals_torchscript"

    def __init__(self, module: ScriptModule | ScriptFunction) -> None:
        self.module: Any = module.eval() if isinstance(module, ScriptModule) else module
        schema = self.module.forward.schema
        all_arguments = schema.arguments[int(isinstance(module, ScriptModule)) :]
        arguments = [a for a in all_arguments if not a.has_default]
        self.parameters = tuple(map(_parameter, arguments))
        self.result = schema.returns[0].type if schema.returns else None
        self._run: Callable[..., Any] = self.module
        # Arguments after one with a default value have to be passed by name.
        by_position = list(all_arguments[: len(arguments)]) == arguments
        self._names = None if by_position else [a.name for a in arguments]

    def call(self, inputs: Sequence[Any]) -> Any:
        if self._names is None:
            return self._run(*inputs)
        return self._run(**dict(zip(self._names, inputs)))

    def graph(self) -> tuple[Graph, dict[str, int]]:
        positions = {a.name: i for i, a in enumerate(self.module.forward.schema.arguments)}
        if isinstance(self.module, ScriptFunction):
            return self.module.inlined_graph, positions
        return torch.jit.freeze(self.module, optimize_numerics=False).graph, positions

    def optimized(self) -> Program:
        other = copy(self)
        other._run = torch.jit.optimize(self.module)
        return other

    def packs_convolutions(self) -> bool:
        return _packs_convolutions(self._run)


class ExportedModel(Program):
    """A program from `torch.export.save`. Raises NotImplementedError if it calls operators that do
    not exist here.
    """

    platform = "internals_exported_program"

    def __init__(self, program: ExportedProgram) -> None:
        program.module()  # only to raise the error for a missing operator now
        self.program, self.checks = program, program.input_checks
        self.parameters = tuple(
            _exported_parameter(check) for check in self.checks if not check.is_constant
        )
        first = [c.sizes[0] for c in self.checks if c.sizes]
        bounds = [
            program.range_constraints[str(size)].upper
            for size in first
            if str(size) in program.range_constraints
        ]
        self.max_rows = min((bound for bound in bounds if bound is not None), default=None)

    def call(self, inputs: Sequence[Any]) -> Any:
        # Constants among the arguments are not sent; the leaves become the nested arguments again.
        given = iter(inputs)
        leaves = (check.constant if check.is_constant else next(given) for check in self.checks)
        args, kwargs = self.program.in_spec.unflatten(leaves)
        return self.program(*args, **kwargs)


class PythonProgram(Program):
    """A module that is not compiled, or a function. Its signature gives the arguments."""

    platform = "internals_python"

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(
                "a model is a module or a function that takes tensors, not "
                f"{type(function).__name__}"
            )
        self.function = function.eval() if isinstance(function, Module) else function
        forward = function.forward if isinstance(function, Module) else function
        kinds = inspect.Parameter
        found: list[Parameter] = []
        starred = False
        for p in inspect.signature(forward).parameters.values():
            starred = starred or p.kind is kinds.VAR_POSITIONAL
            if p.default is kinds.empty and p.kind in (
                kinds.POSITIONAL_ONLY,
                kinds.POSITIONAL_OR_KEYWORD,
            ):
                found.append(Parameter(p.name, PYTHON_NUMBERS.get(p.annotation)))
            elif p.default is kinds.empty and p.kind is kinds.KEYWORD_ONLY:
                raise TypeError(
                    corrected(
                        f"the argument '{p.name}' can only be given by keyword, and a request "
                        "gives its inputs in order",
                        f"def forward(self, *, {p.name}): ...",
                        f"def forward(self, {p.name}): ...",
                    )
                )
        self.parameters = None if starred else tuple(found)

    def call(self, inputs: Sequence[Any]) -> Any:
        return self.function(*inputs)

    def graph(self) -> tuple[Graph, dict[str, int]] | None:
        """The graph of the scripted module. Raises the compiler's errors."""
        if not isinstance(self.function, Module):
            return None
        return CompiledProgram(torch.jit.script(self.function)).graph()

    def optimized(self) -> Program:
        other = copy(self)
        other.function = torch.jit.optimize(self.function)
        return other

    def packs_convolutions(self) -> bool:
        return _packs_convolutions(self.function)


PYTHON_NUMBERS: dict[Any, dtype] = {
    int: torch.int64,
    "int": torch.int64,
    float: torch.float64,
    "float": torch.float64,
    bool: torch.bool,
    "bool": torch.bool,
}


def program_of(model: Any) -> Program:
    """The program for a model of any kind. Raises TypeError if it cannot be called with tensors
    only.
    """
    if isinstance(model, ExportedProgram):
        return ExportedModel(model)
    return (
        CompiledProgram(model)
        if isinstance(model, (ScriptModule, ScriptFunction))
        else PythonProgram(model)
    )


def names_of_results(result: Type | None) -> tuple[str, ...]:
    """The names of the outputs according to the type of the result: `OUTPUT__0`, ..., or the fields
    of a named tuple; () if the type is unknown or not made of tensors.
    """
    if isinstance(result, TensorType):
        return ("OUTPUT__0",)
    if isinstance(result, TupleType) and all(isinstance(t, TensorType) for t in result.elements):
        return result.names or tuple(f"OUTPUT__{i}" for i in range(len(result.elements)))
    return ()


def _packs_convolutions(compiled: Any) -> bool:
    graph = compiled.graph if isinstance(compiled, ScriptModule) else None
    return graph is not None and graph.findNode("prim::ConvolutionGroup") is not None


def _parameter(argument: Argument) -> Parameter:
    """The parameter for an argument of a schema; TypeError if a request cannot contain it."""
    type_ = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    if isinstance(type_, TensorType):
        return Parameter(argument.name)
    number = NUMBERS.get(type(type_))
    if number is None:
        raise TypeError(
            f"the argument '{argument.name}' of forward is a {argument.type.repr_str()}, which no "
            "request can bring: tensors and numbers can. Give it a default value, or wrap the "
            "model in one that takes tensors"
        )
    return Parameter(argument.name, number)


def _exported_parameter(check: InputCheck) -> Parameter:
    if check.number is not None:
        return Parameter(check.name, torch.int64)
    sizes = check.sizes
    shape = None if sizes is None else tuple(s.value if s.kind == "integer" else -1 for s in sizes)
    return Parameter(check.name, None, check.dtype, shape)
