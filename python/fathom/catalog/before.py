"""Emits what the preload library does before an MPI library's own functions on files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from .ctext import block, file_text, fold
from .generate import write
from .model import Call, Catalog, CatalogError
from .prototypes import declare, join_type
from .tables import typedefs


def before(catalog: Catalog, served_file: Path, out: Path) -> None:
    """Write mpiio_calls.h and mpiio_calls.c for the ops that forward/preload/mpiio.toml names."""
    with served_file.open("rb") as file:
        served = tomllib.load(file)
    rows = {call.op: call for _, call in catalog.calls()}
    for op in (*served["data"], *served["around"]):
        if op not in rows:
            raise CatalogError(served_file, "", op, "is no op of the catalog")
    data, around = ([rows[op] for op in served[key]] for key in ("data", "around"))
    write(
        out,
        {
            "mpiio_calls.h": file_text(_header(catalog, around)),
            "mpiio_calls.c": file_text(_source(data, around)),
        },
    )


def _next_type(call: Call) -> list[str]:
    return fold(f"typedef int next_{call.op}(", declare(call.parameters), ");")


def _header(catalog: Catalog, around: list[Call]) -> Iterator[str]:
    yield "/* The ops that are known of while the MPI library does them. Generated. */"
    yield "#ifndef MPIIO_CALLS_H"
    yield "#define MPIIO_CALLS_H"
    yield ""
    yield "#include <stdint.h>"
    yield ""
    yield from typedefs(catalog)
    for call in around:
        yield from _next_type(call)
        given = [f"next_{call.op} *next", *declare(call.parameters)]
        yield from fold(f"int forward_{call.op}(", given, ");")
        yield ""
    yield "#endif"


def _source(data: list[Call], around: list[Call]) -> Iterator[str]:
    yield "/* What stands before an MPI library's functions, from catalog/probes/mpiio.toml. Generated. */"
    yield '#include "mpiio.h"'
    symbols = []
    for call in (*around, *data):
        yield ""
        if call in data:
            yield from _next_type(call)
        for symbol in call.forms[0].symbols:
            symbols.append(symbol)
            yield from _function(call, symbol, call in data)
    yield ""
    yield "const struct mpiio_symbol mpiio_symbols[] = {"
    for symbol in symbols:
        yield f'\t{{"{symbol}", (void *)before_{symbol}, (void **)&{symbol}_behind}},'
    yield "};"
    yield f"const unsigned int mpiio_symbols_count = {len(symbols)};"


def _function(call: Call, symbol: str, data: bool) -> list[str]:
    names = [parameter.name for parameter in call.parameters]
    following = f"{symbol}_behind({', '.join(names)})"
    body = (
        _data(call, following)
        if data
        else [f"\treturn forward_{call.op}({symbol}_behind, {', '.join(names)});"]
    )
    head = join_type("static int", f"before_{symbol}") + "("
    return block(
        f"static next_{call.op} *{symbol}_behind;",
        fold(head, declare(call.parameters), ")"),
        "{",
        body,
        "}",
    )


def _data(call: Call, following: str) -> list[str]:
    explicit = any(parameter.name == "offset" for parameter in call.parameters)
    how = ["MPIIO_WRITE"] if call.kind == "write" else []
    how += ["MPIIO_ALL"] if call.collective else []
    how += [] if explicit else ["MPIIO_POINTER"]
    given = [
        "fh", "offset" if explicit else "0", "(void *)(uintptr_t)buf", "count", "datatype", "status",
        " | ".join(how) or "0",
    ]  # fmt: skip
    return [
        *fold("\tint result = mpiio_data(", given, ");"),
        "",
        f"\treturn result == MPIIO_HAND_ON ? {following} : result;",
    ]
