"""Reads catalogue files and checks them: a mistake is one line with file, row and key."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .expand import ExpandError, large_form, with_rows, with_variants
from .model import (
    KINDS,
    LAYERS,
    MAX_FIELDS,
    Api,
    Call,
    Catalogue,
    CatalogueError,
    Family,
    Field,
    Form,
    Parameter,
)
from .prototypes import (
    PrototypeError,
    identifiers,
    parse_arguments,
    parse_parameter,
)

_API_KEYS: Mapping[str, type] = {
    "layer": str,
    "name": str,
    "library": list,
    "own": list,
    "inside": list,
    "below": str,
    "rows": dict,
    "variant": dict,
    "large": dict,
    "same": list,
    "headers": list,
    "system": list,
    "include": list,
    "error": str,
    "copies": int,
    "absorb": bool,
    "bindings_inside": bool,
    "types": dict,
    "each": dict,
    "async": dict,
    "left_out": dict,
    "looks_like": list,
    "undeclared": list,
}
_CALL_KEYS: Mapping[str, type] = {
    "op": str,
    "symbols": list,
    "args": str,
    "pass": str,
    "values": dict,
    "va": str,
    "returns": str,
    "kind": str,
    "file": str,
    "by": str,
    "dirfd": str,
    "object": str,
    "handle": str,
    "named": str,
    "opens": str,
    "closes": str,
    "size": str,
    "offset": str,
    "bytes": str,
    "moves": str,
    "result": str,
    "record": list,
    "when": str,
    "error": str,
    "fails": str,
    "before": str,
    "before_changes": list,
    "after": str,
    "always": bool,
    "hot": bool,
    "row": bool,
    "keeps": str,
    "collective": bool,
    "offset_from": str,
    "since": str,
    "clears_errno": bool,
    "returns_twice": bool,
    "noreturn": bool,
    "syscalls": list,
    "fortran": list,
    "form": list,
    "large": dict,
    "otherwise": str,
    "async": str,
    "means": str,
}
#: What [api.async] says of the asynchronous forms of rows; all of it.
_ASYNC_KEYS: Mapping[str, type] = {
    "before": str,
    "behind": str,
    "kind": str,
    "since": str,
    "result": str,
}
_FORM_KEYS: Mapping[str, type] = {
    "each": str,
    "since": str,
    "symbols": list,
    "args": str,
    "pass": str,
    "va": str,
    "given": dict,
}
_TYPE_NAMES = {
    str: "a text",
    list: "a list",
    int: "a number",
    bool: "true or false",
    dict: "a table",
}
_ERRORS = ("errno", "nonzero", "negative", "minus_errno", "none")
_NAME = re.compile(r"[A-Za-z_]\w*")
#: Names that a wrapper uses itself (wrappers.py).
_RESERVED = frozenset(
    "c real ended asked at went recorded errno_before original va edge site".split()
)
_PLACE = re.compile(r"\{(\w+)\}")

#: Families of functions: name -> variant -> what stands for the words in braces.
Families = Mapping[str, Mapping[str, Mapping[str, str]]]

#: How an argument leads to the object it names: C expression with {arg}, {dirfd}.
_OBJECTS: Mapping[str, str] = {
    "fd": "descriptor_object({arg})",
    "path": "path_object({dirfd}, {arg})",
    "stream": "(uint32_t)handle_get(&directories, 0, (uintptr_t){arg})",
    "stdio": "stdio_object({arg})",
    "mpi_file": "mpi_file_object(wrapper, {arg})",
    "hdf5": "hdf5_object(wrapper, {arg})",
    "address": "(uint32_t)handle_get(&mappings, 0, (uintptr_t){arg})",
}


class _Row:
    """One TOML table with its place, so that every complaint can name it."""

    def __init__(
        self, path: Path, name: str, data: Mapping[str, Any], keys: Mapping[str, type]
    ) -> None:
        self.path, self.name, self.data = path, name, data
        for key, value in data.items():
            if key not in keys:
                raise self.error(key, "is no key of the catalogue (docs/catalogue.md lists them)")
            if not isinstance(value, keys[key]) or (keys[key] is int and isinstance(value, bool)):
                raise self.error(key, f"must be {_TYPE_NAMES[keys[key]]}")

    def error(self, key: str, problem: str) -> CatalogueError:
        return CatalogueError(self.path, self.name, key, problem)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if value is None:
            raise self.error(key, "is missing")
        return str(value)

    def flag(self, key: str) -> bool:
        return bool(self.data.get(key, False))

    def words(self, key: str) -> tuple[str, ...]:
        values = self.data.get(key, [])
        for value in values:
            if not isinstance(value, str):
                raise self.error(key, "must be a list of texts")
        return tuple(values)

    def pairs(self, key: str) -> dict[str, str]:
        values = self.data.get(key, {})
        for name, value in values.items():
            if not isinstance(value, str):
                raise self.error(f"{key}.{name}", "must be a text")
        return dict(values)


def load(paths: Iterable[Path]) -> Catalogue:
    """Read catalogue files; raises CatalogueError at the first mistake."""
    read = [load_api(path) for path in paths]
    apis = tuple(sorted(read, key=lambda api: (api.layer_number, bool(api.inside), api.c_name)))
    apis = tuple(_with_same(api, apis) for api in apis)
    _check_together(apis)
    return Catalogue(apis)


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
            raise CatalogueError(api.path, "[api]", "same", f"'{op}' is no row of {where}")
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
        raise CatalogueError(path, "", "file", error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(path, "", "file", f"is not TOML: {error}") from error
    for key in data:
        if key not in ("api", "call"):
            raise CatalogueError(path, "", key, "is neither [api] nor [[call]]")
    if not isinstance(data.get("api"), dict):
        raise CatalogueError(path, "", "[api]", "is missing")
    head = _Row(path, "[api]", data["api"], _API_KEYS)
    layer = _layer(head)
    errors = _one_of(head, "error", head.text("error", "errno"), _ERRORS)
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


def _layer(head: _Row) -> str:
    """What the tables call the layer: the user's own has as many names as it has catalogues."""
    layer, name = head.text("layer"), head.text("name", "")
    if layer not in LAYERS:
        raise head.error("layer", f"'{layer}' is none of {', '.join(LAYERS)}")
    if not name:
        return layer
    if layer != "user":
        raise head.error("name", "is for layer 'user': the others have theirs")
    if name in LAYERS or not _NAME.fullmatch(name):
        raise head.error("name", f"'{name}' is no C name, or that of a built-in layer")
    return name


def _wide(handle: str) -> str:
    """A handle, pointer or number, as 64 bits."""
    return f"(uint64_t)(uintptr_t)({handle})"


def api_number(layer: str) -> str:
    """Tells handles of one catalogue from another's."""
    return f"{zlib.crc32(layer.encode()):#x}u"


def _below(head: _Row) -> str:
    """C expression: the nearest call around it is one of the layer that `below` names."""
    if "below" not in head.data:
        return ""
    layer = head.text("below")
    return f"call_inside({LAYERS[_one_of(head, 'below', layer, LAYERS)]})"


def _families(head: _Row) -> Families:
    families: dict[str, dict[str, dict[str, str]]] = {}
    for name, variants in head.data.get("each", {}).items():
        if not isinstance(variants, dict) or not variants:
            raise head.error(f"each.{name}", "must be a table of variants")
        families[name] = {}
        for variant, words in variants.items():
            if not isinstance(words, dict) or not all(isinstance(w, str) for w in words.values()):
                raise head.error(f"each.{name}.{variant}", 'must be a table: { T = "char" }')
            families[name][variant] = {"each": variant, **words}
            if words.keys() != next(iter(variants.values())).keys():
                raise head.error(f"each.{name}.{variant}", "has other words than the first variant")
    return families


def _load_calls(head: _Row, rows: Any, layer: str, error: str) -> Iterable[Call]:
    if not isinstance(rows, list):
        raise CatalogueError(head.path, "", "call", "must be written as [[call]]")
    seen: set[str] = set()
    families = _families(head)
    for number, data in enumerate(rows, 1):
        name = str(data.get("op", f"call {number}"))
        try:
            tables = list(_long_rows(head, data))
        except ExpandError as mistake:
            raise CatalogueError(head.path, name, mistake.key, str(mistake)) from mistake
        for table in tables:
            row = _Row(head.path, str(table.get("op", name)), table, _CALL_KEYS)
            if not _NAME.fullmatch(row.text("op")):
                raise row.error("op", "must be a C name")
            if row.name in seen:
                raise row.error("op", "is there twice in this file")
            seen.add(row.name)
            yield _load_call(row, layer, error, _below(head), families)


def _long_rows(head: _Row, data: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The rows that one [[call]] of the file stands for."""
    rows, large = head.data.get("rows", {}), head.data.get("large", {})
    for made in with_variants(data, head.data.get("variant", {})):
        row = with_rows(made, rows)
        if isinstance(row.get("large"), dict):
            if large.keys() != {"suffix", "since"}:
                raise head.error("large", "must say suffix and since: a row has a large form")
            row["form"] = [*row.get("form", []), large_form(row, large)]
        yield row


def _with_async(head: _Row, rows: Any) -> Any:
    """The rows, and behind them their asynchronous forms."""
    if not isinstance(rows, list):
        return rows
    return [*rows, *(_async(head, row) for row in rows if "async" in row)]


def _async(head: _Row, data: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a call's asynchronous form: more arguments, and a result that may be yet to come."""
    row = _Row(head.path, str(data.get("op")), data, _CALL_KEYS)
    result, later = _result(row), head.data.get("async")
    if not later or result is None:
        raise row.error("async", "needs [api.async], and a result")
    how = _Row(head.path, "[api.async]", later, _ASYNC_KEYS)
    now = how.text("result").format(result=result.name)

    def in_time(text: str) -> str:
        return re.sub(rf"\b{result.name}\b", now, text) if result else text

    made = {key: data[key] for key in data if key not in ("async", "form", "fortran", "syscalls")}
    made |= {key: in_time(made[key]) for key in ("after", "bytes", "result") if key in made}
    if "record" in made:
        made["record"] = [
            entry if isinstance(entry, str) else {k: in_time(v) for k, v in entry.items()}
            for entry in made["record"]
        ]
    return made | {
        "op": row.text("async"),
        "symbols": [row.text("async")],
        "args": f"{how.text('before')}, {row.text('args')}, {how.text('behind')}",
        "kind": how.text("kind"),
        "since": how.text("since"),
    }


def _load_call(row: _Row, layer: str, api_error: str, below: str, families: Families) -> Call:
    forms = _forms(row, families)
    known = {parameter.name for parameter in forms[0].passed} | row.pairs("values").keys()
    when = [text for text in (below, _expression(row, "when", known)) if text]
    result = _result(row)
    recorded = row.data.get("row", True)
    file = row.text("file", "")
    by = _by(row, forms[0], file)
    object_ = _named(row, forms[0], _object(row, known, layer, file, by), layer)
    call = Call(
        op=row.text("op"),
        kind=_one_of(row, "kind", row.text("kind", None if recorded else "meta"), sorted(KINDS)),
        forms=forms,
        values=row.pairs("values"),
        result=result,
        error=_one_of(row, "error", row.text("error", api_error if result else "none"), _ERRORS),
        fails=_expression(row, "fails", known, result),
        object=object_,
        file=file,
        by=by,
        size=_expression(row, "size", known),
        offset=_expression(row, "offset", known | {"tracked"}),
        fields=_fields(row, known, result),
        moved=row.text("bytes", ""),
        moves=_expression(row, "moves", known | {"went"}, result),
        when=" && ".join(when),
        before=row.text("before", ""),
        before_changes=row.words("before_changes"),
        after=row.text("after", ""),
        always=row.flag("always"),
        hot=row.flag("hot"),
        row=recorded,
        keeps=_one_of(row, "keeps", row.text("keeps", ""), ("", *LAYERS)),
        collective=row.flag("collective"),
        offset_from=_one_of(
            row, "offset_from", row.text("offset_from", ""), ("", "given", "tracked")
        ),
        clears_errno=row.flag("clears_errno"),
        by_hand=row.flag("returns_twice") or row.flag("noreturn"),
        syscalls=row.words("syscalls"),
        fortran=tuple(_fortran(row, families)),
        since=row.text("since", ""),
        otherwise=_one_of(row, "otherwise", row.text("otherwise", ""), ("", *LAYERS)),
        borrowed=False,
        means=row.text("means", ""),
    )
    call = _handles(row, call, known, layer)
    _check_call(row, call, known)
    return call


def _is_text(parameter: Parameter) -> bool:
    return re.sub(r"\bconst\b|\s", "", parameter.type) in ("char*", "char[]")


def _named(row: _Row, form: Form, object_: str, layer: str) -> str:
    """The object of a call on something that has a name: it lies in the file, if there is one."""
    if "named" not in row.data:
        return object_
    return f"named_object({object_ or 0}, {_name(row, form, layer)})"


def _name(row: _Row, form: Form, layer: str) -> str:
    """C expression of the name that `named` means: a text, or what a handle was opened with."""
    name = row.text("named", "")
    parameter = {parameter.name: parameter for parameter in form.passed}.get(name)
    if not name:
        return "NULL"
    if parameter is None:
        raise row.error("named", f"'{name}' is no argument")
    if _is_text(parameter):
        return name
    return f"probe_name({api_number(layer)}, {_wide(name)})"


def _handles(row: _Row, call: Call, known: set[str], layer: str) -> Call:
    """`opens` and `closes` are hooks that keep the table of handles, recorded or not."""
    opens = _expression(row, "opens", known, call.result)
    closes = _expression(row, "closes", known)
    for key, value, hook in (("opens", opens, call.after), ("closes", closes, call.before)):
        if value and hook:
            raise row.error(key, f"is there beside '{'after' if key == 'opens' else 'before'}'")
    if opens:
        if not call.object:
            raise row.error(
                "opens", "needs a 'file', 'handle' or 'named': what the handle stands for"
            )
        handle = _wide(opens)
        if call.failure():
            handle = f"{call.failure()} ? (uint64_t)NO_HANDLE : {handle}"
        items = (api_number(layer), handle, call.object, _name(row, call.forms[0], layer))
        call = replace(call, after=f"probe_opens({', '.join(items)})", always=True)
    if closes:
        hook = f"probe_closes({api_number(layer)}, {_wide(closes)})"
        call = replace(call, before=hook, always=True)
    return call


def _check_call(row: _Row, call: Call, known: set[str]) -> None:
    if call.at_position and call.by not in ("fd", "stdio"):
        raise row.error("offset", "'tracked' needs a file that is a descriptor or a stream")
    if call.moves and not (call.at_position and call.by == "stdio"):
        raise row.error("moves", "is for streams, with the offset 'tracked'")
    if call.at_position and call.by == "stdio" and not (call.moved or call.moves):
        raise row.error("bytes", "is missing, or moves: how far a stream's position went")
    if len(call.fields) > MAX_FIELDS:
        raise row.error("record", f"makes {len(call.fields)} fields, at most {MAX_FIELDS} fit")
    for name in call.before_changes:
        if name not in known:
            raise row.error("before_changes", f"'{name}' is no argument")
    if call.before_changes and not call.before:
        raise row.error("before_changes", "needs a 'before' hook")
    if call.always and not (call.before or call.after):
        raise row.error("always", "needs a 'before' or an 'after' hook")
    names = [field.name for field in call.fields]
    if call.hot and (call.by != "fd" or names != ["size", "offset", "bytes"] or call.when):
        raise row.error("hot", "is for descriptors, with fields size, offset and bytes")
    if call.hot and (call.before or call.after or not call.row):
        raise row.error("hot", "is for rows without hooks: the wrapper is one straight line")
    if call.otherwise and not call.when:
        raise row.error("otherwise", "needs 'when'")
    if not call.row and not (call.before or call.after):
        raise row.error("row", "what is not recorded needs a hook, else leave the function out")
    for key, hook in (("before", call.before), ("after", call.after)):
        if is_statement(hook):
            words = known | ({"ended"} if key == "after" and call.row else set())
            words |= {call.result.name} if key == "after" and call.result else set()
            _check_words(row, key, hook, words)
        elif hook and not _NAME.fullmatch(hook):
            raise row.error(key, f"'{hook}' is neither a C name nor a call")


def _fortran(row: _Row, families: Families) -> Iterable[str]:
    """Names of Fortran entries; `{type}` stands for each variant of the family `type`."""
    for name in row.words("fortran"):
        place = _PLACE.search(name)
        if not place:
            yield name
        elif place[1] not in families:
            raise row.error("fortran", f"'{place[1]}' is no family of [api.each]")
        else:
            yield from (name.replace(place[0], variant) for variant in families[place[1]])


def _forms(row: _Row, families: Families) -> tuple[Form, ...]:
    forms = [_form(row, row, ())]
    values = row.pairs("values")
    for name in values:
        if not _NAME.fullmatch(name) or name in {p.name for p in forms[0].passed} | _RESERVED:
            raise row.error(f"values.{name}", "is no free name")
    for number, data in enumerate(row.data.get("form", []), 2):
        if not isinstance(data, dict):
            raise row.error("form", "must be written as [[call.form]]")
        part = _Row(row.path, f"{row.name} form {number}", data, _FORM_KEYS)
        if "each" in data:
            forms += _family(part, number, forms[0].passed, values, families)
        else:
            forms.append(_form(part, part, forms[0].passed, values))
    return tuple(forms)


def _family(
    part: _Row,
    number: int,
    wanted: tuple[Parameter, ...],
    values: Mapping[str, str],
    families: Families,
) -> Iterable[Form]:
    """One form for each variant of a family."""
    name = part.text("each")
    if name not in families:
        raise part.error("each", f"'{name}' is no family of [api.each]")
    common = _form(part, _filled(part, None), wanted, values)
    own = tuple(key for key, text in part.pairs("given").items() if _PLACE.search(text))
    family = Family(number, common.passed, own)
    for words in families[name].values():
        form = _form(part, _filled(part, words), wanted, values)
        yield replace(form, family=family)


def _filled(part: _Row, words: Mapping[str, str] | None) -> _Row:
    """The form with the words of a variant in place of those in braces; None: of no variant."""

    def fill(key: str, text: str) -> str:
        if words is None:
            return _PLACE.sub({"args": "void", "given": "0"}.get(key, "each"), text)
        for word in _PLACE.findall(text):
            if word not in words:
                raise part.error(key, f"'{{{word}}}' is no word of this family")
        return _PLACE.sub(lambda place: words[place[1]], text)

    data: dict[str, Any] = {}
    for key, value in part.data.items():
        if isinstance(value, list):
            data[key] = [fill(key, text) for text in value]
        elif isinstance(value, dict):
            data[key] = {name: fill(key, text) for name, text in value.items()}
        elif key != "each":
            data[key] = fill(key, value)
    return _Row(part.path, part.name, data, _FORM_KEYS)


def _form(
    row: _Row, part: _Row, wanted: tuple[Parameter, ...], values: Mapping[str, str] | None = None
) -> Form:
    symbols = part.words("symbols")
    if part is row and not {"symbols", "form", "fortran"} & part.data.keys():
        symbols = (part.text("op"),)
    for symbol in symbols:
        if not _NAME.fullmatch(symbol):
            raise row.error("symbols", f"'{symbol}' is no C name")
    parameters, variadic = _arguments(part, "args", part.text("args"))
    passed = parameters
    for key in {"pass", "va"} & part.data.keys():
        if not variadic:
            raise row.error(key, "is for variadic prototypes; args do not end in '...'")
    if variadic and ("pass" in part.data) == ("va" in part.data):
        raise row.error(
            "pass",
            "is missing: args end in '...', so say which fixed arguments are passed on, "
            "or in 'va' which function takes them as a va_list",
        )
    if "pass" in part.data:
        passed, again = _arguments(part, "pass", part.text("pass"))
        if again:
            raise row.error("pass", "must be fixed, without '...'")
    names = {parameter.name for parameter in passed}
    for name in sorted(names & _RESERVED):
        raise row.error(
            "args", f"'{name}' is a name that wrappers use themselves; call it otherwise"
        )
    given = {**(values or {}), **part.pairs("given")} if wanted else {}
    for parameter in wanted:
        if parameter.name not in names and parameter.name not in given:
            raise row.error(
                "given", f"the row's argument '{parameter.name}' is neither in args nor given"
            )
    return Form(
        symbols=symbols,
        parameters=parameters,
        variadic=variadic,
        passed=passed,
        va=part.text("va", ""),
        given=given,
        since=part.text("since", ""),
    )


def _arguments(row: _Row, key: str, text: str) -> tuple[tuple[Parameter, ...], bool]:
    try:
        return parse_arguments(text)
    except PrototypeError as error:
        raise row.error(key, str(error)) from error


def _result(row: _Row) -> Parameter | None:
    text = row.text("returns", "void")
    if text.strip() == "void":
        return None
    try:
        result = parse_parameter(text)
    except PrototypeError as error:
        raise row.error("returns", str(error)) from error
    if result.name in _RESERVED:
        raise row.error(
            "returns", f"'{result.name}' is a name that wrappers use themselves; call it otherwise"
        )
    return result


def _by(row: _Row, form: Form, file: str) -> str:
    if not file:
        return ""
    named = {parameter.name: parameter for parameter in form.passed}
    if file not in named:
        raise row.error("file", f"'{file}' is no argument")
    if "by" in row.data:
        return _one_of(row, "by", row.text("by"), tuple(_OBJECTS))
    type_ = named[file].type.replace(" ", "")
    guess = {
        "int": "fd",
        "constchar*": "path",
        "DIR*": "stream",
        "FILE*": "stdio",
        "MPI_File": "mpi_file",
        "hid_t": "hdf5",
        "void*": "address",
    }.get(type_)
    if guess is None:
        raise row.error("by", f"is missing: '{named[file].text}' does not tell how it names a file")
    return guess


def _object(row: _Row, known: set[str], layer: str, file: str, by: str) -> str:
    for key in ("object", "handle"):
        if key in row.data and file:
            raise row.error(key, "is there beside 'file'; give one")
    if "object" in row.data:
        return _expression(row, "object", known)
    if "handle" in row.data:
        return f"probe_handle({api_number(layer)}, {_wide(_expression(row, 'handle', known))})"
    if not file:
        return ""
    dirfd = row.text("dirfd", "AT_FDCWD")
    if dirfd != "AT_FDCWD" and dirfd not in known:
        raise row.error("dirfd", f"'{dirfd}' is no argument")
    return _OBJECTS[by].format(arg=file, dirfd=dirfd)


def _fields(row: _Row, known: set[str], result: Parameter | None) -> tuple[Field, ...]:
    fields: list[Field] = []
    if "size" in row.data:
        fields.append(Field("size", row.text("size")))
    if "offset" in row.data:
        fields.append(Field("offset", row.text("offset")))
    if "bytes" in row.data:
        fields.append(Field("bytes", _expression(row, "bytes", known, result)))
    elif "result" in row.data:
        fields.append(Field("result", _expression(row, "result", known, result)))
    elif result is not None:
        fields.append(Field("result", result.name))
    for entry in row.data.get("record", []):
        fields.append(_record(row, entry, known, result))
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise row.error("record", f"field '{name}' is there twice")
    return tuple(fields)


def _record(row: _Row, entry: Any, known: set[str], result: Parameter | None) -> Field:
    if isinstance(entry, str):
        if entry not in known:
            raise row.error(
                "record", f"'{entry}' is no argument; for an expression write {{ name = \"…\" }}"
            )
        return Field(entry, entry)
    if isinstance(entry, dict) and len(entry) == 1:
        ((name, expression),) = entry.items()
        if _NAME.fullmatch(name) and isinstance(expression, str):
            _check_words(
                row, f"record.{name}", expression, known | ({result.name} if result else set())
            )
            return Field(name, expression)
    raise row.error("record", 'takes argument names and { name = "expression" }')


def _expression(row: _Row, key: str, known: set[str], result: Parameter | None = None) -> str:
    text = row.text(key, "")
    _check_words(row, key, text, known | ({result.name} if result else set()))
    return text


def _check_words(row: _Row, key: str, expression: str, known: set[str]) -> None:
    """A lower-case word that is no argument is a slip; capitals are the library's constants."""
    for word in sorted(identifiers(expression) - known - _C_WORDS):
        if not word.isupper():
            raise row.error(key, f"'{word}' is no argument")


_C_WORDS = frozenset(
    "c wrapper sizeof int long unsigned char void const struct int64_t uint64_t uint32_t int32_t size_t "
    "ssize_t off_t uintptr_t intptr_t mode_t errno true false stdin stdout".split()
)


def _one_of(row: _Row, key: str, value: str, choices: Iterable[str]) -> str:
    if value not in choices:
        raise row.error(key, f"'{value}' is none of {', '.join(choices)}")
    return value


def _check_together(apis: tuple[Api, ...]) -> None:
    """What only shows when all files are seen: layers, ops, symbols and hooks that collide."""
    _check_layers(apis)
    _check_symbols(apis)
    _check_otherwise(apis)
    hooks: dict[str, tuple[str, tuple[str, ...]]] = {}
    types: dict[str, str] = {}
    for api in apis:
        for name, c_type in api.types.items():
            if types.setdefault(name, c_type) != c_type:
                raise CatalogueError(
                    api.path, "[api]", "types", f"'{name}' is '{types[name]}' elsewhere"
                )
        for call in api.calls:
            for key, hook, signature in named_hooks(call):
                first, before = hooks.setdefault(hook, (call.op, signature))
                if before != signature:
                    raise CatalogueError(
                        api.path,
                        call.op,
                        key,
                        f"hook '{hook}' has other arguments in {first}; give it another name",
                    )


def _check_layers(apis: tuple[Api, ...]) -> None:
    """A layer may have several files; an op is in one of them."""
    names: dict[str, Path] = {}
    ops: dict[tuple[str, str], Path] = {}
    for api in apis:
        if names.setdefault(api.c_name, api.path) != api.path:
            raise CatalogueError(
                api.path, "[api]", "file", f"has the name of {names[api.c_name]}; call it otherwise"
            )
        for call in api.recorded():
            if ops.setdefault((api.layer, call.op), api.path) != api.path:
                raise CatalogueError(
                    api.path, call.op, "op", f"is also in {ops[api.layer, call.op]}"
                )


def _check_otherwise(apis: tuple[Api, ...]) -> None:
    """Where a row hands its call on, the other layer's row of that op takes the same arguments."""
    calls = {(api.layer, call.op): call for api in apis if not api.inside for call in api.calls}
    layers = {api.layer for api in apis}
    for api in apis:
        for call in api.calls:
            if call.otherwise not in layers:
                continue  # a catalogue without that layer's file: the call passes through
            other = calls.get((call.otherwise, call.op))
            if other is None or other.parameters != call.parameters or other.result != call.result:
                raise CatalogueError(
                    api.path,
                    call.op,
                    "otherwise",
                    f"layer {call.otherwise} has no row of this name, arguments and result",
                )


def _check_symbols(apis: tuple[Api, ...]) -> None:
    """A module's slot has one wrapper: a symbol is in one file, and once in each that looks inside."""
    symbols: dict[tuple[str, str], tuple[Path, str]] = {}
    for api in apis:
        for call in api.calls:
            for symbol in call.symbols():
                key = api.c_name if api.inside else "", symbol
                if key in symbols:
                    path, op = symbols[key]
                    raise CatalogueError(
                        api.path, call.op, "symbols", f"'{symbol}' is also in {op} of {path}"
                    )
                symbols[key] = (api.path, call.op)
                if symbol in api.left_out:
                    raise CatalogueError(
                        api.path, call.op, "symbols", f"'{symbol}' is also in left_out"
                    )


def is_statement(hook: str) -> bool:
    """A hook written as a call, "mpi_closed(c)", instead of by its name."""
    return "(" in hook


def named_hooks(call: Call) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """Key, name and parameter declarations of the hooks that the generator declares."""
    if call.before and not is_statement(call.before):
        yield "before", call.before, hook_signature(call, "before")
    if call.after and not is_statement(call.after):
        yield "after", call.after, hook_signature(call, "after")


def hook_signature(call: Call, key: str) -> tuple[str, ...]:
    """Parameter declarations of a hook, in order."""
    texts = ["struct call *c"]
    if key == "after" and call.result is not None:
        texts.append(call.result.text)
    for parameter in call.parameters:
        if key == "before" and parameter.name in call.before_changes:
            pointer = parameter.type if parameter.type.endswith("*") else parameter.type + " "
            texts.append(f"{pointer}*{parameter.name}")
        else:
            texts.append(parameter.text)
    return tuple(texts)
