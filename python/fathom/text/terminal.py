"""How far long work is, on a terminal."""

import sys


def show(text: str) -> None:
    """In place of what was shown so before; empty: the line is free again. Nothing where stderr is no terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
