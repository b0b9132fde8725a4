"""Exported programs that are damaged or made to harm: each loads, or an ArchiveError says which
record, and where in its JSON.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from internals import export
from internals.serialization.errors import ArchiveError
from tests.support import full

FOLDER = Path(__file__).parents[1] / "archives" / "pt2"
MODEL, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"
STARTS = ["everything", "counting_core", "blocks", "formulas", "kinds", "views"]


@cache
def records(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(FOLDER / f"{name}.pt2") as archive:
        return {each.partition("/")[2]: archive.read(each) for each in archive.namelist()}


def load(contents: dict[str, bytes]) -> export.ExportedProgram:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in contents.items():
            archive.writestr(f"x/{name}", data)
    return export.load(io.BytesIO(buffer.getvalue()))


def with_json(name: str, record: str, value: Any) -> export.ExportedProgram:
    return load({**records(name), record: json.dumps(value).encode()})


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        x = pending.pop()
        keys = list(x) if isinstance(x, dict) else range(len(x)) if isinstance(x, list) else []
        found += [(x, key) for key in keys]
        pending += [x[key] for key in keys]
    return found


ODD = [
    None, True, -1, 0, 3, 12, 2**62, 2**63 - 1, 10**30, 0.5, "", "x", "NaN", "self",
    "torch.ops.aten.add.Tensor", "../../data", "torch.ops.aten.split.Tensor",
    "torch.ops.higher_order.cond", "fc.weight", "a.b.c", "é", "\x00", [], {}, [[]], {"as_int": 1},
    {"as_tensor": {"name": "x"}}, {"as_none": True}, {"as_ints": [1, 2]}, "[" * 5000, "Symbol('x')",
    [1, {"type": None}],
]  # fmt: skip


def mutate(random: Random, value: Any, record: str) -> Any:
    value = copy.deepcopy(value)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        found = places(value)
        if not found:
            break
        container, key = random.choice(found)
        other, where = random.choice(found)
        match random.randrange(7):
            case 0:
                container[key] = copy.deepcopy(random.choice(ODD))
            case 1:
                del container[key]
            case 2:
                container[key] = copy.deepcopy(other[where])
            case 3 if isinstance(container, list):
                container.insert(key, copy.deepcopy(container[key]))
            case 4 if isinstance(container[key], int) and not isinstance(container[key], bool):
                container[key] += random.choice((-1, 1, 1000, 2**40, -(2**40)))
            case 5 if isinstance(container[key], str) and container[key]:
                i = random.randrange(len(container[key]))
                container[key] = (
                    container[key][:i]
                    + random.choice(("", "x", '"', "(", "[", "-", "9"))
                    + container[key][i + 1 :]
                )
            case 6 if isinstance(container, dict):
                container[random.choice(("as_int", "as_tensor", "as_graph", "x", "name"))] = (
                    container.pop(key)
                )
            case _:
                container[key] = [container[key]]
    return value


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("record", [MODEL, WEIGHTS])
def test_mutated_json_loads_or_is_refused_with_its_place(name: str, record: str) -> None:
    start = json.loads(records(name)[record])
    if record == MODEL:
        for container, key in places(start):
            if key == "metadata":
                container[key] = {}
    refused = 0
    for number in range((3000 if full() else 120) // (1 if record == MODEL else 3)):
        changed = mutate(Random(f"{name}:{record}:{number}"), start, record)
        try:
            program = with_json(name, record, changed)
            (
                repr(program),
                repr(program.graph_signature),
                str(program.in_spec),
                repr(program.range_constraints),
            )
        except ArchiveError as error:
            assert "record '" in str(error), number
            refused += 1
        except Exception as error:
            raise AssertionError(f"input {number}: {type(error).__name__}: {error}") from error
    assert refused


def changed(name: str, record: str, change: Any) -> export.ExportedProgram:
    """Load it with one thing changed by hand: `change` is given the JSON and returns nothing."""
    value = json.loads(records(name)[record])
    change(value["graph_module"]["graph"] if record == MODEL else value["config"])
    return with_json(name, record, value)


def nested_conditions(graph: dict[str, Any]) -> None:
    """`cond` inside its own first branch, 60 deep."""
    node = next(n for n in graph["nodes"] if n["target"].endswith("cond"))
    inner = copy.deepcopy(node)
    inner["inputs"][0]["arg"] = {"as_bool": True}
    inner["metadata"] = {}
    for _ in range(60):
        outer = copy.deepcopy(inner)
        branch = outer["inputs"][1]["arg"]["as_graph"]["graph"]
        branch["nodes"], branch["outputs"] = [inner], inner["outputs"]
        inner = outer
    node["inputs"] = inner["inputs"]


@pytest.mark.parametrize(
    "name, record, change, message",
    [
        ("views", WEIGHTS,
         lambda c: c["base"]["tensor_meta"]["sizes"].__setitem__(0, {"as_int": 4}),
         "base.tensor_meta fits no"),
        ("views", WEIGHTS,
         lambda c: c["base"]["tensor_meta"]["storage_offset"].update(as_int=2**62),
         "base.tensor_meta fits"),
        ("views", WEIGHTS,
         lambda c: c["base"]["tensor_meta"]["strides"].__setitem__(0, {"as_int": -1}),
         "base.tensor_meta fits"),
        ("views", WEIGHTS, lambda c: c["base"]["tensor_meta"].update(dtype=13),
         "base.tensor_meta.dtype is dtype bfloat16"),
        ("views", WEIGHTS, lambda c: c["base"].update(path_name="../../archive_format"),
         "archive_format"),
        ("views", WEIGHTS, lambda c: c["base"].update(use_pickle=True), "config.base is pickled"),
        ("views", WEIGHTS, lambda c: c.pop("row"),
         "buffer_name is 'row', of which the archive has no tensor"),
        ("kinds", MODEL, lambda g: g["nodes"].append(g["nodes"][0]),
         r"outputs\[0\].as_tensor.name is '.*', which another"),
        ("kinds", MODEL, lambda g: g["nodes"].reverse(),
         r"names the value '\w+', which no node before has made"),
        ("kinds", MODEL, lambda g: g["nodes"][0].pop("inputs"), r"nodes\[0\] has no 'inputs'"),
        ("kinds", MODEL, lambda g: g["nodes"][0].update(outputs=3),
         r"nodes\[0\].outputs is 3, not a list"),
        ("choice", MODEL, nested_conditions,
         r"as_graph.graph.nodes\[0\].inputs\[1\].arg is nested too deep"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(
    name: str, record: str, change: Any, message: str
) -> None:
    with pytest.raises(ArchiveError, match=message):
        changed(name, record, change)


@pytest.mark.parametrize(
    "text, message",
    [
        ("[" * 200_000, "models/model.json"),
        (
            '{"schema_version": {"major": 1}, "schema_version": {"major": 8}}',
            "the key 'schema_version' is there twice",
        ),
        ('{"schema_version": {"major": 99}}', "schema_version is 99; versions 5 to 8 can be read"),
        ('{"schema_version": {"major": 8}}', "the top has no 'graph_module'"),
        ("9" * 5000, "models/model.json"),
        ("null", "the top is null, not an object"),
        ("\xff", "models/model.json"),
    ],
)
def test_json_that_is_no_program_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        load({**records("kinds"), MODEL: text.encode("latin-1")})


@pytest.mark.parametrize(
    "spec, message",
    [
        (
            "[1, "
            + '{"type": "builtins.list", "context": null, "children_spec": [' * 150
            + "]}" * 150
            + "]",
            "nested too deep",
        ),
        ("[" * 100_000, "model.json"),
        (
            '[1, {"type": "os.system", "context": null, "children_spec": []}]',
            r"in_spec.*is os.system, which is not known here",
        ),
        (
            '[1, {"type": "builtins.dict", "context": "[1, 2]", "children_spec": []}]',
            "keys do not match",
        ),
        ('[1, {"type": null}]', "has 1 leaves; the graph has 6 inputs"),
    ],
)
def test_forms_of_inputs_that_are_none_are_refused(spec: str, message: str) -> None:
    value = json.loads(records("kinds")[MODEL])
    value["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = spec
    with pytest.raises(ArchiveError, match=message):
        with_json("kinds", MODEL, value)


def test_what_is_written_to_must_be_there() -> None:
    value = json.loads(records("counting_core")[MODEL])
    specs = value["graph_module"]["signature"]["output_specs"]
    mutation = next(spec["buffer_mutation"] for spec in specs if spec.get("buffer_mutation"))
    for name in ("torch.bn.running_mean", "bn", "bn.running_mean.x", ""):
        mutation["buffer_name"] = name
        with pytest.raises(
            ArchiveError,
            match=r"buffer_mutation.buffer_name is '.*', which is no tensor of the program",
        ):
            with_json("counting_core", MODEL, value)
