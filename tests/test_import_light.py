"""`import internals` is quick: what is heavy is imported where it is first used."""

from __future__ import annotations

import subprocess
import sys
import traceback

import pytest

import internals as torch

HEAVY = (
    "numba",
    "scipy",
    "llvmlite",
    "graphviz",
    "matplotlib",
    "yaml",
    "jupyterlab",
    "IPython",
    "torch",
    "viz",
)


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_import_loads_nothing_heavy() -> None:
    assert not modules_after("import internals").intersection(HEAVY)


def test_import_loads_neither_layers_nor_the_jit() -> None:
    program = "import internals, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "internals._tensor" in loaded and not {"internals.nn", "internals.jit"}.intersection(
        loaded
    )


def test_import_makes_no_operator_that_it_does_not_need() -> None:
    program = """
import internals as torch
from internals.core.dispatcher import dispatcher
from internals._generated.methods import METHODS, TensorMethods
function = type(torch.is_tensor)
made = lambda: [n for n in METHODS.lines if isinstance(vars(TensorMethods)[n], function)]
functions = lambda: [n for n in torch._functions.FUNCTIONS.lines if n in vars(torch)]
named = lambda: [n for n in made() if not n.startswith("__")]
print(dispatcher.operators.made, named(), vars(torch).get("relu"))
torch.ones(2).relu().relu()
print(dispatcher.operators.made, named(), "add" in vars(torch), "ones" in vars(torch))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    before, after = run.stdout.splitlines()
    assert before == "[] [] None"
    assert after == "['aten::ones', 'aten::ones.out', 'aten::relu'] ['relu'] False True"


def test_names_are_known_before_they_are_used() -> None:
    program = """
import internals as torch, inspect, pickle, pydoc
assert {"relu", "addmv", "tensor", "Tensor"} <= {*dir(torch)}
assert {"relu", "addmv_", "add"} <= {*dir(torch.Tensor)}
assert hasattr(torch, "addmv") and hasattr(torch.Tensor, "addmv_")
assert not hasattr(torch.Tensor, "addmw")
from internals import *
assert relu is torch.relu and sum is torch.sum and "_conj" not in dir()
for f in (torch.special.erf, torch.hypot, torch.Tensor.hypot, torch.ops.aten.hypot):
    assert pickle.loads(pickle.dumps(f)) is f
assert str(inspect.signature(torch.hypot)) == "(*args, **kwargs)"
assert str(inspect.signature(torch.Tensor.exp)) == "(self)"
assert str(inspect.signature(torch.Tensor.sum)) == "(self, *args, **kwargs)"
print(pydoc.plain(pydoc.render_doc(torch.Tensor.hypot)))
from internals._generated import ops
print(inspect.getsource(ops.hypot))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "aten::hypot(Tensor self, Tensor other) -> Tensor" in run.stdout
    assert "return _table[self._geometry.keys | other._geometry.keys](self, other)" in run.stdout


def test_a_traceback_names_the_function_and_shows_its_text() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.hypot(torch.ones(2), torch.ones(3))
    text = "".join(traceback.format_exception(caught.value))
    assert "in hypot\n    return parse(args, kwargs)" in text
    assert ', generated for hypot", line 4, in hypot\n    return _table[self._geometry.keys' in text


def test_import_loads_no_gpu_and_the_simulated_one_does_without_numba() -> None:
    program = """
import internals as torch, sys
loaded = lambda *names: [name for name in sys.modules if name.startswith(names)]
torch.ones(3).sum()
print(*loaded("internals.cuda"))
import internals.cuda
print(*loaded("numba", "llvmlite", "internals.cuda.kernels", "internals.cuda.native"))
torch.cuda.use_simulator()
print(torch.ones(3, device="cuda").sum().item(), *loaded("numba", "llvmlite", "viz"))
"""
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert loaded.splitlines() == ["", "", "3.0"]


def test_the_jit_loads_its_parts_when_they_are_used() -> None:
    program = "import internals.jit, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    parts = {
        f"internals.jit.{part}"
        for part in ("frontend", "operators", "passes", "runtime", "tracing")
    }
    assert "internals.jit.ir" in loaded and not parts.intersection(loaded)


@pytest.mark.parametrize(
    "module, absent",
    [
        ("internals.jit", ("internals.serialization", "internals.export", "viz")),
        (
            "internals.serialization.save_load",
            ("internals.jit", "internals.nn", "internals.export", "safetensors"),
        ),
        (
            "internals.serialization.inspection.inspect",
            ("internals.jit", "internals.nn", "internals.export", "viz"),
        ),
        ("internals.export", ("viz",)),
    ],
)
def test_no_floor_loads_the_one_above_it(module: str, absent: tuple[str, ...]) -> None:
    program = f"import {module}, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert module in loaded and not [name for name in loaded if name.startswith(absent)]


def test_the_probe_sees_a_heavy_import() -> None:
    assert "yaml" in modules_after("import yaml")


@pytest.mark.parametrize("arguments", [["--help"], ["doctor", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    program = f"""
import runpy, sys
sys.argv = ["internals", *{arguments}]
try:
    runpy.run_module("internals", run_name="__main__")
except SystemExit:
    print("loaded", *sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    listing, _, loaded = run.stdout.partition("loaded ")
    assert "doctor" in listing
    assert not {name.partition(".")[0] for name in loaded.split()}.intersection(HEAVY)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    import internals

    assert not hasattr(internals, "no_such_thing")
    assert all(hasattr(internals, name) for name in internals._SUBPACKAGES)
