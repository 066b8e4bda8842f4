"""Reference pages of the knob catalog, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .ctext import file_text
from .knobs import ROUTES, SAFETY, SHOWN, Knob, Value


def pages(knobs: Sequence[Knob]) -> dict[str, str]:
    """File name -> text, a page per layer."""
    layers = dict.fromkeys(knob.layer.path for knob in knobs)
    return {
        f"{path.stem}.md": file_text(_page([k for k in knobs if k.layer.path == path]))
        for path in layers
    }


def values_text(knob: Knob) -> str:
    """What a knob takes, in words."""
    if len(knob.values) == 1:
        return _value_text(knob.values[0])
    return ", ".join(f"{value.name}: {_value_text(value)}" for value in knob.values)


def _value_text(value: Value) -> str:
    if value.kind == "choice":
        return " | ".join(value.words)
    if value.kind == "bool":
        return "true | false"
    what = {"int": "whole number", "number": "number"}.get(value.kind, value.kind)
    least = "" if value.least is None else f" from {value.least:,}"
    most = "" if value.most is None else f" to {value.most:,}"
    return what + ("s" if value.many else "") + least + most


def _page(knobs: Sequence[Knob]) -> Iterable[str]:
    layer = knobs[0].layer
    yield f"# Knobs: {layer.title}"
    yield ""
    yield f"Generated from catalog/knobs/{layer.path.name}. Source: {layer.source}."
    yield ""
    yield "| knob | means | values | default | set by | safety |"
    yield "|---|---|---|---|---|---|"
    for knob in knobs:
        how = f"`{knob.set}` ({knob.list})" if knob.set else ROUTES[knob.route]
        how = f"`{knob.attribute}`" if knob.attribute else how
        cells = (knob.means, values_text(knob), knob.default, how, SAFETY[knob.safety])
        yield f"| `{knob.name}` | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""
    yield "## Notes"
    yield ""
    for knob in knobs:
        notes = "; ".join(_notes(knob))
        if notes:
            yield f"- **{knob.name}**: {notes}."
    if layer.left_out:
        yield ""
        yield "## Left out"
        yield ""
        yield "| what | why |"
        yield "|---|---|"
        yield from (f"| `{name}` | {why} |" for name, why in layer.left_out.items())


def _notes(knob: Knob) -> Iterable[str]:
    yield from (text for text in (knob.when and f"when: {knob.when}", knob.warns) if text)
    if knob.search:
        yield f"worth a search: {knob.search}"
    if knob.beside:
        yield "together with " + ", ".join(f"{k} = {v}" for k, v in knob.beside.items())
    if knob.since:
        yield f"since {knob.since}"
    yield from (f"dead on {stack}: {why}" for stack, why in knob.dead.items())
    for stack, calls in knob.later.items():
        yield f"a file that is open takes it on {stack} by {calls}"
    if knob.inverted:
        yield f"inverted: {knob.inverted}"
    if knob.proof:
        first, second = (", ".join(setting) for setting in knob.proof.settings)
        yield f"proved by {SHOWN[knob.proof.shows]}, {first} against {second}"
    elif not knob.tried:
        yield "not tried here"
