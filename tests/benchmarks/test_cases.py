"""What the benchmarks measure, at sizes small enough for a test: every side computes what numpy
computes in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from benchmarks import harness, peers
from benchmarks.cases import builds, fusion, kernels, matmul, models, small_ops, training
from benchmarks.harness import OURS, Absent, Case, Timed


def errors(case: Case) -> dict[str, float]:
    """Of the sides that can take part, of our own in any case."""
    sides = {name: side for name, side in case.sides().items() if not isinstance(side, Absent)}
    assert OURS in sides
    return harness.errors_of(case, {name: side() for name, side in sides.items()})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "SHAPE", (24, 17))
    monkeypatch.setattr(kernels, "SIDE", 13)


@pytest.mark.parametrize("case", kernels.cases(), ids=lambda case: case.name)
def test_kernels(case: Case, small: None) -> None:
    assert {OURS, "numpy"} <= set(errors(case)) and case.threads == 1


def test_the_kernels_that_were_promised_are_all_there() -> None:
    names = " ".join(case.name for case in kernels.cases() if case.goals == {"torch": 1.2})
    for word in "sum mean variance max argmax".split():
        assert all(f"{word} of {what}" in names for what in ("all", "each row", "each column")), (
            word
        )
    words = (
        "cumsum|softmax|layer norm|transposed|every second|a + a.T|row + column|where|float32 "
        "to|gather|index_select|sort|cat"
    )
    assert all(word in names for word in words.split("|"))


@pytest.mark.parametrize(
    "case", [*matmul.cases()[:3], *small_ops.cases(), *training.cases()], ids=lambda case: case.name
)
def test_products_small_operations_and_steps(case: Case) -> None:
    assert {OURS, "numpy"} <= set(errors(case))


@pytest.mark.parametrize("row", fusion.TABLE, ids=lambda row: row.name)
def test_programs_to_fuse(row: fusion.Row) -> None:
    shape = (3, 5) if len(row.shape) > 1 else (40,)
    arrays = [np.random.default_rng(n).standard_normal(shape) for n in range(row.inputs)]
    right = row.in_numpy(*arrays)
    libraries = [internals, *[T for T in [peers.library("torch")] if T]]
    for T in libraries:
        np.testing.assert_allclose(
            row.program(*peers.tensors(T, arrays)).numpy(), right, rtol=1e-12
        )


@pytest.mark.parametrize("sides", [training.digits_sides, training.moons_sides])
def test_all_sides_of_a_training_step_lose_the_same(sides: Any) -> None:
    made = sides(
        training.digits_weights() if sides is training.digits_sides else training.moons_weights()
    )
    steps = {name: step for name, step in made.items() if not isinstance(step, Absent)}
    assert {OURS, "numpy"} <= set(steps)
    losses = {name: [value(step()) for _ in range(2)] for name, step in steps.items()}
    for name in losses:
        assert losses[name] == pytest.approx(losses["numpy"], rel=1e-4), name
    assert losses["numpy"][-1] < losses["numpy"][0]


def value(loss: Any) -> float:
    return loss.item() if hasattr(loss, "item") else loss


# Networks, on small pictures


@pytest.fixture
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    full = models.pictures
    monkeypatch.setattr(models, "pictures", lambda batch, side=64: full(batch, min(side, 64)))


def test_every_weight_of_a_network_matters() -> None:
    for network in models.NETWORKS:
        state = models.ready(network.name).state_dict()
        assert all(bool(t.any()) for key, t in state.items() if t.is_floating_point()), network.name


@pytest.mark.parametrize("name", ["ResNet-18", "MobileNet-v2"])
def test_answers_of_networks(name: str, small_pictures: None) -> None:
    case = next(case for case in models.cases() if case.name == f"{name}, batch 1, 1 thread, eager")
    assert errors(case)[OURS] < 1e-5


def test_pytorchs_twin_has_our_weights_and_is_pytorchs() -> None:
    torch = pytest.importorskip(
        "torch", reason="real PyTorch is not installed: make oracle", exc_type=ImportError
    )
    twin = models.twin("ResNet-18")
    assert isinstance(twin, torch.nn.Module) and type(twin).__module__.startswith(
        "our_models_in_torch"
    )
    for key, tensor in models.ready("ResNet-18").state_dict().items():
        assert np.array_equal(twin.state_dict()[key].numpy(), tensor.numpy()), key


@pytest.mark.sampled(1 / 4)
def test_a_step_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "TRAINING_SIDE", 32)
    (case,) = (case for case in models.cases() if "step of training" in case.name)
    assert errors(case)[OURS] < case.tolerance
    if peers.library("torch"):
        ours = models.training_step(
            internals, models.ready.__wrapped__("ResNet-18").double(), np.float64
        )
        assert harness.error(ours(), models.training_reference()) < 1e-11


def test_goals_of_the_networks() -> None:
    goals = {case.name: dict(case.goals) for case in models.cases()}
    for batch in (1, 8):
        for threads in ("1 thread", "2 threads"):
            where = f"ResNet-18, batch {batch}, {threads}"
            assert goals[f"{where}, optimised"] == {"torch": 0.5, "torch.compile": 0.9}
            assert goals[f"{where}, eager"] == {"torch": 1.3}
    assert goals["ViT tiny, batch 1, 2 threads, optimised"] == {"torch": 1.0}


# Compiling


def test_what_a_build_takes_is_held_against_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    builds_done: list[tuple[str, str, str]] = []

    def build(work: str, state: str, side: str) -> Timed:
        builds_done.append((work, state, side))
        return Timed(0.5, np.zeros(()))

    monkeypatch.setattr(builds, "build", build)
    monkeypatch.setattr(internals.jit, "optimize", lambda program: program, raising=False)
    case = builds.cases()[0]
    found = harness.run(case, budget=0.0)
    (ratio,) = (ratio for ratio in harness.ratios(found) if ratio.against == "1 s")
    assert (case.name, ratio.median, ratio.met) == ("x * sigmoid(x) + tanh(y), cold", 0.5, True)
    # the one that was checked counts
    assert builds_done.count(("chain", "cold", OURS)) == case.rounds == 3


def test_a_build_is_a_process_with_a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[str] = []

    def process(command: list[str], env: dict[str, str], **more: Any) -> Any:
        folders.append(env["INTERNALS_CACHE_DIR"])
        with open(command[-1], "w") as file:
            file.write('{"seconds": 2.0, "error": 0.0}')
        return type("Done", (), {"returncode": 0})()

    monkeypatch.setattr(builds.subprocess, "run", process)
    for state in ("cold", "cold", "cached", "cached"):
        assert builds.build("chain", state, OURS).seconds == 2.0
    builds.filled.cache_clear()
    cold, again, filling, *cached = folders
    assert cold != again != filling and cached == [filling, filling]


def test_a_build_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = type("Failed", (), {"returncode": 1, "stderr": "Traceback\nValueError: no kernel\n"})
    monkeypatch.setattr(builds.subprocess, "run", lambda *args, **more: failed())
    with pytest.raises(
        RuntimeError, match="building chain with internals failed: ValueError: no kernel"
    ):
        builds.build("chain", "cold", OURS)


# Peers


def test_peers_say_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.shutil, "which", lambda name: None)
    monkeypatch.setattr(peers, "installed", lambda name: True)
    assert peers.tinygrad_lacks() == "tinygrad needs clang, and there is none"
    assert not peers.has_cpp_compiler()
    monkeypatch.setattr(peers, "installed", lambda name: False)
    assert peers.tinygrad_lacks() == "tinygrad is not installed"
    monkeypatch.setattr(peers, "library", lambda name: None)
    for peer in (peers.torch_compiled, peers.torch_scripted, peers.in_torch):
        assert peer(lambda: None, []) == Absent("torch is not installed")


def test_optimised_programs_wait_until_their_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from internals.jit.fuser import background

    done: list[str] = []

    def call() -> None:
        if not done:
            background.submit("a kernel", lambda: done.append("compiled"))
        done.append("called")

    peers.wait_until_compiled(call)
    assert "compiled" in done and done[-1] == "called" and not background.working


def test_threads_are_set_for_everyone() -> None:
    from internals.machine_code import get_num_threads

    torch = peers.library("torch")
    before = get_num_threads(), torch and torch.get_num_threads()
    try:
        peers.set_threads(2)
        assert get_num_threads() == 2 and (torch is None or torch.get_num_threads() == 2)
    finally:
        peers.set_threads(before[0])
        if torch:
            torch.set_num_threads(before[1])
