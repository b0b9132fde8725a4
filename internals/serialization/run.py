"""`python -m internals run FILE --input x.npy`: loads a compiled module or an exported program and
calls it.

Only the file is needed: neither the Python source of the model nor PyTorch. Inputs are `.npy`
files, Python literals (`3`, `0.5`, `[1, 2]`) or `--ones 1,3,224,224`, in the order of the
arguments. The results are described, or written to a `.npy` or `.npz` file.

How the real one differs: PyTorch has no such command; its users write three lines of Python or C++
with `torch.jit.load`.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .container.replaced_file import ReplacedFile
from .errors import ArchiveError
from .inspection.inspect import load_program, said
from .visible import visible

if TYPE_CHECKING:
    from internals.export.exported_program import ExportedProgram
    from internals.jit.script_module import ScriptModule

FIRST = 6  # elements that are shown of a tensor


class Refused(Exception):
    """An error that the user gets in one line."""


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the command, and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m internals run", description="Runs a saved program on arrays and numbers."
    )
    parser.add_argument("file", help="of jit.save (.pt) or torch.export.save (.pt2)")
    add_inputs(parser)
    parser.add_argument("--method", default="forward", help="which method is called (forward)")
    parser.add_argument("--output", metavar="OUT", help="write the results to a .npy or .npz file")
    options = parser.parse_args(list(arguments))
    try:
        if options.output and Path(options.output).suffix not in (".npy", ".npz"):
            raise Refused(
                f"--output {options.output}: the suffix must be .npy (one tensor) or .npz (several)"
            )
        result = call(options.file, options.method, read_inputs(options))
        if options.output:
            write(result, Path(options.output))
            print(f"written: {options.output}")
        else:
            print("\n".join(map(visible, describe(result))))
    except Refused as refusal:
        print(f"run: {visible(str(refusal))}", file=sys.stderr)
        return 1
    return 0


class Kind(argparse.Action):
    """Collects `--input` and `--ones` in one list, as their order matters."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        namespace.inputs = [*(namespace.inputs or []), (option, values)]


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the arguments of a call, which `read_inputs` reads."""
    parser.add_argument(
        "--input",
        dest="inputs",
        action=Kind,
        help="an argument: a .npy file, or a literal such as 3 or [1, 2]",
    )
    parser.add_argument(
        "--ones",
        dest="inputs",
        action=Kind,
        metavar="SIZES",
        help="an argument: ones, such as 1,3,224,224",
    )


def read_inputs(options: argparse.Namespace) -> list[Any]:
    """The arguments of the call, in order. Raises Refused for a text that is not one."""
    return [read_input(*each) for each in options.inputs or []]


def call(path: str, method: str, inputs: list[Any]) -> Any:
    """Loads the program and returns the result of a method, without recording gradients."""
    import internals

    try:
        program = load_program(path)
    except (OSError, RuntimeError, ValueError, NotImplementedError) as error:
        raise Refused(why_not_loaded(path, error)) from None
    function = program if method == "forward" else getattr(program, method, None)
    if not callable(function) or method not in methods(program):
        raise Refused(
            f"{os.path.basename(path)} has no method '{method}'; it has "
            f"{', '.join(methods(program)) or 'none'}"
        )
    try:
        with internals.no_grad():
            return function(*inputs)
    except Exception as error:  # a program may raise anything
        raise Refused(f"{method}: {failure(error)}") from None


def failure(error: Exception) -> str:
    """A program's error in one line; of the interpreter's trace only the error and the innermost
    place.
    """
    text = str(error)
    if "failed in the TorchScript interpreter" not in text:
        return f"{type(error).__name__}: {said(error)}"
    places = re.findall(r'File "([^"]*)", line (\d+)', text)
    where = f" ({places[-1][0]}, line {places[-1][1]})" if places else ""
    return text.rstrip().rpartition("\n")[2].strip() + where


def methods(program: ExportedProgram | ScriptModule) -> list[str]:
    """The names of the methods that can be called."""
    kind = getattr(program, "_jit_type", None)
    return (
        ["forward"]
        if kind is None
        else [name for name in kind.methods if not name.startswith("__")]
    )


def why_not_loaded(path: str, error: Exception) -> str:
    """The error in one line. For a file of another kind, it says that this is not a program."""
    from .inspection.report import examine

    try:
        report = examine(path)
    except (OSError, ArchiveError):
        return said(error)
    if report.kind in ("torchscript", "torchscript 1.0", "pt2", "damaged zip") or report.problems:
        return said(error)
    return (
        f"{report.name} is {report.title}, not a program: save one with "
        "jit.save(jit.script(model), file)"
    )


def read_input(option: str, text: str) -> Any:
    """One argument of the call, from the option `--input` or `--ones` and its text."""
    import internals

    if option == "--ones":
        try:
            return internals.ones(
                [int(size) for size in text.strip("()[] ").replace(" ", "").split(",") if size]
            )
        except (ValueError, RuntimeError) as error:
            raise Refused(
                f"--ones {text}: sizes are numbers with commas, such as 1,3,224,224 ({said(error)})"
            ) from None
    if not text.endswith(".npy") and not os.path.exists(text):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise Refused(
                f"--input {text}: neither a file nor a literal such as 3, 0.5 or [1, 2]"
            ) from None
    try:
        array = np.load(text, allow_pickle=False)  # a pickle in it would be executed
        return internals.from_numpy(
            np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
        )
    except FileNotFoundError:
        raise Refused(f"--input {text}: there is no such file") from None
    except (OSError, ValueError, TypeError, AttributeError, EOFError) as error:
        hint = "a .npy file of numbers is needed, as numpy.save writes"
        raise Refused(f"--input {text}: {hint} ({said(error)})") from None


def describe(result: Any, name: str = "output") -> Iterator[str]:
    """Yields a line for each tensor or number: its dtype, its sizes, its first elements."""
    if isinstance(result, dict):
        for key, value in result.items():
            yield from describe(value, f"{name}[{key!r}]")
    elif isinstance(result, (list, tuple)) and not all(
        isinstance(each, (int, float)) for each in result
    ):
        for i, value in enumerate(result):
            yield from describe(value, f"{name}[{i}]")
    elif hasattr(result, "untyped_storage"):
        kind = str(result.dtype).rpartition(".")[2]
        array = result.detach().contiguous().numpy().reshape(-1)
        values = ", ".join(short(v) for v in array[:FIRST].tolist())
        more = ", ..." if array.size > FIRST else ""
        yield f"{name}: {kind} {tuple(result.shape)}  [{values}{more}]"
    else:
        yield f"{name}: {result!r}"


def short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write(result: object, path: Path) -> None:
    """Writes the result to a `.npy` or `.npz` file, which appears complete or not at all."""
    arrays = dict(flat(result, ""))
    if path.suffix == ".npy" and list(arrays) != ["output"]:
        raise Refused(
            f"--output {path}: there are {len(arrays)} results ({', '.join(arrays)}); a .npz file "
            "holds several"
        )
    try:
        file = ReplacedFile(path)
    except (OSError, RuntimeError) as error:
        raise Refused(f"--output {path}: {said(error)}") from None
    try:
        if path.suffix == ".npy":
            np.save(file.file, arrays["output"])
        else:
            np.savez(file.file, **arrays)  # type: ignore[arg-type]
    except BaseException:
        file.discard()
        raise
    file.commit()


def flat(result: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the arrays in a result with their names: "output", or "0", "1", "key", "key.0"."""
    dot = f"{name}." if name else ""
    if isinstance(result, dict):
        for key, value in result.items():
            yield from flat(value, f"{dot}{key}")
    elif (
        isinstance(result, (list, tuple))
        and result
        and all(isinstance(each, (bool, int, float)) for each in result)
    ):
        yield name or "output", np.asarray(result)
    elif isinstance(result, (list, tuple)):
        for i, value in enumerate(result):
            yield from flat(value, f"{dot}{i}")
    elif hasattr(result, "untyped_storage"):
        yield name or "output", result.detach().contiguous().numpy()
    elif isinstance(result, (bool, int, float, complex, str)):
        yield name or "output", np.asarray(result)
    else:
        raise Refused(
            f"a {type(result).__name__} cannot be written as an array; run without --output"
        )
