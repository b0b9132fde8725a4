"""`python -m runtimes.corpus FOLDER [--with internals,torch] [--large]`: write the corpus.

For every case and way: `NAME.pt`, and `NAME.case.pt` with the calls: method, inputs, and what
*eager* Python returned, or the text in the message it raised. NAME says who wrote it:
`ours_script_mlp`, `pytorch_trace_mlp`.

How the real one differs: PyTorch keeps archives of old releases (`test/jit/fixtures`), to see that
it still reads them.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtimes.corpus import Case, load

WRITERS = {"internals": "ours", "torch": "pytorch"}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m runtimes.corpus", description="write the corpus of archives"
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--with", dest="libraries", default="internals", help="internals, torch or internals,torch"
    )
    parser.add_argument("--large", action="store_true", help="ResNet-18 as well")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for library in options.libraries.split(","):
        for name in write(
            importlib.import_module(library), options.folder, options.large, options.only
        ):
            count += 1
            if sys.stderr.isatty():
                print(f"\r{count:4d} {name:50.50}", end="", file=sys.stderr, flush=True)
    print(f"{count} archives in {options.folder}")
    return 0


def write(torch: Any, folder: Path, large: bool = False, only: str = "") -> Iterator[str]:
    """Write the cases with one library; yields the names."""
    for case in load(torch).values():
        if only not in case.name or (case.large and not large):
            continue
        calls = list(expected_calls(torch, case))
        for way in case.ways:
            name = f"{WRITERS[torch.__name__]}_{way}_{case.name}"
            torch.jit.save(compiled(torch, case, way), str(folder / f"{name}.pt"))
            traced = way == "trace"
            torch.save({"calls": calls[:1] if traced else calls}, str(folder / f"{name}.case.pt"))
            yield name


def compiled(torch: Any, case: Case, way: str) -> Any:
    subject = case_subject(torch, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a trace fixes, it is meant to fix here
        if way == "script":
            return torch.jit.script(subject)
        return torch.jit.trace(subject, case.arguments(torch, 0), check_trace=False, strict=False)


def case_subject(torch: Any, case: Case) -> Any:
    """The function, or the module with the same weights every time."""
    if not case.module:
        return case.function
    module = case.function()
    with torch.no_grad():
        for k, parameter in enumerate(module.parameters()):
            values = torch.arange(parameter.numel()) * (7 + 2 * k) % 23
            scale = 1.0 / max(1, parameter.numel() // max(1, parameter.shape[0])) ** 0.5
            parameter.copy_(((values - 11.0) / 11.0 * scale).reshape(parameter.shape))
    return module


def expected_calls(torch: Any, case: Case) -> Iterator[dict[str, Any]]:
    """What eager Python says. A module keeps what a call changed in it for the next."""
    subject = case_subject(torch, case)
    for which in range(len(case.calls)):
        call: dict[str, Any] = {"method": "forward", "inputs": list(case.arguments(torch, which))}
        if case.raises and which == len(case.calls) - 1:
            call["raises"] = case.raises
        else:
            with torch.no_grad():
                call["expected"] = plain(torch, subject(*case.arguments(torch, which)))
        yield call


def plain(torch: Any, value: Any) -> Any:
    """Named tuples as tuples, tensors detached and copied: a later call may write to them."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (tuple, torch.Size)):
        return (
            tuple(plain(torch, v) for v in value)
            if not isinstance(value, torch.Size)
            else list(value)
        )
    if isinstance(value, list):
        return [plain(torch, v) for v in value]
    if isinstance(value, dict):
        return {k: plain(torch, v) for k, v in value.items()}
    return value


if __name__ == "__main__":
    sys.exit(main())
