"""Programs that real PyTorch exported: read, run, saved as TorchScript. The archives are in tests/archives/pt2."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import export
from internals.jit.ir.verifier import verify
from internals.serialization.errors import ArchiveError
from runtimes.corpus.check import difference
from tests.support import oracle

FOLDER = Path(__file__).parent / "archives" / "pt2"
NAMES = ["everything", "everything_core", "tied_dynamic", "counting", "counting_core"]


def loaded(name: str) -> Any:
    return export.load(FOLDER / f"{name}.pt2")


def calls(name: str) -> list[dict[str, Any]]:
    return internals.load(FOLDER / f"{name}.case.pt")["calls"]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        return [] if value is None else [value]
    return [leaf for each in value for leaf in leaves(each)]


@pytest.mark.parametrize("name", NAMES)
def test_an_exported_program_gives_what_pytorch_gave(name: str) -> None:
    program = loaded(name)
    assert not program.missing
    for call in calls(name):
        inputs = [x.clone() if isinstance(x, internals.Tensor) else x for x in call["inputs"]]
        with internals.no_grad():
            result = program(*inputs, **call["kwargs"])
        assert difference(internals, leaves(result), leaves(call["expected"]), "result") == ""
        assert difference(internals, inputs, call["after"], "inputs") == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_graph_is_well_formed(name: str) -> None:
    verify(loaded(name).graph)


def test_nested_results_have_their_form() -> None:
    (call,) = calls("everything")
    result = loaded("everything")(*call["inputs"], **call["kwargs"])
    assert isinstance(result, tuple) and list(result[0]) == ["a", "b"] and isinstance(result[0]["b"], list)
    assert isinstance(result[1], tuple) and result[2] is None and len(result) == 4


def test_parameters_are_where_they_belong() -> None:
    module = loaded("everything").module()
    assert sorted(module.state_dict()) == [
        "bn.bias", "bn.num_batches_tracked", "bn.running_mean", "bn.running_var", "bn.weight", "conv.bias", "conv.weight",
        "fc.bias", "fc.weight", "k",
    ]  # fmt: skip
    assert all(p.requires_grad for p in module.parameters()) and module.fc.weight.shape == (3, 4)
    assert module.fc.original_name == "Linear"


def test_tied_weights_share_their_storage() -> None:
    module = loaded("tied_dynamic").module()
    assert module.embedding.weight.data_ptr() == module.head.weight.data_ptr()


def test_sizes_are_checked_against_the_exported_ones() -> None:
    program = loaded("tied_dynamic")
    with pytest.raises(RuntimeError, match=r"tokens.shape\[1\] to be between 2 and 16, but got 1"):
        program(internals.ones(2, 1, dtype=internals.int64))
    with pytest.raises(RuntimeError, match="'tokens' to be of dtype internals.int64, but got internals.float32"):
        program(internals.ones(2, 3))
    with pytest.raises(RuntimeError, match="to have 2 dimensions, but got 1"):
        program(internals.ones(2, dtype=internals.int64))


def test_arguments_that_were_fixed_must_stay() -> None:
    (call,) = calls("everything")
    program = loaded("everything")
    x, image, scale = call["inputs"]
    with pytest.raises(RuntimeError, match="'scale' to be equal to 0.5, but got 1.5"):
        program(x, image, 1.5, flip=True)
    with pytest.raises(ValueError, match="should be a dict with the keys"):
        program(x, image, scale)
    with pytest.raises(RuntimeError, match=r"x.shape\[0\] to be equal to 2, but got 3"):
        program(internals.ones(3, 4), image, scale, flip=True)


def test_operators_that_are_not_known_are_listed() -> None:
    program = loaded("choice")
    assert program.missing == {"torch.ops.higher_order.cond": 1}
    assert "higher_order::cond" in str(program.graph)
    with pytest.raises(NotImplementedError, match=r"torch.ops.higher_order.cond \(1x\)"):
        program(internals.ones(2))


def test_the_statistics_of_batch_norm_move() -> None:
    program = loaded("counting_core")
    first = {name: t.clone() for name, t in program.state_dict.items()}
    program(*calls("counting_core")[0]["inputs"])
    assert not internals.equal(first["bn.running_mean"], program.state_dict["bn.running_mean"])
    assert program.state_dict["bn.num_batches_tracked"] == first["bn.num_batches_tracked"] + 1


def test_a_program_can_be_trained() -> None:
    (call,) = calls("everything")
    program = loaded("everything")
    program(*call["inputs"], **call["kwargs"])[3].sum().backward()
    assert all(p.grad is not None for name, p in program.module().named_parameters() if not name.startswith("conv"))


@pytest.mark.parametrize("name", NAMES)
def test_it_becomes_torchscript_that_pytorch_runs(name: str) -> None:
    torch = oracle()
    buffer = io.BytesIO()
    loaded(name).module().save(buffer)
    buffer.seek(0)
    there = torch.jit.load(buffer)
    case = torch.load(FOLDER / f"{name}.case.pt")
    for call in case["calls"]:
        tensors = [x for x in (*call["inputs"], *call["kwargs"].values()) if isinstance(x, torch.Tensor)]
        with torch.no_grad():
            result = there(*[t.clone() for t in tensors])
        assert difference(torch, leaves(result), leaves(call["expected"]), "result") == ""


@pytest.mark.parametrize(
    "name, message",
    [("nothing.pt2", "No such file"), ("empty", "archive"), ("other", "archive_format")],
)
def test_what_is_no_exported_program_is_refused(tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / name
    if name == "empty":
        path.write_bytes(b"")
    elif name == "other":
        internals.save({"a": internals.ones(2)}, path)
    with pytest.raises((ArchiveError, FileNotFoundError), match=message):
        export.load(path)
