"""Man pages, made of docs/commands/*.md: one source for the page and for the manual.

`pages(docs)` gives name and text of each: fathom(1), and fathom-NAME(1) of each command. Of links the words are
left, of pictures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from fathom import __version__
from fathom.cli.commands import COMMANDS, EPILOG
from markdown_it import MarkdownIt
from markdown_it.token import Token

FONTS = {"strong_open": "B", "em_open": "I"}
WIDE = 14  # letters of a row's first cell that still has its text beside it
# "…" is not in the letters of LANG=C, where it would be lost.
ESCAPES = {
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", "…": "...",
}  # fmt: skip


def escape(text: str) -> str:
    """As it is: what roff would take for something else is named."""
    return "".join(ESCAPES.get(letter, letter) for letter in text)


def inline(token: Token | None) -> str:
    """Words of a paragraph or cell, code and strong in bold."""
    out = []
    for part in (token.children or []) if token else []:
        if part.type == "text":
            out.append(escape(part.content))
        elif part.type == "code_inline":
            out.append(f"\\fB{escape(part.content)}\\fR")
        elif part.type in FONTS:
            out.append(f"\\f{FONTS[part.type]}")
        elif part.type.endswith("_close") and part.type != "link_close":
            out.append("\\fR")
        elif part.type in ("softbreak", "hardbreak"):
            out.append("\n")
    lines = (line.strip() for line in "".join(out).split("\n"))
    # A line that begins with a point would be a request.
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in lines if line)


def code(text: str) -> list[str]:
    """Lines as they are."""
    lines = (escape(line) for line in text.rstrip("\n").split("\n"))
    shown = (f"\\&{line}" if line.startswith(".") else line for line in lines)
    return [".PP", ".RS 4", ".nf", *shown, ".fi", ".RE"]


def pairs(rows: Sequence[Sequence[str]]) -> list[str]:
    """Two columns: each row a term and what it means; the heading said once."""
    out = [".PP", "\\fI" + " \\(em ".join(rows[0]) + "\\fR"] if all(rows[0]) else []
    for first, second in rows[1:]:
        out += [f".TP {WIDE}", first.replace("\n", " ") or "\\&", second or "\\&"]
    return out


def _upper(text: str) -> str:
    """In capitals, but for what troff has for a letter, as `\\(aq`."""
    return re.sub(r"(\\\(..|\\.)|([^\\]+)", lambda one: one[1] or one[2].upper(), text)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """More columns: tbl's, with blocks of text that share the width."""
    columns = len(rows[0])
    out = [".PP", ".TS", "tab(\t);", " ".join(["lbx"] * columns)]
    out.append(" ".join(["lx"] * columns) + ".")
    for row in rows:
        out.append("\t".join("T{\n" + (cell or "\\&") + "\nT}" for cell in row))
    return [*out, ".TE"]


def rows_of(tokens: Iterator[Token]) -> list[list[str]]:
    """Cells of a table, the heading's row first."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        if token.type == "inline":
            rows[-1].append(inline(token))
    return rows


class Body:
    """Tokens of a page to lines of roff."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.lists: list[str] = []  # what stands before the items of each open list
        self.item = False  # the next paragraph is the first of an item

    def heading(self, tokens: Iterator[Token], tag: str) -> None:
        title = inline(next(tokens))
        if tag != "h1":
            self.lines.append(
                f".{'SH' if tag == 'h2' else 'SS'} {_upper(title) if tag == 'h2' else title}"
            )
        next(tokens)

    def paragraph(self, token: Token) -> None:
        text = inline(token)
        if not text:
            return  # a picture
        if self.lists:
            self.lines.append(f".IP {self.lists[-1]} 3" if self.item else ".IP")
        else:
            self.lines.append(".PP")
        self.item = False
        self.lines.append(text)

    def of(self, text: str) -> list[str]:
        tokens = iter(MarkdownIt("commonmark").enable("table").parse(text))
        for token in tokens:
            if token.type == "heading_open":
                self.heading(tokens, token.tag)
            elif token.type == "table_open":
                rows = rows_of(tokens)
                self.lines += pairs(rows) if len(rows[0]) == 2 else table(rows)
            elif token.type == "fence":
                self.lines += code(token.content)
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                self.lists.append("\\(bu" if token.type.startswith("bullet") else "\\(en")
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self.lists.pop()
            elif token.type == "list_item_open":
                self.item = True
            elif token.type == "inline":
                self.paragraph(token)
        return self.lines


def joined(lines: Sequence[str]) -> str:
    """The page. A section's first paragraph begins with its heading."""
    title = (".SH", ".SS")
    paragraphs = (b for a, b in pairwise(["", *lines]) if not (b == ".PP" and a.startswith(title)))
    return "\n".join(paragraphs) + "\n"


def head(name: str, what: str, synopsis: str) -> list[str]:
    """Title, NAME and SYNOPSIS."""
    return [
        "'\\\" t",  # it has tables
        f'.TH "{name.upper()}" 1 "" "Fathom {__version__}" "Fathom"',
        *(".nh", ".ad l", ".SH NAME", f"{escape(name)} \\- {escape(what)}"),
        *(".SH SYNOPSIS", f"\\fB{escape(synopsis)}\\fR", ".SH DESCRIPTION"),
    ]


def main_page() -> str:
    """fathom(1): the commands."""
    lines = head(
        "fathom", "where the I/O time of a parallel program goes", "fathom COMMAND [options]"
    )
    lines += ["Each command has its own page.", ".SH COMMANDS"]
    for name, what in COMMANDS.items():
        lines += [f".TP {WIDE}", f"\\fBfathom\\-{escape(name)}\\fR(1)", escape(what)]
    lines += [".SH EXAMPLES", *code(re.sub(r"(?m)^  ", "", EPILOG.partition("\n")[2]))]
    return joined(lines)


def pages(docs: Path) -> Iterator[tuple[str, str]]:
    """File name and text of each page; `docs` is the folder of the commands' pages."""
    yield "fathom.1", main_page()
    for name, what in COMMANDS.items():
        lines = head(f"fathom-{name}", what, f"fathom {name} [options] …  (fathom {name} --help)")
        lines += Body().of((docs / f"{name}.md").read_text())
        yield f"fathom-{name}.1", joined([*lines, ".SH SEE ALSO", "\\fBfathom\\fR(1)"])
