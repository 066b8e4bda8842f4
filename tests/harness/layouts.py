"""What a recorded run says of its file systems, as nodes with a Lustre would have told it: no test has one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
from fathom.run.database import quoted

from harness import tables


def lay_out(run: Path, osts: Mapping[str, int | str], stripe: int = 0) -> None:
    """Packs the run; each file below one of these folders is on one OST, or in stripes of so many bytes on several."""
    tables.pack(run)
    stored = run / "tables" / "hints_in_force.parquet"
    files = quoted(str(run / "tables" / "files.parquet"))
    told = run / "tables" / "hints_in_force.new"
    below = " ".join(
        f"when starts_with(path, {quoted(f'{folder}/')}) then {quoted(str(ost))}"
        for folder, ost in osts.items()
    )
    with duckdb.connect() as connection:
        connection.execute(
            f"""copy (
                from read_parquet({quoted(str(stored))})
                union all by name
                select 0::uinteger as process, null::uinteger as object, file, 'in force' as source, key, value
                from (
                    select file, unnest(['osts', 'striping_unit']) as key,
                        unnest([ost, nullif('{stripe}', '0')]) as value
                    from (select file, case {below} end as ost from read_parquet({files}))
                    where ost is not null
                )
                where value is not null
            ) to {quoted(str(told))} (format parquet)"""
        )
    told.replace(stored)


def mount(run: Path, types: Mapping[str, str]) -> None:
    """Packs the run; each of these folders is where a file system of this type is mounted."""
    tables.pack(run)
    stored = run / "tables" / "files.parquet"
    told = stored.with_suffix(".new")
    with duckdb.connect() as connection:
        for folder, kind in types.items():
            below = f"starts_with(coalesce(path, ''), {quoted(f'{folder}/')})"
            connection.execute(
                f"""copy (
                    select * replace (
                        if({below}, {quoted(kind)}, file_system) as file_system,
                        if({below}, {quoted(folder)}, mount) as mount
                    ) from read_parquet({quoted(str(stored))})
                ) to {quoted(str(told))} (format parquet)"""
            )
            told.replace(stored)
