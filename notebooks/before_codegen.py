"""How PyTorch made its functions in 2016 and 2017, as working models small enough to read. Used by
notebook 06.

    generic/THTensorMath.c  one C source for all types           `specialise`, `split_types`
    TensorMethods.cwrap     one YAML declaration for a method    `parse_cwrap`, `wrapper`
    setup.py install        compile, generate, split, link, copy `Build`

The files that these steps read are in before_codegen_files.py; each is a shortened version of the
PyTorch file it is named after. The numbers are computed by a C library built from the template when
a C compiler is there, and by a Python library made from the same template otherwise; both work on
the memory of `internals` tensors.

How the real one differs: `tools/cwrap` wrote C++ and had some twenty plugins;
`tools/setup_helpers/split_types.py` split the bindings only (TH itself compiled all types in one
file); and the result of it all was a C extension, `torch._C`.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from before_codegen_files import (
    CWRAP,
    EXTENSION_HEAD,
    GENERIC_C,
    GENERIC_PY,
    INIT_PY,
    SOURCE_C,
    TH_H,
)

import internals

# Name of the type, as in THFloatTensor: what `real` and `accreal` stand for, and the dtype of its
# tensors.
TYPES = {
    "Float": ("float", "double", internals.float32),
    "Double": ("double", "double", internals.float64),
    "Int": ("int32_t", "int64_t", internals.int32),
    "Long": ("int64_t", "int64_t", internals.int64),
}
C_TYPES: dict[str, Any] = {
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
}

# --- templates ------------------------------------------------------------------------------------


def specialise(template: str, type_name: str) -> str:
    """What the C preprocessor makes of a generic source for one type: every macro of TH replaced,
    nothing else.
    """
    real, accreal, _ = TYPES[type_name]
    text = re.sub(r"\b(THP?)(Tensor|Utils)_\((\w+)\)", rf"\g<1>{type_name}\2_\3", template)
    text = re.sub(r"\b(THP?)Tensor\b", rf"\g<1>{type_name}Tensor", text)
    text = re.sub(r"\baccreal\b", accreal, text)
    return re.sub(r"\breal\b", real, text)


def split_types(source: str) -> dict[str, str]:
    """One source per type, from a source with a line `//generic_include LIB FILE`. Raises
    RuntimeError without one.
    """
    match = re.search(r"^//generic_include (\S+) (\S+)$", source, re.M)
    if match is None:
        raise RuntimeError("generic include not found")
    library, generic = match.groups()
    include = f'#define {library}_GENERIC_FILE "{generic}"\n#include "{library}Generate{{}}Type.h"'
    return {name: source.replace(match.group(), include.format(name)) for name in TYPES}


def generate_header(type_name: str) -> str:
    """THGenerateFloatType.h and its brothers: define the macros, include the template, forget the
    macros.
    """
    real, accreal, _ = TYPES[type_name]
    return (
        f"#define real {real}\n#define accreal {accreal}\n#define Real {type_name}\n"
        "#include TH_GENERIC_FILE\n"
        "#undef real\n#undef accreal\n#undef Real\n"
    )


# --- cwrap ----------------------------------------------------------------------------------------


def parse_cwrap(text: str) -> list[dict[str, Any]]:
    """The declarations of a .cwrap file: the YAML between lines that are exactly `[[` and `]]`."""
    declarations = [
        yaml.safe_load(block) for block in re.findall(r"^\[\[\n(.*?)^\]\]$", text, re.S | re.M)
    ]
    for d in declarations:
        d.setdefault("cname", d["name"])
        d.setdefault("return", "void")
        arguments = [{"arg": a} if isinstance(a, str) else dict(a) for a in d["arguments"]]
        for a in arguments:
            a["type"], _, a["name"] = a.pop("arg").partition(" ")
        d["arguments"] = arguments
    return declarations


def enumerate_options(declaration: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Every way to call it: each argument with a default is either given or left out. The longest
    option comes first.
    """
    choices = [[False, True] if "default" in a else [False] for a in declaration["arguments"]]
    options = [
        [{**a, "omitted": left_out} for a, left_out in zip(declaration["arguments"], chosen)]
        for chosen in product(*choices)
    ]
    return sorted(options, key=lambda option: -len(given(option)))


def given(option: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The arguments of an option that the caller passes: not `self`, not those left to their
    defaults.
    """
    return [a for a in option if a["name"] != "self" and not a["omitted"]]


CHECK = {"THTensor*": "THPTensor_(Check)({})", "real": "THPUtils_(checkReal)({})"}
UNPACK = {"THTensor*": "THPTensor_(unpack)({})", "real": "THPUtils_(unpackReal)({})"}


def wrapper(declaration: dict[str, Any]) -> str:
    """The source of the Python method: one `if` per option, with a count and a check per argument,
    then the call.

    It is itself a template, still to be specialised for each type.
    """
    name, options = declaration["name"], enumerate_options(declaration)
    names = [a["name"] for a in declaration["arguments"]]
    keywords = [n for i, n in enumerate(names) if n != "self" and n not in names[:i]]
    lines = [f"def THPTensor_({name})(self, args, kwargs):"]
    lines.append("    __tuplecount, __argcount = len(args), len(args) + len(kwargs)")
    lines += [f'    __kw_{k} = kwargs.get("{k}")' for k in keywords]
    for number, option in enumerate(options):
        place = {
            a["name"]: f"args[{i}] if __tuplecount > {i} else __kw_{a['name']}"
            for i, a in enumerate(given(option))
        }
        checks = [f"__argcount == {len(place)}"]
        checks += [
            part
            for i, a in enumerate(given(option))
            for part in (
                f"(__tuplecount > {i} or __kw_{a['name']} is not None)",
                CHECK[a["type"]].format(place[a["name"]]),
            )
        ]
        passed = [
            a["default"] if a["omitted"] else UNPACK[a["type"]].format(place.get(a["name"], "self"))
            for a in option
        ]
        lines.append(
            f"    {'elif' if number else 'if'} (" + " and\n            ".join(checks) + "):"
        )
        lines.append(
            f"        THTensor_({declaration['cname']})("
            + ",\n            ".join(map(str, passed))
            + ")"
        )
        lines.append(
            "        return self" if declaration["return"] == "self" else "        return None"
        )
    lines.append(f'    THPUtils_invalidArguments("{name}", args, kwargs, [')
    lines += [
        f'        "({", ".join(a["type"].rstrip("*") + " " + a["name"] for a in given(o))})",'
        for o in options
    ]
    lines.append("    ])")
    return "\n".join(lines) + "\n"


# --- what the generated wrappers call (torch/csrc/utils.cpp) --------------------------------------


def struct(type_name: str) -> type[ctypes.Structure]:
    """The C struct of one tensor type: sizes, strides (of up to two dimensions), and a pointer to
    the elements.
    """
    element = C_TYPES[TYPES[type_name][0]]
    two = ctypes.c_int64 * 2
    fields = [
        ("nDimension", ctypes.c_int64),
        ("size", two),
        ("stride", two),
        ("data", ctypes.POINTER(element)),
    ]
    return type(f"TH{type_name}Tensor", (ctypes.Structure,), {"_fields_": fields})


STRUCTS = {name: struct(name) for name in TYPES}


def runtime(type_name: str) -> dict[str, Callable[..., Any]]:
    """The checks and conversions that a wrapper for this type refers to, by their names."""
    real, _, dtype = TYPES[type_name]
    layout, element = STRUCTS[type_name], C_TYPES[real]
    number = (int, float) if real in ("float", "double") else (int,)

    def check(value: Any) -> bool:
        return isinstance(value, internals.Tensor) and value.dtype is dtype

    def unpack(t: Any) -> Any:
        sizes, strides = (*t.shape, 1, 1)[:2], (*t.stride(), 0, 0)[:2]
        data, two = ctypes.cast(t.data_ptr(), ctypes.POINTER(element)), ctypes.c_int64 * 2
        return layout(t.dim(), two(*sizes), two(*strides), data)

    def invalid_arguments(
        name: str, args: tuple[Any, ...], kwargs: dict[str, Any], options: list[str]
    ) -> None:
        got = ", ".join(
            [spelled(a) for a in args] + [f"{k}={spelled(v)}" for k, v in kwargs.items()]
        )
        listing = "\n".join(f" * {specialise(o, type_name)}" for o in options)
        raise TypeError(
            f"{name} received an invalid combination of arguments - got ({got}), but expected one "
            f"of:\n{listing}"
        )

    return {
        f"THP{type_name}Tensor_Check": check,
        f"THP{type_name}Tensor_unpack": unpack,
        f"THP{type_name}Utils_checkReal": lambda value: (
            isinstance(value, number) and not isinstance(value, bool)
        ),
        f"THP{type_name}Utils_unpackReal": lambda value: element(value).value,
        "THPUtils_invalidArguments": invalid_arguments,
    }


def spelled(value: Any) -> str:
    """The type of an argument as error messages of the time named it: `FloatTensor`, `float`."""
    if isinstance(value, internals.Tensor):
        return next(
            (f"{n}Tensor" for n, (_, _, d) in TYPES.items() if d is value.dtype), str(value.dtype)
        )
    return type(value).__name__


# --- the library ----------------------------------------------------------------------------------


@cache
def compiler() -> str | None:
    """The C compiler of this machine, or None. One that cannot even say its version (macOS has such
    a stand-in) is none.
    """
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0:
            return found
    return None


def compile_library(folder: Path, sources: list[Path], target: Path) -> None:
    """Compile C sources into a shared library. Raises RuntimeError with what the compiler said if
    it refuses.
    """
    command = [
        str(compiler()),
        "-O2",
        "-shared",
        "-fPIC",
        f"-I{folder}",
        *map(str, sources),
        "-o",
        str(target),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the C compiler failed:\n{done.stderr}")


def load_library(folder: Path) -> dict[str, Callable[..., Any]]:
    """The functions of libTH by name: from the shared library in `folder`, or from the Python one
    that stands in for it.

    They raise RuntimeError for sizes that do not match (`THError` in PyTorch).
    """
    shared, python = folder / "libTH.so", folder / "libTH.py"
    library: Any = ctypes.CDLL(str(shared)) if shared.exists() else {}
    if not shared.exists():
        exec(python.read_text(), library)
    found = {}
    for name in TYPES:
        pointer, real = ctypes.POINTER(STRUCTS[name]), C_TYPES[TYPES[name][0]]
        if shared.exists():
            function = getattr(library, f"TH{name}Tensor_addmv")
            function.argtypes = [pointer, real, pointer, real, pointer, pointer]
        else:
            function = library[f"TH{name}Tensor_addmv"]
        found[f"TH{name}Tensor_addmv"] = checked(function)
    return found


def checked(function: Callable[..., int]) -> Callable[..., None]:
    """The library reports a mismatch as status 1; Python wants an exception."""

    def call(*args: Any) -> None:
        if function(*args):
            raise RuntimeError(
                "size mismatch: addmv needs an m x n matrix, a vector of n and a result of m "
                "elements"
            )

    return call


# --- setup.py install -----------------------------------------------------------------------------


class Build:
    """The five steps, each reading what the steps before it wrote below `root`."""

    def __init__(self, root: str | Path, with_compiler: bool = True) -> None:
        self.root = Path(root)
        self.compiles = with_compiler and compiler() is not None
        self.write("TH/TH.h", TH_H)
        self.write("TH/generic/THTensorMath.c", GENERIC_C)
        self.write("TH/THTensorMath.c", SOURCE_C)
        self.write("csrc/generic/TensorMethods.cwrap", CWRAP)
        self.write("toytorch/__init__.py", INIT_PY)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name: str) -> str:
        return (self.root / name).read_text()

    def build_deps(self) -> None:
        """torch/lib/build_all.sh: the C libraries, which know nothing of Python."""
        (self.root / "toytorch/lib").mkdir(exist_ok=True)
        if self.compiles:
            for name in TYPES:
                self.write(f"TH/THGenerate{name}Type.h", generate_header(name))
            parts = split_types(self.read("TH/THTensorMath.c"))
            sources = [self.write(f"TH/THTensorMath{name}.c", text) for name, text in parts.items()]
            compile_library(self.root / "TH", sources, self.root / "toytorch/lib/libTH.so")
        else:
            self.write(
                "toytorch/lib/libTH.py", "\n".join(specialise(GENERIC_PY, name) for name in TYPES)
            )

    def cwrap(self) -> None:
        """tools/cwrap: from declarations to the source of wrappers, still one for all types."""
        declarations = parse_cwrap(self.read("csrc/generic/TensorMethods.cwrap"))
        self.write("csrc/generic/TensorMethods.py", "\n\n".join(map(wrapper, declarations)))

    def split_types(self) -> None:
        """tools/setup_helpers/split_types.py: one source per type, so that they compile in
        parallel.
        """
        for name in TYPES:
            self.write(
                f"csrc/generated/Tensor{name}.py",
                specialise(self.read("csrc/generic/TensorMethods.py"), name),
            )

    def build_ext(self) -> None:
        """setuptools' build_ext: compile the bindings and link them against the libraries into one
        module, `_C`.
        """
        parts = [EXTENSION_HEAD]
        for name in TYPES:
            parts.append(
                f"globals().update(runtime({name!r}))\n"
                + self.read(f"csrc/generated/Tensor{name}.py")
            )
        self.write("toytorch/_C.py", "\n".join(parts))

    def install(self) -> None:
        """Copy the package, Python files and libraries alike, to where `import` looks."""
        shutil.copytree(
            self.root / "toytorch", self.root / "site-packages/toytorch", dirs_exist_ok=True
        )

    STEPS = (build_deps, cwrap, split_types, build_ext, install)

    def run(self) -> Any:
        """All five steps; returns the imported package."""
        for step in self.STEPS:
            step(self)
        return self.import_package()

    def import_package(self) -> Any:
        """`import toytorch` from the folder it was installed in; an older one that was imported
        before is forgotten.
        """
        for name in [n for n in sys.modules if n.partition(".")[0] == "toytorch"]:
            del sys.modules[name]
        folder = str(self.root / "site-packages")
        sys.path.insert(0, folder)
        try:
            import toytorch  # type: ignore[import-not-found]
        finally:
            sys.path.remove(folder)
        return toytorch

    def files(self) -> list[str]:
        """Every file below `root` by name; the library without its suffix, which depends on how it
        was made.
        """
        paths = [p for p in self.root.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        names = {
            re.sub(r"libTH\.\w+$", "libTH", p.relative_to(self.root).as_posix()) for p in paths
        }
        return sorted(
            name for name in names if not re.match(r"TH/TH(Generate|TensorMath[A-Z])", name)
        )
