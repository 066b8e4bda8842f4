"""Functions that traces of other tools name, as ops of Fathom's catalog: what the engine reads before a trace
(engine/traces/src/functions.rs)."""

import json
from pathlib import Path
from typing import Any

from fathom.catalog.layers import catalog_path, names
from fathom.catalog.load import load
from fathom.catalog.model import Call


def catalog() -> str:
    """JSON: by layer and symbol the op and what is known of it."""
    probes = {layer: catalog_path("probes", f"{layer}.toml") for layer in names()}
    return json.dumps({layer: _functions(path) for layer, path in probes.items() if path.is_file()})


def _functions(probes: Path) -> dict[str, Any]:
    calls = load([probes]).apis[0].calls
    return {symbol: _description(call) for call in calls if call.row for symbol in call.symbols()}


def _description(call: Call) -> dict[str, Any]:
    return {
        "op": call.op,
        "kind": call.kind,
        "collective": call.collective,
        "moves": call.kind in ("read", "write") and bool(call.size),
        "at_position": call.at_position,
        "fields": [field.name for field in call.fields],
    }
