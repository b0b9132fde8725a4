"""The command line: `python -m internals COMMAND`.

A command is one line in `COMMANDS`; its module is imported only when the command is called, and has
a `main(arguments)` that returns the exit status. One that draws is in `viz`, and those that PyTorch
has nothing like are in `apparatus`: nothing else here knows of these two.

How the real one differs: PyTorch has no such front end; its tools are separate modules and scripts,
such as `python -m torch.utils.collect_env` and `torchrun`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple


class Command(NamedTuple):
    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "convert": Command(
        "internals.serialization.convert",
        "rewrite a saved module for PyTorch 1.0.1 or today's, or tensors",
    ),
    "doctor": Command(
        "apparatus.doctor", "what is present and absent here, what for, and how to get it"
    ),
    "inspect": Command(
        "internals.serialization.inspection.inspect",
        "what is inside a .pt, .pth, .pt2 or .safetensors file",
    ),
    "run": Command("internals.serialization.run", "runs a saved program on arrays and numbers"),
    "serve": Command(
        "internals.serving.command",
        "serves saved models over gRPC and REST, many requests to a batch",
    ),
    "where": Command(
        "internals.source_map.command",
        "where in PyTorch is it, in 1.0.1 and today, and which notebook shows it",
    ),
    "explore": Command(
        "viz.rooms.explore_page.command",
        "a page of a function or saved model: source, graph, bytecode, kernel",
    ),
    "fuzz-archive": Command(
        "apparatus.fuzzing.fuzz", "loads damaged archives and reports each one that does harm"
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command named by the first argument and returns its exit status: 2 when there is
    none of that name.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"internals has no command '{name}'; it has: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module = COMMANDS[name].module
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        print(
            f"{name} needs the package {package}, which is not here: it comes with the repository",
            file=sys.stderr,
        )
        return 1
    try:
        status: int = importlib.import_module(module).main(rest)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever was reading, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: python -m internals COMMAND [...]",
            "",
            *lines,
            "",
            "python -m internals COMMAND --help tells more",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
