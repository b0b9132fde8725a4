"""What `tracing.py` does with a reader's recorder: install it in the dispatcher, read its tape, and
play it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as torch
from exercises.exercise import Wrong
from internals.core.dispatch_key import DispatchKey
from internals.core.dispatcher import dispatcher, include_keys
from internals.library import Library


class Tape:
    """The same as the reader's cell has, which a checker cannot see."""

    def __init__(self, *inputs: Any) -> None:
        self.lines: list[Any] = []
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []
        for t in inputs:
            self.enter(t)

    def enter(self, t: Any) -> str:
        self.kept.append(t)
        self.names[id(t)] = f"%{len(self.kept) - 1}"
        return self.names[id(t)]


WATCHED = (
    "mul",
    "add",
    "add_",
    "relu",
    "tanh",
    "sum",
    "cat",
    "clone",
    "linear",
    "t",
    "matmul",
    "mm",
    "addmm",
    "detach",
)


def run_recorded(
    record: Callable[..., Any], tape: Tape, function: Callable[[Any], Any], example: Any
) -> None:
    """Runs a function while the reader's kernel stands at the Tracer key of the operators that it
    uses.
    """
    depth = 0

    def kernel(op: Any, keys: int, *args: Any) -> Any:
        nonlocal depth
        if depth > 5:
            raise Wrong(
                "the kernel calls itself: an operator that is called enters at the top again; go "
                "on with the keys below"
            )
        depth += 1
        try:
            result = record(tape, op, keys, *args)
        finally:
            depth -= 1
        if not isinstance(result, torch.Tensor):
            raise Wrong(
                f"record returned {result!r}: the caller wants the operator's result, the function "
                "goes on with it"
            )
        return result

    with Library("aten", "IMPL") as library:
        for name in [
            name
            for name in dispatcher.operators
            if name.removeprefix("aten::").partition(".")[0] in WATCHED
        ]:
            library.impl(name, kernel, "Tracer", with_keyset=True)
        with include_keys(DispatchKey.Tracer):
            function(example)


def check_lines(text: str, tape: Tape, wanted: list[str]) -> None:
    tape.lines = [tuple(line) if isinstance(line, list) else line for line in tape.lines]
    for line in tape.lines:
        if not isinstance(line, tuple) or len(line) != 3 or not hasattr(line[0], "schema"):
            raise Wrong(f"a line of the tape is a triple (op, values, name), not {line!r}")
    ops = [op.name.partition(".")[0] for op, _, _ in tape.lines]
    if len(ops) > len(wanted):
        raise Wrong(
            f"{text}: besides an operator you wrote down what it is made of: {ops}, and the real "
            f"trace {wanted}"
        )
    if ops != wanted:
        raise Wrong(f"{text}: on tape are {ops}, and the real trace has {wanted}")


def played(text: str, tape: Tape, x: Any) -> Any:
    known: dict[Any, Any] = {"%0": x.clone()}

    def value(v: Any) -> Any:
        if isinstance(v, (list, tuple)):
            return [value(each) for each in v]
        if isinstance(v, str) and v.startswith("%"):
            if v not in known:
                raise Wrong(
                    f"{text}: a line takes {v}, which no line has made: did an in-place operator "
                    "name its own result?"
                )
            return known[v]
        return v

    result = None
    for op, values, name in tape.lines:
        try:
            result = known[name] = op(*[value(v) for v in values])
        except (TypeError, ValueError, RuntimeError) as error:
            raise Wrong(
                f"{text}: {op.name} of {values} cannot be played: {error}. A constant stays as it "
                "is"
            ) from None
    return result
