"""`Module`: the base class of every layer and every model (`torch/nn/modules/module.py`).

A module is a tree of modules with tensors in it, and a `forward`. The tree grows by assignment:
`self.weight = Parameter(...)` registers a parameter, `self.layer = Linear(2, 3)` a child.
`__setattr__` puts such values into one of three dictionaries, `_parameters`, `_buffers`,
`_modules`, instead of the object's own; `__getattr__`, which Python calls for names that are not
there, looks into these three. This file has the rules of attributes, the call, and `__repr__`.
Other files have the tree (`_tree`), conversion (`_conversion`), saving and loading (`_state_dict`),
and hooks (`_hooks`).

How the real one differs: it is one class of 3000 lines, most of them documentation; modules can
also be compiled (`torch.compile`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from internals import Tensor, typename
from internals.nn import _global_hooks as all_modules
from internals.nn._conversion import Conversion
from internals.nn._hooks import Hooks
from internals.nn._state_dict import StateDict
from internals.nn.parameter import Buffer, Parameter

_hooks_for_all = all_modules.around_calls


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """The computation of the module, which subclasses define. Call the module itself rather than
    `forward`, so that hooks run.
    """
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(Conversion, StateDict, Hooks):
    """Base class of layers and models. A subclass calls `super().__init__()` first, assigns its
    parts, and defines `forward`.

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = nn.Linear(4, 8)
                self.out = nn.Linear(8, 2)

            def forward(self, x):
                return self.out(self.hidden(x).relu())

    `training` is True when the module is trained; some layers behave differently then. `train()`
    and `eval()` set it.
    """

    call_super_init: bool = False
    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            _no_arguments(type(self).__name__, args, kwargs)
        # not by assignment: `__setattr__` needs these dictionaries itself
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`forward`, with the hooks around it if there are any."""
        if (
            self._backward_hooks
            or (own := self.__dict__)["_backward_pre_hooks"]
            or own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or _hooks_for_all
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        """A parameter, buffer or child. Raises AttributeError for another name.

        Python calls it only for names that are neither in `__dict__` nor in the class.
        """
        own = self.__dict__
        if "_modules" in own:
            if name in own["_parameters"]:
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        """Register a parameter, child or buffer; any other value becomes a plain attribute.

        A registered name takes values of its own kind, or None. A Parameter may also replace any
        other value, and a Module a buffer. Raises TypeError for other values.
        """
        own = self.__dict__
        parameters, buffers, modules = (
            own.get("_parameters", {}),
            own.get("_buffers", {}),
            own.get("_modules", {}),
        )
        if isinstance(value, Parameter):  # replaces a value of any kind
            self._ready("parameters")
            _remove(name, own, buffers, modules)
            self._non_persistent_buffers_set.discard(name)
            self.register_parameter(name, value)
        elif name in parameters:  # only None is left: a plain tensor would silently not be trained
            _expect(value, None, f"parameter '{name}' (internals.nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module) or name in modules:
            self._ready("module")
            _expect(value, Module, f"child module '{name}' (internals.nn.Module or None expected)")
            if value is not None:
                _remove(name, own, parameters, buffers)
                self._non_persistent_buffers_set.discard(name)
            modules[name] = all_modules.registered(
                all_modules.module_registration_hooks, self, name, value
            )
        elif name in buffers or isinstance(value, Buffer):
            _expect(
                value,
                Tensor,
                f"buffer '{name}' (internals.nn.Buffer, internals.Tensor or None expected)",
            )
            # a new value of a buffer is as persistent as the old one
            stays = name not in own.get("_non_persistent_buffers_set", ())
            self.register_buffer(name, value, getattr(value, "persistent", stays))
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                if members is self._buffers:
                    self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        members = [*self._parameters, *self._modules, *self._buffers]
        names = [*dir(type(self)), *self.__dict__, *members]
        return sorted(name for name in names if not name[:1].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter under `name`; None stands for one that is omitted, such as a bias.

        Raises KeyError for a name that is taken or invalid, TypeError for a non-parameter,
        ValueError for the result of a computation, AttributeError before `Module.__init__`.
        """
        self._ready("parameter")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(internals.nn.Parameter or None required)"
                )
            if param.grad_fn:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = all_modules.registered(
                all_modules.parameter_registration_hooks, self, name, param
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a buffer under `name`: state that is not trained.

        If `persistent`, it is part of `state_dict()`. Raises KeyError for a name that is taken or
        invalid, TypeError for a non-tensor, AttributeError before `Module.__init__`.
        """
        self._ready("buffer")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (internals Tensor "
                "or None required)"
            )
        self._buffers[name] = all_modules.registered(
            all_modules.buffer_registration_hooks, self, name, tensor
        )
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a child under `name`.

        Raises KeyError for a name that is taken or invalid, TypeError for a non-module.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = all_modules.registered(
            all_modules.module_registration_hooks, self, name, module
        )

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _ready(self, what: str) -> None:
        """Raise AttributeError if `Module.__init__` has not been called yet."""
        if "_modules" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _check_name(self, what: str, name: Any, members: dict[str, Any]) -> None:
        """Raise TypeError or KeyError if nothing can be registered in `members` under `name`."""
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        taken = hasattr(self, name) and name not in members
        if what == "module" and taken:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(
                f'{what} name can\'t contain "."' + (f", got: {name}" if what == "module" else "")
            )
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if taken:
            raise KeyError(f"attribute '{name}' already exists")

    # Printing and pickling

    def extra_repr(self) -> str:
        """The text between the parentheses, before the children. Layers override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        lines += [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"

    def _get_name(self) -> str:
        return type(self).__name__

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def indented(text: str) -> str:
    """`text` with every line but the first indented by two spaces; blank lines become empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


def _no_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise the TypeError that Python raises for an `__init__` without parameters."""
    if kwargs:
        raise TypeError(
            f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
        )
    if args:
        raise TypeError(
            f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
        )


def _remove(name: str, *places: dict[str, Any]) -> None:
    """Remove `name` from all dictionaries that have it."""
    for place in places:
        place.pop(name, None)


def _expect(value: object, kind: type | None, what: str) -> None:
    """Raise TypeError unless the value is None or of the given type."""
    if value is not None and (kind is None or not isinstance(value, kind)):
        raise TypeError(f"cannot assign '{typename(value)}' as {what}")
