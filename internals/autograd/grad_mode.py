"""Blocks in which operators are not recorded, or are again (`torch/autograd/grad_mode.py`).

Each is a context manager and a decorator:

    with no_grad():              @no_grad()
        w -= lr * w.grad         def evaluate(model): ...

How the real one differs: it has `set_multithreading_enabled` and `_force_original_view_tracking`
too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from internals.core.dispatch_key import ADINPLACEORVIEW
from internals.core.dispatcher import tls
from internals.core.grad_mode import set_grad_mode, set_inference_mode
from internals.core.hot import hot

F = TypeVar("F", bound=Callable[..., Any])


class _Block:
    """Makes a context manager a decorator as well. Each call of the function, and each step of a
    generator, opens a new block.
    """

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError

    def clone(self) -> _Block:
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            function.__init__ = self(function.__init__)  # type: ignore[method-assign]
            return function
        if inspect.isgeneratorfunction(function):
            return cast("F", self._generator(function))

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return cast("F", inside)

    def _generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Callable[[], Any] = functools.partial(next, generator)
            try:
                while True:
                    with self.clone():
                        yielded = resume()
                    try:
                        sent = yield yielded
                        resume = functools.partial(generator.send, sent)
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as thrown:
                        resume = functools.partial(generator.throw, thrown)
            except StopIteration as stop:
                return stop.value

        return inside


class no_grad(_Block):
    """Nothing is recorded: results do not require gradients, whatever the operands do. Views of
    tensors that do still do.
    """

    def __new__(cls, function: Any = None) -> Any:
        return super().__new__(cls) if function is None else super().__new__(cls)(function)

    def __enter__(self) -> None:
        self.before = set_grad_mode(False)

    def __exit__(self, *exception: Any) -> None:
        set_grad_mode(self.before)


class enable_grad(_Block):
    """Record, even inside `no_grad`."""

    def __new__(cls, function: Any = None) -> Any:
        return super().__new__(cls) if function is None else super().__new__(cls)(function)

    def __enter__(self) -> None:
        self.before = set_grad_mode(True)

    def __exit__(self, *exception: Any) -> None:
        set_grad_mode(self.before)


class set_grad_enabled(_Block):
    """Record or not, from the moment it is called; as a context manager, until the end of the
    block.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        self.mode = mode
        self.before = set_grad_mode(mode)

    def __call__(self, function: F) -> F:
        set_grad_mode(self.before)
        return super().__call__(function)

    def __enter__(self) -> None:
        set_grad_mode(self.mode)

    def __exit__(self, *exception: Any) -> None:
        set_grad_mode(self.before)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Block):
    """Stronger than `no_grad`: tensors made inside count no versions, and autograd refuses them for
    good.
    """

    def __new__(cls, mode: bool = True) -> Any:
        return super().__new__(cls) if isinstance(mode, bool) else cls(True)(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.before = set_inference_mode(self.mode), set_grad_mode(not self.mode), tls.included
        tls.included = (
            tls.included & ~ADINPLACEORVIEW if self.mode else tls.included | ADINPLACEORVIEW
        )
        hot.off += self.mode

    def __exit__(self, *exception: Any) -> None:
        hot.off -= self.mode
        set_inference_mode(self.before[0])
        set_grad_mode(self.before[1])
        tls.included = self.before[2]

    def clone(self) -> inference_mode:
        return type(self)(self.mode)
