"""python -m harness.planted DIRECTORY [--ranks N] [--calls M] [--seed S]: a run with planted troubles."""

import argparse
from pathlib import Path

from harness import planted


def main() -> None:
    """Makes it and says what is in it."""
    parser = argparse.ArgumentParser(prog="harness.planted", description=planted.__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--hostile", action="store_true", help="names of files that try to be markup"
    )
    given = parser.parse_args()
    try:
        one = planted.sized(given.directory, given.ranks, given.calls, given.seed, given.hostile)
    except planted.TooSmall as error:
        parser.error(str(error))
    planted.make(one)
    print(
        f"{one.path}: {one.calls:,} calls of {one.ranks} ranks; rank {one.writer} wrote for 900 ms in call "
        f"{one.slow_write}, rank {one.straggler} is slow, {one.hot} is slow"
    )


main()
