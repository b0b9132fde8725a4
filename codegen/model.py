"""What codegen knows about one operator: the YAML entry, parsed and checked (`torchgen/model.py`).

    func        the schema. `Tensor(a!)` is written to; `Tensor(a)` in and out is a view.
    variants    function (default), method, both, or none: where Python finds it.
    structured  PyTorch's kernel is a structured one, which decides what its wrapper is called in
                errors.
    autogen     the in-place and out= twins that codegen derives from this line; of a view also the
                twin that copies, `select_copy.int`, and that one's out= twin.
    no_overlap  arguments that must share no memory with what a twin writes; with no_partial_overlap
                they may be the very same elements. Kernels that give TensorIterator a loop need
                neither: it asks for all operands.
    exact_out   the out= twin refuses a tensor of another dtype, even of a wider one.
    deprecated  orders in which Python once took the arguments, by name, and still takes them, with
                a warning.
    tags        what else is true of it, in PyTorch's words (`TAGS`). An alias has those of its
                operator. `- default: {tags: pointwise}` is for all entries of a file that follow
                and do not say it themselves.
    device_check    NoCheck: the kernel finds out itself whether its tensors are on one device.
                Of pointwise operators and of reductions that is taken for granted.
    same_as     another operator's name, instead of a kernel: `arccos` is `acos`, and its twins are
                the twins of that.
    python_module   where Python finds the function instead: nn, linalg, fft, special.
    dispatch    key: module.function under internals/aten/native; "cuda.module.function" lies under
                internals/cuda/native. Several keys may share a kernel: "CPU, CUDA" is for one that
                leaves what is stored to the device, and so is Meta's, too; "CPU, Meta" for one that
                looks at no data where nothing is stored. A Composite key says that the kernel calls
                other ops: Implicit, and autograd sees those; Explicit, and it has a derivative, and
                so a node.

`load()` gives every overload, the derived in-place and out= twins included; `grouped()` sorts them
under the name that Python sees.

How the real one differs: there is one file, of 16,000 lines; an alias is a line and a C++ function
like any other; `torchgen.model` also models backends, structured meta functions, ufunc loops, and
validates far more.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from internals.core.dispatch_key import DispatchKey
from internals.core.schema import Argument, FunctionSchema, Return, Type, parse_schema

FOLDER = Path(__file__).parent.parent / "internals" / "aten" / "native_functions"
CHECKS = ("no_overlap", "no_partial_overlap")
KNOWN = {
    "func", "variants", "structured", *CHECKS, "exact_out", "autogen", "deprecated", "dispatch",
    "python_module", "same_as", "tags", "device_check", "place",
}  # fmt: skip
TAGS = (
    "pointwise", "reduction", "nondeterministic_seeded", "data_dependent_output",
    "dynamic_output_shape", "inplace_view", "view_copy",
)  # fmt: skip
# modules of functions whose names begin with the module's
NAMESPACES = ("linalg", "fft", "special")


@dataclass(frozen=True)
class NativeFunction:
    """One overload. `kernels` maps a dispatch key to "module.function"; `base` is the functional op
    a twin came from; `checks` are the arguments that `no_overlap` and `no_partial_overlap` name."""

    schema: FunctionSchema
    variants: tuple[str, ...]
    kernels: dict[str, str]
    structured: bool = False
    exact_out: bool = False
    python_module: str = ""
    base: NativeFunction | None = field(default=None, repr=False)
    same_as: str = ""
    checks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    deprecated: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    device_check: str = ""
    place: str = ""  # of its entry, or of that it is derived from: "pointwise_binary.yaml:12"

    @property
    def identifier(self) -> str:
        """The name of the call function: `add_Tensor`, `relu`, `add__Tensor`."""
        s = self.schema
        return f"{s.name}_{s.overload}" if s.overload else s.name

    @property
    def python_name(self) -> str:
        """What Python calls it: `det` in the module linalg is the operator linalg_det."""
        prefix = f"{self.python_module}_" if self.python_module in NAMESPACES else ""
        return self.schema.name.removeprefix(prefix)

    @property
    def parameters(self) -> list[str]:
        return [a.python_name for a in self.schema.arguments]

    @property
    def is_composite(self) -> bool:
        return "CompositeImplicitAutograd" in self.kernels

    @property
    def is_view_copy(self) -> bool:
        """Whether it gives a copy of what the view that it is derived from would show."""
        return (
            self.base is not None
            and self.base.schema.is_view
            and not (self.schema.is_inplace or self.schema.is_out)
        )

    @property
    def has_own_cuda_kernel(self) -> bool:
        """Whether CUDA has a kernel of its own, rather than one shared with the CPU."""
        return self.kernels.get("CUDA", "").startswith("cuda.")


def load(path: Path = FOLDER) -> list[NativeFunction]:
    """Every operator of a YAML file, or of a folder's, with its twins. Raises ValueError naming the
    entry that is wrong.
    """
    functions: list[NativeFunction] = []
    for entry in read_entries(path):
        unknown = set(entry) - KNOWN
        if unknown:
            raise ValueError(
                f"{entry.get('func')}: unknown keys {sorted(unknown)}; known are {sorted(KNOWN)}"
            )
        _check_words(entry)
        if ("dispatch" in entry) == ("same_as" in entry):
            raise ValueError(
                f"{entry.get('func')}: give it either `dispatch`, its kernels, or `same_as`, "
                "another operator"
            )
        function = NativeFunction(
            _parse(entry["func"]),
            tuple(v.strip() for v in entry.get("variants", "function").split(",")),
            _kernels(entry.get("dispatch", {})),
            bool(entry.get("structured")),
            bool(entry.get("exact_out")),
            entry.get("python_module", ""),
            same_as=entry.get("same_as", ""),
            checks={
                key: tuple(a.strip() for a in entry[key].split(","))
                for key in CHECKS
                if key in entry
            },
            deprecated=tuple(entry.get("deprecated", ())),
            tags=_words(entry.get("tags", "")),
            device_check=entry.get("device_check", ""),
            place=entry["place"],
        )
        functions.append(function)
        copies: dict[str, NativeFunction] = {}
        for name in filter(None, (n.strip() for n in entry.get("autogen", "").split(","))):
            twin = derive(copies.get(name.partition(".")[0], function), name)
            if twin.is_view_copy:
                copies[twin.schema.name] = twin
            functions.append(twin)
    for name, count in Counter(f.schema.full_name for f in functions).items():
        if count > 1:
            raise ValueError(f"{name} is declared twice")
    return [resolve_alias(f, functions) if (f.base or f).same_as else f for f in functions]


def _kernels(dispatch: dict[str, str]) -> dict[str, str]:
    """By key. What the CPU and CUDA share looks at no memory by itself, and so is Meta's as
    well.
    """
    kernels = {key: target for keys, target in dispatch.items() for key in keys.split(", ")}
    if "CPU" in kernels and kernels["CPU"] == kernels.get("CUDA"):
        kernels.setdefault("Meta", kernels["CPU"])
    return kernels


def _parse(text: str) -> FunctionSchema:
    """The schema. Raises ValueError that names the entry."""
    if "SymInt" in text:
        raise ValueError(
            f"{text}: a SymInt of PyTorch's file is an int here: no size is ever unknown"
        )
    try:
        return parse_schema(text)
    except RuntimeError as error:
        raise ValueError(f"{text}: {error}") from None


def _check_words(entry: dict[str, Any]) -> None:
    """Raises ValueError for a value that means nothing and would be passed over: a dispatch key
    that does not exist, say.
    """
    given = {
        "dispatch": [k for keys in entry.get("dispatch", {}) for k in keys.split(", ")],
        "variants": [v.strip() for v in entry.get("variants", "function").split(",")],
        "python_module": [entry.get("python_module", "")],
        "tags": _words(entry.get("tags", "")),
        "device_check": [entry.get("device_check", "")],
    }
    known = {
        "dispatch": [k.name for k in DispatchKey],
        "variants": ["function", "method", "none"],
        "python_module": ["", "nn", *NAMESPACES],
        "tags": list(TAGS),
        "device_check": ["", "NoCheck"],
    }
    for key, words in given.items():
        for word in words:
            if word not in known[key]:
                raise ValueError(
                    f"{entry['func']}: {key}: there is no {word!r}; known are "
                    f"{', '.join(filter(None, known[key]))}"
                )
    for key in CHECKS:
        for argument in filter(None, (a.strip() for a in entry.get(key, "").split(","))):
            if not re.search(rf"Tensor\S* {argument}\b", entry["func"]):
                raise ValueError(f"{entry['func']}: {key}: there is no tensor {argument!r}")
    name = entry["func"].partition("(")[0].partition(".")[0]
    for twin in filter(None, (n.strip() for n in entry.get("autogen", "").split(","))):
        base, _, overload = twin.partition(".")
        if " " in twin or not (base in (name + "_", name + "_copy") or (base == name and overload)):
            raise ValueError(
                f"{entry['func']}: autogen: {twin!r} is no twin; write {name}_, {name}.out or "
                "both, with a comma"
            )
    parameters = {a.name for a in _parse(entry["func"]).arguments}
    for order in entry.get("deprecated", ()):
        for word in order.split():
            if word not in parameters:
                raise ValueError(f"{entry['func']}: deprecated: it has no argument {word!r}")
    for target in entry.get("dispatch", {}).values():
        if "." not in target:
            raise ValueError(
                f"{entry['func']}: dispatch: {target!r} names no kernel; write module.function"
            )


def read_entries(path: Path) -> list[dict[str, Any]]:
    """The entries of a YAML file, or of all YAML files in a folder, in the order of their names,
    each with its `place`.
    """
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    entries: list[dict[str, Any]] = []
    for file in files:
        default: dict[str, Any] = {}
        text = file.read_text(encoding="utf-8")
        lines = [
            number for number, line in enumerate(text.splitlines(), 1) if line.startswith("- ")
        ]
        try:
            for entry, line in zip(parse_yaml(text) or [], lines, strict=True):
                if "default" in entry:
                    default = entry["default"]
                else:
                    entries.append(default | entry | {"place": f"{file.name}:{line}"})
        except yaml.YAMLError as error:
            raise ValueError(f"{file.name} is no YAML: {error}") from None
    return entries


def _words(text: str) -> tuple[str, ...]:
    """The words of a list with commas."""
    return tuple(filter(None, (word.strip() for word in text.split(","))))


def parse_yaml(text: str) -> Any:
    """By libyaml where that is installed, which is ten times faster."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def resolve_alias(f: NativeFunction, functions: list[NativeFunction]) -> NativeFunction:
    """The kernel of `arccos` is the function that calls `acos`, that of its twin `arccos_` calls
    the twin `acos_`.

    Raises ValueError where there is no such operator.
    """
    name = (f.base or f).same_as
    target = next((g for g in functions if g.schema.full_name == f"aten::{name}"), None)
    if f.base is not None and target is not None:
        kind = (f.schema.is_inplace, f.schema.is_out)
        inputs = [a.type for a in f.schema.arguments]
        target = next(
            (
                g
                for g in functions
                if g.schema.name.removesuffix("_") == target.schema.name
                and (g.schema.is_inplace, g.schema.is_out) == kind
                and [a.type for a in g.schema.arguments] == inputs
            ),
            None,
        )
    if target is None:
        twin = " with this twin" if f.base is not None else ""
        raise ValueError(f"{f.schema.full_name}: same_as: {name}: there is no such operator{twin}")
    kernels = {"CompositeImplicitAutograd": f"_generated.ops.{target.identifier}"}
    return replace(f, kernels=kernels, same_as=target.schema.name, tags=target.tags)


def derive(function: NativeFunction, twin: str) -> NativeFunction:
    """The in-place (`add_.Tensor`), out= (`add.out`) or, of a view, copying (`select_copy.int`)
    twin of a functional operator.
    """
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
    elif name == s.name + "_copy" and s.is_view:
        arguments = tuple(replace(a, alias="") for a in s.arguments)
        schema = FunctionSchema(
            s.namespace, name, overload, arguments, tuple(replace(r, alias="") for r in s.returns)
        )
        variants = ("function",)
    else:
        names = (
            [r.name or f"out{i}" for i, r in enumerate(s.returns)]
            if len(s.returns) > 1
            else ["out"]
        )
        outs = tuple(
            Argument(n, tensor, kwarg_only=True, alias=f"{chr(97 + i)}!")
            for i, n in enumerate(names)
        )
        returns = tuple(Return(tensor, r.name, o.alias) for r, o in zip(s.returns, outs))
        schema = FunctionSchema(s.namespace, name, overload, (*s.arguments, *outs), returns)
        variants = ()
    # An out= twin is written to below autograd, which cannot record it, even if the operator is a
    # composite that it sees through.
    explicit = {"CompositeImplicitAutograd": "CompositeExplicitAutograd"} if schema.is_out else {}
    kernels = {
        explicit.get(
            key, key
        ): f"_generated.{_variants_module(function, key)}.{_identifier(schema)}"
        for key in function.kernels
    }
    tags = dict.fromkeys(function.tags)
    if schema.is_inplace and s.is_view:
        tags["inplace_view"] = None
    if s.is_view and not schema.is_inplace:
        tags["view_copy"] = None
    return NativeFunction(
        schema, variants, kernels, function.structured, function.exact_out, function.python_module,
        function, deprecated=function.deprecated, tags=tuple(tags),
        device_check=function.device_check, place=function.place,
    )  # fmt: skip


def grouped(functions: list[NativeFunction], variant: str) -> dict[str, list[NativeFunction]]:
    """Overloads by Python name, of those that are visible as `variant` ("function" or "method")."""
    groups: dict[str, list[NativeFunction]] = {}
    for f in functions:
        if variant in f.variants:
            groups.setdefault(f.python_name if variant == "function" else f.schema.name, []).append(
                f
            )
    return groups


def out_twin(f: NativeFunction, functions: list[NativeFunction]) -> NativeFunction | None:
    """The out= twin of `f`: derived from it, or declared with a kernel of its own and `variants:
    none`.
    """
    return next(
        (
            g
            for g in functions
            if g.schema.is_out and (_is_derived_from(g, f) or _writes_what_returns(g, f))
        ),
        None,
    )


def _is_derived_from(g: NativeFunction, f: NativeFunction) -> bool:
    # of an alias that was resolved there are two objects
    return g.base is not None and g.base.schema is f.schema


def _writes_what_returns(g: NativeFunction, f: NativeFunction) -> bool:
    same_name = g.base is None and g.variants == ("none",) and g.schema.name == f.schema.name
    return same_name and g.schema.arguments[:-1] == f.schema.arguments


def _variants_module(function: NativeFunction, key: str) -> str:
    """Where the twin's kernel for `key` is written: with the CPU's, unless CUDA has a kernel of its
    own.
    """
    return "cuda_variants" if key == "CUDA" and function.has_own_cuda_kernel else "variants"


def _identifier(schema: FunctionSchema) -> str:
    return f"{schema.name}_{schema.overload}" if schema.overload else schema.name


# In-place twins that PyTorch also offers as functions: torch.relu_(x), torch.exp_(x), ...
_FUNCTION_INPLACE_ONLY = {"celu", "threshold"}
_FUNCTION_INPLACE = {
    "abs", "acos", "acosh", "addmv", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh",
    "as_strided", "asin", "asinh", "atan", "atanh", "ceil", "clamp", "clamp_max", "clamp_min",
    "clip", "conj_physical", "cos", "cosh", "deg2rad", "detach", "dropout", "erf", "erfc", "exp",
    "exp2", "expm1", "fix", "floor", "frac", "gcd", "i0", "lcm", "ldexp", "log", "log10", "log1p",
    "log2", "logit", "nan_to_num", "neg", "negative", "rad2deg", "reciprocal", "relu", "round",
    "rsqrt", "sigmoid", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "xlogy",
}  # fmt: skip
