"""Layers of `torch.nn`, one at a time, and what modules may have: attributes, methods, lists of
modules.
"""

from typing import Dict, List, Tuple

import internals as torch
from runtimes.corpus import BOTH, case, floats, ints

nn = torch.nn
F = torch.nn.functional


@case((floats(2, 3, 8, 8),), ways=BOTH)
def convolutions(x: torch.Tensor) -> List[torch.Tensor]:
    w = torch.arange(3 * 3 * 3 * 4).reshape(4, 3, 3, 3) / 50.0 - 1.0
    depthwise = torch.arange(27).reshape(3, 1, 3, 3) / 27.0
    return [
        F.conv2d(x, w), F.conv2d(x, w, torch.ones(4), stride=2, padding=1),
        F.conv2d(x, w, dilation=2, padding=(1, 2)), F.conv2d(x, depthwise, groups=3),
        F.conv1d(x[0, :, 0].unsqueeze(0), w[:, :, 0]),
        F.conv_transpose2d(x, w.transpose(0, 1), stride=2),
    ]  # fmt: skip


@case((floats(1, 2, 7, 7),), ways=BOTH)
def pooling(x: torch.Tensor) -> List[torch.Tensor]:
    return [
        F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, 1),
        F.adaptive_avg_pool2d(x, (1, 1)), F.adaptive_avg_pool2d(x, (3, 2)), F.pad(x, (1, 2, 0, 1)),
        F.interpolate(x, scale_factor=2.0),
    ]  # fmt: skip


@case((floats(4, 6),), ways=BOTH)
def activations(x: torch.Tensor) -> List[torch.Tensor]:
    return [
        F.relu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.hardtanh(x),
        F.softmax(x, 1), F.log_softmax(x, -1), F.leaky_relu(x, 0.2), F.elu(x), F.softplus(x),
        F.relu6(x * 4),
    ]  # fmt: skip


@case((floats(4, 6), ints(4)), ways=BOTH)
def normalisations_and_losses(x: torch.Tensor, target: torch.Tensor) -> List[torch.Tensor]:
    return [
        F.layer_norm(x, [6]), F.layer_norm(x, [6], torch.arange(6) / 3.0, torch.ones(6)),
        F.group_norm(x, 2), F.batch_norm(x, torch.zeros(6), torch.ones(6)),
        F.cross_entropy(x, target), F.mse_loss(x, x * 0.5), F.embedding(target, x.t()),
        F.dropout(x, 0.5, False), F.one_hot(target, 5),
    ]  # fmt: skip


@case((floats(3, 2, 4, 5),), (floats(2, 2, 3, 3),), module=True)
def batch_norm_in_training():
    return nn.BatchNorm2d(2)


@case((floats(5, 4),), ways=BOTH, module=True)
def sequential():
    return nn.Sequential(
        nn.Linear(4, 8),
        nn.ReLU(inplace=True),
        nn.BatchNorm1d(8),
        nn.Linear(8, 3),
        nn.Softmax(dim=1),
    ).eval()


@case((floats(3),), (floats(3),), module=True)
def counter():
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.names: List[str] = ["first"]
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, int, List[str]]:
            self.calls += 1
            self.total += x
            self.names.append("call " + str(self.calls))
            return self.total / self.calls, self.calls, self.names

    return Counter()


@case((floats(2, 4), 0), (floats(2, 4), 2), module=True)
def list_of_modules():
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.heads = nn.ModuleDict({"sum": nn.Linear(4, 1), "all": nn.Identity()})

        def forward(self, x: torch.Tensor, skip: int) -> Dict[str, torch.Tensor]:
            for i, layer in enumerate(self.layers):
                if i != skip:
                    x = x + torch.tanh(layer(x))
            out: Dict[str, torch.Tensor] = {}
            for name, head in self.heads.items():
                out[name] = head(x)
            return out

    return Stack()


@case((floats(2, 3), 3), (floats(2, 3), 1), module=True)
def methods_and_constants():
    class Model(nn.Module):
        factor: torch.jit.Final[int]

        def __init__(self) -> None:
            super().__init__()
            self.factor = 3
            self.weights = [0.5, 0.25]
            self.table = {"bias": 2}
            self.limit = float("inf")

        def scaled(self, x: torch.Tensor, by: int) -> torch.Tensor:
            return x * by * self.weights[by % 2] + self.table["bias"]

        def forward(self, x: torch.Tensor, by: int) -> Tuple[torch.Tensor, bool]:
            return self.scaled(x, by * self.factor), by < self.limit

    return Model()


@case((floats(2, 5, 8),), ways=BOTH, module=True)
def attention():
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.out = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            b, t, c = x.size(0), x.size(1), x.size(2)
            q, k, v = self.qkv(x).split(8, dim=2)
            q = q.view(b, t, 2, c // 2).transpose(1, 2)
            k = k.view(b, t, 2, c // 2).transpose(1, 2)
            v = v.view(b, t, 2, c // 2).transpose(1, 2)
            scores = q @ k.transpose(-2, -1) / (c // 2) ** 0.5
            causal = torch.ones(t, t).tril() == 0
            weights = torch.softmax(scores.masked_fill(causal, float("-inf")), -1)
            return self.out((weights @ v).transpose(1, 2).reshape(b, t, c))

    return Attention()


@case((floats(1, 2, 4, 8),), ways=BOTH)
def fused_attention(x: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(x, x * 0.5, x + 1, is_causal=True)
