"""Type comments, which were used before Python had annotations (`get_type_line` of
`torch/jit/annotations.py`).

    def f(x, n):
        # type: (Tensor, int) -> Tuple[Tensor, int]

or, one for each parameter:

    def f(x,  # type: Tensor
          n,  # type: int
          ):
        # type: (...) -> Tuple[Tensor, int]

`find` returns the comment as one line, `parse` turns it into a `Decl` whose parameters have types
but no names, and `merge` puts these types into the declaration of a function. They take precedence
over annotations. `# type: ignore` is not a type comment.

How the real one differs: its C++ lexer reads the comment, so its errors have other words.
"""

from __future__ import annotations

import ast
import keyword
import re

from . import tree
from .build_expressions import build_expression
from .error_report import error
from .source import SourceContext, parse_expression

PREFIX = "# type:"
IGNORED = re.compile(r"# type: ignore(\[[a-zA-Z-]+\])?$")
# `#type:` or `# type :`, but not a form of `# type: ignore`
MISSPELT = re.compile(r"#[\t ]*type[\t ]*(?!: ignore(\[.*\])?$):")
PEP_484 = (
    "https://www.python.org/dev/peps/pep-0484/#suggested-syntax-for-python-2-7-and-straddling-code"
)


def find(text: str) -> str | None:
    """The type comment in the source of a function, None if there is none.

    Raises RuntimeError if there are several and none gives the return type, or if one is misspelt.
    """
    lines = text.split("\n")
    comments = [
        (number, line)
        for number, line in enumerate(lines)
        if PREFIX in line and not IGNORED.search(line)
    ]
    if len(comments) == 1:
        return comments[0][1].strip()
    if not comments:
        for number, line in enumerate(lines):
            if MISSPELT.search(line):
                raise RuntimeError(
                    f"The annotation prefix in line {number} is probably invalid.\nIt must be "
                    f"'{PREFIX}'\n"
                    f"See PEP 484 ({PEP_484})\nfor examples"
                )
        return None
    # several comments: one for each parameter, then the return type, where `...` is filled in
    types: list[str] = []
    for _, line in comments:
        if "# type: (...) -> " in line:
            return line.replace("...", ", ".join(types))
        types.append(line[line.find(PREFIX) + len(PREFIX) :].strip())
    raise RuntimeError(
        "Return type line '# type: (...) -> ...' not found on multiline type annotation\nfor type "
        "lines:\n" + "\n".join(line for _, line in comments) + f"\n(See PEP 484 {PEP_484})"
    )


def parse(comment: str) -> tree.Decl:
    """The declaration that `# type: (A, B) -> C` stands for; the `-> C` may be omitted. Raises
    RuntimeError if the comment does not have that form.
    """
    start = len(comment) - len(comment.lstrip())
    if not comment.startswith(PREFIX, start):
        raise _unexpected(comment, start, "type comment")
    opening = _skip_space(comment, start + len(PREFIX))
    if not comment.startswith("(", opening):
        raise _unexpected(comment, opening, "(")
    closing = _closing(comment, opening)
    arguments = _expressions(comment, opening + 1, closing)
    where = SourceContext(comment, None, 1).raw_range(start, start + len(PREFIX))
    params = tuple(tree.Param(each.range, tree.Ident(each.range, ""), each) for each in arguments)
    arrow = _skip_space(comment, closing + 1)
    if not comment.startswith("->", arrow):
        return tree.Decl(where, params)
    returns = _expressions(comment, arrow + len("->"), len(comment))
    if len(returns) != 1:
        raise _unexpected(comment, arrow + len("->"), "type")
    return tree.Decl(where, params, returns[0])


def merge(decl: tree.Decl, comment: tree.Decl, is_method: bool) -> tree.Decl:
    """`decl` with the types of the comment, which omits `self`. Raises RuntimeError if it has more
    or fewer types than there are parameters.
    """
    own = decl.params[:1] if is_method else ()
    typed = decl.params[len(own) :]
    if len(typed) != len(comment.params):
        raise error(
            decl.range,
            f"Number of type annotations ({len(comment.params)}) did not match the number of "
            f"{'method' if is_method else 'function'} parameters ({len(typed)})",
        )
    params = tuple(
        tree.Param(param.range, param.name, new.type, param.default, param.kwarg_only)
        for param, new in zip(typed, comment.params)
    )
    return tree.Decl(decl.range, own + params, comment.return_type)


def _expressions(comment: str, start: int, end: int) -> tuple[tree.Expr, ...]:
    """The types between `start` and `end`, separated by commas.

    Python parses them as the arguments of a call. The columns of that call, in which `f(` precedes
    the types, become those of the comment by the `indent` of the context.
    """
    text = comment[start:end]
    try:
        call = parse_expression(f"f({text}\n)")  # the `\n` ends a comment at the end of the text
    except SyntaxError:
        raise _unexpected(comment, _skip_space(comment, start), "types") from None
    assert isinstance(call, ast.Call)
    context = SourceContext(comment, None, 1, indent=start - len("f("))
    return tuple(build_expression(context, arg) for arg in call.args)


def _closing(comment: str, opening: int) -> int:
    """The offset of the bracket that closes the one at `opening`. Raises RuntimeError without
    one.
    """
    depth = 0
    for at in range(opening, len(comment)):
        depth += (comment[at] in "([") - (comment[at] in ")]")
        if depth == 0:
            return at
        if depth == 1 and comment.startswith("->", at):
            raise _unexpected(comment, at, ")")
    raise _unexpected(comment, len(comment), ")")


def _skip_space(comment: str, start: int) -> int:
    """The offset of the first character from `start` on that is not a space."""
    while start < len(comment) and comment[start].isspace():
        start += 1
    return start


def _unexpected(comment: str, at: int, wanted: str) -> RuntimeError:
    """The error for the token at offset `at`, in the words of PyTorch's parser."""
    word = re.match(r"->|\w+|\S|$", comment[at:])  # the token: arrow, word, character or end
    found = word.group() if word is not None else ""
    where = SourceContext(comment, None, 1).raw_range(at, at + max(len(found), 1))
    kind = {"->": "arrow", "": "EOF"}.get(found, found)
    if found.isidentifier() and not keyword.iskeyword(found):
        kind = "ident"
    return RuntimeError(
        f"expected {wanted} but found '{'number' if found.isdigit() else kind}' "
        f"here:\n{where.highlight()}"
    )
