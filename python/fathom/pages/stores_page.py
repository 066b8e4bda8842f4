"""The reference page of what stores cost, from catalog/stores.

python -m fathom.pages.stores_page > docs/stores.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from fathom.catalog.stores import (
    CALLS,
    DIRECTIONS,
    KINDS,
    LAYOUT,
    MOVES,
    Default,
    Figure,
    Source,
    Store,
    stores,
)
from fathom.text import numbers

INTRODUCTION = """\
# Stores

What an access costs on a file system, by what papers, manuals and published measurements say.
This page is made from [catalog/stores](../catalog/stores/README.md).

- A figure is an interval. It covers several generations of hardware, so its ends are far apart.
- *Cached*: the client's memory serves the access. *Server*: it goes to the server or device.
- A figure that a store lacks here is that of all stores of its kind.
- A type that no store names is taken for one of the kind `network`.
- A run's own large accesses go before the catalog.
  So do [other runs on the mount](commands/landscape.md#what-accesses-cost-at-this-site).
"""
#: Columns of the first table: heading -> figure and directions.
OVERVIEW: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cached": ("request.cached", DIRECTIONS),
    "server": ("request.server", DIRECTIONS),
    "one process": ("rate", DIRECTIONS),
    "one server": ("server_rate", DIRECTIONS),
    "fsync": ("sync", ("",)),
    "create": ("create", ("",)),
    "lock": ("lock", ("",)),
}
TEXTS = {name: words for part in (MOVES, CALLS, LAYOUT) for name, words in part.items()}


def _number(of: str, value: float) -> str:
    return f"{numbers.rate(value / 1e6)} MB/s" if of.endswith("rate") else numbers.seconds(value)


def _span(of: str, low: float, high: float) -> str:
    return _number(of, low) if low == high else f"{_number(of, low)} to {_number(of, high)}"


def _cell(store: Store, of: str, ways: Iterable[str]) -> str:
    known = [figure for way in ways if (figure := store.figure(of, way))]
    if not known:
        return "-"
    return _span(of, min(one.low for one in known), max(one.high for one in known))


def _table(every: Iterable[Store]) -> list[str]:
    lines = [f"| store | {' | '.join(OVERVIEW)} |", "|---" * (len(OVERVIEW) + 1) + "|"]
    for store in every:
        cells = [_cell(store, of, ways) for of, ways in OVERVIEW.values()]
        lines.append(f"| {store.name} | {' | '.join(cells)} |")
    return lines


def _sentence(clause: str) -> str:
    """A name keeps its letters."""
    is_word = re.match(r"[a-z]+\b(?![_(])", clause)
    return (clause[:1].upper() if is_word else clause[:1]) + clause[1:] + "."


def _sentences(words: str) -> str:
    """Clauses apart by semicolons -> sentences: a source may say much."""
    return " ".join(map(_sentence, words.split("; ")))


def _says(one: Figure | Default) -> list[str]:
    return [f"  - *{key}*: {_sentences(words)}" for key, words in one.says.items()]


def _figures(store: Store) -> list[str]:
    lines = []
    for of in (*MOVES, *CALLS):
        own = [
            figure
            for figure in store.figures.values()
            if figure.of == of and figure.store == store.name
        ]
        if own:
            spans = [f"{_span(of, one.low, one.high)} {one.direction}".rstrip() for one in own]
            lines += [f"- **{of}** {', '.join(spans)}", *_says(own[0])]
    for of, default in store.layout.items():
        value = (
            numbers.count(default.value) if of == "stripe_count" else numbers.size(default.value)
        )
        lines += [f"- **{of}** {value}", *_says(default)]
    return lines


def _source(source: Source) -> str:
    where = f"<{source.at}>" if source.at.startswith("http") else source.at
    return f"| {source.key} | {source.title} | {source.year} | {where} |"


def _section(store: Store) -> str:
    lines = [
        f"## {store.name}",
        "",
        f"{store.title[:1].upper()}{store.title[1:]}.",
        "",
        f"Types: `{' '.join(store.types)}`",
        "",
    ]
    figures = _figures(store)
    lines += [*figures, ""] if figures else []
    if store.sources:
        lines += ["| source | title | year | where |", "|---|---|---|---|"]
        lines += [*map(_source, store.sources.values()), ""]
    return "\n".join(lines)


def page(every: Iterable[Store]) -> str:
    """The page, in Markdown."""
    ordered = sorted(every, key=lambda one: (list(KINDS).index(one.kind), one.general, one.name))
    parts = [INTRODUCTION, "\n".join([*_table(ordered), ""])]
    parts += ["\n".join([*(f"- **{name}**: {words}." for name, words in TEXTS.items()), ""])]
    return "\n".join(parts + [_section(store) for store in ordered])


if __name__ == "__main__":
    sys.stdout.write(page(stores().values()))
