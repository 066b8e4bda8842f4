"""Recorder's grammars: in which order calls came, as rules that stand for each other. Integers are little-endian."""

from array import array
from collections.abc import Iterator
from itertools import repeat

from fathom.importing.lines import Damaged

START = -1  # the rule that a grammar begins with
INTEGER = 4

# By number: symbols, each with how often it comes. Numbers below 0 are rules, others signatures of calls.
Rules = dict[int, tuple[int, ...]]


def rules(data: bytes, name: str) -> Rules:
    """Those of a table; `name`: where it lies."""
    if len(data) % INTEGER or not data:
        raise Damaged(f"{name} breaks off")
    words = array("i", data)
    found: Rules = {}
    at = 1
    while at + 2 <= len(words):
        rule, symbols = words[at], words[at + 1]
        body = tuple(words[at + 2 : at + 2 + 2 * symbols]) if symbols >= 0 else ()
        if rule >= 0 or rule in found or len(body) != 2 * symbols:
            raise Damaged(f"{name} is damaged")
        found[rule] = body
        at += 2 + len(body)
    if at != len(words) or len(found) != words[0] or START not in found:
        raise Damaged(f"{name} is damaged")
    return found


def used(rules: Rules, signatures: int) -> set[int]:
    """Which of the signatures it names."""
    return {one for body in rules.values() for one in body[::2] if 0 <= one < signatures}


def length(rules: Rules, signatures: int, name: str) -> int:
    """How many calls the grammar stands for; every rule is looked at once, those that it names first."""
    lengths: dict[int, int] = {}
    within: set[int] = set()
    todo = [START]
    while todo:
        rule = todo[-1]
        body = rules[rule]
        within.add(rule)
        missing = [one for one in body[::2] if one < 0 and one not in lengths]
        if any(one not in rules or one in within for one in missing):
            raise Damaged(f"{name}: a rule is missing, or holds itself")
        if missing:
            todo += dict.fromkeys(missing)
            continue
        if any(often < 1 for often in body[1::2]) or any(one >= signatures for one in body[::2]):
            raise Damaged(f"{name} names a call that is not there")
        pairs = zip(body[::2], body[1::2], strict=True)
        lengths[rule] = sum(often * (lengths[one] if one < 0 else 1) for one, often in pairs)
        within.discard(rule)
        todo.pop()
        while todo and todo[-1] in lengths:
            todo.pop()
    return lengths[START]


def unfolded(rules: Rules) -> Iterator[int]:
    """Numbers of signatures, call by call."""
    # Rules that are being read: where in its body, and how often the symbol there is still to come.
    todo = [(START, 0, rules[START][1] if rules[START] else 0)]
    while todo:
        rule, at, often = todo.pop()
        body = rules[rule]
        if at >= len(body):
            continue
        if often > 1 and body[at] < 0:
            todo.append((rule, at, often - 1))
        else:
            todo.append((rule, at + 2, body[at + 3] if at + 3 < len(body) else 0))
        symbol = body[at]
        if symbol >= 0:
            yield from repeat(symbol, often)
        else:
            todo.append((symbol, 0, rules[symbol][1] if rules[symbol] else 0))
