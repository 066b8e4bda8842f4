"""The planted run of the UI's tests and benchmarks: as the packer makes it, with three troubles."""

import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from harness import invariants, paths, planted, tables


@pytest.fixture(scope="session")
def small(planted_run: planted.Planted):
    """Its tables."""
    return tables.opened(planted_run.path)


def test_it_is_as_all_runs_are(planted_run: planted.Planted, small) -> None:
    assert invariants.broken(small, finished=True, whole=True) == []
    assert tables.ask(small, "select count(*) from calls") == [[planted_run.calls]]
    assert tables.ask(
        small,
        """select count(*) from calls c join (select parent, sum(duration) as below from calls group by parent) p
        on p.parent = c.id where below <> nested""",
    ) == [[0]]
    assert tables.ask(
        small,
        """select count(*)
        from (select *, lead(start) over (partition by stream, depth order by start) as next from calls)
        where next < start + duration""",
    ) == [[0]]


def test_heat_adds_up_to_the_calls(small) -> None:
    rows = tables.ask(
        small,
        """select h.calls - c.calls, abs(h.bytes - c.bytes) < 2 * h.bins, abs(h.time - c.time) < 2 * h.bins
        from (
            select layer, operation as kind, sum(calls) as calls, sum(bytes) as bytes, sum(time) as time,
                count(*) as bins
            from heat group by all
        ) as h join (
            select layer, kind, count(*) as calls, sum(bytes) as bytes, sum(duration) as time from calls group by all
        ) as c using (layer, kind)""",
    )
    assert rows == [[0, True, True]] * 6


def test_one_write_stands_out(planted_run: planted.Planted, small) -> None:
    longest = "select id, rank, op, duration from calls where layer = 'posix' order by duration desc limit 2"
    first, second = tables.ask(small, longest)
    assert first == [planted_run.slow_write, planted_run.writer, "pwrite", 900_000_000]
    assert second[3] < 100_000_000


def test_show_names_the_rank_and_the_server(planted_run: planted.Planted) -> None:
    words = [paths.FATHOM, "show", planted_run.path, "--findings", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    says = {one["finding"]: one["says"] for one in json.loads(done.stdout)}
    assert says["slow-rank"].startswith(f"rank {planted_run.straggler} ")
    assert says["slow-server"].startswith(f"{planted_run.hot}: ")


def test_tables_are_those_of_the_packer(planted_run: planted.Planted, tmp_path: Path) -> None:
    run = tmp_path / "real.fathom"
    subprocess.run(
        [paths.FATHOM, "run", "--no-show", "-o", run, "--", "cat", "/dev/null"],
        timeout=300,
        check=True,
    )
    tables.pack(run)

    def schemas(directory: Path) -> dict[str, list[tuple[str, str]]]:
        parts = sorted((directory / "tables").rglob("*.parquet"))
        of = {
            str(one.parent if one.parent.name != "tables" else one): pq.read_schema(one)
            for one in parts
        }
        return {
            Path(name).stem: [(field.name, plain(field.type)) for field in one]
            for name, one in of.items()
            if Path(name).stem != "tiles"  # made by the first reader
        }

    def plain(kind: pa.DataType) -> str:
        if pa.types.is_dictionary(kind):  # how text is stored
            return str(kind.value_type)
        return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)

    assert schemas(planted_run.path) == schemas(run)


def test_the_same_seed_gives_the_same_run(planted_run: planted.Planted, tmp_path: Path) -> None:
    one = planted.Planted(tmp_path / "r.fathom", 64, 1, planted_run.seed)
    digest = "select count(*), bit_xor(hash(id, start, duration, file_offset)) from calls"
    first = tables.ask(tables.opened(planted.make(one).path), digest)
    assert first == tables.ask(tables.opened(planted.make(one).path), digest)
    other = planted.Planted(one.path, 64, 1, planted_run.seed + 1)
    assert first != tables.ask(tables.opened(planted.make(other).path), digest)


def test_too_few_calls_are_refused(tmp_path: Path) -> None:
    with pytest.raises(planted.TooSmall, match="of 141 calls each"):
        planted.sized(tmp_path / "r", 64, 100)


def test_the_first_screen_names_what_is_planted(planted_run: planted.Planted) -> None:
    runs = Runs([planted_run.path])
    landmarks = screens.ask(runs, "overview", {"run": "planted"})["landmarks"]
    by_kind = {one["kind"]: (one["sentence"], one["selection"]) for one in landmarks}
    call, rank, server = by_kind["call"], by_kind["rank"], by_kind["server"]
    assert call[0].startswith(f"pwrite of rank {planted_run.writer} took 900 ms")
    assert call[1] == {"call": str(planted_run.slow_write)}
    assert rank[0].startswith(f"rank {planted_run.straggler} spent")
    assert rank[1] == {"lanes": str(planted_run.straggler)}
    assert server[0].startswith(f"{planted_run.hot} took")
    assert server[1] == {"servers": planted_run.hot}


def test_samples_of_a_run_of_seconds(planted_run: planted.Planted) -> None:
    """Bins times their width are more than 32 bits hold."""
    rows = screens.ask(Runs([planted_run.path]), "samples", {"run": "planted"})["rows"]
    assert {row[1] for row in rows} == {"cpu.user", "memory.available", "net.tx_bytes"}
