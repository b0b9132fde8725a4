"""Write `torchscript/*.pt` and `torchscript/expected.json`, with real PyTorch: `python
tests/archives/make_torchscript.py`.

Each archive is a program of `torchscript_programs.py`, compiled, saved and loaded again by PyTorch;
`expected.json` has what it then returned for which arguments, and the code it showed.

Beside the code an archive has tables of source positions, which name the files of whoever compiled
it. Those are made relative here (`relative_sources.py`), or left out.
"""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch

FOLDER = Path(__file__).parent / "torchscript"


def encoded(value: Any) -> Any:
    """A value as JSON: what JSON does not have is a dict with the one key that says what it is."""
    if isinstance(value, torch.Tensor):
        wide = (
            torch.complex128
            if value.is_complex()
            else torch.float64
            if value.is_floating_point()
            else value.dtype
        )
        values = value.detach().to(wide)
        return {
            "tensor": encoded(values.tolist()),
            "dtype": str(value.dtype).removeprefix("torch."),
            "sizes": list(value.shape),
        }
    if isinstance(value, tuple):
        return {"tuple": [encoded(v) for v in value]}
    if isinstance(value, list):
        return [encoded(v) for v in value]
    if isinstance(value, dict):
        return {"dict": [[encoded(k), encoded(v)] for k, v in value.items()]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return value


def recorded(m: Any, method: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """One call: the arguments, and the result or the message of the error."""
    call = {"method": method, "arguments": [encoded(a) for a in arguments]}
    try:
        return {**call, "returns": encoded(getattr(m, method)(*arguments))}
    except Exception as error:
        return {**call, "raises": str(error).strip().split("\n")[-1]}


def with_version(data: Path, version: str) -> None:
    """Say that the archive is of an older version."""
    with zipfile.ZipFile(data) as archive:
        records = [(entry, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(data, "w") as archive:
        for entry, content in records:
            archive.writestr(
                entry, f"{version}\n".encode() if entry.filename.endswith("/version") else content
            )


def without_debug_records(path: Path) -> None:
    """Leaves out the tables of source positions, which we do not read; those of a trace are full of
    absolute paths.
    """
    with zipfile.ZipFile(path) as archive:
        records = [
            (entry, archive.read(entry))
            for entry in archive.infolist()
            if not entry.filename.endswith(".debug_pkl")
        ]
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in records:
            archive.writestr(entry, content)


def main() -> None:
    from relative_sources import use_relative_names
    from torchscript_programs import CASES

    use_relative_names()
    FOLDER.mkdir(exist_ok=True)
    expected = {}
    for name, (make, calls) in CASES.items():
        torch.manual_seed(0)
        path = FOLDER / f"{name}.pt"
        make().save(str(path))
        if name == "old_operators":
            with_version(path, "3")
        if name in ("interpolated", "attention") or name.startswith("traced_"):
            without_debug_records(path)
        m = torch.jit.load(str(path))
        expected[name] = {
            "code": m.code,
            "state": sorted(m.state_dict()),
            "parameters": sorted(n for n, _ in m.named_parameters()),
            "repr": repr(m),
            "calls": [recorded(m, *call) for call in calls],
        }
    torch.jit.script(torch.nn.Identity()).save(
        str(FOLDER / "extra_files.pt"), _extra_files={"notes/a.txt": "hé", "b": b"\0\xff"}
    )
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).parent))
    main()
