"""Writes `torch_save/`: small files by real PyTorch, for the tests where it is not installed. Run
it from the repository's root:

python -m tests.archives.make_with_torch
"""

from __future__ import annotations

from pathlib import Path

import safetensors.torch
import torch

from tests.archives.relative_sources import use_relative_names
from tests.archives.saved_objects import OBJECTS

FOLDER = Path(__file__).parent / "torch_save"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in OBJECTS.items():
        torch.save(make(torch), FOLDER / f"{name}.pt")
        torch.save(make(torch), FOLDER / f"{name}_stream.pt", _use_new_zipfile_serialization=False)
    t = torch.arange(6.0)
    refused = {
        "module": torch.nn.Linear(2, 1),
        "bfloat16": t.bfloat16(),
        "conjugate": torch.tensor([1j]).conj(),
        "sparse": torch.eye(2).to_sparse(),
        "frozenset": frozenset((1, 2)),
    }
    for name, obj in refused.items():
        torch.save(obj, FOLDER / f"refused_{name}.pt")
    torch.save([t, 1], FOLDER / "refused_protocol4.pt", pickle_protocol=4)
    use_relative_names()
    torch.jit.script(torch.nn.ReLU()).save(FOLDER / "script.pt")
    tensors = {
        "weight": t.reshape(2, 3),
        "half": t.half(),
        "bias": torch.tensor(3),
        "mask": t > 2,
        "none": torch.empty(0, 2),
    }
    safetensors.torch.save_file(tensors, FOLDER / "tensors.safetensors", metadata={"format": "pt"})
    safetensors.torch.save_file({"b": t.bfloat16()}, FOLDER / "refused_bfloat16.safetensors")


if __name__ == "__main__":
    main()
