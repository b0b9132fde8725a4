"""`python -m codegen` writes the generated files; `python -m codegen --check` exits 1 when one is
stale.

How the real one differs: see `codegen/__init__.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from codegen.derivatives import load as load_derivatives
from codegen.gen_facts import write_facts
from codegen.gen_fast_lane import write_fast_lane, write_recorded
from codegen.gen_kernels import write_kernels
from codegen.gen_nodes import write_nodes
from codegen.gen_ops import write_cuda_variants, write_ops, write_second_names, write_variants
from codegen.gen_python import write_functions, write_methods
from codegen.gen_stubs import OPS, write_function_stubs, write_method_stubs
from codegen.model import NAMESPACES, load
from codegen.saved import is_missing

TARGET = Path(__file__).parent.parent / "internals" / "_generated"


def generate() -> dict[str, str]:
    """The text of every generated file, by file name."""
    functions = load()
    derivatives = load_derivatives(functions)
    if silent := [f.schema.full_name for f in functions if is_missing(f, derivatives)]:
        raise ValueError(
            f"{', '.join(silent)}: what is the gradient? Say it in internals/autograd/derivatives, "
            "or there that there is none: "
            "output_differentiability: [False]"
        )
    return {
        "__init__.py": '"""Written by `python -m codegen`; see codegen/__init__.py."""\n',
        "ops.py": write_ops(functions, derivatives),
        "autograd_nodes.py": write_nodes(functions, derivatives),
        "autograd_kernels.py": write_kernels(functions, derivatives),
        "fast_lane.py": write_fast_lane(),
        "fast_lane_recorded.py": write_recorded(),
        "op_facts.py": write_facts(functions, derivatives),
        "variants.py": write_variants(functions),
        "second_names.py": write_second_names(functions),
        "cuda_variants.py": write_cuda_variants(functions),
        "functions.py": write_functions(functions),
        "nn_functions.py": write_functions(functions, "nn"),
        "methods.py": write_methods(functions),
        "ops.pyi": OPS,
        "functions.pyi": write_function_stubs(functions),
        "nn_functions.pyi": write_function_stubs(functions, "nn"),
        "methods.pyi": write_method_stubs(functions),
        **{f"{module}_functions.py": write_functions(functions, module) for module in NAMESPACES},
        **{
            f"{module}_functions.pyi": write_function_stubs(functions, module)
            for module in NAMESPACES
        },
    }


def main(arguments: list[str]) -> int:
    stale = []
    try:
        texts = generate()
    except ValueError as error:
        print(f"nothing was written. {error}", file=sys.stderr)
        return 1
    for name, text in texts.items():
        path = TARGET / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            TARGET.mkdir(exist_ok=True)
            temporary = path.with_suffix(path.suffix + ".new")
            temporary.write_text(text)
            os.replace(temporary, path)
    if "--check" in arguments:
        print(
            "stale: " + ", ".join(stale) + "; run `python -m codegen`"
            if stale
            else "generated files are fresh"
        )
        return 1 if stale else 0
    print("wrote " + ", ".join(stale) if stale else "nothing to do: generated files are fresh")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
