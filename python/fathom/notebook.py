"""%%fathom: a cell of a notebook, or of IPython, recorded into a run; it ends with the run's page.

>>> %load_ext fathom
>>> %%fathom save
... numpy.save("grid.npy", grid)
"""

from __future__ import annotations

import ast
import contextlib
from types import CodeType
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser
from IPython.display import display

import fathom
from fathom.attach import attached
from fathom.errors import FathomError
from fathom.run.filter import LEVELS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load(shell: InteractiveShell) -> None:
    """Makes the magic known."""
    parser = _parser()

    def magic(line: str, cell: str) -> object:
        return _record(shell, parser, line, cell)

    magic.__doc__ = parser.format_help()
    shell.register_magic_function(magic, "cell", "fathom")


def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser(
        "%%fathom", description="Records what this cell does, and shows where its I/O time went."
    )
    parser.add_argument("name", nargs="?", help="run directory NAME.fathom (else cell.1, cell.2 …)")
    parser.add_argument("--level", default="call", help=f"how finely: {', '.join(LEVELS)}")
    parser.add_argument("--layers", default="", help="layers, or +LAYER, -LAYER")
    parser.add_argument("--files", action="append", default=[], help="only these; !GLOB: not these")
    return parser


def _record(shell: InteractiveShell, parser: MagicArgumentParser, line: str, cell: str) -> object:
    """The run, which the cell shows as its value. What an exception ends is shown before it."""
    given = parser.parse_argstring(line)
    parts = _compiled(shell, cell)
    name = given.name or attached.free("cell")
    options = {"level": given.level, "layers": given.layers, "files": given.files}
    stack = contextlib.ExitStack()
    try:
        recording = stack.enter_context(fathom.record(name, **options))
    except FathomError as error:
        raise UsageError(str(error)) from None  # one line
    try:
        with stack:
            for part in parts:
                exec(part, shell.user_ns)
    except BaseException:
        display(recording.run)
        raise
    return recording.run


def _compiled(shell: InteractiveShell, cell: str) -> list[CodeType]:
    """As IPython compiles a cell: its last expression shows its value. Raises SyntaxError."""
    text = shell.transform_cell(cell)
    name = shell.compile.cache(text, shell.displayhook.prompt_count, cell)
    body = shell.transform_ast(shell.compile.ast_parse(text, name)).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    parts: list[CodeType] = [shell.compile(ast.Module(body, []), name, "exec")]
    if last:
        parts.append(shell.compile(ast.Interactive([last]), name, "single"))
    return parts
