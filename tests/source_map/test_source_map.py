"""The source map names all modules, what it names exists, and `internals.where` finds its way from
words and from objects.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import internals as torch
import viz
from internals.__main__ import main as command
from internals.source_map import topics, where
from internals.source_map.entries import (
    FLOORS,
    FOLDER,
    ROOT,
    anchor,
    entries,
    entry_of_module,
    file_of,
    full_name,
)
from internals.source_map.place import line_of
from tools.source_map import PAGE, page

CLOSING = {"Recap", "How the real one differs", "Try it yourself", "Exercises"}
MODULES = sorted(
    str(path.relative_to(ROOT).with_suffix("")).replace("/", ".").removesuffix(".__init__")
    for package in ("internals", "viz", "codegen", "apparatus")
    for path in (ROOT / package).rglob("*.py")
)
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb"))


@cache
def headings(notebook: str) -> list[tuple[int, str]]:
    """Level and text of the headings of a notebook."""
    cells = json.loads((ROOT / "notebooks" / notebook).read_text())["cells"]
    lines = [
        line
        for cell in cells
        if cell["cell_type"] == "markdown"
        for line in re.sub(r"(?s)```.*?```", "", "".join(cell["source"])).splitlines()
    ]
    return [
        (len(m[1]), m[2].strip()) for m in (re.match(r"(#+) (.*)", line) for line in lines) if m
    ]


# the table


def test_every_floor_has_a_file_and_every_file_is_a_floor() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(FLOORS)


def test_topics_differ_and_lead_to_topics() -> None:
    names = topics()
    assert len(names) == len(set(names)) > 150
    assert not [
        (entry.topic, name) for entry in entries() for name in entry.next if name not in names
    ]
    assert all(entry.next and entry.words for entry in entries())


def test_every_module_is_named_by_an_entry() -> None:
    """A new module is found by a pattern, or has to be put on the map."""
    listed = {full_name(named.path) for entry in entries() for named in entry.ours}
    patterns = [
        re.compile(path.replace(".", r"\.").replace("*", ".*")) for path in listed if "*" in path
    ]
    unnamed = [
        m
        for m in MODULES
        if m not in listed and not any(pattern.fullmatch(m) for pattern in patterns)
    ]
    assert not unnamed, f"add them to internals/source_map/*.yaml: {unnamed}"
    assert all(entry_of_module(module) for module in MODULES)


def test_no_module_is_named_twice() -> None:
    listed = [named.path for entry in entries() for named in entry.ours if "*" not in named.path]
    assert sorted(listed) == sorted(set(listed))


def test_what_is_named_of_ours_exists() -> None:
    for entry in entries():
        for named in entry.ours:
            file = file_of(named.path)
            assert list(ROOT.glob(file)), f"{entry.topic}: {file}"
            for name in named.names:
                assert line_of(file, name), f"{entry.topic}: {file} has no {name}"


def test_sections_exist() -> None:
    for entry in entries():
        for section in entry.sections:
            assert section.heading in [text for _, text in headings(section.file)], (
                f"{entry.topic}: {section}"
            )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name[:3])
def test_every_section_of_a_notebook_is_on_the_map(notebook: Path) -> None:
    named = {
        section.heading
        for entry in entries()
        for section in entry.sections
        if section.number == notebook.name.partition("_")[0]
    }
    assert not [
        text
        for level, text in headings(notebook.name)
        if level == 2 and text not in named | CLOSING
    ]


def test_what_is_empty_is_explained() -> None:
    """Nothing then or nothing today: the note says since when, or another project has it."""
    for entry in entries():
        if not entry.then or not entry.today:
            assert entry.note or entry.elsewhere or entry.floor == "serving", entry.topic


# the page


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tools.source_map"


def test_links_of_the_page_lead_somewhere() -> None:
    text = PAGE.read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(([^)]+)\)", text))
    assert len(links) > 300
    own = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in text.splitlines()
        if line[:1] == "#"
    }
    for link in links:
        target, _, fragment = link.partition("#")
        assert (PAGE.parent / target).exists() if target else fragment in own, link
        if target.endswith(".ipynb"):
            assert unquote(fragment) in [
                unquote(anchor(text)) for _, text in headings(Path(target).name)
            ], link


def test_every_seed_is_answered() -> None:
    text = PAGE.read_text(encoding="utf-8")
    asked_of_us = (
        "generic/Tensor.cpp", "split_types", "cwrap", "pybind11", "VariableType", "which GPU",
        "by reference or copied", "extend the Python interpreter", "wrap the C libraries",
        "build system", "setup.py install", "contributor",
    )  # fmt: skip
    for asked in asked_of_us:
        assert asked in text.partition("## Questions, answered")[2], asked


# where: words


@pytest.mark.parametrize(
    "words, topic",
    {
        "autograd engine": "autograd engine",
        "autgrad engin": "autograd engine",
        "the engine of autograd": "autograd engine",
        "Storage": "storage",
        "csrc/generic/Tensor.cpp": "Python object of a tensor",
        "split_types": "code generation",
        "cwrap": "native_functions.yaml",
        "VariableType": "recording the graph",
        "how does the build work": "code generation",
        "which GPU are my variables on": "device",
        "how to start contributing": "source map",
        "THCCachingAllocator.cpp": "CUDA caching allocator",
        "aten/src/ATen/native/SoftMax.cpp": "softmax",
        "torch/csrc/jit/passes/loop_unrolling.cpp": "loop unrolling",
        "runImpl": "interpreter",
        "dead code": "dead code elimination",
        "derivatives.yaml": "derivatives.yaml",
        "aten::conv2d": "convolution",
        "aten::add_.Tensor": "pointwise kernels",
        "torch.nn.LSTM": "recurrent layers",
        "internals.core.storage": "storage",
        "torch.optim.lr_scheduler": "learning rate schedules",
        "model.json": "archive of 1.0.1",
        "head-of-line blocking": "two HTTPs",
        "pin_memory": "pinned memory",
        "ready queue": "autograd engine",
    }.items(),
)
def test_words_find_their_topic(words: str, topic: str) -> None:
    place = torch.where(words)
    assert topic in (place.topic, *place.also)


def test_every_topic_is_found_by_its_name() -> None:
    assert [where(topic).topic for topic in topics()] == topics()


THREE = r"the nearest topics .*\n(    \"[^\"]+\"  [\w/.]+.*  notebook \d\db?, .+\n?){3}$"


@pytest.mark.parametrize(
    "words",
    ["allocatter stragety", "aten::no_such_operator", "torch.no_such_name", "xyzzy plugh", ""],
)
def test_what_is_not_there_is_told_the_three_nearest_topics(words: str) -> None:
    with pytest.raises(LookupError, match=THREE):
        where(words)


def test_near_is_what_has_the_words() -> None:
    with pytest.raises(LookupError, match="CPU allocator|caching allocator"):
        where("allocatter stragety")


# where: objects


@cache
def graph_function() -> Any:
    return torch.jit.script(twice_transposed)


def twice_transposed(x):  # type: ignore[no-untyped-def]
    return x.t().t() + 1


def tensor() -> Any:
    return torch.ones(2, requires_grad=True)


OBJECTS: list[tuple[Callable[[], Any], str, str]] = [
    (tensor, "Python object of a tensor", "internals/_tensor/__init__.py"),
    (lambda: tensor().untyped_storage(), "storage", "internals/core/storage.py"),
    (
        lambda: tensor().untyped_storage().data_ptr_object,
        "CPU memory",
        "internals/core/cpu_allocator.py",
    ),
    (lambda: tensor().storage(), "typed storage", "internals/storage.py"),
    (lambda: tensor().shape, "strides and geometry", "internals/core/size.py"),
    (lambda: torch.float32, "dtype", "internals/core/dtype.py"),
    (lambda: torch.device("cpu"), "device", "internals/core/device.py"),
    (lambda: torch.channels_last, "memory format", "internals/core/formats.py"),
    (lambda: torch.Generator(), "random generator", "internals/core/generator.py"),
    (lambda: torch.add, "pointwise kernels", "internals/aten/native/pointwise.py"),
    (lambda: tensor().add, "pointwise kernels", "internals/aten/native/pointwise.py"),
    (lambda: torch.Tensor.mul_, "pointwise kernels", "internals/aten/native/pointwise.py"),
    (lambda: torch.softmax, "softmax", "internals/aten/native/softmax.py"),
    (lambda: torch.ops.aten.mul, "pointwise kernels", "internals/aten/native/pointwise.py"),
    (
        lambda: torch.ops.aten.mm.default,
        "matrix products",
        "internals/aten/native/linear_algebra.py",
    ),
    (lambda: torch.Tensor.backward, "autograd methods of Tensor", "internals/_tensor/autograd.py"),
    (lambda: torch.Tensor.shape, "tensor", "internals/core/tensor_impl.py"),
    (lambda: (tensor() * 2).grad_fn, "generated nodes", "internals/_generated/autograd_nodes.py"),
    (
        lambda: (tensor() * 2).grad_fn.next_functions[0][0],
        "gradient accumulation",
        "internals/autograd/accumulate_grad.py",
    ),
    (lambda: torch.autograd.Function, "custom functions", "internals/autograd/function.py"),
    (lambda: torch.autograd.grad, "backward and grad", "internals/autograd/api.py"),
    (lambda: torch.no_grad(), "grad mode", "internals/autograd/grad_mode.py"),
    (lambda: torch.nn.Linear(1, 1), "layers", "internals/nn/modules/linear.py"),
    (lambda: torch.nn.Conv2d, "convolution layers", "internals/nn/modules/conv.py"),
    (lambda: type("Mine", (torch.nn.Module,), {})(), "Module", "internals/nn/module.py"),
    (lambda: torch.nn.Parameter(torch.ones(1)), "parameters", "internals/nn/parameter.py"),
    (lambda: torch.nn.functional.cross_entropy, "nn.functional", "internals/nn/_losses.py"),
    (lambda: torch.nn.functional, "nn.functional", "internals/nn/functional.py"),
    (lambda: torch.optim.SGD([tensor()], lr=0.1), "optimizer", "internals/optim/sgd.py"),
    (lambda: torch.utils.data.DataLoader, "data loading", "internals/utils/data/dataloader.py"),
    (lambda: torch.jit.trace, "tracing", "internals/jit/tracing/api.py"),
    (lambda: graph_function(), "compiled modules", "internals/jit/script_function.py"),
    (lambda: graph_function().graph, "graph", "internals/jit/ir/graph.py"),
    (lambda: list(graph_function().graph.inputs())[0], "graph", "internals/jit/ir/value.py"),
    (lambda: list(graph_function().graph.nodes())[0], "graph", "internals/jit/ir/node.py"),
    (
        lambda: list(graph_function().graph.nodes())[-1],
        "pointwise kernels",
        "internals/aten/native/pointwise.py",
    ),
    (lambda: torch.save, "save and load", "internals/serialization/save_load.py"),
    (lambda: torch.from_numpy, "from numpy", "internals/construction/tensor_numpy.py"),
    (lambda: torch.einsum, "module torch", "internals/functional/__init__.py"),
    (lambda: torch.cuda, "CUDA runtime", "internals/cuda/__init__.py"),
    (lambda: torch.cuda.Stream, "streams", "internals/cuda/streams.py"),
    (lambda: torch.profiler.profile, "profiler", "internals/profiler/profiler.py"),
    (lambda: viz.memory, "pictures", "viz/rooms/memory.py"),
    (lambda: torch, "module torch", "internals/__init__.py"),
]


@pytest.mark.parametrize(
    "make, topic, file", OBJECTS, ids=[f"{i}-{topic}" for i, (_, topic, _) in enumerate(OBJECTS)]
)
def test_objects_are_found(make: Callable[[], Any], topic: str, file: str) -> None:
    place = where(make())
    assert (place.topic, place.ours[0].path) == (topic, file)
    assert len(place.ours[0].names) == 0 or place.line is not None


def test_objects_of_the_server_are_found() -> None:
    pytest.importorskip("prometheus_client", reason="the extra `serving` is not installed")
    from internals.serving.batching.batcher import Batcher

    assert where(Batcher).topic == "batching"


def test_objects_of_the_device_are_found() -> None:
    from internals.cuda.allocator.blocks import Block

    assert where(Block).topic == "CUDA caching allocator"
    assert where(torch.jit.ir).topic == "graph"


def test_every_public_name_is_found() -> None:
    constants = {"Any", "TYPE_CHECKING", "annotations", "e", "inf", "nan", "newaxis", "pi"}
    for name in dir(torch):
        if not name.startswith("_") and name not in constants:
            assert where(getattr(torch, name)).ours, name


@pytest.mark.parametrize("stranger", [3.5, (1, 2), None, {"a": 1}, ast.parse, subprocess])
def test_strangers_are_refused(stranger: Any) -> None:
    with pytest.raises(LookupError, match=f"is nothing of this package; {THREE}"):
        where(stranger)


def test_an_operator_tells_its_lines() -> None:
    place = where(torch.mul)
    assert (
        place.operator is not None
        and place.operator.declaration is not None
        and place.operator.derivative is not None
    )
    yaml_lines = (ROOT / place.operator.declaration.file).read_text().splitlines()
    assert yaml_lines[place.operator.declaration.line - 1].startswith("- func: mul.Tensor(")
    assert place.operator.derivative.text == (
        "self: grad * conj(other)",
        "other: grad * conj(self)",
    )
    assert "tools/autograd/derivatives.yaml" in [named.path for named in place.today]


# where: PyTorch's meaning, and how an answer reads


def test_where_of_a_tensor_is_pytorchs() -> None:
    condition = torch.tensor([True, False])
    assert [x.tolist() for x in torch.where(condition)] == [[0]]
    assert torch.where(condition, 1.0, 2.0).tolist() == [1.0, 2.0]
    for wrong in (3, None, [True], (True,)):
        with pytest.raises(TypeError, match="where"):
            torch.where(wrong)
    with pytest.raises(TypeError, match="where"):
        torch.where("storage", 1, 2)


def choose(c, a, b):  # type: ignore[no-untyped-def]
    return torch.where(c, a, b)


def test_where_compiles_to_the_operator() -> None:
    compiled = torch.jit.script(choose)
    assert [node.kind() for node in compiled.graph.nodes()] == ["aten::where"]
    c = torch.tensor([True, False])
    assert torch.jit.trace(choose, (c, torch.zeros(2), torch.ones(2)))(
        ~c, torch.zeros(2), torch.ones(2)
    ).tolist() == [
        1,
        0,
    ]


def test_an_answer_as_text() -> None:
    text = repr(where("gradcheck"))
    assert text == repr(where("gradcheck")) and "0x" not in text
    lines = text.splitlines()
    assert lines[0].startswith("gradcheck: is what backward computes")
    assert [line[2:12].strip() for line in lines[1:] if line[2:12].strip()] == [
        "here",
        "1.0.1",
        "today",
        "notebook",
        "next",
    ]
    columns = {
        line.index(names)
        for line, names in zip(lines[4:6], ("gradcheck, get_numerical_jacobian",) * 2)
    }
    assert len(columns) == 1


def test_an_answer_as_html_is_well_formed() -> None:
    for subject in ("convolution", torch.add, "models", "operator schema"):
        root = ElementTree.fromstring(where(subject)._repr_html_())
        assert root.tag == "table" and root.findall(".//a")


def test_line_numbers_are_given_where_asked_for() -> None:
    place = where(torch.nn.Linear)
    assert f"Linear (line {place.line})" in place.text(lines=True) and "(line" not in place.text()


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["where", "autograd", "engin"]) == 0
    assert "torch/csrc/autograd/engine.cpp" in capsys.readouterr().out
    assert command(["where", "xyzzy"]) == 1
    lost = capsys.readouterr()
    assert "the map has nothing about" in lost.err and not lost.out
    assert command(["where", "--topics"]) == 0
    assert capsys.readouterr().out.splitlines() == topics()


def test_the_map_is_read_when_first_asked() -> None:
    program = "import internals.source_map, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"yaml", "internals.source_map.entries", "difflib"}.intersection(loaded)
