"""Does this model treat its rows independently? Nobody's word is taken for it: the first batch is
run both ways.

Batching is right only if row 3 of the result does not depend on who else is in the batch. A softmax
over dimension 0, batch normalization left in training mode, a random number or a result without
rows break that, silently: every client would get an answer, and a wrong one. So for the first batch
of a kind some of its requests are run alone as well, and if the answers differ by more than
rounding, the model is never batched again. Where requests were filled up to one size all of them
are: what filling does to an answer, and which of its sizes have to be cut, depends on the sizes.

Equal requests say nothing, so where the first and the last of them are equal, requests that differ
are made of them. It is an experiment all the same, not a theorem: a model that divides by the
largest number of the batch, and first meets requests whose largest number is the same, passes.

How the real one differs: Triton, TorchServe and KServe believe the configuration (`max_batch_size`
of Triton's).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from internals import Tensor

from ..models.served_model import ServedModel
from .assembly import Inputs, join, split

# by the element's bytes: what another order of summation may change
RELATIVE = {2: 2e-2, 4: 1e-3, 8: 1e-6}


def has_rows(outputs: Inputs, rows: int) -> bool:
    """Whether every output has as many rows as the batch: otherwise it cannot be split."""
    return all(output.dim() > 0 and output.shape[0] == rows for output in outputs.values())


def rows_are_independent(
    model: ServedModel,
    requests: Sequence[Inputs],
    shares: Sequence[Inputs],
    look_at_all: bool = False,
) -> bool:
    """Whether the first and the last request, or all, get alone what they got in the batch."""
    if not all(
        as_alone(model, requests[i], shares[i])
        for i in range(0, len(requests), 1 if look_at_all else len(requests) - 1)
    ):
        return False
    first, last = requests[0], requests[-1]
    if look_at_all or not all(close(first[name], last[name]) for name in first):
        return True
    made_up = [
        {name: changed(t, i) for name, t in inputs.items()} for i, inputs in enumerate(requests)
    ]
    joined = join(made_up)
    try:
        outputs = model.run(list(joined.values()))
        parts = split(outputs, made_up, joined)
        return all(as_alone(model, made_up[i], parts[i]) for i in (0, -1))
    except BaseException:  # it may refuse what nobody has sent, or exit: then nothing was learned
        return True


def as_alone(model: ServedModel, inputs: Inputs, share: Inputs) -> bool:
    """Whether the model says to this request alone what it got in the batch."""
    try:
        alone = model.run([t.clone() for t in inputs.values()])  # a model may write on its inputs
    except BaseException:  # batch normalization in training mode does not take one row
        return False
    return alone.keys() == share.keys() and all(close(alone[name], share[name]) for name in alone)


def changed(tensor: Tensor, i: int) -> Tensor:
    """Other elements that are likely to be as good: `i` more, or, for whole numbers that may be
    indices, in another order.
    """
    return tensor + i if tensor.dtype.is_floating_point else tensor.roll(i, -1)


def close(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    x, y = a.detach().numpy(), b.detach().numpy()
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    relative = RELATIVE[x.dtype.itemsize]
    finite = np.abs(y[np.isfinite(y)])
    return bool(
        np.allclose(
            x, y, rtol=relative, atol=relative * float(finite.max(initial=0)), equal_nan=True
        )
    )
