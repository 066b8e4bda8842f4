"""Checks the prose of Markdown files: a sentence has at most MOST words. Usage: prose.py FILE..."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

MOST = 25  # words; a span of code is one, whatever is in it
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(`]*[A-Z0-9`])")
WORD = re.compile(r"\S*[A-Za-z0-9]\S*")


def text(inline: Token) -> str:
    """What is read of a paragraph: a span of code becomes one word."""
    pieces = []
    for token in inline.children or []:
        if token.type == "code_inline":
            pieces.append("`code`")
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type == "text":
            pieces.append(token.content)
    return "".join(pieces)


def long_sentences(markdown: str) -> list[tuple[int, int, str]]:
    """(line, words, sentence) of each that is too long; blocks of code are not looked at."""
    too_long = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type != "inline" or token.map is None:
            continue
        for sentence in SENTENCE_END.split(text(token)):
            words = len(WORD.findall(sentence))
            if words > MOST:
                too_long.append((token.map[0] + 1, words, sentence))
    return too_long


def main() -> int:
    count = 0
    for name in sys.argv[1:]:
        for line, words, sentence in long_sentences(Path(name).read_text()):
            count += 1
            print(
                f"{name}:{line}: a sentence of {words} words (at most {MOST}): {sentence[:70]}..."
            )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
