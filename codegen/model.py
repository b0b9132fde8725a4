"""What codegen knows about one operator: the YAML entry, parsed and checked (`torchgen/model.py`).

`load()` gives every overload, the derived in-place and out= twins included; `grouped()` sorts them under the name that
Python sees. How the real one differs: `torchgen.model` also models backends, structured meta functions, ufunc loops,
and validates far more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from internals.core.schema import Argument, FunctionSchema, Return, Type, parse_schema

YAML = Path(__file__).parent.parent / "internals" / "aten" / "native_functions.yaml"
KNOWN = {"func", "variants", "structured", "exact_out", "autogen", "dispatch", "python_module"}
PYTHON_KEYWORDS = {"from", "lambda", "in", "is"}


@dataclass(frozen=True)
class NativeFunction:
    """One overload. `kernels` maps a dispatch key to "module.function"; `base` is the functional op a twin came from."""

    schema: FunctionSchema
    variants: tuple[str, ...]
    kernels: dict[str, str]
    structured: bool = False
    exact_out: bool = False
    python_module: str = ""
    base: NativeFunction | None = field(default=None, repr=False)

    @property
    def identifier(self) -> str:
        """The name of the call function: `add_Tensor`, `relu`, `add__Tensor`."""
        s = self.schema
        return f"{s.name}_{s.overload}" if s.overload else s.name

    @property
    def parameters(self) -> list[str]:
        return [python_name(a.name) for a in self.schema.arguments]

    @property
    def is_composite(self) -> bool:
        return "CompositeImplicitAutograd" in self.kernels

    @property
    def has_own_cuda_kernel(self) -> bool:
        """Whether CUDA has a kernel of its own, rather than one shared with the CPU."""
        return self.kernels.get("CUDA", "").startswith("cuda.")


def load(path: Path = YAML) -> list[NativeFunction]:
    """Every operator of the YAML file with its twins. Raises ValueError naming the entry that is wrong."""
    functions: list[NativeFunction] = []
    for entry in yaml.safe_load(path.read_text()):
        unknown = set(entry) - KNOWN
        if unknown:
            raise ValueError(f"{entry.get('func')}: unknown keys {sorted(unknown)}; known are {sorted(KNOWN)}")
        function = NativeFunction(
            parse_schema(entry["func"]),
            tuple(v.strip() for v in entry.get("variants", "function").split(",")),
            {key: target for keys, target in entry["dispatch"].items() for key in keys.split(", ")},
            bool(entry.get("structured")),
            bool(entry.get("exact_out")),
            entry.get("python_module", ""),
        )
        functions.append(function)
        for name in filter(None, (n.strip() for n in entry.get("autogen", "").split(","))):
            functions.append(derive(function, name))
    names = [f.schema.full_name for f in functions]
    for n in names:
        if names.count(n) > 1:
            raise ValueError(f"{n} is declared twice")
    return functions


def derive(function: NativeFunction, twin: str) -> NativeFunction:
    """The in-place (`add_.Tensor`) or out= (`add.out`) twin of a functional operator."""
    name, _, overload = twin.partition(".")
    s = function.schema
    tensor = Type("Tensor")
    if name == s.name + "_":
        first, *rest = s.arguments
        arguments = (replace(first, alias="a!"), *rest)
        schema = FunctionSchema(s.namespace, name, overload, arguments, (Return(tensor, "", "a!"),))
        variants: tuple[str, ...]
        if function.python_module:  # of a namespace, like nn.elu_: never methods
            variants = ("function",)
        elif s.name in _FUNCTION_INPLACE_ONLY:
            variants = ("function",)
        elif "function" in function.variants and s.name in _FUNCTION_INPLACE:
            variants = ("function", "method")
        else:
            variants = ("method",)
    else:
        names = [r.name or f"out{i}" for i, r in enumerate(s.returns)] if len(s.returns) > 1 else ["out"]
        outs = tuple(Argument(n, tensor, kwarg_only=True, alias=f"{chr(97 + i)}!") for i, n in enumerate(names))
        returns = tuple(Return(tensor, r.name, o.alias) for r, o in zip(s.returns, outs))
        schema = FunctionSchema(s.namespace, name, overload, (*s.arguments, *outs), returns)
        variants = ()
    # An out= twin is written to below autograd, which cannot record it, even if the operator is a composite that it sees through.
    explicit = {"CompositeImplicitAutograd": "CompositeExplicitAutograd"} if schema.is_out else {}
    kernels = {
        explicit.get(key, key): f"_generated.{_variants_module(function, key)}.{_identifier(schema)}"
        for key in function.kernels
    }
    return NativeFunction(
        schema, variants, kernels, function.structured, function.exact_out, function.python_module, function
    )


def grouped(functions: list[NativeFunction], variant: str) -> dict[str, list[NativeFunction]]:
    """Overloads by Python name, of those that are visible as `variant` ("function" or "method")."""
    groups: dict[str, list[NativeFunction]] = {}
    for f in functions:
        if variant in f.variants:
            groups.setdefault(f.schema.name, []).append(f)
    return groups


def out_twin(f: NativeFunction, functions: list[NativeFunction]) -> NativeFunction | None:
    """The out= twin derived from `f`, if it has one."""
    return next((g for g in functions if g.base is f and g.schema.is_out), None)


def _variants_module(function: NativeFunction, key: str) -> str:
    """Where the twin's kernel for `key` is written: with the CPU's, unless CUDA has a kernel of its own."""
    return "cuda_variants" if key == "CUDA" and function.has_own_cuda_kernel else "variants"


def python_name(name: str) -> str:
    return name + "_" if name in PYTHON_KEYWORDS else name


def _identifier(schema: FunctionSchema) -> str:
    return f"{schema.name}_{schema.overload}" if schema.overload else schema.name


# In-place twins that PyTorch also offers as functions: torch.relu_(x), torch.exp_(x), ...
_FUNCTION_INPLACE_ONLY = {"celu", "threshold"}
_FUNCTION_INPLACE = {
    "abs", "acos", "as_strided", "asin", "atan", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "cosh", "detach", "dropout",
    "erf", "exp", "expm1", "floor", "frac", "log", "log1p", "log2", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid",
    "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
}  # fmt: skip
