"""Layouts of Lustre for files of a recorded run, as its clients would have told them: no test has a Lustre."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
from fathom.run.database import quoted

from harness import tables


def lay_out(run: Path, osts: Mapping[str, int]) -> None:
    """Packs the run; each file below one of these folders is on one OST."""
    tables.pack(run)
    stored = run / "tables" / "hints_in_force.parquet"
    files = quoted(str(run / "tables" / "files.parquet"))
    told = run / "tables" / "hints_in_force.new"
    below = " ".join(
        f"when starts_with(path, {quoted(f'{folder}/')}) then {ost}" for folder, ost in osts.items()
    )
    with duckdb.connect() as connection:
        connection.execute(
            f"""copy (
                from read_parquet({quoted(str(stored))})
                union all by name
                select 0::uinteger as process, null::uinteger as object, file, 'in force' as source, 'osts' as key,
                    ost::varchar as value
                from (select file, case {below} end as ost from read_parquet({files}))
                where ost is not null
            ) to {quoted(str(told))} (format parquet)"""
        )
    told.replace(stored)
