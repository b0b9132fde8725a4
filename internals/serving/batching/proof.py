"""Tests whether a model treats its rows independently: the first batch is also run request by
request.

Batching is right only if row 3 of the result does not depend on the other rows of the batch. A
softmax over dimension 0, batch normalization in training mode, a random number or a result without
rows break this silently: every client would get an answer, but a wrong one. So for the first batch
of a kind, the first and the last request are also run alone. If the answers differ by more than
rounding, the model is never batched again. If requests were padded, all of them are run alone: the
effect of padding, and the sizes to cut off, depend on the sizes of each.

Equal requests prove nothing, so if the first and the last are equal, they are replaced by requests
that differ. This is an experiment and not a proof: a model that divides by the largest number of
the batch passes, if all requests of the first batch have the same largest number.

How the real one differs: Triton, TorchServe and KServe trust the configuration (`max_batch_size` in
Triton).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from internals import Tensor

from ..models.served_model import ServedModel
from .assembly import Inputs, join, split

# bytes of an element -> relative error that another order of summation may cause
RELATIVE = {2: 2e-2, 4: 1e-3, 8: 1e-6}


def has_rows(outputs: Inputs, rows: int) -> bool:
    """Whether every output has as many rows as the batch; otherwise it cannot be split."""
    return all(output.dim() > 0 and output.shape[0] == rows for output in outputs.values())


def rows_are_independent(
    model: ServedModel,
    requests: Sequence[Inputs],
    shares: Sequence[Inputs],
    look_at_all: bool = False,
) -> bool:
    """Whether the first and the last request (or all) get the same results alone as in the batch,
    which are `shares`.
    """
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
    except BaseException:  # it may refuse made-up inputs: then nothing was learned
        return True


def as_alone(model: ServedModel, inputs: Inputs, share: Inputs) -> bool:
    """Whether a request gets the same result alone as its `share` of the batch."""
    try:
        alone = model.run([t.clone() for t in inputs.values()])  # a model may write to its inputs
    except BaseException:  # batch normalization in training mode does not take one row
        return False
    return alone.keys() == share.keys() and all(close(alone[name], share[name]) for name in alone)


def changed(tensor: Tensor, i: int) -> Tensor:
    """A tensor of other elements that the model should accept, too: `i` is added to floats, while
    integers, which may be indices, are rotated along the last dimension.
    """
    return tensor + i if tensor.dtype.is_floating_point else tensor.roll(i, -1)


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are equal except for rounding, relative to the largest finite element."""
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
