"""Programs that write: in-place operators, views of what is written, indices on the left."""

from __future__ import annotations

import internals as torch
from tests.jit.corpus import bools, ints, normal, plain, program


@program((plain(3),))
def added_in_place(x):
    y = x.clone()
    y += 2
    y.mul_(3)
    y -= x
    y /= 2
    return y


@program((normal(3),))
def in_place_on_an_intermediate(x):
    y = x * 2
    y.add_(x)
    y.mul_(0.5)
    return y * x


@program((plain(2, 3),))
def view_then_write(x):
    y = x.clone()
    row = y[0]
    row.add_(10)
    return y, row


@program((plain(2, 3),))
def write_between_two_reads(x):
    y = x.clone()
    a = y + 1
    y.add_(5)
    b = y + 1
    return a, b


@program((plain(4),))
def element_assigned(x):
    y = x.clone()
    y[0] = 5
    y[-1] = y[1]
    return y


@program((plain(3, 4), plain(4)))
def slices_assigned(x, v):
    y = x.clone()
    y[1] = v
    y[:, 2:] = 0.5
    y[::2, 0] += 1
    return y


@program((plain(3, 4), bools(3, 4)))
def mask_assigned(x, m):
    y = x.clone()
    y[m] = -1.0
    return y


@program((plain(4, 2), ints(3)))
def rows_assigned(x, i):
    y = x.clone()
    y[i] = 7.0
    return y


@program((plain(3),))
def filled_and_zeroed(x):
    y = x.clone()
    y.fill_(2.0)
    z = x.clone()
    z.zero_()
    return y + z + x


@program((plain(2, 2),))
def transposed_write(x):
    y = x.clone()
    y.t().mul_(2)
    y.t()[0] = 1.0
    return y


@program((plain(4),))
def two_names_for_one_tensor(x):
    a = x.clone()
    b = a
    b += 1
    return a, b


@program((plain(3), plain(3)))
def copied_into(x, y):
    z = torch.zeros_like(x)
    z.copy_(x)
    z.add_(y, alpha=2)
    return z


@program((normal(3, 3),))
def masked_fill_in_place(x):
    y = x * 1.5
    y.masked_fill_(y > 0, 0.0)
    return y


@program((normal(3),))
def relu_in_place(x):
    y = x * 2
    torch.relu_(y)
    return torch.nn.functional.relu(y - 1, inplace=True)


@program((plain(2, 3),))
def the_argument_itself(x):
    x.add_(1)
    return x * 2


@program((normal(3),))
def built_row_by_row(x):
    out = torch.zeros(2, 3)
    out[0] = x * 2
    out[1] = x.exp()
    return out


@program((plain(5),))
def clamped_in_place(x):
    y = x.clone()
    y.clamp_(-0.5, 0.5).neg_()
    return y.abs_()


@program((plain(3), 4))
def written_in_a_loop(x, n: int):
    total = torch.zeros(3)
    for i in range(n):
        total += x * i
        total[0] = float(i)
    return total


@program((plain(6),))
def a_write_seen_through_a_list(x):
    y = x.clone()
    parts = [y[:3], y[3:]]
    parts[0].add_(100)
    return y, parts[0] + parts[1]
