"""A model that answers: names of results, errors in one line, threads, files that are damaged or
not archives.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
import weakref
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import internals as torch
from internals import nn
from internals.jit.runtime.convolution_group import group_of
from internals.serialization.errors import ArchiveError
from internals.serving.errors import ModelFailed
from internals.serving.models import warm_up
from internals.serving.models.model_file import FileIsChanging, load_model, read_path, read_whole
from internals.serving.models.row_counts import next_count, row_counts, rows_to_run
from internals.serving.models.served_model import (
    LONGEST_MESSAGE,
    ServedModel,
    named_tensors,
    one_line,
)
from internals.serving.settings import Settings
from tests.serialization.hostile_archives import script
from tests.serving import models_support as nets
from tests.support import oracle, to_numpy

ARCHIVES = Path(__file__).parent.parent / "archives"


def served(function, **settings):
    return ServedModel.from_module(function, "m", settings=Settings(**settings))


# Results


def test_names_of_results():
    x, y = torch.zeros(1), torch.ones(1)
    assert list(named_tensors(x)) == ["OUTPUT__0"]
    assert list(named_tensors((x, y))) == ["OUTPUT__0", "OUTPUT__1"]
    assert list(named_tensors([x])) == ["OUTPUT__0"]
    assert list(named_tensors(OrderedDict(b=x, a=y))) == ["b", "a"]
    assert list(named_tensors(nets.Pair(x, y))) == ["total", "picture"]
    assert list(named_tensors((None, y))) == ["OUTPUT__1"]


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (3, "a int"),
        (None, "a NoneType"),
        ("text", "a str"),
        ((torch.zeros(1), 3), "'OUTPUT__1' is a int, which is no tensor"),
        ({"a": [torch.zeros(1)]}, "'a' is a list, which has others inside"),
        (
            torch.zeros(1, dtype=torch.complex64),
            "'OUTPUT__0' is .*complex64, which has no name in the protocol",
        ),
        ({1: torch.zeros(1)}, "keys are not all texts"),
    ],
)
def test_results_that_cannot_be_sent_say_so(result, says):
    model = served(lambda x: result)
    with pytest.raises(ModelFailed, match=says) as error:
        model.run([torch.zeros(1)])
    assert "\n" not in str(error.value)


def test_it_is_in_evaluation_mode_and_records_nothing():
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.99))
    model = served(net)
    out = model.run([torch.ones(1, 2)])["OUTPUT__0"]
    assert not net.training and not out.requires_grad
    assert torch.equal(out, net[0](torch.ones(1, 2)))
    assert torch.is_grad_enabled()


def test_numbers_come_as_tensors_of_one_element():
    model = served(torch.jit.script(nets.Steps().eval()))
    x = torch.ones(1, 2)
    layer = model._program.module.layer
    assert torch.equal(
        model.run([x, torch.tensor([2])])["OUTPUT__0"], layer(layer(layer(x))).detach()
    )
    assert not model.batchable
    with pytest.raises(
        ModelFailed, match="'steps' is a number: it is sent as a tensor of one element, not of 2"
    ):
        model.run([x, torch.tensor([1, 2])])


def test_arguments_between_those_with_defaults():
    class Gap(nn.Module):
        def forward(self, x, scale: float = 3.0, *, y):
            return x * scale + y

    with pytest.raises(TypeError, match="'y' can only be given by keyword"):
        served(Gap())


@pytest.mark.parametrize(("archive", "argument"), [("containers", "xs"), ("strings", "who")])
def test_arguments_that_no_request_can_bring(archive, argument):
    with pytest.raises(
        TypeError, match=f"'{argument}' of forward is a .*, which no request can bring"
    ):
        ServedModel(ARCHIVES / f"torchscript/{archive}.pt", "m")


# Errors


def test_the_message_is_the_models_own_in_one_line():
    model = served(torch.jit.script(nets.mlp().eval()))
    with pytest.raises(
        ModelFailed, match=r"^mat1 and mat2 shapes cannot be multiplied \(2x5 and 6x5\)$"
    ):
        model.run([torch.zeros(2, 5)])
    assert model.run([torch.zeros(2, 6)])["OUTPUT__0"].shape == (2, 3)


def test_one_line():
    assert one_line(KeyError("a")) == "KeyError: 'a'"
    assert one_line(ValueError()) == "ValueError"
    assert one_line(RuntimeError("a\n\tb \x00c")) == "a b c"
    assert len(one_line(RuntimeError("x" * 10_000))) == LONGEST_MESSAGE


def test_an_error_keeps_nothing_of_the_model_alive():
    """Neither the model's frames, with what they computed, nor, once it is dropped itself, the
    inputs: there is no cycle.
    """

    def fail(x):
        inside = x + 1
        seen.append((weakref.ref(x._storage), weakref.ref(inside._storage)))
        raise RuntimeError("no")

    seen: list = []
    model = served(fail)
    gc.disable()
    try:
        with pytest.raises(ModelFailed) as caught:
            model.run([torch.zeros(1000)])
        assert caught.value.__context__ is None and seen[0][1]() is None
        del caught
        assert seen[0][0]() is None
    finally:
        gc.enable()


def test_a_model_that_fails_on_zeros_is_served_all_the_same():
    class Picky(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            if bool((x == 0).all()):
                raise ValueError("zeros bore me")
            return self.layer(x)

    model = served(Picky())
    assert "zeros bore me" in model.notes[0] and model.signature.outputs == ()
    assert model.run([torch.ones(4, 2)])["OUTPUT__0"].shape == (4, 2)


# Rows


def test_what_speaks_against_batches():
    assert served(nets.mlp()).batchable
    assert not served(lambda x: x.sum(), inputs=("x:FP32:-1,2",)).batchable  # no rows
    assert not served(lambda x: torch.cat([x, x]), inputs=("x:FP32:-1,2",)).batchable  # other rows
    assert not served(lambda x: x * 2, inputs=("x:FP32:3,2",)).batchable  # a fixed number of them
    assert served(lambda x: x * 2, inputs=("x:FP32:-1,2",)).batchable
    assert served(lambda x: x * 2).batchable  # nothing is known


def test_a_trace_that_remembers_its_rows():
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x).view(int(x.shape[0]), 2)

    model = served(torch.jit.trace(Fixed().eval(), (torch.zeros(2, 2),)))
    assert not model.batchable and model.signature.outputs[0].shape is None


def test_an_exported_program_knows_how_many_rows():
    model = ServedModel(ARCHIVES / "pt2/small.pt2", "small")
    assert (
        model.max_rows == 64 and model.batchable and model.platform == "internals_exported_program"
    )
    assert str(model.signature) == "x: FP32 [-1, 4]  ->  OUTPUT__0: FP32 [-1, 2]"
    with pytest.raises(ModelFailed, match="Guard failed"):
        model.run([torch.zeros(65, 4)])
    fixed = ServedModel(ARCHIVES / "pt2/views.pt2", "views")
    assert not fixed.batchable and str(fixed.signature.inputs[0]) == "x: FP32 [4]"


def test_an_exported_program_with_operators_that_are_not_known():
    with pytest.raises(NotImplementedError, match="twice"):
        ServedModel(ARCHIVES / "pt2/unknown.pt2", "unknown")


# Optimised


def test_optimised_it_answers_the_same():
    x = torch.randn(3, 6, generator=torch.Generator().manual_seed(1))
    plain, fast = served(nets.mlp()), served(nets.mlp(), optimize=True, max_batch=4)
    assert torch.allclose(plain.run([x])["OUTPUT__0"], fast.run([x])["OUTPUT__0"], atol=1e-6)
    assert fast.notes == ()


def test_row_counts():
    assert (
        row_counts(32) == (1, 3, 10, 32) and row_counts(4) == (1, 2, 3, 4) and row_counts(1) == (1,)
    )
    assert [next_count(n, (1, 3, 10)) for n in (0, 1, 2, 3, 4, 10, 11)] == [1, 1, 3, 3, 10, 10, 11]


def test_of_the_rows_that_wait_as_many_are_run_as_waste_little():
    waiting = (1, 2, 3, 5, 7, 8, 10, 16, 23, 24, 32)
    assert [rows_to_run(n, (1, 3, 10, 32)) for n in waiting] == [
        1,
        1,
        3,
        3,
        3,
        8,
        10,
        10,
        10,
        24,
        32,
    ]
    assert [rows_to_run(n, ()) for n in waiting] == list(waiting)


def test_optimised_convolutions_are_built_for_few_row_counts():
    """All of them before the first request; and the rows that fill up are not seen."""
    pytest.importorskip("llvmlite", reason="kernels of convolutions are compiled with LLVM")
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    model = served(net, optimize=True, max_batch=8, inputs=("input:FP32:-1,3,9,9",))
    assert model._row_counts == (1, 2, 4, 8) and model.notes == ()
    (node,) = model._program.function.graph.findAllNodes("prim::ConvolutionGroup")
    built = list(group_of(node).networks)
    assert len(built) == 4
    for rows in (1, 3, 5, 7, 8, 2, 6):
        x = torch.randn(rows, 3, 9, 9)
        assert torch.allclose(model.run([x])["OUTPUT__0"], net(x).detach(), atol=1e-5)
    assert list(group_of(node).networks) == built


def test_what_cannot_be_optimised_is_served_as_it_is():
    model = ServedModel(ARCHIVES / "pt2/small.pt2", "small", settings=Settings(optimize=True))
    assert "not optimised" in model.notes[0]
    assert model.run([torch.zeros(2, 4)])["OUTPUT__0"].shape == (2, 2)


# Threads


@pytest.mark.parametrize("compiled", [False, True])
def test_several_threads_run_one_model(compiled):
    """From the very first run on, which compiles."""
    net = nets.mlp()
    model = served(torch.jit.script(net.eval()) if compiled else net)
    inputs = [torch.full((1 + i % 5, 6), float(i)) for i in range(40)]
    expected = [net(x).detach() for x in inputs]
    wrong: list = []
    start = threading.Barrier(4)

    def work(first: int) -> None:
        start.wait()
        for i in range(first, 40, 4):
            got = model.run([inputs[i]])["OUTPUT__0"]
            if not torch.allclose(got, expected[i], atol=1e-6) or got.requires_grad:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# Files


def test_the_file_may_be_overwritten_while_its_model_is_served(tmp_path):
    """A mapped file that shrinks ends the process; a copy does not care."""
    path = tmp_path / "m.pt"
    path.write_bytes(nets.archive(nets.Constant(7.0, bulk=100_000)))
    model = ServedModel(path, "m")
    path.write_bytes(b"short")
    assert torch.equal(model.run([torch.zeros(1, 2)])["OUTPUT__0"], torch.full((1, 2), 7.0))


def test_every_damage_is_seen(tmp_path):
    data = nets.archive(nets.Constant(7.0, bulk=1000))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
    for info in infos:
        if not info.file_size:
            continue
        start = (
            info.header_offset
            + 30
            + int.from_bytes(data[info.header_offset + 26 : info.header_offset + 28], "little")
        )
        start += int.from_bytes(data[info.header_offset + 28 : info.header_offset + 30], "little")
        damaged = bytearray(data)
        damaged[start + info.compress_size // 2] ^= 0x10
        with pytest.raises(ArchiveError, match="m.pt"):
            load_model(bytes(damaged), "m.pt")


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_half_a_file_is_no_model(part):
    data = nets.archive(nets.Constant(7.0, bulk=1000))
    with pytest.raises(ArchiveError, match="m.pt"):
        load_model(data[: int(part * len(data))], "m.pt")


@pytest.mark.parametrize("name", ["state_dict.pt", "values.pt"])
def test_a_state_dict_is_no_model(name):
    with pytest.raises(ArchiveError, match="torch.save"):
        ServedModel(ARCHIVES / "torch_save" / name, "m")


def test_a_pickle_is_never_run(tmp_path):
    """An archive whose data.pkl would call something, were it unpickled by `pickle`."""

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    import pickle

    data = nets.archive(nets.Constant(7.0))
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(
                info.filename,
                pickle.dumps(Evil(), protocol=2) if info.filename.endswith("data.pkl") else content,
            )
    with pytest.raises(ArchiveError):
        load_model(buffer.getvalue(), "m.pt")
    assert not (tmp_path / "made").exists()


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(b"x" * 1000)

    class Growing(io.FileIO):
        def read(self, size=-1):
            data = super().read(size)
            with open(path, "ab") as other:
                other.write(b"more")
            return data

    with Growing(path) as file, pytest.raises(FileIsChanging, match="m.pt was written to"):
        read_whole(file, "m.pt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "m.pt")
    with pytest.raises(OSError, match="no regular file"):
        read_path(tmp_path / "m.pt")
    with pytest.raises(FileNotFoundError):
        read_path(tmp_path / "none.pt")


# Real PyTorch's archives


def test_archives_of_real_pytorch(tmp_path):
    real = oracle()

    n = real.nn
    module = n.Sequential(
        n.Conv2d(3, 4, 3), n.ReLU(), n.AdaptiveAvgPool2d(1), n.Flatten(), n.Linear(4, 2)
    ).eval()
    x = np.random.default_rng(0).standard_normal((2, 3, 9, 9)).astype(np.float32)
    expected = module(real.from_numpy(x)).detach().numpy()
    real.jit.script(module).save(tmp_path / "scripted.pt")
    real.jit.trace(module, real.zeros(1, 3, 8, 8)).save(tmp_path / "traced.pt")
    real.jit.freeze(real.jit.script(module)).save(tmp_path / "frozen.pt")
    batch = real.export.Dim("batch", min=2, max=32)
    program = real.export.export(module, (real.zeros(2, 3, 9, 9),), dynamic_shapes=({0: batch},))
    real.export.save(program, tmp_path / "exported.pt2")
    for name in ("scripted.pt", "traced.pt", "frozen.pt", "exported.pt2"):
        model = ServedModel(tmp_path / name, "m")
        sizes = "9, 9" if name == "exported.pt2" else "-1, -1"
        assert (
            str(model.signature) == f"input: FP32 [-1, 3, {sizes}]  ->  OUTPUT__0: FP32 [-1, 2]"
        ), name
        assert model.batchable and model.max_rows == (32 if name == "exported.pt2" else None)
        np.testing.assert_allclose(
            to_numpy(model.run([torch.from_numpy(x)])["OUTPUT__0"]), expected, atol=1e-5
        )


# A model that does not come to an end

NESTED = "".join(f"d{i + 1} = [d{i}, d{i}]\n" for i in range(40))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("while True:\n  x = torch.add(x, 1)\nreturn x", "it was stopped after 0.3 seconds"),
        (
            f"d0 = [torch.size(x, 0), 2]\n{NESTED}return torch.add(x, torch.len(str(d40)))",
            "it was stopped after 0.3 seconds",
        ),
        (
            's = "12345678"\n' + "s = torch.add(s, s)\n" * 40 + "return torch.add(x, torch.len(s))",
            "it was stopped",
        ),
        (
            "return torch.add(x, torch.sum(torch.zeros([1000000000])))",
            "can't allocate 4294967296 bytes for a model that",
        ),
    ],
)
def test_the_warm_up_of_a_model_has_a_budget(monkeypatch, body: str, says: str) -> None:
    """The model is served all the same, without its outputs being known; nothing goes on watching
    it.
    """
    monkeypatch.setattr(warm_up, "SECONDS", 0.3)
    monkeypatch.setattr(warm_up, "NBYTES", 256 << 20)
    before, settings = sys.gettrace(), Settings(inputs=("x:FP32:-1,3",))
    model = ServedModel("m.pt", "m", settings=settings, data=script(body))
    assert [note for note in model.notes if "outputs are not known" in note and says in note], (
        model.notes
    )
    assert sys.gettrace() is before


def test_the_budget_is_for_the_warm_up_alone(monkeypatch) -> None:
    monkeypatch.setattr(warm_up, "SECONDS", 0.0)
    body = "for i in range(1000):\n  x = torch.add(x, 1)\nreturn x"
    model = ServedModel("m.pt", "m", settings=Settings(inputs=("x:FP32:-1,3",)), data=script(body))
    assert "it was stopped after 0 seconds" in model.notes[0]
    assert model.run([torch.zeros(1, 3)])["OUTPUT__0"].tolist() == [[1000.0] * 3]
