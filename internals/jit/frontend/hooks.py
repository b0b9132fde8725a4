"""Forward hooks of scripted modules (`create_hooks_from_stubs` of `torch/jit/_recursive.py`,
`ModuleValue::call`).

A forward pre-hook receives the arguments of `forward` as a tuple and may replace them; a forward
hook also receives the result and may replace that. Hooks are compiled as functions whose first
argument is the module, and a call of the module becomes (`ModuleValue.call`)

    %input : (Tensor) = prim::TupleConstruct(%x)
    %changed : (Tensor) = prim::CallFunction(%pre_hook, %module, %input)
    %x.1 : Tensor = prim::TupleUnpack(%changed)
    %y : Tensor = prim::CallMethod[name="forward"](%module, %x.1)
    %z : Tensor = prim::CallFunction(%hook, %module, %changed, %y)

The `input` of a hook must be annotated as a tuple of the types that `forward` takes, and a pre-hook
must have a return annotation.

How the real one differs: it checks the types of `output` and of the result against `forward` before
any call is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from internals.jit.ir import TupleType
from internals.jit.script_function import ScriptFunction

from . import tree
from .build_tree import default_arguments, tree_of
from .compiler import compile_with_schema
from .resolution import closure_resolver

if TYPE_CHECKING:
    from .concrete_type import ConcreteType


def compile_hooks(concrete: ConcreteType) -> None:
    """Compile the hooks of a module, unless that has been done. Raises RuntimeError for one whose
    signature does not fit.
    """
    if not concrete.compiled_hooks:
        concrete.compiled_pre_hooks = [
            compile_hook(concrete, hook, is_pre=True) for hook in concrete.pre_hooks
        ]
        concrete.compiled_hooks = [
            compile_hook(concrete, hook, is_pre=False) for hook in concrete.hooks
        ]
        concrete.jit_type.forward_pre_hooks = concrete.compiled_pre_hooks
        concrete.jit_type.forward_hooks = concrete.compiled_hooks


def compile_hook(concrete: ConcreteType, hook: Callable[..., Any], is_pre: bool) -> ScriptFunction:
    """One compiled hook. Raises RuntimeError if `input` is not annotated as a tuple."""
    definition = tree_of(hook, hook.__name__, "RecursiveScriptModule")
    _check_return(concrete, definition, is_pre)
    graph, schema = compile_with_schema(
        definition,
        closure_resolver(hook),
        name=hook.__name__,
        self_type=concrete.jit_type,
        make_self=concrete.make_self,
        defaults=default_arguments(hook),
    )
    if len(schema.arguments) > 1 and not isinstance(schema.arguments[1].type, TupleType):
        raise RuntimeError(
            f"{_kind(is_pre)} '{hook.__name__}' on module '{_module(concrete)}' expected the input "
            f"argument to be typed as a Tuple but found type: '{schema.arguments[1].type}' "
            f"instead.\n{_advice(concrete, hook.__name__, is_pre)}"
        )
    full = f"{concrete.jit_type.qualified_name}.{hook.__name__}"
    return ScriptFunction(
        hook.__name__, graph, schema, qualified_name=full, python_function=hook, is_method=True
    )


def _check_return(concrete: ConcreteType, definition: tree.Def, is_pre: bool) -> None:
    """Raises RuntimeError for a pre-hook without a return annotation."""
    if is_pre and definition.decl.return_type is None:
        name = definition.name.name
        raise RuntimeError(
            f"Pre-hook '{name}' on module '{_module(concrete)}' is missing a return annotation. "
            f"Return annotations are required, please add one.\n{_advice(concrete, name, is_pre)}"
        )


def _advice(concrete: ConcreteType, name: str, is_pre: bool) -> str:
    """The end of an error message: the signature that the hook is expected to have."""
    forward = concrete.jit_type.findMethod("forward")
    types = (
        [argument.type.annotation_str for argument in forward.schema.arguments[1:]]
        if forward is not None
        else []
    )
    output = (
        forward.schema.returns[0].type.annotation_str
        if forward is not None and forward.schema.returns
        else "None"
    )
    given = f"Tuple[{', '.join(types) or '()'}]"
    single = f"'{types[0]}', " if len(types) == 1 else ""
    words = PRE_HOOK_ADVICE if is_pre else HOOK_ADVICE
    return words.format(
        name=name, module=_module(concrete), given=given, single=single, output=output
    )


PRE_HOOK_ADVICE = (
    "This error occurred while scripting the forward pre-hook '{name}' on module '{module}'. If "
    "you did not want to script this pre-hook remove it from the original NN module before "
    "scripting. Pre-hooks for module '{module}' are expected to have the following signature: "
    "{name}(self, input: {given}) with a return type of either 'None', {single}or '{given}'.\n"
)
HOOK_ADVICE = (
    "This error occurred while scripting the forward hook '{name}' on module {module}. If you did "
    "not want to script this hook remove it from the original NN module before scripting. This "
    "hook was expected to have the following signature: {name}(self, input: {given}, output: "
    "{output}). The type of the output arg is the returned type from either the forward method or "
    "the previous hook if it exists. Note that hooks can return anything, but if the hook is on a "
    "submodule the outer module is expecting the same return type as the submodule's forward.\n"
)


def _kind(is_pre: bool) -> str:
    return "Pre-hook" if is_pre else "Hook"


def _module(concrete: ConcreteType) -> str:
    return concrete.jit_type.name().rpartition(".")[2]
