"""What the checkers of notebook 05 look through: an allocator that believes nothing another one
says, and a model to feed it.
"""

from __future__ import annotations

from typing import Any

import internals as torch
from exercises.exercise import Wrong


class Watched(torch.cpu.Allocator):
    """Passes requests on, and raises `Wrong` for a pointer that is odd, outside of the memory, or
    still in use.

    `live` are the pieces that are out, by address with their size; `count` how many there ever
    were.
    """

    name = "Watched"

    def __init__(self, watched: Any, begin: int = 0, end: int | None = None) -> None:
        self.watched, self.begin, self.end = watched, begin, end
        self.live: dict[int, int] = {}
        self.count = 0

    def allocate(self, nbytes: int) -> Any:
        data = self.watched.allocate(nbytes)
        if not isinstance(data, torch.cpu.DataPtr):
            raise Wrong(f"allocate has to return a DataPtr, not {data!r}")
        pointer = data.pointer
        if nbytes == 0:
            return data
        self.refuse_bad(pointer, nbytes)
        if data.context is None:
            raise Wrong(
                "the context is None: such a DataPtr owns nothing, and its deleter is never called"
            )
        self.live[pointer] = nbytes
        self.count += 1

        def deleter(context: Any) -> None:
            del self.live[pointer]
            context.clear()

        return torch.cpu.DataPtr(pointer, data, deleter)

    def refuse_bad(self, pointer: int, nbytes: int) -> None:
        if not isinstance(pointer, int) or not pointer:
            raise Wrong(f"{nbytes} bytes were asked for; the pointer is {pointer!r}")
        if pointer % 64:
            raise Wrong(
                f"a pointer is {pointer % 64} bytes behind a multiple of 64; kernels rely on that "
                "alignment"
            )
        if self.end is not None and not self.begin <= pointer <= pointer + nbytes <= self.end:
            raise Wrong(
                f"{nbytes} bytes were handed out that reach beyond the end of the memory, or lie "
                "before it"
            )
        for other, size in self.live.items():
            if pointer < other + size and other < pointer + nbytes:
                raise Wrong(
                    f"{nbytes} bytes were handed out where {size} others are still in use: one "
                    "would overwrite the other"
                )

    def refuses(self, nbytes: int) -> bool:
        """Whether the allocator raises RuntimeError when asked for so much. If not, it gets it
        back.
        """
        try:
            self.watched.allocate(nbytes).clear()
        except RuntimeError:
            return True
        return False


def in_training(steps: int = 3, after_step: Any = None) -> tuple[list[float], int]:
    """The losses of a small model, and how many parameters it has. `after_step` is called with the
    number of each step.
    """
    nn = torch.nn
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 3))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        inputs, targets, losses = torch.randn(8, 20), torch.randn(8, 3), []
        for step in range(steps):
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            del loss
            if after_step is not None:
                after_step(step)
    return losses, len(list(model.parameters()))
