"""The records of the stream format in Rust, made from catalog/stream.toml: engine/stream/src/plain.rs."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from .stream import Row, rows


@dataclass(frozen=True)
class Kind:
    """How a part of a record is written: Rust's type of it, the reading of it, its place in `Part`."""

    rust: str
    read: str
    part: str


_KINDS = {
    "number": Kind("u32", 'from.number("{name}")?', "Part::Number(u64::from(self.{name}))"),
    "varint": Kind("u64", "from.varint()?", "Part::Number(self.{name})"),
    "zigzag": Kind("i64", "from.zigzag()?", "Part::Signed(self.{name})"),
    "8 bytes": Kind("u64", "from.u64()?", "Part::Bytes(self.{name})"),
    "text": Kind("&'a [u8]", "from.text()?", "Part::Text(self.{name})"),
}


@dataclass(frozen=True)
class Field:
    """One part of a plain record."""

    name: str
    kind: Kind
    late: bool  # older streams end before it

    def reading(self) -> str:
        """The expression that reads it."""
        read = self.kind.read.format(name=self.name)
        missing = 'b""' if self.kind.rust.startswith("&") else "0"
        return f"if from.is_empty() {{ {missing} }} else {{ {read} }}" if self.late else read


def rust() -> str:
    """engine/stream/src/plain.rs."""
    plain = [row for row in rows("record") if "fields" in row]
    own = [_type(row).removesuffix("<'a>") for row in rows("record") if "fields" not in row]
    own = sorted(re.sub(r"Vec<(.*)>", r"\1", name) for name in own)
    return "\n".join(
        [
            "//! Made from catalog/stream.toml by `make facts`: records, and what they hold.",
            "",
            "use crate::bytes::Cursor;",
            "use crate::error::Reason;",
            "use crate::format::record_type;",
            "use crate::parse;",
            f"use crate::record::{{{', '.join(sorted([*own, 'Part', 'Plain']))}}};",
            "",
            _enum(),
            _dispatch(),
            *(_record(row) for row in plain),
        ]
    )


def _variant(row: Row) -> str:
    return str(row["name"]).capitalize()


def _fields(row: Row) -> list[Field]:
    found = []
    for word in row["fields"].split(", "):
        name, _, kind = word.partition(" ")
        found.append(Field(name, _KINDS[kind.removesuffix("?")], kind.endswith("?")))
    return found


def _type(row: Row) -> str:
    name = str(row.get("type", _variant(row)))
    borrows = "fields" in row and any(one.kind.rust.startswith("&") for one in _fields(row))
    return f"{name}<'a>" if borrows else name


def _enum() -> str:
    variants = [f"\t{_variant(row)}({_type(row)})," for row in rows("record")]
    return "\n".join(
        [
            "#[derive(Debug, Clone, PartialEq)]",
            "pub enum Record<'a> {",
            *variants,
            "\t/// Of a later version.",
            "\tUnknown(u8),",
            "}",
            "",
        ]
    )


def _dispatch() -> str:
    """The functions that go by the type of a record."""
    parsed, plain, own = [], [], []
    for row in rows("record"):
        name, variant = str(row["name"]), _variant(row)
        is_plain = "fields" in row
        read = f"{row.get('type', variant)}::parse" if is_plain else f"parse::{name}"
        parsed.append(f"\t\trecord_type::{name.upper()} => Record::{variant}({read}(&mut from)?),")
        if is_plain:
            plain.append(f"\t\t\tRecord::{variant}(record) => record.named(see),")
        else:
            own.append(f"Record::{variant}(_)")
    others = " | ".join([*own, "Record::Unknown(_)"])
    return "\n".join(
        [
            "/// The record of type `kind` whose payload is `payload`. Bytes at its end that are not known are left.",
            "pub(crate) fn parse(kind: u8, payload: &[u8]) -> Result<Record<'_>, Reason> {",
            "\tlet mut from = Cursor::new(payload);",
            "\tOk(match kind {",
            *parsed,
            "\t\tother => Record::Unknown(other),",
            "\t})",
            "}",
            "",
            "impl Record<'_> {",
            "\t/// The parts and the name of a plain record; `None`: it is another.",
            "\tpub fn each_part(&self, see: impl FnMut(&'static str, Part<'_>)) -> Option<&'static str> {",
            "\t\tmatch self {",
            *plain,
            f"\t\t\t{others} => None,",
            "\t\t}",
            "\t}",
            "}",
            "",
        ]
    )


def _record(row: Row) -> str:
    """The struct of a plain record, read and written."""
    name, fields = str(row.get("type", _variant(row))), _fields(row)
    anonymous = "<'_>"
    life, elided = ("<'a>", anonymous) if _type(row).endswith(">") else ("", "")
    means = re.sub(r"\[(.*?)\]\(#(.*?)\)", r"docs/stream-format.md#\2", str(row.get("means", "")))
    about = textwrap.wrap(means, 112) if means else []
    return "\n".join(
        [
            *(f"/// {line}" for line in about),
            "#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]",
            f"pub struct {name}{life} {{",
            *(f"\tpub {one.name}: {one.kind.rust}," for one in fields),
            "}",
            "",
            f"impl{life} {name}{life} {{",
            f"\tfn parse(from: &mut Cursor{life or anonymous}) -> Result<Self, Reason> {{",
            f"\t\tOk({name} {{",
            *(f"\t\t\t{one.name}: {one.reading()}," for one in fields),
            "\t\t})",
            "\t}",
            "}",
            "",
            f"impl Plain for {name}{elided} {{",
            f"\tconst TYPE: u8 = record_type::{str(row['name']).upper()};",
            f'\tconst NAME: &\'static str = "{row["name"]}";',
            "",
            "\tfn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {",
            *(f'\t\tsee("{one.name}", {one.kind.part.format(name=one.name)});' for one in fields),
            "\t}",
            "}",
            "",
        ]
    )
