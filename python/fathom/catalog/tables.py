"""Emits what the wrappers and the runtime share: op numbers, tables, hooks, Fortran entries."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from .ctext import COLUMNS, block, file_text, fold, width
from .edges import Edge, op_name
from .hooks import named_hooks
from .model import Api, Call, Catalog
from .prototypes import declare
from .wrappers import catalog_name, prototype


def ops_h(catalog: Catalog) -> str:
    """Op numbers: an index into ops[], good for this build only."""
    lines = [
        "/* Op numbers, generated from catalog/probes. */",
        "#ifndef FATHOM_OPS_H",
        "#define FATHOM_OPS_H",
        "",
    ]
    lines.append("enum op_number {")
    for api in catalog.apis:
        lines += [f"\t{op_name(api, call)}," for call in api.recorded()]
    return file_text([*lines, "\tOPS_COUNT,", "};", "", "#endif"])


def handlers_h(catalog: Catalog) -> str:
    """Hooks of runtime/handlers with their exact signatures."""
    lines = [
        "/* Hooks that the catalog names, generated from catalog/probes. */",
        "#ifndef FATHOM_HANDLERS_H",
        "#define FATHOM_HANDLERS_H",
        "",
        *_headers(catalog),
        '#include "core/call.h"',
        "",
        *typedefs(catalog),
    ]
    seen: set[str] = set()
    for api in catalog.apis:
        lines.append(f"/* {catalog_name(api)} */")
        for call in api.calls:
            for _, hook, signature in named_hooks(call):
                if hook not in seen:
                    seen.add(hook)
                    lines += fold(f"void {hook}(", signature, ");")
        lines.append("")
    return file_text([*lines, "#endif"])


def wrappers_h(catalog: Catalog, edges: Sequence[Edge]) -> str:
    """Numbers and prototypes of all wrappers."""
    lines = [
        "/* Wrappers and their numbers, generated from catalog/probes. */",
        "#ifndef FATHOM_WRAPPERS_H",
        "#define FATHOM_WRAPPERS_H",
        "",
        '#include "handlers.h"',
        *(f'#include "{name}"' for api in catalog.apis for name in api.include),
        *(['#include "tune/tune.h"'] if any(call.tune for _, call in catalog.calls()) else []),
        "",
        "enum edge_number {",
        *(
            f"\t{edge.number_name(copy)} = {edge.first + copy},"
            for edge in edges
            for copy in range(edge.copies)
        ),
        f"\tEDGES_COUNT = {_count(edges)},",
        "};",
        "",
    ]
    for edge in edges:
        for copy in range(edge.copies):
            if edge.form is None:
                lines.append(f"void {edge.function(copy)}(void);")
            else:
                lines += fold(
                    prototype(edge, copy), declare(edge.form.passed, bool(edge.form.va)), ");"
                )
    return file_text([*lines, "", "#endif"])


def tables_c(catalog: Catalog, edges: Sequence[Edge]) -> str:
    """The definitions that runtime/core/call.h and runtime/edges/edges.h declare."""
    lines = [
        "/* Tables of ops and symbols, generated from catalog/probes. */",
        '#include "edges/edges.h"',
        '#include "ops.h"',
        '#include "wrappers.h"',
        "",
        "const struct op ops[] = {",
    ]
    for api in catalog.apis:
        for call in api.recorded():
            lines += _op(api, call)
    lines += ["};", "const uint32_t ops_count = OPS_COUNT;", "", *_apis(catalog)]
    lines += ["const struct edge_symbol edge_symbols[] = {"]
    for edge in sorted(edges, key=lambda edge: (edge.symbol.encode(), bool(edge.api.inside))):
        values = [f'"{edge.symbol}"', edge.number_name(0), str(edge.copies), str(edge.api_index)]
        values.append(f"{edge.layers:#x}")
        values.append(f'"{edge.form.va}"' if edge.form and edge.form.va else "NULL")
        lines += fold("{", values, " },", "\t")
    lines += ["};", f"const uint32_t edge_symbols_count = {len(edges)};", ""]
    lines.append("void *const edge_wrappers[EDGES_COUNT] = {")
    for edge in edges:
        for copy in range(edge.copies):
            entry = f"\t[{edge.number_name(copy)}] = (void *){edge.function(copy)},"
            if width(entry) > COLUMNS:
                entry = entry.replace(" = ", " =\n\t\t")
            lines.append(entry)
    return file_text([*lines, "};", "void *edge_originals[EDGES_COUNT];"])


def entries_s(edges: Sequence[Edge]) -> str:
    """Trampolines of the Fortran entries; the macro is in runtime/edges/entry.S."""
    lines = [
        "/* Entries of Fortran bindings, generated from catalog/probes. */",
        '#include "edges/entry.S"',
        "",
    ]
    for edge in edges:
        if edge.form is None:
            for copy in range(edge.copies):
                lines.append(
                    f'fathom_entry {edge.function(copy)}, {edge.first + copy}, "{edge.symbol}"'
                )
    return file_text(lines)


def _count(edges: Sequence[Edge]) -> int:
    return edges[-1].first + edges[-1].copies if edges else 0


def _headers(catalog: Catalog) -> list[str]:
    names: list[str] = []
    for api in catalog.apis:
        names += [name for name in api.system if name not in names]
    return [*(f"#include <{name}>" for name in names), ""]


def typedefs(catalog: Catalog) -> list[str]:
    """Opaque types of libraries whose headers the runtime never includes."""
    types: dict[str, str] = {}
    for api in catalog.apis:
        types.update(api.types)
    lines = [f"typedef {c_type} {name};" for name, c_type in types.items()]
    return [*lines, ""] if lines else []


def _op(api: Api, call: Call) -> list[str]:
    names = ",".join(field.name for field in call.fields)
    # a text that is too long for a line goes on in the next
    fields = re.sub(r"(.{1,56},)(?=.{20})", r'\1"\n\t\t\t\t"', names) if len(names) > 64 else names
    values = [
        f'.layer_name = "{api.layer}"',
        f'.name = "{call.op}"',
        f'.kind = "{call.kind}"',
        f'.fields = "{fields}"',
        f".layer = {api.layer_number}",
        f".nfields = {len(call.fields)}",
    ]
    if call.tracked:
        values.append(".tracked = 1")
    if call.collective:
        values.append(".collective = 1")
    if call.beside:
        values.append(".beside = 1")
    if api.absorb:
        values.append(".absorb = 1")
    values += _data(call)
    return fold(f"[{op_name(api, call)}] = {{", values, " },", "\t")


def _data(call: Call) -> list[str]:
    """What counters look at in calls that move data."""
    places = [(name, call.place(name)) for name in ("size", "offset", "bytes", "selection")]
    places.append(("pieces", call.place(call.pieces)))
    values = [f".{name}_at = {place}" for name, place in places if place]
    if not call.direction:
        return [value for value in values if value.startswith(".bytes")]
    values.append(f".direction = OP_{call.direction.upper()}S")
    return [*values, ".aligns = 1"] if call.buffer else values


def _apis(catalog: Catalog) -> list[str]:
    lines: list[str] = []
    for api in catalog.apis:
        globs = [json.dumps(glob) for glob in api.inside or api.own]
        head = f"static const char *const modules_{api.c_name}[] = {{"
        lines += fold(head, [*globs, "NULL"], " };")
    rows = [
        f'\t{{ "{api.layer}", {api.layer_number}, {str(bool(api.inside)).lower()}, '
        f"modules_{api.c_name}, {str(api.bindings_inside).lower()} }},"
        for api in catalog.apis
    ]
    return block(
        lines,
        "",
        "const struct edge_api edge_apis[] = {",
        rows,
        "};",
        f"const uint32_t edge_apis_count = {len(catalog.apis)};",
        "",
    )
