"""`python -m internals serve MODEL.pt`: runs a server for one archive, or for a folder of them,
until SIGTERM or Ctrl-C.

Every option is a field of `Settings`. When the server listens, it prints one line with its
addresses; the log goes to standard error. SIGHUP looks for changed files at once. After SIGTERM the
server finishes the accepted requests and ends with status 0; a second one ends it at once, and so
does one before it listens.

Mirrors `tritonserver --model-repository`, `torchserve --start`.

How the real one differs: Triton's options name the three ports and the repository; batching is set
in each model's `config.pbtxt`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from internals.serialization.visible import visible

from .errors import ServingError

if TYPE_CHECKING:
    from .observe.logs import Log
    from .server import Server
    from .settings import Settings

MISSING_EXTRA = (
    "serve: {name} is not installed: pip install -e .[serving] brings what serving needs"
)


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the command, and returns its exit status."""
    options = vars(parser().parse_args(list(arguments)))
    try:
        return serve(options)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "internals":
            raise
        print(MISSING_EXTRA.format(name=error.name), file=sys.stderr)
    except (ValueError, TypeError, OSError, RuntimeError, ServingError) as error:
        # the errors that Server.start raises
        print(f"serve: {visible(' '.join(str(error).split()))}", file=sys.stderr)
    return 1


def parser() -> argparse.ArgumentParser:
    """The parser for the model, its name, and OPTIONS."""
    p = argparse.ArgumentParser(
        prog="python -m internals serve",
        description=(
            "Serves saved models over gRPC and REST: the Open Inference Protocol (KServe v2), with "
            "dynamic batching."
        ),
        epilog="docs/serving.md tells more, and what was measured.",
    )
    p.add_argument(
        "model",
        type=Path,
        help="an archive (.pt, .pt2), or a folder of them: NAME.pt or NAME/VERSION/model.pt",
    )
    p.add_argument("--name", help="of the model, for clients (the file's name)")
    for title, options in OPTIONS.items():
        group = p.add_argument_group(title)
        for flag, words in options.items():
            group.add_argument(flag, **words)
    return p


# title of a group -> option -> arguments of `add_argument`. Without a default in the parser: an
# option that is not given keeps the default of `Settings`.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "where it listens": {
        "--host": {"help": "the address (127.0.0.1: this machine only)"},
        "--port": {"type": int, "help": "of gRPC (8001; 0: a free one)"},
        "--metrics-port": {
            "type": int,
            "help": "of HTTP: /metrics for Prometheus, and REST (8000)",
        },
        "--http-port": {"type": int, "help": "of REST, if it should have a port of its own"},
    },
    "batching": {
        "--max-batch": {
            "type": int,
            "metavar": "ROWS",
            "help": "that run together at most (32; 1: no batching)",
        },
        "--max-delay": {
            "type": float,
            "metavar": "MS",
            "help": "milliseconds to wait for company at most (2)",
        },
        "--workers": {"type": int, "help": "threads that run batches (1)"},
        "--threads": {"type": int, "help": "threads inside an operator (1)"},
        "--pad": {
            "action": "store_const",
            "const": True,
            "help": "fill up with zeros what differs in other sizes",
        },
    },
    "limits": {
        "--max-queue": {"type": int, "metavar": "N", "help": "requests that wait at most (256)"},
        "--max-queue-bytes": {
            "type": int,
            "metavar": "BYTES",
            "help": "and the bytes of their tensors (256 MiB)",
        },
        "--max-message-bytes": {"type": int, "metavar": "BYTES", "help": "of one message (64 MiB)"},
        "--max-body-seconds": {
            "type": float,
            "metavar": "S",
            "help": "until the body of a REST request has come (60)",
        },
        "--nan": {
            "dest": "nan_policy",
            "choices": ("accept", "reject"),
            "help": "and infinity, in inputs (accept)",
        },
        "--grace": {
            "type": float,
            "metavar": "S",
            "help": "seconds to finish what was accepted, when stopping (30)",
        },
    },
    "security": {
        "--tls-cert": {"type": Path, "metavar": "PEM", "help": "the server's certificate"},
        "--tls-key": {"type": Path, "metavar": "PEM", "help": "and its key"},
        "--tls-client-ca": {
            "type": Path,
            "metavar": "PEM",
            "help": "who must have signed the clients' (mTLS)",
        },
        "--token-file": {
            "type": Path,
            "metavar": "FILE",
            "help": "with the token that clients must send",
        },
        "--allowed-hosts": {
            "metavar": "NAMES",
            "help": "by which HTTP may be asked without a token: a.example,b (localhost)",
        },
        "--model-dir": {
            "type": Path,
            "metavar": "DIR",
            "help": "the only folder to load from; MODEL must be in it",
        },
        "--try-models": {
            "action": "store_const",
            "const": True,
            "help": "load a file in a process of its own first: if that dies, the file is refused",
        },
        "--try-seconds": {"type": float, "metavar": "S", "help": "that it may take (120)"},
        "--try-bytes": {
            "type": int,
            "metavar": "BYTES",
            "help": "of memory that it may take (4 GiB)",
        },
        "--control": {
            "action": "store_const",
            "const": True,
            "help": "let clients load and unload models",
        },
        "--no-reflection": {
            "dest": "reflection",
            "action": "store_const",
            "const": False,
            "help": "hide the schema",
        },
    },
    "the rest": {
        "--input": {
            "dest": "inputs",
            "action": "append",
            "metavar": "NAME:TYPE:SIZES",
            "help": "of a model that does not tell: x:FP32:-1,784",
        },
        "--optimize": {
            "action": "store_const",
            "const": True,
            "help": "run the model through jit.optimize",
        },
        "--watch": {
            "type": float,
            "metavar": "S",
            "help": "look for changed files every S seconds, and load them",
        },
        "--log": {"choices": ("json", "text"), "help": "how events are written (json)"},
    },
}


def serve(options: dict[str, Any]) -> int:
    """Runs a server with the parsed options until it is stopped."""
    # gRPC would write a line into our log for each failed handshake
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import internals

    from .server import Server

    settings = make_settings(options)
    internals.set_num_threads(settings.threads)
    path = options["model"]
    server = Server({options["name"] or path.stem: path} if path.is_file() else {}, settings)
    return asyncio.run(run(server))


def make_settings(options: dict[str, Any]) -> Settings:
    """Settings from the options that were given; the others keep their defaults. Raises ValueError
    for options that contradict each other, OSError for missing files.
    """
    from .settings import Settings

    given = {
        field.name: options[field.name]
        for field in fields(Settings)
        if options.get(field.name) is not None
    }
    path: Path = options["model"]
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is neither a regular file nor a folder")
    folder = given.get("model_dir")
    if folder is not None and not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{path} is not in --model-dir {folder}, the only folder to load from")
    if path.is_dir() and options["name"]:
        raise ValueError("--name is for a single file: the models of a folder have their own names")
    if path.is_dir():
        given["model_dir"] = path
    if options["token_file"]:
        given["token"] = options["token_file"].read_text(encoding="utf-8").strip()
    elif (token := os.environ.get("INTERNALS_SERVE_TOKEN")) is not None:
        # an empty token is refused by Settings; to ignore it would let every client in
        given["token"] = token.strip()
    if "allowed_hosts" in given:
        given["allowed_hosts"] = tuple(name.strip() for name in given["allowed_hosts"].split(","))
    given["inputs"] = tuple(given.get("inputs", ()))
    return Settings(**given)


async def run(server: Server) -> int:
    """Starts the server, and stops it at a signal. Returns the exit status."""
    from .models.reload import reload_on_hangup

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    listening = False

    def on_stop() -> None:
        if stop.is_set():
            os._exit(1)
        if not listening:
            # A model may be loading in a thread that cannot be stopped; no request has been
            # accepted.
            server.log.event("stopped", why="a signal came before the server listened")
            os._exit(0)
        stop.set()

    loop.set_exception_handler(loop_errors(server.log))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_stop)
    await server.start()
    listening = True
    assert server.engine is not None
    reload_on_hangup(server.engine.repository)
    names = ", ".join(
        f"{name} {version}"
        for name, version, state, _ in server.engine.repository.index()
        if state == "READY"
    )
    scheme = "https" if server.settings.tls_cert else "http"
    rest = (
        f"REST {scheme}://{server.http_address}/v2, metrics "
        f"{scheme}://{server.metrics_address}/metrics"
    )
    try:
        print(f"serving {names or 'no model yet'}: gRPC {server.grpc_address}, {rest}", flush=True)
    except OSError:  # the pipe is closed; the log has the addresses, too
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # else a model that prints would fail
    await stop.wait()
    await server.stop()
    return 0


def loop_errors(log: Log) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """A handler that logs errors outside of requests, at most one a second.

    asyncio itself would print a traceback for each; if no more files can be opened, that would be
    thousands in a second.
    """
    next_time = 0.0

    def tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal next_time
        if loop.time() >= next_time:
            next_time = loop.time() + 1
            log.event(
                "loop_error",
                message=context["message"],
                type=type(context.get("exception")).__name__,
            )

    return tell
