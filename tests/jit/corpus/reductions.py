"""Sums, means, extrema, norms, and what is made of them."""

from __future__ import annotations

import internals as torch
from tests.jit.corpus import bools, ints, normal, plain, positive, program


@program((normal(3, 4),))
def sums(x):
    return x.sum() + x.sum(0).sum() + x.sum(dim=1, keepdim=True).mean() + torch.sum(x, [0, 1])


@program((normal(3, 4),))
def means(x):
    return x.mean(), x.mean(1), torch.mean(x, dim=0, keepdim=True)


@program((normal(3, 4),))
def softmax_by_hand(x):
    e = torch.exp(x - x.max(1, keepdim=True)[0])
    return e / e.sum(1, keepdim=True)


@program((normal(3, 4),))
def extrema(x):
    values, indices = torch.max(x, 1)
    low = x.min(0)[0]
    return values, indices, low, x.max(), x.min()


@program((normal(3, 4),))
def positions(x):
    return x.argmax(1), x.argmin(), torch.argmax(x, dim=0, keepdim=True)


@program((normal(3, 4),))
def variances(x):
    return x.var(), x.var(1), x.std(0, keepdim=True), torch.var(x, 1, unbiased=False)


@program((positive(3, 2),))
def products(x):
    return x.prod() + x.prod(1).sum()


@program((normal(3, 4),))
def layer_norm_by_hand(x):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(var + 1e-5)


@program((normal(3, 4),))
def norms(x):
    return x.norm() + torch.norm(x, 1, 1).sum() + x.pow(2).sum().sqrt()


@program((normal(3, 4),))
def logsumexp(x):
    return torch.logsumexp(x, 1) + x.logsumexp(0).sum()


@program((normal(2, 5),))
def softmaxes(x):
    return torch.softmax(x, 1) + torch.log_softmax(x, dim=1).exp() + x.softmax(0)


@program((bools(3, 4),))
def any_and_all(c):
    return c.any(), c.all(), c.any(1), c.all(0)


@program((normal(5),))
def cumulative(x):
    return x.cumsum(0) + torch.cumprod(x, 0)


@program((normal(3, 4),))
def sorted_values(x):
    values, order = torch.sort(x, 1, descending=True)
    top, where = x.topk(2, 1)
    return values, order, top, where


@program((ints(8),))
def counted(x):
    return (x == 2).sum(), x.sum(), x.max()


@program((normal(3, 3),))
def trace_of_matrix(x):
    return x.diagonal().sum() + torch.tril(x).sum() - torch.triu(x, 1).sum()


@program((normal(4, 3), normal(4, 3)))
def cosine(a, b):
    return (a * b).sum(1) / (a.norm(2, 1) * b.norm(2, 1) + 1e-8)


@program((normal(4, 3), normal(4, 3)))
def squared_distances(a, b):
    return ((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(2)


@program((normal(3, 4),))
def amax_and_amin(x):
    return torch.amax(x, 1) - torch.amin(x, [0, 1])


@program((plain(3, 4),))
def standardized(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


@program((normal(6),))
def entropy(x):
    p = torch.softmax(x, 0)
    return -(p * torch.log(p)).sum()


@program((normal(3, 4),))
def centered_covariance(x):
    y = x - x.mean(0, keepdim=True)
    return y.t() @ y / (x.size(0) - 1)
