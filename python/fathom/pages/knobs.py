"""What can be set and what is alive here, for people."""

import time
from collections.abc import Sequence

import pyarrow as pa

from fathom.catalog.knob_pages import values_text
from fathom.catalog.knobs import ROUTES, SHOWN, Knob
from fathom.errors import UsageError
from fathom.text import tables, terminal
from fathom.text.quoting import json_text
from fathom.text.tables import Column, text
from fathom.tune.settings.prove import StoredVerdicts, Verdict, provable, prove
from fathom.tune.settings.stacks import STACKS, installed_stacks

COLUMNS = (
    Column("knob", "knob", text, right=False),
    Column("here", "here", text, right=False),
    Column("set by", "route", text, right=False, spare=1),
    Column("values", "values", text, right=False, spare=3),
    Column("default", "default", text, right=False, spare=2),
    Column("safety", "safety", text, right=False, spare=4),
    Column("means", "means", text, right=False),
)


def state(knob: Knob, proofs: StoredVerdicts) -> str:
    """What is known of it on this machine, in a few words."""
    stacks = [name for name in knob.layer.stacks if name in installed_stacks()]
    verdicts = {stack.name: proofs.of(knob, stack) for stack in provable(knob)}
    words: dict[str, list[str]] = {}
    for stack in stacks:
        verdict = verdicts.get(stack)
        dead = "dead, by documents" if stack in knob.dead else "not proved"
        words.setdefault(verdict.verdict if verdict else dead, []).append(stack)
    if words:
        return "; ".join(f"{word} ({', '.join(on)})" for word, on in words.items())
    if not knob.tried:
        return "not tried here"
    return "not here" if STACKS.keys() & set(knob.layer.stacks) else "by tests"


def _rows(knobs: Sequence[Knob]) -> list[dict[str, str]]:
    proofs = StoredVerdicts()
    return [
        {
            "knob": knob.key,
            "here": state(knob, proofs),
            "route": knob.set or ROUTES[knob.route],
            "values": values_text(knob),
            "default": knob.default,
            "safety": knob.safety,
            "means": knob.means,
            "when": knob.when,
            "warns": "; ".join(filter(None, (knob.warns, knob.inverted))),
            "search": knob.search,
            "since": knob.since,
            "source": knob.source,
        }
        for knob in knobs
    ]


def show(knobs: Sequence[Knob], form: str, details: bool) -> None:
    """A table, or rows as `form` says; `details`: what a table has no room for, below it."""
    rows = _rows(knobs)
    if form == "json":
        print(json_text(rows))
    elif form == "csv":
        tables.write_csv(pa.Table.from_pylist(rows))
    else:
        tables.show(COLUMNS, pa.Table.from_pylist(rows))
        if details:
            for row in rows:
                for key in ("values", "when", "warns", "search", "since", "source"):
                    if row[key]:
                        print(f"{row['knob']} {key}: {row[key]}")


def prove_all(knobs: Sequence[Knob], again: bool, as_json: bool) -> int:
    """Proves them. One line a verdict; exit status 1 when a proof could not be made."""
    pairs = [(knob, stack) for knob in knobs for stack in provable(knob)]
    if not pairs:
        raise UsageError(
            "list knobs --prove: none of these can be proved on the stacks of this machine"
        )
    verdicts: list[Verdict] = []
    began = time.monotonic()
    for knob, verdict in prove(pairs, again):
        verdicts.append(verdict)
        terminal.show("")
        if not as_json:
            print(f"{knob.key:32} {verdict.stack:13} {_sentence(knob, verdict)}", flush=True)
        if left := len(pairs) - len(verdicts):
            seconds = (time.monotonic() - began) / len(verdicts) * left
            terminal.show(f"{len(verdicts)} of {len(pairs)}, about {seconds:.0f} s left")
    if as_json:
        print(json_text([verdict.__dict__ for verdict in verdicts]))
    return 1 if any(verdict.verdict == "failed" for verdict in verdicts) else 0


def _where_apart(first: str, second: str) -> tuple[str, str]:
    """Lists of many numbers from where they differ."""
    one, other = first.split(), second.split()
    if len(one) < 2 and len(other) < 2:
        return first, second
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    a, b = (" ".join(words[same : same + 4]) or "nothing" for words in (one, other))
    return (f"…{a}…", f"…{b}…") if same else (f"{a}…", f"{b}…")


def _sentence(knob: Knob, verdict: Verdict) -> str:
    if verdict.verdict == "failed":
        return f"failed: {verdict.why}"
    what = SHOWN[verdict.shows]
    values = _where_apart(*verdict.values)
    pairs = [
        f"{value} with {setting}" for setting, value in zip(verdict.settings, values, strict=True)
    ]
    expected = knob.dead.get(verdict.stack, "")
    reason = f" ({expected})" if verdict.verdict == "dead" and expected else ""
    reason = f" ({knob.inverted})" if verdict.verdict == "inverted" else reason
    return f"{verdict.verdict}: {what} {', '.join(pairs)}{reason}"
