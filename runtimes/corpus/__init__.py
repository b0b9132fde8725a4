"""Programs that must give the same in Python, in C++ and in Node.js.

Each file of this folder is TorchScript with `@case(inputs...)` above every function or module: what
to call it with. `load(torch)` runs the files with `torch` being `internals` or real PyTorch, so
that one source gives archives of both. `python -m runtimes.corpus FOLDER` (`make.py`) writes them:
`NAME.pt`, the archive, and `NAME.case.pt`, the calls with what eager Python returned. A runtime's
`check` runs the one and compares with the other.

How the real one differs: PyTorch's C++ tests load models that Python tests saved (`test/cpp/jit`);
there is no second runtime to compare with.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FILES = ("control_flow", "containers", "text_and_numbers", "tensors", "layers", "networks")
Make = Callable[[Any, int], Any]  # (torch, seed) -> an argument


@dataclass(frozen=True)
class Case:
    """A function, or a function that makes a module (`module`), and the arguments of each call.

    `ways` is what archives are made of it: "script", "trace" or both. `raises` says that the last
    call fails, and what the message has in it. `large` ones are made only when asked for.
    """

    name: str
    function: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]
    ways: tuple[str, ...]
    module: bool
    raises: str
    large: bool

    def arguments(self, torch: Any, which: int) -> tuple[Any, ...]:
        return tuple(made(torch, a, 100 * which + i) for i, a in enumerate(self.calls[which]))


def case(
    *calls: tuple[Any, ...],
    ways: tuple[str, ...] = ("script",),
    module: bool = False,
    raises: str = "",
    large: bool = False,
) -> Callable[[Any], Any]:
    """Enter a function with the arguments of at least one call."""

    def enter(function: Any) -> Any:
        function.case = Case(function.__name__, function, calls, ways, module, raises, large)
        return function

    return enter


BOTH = ("script", "trace")


@dataclass(frozen=True)
class Given:
    """A tensor to be made: `kind` of numbers, sizes."""

    kind: str
    sizes: tuple[int, ...]

    def make(self, torch: Any, seed: int) -> Any:
        import numpy as np

        rng = np.random.default_rng([seed, len(self.kind), *self.sizes])
        if self.kind == "int64":
            return torch.from_numpy(rng.integers(0, 5, self.sizes))
        if self.kind == "bool":
            return torch.from_numpy(rng.uniform(size=self.sizes) < 0.5)
        return torch.from_numpy(rng.standard_normal(self.sizes).astype(self.kind))


def floats(*sizes: int) -> Given:
    return Given("float32", sizes)


def doubles(*sizes: int) -> Given:
    return Given("float64", sizes)


def ints(*sizes: int) -> Given:
    return Given("int64", sizes)


def bools(*sizes: int) -> Given:
    return Given("bool", sizes)


def made(torch: Any, argument: Any, seed: int) -> Any:
    """An argument with the tensors in it made."""
    if isinstance(argument, Given):
        return argument.make(torch, seed)
    if isinstance(argument, (list, tuple)):
        return type(argument)(made(torch, a, seed + 10 * i) for i, a in enumerate(argument))
    if isinstance(argument, dict):
        return {k: made(torch, a, seed + 10 * i) for i, (k, a) in enumerate(argument.items())}
    return argument


def load(torch: Any) -> dict[str, Case]:
    """All cases, with `torch` being the given library. Lines and file names are those of the
    files.
    """
    found: dict[str, Case] = {}
    for name in FILES:
        path = FOLDER / f"{name}.py"
        text = path.read_text().replace(
            "import internals as torch\n", f"import {torch.__name__} as torch\n"
        )
        module = types.ModuleType(f"corpus_{name}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
        cases = [v.case for v in vars(module).values() if hasattr(v, "case")]
        assert not found.keys() & {c.name for c in cases}, "two cases of one name"
        found.update((c.name, c) for c in cases)
    return found
