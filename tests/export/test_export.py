"""Programs that real PyTorch exported: read, run, saved as TorchScript. The archives are in
tests/archives/pt2.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import export
from internals.export.input_checks import Guards, InputCheck, ValueRange
from internals.export.symbolic_sizes import Formula
from internals.jit.ir.verifier import verify
from internals.serialization import convert, run
from internals.serialization.errors import ArchiveError
from internals.serialization.inspection import inspect
from runtimes.corpus.check import difference
from tests.answers import answer
from tests.serialization.archives import held

FOLDER = Path(__file__).parents[1] / "archives" / "pt2"
NAMES = [
    "everything", "everything_core", "tied_dynamic", "counting", "counting_core", "choice",
    "choice_core", "blocks", "formulas", "formulas_core", "kinds", "kinds_core", "views", "small",
    "small_core",
]  # fmt: skip


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
    assert (
        isinstance(result, tuple)
        and list(result[0]) == ["a", "b"]
        and isinstance(result[0]["b"], list)
    )
    assert isinstance(result[1], tuple) and result[2] is None and len(result) == 4


def test_parameters_are_where_they_belong() -> None:
    module = loaded("everything").module()
    assert sorted(module.state_dict()) == [
        "bn.bias", "bn.num_batches_tracked", "bn.running_mean", "bn.running_var", "bn.weight",
        "conv.bias", "conv.weight", "fc.bias", "fc.weight", "k",
    ]  # fmt: skip
    assert all(p.requires_grad for p in module.parameters()) and module.fc.weight.shape == (3, 4)
    assert module.fc.original_name == "Linear"


def test_tied_weights_share_their_storage() -> None:
    module = loaded("tied_dynamic").module()
    assert module.embedding.weight.data_ptr() == module.head.weight.data_ptr()


def test_sizes_are_checked_against_the_exported_ones() -> None:
    program = loaded("tied_dynamic")
    with pytest.raises(AssertionError, match=r"Guard failed: tokens.size\(\)\[1\] >= 2"):
        program(internals.ones(2, 1, dtype=internals.int64))
    with pytest.raises(
        RuntimeError, match="'tokens' to be of dtype internals.int64, but got internals.float32"
    ):
        program(internals.ones(2, 3))
    with pytest.raises(RuntimeError, match="to have 2 dimensions, but got 1"):
        program(internals.ones(2, dtype=internals.int64))


def test_arguments_that_were_fixed_must_stay() -> None:
    (call,) = calls("everything")
    program = loaded("everything")
    x, image, scale = call["inputs"]
    with pytest.raises(AssertionError, match="Guard failed: scale == 0.5"):
        program(x, image, 1.5, flip=True)
    with pytest.raises(
        ValueError, match=r"Got the following keywords \[\] but expected \['flip'\]"
    ):
        program(x, image, scale)
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] == 2"):
        program(internals.ones(3, 4), image, scale, flip=True)


def test_operators_that_are_not_known_are_listed() -> None:
    program = loaded("unknown")
    assert program.missing == {"torch.ops.teaching.twice.default": 2}
    assert "teaching::twice" in str(program.graph)
    with pytest.raises(NotImplementedError, match=r"torch.ops.teaching.twice.default \(2x\)"):
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
    assert all(
        p.grad is not None
        for name, p in program.module().named_parameters()
        if not name.startswith("conv")
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_becomes_torchscript_that_pytorch_runs(name: str) -> None:
    buffer = io.BytesIO()
    loaded(name).module().save(buffer)

    def differences(torch: Any) -> list[str]:
        there = torch.jit.load(io.BytesIO(buffer.getvalue()))
        found = []
        for call in torch.load(FOLDER / f"{name}.case.pt")["calls"]:
            given = (*call["inputs"], *call["kwargs"].values())
            numbers = (
                int if name.startswith("formulas") else torch.Tensor
            )  # elsewhere they are constants of the program
            with torch.no_grad():
                tensors = [
                    x.clone() if isinstance(x, torch.Tensor) else x
                    for x in given
                    if isinstance(x, (torch.Tensor, numbers))
                ]
                result = there(*tensors)
            found.append(difference(torch, leaves(result), leaves(call["expected"]), "result"))
        return found

    found = answer(differences, about=held(buffer.getvalue()), family="archives")
    assert found and not any(found)


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


def test_the_signature_says_what_the_inputs_are() -> None:
    signature = loaded("small_core").graph_signature
    assert signature.parameters[0] == "layers.0.weight" and signature.buffers == ("calls",)
    assert signature.user_inputs == ("x",) and signature.buffers_to_mutate == {"add": "calls"}
    assert (
        "p_head_bias: PARAMETER target='head.bias'\nb_calls: BUFFER target='calls' persistent=True"
        in str(signature)
    )
    assert "c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'" in str(
        loaded("kinds").graph_signature
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_prints_as_in_pytorch(name: str) -> None:

    def ask(torch: Any) -> list[str]:
        there = torch.export.load(FOLDER / f"{name}.pt2")
        return [
            str(there.graph_signature).strip(),
            str(there.call_spec.in_spec),
            str(there.range_constraints),
        ]

    signature, in_spec, constraints = answer(ask, family="archives")
    here = loaded(name)
    assert str(here.graph_signature).strip() == signature
    assert str(here.in_spec) == in_spec.replace("NoneType", "none")
    assert str(here.range_constraints).replace("'", "") == constraints


def test_symbols_and_their_ranges() -> None:
    program = loaded("formulas")
    n, half = (str(program.sizes_of(name)[0]) for name in ("y", "pairs"))
    assert program.sizes_of("x") == (f"{n} + 1",) and half.startswith("2*")
    assert (
        program.range_constraints[half] == (4, 100)
        and repr(program.range_constraints[f"{n} + 1"]) == "VR[3, 20]"
    )
    assert loaded("small").sizes_of("p_head_weight") == (2, 4)


@pytest.mark.parametrize(
    "lengths, message",
    [
        (
            (5, 5, 8, 5, 4),
            r"y.size\(\)\[0\] == \(x.size\(\)\[0\] - 1\)|x.size\(\)\[0\] == y.size\(\)\[0\] \+ 1",
        ),
        (
            (5, 4, 7, 5, 4),
            r"add.size\(\)\[1\]|pairs.size\(\)\[0\] % 2 == 0|pairs.size\(\)\[0\] == 2\*add",
        ),
        ((2, 1, 8, 2, 4), r"x.size\(\)\[0\] >= 3"),
        ((30, 29, 8, 30, 4), r"x.size\(\)\[0\] <= 20"),
        ((5, 4, 8, 5, 3), r"pairs.size\(\)\[0\] == 2\*add.size\(\)\[1\]"),
    ],
)
def test_sizes_that_depend_on_one_another_must_fit(lengths: tuple[int, ...], message: str) -> None:
    x, y, pairs, rows, columns = lengths
    ones = internals.ones
    with pytest.raises(AssertionError, match=f"Guard failed: ({message})"):
        loaded("formulas")(ones(x), ones(y), ones(pairs), 3, add=ones(rows, columns))


def test_a_formula_gives_a_symbol_its_value() -> None:
    checks = [InputCheck("x", internals.float32, (Formula.parse("Mul(Integer(2), Symbol('s'))"),))]
    guards = Guards(checks, {"2*s": ValueRange(4, 10), "s": ValueRange(2, 5)})
    guards.check([internals.ones(8)])
    for n, message in [(7, r"x.size\(\)\[0\] % 2 == 0"), (2, r">= 4"), (12, r"<= 10")]:
        with pytest.raises(AssertionError, match=message):
            guards.check([internals.ones(n)])


def test_inputs_of_another_form_are_shown_beside_the_right_one() -> None:
    with pytest.raises(ValueError) as caught:
        loaded("small")()
    assert str(caught.value).startswith(
        "Trying to flatten user inputs with exported input tree spec: \nTreeSpec(tuple, None, ["
    )
    with pytest.raises(internals.jit.Error, match="x is too small"):
        loaded("blocks")(internals.full((2, 3), -1000.0), internals.ones(2, 3))


def test_what_was_done_without_gradients_has_none() -> None:
    (call, *_) = calls("blocks")
    x = call["inputs"][0].requires_grad_()
    result = loaded("blocks")(x, call["inputs"][1])
    assert [leaf.requires_grad for leaf in result[1:3]] == [False, False] and result[0][
        0
    ].requires_grad


def test_views_are_views_again() -> None:
    state = loaded("views").state_dict
    assert state["row"].data_ptr() == state["base"].data_ptr() + 16 and state[
        "turned"
    ].stride() == (1, 4)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("Add(Symbol('s1', positive=True, integer=True), Integer(1))", "s1 + 1"),
        ("Mul(Integer(2), Add(Symbol('a'), Integer(-1)))", "2*(a - 1)"),
        ("FloorDiv(Symbol('s10', integer=True), Integer(2))", "s10//2"),
        ("Max(Symbol('a'), Integer(2))", "Max(a, 2)"),
        ("__import__('os').getcwd()", "__import__('os').getcwd()"),
        ("Pow(Symbol('a'), Integer(9))", "Pow(Symbol('a'), Integer(9))"),
        ("Add(" * 90 + ")" * 90, None),
    ],
)
def test_formulas_are_read_and_never_evaluated_as_python(text: str, shown: str | None) -> None:
    formula = Formula.parse(text)
    assert formula.known() is (shown is not None and shown != text)
    assert shown is None or str(formula) == shown
    assert (formula.evaluate({"a": 7, "s1": 7, "s10": 7}) is not None) is formula.known()


def test_who_reads_what_is_said() -> None:
    path = FOLDER / "small.pt2"
    with pytest.raises(
        ArchiveError,
        match=r"`python -m internals convert`(?s:.*)right:  torch.export.load\(path\)$",
    ):
        internals.jit.load(str(path))
    line = r"not an object(?s:.*)right:  torch.export.load\(path\)$"
    with pytest.raises(ArchiveError, match=line):
        internals.load(path)


@pytest.mark.parametrize("name", ["small", "formulas", "kinds"])
def test_convert_makes_torchscript(name: str, tmp_path: Path) -> None:
    made = tmp_path / "made.pt"
    assert convert.main([str(FOLDER / f"{name}.pt2"), str(made)]) == 0
    call = calls(name)[-1]
    given = [
        x
        for x in (*call["inputs"], *call["kwargs"].values())
        if isinstance(x, (internals.Tensor, int))
    ]
    assert (
        difference(
            internals,
            leaves(internals.jit.load(str(made))(*given)),
            leaves(call["expected"]),
            "result",
        )
        == ""
    )


def test_what_convert_cannot_do_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert.main([str(FOLDER / "unknown.pt2"), str(tmp_path / "made.pt")]) == 1
    assert "torch.ops.teaching.twice.default (2x)" in capsys.readouterr().err
    assert convert.main([str(FOLDER / "small.pt2"), str(tmp_path / "made.pt2")]) == 1
    assert "torch.export makes those" in capsys.readouterr().err


def test_inspect_shows_the_graph_and_run_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect.main([str(FOLDER / "small.pt2"), "--graph"]) == 0
    assert "aten::linear" in capsys.readouterr().out
    assert run.main([str(FOLDER / "small.pt2"), "--ones", "2,4"]) == 0
    assert "float32 (2, 2)" in capsys.readouterr().out
    assert run.main([str(FOLDER / "small.pt2"), "--ones", "2,5"]) == 1
    assert "Guard failed: x.size()[1] == 4" in capsys.readouterr().err
    assert inspect.main([str(FOLDER / "unknown.pt2"), "--graph"]) == 0
    assert "teaching::twice" in capsys.readouterr().out
