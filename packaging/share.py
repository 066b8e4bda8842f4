"""share.py FATHOM DIRECTORY: man pages and completions, below DIRECTORY as below any prefix's share/.

FATHOM is the native command; this needs a Python in which `fathom` is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import completion
import manual

DOCS = Path(__file__).resolve().parent.parent / "docs" / "commands"


def files(fathom: Path) -> Iterator[tuple[str, str]]:
    """Place below share/ and text of each."""
    for name, text in manual.pages(DOCS):
        yield f"man/man1/{name}", text
    every = list(completion.commands(fathom))
    yield "bash-completion/completions/fathom", completion.bash(every)
    yield "zsh/site-functions/_fathom", completion.zsh(every)
    yield "fish/vendor_completions.d/fathom.fish", completion.fish(every)


def main() -> int:
    """Writes all of them."""
    if len(sys.argv) != 3:
        print("usage: share.py FATHOM DIRECTORY", file=sys.stderr)
        return 2
    for name, text in files(Path(sys.argv[1]).resolve()):
        place = Path(sys.argv[2], name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
