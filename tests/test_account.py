"""The comparison with a program's own account finds every kind of difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from harness import account

LAYERS = ["hdf5", "mpiio", "posix"]
TABLES = """
    create table files (file int, path text);
    create table objects (object int, class text, name text, file int, extents ubigint[], element_bytes int);
    create table selections (selection int, exact bool, displacement bigint, box_start ubigint[], box_count ubigint[],
        period ubigint, total ubigint);
    create table args (call int, name text, value bigint);
    create table calls (id int, parent int, rank int, layer text, op text, kind text, object int, file int,
        selection int, size bigint, bytes bigint, file_offset bigint);
    insert into objects values (5, 'hdf5_dataset', '/set', 1, [4, 6], 8);
    insert into selections values (2, true, null, [0, 0], [2, 3], 0, 6);
    insert into args values (10, 'start', 9);
    insert into calls values (10, null, 3, 'hdf5', 'H5Dwrite', 'write', 5, 1, 2, 48, 48, null),
        (11, 10, 3, 'mpiio', 'MPI_File_write_at', 'write', 6, 1, null, 48, 48, 16),
        (12, 11, 3, 'posix', 'pwrite', 'write', 7, 1, null, 48, 48, 16);
"""


@pytest.fixture
def run(tmp_path: Path) -> tuple[Any, Path, Path]:
    """A write of 2 x 3 doubles at (1, 3) of a set of 4 x 6, into bytes 16 to 64 of a file of 70."""
    file, accounts = tmp_path / "f.h5", tmp_path / "account"
    file.write_bytes(bytes(16) + b"x" * 48 + bytes(6))
    accounts.mkdir()
    (accounts / "3.txt").write_text(f"3|hdf5|write|{file}|/set|4 6|1 3|2 3|48\n")
    connection = duckdb.connect()
    connection.execute(TABLES)
    connection.execute("insert into files values (1, ?)", [str(file)])
    return connection, accounts, file


def test_no_difference(run: tuple[Any, Path, Path]) -> None:
    connection, accounts, _ = run
    assert account.differences(connection, accounts, LAYERS) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("update args set value = 10", "told, not in the tables"),
        ("update selections set box_count = [2, 4]", "told, not in the tables"),
        ("update objects set name = '/other'", "in the tables, not told"),
        ("update calls set rank = 2 where id = 10", "in the tables, not told"),
        ("update calls set op = 'H5Dread' where id = 10", "in the tables, not told"),
        ("update objects set extents = [4, 7]", "in the tables, not told"),
        ("update calls set parent = null where id = 12", "is made from"),
        ("update calls set parent = 10 where id = 12", "is made from"),
        ("update calls set file_offset = 17 where id = 12", "data from byte 0 to 17"),
        ("update calls set bytes = 60 where id = 12", "writes up to byte 76"),
    ],
)
def test_differences(run: tuple[Any, Path, Path], change: str, says: str) -> None:
    connection, accounts, _ = run
    connection.execute(change)
    assert says in "\n".join(account.differences(connection, accounts, LAYERS))


def test_an_empty_account_is_an_error(run: tuple[Any, Path, Path], tmp_path: Path) -> None:
    assert "told no access" in account.differences(run[0], tmp_path, LAYERS)[0]


def test_an_unlimited_dimension(run: tuple[Any, Path, Path]) -> None:
    connection, accounts, _ = run
    connection.execute("update objects set extents = [0, 6]")
    assert account.differences(connection, accounts, LAYERS) == []


def test_bytes_of_a_layer_without_names(run: tuple[Any, Path, Path]) -> None:
    connection, accounts, file = run
    connection.execute("update calls set parent = null where id = 11")
    (accounts / "3.txt").write_text(f"3|mpiio|write|{file}|||16|48|48\n")
    assert account.differences(connection, accounts, LAYERS) == []
    (accounts / "3.txt").write_text(f"3|mpiio|write|{file}|||16|47|48\n")
    assert len(account.differences(connection, accounts, LAYERS)) == 2
