"""Functions that traces of other tools name, as ops of Fathom's catalog: what the engine reads before a trace
(engine/traces/src/functions.rs)."""

import json
from typing import Any

from fathom.catalog.load import load
from fathom.catalog.model import Call
from fathom.run import paths

LAYERS = ("posix", "stdio", "mpi", "mpiio", "hdf5", "pnetcdf", "netcdf")


def catalog() -> str:
    """JSON: by layer and symbol the op and what is known of it."""
    return json.dumps({layer: _functions(layer) for layer in LAYERS})


def _functions(layer: str) -> dict[str, Any]:
    calls = load([paths.catalog() / "probes" / f"{layer}.toml"]).apis[0].calls
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
