"""What real PyTorch compiles and saves here and now, we load: the same outputs, the same code and
the same graphs.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest

import internals
from internals.serialization.script.script_reader import load_script
from tests.answers import RealTensor, oracle, plain
from tests.jit import corpus as jit_corpus
from tests.serialization.archives import saved_by_pytorch
from tests.serialization.expected import assert_same
from tests.support import dtype_named, full


def saved(torch: Any, m: Any) -> bytes:
    file = io.BytesIO()
    torch.jit.save(m, file)
    return file.getvalue()


def load(data: bytes) -> Any:
    return load_script(io.BytesIO(data))


def as_ours(value: Any) -> Any:
    """PyTorch's result, as the answer has it, as a value of ours."""
    if isinstance(value, RealTensor):
        return internals.tensor(value.tolist(), dtype=dtype_named(value.dtype)).reshape(value.shape)
    if isinstance(value, (list, tuple)):
        parts = [as_ours(v) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    return {k: as_ours(v) for k, v in value.items()} if isinstance(value, dict) else value


def shape_of(graph: Any) -> str:
    """The text of a graph with values numbered in order, and neither positions nor numbers of
    classes.
    """
    text = re.sub(r" # .*|torch_mangle_\d+", "", str(graph))
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text)


def compiled(torch: Any, p: Any, how: str) -> Any:
    """A program, scripted or traced; None where that is not possible."""
    f = p.function() if p.module else p.function
    try:
        return (
            torch.jit.script(f)
            if how == "script"
            else torch.jit.trace(f, p.arguments(torch), check_trace=False)
        )
    except (RuntimeError, NotImplementedError, TypeError, torch.jit.frontend.NotSupportedError):
        return None  # arguments that cannot be traced, and the like: PyTorch's affair


OURS = jit_corpus.programs_of(internals)


@pytest.mark.sampled(1 / 3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(OURS))
def test_programs(name: str) -> None:
    def ask(torch: Any, how: str) -> Any:
        torch.manual_seed(0)
        program = jit_corpus.programs_of(torch)[name]
        made = compiled(torch, program, how)
        if made is None:
            return None, None
        theirs = torch.jit.load(io.BytesIO(data := saved(torch, made)))
        torch.manual_seed(0)
        return data, (theirs.code, shape_of(theirs.graph), theirs(*program.arguments(torch)))

    compared = 0
    for how in ("script", "trace"):
        data, said = saved_by_pytorch(lambda torch, how=how: ask(torch, how))
        if data is not None:
            code, graph, expected = said
            ours = load(data)
            assert ours.code == code and shape_of(ours.graph) == graph
            internals.manual_seed(0)
            assert_same(ours(*OURS[name].arguments(internals)), as_ours(expected))
            compared += 1
    assert compared


MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 3, 4)),
    "group_norm": (
        lambda nn: nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.GroupNorm(2, 4), nn.GELU()),
        (1, 2, 5, 5),
    ),
    "transposed": (
        lambda nn: nn.Sequential(nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), nn.LeakyReLU(0.1)),
        (1, 2, 3, 3),
    ),
    "pooled": (
        lambda nn: nn.Sequential(
            nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Softmax(1)
        ),
        (1, 2, 4, 4),
    ),
    "conv1d": (
        lambda nn: nn.Sequential(nn.Conv1d(2, 3, 3, padding=1), nn.Hardtanh(), nn.LayerNorm(4)),
        (1, 2, 4),
    ),
    "linear": (lambda nn: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0), nn.SiLU()), (2, 4)),
}  # fmt: skip


@pytest.mark.sampled(1 / 3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, train",
    [
        (name, train)
        for name in sorted(MODULES)
        for train in (False, True)
        if full() or (name, train) != ("encoder", True)
    ],
)
def test_modules(name: str, train: bool) -> None:
    make, sizes = MODULES[name]
    x = np.random.default_rng(0).standard_normal(sizes, np.float32)

    def ask(torch: Any, how: str) -> Any:
        torch.manual_seed(0)
        m, given = make(torch.nn).train(train), torch.from_numpy(x)
        form = (
            torch.jit.script(m) if how == "script" else torch.jit.trace(m, given, check_trace=False)
        )
        theirs = torch.jit.load(io.BytesIO(data := saved(torch, form)))
        return data, (theirs.code, repr(theirs), theirs(given), dict(theirs.state_dict()))

    for how in ("script", "trace"):
        data, (code, text, expected, state) = saved_by_pytorch(
            lambda torch, how=how: ask(torch, how)
        )
        ours = load(data)
        assert ours.code == code and repr(ours) == text
        assert_same(ours(internals.from_numpy(x.copy())), as_ours(expected))
        assert_same(dict(ours.state_dict()), as_ours(state))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, how",
    [("resnet18", "trace"), ("squeezenet1_1", "script")]
    + [
        ("resnet18", "script"),
        ("squeezenet1_1", "trace"),
        ("mobilenet_v2", "trace"),
        ("mobilenet_v2", "script"),
    ]
    * full(),
)
def test_models_of_torchvision(name: str, how: str) -> None:
    torch = oracle()
    torchvision = pytest.importorskip("torchvision", reason="the models come from torchvision")
    torch.manual_seed(0)
    m, x = getattr(torchvision.models, name)().eval(), torch.randn(1, 3, 48, 48)
    form = torch.jit.script(m) if how == "script" else torch.jit.trace(m, x, check_trace=False)
    ours = load(saved(torch, form))
    with internals.no_grad(), torch.no_grad():
        assert_same(ours(internals.from_numpy(x.numpy())), as_ours(plain(form(x))))


def test_extra_files_and_errors_are_pytorch_s(tmp_path: Any) -> None:
    def refusals(read: Any, path: Any) -> list[str]:
        words = []
        for arguments in (("none.pt",), (str(tmp_path),), (str(path), 3)):
            with pytest.raises(ValueError) as error:
                read(*arguments)
            words.append(str(error.value).replace(str(tmp_path), "FOLDER"))
        return words

    path = tmp_path / "m.pt"

    def ask(torch: Any) -> Any:
        torch.jit.save(torch.jit.script(torch.nn.Identity()), path, _extra_files={"a": "é"})
        found = {"a": "", "b": ""}
        torch.jit.load(path, _extra_files=found)
        return path.read_bytes(), (found, refusals(torch.jit.load, path))

    data, (found, words) = saved_by_pytorch(ask)
    path.write_bytes(data)
    ours = {"a": "", "b": ""}
    load_script(str(path), extra_files=ours)
    assert ours == found
    assert refusals(load_script, path) == words


def test_gradients_are_pytorch_s() -> None:
    x = np.random.default_rng(0).standard_normal((5, 3), np.float32)

    def ask(torch: Any) -> Any:
        torch.manual_seed(0)
        m = torch.jit.script(
            torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        )
        theirs = torch.jit.load(io.BytesIO(data := saved(torch, m)))
        theirs(torch.from_numpy(x)).sum().backward()
        return data, {name: p.grad for name, p in theirs.named_parameters()}

    data, gradients = saved_by_pytorch(ask)
    ours = load(data)
    ours(internals.from_numpy(x.copy())).sum().backward()
    assert [name for name, _ in ours.named_parameters()] == list(gradients)
    for name, mine in ours.named_parameters():
        assert_same(mine.grad, as_ours(gradients[name])), name
