"""From a Python function to its tree: the definition and its parameters (`torch/jit/frontend.py`).

`tree_of(fn, name)` is the first step of compiling: it finds the source, lets Python parse it, and
builds the tree of it, raising an error at the first thing that TorchScript does not have. The
statements are in `build_statements.py`, the expressions in `build_expressions.py`.

No type is known yet and no name is looked up: `x + y` is a `BinOp` whether x is a tensor, a list or
undefined.

How the real one differs: there, calls recorded by MonkeyType may supply the types of parameters
(profile directed typing).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from . import modifiers, tree, type_comments
from .build_expressions import build_expression
from .build_statements import build_statements
from .errors import NotSupportedError
from .source import ParsedFunction, SourceContext, parse_function

VARIABLE_ARGUMENTS = (
    "Compiled functions can't take variable number of arguments or use keyword-only arguments with "
    "defaults"
)


def tree_of(
    fn: Callable[..., Any] | ParsedFunction, name: str, self_name: str | None = None,
    comment: str | None = None,
) -> tree.Def:  # fmt: skip
    """The tree of a function called `name`; of a method, if `self_name`, the type of its `self`, is
    given.

    `name` need not be `fn.__name__`: in a class with `forward = _forward`, the tree of `forward` is
    wanted. Raises the errors of `parse_function`, NotSupportedError or UnsupportedNodeError for
    syntax that TorchScript does not have, and RuntimeError for a malformed type comment.
    """
    parsed = fn if isinstance(fn, ParsedFunction) else parse_function(fn)
    comment = comment or type_comments.find(parsed.text)
    definition = parsed.definition
    if modifiers.is_unused(fn):
        definition = _raising(definition, keep_return_type=not modifiers.is_dropped(fn))
    return build_def(parsed.context, definition, comment, name, self_name)


def build_def(
    context: SourceContext,
    definition: ast.FunctionDef,
    comment: str | None,
    name: str,
    self_name: str | None = None,
) -> tree.Def:
    """The tree of a definition that Python has parsed; `comment` is its type comment, or None."""
    where = context.range_of(definition, len("def"))
    params = build_parameters(context, definition.args, self_name)
    returns = (
        build_expression(context, definition.returns) if definition.returns is not None else None
    )
    decl = tree.Decl(where, params, returns)
    if comment is not None:
        decl = type_comments.merge(
            decl, type_comments.parse(comment), is_method=self_name is not None
        )
    return tree.Def(
        where, tree.Ident(where, name), decl, build_statements(context, definition.body)
    )


def build_parameters(
    context: SourceContext, args: ast.arguments, self_name: str | None
) -> tuple[tree.Param, ...]:
    """The parameters of a definition. Their defaults are not part of the tree
    (`default_arguments`).

    Raises NotSupportedError for `*args`, `**kwargs` and keyword-only parameters with defaults.
    """
    for variable in (args.kwarg, args.vararg):
        if variable is not None:
            # the underlined part starts with the last star before the name
            start = context.range_of(variable, len(variable.arg))
            raise NotSupportedError(
                context.raw_range(start.start - 1, start.end), VARIABLE_ARGUMENTS
            )
    for default in args.kw_defaults:
        if default is not None:
            raise NotSupportedError(build_expression(context, default).range, VARIABLE_ARGUMENTS)
    return (
        *(build_parameter(context, arg, self_name, kwarg_only=False) for arg in args.args),
        *(build_parameter(context, arg, self_name, kwarg_only=True) for arg in args.kwonlyargs),
    )


def build_parameter(
    context: SourceContext, arg: ast.arg, self_name: str | None, kwarg_only: bool
) -> tree.Param:
    """One parameter. The `self` of a method is annotated with `self_name`."""
    where = context.range_of(arg, len(arg.arg))
    annotation: tree.Expr | None = None
    if arg.annotation is not None:
        annotation = build_expression(context, arg.annotation)
    elif self_name is not None and arg.arg == "self":
        annotation = tree.Var(where, tree.Ident(where, self_name))
    return tree.Param(where, tree.Ident(where, arg.arg), annotation, None, kwarg_only)


def default_arguments(fn: Callable[..., Any] | None) -> dict[str, Any]:
    """The default values of a Python function, by name of the parameter. Parameters without a
    default are omitted.
    """
    if fn is None:
        return {}
    parameters = inspect.signature(fn).parameters
    return {
        name: each.default
        for name, each in parameters.items()
        if each.default is not inspect.Parameter.empty
    }


def _raising(definition: ast.FunctionDef, keep_return_type: bool) -> ast.FunctionDef:
    """The definition that replaces an `@unused` function: it accepts anything and raises an error.
    The original body is dropped before it is looked at, so it need not be TorchScript.
    """
    stand_in = ast.parse(
        'def unused_fn(self: Any):\n\traise RuntimeError("Cannot call @unused methods")'
    ).body[0]
    assert isinstance(stand_in, ast.FunctionDef)
    for node in ast.walk(stand_in):
        ast.copy_location(node, definition)
    anything = stand_in.args.args[0].annotation
    definition.body = stand_in.body
    definition.args.kwarg = definition.args.vararg = None
    for arg in definition.args.args + definition.args.kwonlyargs:
        arg.annotation = anything
    if not keep_return_type:
        definition.returns = definition.type_comment = None
    return definition
