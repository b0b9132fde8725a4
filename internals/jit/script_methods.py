"""Modules that are compiled when they are created: subclasses of `jit.ScriptModule` (`ScriptMeta`
of `torch/jit/_script.py`).

    class M(jit.ScriptModule):
        def __init__(self): ...

        @jit.script_method
        def forward(self, x): ...

This is the oldest form of scripting. The decorator only marks the method. When the whole `__init__`
of `M()` has run, the module itself becomes a compiled one: its submodules are replaced by compiled
ones, and its marked methods by graphs. Methods without the mark are compiled if a marked one calls
them; called from Python, they are still Python methods.

How the real one differs: the module becomes a wrapper of another one, which is compiled from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class ScriptMethodStub(NamedTuple):
    """A marked method, to be compiled when the module is created."""

    function: Callable[..., Any]


def script_method(fn: Callable[..., Any]) -> Any:
    """A decorator: mark a method of a `ScriptModule` subclass to be compiled. With PYTORCH_JIT=0 it
    does nothing.
    """
    from . import _script

    return ScriptMethodStub(fn) if _script.enabled else fn


def collect_stubs(cls: type) -> None:
    """Move the marked methods of a class to its `_script_methods`, and wrap `__init__`, so that an
    instance is compiled at its end.
    """
    stubs = {
        name: value.function
        for name, value in vars(cls).items()
        if isinstance(value, ScriptMethodStub)
    }
    for name in stubs:
        delattr(cls, name)
    cls._script_methods = {**getattr(cls, "_script_methods", {}), **stubs}  # type: ignore[attr-defined]
    original_init = cls.__init__  # type: ignore[misc]

    def init_then_script(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        # not in the `__init__` of a base class, which runs before the attributes are complete
        if type(self) is cls and "_jit_type" not in self.__dict__:
            compile_in_place(self)

    init_then_script.__wrapped__ = original_init  # type: ignore[attr-defined]
    cls.__init__ = init_then_script  # type: ignore[misc]


def compile_in_place(module: Any) -> None:
    """Turn a `ScriptModule` that has just been initialised into a compiled module."""
    from .frontend.inspect_module import attribute_value, concrete_type_of
    from .frontend.recursive import build_submodules, compile_methods, keep_in_python

    concrete = concrete_type_of(module)
    values = {
        name: attribute_value(module, name, attribute.type)
        for name, attribute in concrete.attributes.items()
    }
    module._modules.update(build_submodules(module, concrete))
    for name, attribute in concrete.attributes.items():
        if attribute.kind == "attribute":
            module.__dict__[name] = values[name]
    module.__dict__.update(
        _jit_type=concrete.jit_type,
        _concrete_type=concrete,
        original_name=type(module).__name__,
        _methods={},
    )
    keep_in_python(module, module, concrete)
    compile_methods(module, concrete, sorted(type(module)._script_methods))
