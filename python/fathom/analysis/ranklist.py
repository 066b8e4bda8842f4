"""Lists of ranks as people and `--ranks` write them: `0,8-63:8`."""

from collections.abc import Iterable


def _run(ranks: list[int], start: int) -> tuple[int, int]:
    """How many of the ranks from `start` are in even steps, and the step."""
    if start + 1 >= len(ranks):
        return 1, 1
    step = ranks[start + 1] - ranks[start]
    count = 2
    while start + count < len(ranks) and ranks[start + count] - ranks[start + count - 1] == step:
        count += 1
    return count, step


def compress(ranks: Iterable[int]) -> str:
    """[0, 8, 16, 24] -> `0-24:8`. Two that are not neighbours stay two."""
    left = sorted(set(ranks))
    words = []
    at = 0
    while at < len(left):
        count, step = _run(left, at)
        if count > 2 or (count == 2 and step == 1):
            words.append(f"{left[at]}-{left[at + count - 1]}" + (f":{step}" if step > 1 else ""))
            at += count
        else:
            words.append(str(left[at]))
            at += 1
    return ",".join(words)


def shortened(text: str, letters: int = 60) -> str:
    """Such a list for people: a long one ends early, by `…`."""
    return text if len(text) <= letters else f"{text[: text.rindex(',', 0, letters) + 1]}…"


def brief(ranks: Iterable[int], letters: int = 60) -> str:
    """The same of ranks."""
    return shortened(compress(ranks), letters)
