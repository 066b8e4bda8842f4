"""What a run would take on another store: a bar beside that of here, the files that hurt most, and what to do."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pyarrow as pa

from fathom.analysis.causes import Share
from fathom.analysis.on_store import Advice, Place, Prediction, Reason, Seconds, There
from fathom.analysis.sentence import sentence
from fathom.catalog.stores import KINDS, Store, stores
from fathom.pages import account
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import columns, emphasised, heading, printable, show, text

#: A second reason is said where it takes this part of the seconds.
MUCH = 0.25
#: Seconds below which nothing is said of what is left as it was.
LEAST = 0.001
#: Of requests, what is nearly all or nearly none.
SOME = 0.1
#: Kind of a store -> what its requests wait for.
TARGETS = {"memory": "memory", "local": "the device", "network": "the server"}
PLACES = (
    Column(f"{'best':>8}", "best", numbers.seconds),
    Column("low", "low", numbers.seconds),
    Column("high", "high", numbers.seconds),
    Column("here", "here", numbers.seconds, spare=1),
    Column("file", "place", text, right=False, is_path=True),
    Column("why", "why", text, right=False),
)
SOURCE = "docs/stores.md"


def interval(seconds: Seconds) -> str:
    """`1.2 s (200 ms to 7 s)`."""
    return f"{numbers.seconds(seconds.best)} ({numbers.seconds(seconds.low)} to {numbers.seconds(seconds.high)})"


def _count(reason: Reason, one: str, many: str | None = None) -> str:
    return numbers.things(max(1, round(reason.n)), one, many)


def _of_requests(reason: Reason, target: str) -> str:
    size = numbers.size(round(reason.bytes / max(reason.n, 1)))
    waits = reason.waits / max(reason.n, 1)
    each = f"{numbers.percent(waits)} wait for {target}"
    if waits > 1 - SOME:
        each = f"each waits for {target}"
    elif waits < SOME:
        each = "served by the client's memory"
    return f"{_count(reason, reason.what)} of {size}: {each}"


def _why(reason: Reason, place: Place, store: Store) -> str:
    """One clause."""
    target = TARGETS[store.kind]
    moved = f"{numbers.size(reason.bytes)} to {reason.what}"
    if reason.cause == "requests":
        return _of_requests(reason, target)
    if reason.cause == "transfer":
        return f"{moved}, at the rate of one process"
    if reason.cause == "contention":
        those = numbers.things(place.processes, "process", "processes")
        return f"{moved} by {those}: more than {target} gives at once"
    if reason.cause == "names":
        of = f" of {place.files:,} files" if place.files > 1 else ""
        return f"{_count(reason, 'open, stat or removal', 'opens, stats and removals')}{of}"
    if reason.cause == "sync":
        return f"{_count(reason, reason.what)}: each waits until the data is safe"
    if reason.what == "lock":
        return f"{_count(reason, 'lock of the program', 'locks of the program')}"
    by_estimate = ", by an estimate from counters" if reason.what == "conflict guessed" else ""
    return f"{_count(reason, 'write')} beside another process's{by_estimate}: a lock is called back"


def why(place: Place, store: Store) -> str:
    """What takes the seconds: the first reason, and the next if it takes much of them."""
    shown = [
        reason
        for number, reason in enumerate(place.reasons)
        if number == 0 or (number == 1 and reason.share >= MUCH)
    ]
    return "; ".join(_why(reason, place, store) for reason in shown)


def stores_listed() -> list[str]:
    """A line for each store: its name, what it is, and its types."""
    wide = max(map(len, stores()))
    return [
        f"{store.name:<{wide}}  {store.title} ({' '.join(store.types)})"
        for store in stores().values()
    ]


def _bars(prediction: Prediction, there: There) -> None:
    best = {cause: seconds.best for cause, seconds in there.causes.items()}
    of_there = Share(there.process, there.rank, there.seconds.best, best, in_turn=there.in_turn)
    both = {f"on {prediction.store.name}": of_there}
    if prediction.here:
        both = {"here": prediction.here, **both}
    whole = max(share.seconds for share in both.values())
    ranked = sorted(of_there.causes.items(), key=lambda one: -one[1])
    named = [cause for cause, seconds in ranked if seconds > account.LEAST * of_there.seconds]
    labels = [f"{title}, {account.who(share)}" for title, share in both.items()]
    margin = max(account.LABEL, *map(len, labels))
    wide = max(20, columns() - margin - 3)
    fills = dict(zip(named, account.FILLS, strict=False))
    for label, share in zip(labels, both.values(), strict=True):
        print(f"{label:>{margin}} |{account.fill(share, list(fills), whole, wide)}|")
        words = [
            f"{fills.get(cause, account.OTHERS)} {cause} "
            + (interval(there.causes[cause]) if share is of_there else numbers.seconds(seconds))
            for cause, seconds in sorted(share.causes.items(), key=lambda one: -one[1])
            if seconds > account.LEAST * share.seconds
        ]
        emphasised(" " * (margin + 2), "  ".join(words))


def rows(prediction: Prediction, top: int | None) -> pa.Table:
    """The files that hurt most. Columns: place, files, best, low, high, here (seconds), why."""
    return pa.Table.from_pylist(
        [
            {
                "place": place.place,
                "files": place.files,
                "best": place.seconds.best,
                "low": place.seconds.low,
                "high": place.seconds.high,
                "here": place.here,
                "why": why(place, prediction.store),
            }
            for place in prediction.places[:top]
        ]
    )


def _print_advice(advice: Advice) -> None:
    emphasised(
        f"{numbers.seconds(advice.won):>9}  ",
        f"{advice.rule.title}, most in {printable(advice.place)}: "
        f"{interval(advice.before)} there, {interval(advice.after)} after",
    )
    emphasised(f"{'do':>9}  ", sentence(advice.rule.fix, advice.values))


def notes(prediction: Prediction) -> list[str]:
    """What the figures are from, and what they leave out."""
    store = prediction.store
    lines = [
        f"Figures: {SOURCE}, store {store.name} ({KINDS[store.kind]}). Best is the geometric mean of what is possible.",
        "Low: no process is in another's way. High: processes wait for each other at the same server.",
    ]
    if prediction.left > LEAST:
        lines.append(
            f"Left as here: at most {numbers.seconds(prediction.left)} of a process"
            " in libraries and their communication."
        )
    if prediction.guessed:
        lines.append(
            "Conflicts of locks are estimated from counters: level call knows where each write lies."
        )
    return lines


def print_prediction(name: str, prediction: Prediction, top: int) -> None:
    """The page."""
    store, there = prediction.store, prediction.there
    if there is None:
        heading(f"{printable(name)} on {store.name}: no request reached the storage")
        return
    here = f"; here {numbers.seconds(prediction.here.seconds)}" if prediction.here else ""
    heading(
        f"{printable(name)} on {store.name}: {interval(there.seconds)} at the storage, of the slowest process{here}"
    )
    _bars(prediction, there)
    table = rows(prediction, top)
    cut = f", {top} of {len(prediction.places):,}" if len(prediction.places) > top else ""
    heading(f"\nWhich files would hurt (seconds of the slowest process of each{cut})")
    show(PLACES, table)
    much = [one for one in prediction.advice if one.is_much]
    if much:
        heading("\nWhat to do there, each change alone (seconds won of the slowest process)")
    for advice in much[:top]:
        _print_advice(advice)
    if little := [one for one in prediction.advice if not one.is_much]:
        titles = (f"{one.rule.title} ({numbers.seconds(one.won)})" for one in little)
        emphasised("\nLittle to win there  ", "; ".join(titles))
    print()
    for line in notes(prediction):
        emphasised("", line)


def as_json(name: str, prediction: Prediction, top: int | None) -> dict[str, Any]:
    """For other programs: seconds throughout."""
    there = prediction.there
    return {
        "format": 1,
        "name": name,
        "store": prediction.store.name,
        "figures": SOURCE,
        "here": prediction.here and asdict(prediction.here),
        "there": there and asdict(there),
        "left_seconds": prediction.left,
        "files": [
            {**asdict(place), "why": why(place, prediction.store)}
            for place in prediction.places[:top]
        ],
        "advice": [
            {
                "finding": advice.rule.name,
                "title": advice.rule.title,
                "place": advice.place,
                "before": asdict(advice.before),
                "after": asdict(advice.after),
                "fix": sentence(advice.rule.fix, advice.values),
            }
            for advice in prediction.advice[:top]
        ],
        "notes": notes(prediction),
    }
