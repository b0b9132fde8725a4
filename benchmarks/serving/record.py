"""A run, as it is kept: one JSON file in `results/`, with the machine, the command and the
versions.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import machine, results
from benchmarks.serving.process import UNSET

FOLDER = Path(__file__).parent / "results"
PACKAGES = ("grpcio", "protobuf", "aiohttp")


def save(run: dict[str, Any], command: str, part: bool = False) -> Path:
    """Keeps it under the moment of its end. `part`: what it measured replaces that in the newest
    kept run.
    """
    old = newest() if part else None
    date = machine.now()
    kept: dict[str, Any] = {
        "date": date,
        "command": command,
        "minutes": run["minutes"],
        "machine": described(run["load"]),
        "versions": machine.versions() | {package: version(package) for package in PACKAGES},
        **{key: run[key] for key in ("faults", "curves", "image")},
    }
    kept = results.rounded(kept)
    if old is not None:
        kept = merged(read(old), kept)
        old.unlink()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{date[:16].replace('T', '-').replace(':', '')}.json"
    results.write(path, json.dumps(kept, indent=1) + "\n")
    return path


def described(load: float | None) -> dict[str, Any]:
    """The machine, without settings that servers are started without."""
    found = machine.describe(load)
    found["settings"] = {
        name: value for name, value in found["settings"].items() if name not in UNSET
    }
    return found


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old run with what the new one measured again; `again` says what that was, and when."""
    names = {finding["name"]: finding for finding in new["faults"]}
    faults = [names.pop(finding["name"], finding) for finding in old["faults"]]
    again = (
        [f["name"] for f in new["faults"]]
        + list(new["curves"])
        + (["the image"] if new["image"] else [])
    )
    return {
        **old,
        "faults": [*faults, *names.values()],
        "curves": {**old["curves"], **new["curves"]},
        "image": new["image"] or old["image"],
        "again": [
            *old.get("again", []),
            {"date": new["date"], "command": new["command"], "what": again},
        ],
    }


def newest() -> Path | None:
    """Names are dates."""
    return max(FOLDER.glob("*.json"), default=None)


def read(path: Path) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return run
