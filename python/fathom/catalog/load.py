"""Reads catalog files and checks them: a mistake is one line with file, row and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .call import load_call
from .expand import ExpandError, large_form, with_rows, with_variants
from .forms import load_families, load_result
from .model import LAYERS, Api, Call, Catalog, CatalogError
from .row import API_KEYS, ASYNC_KEYS, CALL_KEYS, ERRORS, NAME, Row, one_of
from .together import check_together


def load(paths: Iterable[Path]) -> Catalog:
    """Read catalog files; raises CatalogError at the first mistake."""
    read = [load_api(path) for path in paths]
    apis = tuple(sorted(read, key=lambda api: (api.layer_number, bool(api.inside), api.c_name)))
    apis = tuple(_with_same(api, apis) for api in apis)
    check_together(apis)
    return Catalog(apis)


def _with_same(api: Api, apis: tuple[Api, ...]) -> Api:
    """A file that looks inside, with the ops that it has in common with its layer's file."""
    if not api.same:
        return api
    outside = [one for one in apis if one.layer == api.layer and not one.inside]
    rows = {call.op: call for one in outside for call in one.calls}
    borrowed = []
    for op in api.same:
        if not api.inside or op not in rows:
            where = outside[0].path.name if outside else f"no file of layer {api.layer}"
            raise CatalogError(api.path, "[api]", "same", f"'{op}' is no row of {where}")
        row, symbols = rows[op], with_rows({"op": op}, api.rows).get("symbols", [])
        form = replace(row.forms[0], symbols=tuple(symbols))
        when = " && ".join(text for text in (api.below, row.when) if text)
        borrowed.append(replace(row, forms=(form,), fortran=(), when=when, borrowed=True))
    return replace(api, calls=(*api.calls, *borrowed))


def load_api(path: Path) -> Api:
    """Read one file."""
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise CatalogError(path, "", "file", error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogError(path, "", "file", f"is not TOML: {error}") from error
    for key in data:
        if key not in ("api", "call"):
            raise CatalogError(path, "", key, "is neither [api] nor [[call]]")
    if not isinstance(data.get("api"), dict):
        raise CatalogError(path, "", "[api]", "is missing")
    head = Row(path, "[api]", data["api"], API_KEYS)
    layer = _layer(head)
    errors = one_of(head, "error", head.text("error", "errno"), ERRORS)
    copies = int(head.data.get("copies", 2))
    if not 1 <= copies <= 255:
        raise head.error("copies", "must be 1 to 255")
    inside = head.words("inside")
    if inside and "own" in head.data:
        raise head.error("inside", "is there beside 'own'; give one")
    own = head.words("own")
    if "own" not in head.data and not inside and layer not in LAYERS:
        own = head.words("library")  # a user's: what a library calls of itself is no event
    return Api(
        path=path,
        layer=layer,
        library=head.words("library"),
        own=own,
        inside=inside,
        headers=head.words("headers"),
        system=head.words("system"),
        include=head.words("include"),
        copies=copies,
        absorb=head.flag("absorb"),
        bindings_inside=head.flag("bindings_inside"),
        types=head.pairs("types"),
        left_out=head.pairs("left_out"),
        looks_like=head.words("looks_like"),
        undeclared=head.words("undeclared"),
        calls=tuple(_load_calls(head, _with_async(head, data.get("call", [])), layer, errors)),
        same=head.words("same"),
        rows=head.data.get("rows", {}),
        below=_below(head),
    )


def _layer(head: Row) -> str:
    """What the tables call the layer: the user's own has as many names as it has catalogs."""
    layer, name = head.text("layer"), head.text("name", "")
    if layer not in LAYERS:
        raise head.error("layer", f"'{layer}' is none of {', '.join(LAYERS)}")
    if not name:
        return layer
    if layer != "user":
        raise head.error("name", "is for layer 'user': the others have theirs")
    if name in LAYERS or not NAME.fullmatch(name):
        raise head.error("name", f"'{name}' is no C name, or that of a built-in layer")
    return name


def _below(head: Row) -> str:
    """C expression: the nearest call around it is one of the layer that `below` names."""
    if "below" not in head.data:
        return ""
    layer = head.text("below")
    return f"call_inside({LAYERS[one_of(head, 'below', layer, LAYERS)]})"


def _load_calls(head: Row, rows: Any, layer: str, error: str) -> Iterable[Call]:
    if not isinstance(rows, list):
        raise CatalogError(head.path, "", "call", "must be written as [[call]]")
    seen: set[str] = set()
    families = load_families(head)
    for number, data in enumerate(rows, 1):
        name = str(data.get("op", f"call {number}"))
        try:
            tables = list(_long_rows(head, data))
        except ExpandError as mistake:
            raise CatalogError(head.path, name, mistake.key, str(mistake)) from mistake
        for table in tables:
            row = Row(head.path, str(table.get("op", name)), table, CALL_KEYS)
            if not NAME.fullmatch(row.text("op")):
                raise row.error("op", "must be a C name")
            if row.name in seen:
                raise row.error("op", "is there twice in this file")
            seen.add(row.name)
            yield load_call(row, layer, error, _below(head), families, head.words("buffers"))


def _long_rows(head: Row, data: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The rows that one [[call]] of the file stands for."""
    rows, large = head.data.get("rows", {}), head.data.get("large", {})
    for variant in with_variants(data, head.data.get("variant", {})):
        row = with_rows(variant, rows)
        if isinstance(row.get("large"), dict):
            if large.keys() != {"suffix", "since"}:
                raise head.error("large", "must say suffix and since: a row has a large form")
            row["form"] = [*row.get("form", []), large_form(row, large)]
        yield row


def _with_async(head: Row, rows: Any) -> Any:
    """The rows, and behind them their asynchronous forms."""
    if not isinstance(rows, list):
        return rows
    return [*rows, *(_async(head, row) for row in rows if "async" in row)]


def _async(head: Row, data: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a call's asynchronous form: more arguments, and a result that may be yet to come."""
    row = Row(head.path, str(data.get("op")), data, CALL_KEYS)
    result, later = load_result(row), head.data.get("async")
    if not later or result is None:
        raise row.error("async", "needs [api.async], and a result")
    how = Row(head.path, "[api.async]", later, ASYNC_KEYS)
    now = how.text("result").format(result=result.name)

    def in_time(text: str) -> str:
        return re.sub(rf"\b{result.name}\b", now, text) if result else text

    table = {key: data[key] for key in data if key not in ("async", "form", "fortran", "syscalls")}
    table |= {key: in_time(table[key]) for key in ("after", "bytes", "result") if key in table}
    if table.get("after", "(").count("(") == 0:
        raise row.error("after", "must be a call, to go with the hook of [api.async]")
    table["after"] = ", ".join(hook for hook in (table.get("after"), how.text("after", "")) if hook)
    if "record" in table:
        table["record"] = [
            entry if isinstance(entry, str) else {k: in_time(v) for k, v in entry.items()}
            for entry in table["record"]
        ]
    return table | {
        "op": row.text("async"),
        "symbols": [row.text("async")],
        "args": f"{how.text('before')}, {row.text('args')}, {how.text('behind')}",
        "kind": how.text("kind"),
        "since": how.text("since"),
    }
