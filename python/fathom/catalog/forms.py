"""Forms of a call: its symbols and prototypes, and the families of functions that differ in a type."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .model import Family, Form, Parameter
from .prototypes import PrototypeError, parse_arguments, parse_parameter
from .row import FORM_KEYS, NAME, RESERVED, Row

_PLACE = re.compile(r"\{(\w+)\}")
#: Families of functions: name -> variant -> what stands for the words in braces.
Families = Mapping[str, Mapping[str, Mapping[str, str]]]


def load_families(head: Row) -> Families:
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


def fortran_names(row: Row, families: Families) -> Iterable[str]:
    """Names of Fortran entries; `{type}` stands for each variant of the family `type`."""
    for name in row.words("fortran"):
        place = _PLACE.search(name)
        if not place:
            yield name
        elif place[1] not in families:
            raise row.error("fortran", f"'{place[1]}' is no family of [api.each]")
        else:
            yield from (name.replace(place[0], variant) for variant in families[place[1]])


def load_forms(row: Row, families: Families) -> tuple[Form, ...]:
    forms = [_form(row, row, ())]
    values = row.pairs("values")
    for name in values:
        if not NAME.fullmatch(name) or name in {p.name for p in forms[0].passed} | RESERVED:
            raise row.error(f"values.{name}", "is no free name")
    for number, data in enumerate(row.data.get("form", []), 2):
        if not isinstance(data, dict):
            raise row.error("form", "must be written as [[call.form]]")
        part = Row(row.path, f"{row.name} form {number}", data, FORM_KEYS)
        if "each" in data:
            forms += _family(part, number, forms[0].passed, values, families)
        else:
            forms.append(_form(part, part, forms[0].passed, values))
    return tuple(forms)


def _family(
    part: Row,
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


def _filled(part: Row, words: Mapping[str, str] | None) -> Row:
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
    return Row(part.path, part.name, data, FORM_KEYS)


def _form(
    row: Row, part: Row, wanted: tuple[Parameter, ...], values: Mapping[str, str] | None = None
) -> Form:
    symbols = part.words("symbols")
    if part is row and not {"symbols", "form", "fortran"} & part.data.keys():
        symbols = (part.text("op"),)
    for symbol in symbols:
        if not NAME.fullmatch(symbol):
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
    for name in sorted(names & RESERVED):
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


def _arguments(row: Row, key: str, text: str) -> tuple[tuple[Parameter, ...], bool]:
    try:
        return parse_arguments(text)
    except PrototypeError as error:
        raise row.error(key, str(error)) from error


def load_result(row: Row) -> Parameter | None:
    text = row.text("returns", "void")
    if text.strip() == "void":
        return None
    try:
        result = parse_parameter(text)
    except PrototypeError as error:
        raise row.error("returns", str(error)) from error
    if result.name in RESERVED:
        raise row.error(
            "returns", f"'{result.name}' is a name that wrappers use themselves; call it otherwise"
        )
    return result
