"""python -m harness.grown RUN DIRECTORY [--ranks N] [--calls M] [--files GLOB]: a recorded run, grown."""

import argparse
from pathlib import Path

from harness import grown


def main() -> None:
    """Makes it and says how large it is."""
    parser = argparse.ArgumentParser(prog="harness.grown", description=grown.__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--files", default="*", help="whose calls are copied (default: all)")
    given = parser.parse_args()
    try:
        one = grown.grow(given.run, given.directory, given.ranks, given.calls, given.files)
    except grown.CannotGrow as error:
        parser.error(str(error))
    print(
        f"{one.path}: {one.calls:,} calls of {one.ranks:,} ranks, {one.repetitions:,} times what was recorded"
    )


main()
