"""Levels by selection file: what a selected run records is what the selection takes of a full one, and what it
counts is the rest."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import case, invariants, needs, paths, runner, tables

PROGRAMS = paths.PROGRAMS / "programs"
SELECTED = PROGRAMS / "selected"
SOURCE = paths.TESTS / "programs" / "selected.c"

#: Calls with all that a selection asks for. `functions`: where the outermost call was made; `regions`: names of those
#: around it, itself among them.
CALLS = """
create temp table x as
with recursive up as (
	select id as call, id, parent, layer, op, site from calls where layer <> 'fathom'
	union all
	select up.call, c.id, c.parent, c.layer, c.op, c.site from up join calls c on c.id = up.parent
)
select coalesce(c.rank, -1) as rank, c.layer, c.op, c.kind, f.path, c.size, c.file_offset, c.bytes, c.error,
	p.exe, (c.start - p.start) / 1e9 as seconds, c.id,
	(select list(s.function) from up join sites s using (site) where up.call = c.id) as functions,
	(select list(up.op) from up where up.call = c.id and up.layer = 'user') as regions
from calls c join processes p using (process) left join files f using (file) where c.layer <> 'fathom'
"""
FIELDS = "rank, layer, op, kind, path, size, file_offset, bytes, error"
TOTALS = """select coalesce(p.rank, -1), layer, op, coalesce(enclosing, ''), sum(calls)::bigint, sum(bytes)::bigint,
	sum(errors)::bigint from counters c join processes p using (process) where layer <> 'fathom'
	and coalesce(enclosing_layer, '') <> 'fathom' group by all order by all"""


def fathom(*words: object, env: dict[str, str] | None = None) -> Any:
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)],
        env={**os.environ, **runner.STACK_ENV, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def record(
    run: Path, command: list[object], *options: object, before: list[str] | None = None
) -> Any:
    """Runs it under Fathom, in front of `command` or, with `before`, behind that launcher."""
    words = [paths.FATHOM, "run", "--no-show", "-o", run, *options, "--", *command]
    done = subprocess.run(
        [str(word) for word in [*(before or []), *words]],
        env={**os.environ, **runner.STACK_ENV},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    connection = tables.connect(run.with_name(run.name + ".fathom"))
    lines = invariants.broken(connection, finished=True, whole=False)
    assert not lines, "\n".join(lines)
    return connection


def rows(connection: Any, where: str) -> Counter[Any]:
    connection.execute("drop table if exists x")
    connection.execute(CALLS)
    return Counter(connection.execute(f"select {FIELDS} from x where {where}").fetchall())


def totals(connection: Any) -> list[Any]:
    sums: list[Any] = connection.execute(TOTALS).fetchall()
    return sums


def short(name: Path, difference: Counter[Any]) -> str:
    return f"{name}: {sum(difference.values())} calls, as {list(difference.items())[:4]}"


def assert_same(selected: Counter[Any], full: Counter[Any]) -> None:
    """The same calls, each as often."""
    missing, more = full - selected, selected - full
    assert not missing and not more, "\n".join(
        [short(Path("missing"), missing), short(Path("too many"), more)]
    )


def line_of(text: str, source: Path = SOURCE) -> int:
    return 1 + next(n for n, line in enumerate(source.read_text().split("\n")) if text in line)


#: Nothing else writes these files, and it does so through an inlined function.
IN_RESTART = "op in ('pwrite', 'fsync') and path like '%.rst'"
ONE_EACH = {
    "layers": ('layers = ["posix"]', "layer = 'posix'"),
    "user-layer": ('layers = ["user"]', "layer = 'user'"),
    "write": ('operations = "write"', "kind = 'write'"),
    "read": ('operations = "read"', "kind = 'read'"),
    "both": ('operations = "both"', "kind in ('read', 'write')"),
    "programs": ('programs = ["sel*"]', "true"),
    "other-programs": ('programs = ["s3d*"]', "false"),
    "files": ('files = ["*.rst"]', "path is null or path like '%.rst'"),
    "files-but": (
        'files = ["!*.log", "*.rst", "!*/tmp/*"]',
        "path is null or (path not like '%.log' and path not like '%/tmp/%')",
    ),
    "function": ('code = ["write_restart()"]', IN_RESTART),
    "region": ('code = ["region step"]', "list_contains(regions, 'step')"),
    "region-glob": (
        'code = ["region check*", "read_back()"]',
        "list_contains(regions, 'checkpoint') or list_contains(functions, 'read_back')",
    ),
    "all": (
        'layers = ["posix"]\noperations = "write"\nprograms = ["selected"]\nfiles = ["*.rst"]\n'
        'code = ["region checkpoint", "write_text()"]\ntime = "0-1000"',
        "layer = 'posix' and kind = 'write' and path like '%.rst' and"
        " (list_contains(regions, 'checkpoint') or list_contains(functions, 'write_text'))",
    ),
    "nobody's-rank": ('ranks = "0"', "false"),
}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("full")
    (directory / "d").mkdir()
    connection = record(directory / "full", [SELECTED, directory / "d"])
    connection.execute("create temp table moved as select 1")
    return connection


def selected(tmp: Path, text: str, *words: object) -> Any:
    (tmp / "s.toml").write_text(text)
    (tmp / "d").mkdir()
    return record(tmp / "run", [SELECTED, tmp / "d", *words], "--select", tmp / "s.toml")


def without_directory(counts: Counter[Any]) -> Counter[Any]:
    out: Counter[Any] = Counter()
    for row, count in counts.items():
        name = row[4] and re.sub(r"^.*/d\b", "", row[4])
        out[(*row[:4], name, *row[5:])] += count
    return out


@pytest.mark.some(6)
@pytest.mark.parametrize("criterion", ONE_EACH)
def test_events_are_the_selected_and_counters_the_rest(
    criterion: str, full: Any, tmp_path: Path
) -> None:
    keys, where = ONE_EACH[criterion]
    connection = selected(tmp_path, f"[job]\n[call]\n{keys}\n")
    assert_same(without_directory(rows(connection, "true")), without_directory(rows(full, where)))
    assert totals(connection) == totals(full)


def test_lines_of_a_file(full: Any, tmp_path: Path) -> None:
    first, last = line_of("void write_restart"), line_of("fsync(restart)")
    connection = selected(tmp_path, f'[call]\ncode = ["selected.c:{first}-{last}"]\n')
    assert_same(
        without_directory(rows(connection, "true")), without_directory(rows(full, IN_RESTART))
    )


def test_without_a_table_that_takes_them_calls_are_not_counted(tmp_path: Path) -> None:
    connection = selected(tmp_path, '[file]\nfiles = ["*.rst"]\noperations = "write"\n')
    calls = connection.execute(
        "select op, regexp_extract(path, '[^/]*$'), sum(calls)::int, sum(recorded)::int from counters"
        " join files using (file) where layer <> 'fathom' group by all order by all"
    ).fetchall()
    assert calls == [("pwrite", "a.rst", 15, 0), ("pwrite", "c.rst", 3, 0)]


def test_a_window_of_time(tmp_path: Path) -> None:
    connection = selected(tmp_path, '[job]\n[call]\ntime = "0.4-1000"\n', 0.8)
    calls = connection.execute(
        "select op, count(*)::int, min(c.start - p.start) > 4e8 from calls c join processes p using"
        " (process) where layer = 'posix' group by all order by all"
    ).fetchall()
    assert calls == [("close", 3, True), ("fsync", 2, True), ("pwrite", 19, True)]
    closed = selected_again(tmp_path, '[job]\n[call]\ntime = "-0.4"\n', 0.8)
    calls = closed.execute(
        "select op, count(*)::int, max(c.start - p.start) < 4e8 from calls c join processes p using"
        " (process) where layer = 'posix' and op in ('pwrite', 'pread', 'close') group by all order by all"
    ).fetchall()
    assert calls == [("pread", 4, True), ("pwrite", 13, True)]
    assert [row[1:] for row in totals(connection)] == [row[1:] for row in totals(closed)]


def selected_again(tmp: Path, text: str, *words: object) -> Any:
    (tmp / "again").mkdir()
    return selected(tmp / "again", text, *words)


def test_python_and_its_regions(tmp_path: Path) -> None:
    script = tmp_path / "p.py"
    script.write_text(
        "import fathom, os, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
        "os.pwrite(fd, b'12345678', 0)\n"
        "with fathom.region('checkpoint'):\n"
        "    os.pwrite(fd, b'12345678', 8)\n"
        "os.pwrite(fd, b'12345678', 16)\n"
    )
    (tmp_path / "s.toml").write_text(
        f'[job]\nprograms = ["python*"]\n[call]\nfiles = ["{tmp_path}/*"]\ncode = ["region checkpoint"]\n'
    )
    command: list[object] = [paths.PYTHON, script, tmp_path / "f"]
    connection = record(tmp_path / "run", command, "--select", tmp_path / "s.toml")
    calls = connection.execute(
        "select op, file_offset from calls where layer in ('posix', 'user') order by start"
    ).fetchall()
    assert calls == [("checkpoint", None), ("pwrite", 8)]
    assert connection.execute(
        "select sum(calls)::int from counters where op = 'pwrite'"
    ).fetchone() == (3,)


# ---- ranks, in front of the launcher and behind it

RANKS = {
    "list": ('ranks = "0,2-3:1"', "rank in (0, 2, 3)"),
    "step": ('ranks = "1-3:2"', "rank in (1, 3)"),
    "first-on-node": ('ranks = "first-on-node"', "rank = 0"),
    "with-layers": (
        'ranks = "1"\nlayers = ["mpiio", "posix"]\noperations = "write"',
        "rank = 1 and layer in ('mpiio', 'posix') and kind = 'write'",
    ),
}
STACKS = {"mpich": "mpich", "ompio": "openmpi"}
KERNEL = ["-c", "1", "8", "8", "8", "2", "2", "1"]


def kernel(stack: str, name: str, tmp: Path) -> tuple[list[object], list[str]]:
    described = case.Case(path=Path(name), variant="", run="", program=f"kernels/{name}", mpi=stack)
    needs.require([])
    (tmp / "out").mkdir()
    program = runner.program(described)
    if not Path(program).exists():
        pytest.skip(f"{program} is not built")
    launch = runner.words(described, tmp)["mpiexec"].split()
    return [program, *KERNEL, tmp / "out"], launch


def of_kernel(connection: Any, where: str) -> Counter[Any]:
    """Without what depends on the launcher's mood: sockets, shared memory, /sys. OMPIO's test files may get
    each other's inodes within a tick: only rows of unlink tell them apart, and those are not selected."""
    counts = rows(connection, f"({where}) and (path like '%/out/%')")
    out: Counter[Any] = Counter()
    for row, count in counts.items():
        name = row[4].split("/out/")[1].split(".locktest")[0]
        out[(*row[:4], name, *row[5:])] += count
    return out


@pytest.mark.some(3)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("criterion", RANKS)
def test_ranks_of_a_kernel(criterion: str, stack: str, tmp_path: Path) -> None:
    keys, where = RANKS[criterion]
    (tmp_path / "s.toml").write_text(f"[file]\n[call]\n{keys}\n")
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir(), part.mkdir()
    command, launch = kernel(stack, "s3d_mpiio", whole)
    everything = record(whole / "run", [*launch, *command])
    command, launch = kernel(stack, "s3d_mpiio", part)
    behind = criterion in ("step", "with-layers")
    taken = record(
        part / "run",
        command if behind else [*launch, *command],
        "--select",
        tmp_path / "s.toml",
        before=launch if behind else None,
    )
    assert_same(of_kernel(taken, "true"), of_kernel(everything, where))
    sums = (
        "select p.rank, layer, op, coalesce(enclosing, ''), sum(calls)::int,"
        " sum(bytes)::bigint from counters join processes p using (process) join files using (file)"
        " where path like '%/out/%' group by all order by all"
    )
    assert taken.execute(sums).fetchall() == everything.execute(sums).fetchall()
    assert (part / "run.fathom" / "selection").is_file()


def test_a_rank_that_only_mpi_knows(tmp_path: Path) -> None:
    """Without a launcher there is no word of a rank before MPI_Init."""
    for rank in (0, 1):
        tmp = tmp_path / str(rank)
        tmp.mkdir()
        (tmp / "s.toml").write_text(
            f'[call]\nranks = {rank}\nlayers = ["mpiio"]\noperations = "both"\n'
        )
        command, _ = kernel("mpich", "s3d_mpiio", tmp)
        command[6:9] = ["1", "1", "1"]
        connection = record(tmp / "run", command, "--select", tmp / "s.toml")
        is_recorded = connection.execute(
            "select count(*) > 0 from calls where kind = 'write'"
        ).fetchone()
        assert is_recorded == (rank == 0,)


def test_hdf5s_own_driver_calls_go_with_their_file(tmp_path: Path) -> None:
    """FLASH writes checkpoint and plot files: of those left out, no call of HDF5's drivers is left either."""
    described = case.Case(
        path=Path("x"), variant="", run="", program="kernels/flash_hdf5", mpi="mpich"
    )
    program = runner.program(described)
    if not Path(program).exists():
        pytest.skip(f"{program} is not built")
    launch = runner.words(described, tmp_path)["mpiexec"].split()
    (tmp_path / "out").mkdir()
    command: list[object] = [*launch, program, "-x", "4", "-b", "2", tmp_path / "out"]
    connection = record(tmp_path / "run", command, "--files", "!*plt*")
    calls = connection.execute(
        "select op, count(*) from calls c where op like 'H5FD%' and not exists (select 1 from calls p"
        " where p.id = c.parent) group by all"
    ).fetchall()
    assert calls == []
    assert connection.execute(
        "select count(*) > 0 from calls where op like 'H5FD%'"
    ).fetchone() == (True,)


# ---- wrong files

WRONG = {
    "[cal]\n": ":1: no table 'cal'; there are [job], [file], [call]",
    '[call]\nlayers = ["mpoio"]\n': ":2: call.layers: no layer 'mpoio'; there are posix, mpiio",
    '[call]\nranks = "x"\n': ":2: call.ranks: 'x' is no rank",
    "[call]\n\nfoo = 1\n": ":3: call: no key 'foo'; there are layers, operations",
    '[call]\ncode = ["selectd.c:3"]\n': ":2: call.code: no source file selectd.c in",
    '[call]\ncode = ["write_rest()"]\n': "there are write_restart",
    '[call]\ntime = "now"\n': ":2: call.time: 'now' is no window",
    "[call\n": ":1: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_one_line_and_no_run(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    done = fathom("run", "--select", tmp_path / "s.toml", "-o", tmp_path / "run", "--", SELECTED)
    assert done.returncode == 125
    assert done.stderr.count("\n") == 1 and WRONG[text] in done.stderr, done.stderr
    assert str(tmp_path / "s.toml") in done.stderr
    assert not (tmp_path / "run.fathom").exists()


@pytest.mark.parametrize("option", [["--level", "job"], ["--files", "*"], ["--layers", "posix"]])
def test_a_file_and_its_short_forms_exclude_each_other(option: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[job]\n")
    done = fathom("run", "--select", tmp_path / "s.toml", *option, "--", SELECTED)
    assert done.returncode == 125
    assert (
        done.stderr == f"fathom: --select: {option[0]} is set in the file; leave {option[0]} out\n"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = fathom("run", "--select", tmp_path / "none.toml", "-o", tmp_path / "run", "--", SELECTED)
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert "none.toml: No such file" in done.stderr


# ---- while it runs


class Flips:
    """The program of four threads under Fathom, its counts when it is stopped."""

    def __init__(self, tmp: Path, *options: object) -> None:
        self.tmp = tmp
        command = [paths.FATHOM, "run", "--no-show", "-o", tmp / "run", *options, "--"]
        self.process = subprocess.Popen(
            [str(word) for word in [*command, PROGRAMS / "flips", tmp / "f"]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.process.stdout.readline()

    def child(self) -> int:
        words = ["pgrep", "-P", str(self.process.pid)]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def goes_on(self, writes: int = 4000) -> None:
        """Until it has made so many more, however fast it is here."""
        until = self._written() + writes
        while self._written() < until:
            assert self.process.poll() is None
            time.sleep(0.01)

    def _written(self) -> int:
        lines = Path(f"/proc/{self.child()}/io").read_text().splitlines()
        return int(dict(line.split(": ") for line in lines)["syscw"])

    def select(self, *words: object) -> Any:
        return fathom("select", self.tmp / "run", *words)

    def stop(self) -> tuple[Any, tuple[int, ...]]:
        (self.tmp / "f.stop").touch()
        out, _ = self.process.communicate(timeout=200)
        assert self.process.returncode == 0
        connection = tables.connect(self.tmp / "run.fathom")
        lines = invariants.broken(connection, finished=True, whole=False)
        assert not lines, "\n".join(lines)
        return connection, tuple(int(word) for word in out.split())


COUNTED = """select sum(calls) filter (op = 'pwrite'), sum(calls) filter (op = 'pread'),
	sum(bytes) filter (op = 'pwrite') from counters where layer = 'posix'"""


@pytest.mark.parametrize("changes", [300, pytest.param(15_000, marks=pytest.mark.full)])
def test_many_changes_lose_no_call(changes: int, tmp_path: Path) -> None:
    from fathom.run import control
    from fathom.run.filter import compile_text
    from fathom.run.rings import own_rings

    flips = Flips(tmp_path, "--budget", "1G")
    texts = [
        "[job]\n",
        "[call]\n",
        "[file]\n",
        '[job]\n[call]\noperations = "write"\n',
        f'[file]\n[call]\nfiles = ["{tmp_path}/*"]\noperations = "read"\n',
        '[job]\n[call]\nprograms = ["nobody"]\n',
        '[file]\n[call]\ncode = ["work()"]\n',
    ]
    ring = own_rings(tmp_path / "run.fathom")
    assert ring is not None
    node = control.Node(ring)
    compiled = [compile_text(text, "t", node.programs()) for text in texts]
    for number in range(changes):
        node.change(compiled[number % len(compiled)])
    connection, counts = flips.stop()
    assert connection.execute(COUNTED).fetchone() == counts
    share = connection.execute("select coverage from runs").fetchone()[0]
    assert 0 < share < 1, share


def test_the_command_changes_all_and_says_when(tmp_path: Path) -> None:
    flips = Flips(tmp_path, "--level", "job")
    (tmp_path / "s.toml").write_text('[job]\n[call]\noperations = "write"\n')
    done = flips.select(tmp_path / "s.toml")
    assert done.returncode == 0, done.stderr
    assert "1 process of" in done.stderr and '[call] operations = "write"' in done.stderr
    flips.goes_on()
    assert flips.select("--level", "file", "--layers", "posix").returncode == 0
    flips.goes_on()
    connection, counts = flips.stop()
    assert connection.execute(COUNTED).fetchone() == counts
    marks = connection.execute("select detail from marks where kind = 'selection' order by time")
    assert [row[0] for row in marks.fetchall()] == [
        '[job] [call] operations = "write"',
        '[file] layers = ["posix"]',
    ]
    ops = connection.execute("select distinct op from calls where layer <> 'fathom'").fetchall()
    assert ops == [("pwrite",)]
    assert "tid" in str(connection.execute("describe streams").fetchall())
    shown = fathom("query", tmp_path / "run", "--sql", "select count(*) from runs")
    assert shown.returncode == 0
    text = (tmp_path / "run.fathom" / "run.json").read_text()
    assert '"selections": [' in text and 'operations = \\"write\\"' in text


HDF5_OBJECTS = """
select c.op, o.class, o.name, f.path, o.element_bytes, o.extents from calls c join objects o using (object)
	join files f on f.file = o.file where c.op in ('H5Dwrite', 'H5Awrite', 'H5Dclose') order by c.start"""


@pytest.mark.parametrize("before", ["job", "file"])
def test_what_was_opened_while_counted_has_its_name_in_later_rows(
    before: str, tmp_path: Path
) -> None:
    """At level `job` nobody asks what a dataset is; its first transfer as a row does."""
    needs.require(needs.of_mpi("mpich"))
    file = tmp_path / "f.h5"
    command = [paths.FATHOM, "run", "--no-show", "-o", tmp_path / "run", "--level", before, "--"]
    with subprocess.Popen(
        [str(word) for word in [*command, PROGRAMS / "hdf5_waits_mpich", file]],
        env={**os.environ, **runner.STACK_ENV},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "made\n"
        assert fathom("select", tmp_path / "run", "--level", "call").returncode == 0
        process.communicate("\n", timeout=300)
    assert process.returncode == 0
    rows = tables.connect(tmp_path / "run.fathom").execute(HDF5_OBJECTS).fetchall()
    data = ("hdf5_dataset", "/step/density", str(file), 8, [4, 5])
    unit = ("hdf5_attribute", "/step/density/unit", str(file), 8, [4, 5])
    opened_for_job = ("hdf5_file", str(file), str(file), None, [])
    assert rows == [
        ("H5Dwrite", *data),
        ("H5Dwrite", *data),
        ("H5Awrite", *(opened_for_job if before == "job" else unit)),
        ("H5Dclose", *data),
    ]


def test_silent_at_first_then_on(tmp_path: Path) -> None:
    flips = Flips(tmp_path, "--level", "off")
    assert flips.select("--level", "call").returncode == 0
    flips.goes_on()
    assert flips.select("--level", "off").returncode == 0
    connection, counts = flips.stop()
    seen = connection.execute(COUNTED).fetchone()
    assert 0 < seen[0] <= counts[0]
    paths_ = connection.execute(
        "select distinct path from calls join files using (file) where op = 'pwrite'"
    ).fetchall()
    assert paths_ == [(str(tmp_path / "f"),)]


def test_what_select_cannot_do_is_one_line(tmp_path: Path) -> None:
    flips = Flips(tmp_path)
    for words, says in (
        (["--layers", "threads"], "layer threads was not asked for when the run began"),
        (["--layers", "nonsense"], "no layer 'nonsense'"),
        ([tmp_path / "f"], ":1: "),
        ([], "select: what?"),
        ([tmp_path / "f", "--level", "job"], "leave the options out"),
    ):
        done = flips.select(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert says in done.stderr
    node = tmp_path / "run.fathom" / "streams" / "0-elsewhere"
    node.mkdir()
    (node / "node").write_text("host=elsewhere\nboot_id=0\n")
    done = flips.select("--level", "job")
    assert done.returncode == 1 and "not changed on elsewhere" in done.stderr
    flips.stop()
    done = flips.select("--level", "job")
    assert done.returncode == 3 and "the run has ended" in done.stderr


def test_a_killed_process_keeps_both(tmp_path: Path) -> None:
    """Rows and counters of a process that was killed between two changes are read back."""
    flips = Flips(tmp_path)
    flips.goes_on()
    flips.select("--level", "file")
    flips.goes_on()
    os.kill(flips.child(), signal.SIGKILL)
    flips.process.communicate(timeout=300)
    connection = tables.connect(tmp_path / "run.fathom")
    recorded, counted = connection.execute(
        "select sum(recorded), sum(calls) - sum(recorded) from counters where op = 'pwrite'"
    ).fetchone()
    assert recorded > 0 and counted > 0
