"""Functions and modules of neural networks."""

from __future__ import annotations

import internals as torch
from tests.jit.corpus import ints, normal, plain, program

F = torch.nn.functional
nn = torch.nn


@program((normal(3, 4), normal(5, 4), normal(5)))
def linear(x, w, b):
    return F.linear(x, w, b) + F.linear(x, w)


@program((normal(2, 3, 8, 8), normal(4, 3, 3, 3), normal(4)))
def convolution(x, w, b):
    return F.conv2d(x, w, b, stride=2, padding=1)


@program((normal(1, 2, 6, 6),))
def pooled(x):
    return F.max_pool2d(x, 2), F.avg_pool2d(x, 3, stride=1), F.adaptive_avg_pool2d(x, 1)


@program((normal(3, 5),))
def activations(x):
    return F.relu(x) + F.gelu(x) + F.silu(x) + F.leaky_relu(x, 0.1) + F.elu(x) + F.softplus(x)


@program((normal(3, 5),))
def more_activations(x):
    return F.hardtanh(x) + F.relu6(x) + F.logsigmoid(x) + F.softsign(x) + F.tanh(x)


@program((normal(4, 3), ints(4)))
def cross_entropy(x, target):
    return F.cross_entropy(x, target % 3) + F.nll_loss(F.log_softmax(x, 1), target % 3)


@program((normal(4, 3), plain(4, 3)))
def losses(x, y):
    return F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y)


@program((normal(4, 3),))
def layer_norm(x):
    return F.layer_norm(x, [3]) + F.normalize(x, dim=1)


@program((plain(4, 3), plain(3), plain(3)))
def batch_norm_evaluated(x, mean, var):
    return F.batch_norm(x, mean, var.abs() + 1, training=False)


@program((normal(3, 4),))
def dropout_off(x):
    return F.dropout(x, 0.5, training=False) * 2


@program((ints(3, 2), normal(4, 5)))
def embedded(i, w):
    return F.embedding(i, w).sum(1)


@program((normal(2, 3, 4), normal(2, 3, 4), normal(2, 3, 4)))
def attention_by_hand(q, k, v):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return torch.softmax(scores, -1) @ v


@program((normal(2, 4), normal(2, 3), normal(4, 12), normal(3, 12), normal(12)))
def lstm_cell_by_hand(x, h, w_x, w_h, b):
    gates = x @ w_x + h @ w_h + b
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * h + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


@program((normal(1, 1, 4, 4),))
def padded(x):
    return F.pad(x, [1, 1, 0, 2]) + F.pad(x, [1, 1, 0, 2], value=1.0)


@program((normal(1, 2, 4, 4),))
def interpolated(x):
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


@program((plain(3, 4),), module=True)
def multilayer_perceptron():
    return Net()


@program((plain(2, 3, 8, 8),), module=True)
def small_convnet():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 5),
    ).eval()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.zeros(4) + 0.5)

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x * self.scale + self.shift


@program((plain(2, 4),), module=True)
def residual_blocks():
    return Residual()


class Branching(nn.Module):
    def __init__(self, deep: bool):
        super().__init__()
        self.deep = deep
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)

    def helper(self, x):
        return self.second(x) if self.deep else x

    def forward(self, x):
        return self.helper(self.first(x)).sigmoid()


@program((plain(2, 3),), module=True)
def method_calling_method():
    return Branching(True)


@program((plain(2, 3),), module=True)
def constant_attribute():
    return Branching(False)


@program((ints(2, 5),), module=True)
def embedding_bag_of_words():
    return nn.Sequential(
        nn.Embedding(4, 6), nn.LayerNorm(6), nn.Linear(6, 2), nn.LogSoftmax(dim=-1)
    )


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(3) * 2)

    def forward(self, x):
        return (x @ self.weight) @ self.weight.t()


@program((plain(2, 3),), module=True)
def a_parameter_used_twice():
    return Tied()


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)

    def forward(self, x):
        return self.a(x), self.b(x).relu()


@program((plain(3, 2),), module=True)
def two_heads():
    return Several()


@program((plain(2, 4),), module=True)
def dropout_in_evaluation():
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh()).eval()
