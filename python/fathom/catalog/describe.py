"""Emits the catalog for other readers: JSON, the strace oracle's expectations, reference pages."""

from __future__ import annotations

import json
from typing import Any

from .ctext import file_text
from .model import Api, Call, Catalog
from .wrappers import catalog_name


def catalog_json(catalog: Catalog) -> str:
    """Every row, for programs that do not read TOML."""
    apis = [
        {
            "layer": api.layer,
            "number": api.layer_number,
            "library": list(api.library),
            "own": list(api.own),
            "inside": list(api.inside),
            "headers": list(api.headers),
            "left_out": dict(api.left_out),
            "calls": [_row(call) for call in api.recorded()],
        }
        for api in catalog.apis
    ]
    return json.dumps({"apis": apis}, indent=1, ensure_ascii=False) + "\n"


def oracle_json(catalog: Catalog) -> str:
    """layer -> op -> the system calls that strace may show for it, and its fields."""
    layers: dict[str, Any] = {}
    for api in catalog.apis:
        ops = layers.setdefault(api.layer, {})
        for call in api.recorded():
            ops[call.op] = {
                "syscalls": list(call.syscalls),
                "kind": call.kind,
                "by": call.by,
                "fields": [field.name for field in call.fields],
                "tracked": call.tracked,
                "symbols": list(call.symbols()),
            }
    return json.dumps(layers, indent=1) + "\n"


def page(api: Api) -> str:
    """Reference page of one API, in Markdown."""
    lines = [
        f"# Probes of layer {api.layer}"
        + (f": {api.path.stem}" if api.path.stem != api.layer else ""),
        "",
        f"Generated from {catalog_name(api)}. Answered by {', '.join(f'`{name}`' for name in api.library)}.",
        *([_inside(api)] if api.inside else []),
        "",
        "| op | kind | functions | recorded | system calls |",
        "|---|---|---|---|---|",
    ]
    for call in api.recorded():
        names = " ".join(f"`{name}`" for name in (*call.symbols(), *call.fortran))
        fields = " ".join(field.name for field in call.fields)
        lines.append(
            f"| {call.op} | {call.kind} | {names} | {fields} | {' '.join(call.syscalls) or 'none'} |"
        )
    meanings = [f"- **{call.op}**: {call.means}" for call in api.recorded() if call.means]
    if meanings:
        lines += ["", "## Notes", "", *meanings]
    if api.left_out:
        lines += ["", "## Left out", "", "| function | why |", "|---|---|"]
        lines += [f"| `{name}` | {why} |" for name, why in api.left_out.items()]
    return file_text(lines)


def _inside(api: Api) -> str:
    return f"Seen only where {', '.join(f'`{name}`' for name in api.inside)} make these calls."


def _row(call: Call) -> dict[str, Any]:
    return {
        "op": call.op,
        "kind": call.kind,
        "symbols": list(call.symbols()),
        "fortran": list(call.fortran),
        "args": [parameter.text for parameter in call.forms[0].parameters],
        "returns": call.result.text if call.result else "void",
        "by": call.by,
        "fields": [field.name for field in call.fields],
        "tracked": call.tracked,
        "syscalls": list(call.syscalls),
        "means": call.means,
    }
