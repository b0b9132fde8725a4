"""Archives that do not say where they were made: real PyTorch writes the names of source files into
its tables of positions (`.debug_pkl`), and those names are relative here, `torch/nn/functional.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch._sources

BASES = (Path(torch.__file__).parents[1], Path(__file__).parent)


class RelativeSource(torch._sources.SourceContext):
    def __init__(self, source: str, filename: str | None, *args: Any) -> None:
        for base in BASES:
            if filename is not None and Path(filename).is_relative_to(base):
                filename = str(Path(filename).relative_to(base))
        super().__init__(source, filename, *args)


def use_relative_names() -> None:
    """From now on `torch.jit.script` compiles sources under their relative names."""
    torch._sources.SourceContext = RelativeSource
