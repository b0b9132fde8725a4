"""Functions from the code of an archive, which are compiled when they are first used.

Loading a network should not take as long as compiling it, and often only a part of an archive is
run. So loading reads only the signature of each function, which is all that is needed to compile a
call of it. The body is compiled at the first access to `graph`, by the compiler of `jit.script`
(`compile_in_archive`).

An error in a body is therefore raised when the function is first run or shown. It is an
`ArchiveError` that names the record and shows the line:

    archive: record 'code/__torch__.py':
    undefined value zz:
      File "code/__torch__.py", line 7
        x: Tensor) -> Tensor:
        y = torch.add(x, zz)
                         ~~ <--- HERE
        return y

How the real one differs: `torch.jit.load` compiles all bodies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from internals.jit.frontend.build_tree import build_def
from internals.jit.frontend.compiler import Compiler, compile_with_schema
from internals.jit.frontend.error_report import error
from internals.jit.frontend.errors import FrontendError
from internals.jit.frontend.signatures import schema_of_def
from internals.jit.frontend.source import ParsedFunction
from internals.jit.ir import Block, ClassType, FunctionType, Graph, SourceRange, Type
from internals.jit.schema import FunctionSchema
from internals.jit.script_function import ScriptFunction

from ..errors import ArchiveError
from .archive_literals import defaults_of
from .archive_names import Namespace


class ImportedFunction(ScriptFunction):
    """A function or method of an archive. `schema` is known from the start, `graph` is compiled at
    the first access.
    """

    def __init__(
        self,
        definition: ParsedFunction,
        namespace: Namespace,
        qualified_name: str,
        self_type: ClassType | None = None,
        archive: str = "",
    ) -> None:
        self.definition, self.namespace, self.self_type, self.archive = (
            definition,
            namespace,
            self_type,
            archive,
        )
        self._graph: Graph | None = None
        self._calls_are_checked = False
        with self._refusing():
            schema = signature_in_archive(definition, namespace, self_type)
        self._set_up(
            definition.definition.name, schema, qualified_name, None, self_type is not None
        )

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        """The graph. Raises ArchiveError, the first time, if the code is not TorchScript."""
        if self._graph is None:
            with self.namespace.lock, self._refusing():
                # another thread may have compiled it meanwhile
                if self._graph is None:
                    self._graph = self._compile()
        return self._graph

    def _compile(self) -> Graph:
        return compile_in_archive(self.definition, self.namespace, self.self_type)[0]

    @property
    def executor(self) -> Any:
        """The executor that runs the graph. Raises ArchiveError if a function that it calls cannot
        be compiled, or calls itself.
        """
        if self._executor is None:
            self.check_calls()
        return super().executor

    @property
    def inlined_graph(self) -> Graph:
        self.check_calls()
        with self._refusing():
            return super().inlined_graph

    def check_calls(self) -> None:
        """Compiles all functions that it calls. Raises ArchiveError for a function that calls
        itself, directly or through others.
        """
        # A depth-first search without recursion: `active` are the functions on the current path.
        if self._calls_are_checked:
            return
        path: list[tuple[ImportedFunction, Iterator[tuple[ImportedFunction, SourceRange]]]] = [
            (self, self.calls())
        ]
        active = {self}
        while path:
            function, calls = path[-1]
            callee, where = next(calls, (None, None))
            if callee is None:
                function._calls_are_checked = True
                active.remove(function)
                path.pop()
            elif callee in active:
                what = "method" if callee.is_method else "function"
                with function._refusing():
                    raise error(
                        where,
                        f"{what} '{callee.name}' is called recursively. Recursive calls are not "
                        "supported",
                    )
            elif not callee._calls_are_checked:
                path.append((callee, callee.calls()))
                active.add(callee)

    def calls(self) -> Iterator[tuple[ImportedFunction, SourceRange]]:
        """The functions of archives that the graph calls, with the places of the calls."""
        return iter(
            [
                (f, where)
                for f, where in _calls_in(self.graph.block())
                if isinstance(f, ImportedFunction)
            ]
        )

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        with refusing(self.archive, self.definition.context.filename or ""):
            yield


def compile_in_archive(
    definition: ParsedFunction, namespace: Namespace, self_type: Type | None = None
) -> tuple[Graph, FunctionSchema]:
    """The graph and schema of a function in an archive, or of a method if `self_type` is given.

    Raises the compiler's errors: RuntimeError with the place, NotSupportedError, RecursionError for
    code that is nested too deeply.
    """
    tree = build_def(definition.context, definition.definition, None, definition.definition.name)
    defaults = defaults_of(definition.definition.args, namespace)
    return compile_with_schema(tree, namespace, self_type=self_type, defaults=defaults)


def signature_in_archive(
    definition: ParsedFunction, namespace: Namespace, self_type: Type | None = None
) -> FunctionSchema:
    """The schema of a function, without reading its body."""
    whole = definition.definition
    names = [arg.arg for arg in (*whole.args.args, *whole.args.kwonlyargs)]
    if len(set(names)) < len(names) or whole.args.posonlyargs:
        raise ValueError(f"line {whole.lineno}: '{whole.name}' has arguments that it cannot have")
    # the same function without a body and decorators
    head = ast.copy_location(ast.FunctionDef(whole.name, whole.args, [], [], whole.returns), whole)
    tree = build_def(definition.context, head, None, whole.name)
    if tree.decl.return_type is None:
        raise error(tree.range, f"'{whole.name}' does not say what it returns")
    return schema_of_def(
        Compiler(namespace, whole.name), tree, self_type, defaults_of(whole.args, namespace)
    )


@contextmanager
def refusing(archive: str, record: str) -> Iterator[None]:
    """Turns any error of the `with` block into an ArchiveError about the record, with the same
    text.
    """
    try:
        yield
    except ArchiveError as problem:
        if problem.archive or problem.record:
            raise
        raise ArchiveError(problem.message, archive=archive, record=record) from problem.__cause__
    except (RecursionError, MemoryError):
        raise ArchiveError("nested too deeply", archive=archive, record=record) from None
    except (RuntimeError, FrontendError) as problem:  # a compile error: it shows the place
        raise ArchiveError(str(problem), archive=archive, record=record) from None
    except Exception as problem:
        text = str(problem) or type(problem).__name__
        raise ArchiveError(text, archive=archive, record=record) from problem


def _calls_in(block: Block) -> Iterator[tuple[Any, SourceRange]]:
    """Yields the function (None if unknown) and the place of each call in a block and inside it."""
    for node in block.nodes():
        if node.kind() == "prim::CallFunction":
            called = node.input(0).type()
            yield called.function if isinstance(called, FunctionType) else None, node.sourceRange()
        elif node.kind() == "prim::CallMethod":
            owner = node.input(0).type()
            yield (
                owner.findMethod(node.s("name")) if isinstance(owner, ClassType) else None,
                node.sourceRange(),
            )
        elif node.kind() == "prim::fork":
            yield from _calls_in(node.g("Subgraph").block())
        for inner in node.blocks():
            yield from _calls_in(inner)
