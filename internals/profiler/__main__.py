"""`python -m internals.profiler PROGRAM [arguments]`: runs a program, prints how its time was
spent, and writes the trace.

    python -m internals.profiler --memory train.py --epochs 1
    python -m internals.profiler --sort-by cpu_time_total package.module:function 64

PROGRAM is a Python file, or MODULE:FUNCTION, which is called with the arguments: Python literals as
their values, others as text. Options of the profiler come first. The program is recorded from
beginning to end, even if it fails.

How the real one differs: `python -m torch.utils.bottleneck`, which ran a script under Python's
profiler and autograd's, has been removed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile the program and return its exit status; 2 if it cannot be found."""
    options = _parser().parse_args(arguments)
    try:
        run, stem = _program(options.program, options.arguments)
    except (OSError, ValueError, ImportError, AttributeError) as error:
        print(f"python -m internals.profiler: {error}", file=sys.stderr)
        return 2
    from internals.profiler import overhead, profile

    prof = profile(
        record_shapes=options.shapes,
        profile_memory=options.memory,
        with_stack=options.stack,
        with_flops=options.flops,
        with_modules=not options.no_modules,
    )
    status = 0
    with prof:
        try:
            run()
        # if the program exits or fails, its table and trace are written all the same
        except SystemExit as leaving:
            status = _exit_status(leaving)
        except Exception:
            traceback.print_exc()
            status = 1
    averages = prof.key_averages(options.shapes, options.stack_depth if options.stack else 0)
    print(
        averages.table(sort_by=options.sort_by, row_limit=options.row_limit)
        or "no operator was called",
        end="",
    )
    path = Path(options.trace or f"{stem}.trace.json")
    prof.export_chrome_trace(path)
    print(f"trace: {path} (open it at https://ui.perfetto.dev or chrome://tracing)")
    cost = overhead(
        record_shapes=options.shapes, profile_memory=options.memory, with_stack=options.stack
    )
    print(
        f"being recorded took each call about {cost.added:.1f} us longer, which is in the times "
        "above"
    )
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m internals.profiler",
        description="Runs a program and tells where its time went.",
    )
    for flag, words in OPTIONS.items():
        parser.add_argument(flag, **words)
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, or MODULE:FUNCTION")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")
    return parser


SORTABLE = (
    "self_cpu_time_total", "cpu_time_total", "cpu_time", "self_cuda_time_total", "cuda_time_total",
    "count", "self_cpu_memory_usage", "cpu_memory_usage", "self_cuda_memory_usage", "flops",
)  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "--trace": {
        "metavar": "PATH",
        "help": "where the Chrome trace goes; otherwise PROGRAM.trace.json here",
    },
    "--sort-by": {
        "default": "self_cpu_time_total",
        "metavar": "COLUMN",
        "choices": SORTABLE,
        "help": f"one of: {', '.join(SORTABLE)}",
    },
    "--row-limit": {
        "type": int,
        "default": 30,
        "metavar": "N",
        "help": "lines of the table; -1 for all",
    },
    "--shapes": {"action": "store_true", "help": "a line for each combination of sizes"},
    "--memory": {"action": "store_true", "help": "bytes taken and given back"},
    "--flops": {"action": "store_true", "help": "floating-point operations, estimated"},
    "--stack": {"action": "store_true", "help": "a line for each place in the program"},
    "--stack-depth": {
        "type": int,
        "default": 3,
        "metavar": "N",
        "help": "how many frames a place is; 3",
    },
    "--no-modules": {"action": "store_true", "help": "no ranges for the calls of nn.Modules"},
}


def _program(program: str, arguments: list[str]) -> tuple[Callable[[], Any], str]:
    """A function that runs the program, and a name for its trace.

    `sys.argv` and `sys.path[0]` are set as Python would set them. Raises FileNotFoundError,
    ValueError, ImportError or AttributeError for a program that does not exist.
    """
    if program.endswith(".py") or os.path.isfile(program):
        if not os.path.isfile(program):
            raise FileNotFoundError(f"there is no file {program}")
        sys.argv = [program, *arguments]
        sys.path[0] = str(Path(program).resolve().parent)
        return lambda: runpy.run_path(program, run_name="__main__"), Path(program).stem
    module, colon, name = program.partition(":")
    if not (module and colon and name):
        raise ValueError(f"'{program}' is neither a Python file nor MODULE:FUNCTION")
    sys.path[0] = os.getcwd()
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if not callable(function):
        raise ValueError(f"{program} is no function but {type(function).__name__}")
    values = [_value(a) for a in arguments]
    return lambda: function(*values), name.rpartition(".")[2]


def _value(text: str) -> Any:
    """An argument as a Python literal if it is one, otherwise as text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _exit_status(leaving: SystemExit) -> int:
    """The status of `sys.exit(...)`; a message is printed, as Python does, and means 1."""
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    print(leaving.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
