"""Models that make a server show what it does: one that can be held back, one that refuses some
inputs.
"""

from __future__ import annotations

import threading

from internals import Tensor


class Gate:
    """A model that waits until it is told to go on: `y = 2 * x`. `entered` is released once for
    each run that began.
    """

    def __init__(self) -> None:
        self.entered, self.open = threading.Semaphore(0), threading.Event()
        self.rows: list[int] = []
        self.held = False  # runs on zeros, before the server is there, are not held

    def __call__(self, x: Tensor) -> Tensor:
        self.rows.append(x.shape[0])
        if self.held:
            self.entered.release()
            assert self.open.wait(30), "the test forgot to open the gate"
        return x * 2

    def hold(self) -> None:
        self.rows.clear()
        self.held = True


def refuses_negatives(x: Tensor) -> Tensor:
    if bool((x < 0).any()):
        raise ValueError("negative numbers are not for this model")
    return x.sqrt()
