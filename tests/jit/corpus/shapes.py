"""Views, joining and splitting, indexing for reading."""

from __future__ import annotations

import internals as torch
from tests.jit.corpus import bools, ints, normal, plain, program


@program((normal(2, 6),))
def views(x):
    return x.view(3, 4) + x.reshape(3, -1) + x.view(-1).view(3, 4)


@program((normal(2, 3, 4),))
def permuted(x):
    return x.permute(2, 0, 1) + x.transpose(0, 2).transpose(1, 2)


@program((normal(2, 3),))
def squeezed(x):
    return x.unsqueeze(0).squeeze(0) + x.unsqueeze(-1).squeeze() * 2


@program((normal(1, 3),))
def expanded(x):
    return x.expand(4, 3) + x.expand(-1, 3) + x.repeat(4, 1)


@program((normal(2, 3, 4),))
def flattened(x):
    return x.flatten(), torch.flatten(x, 1), x.flatten(0, 1)


@program((normal(2, 3), normal(2, 3)))
def joined(x, y):
    return torch.cat([x, y], 0), torch.cat((x, y), dim=1), torch.stack([x, y], 1)


@program((normal(4, 6),))
def chunks(x):
    a, b = x.chunk(2, 1)
    c, d, e = torch.chunk(x, 3, dim=1)
    return a * b, c + d - e


@program((normal(5, 2),))
def split_up(x):
    a, b = torch.split(x, [2, 3], 0)
    parts = x.split(2)
    return a.sum() + b.sum() + parts[0].sum() - parts[2].sum()


@program((normal(3, 2),))
def unbound(x):
    a, b, c = x.unbind(0)
    return a * b + c


@program((normal(4, 5),))
def selected(x):
    return x[0] + x[-1] * 2 + x.select(0, 1)


@program((normal(4, 5),))
def sliced(x):
    return x[1:3], x[:, 2:], x[::2, 1:4:2], x[-2:], x[:-1, :-1]


@program((normal(4, 5, 3),))
def mixed_indices(x):
    return x[0, 1:3], x[:, 0, -1], x[1, ..., 2], x[..., 0], x[:, None, 1]


@program((normal(4, 5), ints(3)))
def indexed_by_tensor(x, i):
    return x[i], x[:, i], x.index_select(0, i), x[i, i]


@program((normal(4, 5), bools(4)))
def indexed_by_mask(x, m):
    return x[m], x[~m]


@program((normal(4, 5), bools(4, 5)))
def masked(x, m):
    return x.masked_fill(m, -1.0), x.masked_select(m)


@program((normal(3, 4), ints(3, 2)))
def gathered(x, i):
    return x.gather(1, i) * 2


@program((plain(3, 4), ints(3, 2), plain(3, 2)))
def scattered(x, i, v):
    return x.scatter(1, i, v), x.scatter_add(1, i, v)


@program((normal(2, 3),))
def narrowed(x):
    return x.narrow(1, 1, 2) + x.narrow(1, 0, 2)


@program((normal(3, 4),))
def flipped(x):
    return x.flip(0) + torch.flip(x, [0, 1]) + torch.roll(x, 1, 0)


@program((normal(2, 3, 4),))
def sizes_used(x):
    return x.view(x.size(0), -1) * x.size(1) + x.shape[2] + x.dim() + x.numel()


@program((normal(2, 6),))
def shape_arithmetic(x):
    half = x.size(1) // 2
    return x[:, :half] * x[:, half:]


@program((normal(2, 3),))
def like_another(x):
    return (
        torch.zeros_like(x) + torch.ones_like(x) * x + x.new_zeros(2, 3) + torch.full_like(x, 2.0)
    )


@program((normal(2, 3),))
def made_in_place(x):
    return x + torch.zeros(2, 3) + torch.ones(3) + torch.arange(3) + torch.full([2, 1], 0.5)


@program((normal(3, 3),))
def identity_matrix(x):
    return x @ torch.eye(3) + torch.eye(3)


@program((normal(2, 3, 4),))
def swapped_axes(x):
    return x.movedim(0, 2).sum(0) + torch.swapaxes(x, 1, 2).sum(0).t().t().t()[:4, :2].sum()


@program((normal(4),))
def outer_product(x):
    return torch.outer(x, x) + x.unsqueeze(1) * x


@program((normal(4, 4),))
def triangles(x):
    return torch.tril(x) + torch.triu(x, 1) * 2


@program((normal(3, 4), ints(4)))
def one_hot_by_comparison(x, i):
    return x + (torch.arange(3).unsqueeze(1) == i.unsqueeze(0)).float()


@program((normal(2, 2),))
def contiguous_copy(x):
    return x.t().contiguous().view(4) + x.clone().view(-1)


@program((ints(5),))
def where_and_sorted(x):
    return torch.sort(x)[0], (x > 1).nonzero()
