"""The programs behind `torchscript/*.pt`, written for real PyTorch; `make_torchscript.py` compiles,
runs and saves them.

Together they have everything that the code of an archive can contain. `CASES` has, for each
archive, what makes the compiled module and the calls that are recorded: (method, arguments).
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Tuple  # noqa: UP035

import torch
from torch import Tensor, nn


class Pair(NamedTuple):
    first: Tensor
    second: int


class Point:
    def __init__(self, x: int, y: float):
        self.x = x
        self.y = y

    def moved(self, by: int) -> int:
        self.x = self.x + by
        return self.x


class ControlFlow(nn.Module):
    def forward(self, x: Tensor, n: int) -> tuple[Tensor, int]:
        total = 0
        for i in range(n):
            if i == 2:
                continue
            if i > 5:
                break
            total += i
        while total > 3:
            total -= 2
            if total == 4:
                return x * 10, total
        return self.collatz(x, n)

    def collatz(self, x: Tensor, n: int) -> tuple[Tensor, int]:
        steps = 0
        while n != 1 and steps < 20:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return x + n, steps


class Containers(nn.Module):
    def forward(
        self, xs: list[Tensor], d: dict[str, int]
    ) -> tuple[list[Tensor], dict[str, int], list[int], int]:
        out: list[Tensor] = []
        for i, x in enumerate(xs):
            out.append(x * i)
        d["new"] = len(xs)
        keys = [len(k) for k in d.keys()]
        keys.sort(reverse=True)
        pair = (3, 4)
        a, b = pair
        return out[::-1], d, keys + [a] * 2, b if "x" in d else -1


class NamedTuples(nn.Module):
    def forward(self, x: Tensor) -> tuple[Pair, Tensor]:
        p = Pair(x + 1, 7)
        return p, p.first * p.second


class Optionals(nn.Module):
    bias: Tensor | None
    limit: int | None

    def __init__(self) -> None:
        super().__init__()
        self.bias = None
        self.limit = 3

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        if y is not None:
            x = x + y
        bias = self.bias
        if bias is not None:
            x = x + bias
        limit = self.limit
        return x if limit is None else x * limit


class Strings(nn.Module):
    name: str

    def __init__(self) -> None:
        super().__init__()
        self.name = "Zoë 'quoted' \"twice\"\n"

    def forward(self, who: str, n: int) -> tuple[str, list[str], bool]:
        text = f"{who}: {n}" + " — " + self.name
        return text + who[:0].upper(), "a,b,é".split(","), who.startswith("o")


class Constants(nn.Module):
    size: Final[int] = 3
    scale: Final[float]

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1e-05
        self.shape = (2, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, float, float, complex, list[float]]:
        y = x * self.scale + self.size + torch.tensor([1.0, 2.0])
        return y, float("inf"), -1.5, 1 + 2j, [float("-inf"), 1e300]


class Counter(nn.Module):
    count: int

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(2))
        self.seen: list[int] = [0]

    def forward(self, x: Tensor) -> int:
        self.count += 1
        self.total = self.total + x
        self.seen.append(self.count)
        return self.count

    @torch.jit.export
    def summary(self) -> tuple[Tensor, list[int]]:
        return self.total, self.seen


class Forked(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        futures = [torch.jit.fork(self.slow, x, i) for i in range(3)]
        total = torch.jit.wait(torch.jit.fork(torch.relu, x))
        for future in futures:
            total = total + torch.jit.wait(future)
        return total

    def slow(self, x: Tensor, n: int) -> Tensor:
        return x.pow(n)


class NoGrad(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0]))

    def forward(self, x: Tensor) -> tuple[Tensor, bool]:
        with torch.no_grad():
            y = x * self.w
        return y + self.w, y.requires_grad


class Objects(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int, float]:
        p = Point(2, 0.5)
        p.moved(3)
        return x * p.x, p.x, p.y


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.tied = nn.Linear(2, 2)
        self.tied.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x)) + self.tied(x)


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Tanh()])
        self.named = nn.ModuleDict({"id": nn.Identity(), "last": nn.ReLU()})
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.ones(2)), nn.Parameter(torch.full((2,), 2.0))]
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        for _name, layer in self.named.items():
            x = layer(x)
        for w in self.weights:
            x = x * w
        return x + self.layers[0].bias


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * 2


def pre_hook(self: Any, input: tuple[Tensor]) -> tuple[Tensor]:
    return (input[0] + 1,)


def hook(self: Any, input: tuple[Tensor], output: Tensor) -> Tensor:
    return output * 10


class Dtypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(12.0)
        values = {
            "f16": torch.tensor([1.5], dtype=torch.float16),
            "f64": torch.tensor([1.0, 1e300], dtype=torch.float64),
            "u8": torch.tensor([255], dtype=torch.uint8),
            "i8": torch.tensor([-1], dtype=torch.int8),
            "i16": torch.tensor([-300], dtype=torch.int16),
            "i32": torch.tensor([[7]], dtype=torch.int32),
            "i64": torch.tensor(2**40),
            "b8": torch.tensor([True, False]),
            "c64": torch.tensor([1 + 2j]),
            "view": base.view(3, 4)[1:, ::2],
            "transposed": base.view(3, 4).t(),
            "empty": torch.empty(0, 3),
        }
        for name, value in values.items():
            self.register_buffer(name, value)

    def forward(self) -> list[Tensor]:
        return [self.f16, self.f64, self.u8, self.i8, self.i16, self.i32, self.i64, self.b8,
                self.c64, self.view, self.transposed, self.empty]  # fmt: skip


class Attributes(nn.Module):
    table: dict[str, list[Tensor]]
    pair: tuple[int, str, Tensor | None]
    nested: list[list[tuple[int, str | None]]]

    def __init__(self) -> None:
        super().__init__()
        self.ints = [1, 2]
        self.floats = [0.5]
        self.table = {"a": [torch.ones(1)], "b": []}
        self.by_number = {1: "one"}
        self.pair = (1, "x", None)
        self.device = torch.device("cpu")
        self.nested = [[(1, None), (2, "b")], []]
        self.big = 2**62

    def forward(
        self, n: int
    ) -> tuple[int, float, Tensor, str, int, list[list[tuple[int, str | None]]], bool]:
        same = self.device == torch.device("cpu")
        return (
            self.ints[n] + self.big,
            self.floats[0],
            self.table["a"][0],
            self.by_number[1],
            self.pair[0],
            self.nested,
            same,
        )


class Raises(nn.Module):
    def forward(self, n: int) -> int:
        assert n < 10, "too big: é"
        if n > 5:
            raise ValueError(f"{n} is more than five")
        return n


class OldOperators(nn.Module):
    """Saved as of version 3, in which these meant something else."""

    def forward(self, x: Tensor, i: Tensor) -> list[Tensor]:
        y = i.clone()
        y.div_(2)
        z = i.clone()
        z.div_(i)
        floor, gelu = torch.div(i, 2, rounding_mode="floor"), torch.nn.functional.gelu(x)
        return [
            i / 2,
            i / 2.0,
            x / i,
            i / i,
            y,
            z,
            floor,
            torch.full([2], 3),
            torch.linspace(0, 1, 3),
            gelu,
        ]


class Accessors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0

    @property
    def doubled(self) -> float:
        return self.scale * 2

    def forward(self, x: Tensor) -> Tensor:
        return x * self.doubled

    @torch.jit.export
    def rescale(self, to: float = 0.5, names: list[str] | None = None) -> float:
        self.scale = to
        return self.scale


class Interpolated(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        f = nn.functional.interpolate
        return f(x, scale_factor=2.0), f(x, size=[3, 3], mode="bilinear", align_corners=False)


class Writes(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, list[int], Tensor]:
        y = x.clone()
        y[0] = 0.0
        y[:, 1:] += 1
        y.clamp_(max=3.0)
        mask = y > 1
        n: list[int] = y.tolist() if False else [y.size(0), int(y.sum().item())]
        return y, n, torch.where(mask, y, -y)[mask]


def scaled(x: Tensor, scale: float = 2.0, shift: int = 1) -> Tensor:
    return x * scale + shift


def traced_function(x: Tensor) -> Tensor:
    return (x + 1.5) * torch.arange(3) / x.size(0)


def counting(i: Tensor) -> Tensor:
    return i + 1.5


def hooked() -> Any:
    m = Hooked()
    m.inner.register_forward_pre_hook(pre_hook)
    m.inner.register_forward_hook(hook)
    return torch.jit.script(m)


def small_net() -> Any:
    features = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(8, 3))


def normal(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


X = [1.0, -2.0]
Call = Tuple[str, Tuple[Any, ...]]  # noqa: UP006
script = torch.jit.script

CASES: dict[str, tuple[Callable[[], Any], list[Call]]] = {
    "control_flow": (
        lambda: script(ControlFlow()),
        [("forward", (torch.tensor(X), n)) for n in (0, 1, 3, 6, 9)],
    ),
    "containers": (
        lambda: script(Containers()),
        [("forward", ([torch.ones(2), normal(2)], {"x": 1})), ("forward", ([], {}))],
    ),
    "named_tuples": (lambda: script(NamedTuples()), [("forward", (torch.tensor(X),))]),
    "optionals": (
        lambda: script(Optionals()),
        [("forward", (normal(2),)), ("forward", (normal(2), normal(2)))],
    ),
    "strings": (lambda: script(Strings()), [("forward", ("ö", 3)), ("forward", ("other", -1))]),
    "constants": (lambda: script(Constants()), [("forward", (torch.tensor(X),))]),
    "counter": (
        lambda: script(Counter()),
        [("forward", (torch.tensor(X),)), ("forward", (normal(2),)), ("summary", ())],
    ),
    "forked": (lambda: script(Forked()), [("forward", (torch.tensor(X),))]),
    "no_grad": (lambda: script(NoGrad()), [("forward", (torch.tensor(X),))]),
    "objects": (lambda: script(Objects()), [("forward", (torch.tensor(X),))]),
    "shared": (lambda: script(Shared()), [("forward", (normal(3, 2),))]),
    "lists": (lambda: script(Lists()), [("forward", (normal(3, 2),))]),
    "hooked": (hooked, [("forward", (torch.tensor(X),))]),
    "dtypes": (lambda: script(Dtypes()), [("forward", ())]),
    "attributes": (lambda: script(Attributes()), [("forward", (1,))]),
    "raises": (
        lambda: script(Raises()),
        [("forward", (3,)), ("forward", (7,)), ("forward", (11,))],
    ),
    "accessors": (
        lambda: script(Accessors()),
        [("forward", (normal(2),)), ("rescale", ()), ("forward", (normal(2),))],
    ),
    "interpolated": (lambda: script(Interpolated()), [("forward", (normal(1, 1, 2, 2),))]),
    "writes": (lambda: script(Writes()), [("forward", (normal(3, 2),))]),
    "function": (
        lambda: script(scaled),
        [("forward", (torch.tensor(X),)), ("forward", (torch.tensor(X), 0.5, 3))],
    ),
    "traced_function": (
        lambda: torch.jit.trace(traced_function, torch.ones(2, 3)),
        [("forward", (normal(2, 3),))],
    ),
    "traced_numbers": (
        lambda: torch.jit.trace(counting, torch.tensor([1])),
        [("forward", (torch.tensor([4, 5]),))],
    ),
    "traced_net": (
        lambda: torch.jit.trace(small_net().eval(), normal(1, 1, 4, 4)),
        [("forward", (normal(2, 1, 4, 4),))],
    ),
    "scripted_net": (
        lambda: script(small_net()),
        [("forward", (normal(2, 1, 4, 4),)), ("forward", (normal(2, 1, 4, 4),))],
    ),
    "frozen_net": (
        lambda: torch.jit.freeze(script(small_net().eval())),
        [("forward", (normal(2, 1, 4, 4),))],
    ),
    "attention": (
        lambda: script(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)),
        [("forward", (normal(1, 3, 4),))],
    ),
    "old_operators": (
        lambda: script(OldOperators()),
        [("forward", (torch.tensor(X), torch.tensor([7, -7])))],
    ),
}
