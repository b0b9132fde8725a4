"""`no_grad`, `enable_grad` and `inference_mode`: blocks in which operators are recorded or not
(`torch/autograd/grad_mode.py`).

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
    """A context manager that is a decorator as well. Each call of the function opens a new block;
    so does each step of a generator, since its caller's code runs between two steps in another
    mode.
    """

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: Any) -> None:
        raise NotImplementedError

    def clone(self) -> _Block:
        """A new block with the same arguments: one object could not be entered twice."""
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
        """`function`, whose generators run inside a block and are suspended outside of it. Values
        sent to them, and exceptions thrown into them, are passed on.
        """

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            # `resume` runs the generator's next step: a plain one, with a value, or an exception
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
    """A block in which nothing is recorded: results require no gradients, even if operands do.
    Only views of tensors that require a gradient still require one.
    """

    def __new__(cls, function: Any = None) -> Any:
        return super().__new__(cls) if function is None else super().__new__(cls)(function)

    def __enter__(self) -> None:
        self.before = set_grad_mode(False)

    def __exit__(self, *exception: Any) -> None:
        set_grad_mode(self.before)


class enable_grad(_Block):
    """A block in which operators are recorded, even inside `no_grad`."""

    def __new__(cls, function: Any = None) -> Any:
        return super().__new__(cls) if function is None else super().__new__(cls)(function)

    def __enter__(self) -> None:
        self.before = set_grad_mode(True)

    def __exit__(self, *exception: Any) -> None:
        set_grad_mode(self.before)


class set_grad_enabled(_Block):
    """Switches recording on or off from the call on; used as a context manager, only until the end
    of the block.
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
        set_grad_mode(self.before)  # a decorator: the mode is for the function's calls only
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
    """A block like `no_grad`, but faster: tensors made inside count no versions, and autograd can
    never save them for backward.
    """

    def __new__(cls, mode: bool = True) -> Any:
        # @inference_mode without brackets: `mode` is the function
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
