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
OPEN = ("survived", "not reached")


class Kept:
    """The latest outcomes, in a file; with and without PyTorch apart."""

    def __init__(self, path: Path, without_torch: bool) -> None:
        self.path = path if not without_torch else path.with_stem(f"{path.stem}_without_torch")
        self.rows: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            self.rows = json.loads(self.path.read_text())

    def note(self, layer: str, fault: Fault, outcome: Outcome) -> None:
        place = {"layer": layer, "kind": fault.kind, "place": f"{fault.file}:{fault.line}"}
        text = {"fault": fault.identity, "before": fault.before, "after": fault.after}
        self.rows[fault.identity] = {**place, **text, **outcome._asdict()}

    def is_open(self, fault: Fault) -> bool:
        row = self.rows.get(fault.identity)
        return row is None or row["result"] in OPEN

    def save(self) -> None:
        self.path.write_text(json.dumps(self.rows, indent=1) + "\n")


def named_equivalent(root: Path) -> dict[str, str]:
    """The reasons, by the fault's identity."""
    found = yaml.safe_load((root / "tools" / "mutants" / "equivalent.yaml").read_text()) or []
    return {" ".join(entry["fault"].split()): " ".join(entry["because"].split()) for entry in found}
