"""`python -m benchmarks.fresh WORK SIDE FILE`: one build in a fresh process; writes its seconds and
its error to FILE.

Run by `cases/builds.py`, which chooses the folder of the cache. The clock runs from asking for the
compiled program to its first result: importing the library is not in it, importing the compiler is.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import internals
from benchmarks import peers
from benchmarks.correctness import error
from benchmarks.harness import OURS


def main(work: str, side: str, file: str) -> int:
    T = internals if side == OURS else peers.library("torch")
    program, inputs, right = {"chain": chain, "resnet18": resnet18}[work](T)
    compiled: Callable[..., Any]
    start = time.perf_counter()
    if side == OURS:
        compiled = peers.optimized(program, inputs)
    else:
        compiled = peers.torch_compiled(program, inputs, freezing=work == ("resnet18"))  # type: ignore[assignment]
        compiled()
    seconds = time.perf_counter() - start
    far = error(compiled(), right())
    Path(file).write_text(json.dumps({"seconds": seconds, "error": far}))
    return 0


def chain(T: Any) -> tuple[Any, list[Any], Callable[[], object]]:
    from benchmarks.cases import fusion

    row = next(row for row in fusion.TABLE if row.program is fusion.swish_and_tanh)
    return row.program, peers.tensors(T, fusion.inputs_of(row)), lambda: fusion.reference_of(row)


def resnet18(T: Any) -> tuple[Any, list[Any], Callable[[], object]]:
    from benchmarks.cases import models

    model = models.ready("ResNet-18") if T is internals else models.twin("ResNet-18")
    return model, [T.tensor(models.pictures(1))], lambda: models.right_answer("ResNet-18", 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
