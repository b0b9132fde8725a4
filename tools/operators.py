"""`python -m tools.operators` writes docs/operators.md: which of PyTorch's operators are here.

`--names` first asks the installed PyTorch for the names in its `native_functions.yaml`
(`internals/aten/pytorch_names.txt`) and for the order of their overloads
(`internals/jit/operators/overload_order.txt`). `--check` writes nothing and exits 1 when the page
is stale.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import internals
from codegen.model import NAMESPACES, NativeFunction, load, parse_yaml
from internals.aten import pytorch_names
from internals.jit.operators import overload_order

ROOT = Path(__file__).parent.parent
PAGE = ROOT / pytorch_names.PAGE
WRITTEN = "Written by `python -m tools.operators --names`."
HEAD = f"# The names in PyTorch's native_functions.yaml, and where Python finds each. {WRITTEN}"
ORDERS_HEAD = (
    f"# The overloads of PyTorch's operators, in the order in which they are tried. {WRITTEN}"
)
FAMILIES = {  # operators of PyTorch that are about something this project does not have
    "Sparse and nested tensors": (
        "sparse", "nested", "coalesce", "crow_", "ccol_", "col_indices", "row_indices", "csr",
        "csc", "bsr", "jagged", "padded", "hspmm", "sspaddmm", "smm", "_nnz", "indices_copy",
        "values_copy", "spmm",
    ),
    "Quantisation": (
        "quantize", "quantized", "_quant", "q_scale", "q_zero_point", "q_per_channel", "int_repr",
        "qscheme", "fbgemm", "qparams", "_int4", "_int8", "int8", "_scaled_mm", "_scaled_grouped",
        "fused_moving_avg",
    ),
    "Other backends": (
        "cudnn", "miopen", "mkldnn", "mps", "xnn", "nnpack", "vulkan", "mtia", "hpu", "cslt",
        "_cufft", "_triton", "hash_tensor",
    ),
    "Several tensors in one kernel": ("_foreach", "_fused_", "_amp_"),
    "Forward mode and vmap": (
        "_fw_", "_dual", "jvp", "_batch_dim", "vmap", "_lazy_clone", "_add_batch",
    ),
    "Tests, assertions and symbols of PyTorch itself": (
        "_test_", "_assert", "sym_", "_sym", "_print", "_functional_", "_propagate", "_debug",
        "_make_dep", "_has_compatible", "_has_same", "_backward_hook", "_validate_",
    ),
}  # fmt: skip
NN, BACKWARD, COPIES, PRIVATE, PUBLIC = (
    "torch.nn.functional, as operators", "Derivatives that are operators", "Views that are copies",
    "Private operators", "torch and Tensor",
)  # fmt: skip
ORDER = (
    PUBLIC,
    NN,
    *(f"torch.{module}" for module in NAMESPACES),
    COPIES,
    PRIVATE,
    BACKWARD,
    *FAMILIES,
)
INTRODUCTION = """# Operators

Written by `python -m tools.operators` from two lists: the names in PyTorch 2.13's
`native_functions.yaml`, and what is declared in `internals/aten/native_functions/`. Each operator's
schema, kernels and derivative are on the page *Operators* of the site (`make site`).

An operator that is not here is said to be missing wherever it is met. `internals.{missing}`,
`tensor.{missing}()` and `internals.ops.aten.{missing}` raise an AttributeError, a script that calls
it does not compile, an archive that calls it does not load; the message says that PyTorch has the
operator, and points here and to notebook 06, which shows how to add one: a line in
`native_functions`, a kernel, a line in `derivatives`.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.operators", description=__doc__)
    parser.add_argument(
        "--names", action="store_true", help="read the names of the installed PyTorch again"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the page is stale"
    )
    options = parser.parse_args(arguments)
    if options.names:
        write(pytorch_names.LIST, names_of_pytorch())
        write(overload_order.LIST, overloads_of_pytorch())
        pytorch_names.names.cache_clear()
    text = page()
    if options.check:
        fresh = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        print(
            f"{pytorch_names.PAGE} is fresh"
            if fresh
            else f"{pytorch_names.PAGE} is stale; run `python -m tools.operators`"
        )
        return not fresh
    write(PAGE, text)
    print(f"wrote {pytorch_names.PAGE}")
    return 0


def page() -> str:
    """The text of docs/operators.md."""
    ours = overloads(load())
    theirs = pytorch_names.names()
    families: dict[str, list[str]] = {title: [] for title in ORDER}
    for name in theirs:
        if base_of(name, theirs) == name:
            families[family(name)].append(name)
    here = [name for name in theirs if name in ours]
    in_python = [name for name in theirs if name not in ours and is_in_python(name)]
    lines = [INTRODUCTION.format(missing="sspaddmm")]
    count = sum(map(len, ours.values()))
    lines += [
        f"Of {len(theirs)} names {len(here)} are operators here, with {count} overloads, and "
        f"{len(in_python)} are functions",
        "in Python that call operators.",
        "",
    ]
    lines += ["| | operators here | in Python | not here |", "|---|---|---|---|"]
    for title, members in families.items():
        found, python = (sum(name in some for name in members) for some in (ours, in_python))
        lines.append(
            f"| [{title}](#{anchor(title)}) | {found} | {python} | {len(members) - found - python} "
            "|"
        )
    for title, members in families.items():
        lists = {
            "Here": [n for n in members if n in ours],
            "In Python": [n for n in members if n in in_python],
            "Not here": [n for n in members if n not in ours and n not in in_python],
        }
        lines += ["", f"## {title}"]
        for label, some in lists.items():
            if some:
                lines += ["", f"**{label}.** " + ", ".join(shown(n, ours, theirs) for n in some)]
    extra = [name for name in ours if name not in theirs and base_of(name, ours) == name]
    lines += [
        "",
        "## Here, but not in PyTorch's file",
        "",
        ", ".join(f"`{n}`" for n in extra) or "None.",
    ]
    return "\n".join(lines) + "\n"


def shown(name: str, ours: dict[str, list[str]], theirs: Iterable[str]) -> str:
    """A name, and its in-place form if it is as much here, or as little."""
    twin = f"{name}_"
    if twin not in theirs:
        return f"`{name}`"
    same = (twin in ours) == (name in ours)
    return (
        f"`{name}` `{twin}`"
        if same
        else f"`{name}` ({'without' if name in ours else 'but'} `{twin}`)"
    )


def is_in_python(name: str) -> bool:
    """Whether the name is found everywhere where PyTorch has it, without being an operator."""
    places = pytorch_names.names()[name]
    return bool(places) and all(
        hasattr(owner, name.removeprefix(prefix)) for owner, prefix in map(owner_of, sorted(places))
    )


def owner_of(place: str) -> tuple[Any, str]:
    """What has the functions of a place, and how their operators' names begin there."""
    if place in NAMESPACES:
        return getattr(internals, place), f"{place}_"
    return {"Tensor": internals.Tensor, "nn": internals.nn.functional}.get(place, internals), ""


def family(name: str) -> str:
    """The heading under which an operator stands."""
    for title, parts in FAMILIES.items():
        if any(part in name for part in parts):
            return title
    places = pytorch_names.names()[name]
    for module in (*NAMESPACES, "nn"):
        if module in places:
            return NN if module == "nn" else f"torch.{module}"
    if (
        name.endswith(
            ("_backward", "_backward_data", "_backward_input", "_double_backward", "_jvp")
        )
        or "_backward_" in name
    ):
        return BACKWARD
    if name.endswith("_copy") and f"{name}_" not in pytorch_names.names():
        return COPIES
    return PRIVATE if name.startswith("_") and not name.startswith("__") else PUBLIC


def base_of(name: str, known: Iterable[str]) -> str:
    """`add` for `add_`, where both exist."""
    return (
        name[:-1] if name.endswith("_") and not name.endswith("__") and name[:-1] in known else name
    )


def overloads(functions: list[NativeFunction]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for f in functions:
        found.setdefault(f.schema.name, []).append(f.schema.overload)
    return dict(sorted(found.items()))


def anchor(title: str) -> str:
    return "".join(c for c in title.lower() if c.isalnum() or c in " -_").replace(" ", "-")


def names_of_pytorch() -> str:
    """The text of pytorch_names.txt, by the installed PyTorch's native_functions.yaml."""
    declared = files("torchgen") / "packaged" / "ATen" / "native" / "native_functions.yaml"
    places: dict[str, set[str]] = {}
    for entry in parse_yaml(declared.read_text(encoding="utf-8")):
        name = entry["func"].partition("(")[0].partition(".")[0]
        found = places.setdefault(name, set())
        variants = entry.get("variants", "function")
        if entry.get("manual_cpp_binding") and "method" not in variants:
            variants = "method"  # written by hand: `tensor.size()`
        if "function" in variants:
            found.add(entry.get("python_module", "torch"))
        if "method" in variants:
            found.add("Tensor")
    return (
        "\n".join([HEAD, *(" ".join([name, *sorted(places[name])]) for name in sorted(places))])
        + "\n"
    )


def overloads_of_pytorch() -> str:
    """The text of overload_order.txt: names with several overloads, in the order in which PyTorch's
    compiler tries these.
    """
    import torch

    names = sorted(
        {s.name for s in torch._C._jit_get_all_schemas() if s.name.startswith(("aten::", "prim::"))}
    )
    rows = {
        name: [s.overload_name or "-" for s in torch._C._jit_get_schemas_for_operator(name)]
        for name in names
    }
    return (
        "\n".join(
            [ORDERS_HEAD, *(" ".join([name, *row]) for name, row in rows.items() if len(row) > 1)]
        )
        + "\n"
    )


def write(path: Path, text: str) -> None:
    temporary = path.with_suffix(path.suffix + ".new")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
