"""The tables of a packed run and their columns, as catalog/tables.toml has them, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from .layers import catalog_data
from .markdown import table_text

SQL_TYPES = {
    "u8": "utinyint",
    "u16": "usmallint",
    "u32": "uinteger",
    "u64": "ubigint",
    "i32": "integer",
    "i64": "bigint",
    "f64": "double",
    "bool": "boolean",
    "text": "varchar",
    "time": "timestamp",
}
LIST = "list of "
#: The tables of a run, and of a lake.
OF_RUN, OF_LAKE = "tables.toml", "lake.toml"
#: Whose a text is, and so what `fathom anonymise` makes of it.
PRIVATE = (
    *("public", "word", "name", "id", "host", "path"),
    *("system", "text", "arguments", "note", "manifest"),
)


@dataclass(frozen=True)
class Columns:
    """One column, or several that are alike but for their names."""

    names: tuple[str, ...]
    type: str  # u8 to u64, i32, i64, f64, bool, text, time; of a list, of what is in it
    is_list: bool
    nullable: bool
    unit: str
    keys: str  # type of the keys of a dictionary
    later: bool
    means: str
    private: tuple[str, ...]  # of text, for each name one of PRIVATE

    @property
    def sql(self) -> str:
        """The type in SQL."""
        return SQL_TYPES[self.type] + ("[]" if self.is_list else "")

    @property
    def meaning(self) -> str:
        """In one line."""
        return "; ".join(part for part in (self.unit, self.means) if part)


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    columns: tuple[Columns, ...]
    later: bool
    derived: bool
    parts: bool


def _columns(row: Mapping[str, Any]) -> Columns:
    names = row["name"] if isinstance(row["name"], list) else [row["name"]]
    kind = row["type"].removesuffix("?")
    bare = kind.removeprefix(LIST)
    if bare not in SQL_TYPES:
        raise ValueError(f"catalog: {names}: no type {row['type']}")
    return Columns(
        names=tuple(names),
        type=bare,
        is_list=kind != bare,
        nullable=kind != row["type"],
        unit=row.get("unit", ""),
        keys=row.get("keys", ""),
        later=row.get("later", False),
        means=row.get("means", ""),
        private=_private(names, bare, row.get("private", ())),
    )


def _private(names: list[str], kind: str, given: str | list[str]) -> tuple[str, ...]:
    """Of each name, where they are text."""
    every = tuple([given] * len(names) if isinstance(given, str) else given)
    if len(every) != (len(names) if kind == "text" else 0) or not set(every) <= set(PRIVATE):
        raise ValueError(
            f"catalog: {names}: `private` of {kind} is {given or 'missing'};"
            f" of each text it is one of {', '.join(PRIVATE)}"
        )
    return every


@cache
def tables(file: str = OF_RUN) -> tuple[Table, ...]:
    """All, in the order of the file."""
    return tuple(
        Table(
            name=row["name"],
            columns=tuple(map(_columns, row["columns"])),
            later=row.get("later", False),
            derived=row.get("derived", False),
            parts=row.get("parts", False),
        )
        for row in catalog_data(file)["table"]
    )


@cache
def meanings() -> Mapping[tuple[str, str], str]:
    """What each column means, by table and name."""
    return {
        (table.name, name): column.meaning
        for table in tables()
        for column in table.columns
        for name in column.names
    }


@cache
def private(file: str = OF_RUN) -> Mapping[str, Mapping[str, str]]:
    """Of each table whose its texts are, by column."""
    return {
        table.name: {
            name: whose
            for column in table.columns
            for name, whose in zip(column.names, column.private, strict=bool(column.private))
        }
        for table in tables(file)
    }


def python() -> str:
    """python/fathom/run/columns.py."""
    parts = ", ".join(f'"{table.name}"' for table in tables() if table.parts)
    first = "\n".join(_columns_of(table, later=False) for table in tables() if not table.later)
    later = "\n".join(_columns_of(table, later=True) for table in tables() if _is_later(table))
    return f'''"""Made from catalog/tables.toml by `make facts`."""

#: Tables in several files.
PARTED = ({parts})

#: What every version wrote: tables and their columns, with the type in SQL.
FIRST: dict[str, dict[str, str]] = {{
{first}
}}

#: What came after the first version.
LATER: dict[str, dict[str, str]] = {{
{later}
}}
'''


def _is_later(table: Table) -> bool:
    return table.later or any(column.later for column in table.columns)


def _columns_of(table: Table, later: bool) -> str:
    every = [
        f'        "{name}": "{column.sql}",'
        for column in table.columns
        if later == (table.later or column.later)
        for name in column.names
    ]
    return "\n".join([f'    "{table.name}": {{', *every, "    },"])


def rust() -> str:
    """engine/pack/src/schema.rs."""
    stored = [table for table in tables() if not table.derived]
    lists = "\n".join(map(_rust_table, stored))
    names = "\n".join(f'\t("{table.name}", &{table.name.upper()}),' for table in stored)
    return f"""//! Made from catalog/tables.toml by `make facts`.

use crate::column::Column;
use crate::column::Kind::*;

/// The columns of each table.
pub const TABLES: [(&str, &[Column]); {len(stored)}] = [
{names}
];

{lists}"""


def _rust_table(table: Table) -> str:
    every = [
        f'\tColumn::{"may" if column.nullable else "must"}("{name}", {_rust_kind(column)}),'
        for column in table.columns
        for name in column.names
    ]
    head = f"pub const {table.name.upper()}: [Column; {len(every)}] = ["
    return "\n".join(["#[rustfmt::skip]", head, *every, "];", ""])


def _rust_kind(column: Columns) -> str:
    if column.keys:
        return {"u8": "Choice", "u16": "Name"}[column.keys]
    return column.type.capitalize() + ("s" if column.is_list else "")


def _page_table(table: Table) -> str:
    return table_text(
        ("column", "type", "meaning"),
        ((", ".join(column.names), _page_type(column), column.means) for column in table.columns),
    )


def _page_type(column: Columns) -> str:
    kind = f"{LIST if column.is_list else ''}{column.type}{'?' if column.nullable else ''}"
    return f"{kind}, {column.unit}" if column.unit else kind


def page_tables(file: str = OF_RUN) -> Mapping[str, Callable[[], str]]:
    """Parts of docs/tables.md, or of docs/centre.md, that are made of the catalog, by name of the table."""
    return {table.name: partial(_page_table, table) for table in tables(file)}
