"""What real PyTorch compiles and saves here and now, we load: the same outputs, the same code and the same graphs."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

import internals
from internals.serialization.script.script_reader import load_script
from tests import jit_corpus
from tests.serialization_expected import assert_same
from tests.support import full

torch = pytest.importorskip("torch")


def saved(m: Any) -> bytes:
    file = io.BytesIO()
    torch.jit.save(m, file)
    return file.getvalue()


def both(data: bytes) -> tuple[Any, Any]:
    return load_script(io.BytesIO(data)), torch.jit.load(io.BytesIO(data))


def as_ours(value: Any) -> Any:
    """PyTorch's result as a value of ours."""
    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        return internals.tensor(value.detach().tolist(), dtype=getattr(internals, name)).reshape(tuple(value.shape))
    if isinstance(value, torch.Size):
        return list(value)
    if isinstance(value, (list, tuple)):
        parts = [as_ours(v) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {k: as_ours(v) for k, v in value.items()}
    return internals.device(str(value)) if isinstance(value, torch.device) else value


def shape_of(graph: Any) -> str:
    """The text of a graph with values numbered in order, and neither positions nor numbers of classes."""
    text = re.sub(r" # .*|torch_mangle_\d+", "", str(graph))
    names: dict[str, str] = {}
    return re.sub(r"%[\w.]+", lambda m: names.setdefault(m.group(), f"%{len(names)}"), text)


def compiled(p: Any) -> list[Any]:
    """A program, scripted and, where that is possible, traced."""
    found = []
    for how in ("script", "trace"):
        f = p.function() if p.module else p.function
        try:
            found.append(torch.jit.script(f) if how == "script" else torch.jit.trace(f, p.arguments(torch), check_trace=False))
        except (RuntimeError, NotImplementedError, TypeError, torch.jit.frontend.NotSupportedError):
            continue  # arguments that cannot be traced, and the like: PyTorch's affair
    return found


PROGRAMS = jit_corpus.load(torch)
OURS = jit_corpus.load(internals)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs(name: str) -> None:
    torch.manual_seed(0)
    made = compiled(PROGRAMS[name])
    assert made
    for m in made:
        ours, theirs = both(saved(m))
        assert ours.code == theirs.code
        assert shape_of(ours.graph) == shape_of(theirs.graph)
        torch.manual_seed(0)
        internals.manual_seed(0)
        expected = as_ours(theirs(*PROGRAMS[name].arguments(torch)))
        assert_same(ours(*OURS[name].arguments(internals)), expected)


MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (2, 3, 4)),
    "group_norm": (lambda nn: nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.GroupNorm(2, 4), nn.GELU()), (1, 2, 5, 5)),
    "transposed": (lambda nn: nn.Sequential(nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), nn.LeakyReLU(0.1)), (1, 2, 3, 3)),
    "pooled": (lambda nn: nn.Sequential(nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Softmax(1)), (1, 2, 4, 4)),
    "conv1d": (lambda nn: nn.Sequential(nn.Conv1d(2, 3, 3, padding=1), nn.Hardtanh(), nn.LayerNorm(4)), (1, 2, 4)),
    "linear": (lambda nn: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0), nn.SiLU()), (2, 4)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, train",
    [(name, train) for name in sorted(MODULES) for train in (False, True) if full() or (name, train) != ("encoder", True)],
)
def test_modules(name: str, train: bool) -> None:
    make, sizes = MODULES[name]
    torch.manual_seed(0)
    m, x = make(torch.nn).train(train), torch.randn(sizes)
    for form in (torch.jit.script(m), torch.jit.trace(m, x, check_trace=False)):
        ours, theirs = both(saved(form))
        assert ours.code == theirs.code and repr(ours) == repr(theirs)
        assert_same(ours(as_ours(x)), as_ours(theirs(x)))
        assert_same(dict(ours.state_dict()), {k: as_ours(v) for k, v in theirs.state_dict().items()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, how",
    [("resnet18", "trace"), ("squeezenet1_1", "script")]
    + [("resnet18", "script"), ("squeezenet1_1", "trace"), ("mobilenet_v2", "trace"), ("mobilenet_v2", "script")] * full(),
)
def test_models_of_torchvision(name: str, how: str) -> None:
    torchvision = pytest.importorskip("torchvision", reason="the models come from torchvision")
    torch.manual_seed(0)
    m, x = getattr(torchvision.models, name)().eval(), torch.randn(1, 3, 48, 48)
    form = torch.jit.script(m) if how == "script" else torch.jit.trace(m, x, check_trace=False)
    ours, theirs = both(saved(form))
    with internals.no_grad(), torch.no_grad():
        assert_same(ours(as_ours(x)), as_ours(theirs(x)))


def test_extra_files_and_errors_are_pytorch_s(tmp_path: Any) -> None:
    path = str(tmp_path / "m.pt")
    torch.jit.save(torch.jit.script(torch.nn.Identity()), path, _extra_files={"a": "é"})
    ours, theirs = {"a": "", "b": ""}, {"a": "", "b": ""}
    load_script(path, extra_files=ours)
    torch.jit.load(path, _extra_files=theirs)
    assert ours == theirs
    for arguments in (("none.pt",), (str(tmp_path),), (path, 3)):
        with pytest.raises(ValueError) as expected:
            torch.jit.load(*arguments)
        with pytest.raises(ValueError) as raised:
            load_script(*arguments)
        assert str(raised.value) == str(expected.value)


def test_gradients_are_pytorch_s() -> None:
    torch.manual_seed(0)
    m = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)))
    x = torch.randn(5, 3)
    ours, theirs = both(saved(m))
    ours(as_ours(x)).sum().backward()
    theirs(x).sum().backward()
    for (name, mine), (_, other) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert_same(mine.grad, as_ours(other.grad)), name
