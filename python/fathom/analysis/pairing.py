"""Which files of two runs are the same file, when the second run was made elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

Manifest = Mapping[str, Any]


def _absolute(word: str, directory: str) -> str:
    return str(PurePosixPath(directory or "/", word))


def folders(first: Manifest, second: Manifest) -> list[tuple[str, str]]:
    """Pairs of folders that stand for each other: where the runs were started, and the words of their command
    lines that differ."""
    starts = (str(first.get("directory", "")), str(second.get("directory", "")))
    pairs = [starts] if all(starts) else []
    words = (first.get("command", []), second.get("command", []))
    if len(words[0]) == len(words[1]):
        pairs += [
            (_absolute(str(a), starts[0]), _absolute(str(b), starts[1]))
            for a, b in zip(*words, strict=True)
            if a != b
        ]
    return pairs


def _moved(path: str, sides: Sequence[str]) -> tuple[int, str] | None:
    """The deepest folder that the path is in, by its number, and the path in it."""
    inside = [
        (len(folder), number)
        for number, folder in enumerate(sides)
        if folder != "/" and path.startswith(folder.rstrip("/") + "/")
    ]
    if not inside:
        return None
    length, number = max(inside)
    return number, path[length:].lstrip("/")


def files(
    first: Iterable[str], second: Iterable[str], pairs: Sequence[tuple[str, str]]
) -> dict[str, str]:
    """A path of the second run to the path of the first that it is paired with: the same one, else the one that
    lies alike in a folder of `pairs`."""
    first_paths, second_paths = set(first), set(second)
    alike = {
        key: path
        for path in sorted(first_paths - second_paths)
        if (key := _moved(path, [a for a, _ in pairs]))
    }
    paired = {path: path for path in first_paths & second_paths}
    for path in sorted(second_paths - first_paths):
        key = _moved(path, [b for _, b in pairs])
        if key in alike:
            paired[path] = alike.pop(key)
    return paired
