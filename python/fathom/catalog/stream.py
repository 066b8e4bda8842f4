"""The numbers of the stream format, as catalog/stream.toml has them, and what other languages need of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .layers import catalog_data
from .markdown import table_text

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Numbers:
    """A set of numbers: its key in the file, and how other languages name it."""

    key: str
    name: str  # C's enum, Rust's module
    c_prefix: str
    means: str
    rust_type: str = "u32"
    named: bool = False  # Rust has the names by number, too


#: What is generated, in this order.
SETS = (
    Numbers("record", "record_type", "RECORD", "Types of records.", "u8"),
    Numbers("class", "object_class", "OBJECT", "Classes of objects.", named=True),
    Numbers("op_flag", "op_flag", "OP_FLAG", "Flags of an op.", "u64"),
    Numbers("chunk_flag", "chunk_flag", "CHUNK", "Flags of a chunk."),
    Numbers("descriptor_flag", "descriptor_flag", "DESCRIPTOR", "Flags of a descriptor.", "u64"),
    Numbers("reason", "unfinished_reason", "UNFINISHED", "Why a call is unfinished."),
    Numbers("link", "link_kind", "LINK", "Kinds of links between calls.", named=True),
    Numbers("hint_source", "hint_source", "HINT", "Where a hint is from."),
    Numbers("selection_form", "selection_form", "SELECTION_OF", "What a selection is of."),
    Numbers("tally", "tallied", "TALLY", "What a tally counts.", named=True),
    Numbers("counter_detail", "counter_detail", "COUNTER", "What is known of accesses.", "u64"),
    Numbers("kernel_kind", "kernel_kind", "KERNEL", "What the kernel did.", named=True),
)


@cache
def rows(key: str) -> tuple[Row, ...]:
    """The rows of one set, in the order of the file."""
    return tuple(catalog_data("stream.toml")[key])


def _value(row: Row) -> int:
    return 1 << row["bit"] if "bit" in row else int(row["number"])


def numbers(key: str) -> Mapping[str, int]:
    """Name -> number, or bit as a number, of one set."""
    return {row["name"]: _value(row) for row in rows(key)}


def c_header() -> str:
    """runtime/core/stream_format.h."""
    enums = []
    for one in SETS:
        values = [
            f"\t{one.c_prefix}_{name.upper()} = {number},"
            for name, number in numbers(one.key).items()
        ]
        enums.append("\n".join([f"/* {one.means} */", f"enum {one.name} {{", *values, "};"]))
    enums.append(f"enum {{ OP_FLAG_PIECES_SHIFT = {_pieces()['bit']} }};")
    body = "\n\n".join(enums)
    return f"""/* Made from catalog/stream.toml by `make facts`: the numbers of docs/stream-format.md. */
#ifndef FATHOM_STREAM_FORMAT_H
#define FATHOM_STREAM_FORMAT_H

{body}

#endif
"""


def _pieces() -> Row:
    return next(row for row in rows("op_flag") if row["name"] == "pieces")


def rust() -> str:
    """engine/stream/src/format.rs."""
    modules = "\n".join(_rust_module(one) for one in SETS)
    head = (
        "//! Made from catalog/stream.toml by `make facts`: the numbers of `docs/stream-format.md`."
    )
    return f"{head}\n\n{modules}"


def _rust_module(one: Numbers) -> str:
    lines = [
        f"\tpub const {name.upper()}: {one.rust_type} = {number};"
        for name, number in numbers(one.key).items()
    ]
    if one.key == "op_flag":
        lines += [
            f"\tpub const PIECES_SHIFT: u32 = {_pieces()['bit']};",
            f"\tpub const PIECES_MASK: u64 = {(1 << _pieces()['bits']) - 1};",
        ]
    if one.named:
        every = [row["name"] for row in rows(one.key)]
        lines += ["", "\t/// By number.", *_rust_array("NAMES", "&str", map(_quoted, every))]
    if one.key == "class":
        paths = [row["name"].upper() for row in rows("class") if row.get("path")]
        lines += ["", "\t/// Their name is a path.", *_rust_array("PATHS", "u32", paths)]
        for carried in rows("carries"):
            who = [
                row["name"].upper()
                for row in rows("class")
                if row.get("carries") == carried["name"]
            ]
            lines += ["", f"\t/// They carry the numbers of `{carried['name']}`."]
            lines += _rust_array(f"WITH_{carried['name'].upper()}", "u32", who)
    return "\n".join([f"/// {one.means}", f"pub mod {one.name} {{", *lines, "}", ""])


def _rust_array(name: str, kind: str, values: Iterable[str]) -> list[str]:
    every = list(values)
    return [
        "\t#[rustfmt::skip]",
        f"\tpub const {name}: [{kind}; {len(every)}] = [",
        *(f"\t\t{value}," for value in every),
        "\t];",
    ]


def _quoted(text: str) -> str:
    return f'"{text}"'


# ---- docs/stream-format.md ----


def record_table() -> str:
    """Types of records and their payloads."""
    return table_text(
        ("type", "name", "payload", "meaning"),
        (
            (
                row["number"],
                row["name"],
                f"`{row.get('fields') or row['payload']}`",
                row.get("means", ""),
            )
            for row in rows("record")
        ),
    )


def class_table() -> str:
    """Classes of objects, then the numbers that some carry."""
    classes = table_text(
        ("class", "name", "meaning", "numbers"),
        (
            (row["number"], f"`{row['name']}`", row.get("means", ""), row.get("carries", ""))
            for row in rows("class")
        ),
    )
    carried = table_text(
        ("numbers", "in order", "meaning"),
        ((row["name"], f"`{row['payload']}`", row.get("means", "")) for row in rows("carries")),
    )
    return f"{classes}\n\n{carried}"


def flag_table(key: str) -> str:
    """Bits of a set."""
    return table_text(
        ("flag", "name", "meaning"),
        ((_flag(row), row["name"].replace("_", " "), row.get("means", "")) for row in rows(key)),
    )


def _flag(row: Row) -> str:
    if "bits" not in row:
        return str(_value(row))
    return f"bits {row['bit']} to {row['bit'] + row['bits'] - 1}"


def other_table() -> str:
    """Small sets, each in one line."""
    sets = (
        ("reason of `unfinished`", "reason"),
        ("kind of `link`", "link"),
        ("source of `hint`", "hint_source"),
        ("form of `selection`", "selection_form"),
        ("what of `tally`", "tally"),
        ("detail of `counter`", "counter_detail"),
        ("flags of a descriptor", "descriptor_flag"),
        ("kind of `kernel`", "kernel_kind"),
    )
    return table_text(
        ("of", "numbers"), ((f"{head}", ", ".join(map(_one, rows(key)))) for head, key in sets)
    )


def _one(row: Row) -> str:
    means = f" ({row['means']})" if "means" in row else ""
    return f"{_value(row)} `{row['name']}`{means}"


#: Parts of docs/stream-format.md that are made of the catalog.
TABLES = {
    "chunk flags": lambda: flag_table("chunk_flag"),
    "records": record_table,
    "flags of ops": lambda: flag_table("op_flag"),
    "classes": class_table,
    "other numbers": other_table,
}
