"""How an algorithm is chosen, remembered and told about; threads; what cannot be done."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from internals.aten.compiled.convolution import choice as choosing
from internals.aten.compiled.convolution.algorithms import (
    Depthwise,
    Direct,
    Scratch,
    Winograd,
    from_list,
    to_list,
)
from internals.aten.compiled.convolution.buffers import Buffer
from internals.aten.compiled.convolution.choice import candidates, choose
from internals.aten.compiled.convolution.layers import (
    AveragePool,
    Convolution,
    Flatten,
    Layer,
    Linear,
    MaxPool,
    Sum,
    Unsupported,
    fuse,
)
from internals.aten.compiled.convolution.network import Network
from internals.aten.compiled.convolution.problem import Problem
from internals.machine_code import cache, get_num_threads, set_num_threads
from tests.aten.compiled.convolution_support import convolution, error, exact, numbers, using


def problem(
    layer: Convolution, x: tuple[int, ...], out: tuple[int, ...], threads: int = 1
) -> Problem:
    lanes = 1 if x[1] < 16 else 16
    return Problem(layer, Buffer(x, layer.padding[0], lanes), Buffer(out, 0), None, threads)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache on disk with nothing in it, and so few runs and candidates that trying is quick."""
    monkeypatch.setenv("INTERNALS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(choosing, "RUNS", 1)
    monkeypatch.setattr(choosing, "_evict", lambda threads: None)
    monkeypatch.setattr(
        choosing, "candidates", lambda p: [Direct(1, 2, 1), Winograd(2, 2, 1, 4, 1)]
    )
    return tmp_path / "cache"


# Choosing


def test_the_choice_is_remembered_on_disk(empty_cache: Path) -> None:
    p = problem(convolution(16, 16, (3, 3), padding=(1, 1)), (1, 16, 8, 8), (1, 16, 8, 8))
    told = []
    first, _ = choose(p, Scratch(), lambda: told.append(1))
    again, _ = choose(p, Scratch(), lambda: told.append(2))
    assert told == [1]
    assert (first.tried, again.tried) == (2, 0)
    assert again.algorithm == first.algorithm and again.ratio == first.ratio
    assert len(list(empty_cache.glob("*/*.json"))) == 1


def test_other_sizes_and_threads_are_chosen_for_anew(empty_cache: Path) -> None:
    layer = convolution(16, 16, (3, 3), padding=(1, 1))
    sizes = (1, 16, 8, 8)
    for p in (
        problem(layer, sizes, sizes),
        problem(layer, (2, *sizes[1:]), (2, *sizes[1:])),
        problem(layer, sizes, sizes, 2),
    ):
        assert choose(p, Scratch())[0].tried == 2


def test_a_damaged_entry_is_written_anew(empty_cache: Path) -> None:
    p = problem(convolution(16, 16, (3, 3), padding=(1, 1)), (1, 16, 8, 8), (1, 16, 8, 8))
    choose(p, Scratch())
    (entry,) = empty_cache.glob("*/*.json")
    entry.write_bytes(entry.read_bytes()[:-3])
    with pytest.warns(UserWarning, match="is damaged, and made anew: the checksum"):
        assert choose(p, Scratch())[0].tried == 2
    assert choose(p, Scratch())[0].tried == 0
    for no_choice in (
        b"[",
        b"5",
        b'[["Guess", 1], 1.0]',
        b'[["Direct", 1, 2, 3, 4, 5, 6, 7], 1.0]',
        b'[[], "best"]',
    ):
        cache.write(entry.stem, "json", no_choice)
        with pytest.warns(UserWarning, match="is damaged, and made anew: it names no algorithm"):
            assert choose(p, Scratch())[0].tried == 2


@pytest.mark.parametrize(
    "algorithm", [Direct(2, 3, 1, True, 5), Depthwise(4), Winograd(4, 2, 1, 9, 2, 7)], ids=str
)
def test_algorithms_can_be_written_down(algorithm: Any) -> None:
    assert from_list(to_list(algorithm)) == algorithm
    assert algorithm.text


@pytest.mark.parametrize(
    "layer, x, out, kinds",
    [
        (
            convolution(32, 32, (3, 3), padding=(1, 1)),
            (1, 32, 8, 8),
            (1, 32, 8, 8),
            {Direct, Winograd},
        ),
        (
            convolution(32, 32, (3, 3), padding=(1, 1), stride=(2, 2)),
            (1, 32, 8, 8),
            (1, 32, 4, 4),
            {Direct},
        ),
        (convolution(32, 32, (3, 3), 32), (1, 32, 8, 8), (1, 32, 6, 6), {Depthwise}),
        (convolution(32, 32, (3, 3), 2), (1, 32, 8, 8), (1, 32, 6, 6), {Direct}),
        (convolution(3, 16, (3, 3)), (1, 3, 8, 8), (1, 16, 6, 6), {Direct}),
        (convolution(16, 16, (3, 3)), (1, 16, 3, 3), (1, 16, 1, 1), {Direct}),
    ],
)
def test_candidates_fit(
    layer: Convolution, x: tuple[int, ...], out: tuple[int, ...], kinds: set[type]
) -> None:
    """Each kind that can do it is tried, and no tile is larger than what there is to do."""
    found = candidates(problem(layer, x, out))
    assert {type(a) for a in found} == kinds
    assert len(set(found)) == len(found)
    for a in found:
        if isinstance(a, Direct):
            assert (
                a.rows <= out[2] and a.columns <= out[2] * out[3] and a.blocks <= -(-out[1] // 16)
            )


@pytest.mark.parametrize("registers", [2, 6, 28])
def test_every_cpu_has_candidates(registers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "registers", lambda: registers)
    found = candidates(
        problem(convolution(32, 64, (3, 3), padding=(1, 1)), (1, 32, 9, 9), (1, 64, 9, 9))
    )
    assert found
    assert all(
        (a.rows if isinstance(a, Direct) else 1) * a.columns * a.blocks <= registers for a in found
    )  # type: ignore[union-attr]


def test_all_candidates_compute_the_same() -> None:
    """A sample of the candidates for a small layer, as this CPU would try them."""
    layer = convolution(16, 32, (3, 3), padding=(1, 1))
    x = numbers(1, 16, 8, 8)
    found = candidates(problem(layer, x.shape, (1, 32, 8, 8)))
    for algorithm in found[:2] + [a for a in found if isinstance(a, Winograd)][:2]:
        network = Network([layer], [1], [x.shape], 1, chooser=using(algorithm))
        assert error(network.run([x])[0], exact(layer, x)) < 5e-6, algorithm


# What is told


def test_the_plan_and_the_progress(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layers = [
        convolution(16, 16, (3, 3), padding=(1, 1), low=0.0),
        MaxPool((1,), 2, (2, 2), (2, 2)),
    ]
    network = Network(layers, [2], [(1, 16, 8, 8)], 1, "small")
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "building small: trying algorithms for 1 layers"
    assert shown[1].startswith("built small: 2 algorithms tried in ")
    lines = str(network.plan).splitlines()
    assert lines[0] == "small on 1 thread"
    assert lines[1].split() == ["layer", "result", "algorithm", "ratio"]
    assert lines[2].startswith("3x3 16->16 relu  1 x 16 x 8 x 8")
    assert lines[3].split() == "maximum of 2x2 1 x 16 x 4 x 4".split()
    Network(layers, [2], [(1, 16, 8, 8)], 1, "small")
    assert capsys.readouterr().err == ""


# Lists of layers


def test_fuse() -> None:
    w = numbers(16, 16, 3, 3)
    layers: list[Layer] = [
        Convolution((0,), 1, w, None, padding=(1, 1)),
        Sum((1,), 2, low=0.0),
        Convolution((2,), 3, w, None, padding=(1, 1)),
        Sum((3, 0), 4),
        Sum((4,), 5, low=0.0, high=6.0),
    ]
    first, second = fuse(layers, [5])
    assert (first.inputs, first.output, first.low) == ((0,), 2, 0.0)
    assert (second.inputs, second.output, second.low, second.high) == ((2, 0), 5, 0.0, 6.0)
    assert len(fuse(layers, [5, 4])) == 3  # what is wanted has to be made
    assert len(fuse(layers, [5, 1])) == 3


def test_a_sum_goes_into_the_later_of_two_convolutions() -> None:
    w = numbers(16, 16, 1, 1)
    layers: list[Layer] = [
        Convolution((0,), 1, w, None),
        Convolution((0,), 2, w, None),
        Sum((2, 1), 3),
    ]
    first, second = fuse(layers, [3])
    assert first is layers[0]
    assert (second.inputs, second.output) == ((0, 1), 3)


@pytest.mark.parametrize(
    "layers, sizes",
    [
        ([convolution(16, 16, (3, 3))], [(1, 17, 8, 8)]),
        ([convolution(16, 16, (3, 3))], [(1, 16, 2, 8)]),
        ([convolution(16, 16, (3, 3))], [(16, 8, 8)]),
        ([Sum((0, 1), 2)], [(1, 16, 4, 4), (1, 16, 1, 1)]),
        ([Flatten((0,), 1), Linear((1,), 2, numbers(3, 16), None)], [(1, 17, 1, 1)]),
        ([MaxPool((0,), 1, (5, 5), (1, 1))], [(1, 16, 4, 4)]),
        ([AveragePool((0,), 1, (2, 2))], [(2, 16)]),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    layers: list[Layer], sizes: list[tuple[int, ...]]
) -> None:
    with pytest.raises(Unsupported):
        Network(layers, [layers[-1].output], sizes, 1, chooser=using())


# Threads


@pytest.fixture
def three_threads() -> Any:
    before = get_num_threads()
    set_num_threads(3)
    yield 3
    set_num_threads(before)


@pytest.mark.parametrize(
    "algorithm", [None, Winograd(2, 2, 1, 4, 2), Winograd(4, 2, 1, 4, 1)], ids=str
)
def test_threads_give_the_same(three_threads: int, algorithm: Any) -> None:
    a = convolution(16, 48, (3, 3), padding=(1, 1), low=0.0)
    b = convolution(48, 16, (3, 3), padding=(1, 1))
    layers = [a, Convolution((1, 0), 2, b.weight, b.bias, padding=(1, 1))]
    x = numbers(2, 16, 9, 9)
    alone = Network(layers, [2], [x.shape], 1, chooser=using(algorithm)).run([x])[0]
    network = Network(layers, [2], [x.shape], three_threads, chooser=using(algorithm))
    for _ in range(50):
        np.testing.assert_array_equal(network.run([x])[0], alone)


def test_callers_on_several_threads_take_turns(three_threads: int) -> None:
    layer = convolution(16, 16, (3, 3), padding=(1, 1))
    network = Network([layer], [1], [(1, 16, 6, 6)], three_threads, chooser=using())
    inputs = [numbers(1, 16, 6, 6) for _ in range(4)]
    expected = [exact(layer, x) for x in inputs]
    worst: list[float] = []

    def call(i: int) -> None:
        worst.extend(error(network.run([inputs[i]])[0], expected[i]) for _ in range(25))

    callers = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for t in callers:
        t.start()
    for t in callers:
        t.join()
    assert len(worst) == 100 and max(worst) < 1e-6


# Other CPUs


@pytest.mark.parametrize("cpu", ["x86-64", "haswell"])
def test_kernels_compile_for_cpus_without_avx512(cpu: str) -> None:
    """Vectors of 16 are split into what there is, without calling functions for what there is not
    (`fmaf`).
    """
    import llvmlite.binding as llvm

    from internals.aten.compiled.convolution import direct, winograd
    from internals.machine_code.llvm import host

    if not host().startswith("x86_64"):
        pytest.skip("this LLVM makes code for its own kind of CPU, which is not x86-64")
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=cpu, features="", opt=3, reloc="pic", jit=True)
    for text in (
        direct.write_direct(direct.Tile(1, 3, 1, 16, 16)),
        winograd.write_winograd(winograd.WinogradTile(2, 2, 1)),
    ):
        module = llvm.parse_assembly(text)
        module.verify()
        assembly = machine.emit_assembly(module)
        assert "zmm" not in assembly and "call" not in assembly
        assert ("ymm" in assembly) == (cpu == "haswell")
