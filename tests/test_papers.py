"""docs/papers.md: its commands and their options exist, and so do the files, kernels and tests that it names."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
from collections.abc import Iterator
from functools import cache

import pytest
from fathom.__main__ import _apart
from fathom.analysis.latency import language
from fathom.cli.commands import COMMANDS
from fathom.cli.parser import Parser
from fathom.errors import FathomError
from harness import offered, paths

NATIVE = ("run", "env")  # no Python parses their words
PAGE = (paths.ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```\n(.*?)^```", re.M | re.S)
KERNEL = re.compile(r"\b[a-z0-9]+_(?:mpiio|hdf5|pnetcdf|f08|raw)_(?:mpich|openmpi)\b")
SPAN = re.compile(r"`([^`\n]+)`")
FILE = re.compile(
    r"(?<![\w./-])(?:bench|build/kernels|build/tests|docs|examples|kernels|tests)/[\w./-]*\w"
)


@cache
def parser_of(command: str) -> argparse.ArgumentParser:
    """The command's own, which asks for nothing: the page may leave words out."""
    parser = Parser(prog=f"fathom {command}")
    importlib.import_module(f"fathom.cli.{command}").add_arguments(parser)
    for action in parser._actions:
        action.required = False
    return parser


def wrong(words: list[str]) -> str:
    """What is not so of a command of the page, or nothing. The program's words behind `--` are its own."""
    command, *rest = words
    if command == "list":
        what, *rest = rest
        return " ".join(parser_of(f"list_{what}").parse_known_args(rest)[1])
    own = [word for word in _apart(rest)[0] if word != "…"]
    if command not in COMMANDS:
        return f"no command {command}"
    if command in NATIVE:
        given = {word.partition("=")[0] for word in own if word.startswith("--")}
        return ", ".join(sorted(given - offered.options(command)))
    parser = parser_of(command)
    try:
        if command != "query":
            return " ".join(parser.parse_known_args(own)[1])
        known, rest = parser.parse_known_intermixed_args(own)
        if known.words and "…" not in words:
            language.parse(" ".join(known.words))
    except FathomError as error:
        return str(error)
    return " ".join(rest)


def words_of(text: str) -> list[str]:
    """Without `fathom`; a number stands in the place of PID."""
    return ["1" if word == "PID" else word for word in shlex.split(text, comments=True)[1:]]


def fenced() -> Iterator[list[str]]:
    """The runs that rows speak of."""
    for block in FENCED.findall(PAGE):
        for line in block.splitlines():
            if line.startswith("fathom "):
                yield words_of(line)


def in_rows() -> Iterator[tuple[str, list[list[str]], list[str]]]:
    """Each line: its commands; options that stand alone, which are of one of these, or of the runs above."""
    for line in FENCED.sub("", PAGE).splitlines():
        spans = SPAN.findall(line)
        commands = [words_of(span) for span in spans if span.startswith("fathom ")]
        if any(commands):
            yield line, [one for one in commands if one], [s for s in spans if s.startswith("--")]


@pytest.mark.parametrize("words", list(fenced()), ids=" ".join)
def test_runs_of_the_page(words: list[str]) -> None:
    assert words[0] == "run" and not wrong(words)


def test_commands_of_the_rows() -> None:
    wrong_rows = []
    for line, commands, alone in in_rows():
        wrong_rows += [
            f"fathom {' '.join(words)}: {why}" for words in commands if (why := wrong(words))
        ]
        names = [words[0] for words in commands] + ["run"]
        for span in alone:
            if all(wrong([name, *shlex.split(span)]) for name in names):
                wrong_rows.append(f"{span}: of none of {', '.join(names)} in: {line[:60]}")
    assert not wrong_rows, "\n".join(wrong_rows)


@pytest.mark.parametrize(
    "text",
    [
        "shew x",
        "show x --bogus",
        "run --bogus -- x",
        "show x --by nobody",
        "query x latency sideways",
    ],
)
def test_what_is_wrong_is_seen(text: str) -> None:
    assert wrong(text.split())


def test_files_of_the_page() -> None:
    text = PAGE.replace("$K/", "build/kernels/")
    named = {name for name in FILE.findall(text) if not name.startswith("docs/commands/")}
    missing = sorted(name for name in named if not (paths.ROOT / name).exists())
    assert named and not missing
    kernels = set(KERNEL.findall(text))
    assert not [name for name in kernels if not (paths.BUILD / "kernels" / name).exists()]
