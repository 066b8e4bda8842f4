"""elsewhere.py FOLDER [MENDED…]: three mistakes, each on files of its own: many small writes (`small`), many files
(`many`), a sync after each write (`sync`). One that is named is mended: the same bytes in few requests."""

import os
import sys

KIB = 1 << 10
SMALL, MANY, SYNCS = 800, 150, 100


def write(path: str, pieces: int, size: int, syncs: bool = False) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for _ in range(pieces):
        os.write(file, bytes(size))
        if syncs:
            os.fsync(file)
    os.close(file)


def main() -> None:
    folder, *mended = sys.argv[1:]
    few = "small" in mended
    write(f"{folder}/small", 1 if few else SMALL, SMALL * KIB if few else KIB)
    files = 1 if "many" in mended else MANY
    for number in range(files):
        write(f"{folder}/many.{number}", MANY // files, KIB)
    write(f"{folder}/sync", SYNCS, KIB, syncs="sync" not in mended)


main()
