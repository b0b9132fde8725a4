"""Code of older archives means what it meant when it was written."""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals.serialization.script.archive_names import CURRENT_VERSION
from internals.serialization.script.source_importer import SourceImporter
from internals.serialization.script.upgraders import UPGRADERS, compiled
from tests.answers import answer


def function(
    expression: str, version: int, params: str = "x: Tensor, y: Tensor", returns: str = "Tensor"
) -> Any:
    text = f"def f({params}) -> {returns}:\n  return {expression}\n"
    found = SourceImporter({"code/__torch__.py": text}.get, version=version).find_function(
        "__torch__.f"
    )
    assert found is not None
    return found


@pytest.mark.parametrize("upgrader", UPGRADERS, ids=lambda u: u.schema.partition("(")[0])
def test_every_upgrader_compiles_to_what_the_old_schema_says(upgrader: Any) -> None:
    function = compiled(upgrader)
    assert len(function.graph.inputs()) == len(function.schema.arguments)
    assert [str(o.type()) for o in function.graph.outputs()] == [
        str(r.type) for r in function.schema.returns
    ]
    function.graph.lint()


@pytest.mark.parametrize(
    ("expression", "last_version", "old", "new"),
    [
        ("torch.div(x, y)", 3, [3, -3], [3.5, -3.5]),
        ("torch.div(x, 2)", 3, [3, -3], [3.5, -3.5]),
        ("torch.div(x, 2.)", 3, [3.5, -3.5], [3.5, -3.5]),
        ("torch.div_(torch.clone(x), 2)", 3, [3, -3], None),
        ('torch.div(x, y, rounding_mode="floor")', 3, [3, -4], [3, -4]),
        ("torch.full([2], 3)", 4, [3.0, 3.0], [3, 3]),
        ("torch.full([2], True, dtype=3)", 4, [1, 1], [1, 1]),
        ("torch.linspace(0, 1, 3)", 7, [0.0, 0.5, 1.0], [0.0, 0.5, 1.0]),
        ("torch.gelu(torch.zeros([1]))", 9, [0.0], [0.0]),
    ],
)
def test_old_and_new_meaning(
    expression: str, last_version: int, old: list[float], new: list[float] | None
) -> None:
    arguments = torch.tensor([7, -7]), torch.tensor([2, 2])
    result = function(expression, last_version)(*arguments).tolist()
    assert result == old and [type(v) for v in result] == [type(v) for v in old]
    for version in (last_version + 1, CURRENT_VERSION):
        if new is None:
            with pytest.raises(RuntimeError, match="can't be cast"):
                function(expression, version)(*arguments)
        else:
            result = function(expression, version)(*arguments).tolist()
            assert result == new and [type(v) for v in result] == [type(v) for v in new]


def test_a_hundred_steps_if_not_told() -> None:
    assert function("torch.linspace(0, 1, None)", 7)(torch.ones(1), torch.ones(1)).shape == (100,)
    with pytest.raises(RuntimeError):
        function("torch.linspace(0, 1, None)", 8)(torch.ones(1), torch.ones(1))


def test_nodes_of_today_stand_in_the_graph() -> None:
    kinds = [n.kind() for n in function("torch.gelu(x)", 9).graph.nodes()]
    assert kinds == ["prim::Constant", "aten::gelu"]


def test_the_table_is_pytorch_s() -> None:
    def table(theirs: Any) -> dict[str, int]:
        entries = [
            entry for entries in theirs._C._get_operator_version_map().values() for entry in entries
        ]
        return {
            entry.old_schema: entry.bumped_at_version - 1
            for entry in sorted(entries, key=lambda e: e.old_schema)
        }

    real = answer(table, family="archives").items()
    theirs = {k: v for k, v in real if "logspace" not in k}  # an operator that does not exist here
    # those exist there
    ours = {u.schema: u.last_version for u in UPGRADERS if "deprecated" not in u.schema}
    assert ours == theirs
