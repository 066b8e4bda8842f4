"""One row of a catalog file: what its wrapper is generated from."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .forms import Families, fortran_names, load_forms, load_result
from .hooks import is_statement
from .model import KINDS, LAYERS, MAX_FIELDS, Call, Field, Form, Parameter
from .row import ERRORS, NAME, Row, check_words, expression, one_of

#: How an argument leads to the object it names: C expression with {arg}, {dirfd}.
_OBJECTS: Mapping[str, str] = {
    "fd": "descriptor_object({arg})",
    "path": "path_object({dirfd}, {arg})",
    "stream": "(uint32_t)handle_get(&directories, 0, (uintptr_t){arg})",
    "stdio": "stdio_object({arg})",
    "mpi_file": "mpi_file_object(wrapper, {arg})",
    "hdf5": "hdf5_object(wrapper, {arg})",
    "address": "posix_mapping_at({arg})",
}


def load_call(
    row: Row,
    layer: str,
    api_error: str,
    below: str,
    families: Families,
    buffers: tuple[str, ...] = (),
) -> Call:
    forms = load_forms(row, families)
    known = {parameter.name for parameter in forms[0].passed} | row.pairs("values").keys()
    when = [text for text in (below, expression(row, "when", known)) if text]
    result = load_result(row)
    recorded = row.data.get("row", True)
    file = row.text("file", "")
    by = _by(row, forms[0], file)
    object_ = _named(row, forms[0], _object(row, known, layer, file, by), layer)
    call = Call(
        op=row.text("op"),
        kind=one_of(row, "kind", row.text("kind", None if recorded else "meta"), sorted(KINDS)),
        forms=forms,
        values=row.pairs("values"),
        result=result,
        error=one_of(row, "error", row.text("error", api_error if result else "none"), ERRORS),
        fails=expression(row, "fails", known, result),
        object=object_,
        file=file,
        by=by,
        size=expression(row, "size", known),
        offset=expression(row, "offset", known | {"tracked"}),
        fields=_fields(row, known, result),
        moved=row.text("bytes", ""),
        moves=expression(row, "moves", known | {"went"}, result),
        when=" && ".join(when),
        tune=row.text("tune", ""),
        tuned=row.text("tuned", ""),
        before=row.text("before", ""),
        before_changes=row.words("before_changes"),
        after=row.text("after", ""),
        always=row.flag("always"),
        hot=row.flag("hot"),
        row=recorded,
        keeps=one_of(row, "keeps", row.text("keeps", ""), ("", *LAYERS)),
        collective=row.flag("collective"),
        beside=row.flag("beside"),
        op_by=expression(row, "op_by", known),
        buffer=expression(row, "buffer", known, result),
        pieces=row.text("pieces", ""),
        offset_from=one_of(
            row, "offset_from", row.text("offset_from", ""), ("", "given", "tracked")
        ),
        clears_errno=row.flag("clears_errno"),
        by_hand=row.flag("returns_twice") or row.flag("noreturn"),
        syscalls=row.words("syscalls"),
        fortran=tuple(fortran_names(row, families)),
        since=row.text("since", ""),
        otherwise=one_of(row, "otherwise", row.text("otherwise", ""), ("", *LAYERS)),
        borrowed=False,
        means=row.text("means", ""),
    )
    call = _handles(row, call, known, layer)
    if call.direction and not call.buffer:
        call = replace(call, buffer=_buffer(forms[0], buffers))
    _check_call(row, call, known)
    return call


def _buffer(form: Form, names: tuple[str, ...]) -> str:
    """The argument that is the memory which data goes from or to."""
    candidates = [p.name for p in form.passed if p.is_pointer and p.name in names]
    return f"(uintptr_t){candidates[0]}" if len(candidates) == 1 else ""


def _is_text(parameter: Parameter) -> bool:
    return re.sub(r"\bconst\b|\s", "", parameter.type) in ("char*", "char[]")


def _named(row: Row, form: Form, object_: str, layer: str) -> str:
    """The object of a call on something that has a name: it lies in the file, if there is one."""
    if "named" not in row.data:
        return object_
    return f"named_object({object_ or 0}, {_name(row, form, layer)})"


def _name(row: Row, form: Form, layer: str) -> str:
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


def _handles(row: Row, call: Call, known: set[str], layer: str) -> Call:
    """`opens` and `closes` are hooks that keep the table of handles, recorded or not."""
    opens = expression(row, "opens", known, call.result)
    closes = expression(row, "closes", known)
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


def _wide(handle: str) -> str:
    """A handle, pointer or number, as 64 bits."""
    return f"(uint64_t)(uintptr_t)({handle})"


def api_number(layer: str) -> str:
    """Tells handles of one catalog from another's."""
    return f"{zlib.crc32(layer.encode()):#x}u"


def _by(row: Row, form: Form, file: str) -> str:
    if not file:
        return ""
    named = {parameter.name: parameter for parameter in form.passed}
    if file not in named:
        raise row.error("file", f"'{file}' is no argument")
    if "by" in row.data:
        return one_of(row, "by", row.text("by"), tuple(_OBJECTS))
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


def _object(row: Row, known: set[str], layer: str, file: str, by: str) -> str:
    for key in ("object", "handle"):
        if key in row.data and file:
            raise row.error(key, "is there beside 'file'; give one")
    if "object" in row.data:
        return expression(row, "object", known)
    if "handle" in row.data:
        return f"probe_handle({api_number(layer)}, {_wide(expression(row, 'handle', known))})"
    if not file:
        return ""
    dirfd = row.text("dirfd", "AT_FDCWD")
    if dirfd != "AT_FDCWD" and dirfd not in known:
        raise row.error("dirfd", f"'{dirfd}' is no argument")
    return _OBJECTS[by].format(arg=file, dirfd=dirfd)


def _fields(row: Row, known: set[str], result: Parameter | None) -> tuple[Field, ...]:
    fields: list[Field] = []
    if "size" in row.data:
        fields.append(Field("size", row.text("size")))
    if "offset" in row.data:
        fields.append(Field("offset", row.text("offset")))
    if "bytes" in row.data:
        fields.append(Field("bytes", expression(row, "bytes", known, result)))
    elif "result" in row.data:
        fields.append(Field("result", expression(row, "result", known, result)))
    elif result is not None:
        fields.append(Field("result", result.name))
    for entry in row.data.get("record", []):
        fields.append(_record(row, entry, known, result))
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise row.error("record", f"field '{name}' is there twice")
    return tuple(fields)


def _record(row: Row, entry: Any, known: set[str], result: Parameter | None) -> Field:
    if isinstance(entry, str):
        if entry not in known:
            raise row.error(
                "record", f"'{entry}' is no argument; for an expression write {{ name = \"…\" }}"
            )
        return Field(entry, entry)
    if isinstance(entry, dict) and len(entry) == 1:
        ((name, expression),) = entry.items()
        if NAME.fullmatch(name) and isinstance(expression, str):
            check_words(
                row, f"record.{name}", expression, known | ({result.name} if result else set())
            )
            return Field(name, expression)
    raise row.error("record", 'takes argument names and { name = "expression" }')


def _check_call(row: Row, call: Call, known: set[str]) -> None:
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
    if call.tune and (not is_statement(call.tune) or call.hot or call.when or not call.row):
        raise row.error(
            "tune", "must be a call, in a row that is recorded, not hot, without 'when'"
        )
    if call.tuned and not (call.tune and is_statement(call.tuned)):
        raise row.error("tuned", "must be a call, in a row with 'tune'")
    if call.before_changes and not call.before:
        raise row.error("before_changes", "needs a 'before' hook")
    if call.always and not (call.before or call.after):
        raise row.error("always", "needs a 'before' or an 'after' hook")
    names = [field.name for field in call.fields]
    if call.hot and (call.by != "fd" or names != ["size", "offset", "bytes"] or call.when):
        raise row.error("hot", "is for descriptors, with fields size, offset and bytes")
    if call.hot and (call.before or call.after or not call.row):
        raise row.error("hot", "is for rows without hooks: the wrapper is one straight line")
    for key, given in (("buffer", row.text("buffer", "")), ("pieces", call.pieces)):
        if given and not (call.direction and call.row):
            raise row.error(key, "is for rows that read or write")
    if call.pieces and not call.place(call.pieces):
        raise row.error("pieces", f"'{call.pieces}' is no field of the row")
    if call.otherwise and not call.when:
        raise row.error("otherwise", "needs 'when'")
    if not call.row and not (call.before or call.after):
        raise row.error("row", "what is not recorded needs a hook, else leave the function out")
    for key, hook in (("before", call.before), ("after", call.after)):
        if is_statement(hook):
            words = known | ({"ended"} if key == "after" and call.row else set())
            words |= {call.result.name} if key == "after" and call.result else set()
            check_words(row, key, hook, words)
        elif hook and not NAME.fullmatch(hook):
            raise row.error(key, f"'{hook}' is neither a C name nor a call")
