"""Made the archives in this folder, with PyTorch 1.0.1 and Python 3.7: `pip install torch==1.0.1`,
then `python make.py`.

Each is saved by `torch.jit`; `expected.json` has, for each, calls of its `forward` and what they
returned there.
"""

# ruff: noqa: B007, E741, F821, F841 (PyTorch 1.0.1 knows these names in scripts: that is the point)

import json

import torch
from torch import nn

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.bn = nn.BatchNorm1d(3)
        self.register_buffer("k", torch.arange(12.0).view(3, 4)[:, 1:3])

    def forward(self, x):
        return torch.relu(self.bn(self.fc(x))) + self.k.sum() + torch.ones(2, 3)[0]


@torch.jit.script
def fn(x, n):
    # type: (Tensor, int) -> Tuple[Tensor, List[int]]
    l = [1]
    for i in range(n):
        x = x + i
        l.append(i)
    return x, l


class S(torch.jit.ScriptModule):
    __constants__ = ["n"]

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2))
        self.n = 4
        self.register_buffer("b", torch.zeros(3))
        self.sub = torch.jit.trace(nn.Linear(3, 3), torch.ones(1, 3))

    @torch.jit.script_method
    def forward(self, x):
        y = torch.mm(x, self.weight.t())
        for i in range(self.n):
            if bool(y.sum() > 3):
                y = y + self.b
            else:
                y = self.helper(y, i)
        z = [1, 2, 3]
        a = torch.zeros([2, 3], dtype=torch.float)
        return self.sub(y), z

    @torch.jit.script_method
    def helper(self, y, k):
        # type: (Tensor, int) -> Tensor
        while k < 3:
            k += 1
            y = y * 2.5
        return y


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.fc = nn.Linear(8, 3)
        self.ln = nn.LayerNorm(3)
        self.emb = nn.Embedding(5, 3)

    def forward(self, x):
        x = self.layers(x)
        x = x.view(x.size(0), -1)
        x = torch.softmax(self.ln(self.fc(x)), dim=1) + self.emb(torch.tensor([1, 4]))
        y = (torch.tanh(x) * 3 + x / 2).permute(1, 0).contiguous()
        first, rest = torch.split(y, [1, 2])
        return (
            y.max(1)[0],
            first[:, 1:],
            torch.cat([rest, rest]).mean(1),
            x.argmax(1),
            x > 0.5,
            x.to(torch.float64).sum(),
        )


class Inner(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0]))

    @torch.jit.script_method
    def forward(self, x):
        return x * self.w


class Middle(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    @torch.jit.script_method
    def forward(self, x, times):
        # type: (Tensor, int) -> Tensor
        for i in range(times):
            x = self.inner(x) + i
        return x


class Nested(torch.jit.ScriptModule):
    __constants__ = ["blocks"]

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Middle(), Middle()])

    @torch.jit.script_method
    def forward(self, x, times):
        # type: (Tensor, int) -> Tensor
        for block in self.blocks:
            x = block(x, times)
        return x


class Shared(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        base = torch.arange(6.0)
        self.register_buffer("whole", base)
        self.register_buffer("evens", base[::2])
        self.register_buffer("last", base[5])
        self.sixteen = nn.Parameter(torch.ones(2).half(), requires_grad=False)
        self.register_buffer("small", torch.tensor([-1, 2], dtype=torch.int8))
        self.register_buffer("exact", torch.tensor(0.1, dtype=torch.float64))

    @torch.jit.script_method
    def forward(self, x):
        self.evens.add_(x)
        return self.whole + 0, self.last + 0, self.exact * 2, self.small + 1


@torch.jit.script
def words(x, n, flag, name):
    # type: (Tensor, int, bool, str) -> Tuple[int, float, bool, List[float], Tensor, Tuple[int, int], List[Tensor]]
    count = 0
    total = 0.5
    while count < n and not flag:
        if count % 2 == 0:
            total += float(count) / 3.0
        elif count // 2 > 2:
            total = total * 2.0
        else:
            total -= 1e-05
        count += 1
    l = [1.0, 2.5]
    l.append(total)
    l[0] = -1.0
    none = torch.jit.annotate(Optional[Tensor], None)
    if name == 'it\'s "quoted"\n':
        count = -count
    if none is None:
        y = x[0] + int(x.sum())
    else:
        y = x
    parts = [x, y]
    return count, total, flag or count > 3, l[:2], parts[1], (count, len(l)), parts


@torch.jit.script
def old(x, n):
    # type: (Tensor, int) -> Tuple[Tensor, Tensor, Tensor, Tensor]
    y = x / 2
    y /= 2
    return x / n, y, torch.full([2], n), x.sum() / 3


class Fork(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    @torch.jit.script_method
    def forward(self, x):
        f = torch.jit._fork(self.g, x, 2)
        y = x * 3
        return torch.jit._wait(f) + y

    @torch.jit.script_method
    def g(self, x, n):
        # type: (Tensor, int) -> Tensor
        for i in range(n):
            x = x * self.w + 1
        return x


def plain(value):
    if isinstance(value, torch.Tensor):
        numbers = value.detach().double() if value.dtype.is_floating_point else value
        return {
            "dtype": str(value.dtype)[6:],
            "sizes": list(value.shape),
            "values": numbers.reshape(-1).tolist(),
        }
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [plain(v) for v in value]}
    return value


def main():
    expected = {}
    programs = {
        "trace101": (torch.jit.trace(M().eval(), torch.ones(2, 2)), [(torch.randn(4, 2),)]),
        "fn101": (fn, [(torch.ones(2), 3), (torch.zeros(1), 0)]),
        "script101": (S(), [(torch.ones(2, 2),), (torch.randn(1, 2),)]),
        "layers101": (
            torch.jit.trace(Layers().eval(), torch.rand(2, 1, 8, 8)),
            [(torch.rand(2, 1, 8, 8),)],
        ),
        "nested101": (Nested(), [(torch.ones(2), 2), (torch.ones(1, 2), 0)]),
        "shared101": (Shared(), [(torch.ones(3),), (torch.ones(1),)]),
        "words101": (
            words,
            [(torch.ones(2), 8, False, 'it\'s "quoted"\n'), (torch.ones(2), 3, True, "")],
        ),
        "old101": (old, [(torch.tensor([7, -7]), 2), (torch.tensor([7.0, -7.0]), 2)]),
        "fork101": (Fork(), [(torch.ones(2),)]),
    }
    for name, (program, calls) in programs.items():
        program.save(name + ".pt")
        loaded = torch.jit.load(name + ".pt")
        expected[name] = [
            {"inputs": [plain(a) for a in args], "expected": plain(loaded(*args))} for args in calls
        ]
    with open("expected.json", "w") as f:
        json.dump(expected, f, indent=1)


if __name__ == "__main__":
    main()
