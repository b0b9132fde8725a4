"""What became of each fault, kept from run to run; and the faults that are named equivalent, each
with its reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tools.mutants.faults import Fault
from tools.mutants.trial import Outcome

RESULTS = ("caught", "timed out", "survived", "not reached", "equivalent")


class Kept:
    """The outcomes in a file, by seed, layer and fault; with and without PyTorch apart."""

    def __init__(self, path: Path, without_torch: bool) -> None:
        self.path = path if not without_torch else path.with_stem(f"{path.stem}_without_torch")
        self.rows: dict[str, dict[str, Any]] = (
            json.loads(self.path.read_text()) if self.path.exists() else {}
        )

    def note(self, layer: str, seed: int, fault: Fault, outcome: Outcome) -> None:
        self.rows[f"{seed} {fault.identity}"] = {
            "seed": seed, "layer": layer, "kind": fault.kind, "place": f"{fault.file}:{fault.line}", "fault": fault.identity,
            "before": fault.before, "after": fault.after, **outcome._asdict(),
        }  # fmt: skip

    def is_open(self, seed: int, fault: Fault) -> bool:
        row = self.rows.get(f"{seed} {fault.identity}")
        return row is None or row["result"] in ("survived", "not reached")

    def of(self, seed: int) -> list[dict[str, Any]]:
        return [row for row in self.rows.values() if row["seed"] == seed]

    def save(self) -> None:
        self.path.write_text(json.dumps(self.rows, indent=1) + "\n")


def named_equivalent(root: Path) -> dict[str, str]:
    """The reasons, by the fault's identity."""
    found = yaml.safe_load((root / "tools" / "mutants" / "equivalent.yaml").read_text()) or []
    return {" ".join(entry["fault"].split()): " ".join(entry["because"].split()) for entry in found}
