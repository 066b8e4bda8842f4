"""The engine of findings: what it says of wrong files, whose findings are asked, of which runs, in what order."""

import json
import re
from pathlib import Path

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis import findings
from fathom.analysis.advice import Program, advice, fitting, lowest_versions
from fathom.analysis.sentence import sentence
from fathom.cache import conclusions
from fathom.catalog.layers import catalog_path
from fathom.errors import DamagedTable, UsageError
from fathom.run import database
from fathom.run.store import Run
from schema import counters_of, write_run

HEADER = """\
-- title:  Too much of it
-- layer:  posix
-- limit:  any: this is a test
-- says:   {op} took {seconds:seconds} in
--   {n:count} calls
-- lost:   all of it
-- sure:   0.5
-- fix:    less {op}
-- seen:   here
"""
SECOND = 10**9
CALLS = [
    {"id": n, "layer": "posix", "op": op, "kind": "write", "start": n * SECOND, "duration": SECOND}
    | {"file": 0, "site": 0, "bytes": 1}
    for n, op in enumerate(["pwrite", "pwrite", "write"], 1)
]
BY_OP = """select op, count(*) as n, sum(duration) / 1e9 as seconds, seconds as lost, list(id order by id) as calls
from calls group by op"""


def written(folder: Path, sites: list[dict[str, object]], calls: list[dict[str, object]]) -> Path:
    return write_run(
        folder / "some.fathom",
        runs=[{"name": "some", "duration": 10 * SECOND, "events": len(calls), "processes": 1}],
        nodes=[{"node": 0}],
        processes=[{"process": 0, "pid": 1, "ended": "clean"}],
        files=[{"file": 0, "path": "/data/f", "kind": "regular"}],
        sites=sites,
        calls=calls,
        counters=counters_of(calls),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run of two functions: 2 s in pwrite, 1 s in write."""
    sites = [{"site": 0, "module": "/bin/p", "function": "save", "source": "p.c", "line": 7}]
    return written(tmp_path, sites, CALLS)


def finding(folder: Path, name: str, sql: str = BY_OP, header: str = HEADER) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.sql"
    file.write_text(header + sql)
    return file


def find(path: Path, *files: Path) -> findings.Findings:
    run: Run = fathom.open(path)
    return findings.find(run, files)


def test_the_most_seconds_come_first_with_their_lines(path: Path, tmp_path: Path) -> None:
    ranked = find(path, finding(tmp_path, "much")).conclusions
    assert [(one.lost, one.sure, one.calls) for one in ranked] == [(2, 0.5, [1, 2]), (1, 0.5, [3])]
    assert [sentence(one.rule.says, one.values) for one in ranked] == [
        "pwrite took 2 s in 2 calls",
        "write took 1 s in 1 call",
    ]
    assert all(one.lines == ["p.c:7 save"] for one in ranked)


@pytest.mark.parametrize("callers", [2, 3])
def test_of_a_helper_who_called_it_is_said(tmp_path: Path, callers: int) -> None:
    """All I/O is made in one line, which several functions reach: those are to be changed."""
    site = {
        "module": "/bin/p",
        "function": "save",
        "source": "p.c",
        "line": 7,
        "caller_source": "p.c",
    }
    sites = [
        site | {"site": n, "caller_function": f"step{n}", "caller_line": 20 + n}
        for n in range(callers)
    ]
    calls = [call | {"site": n % callers} for n, call in enumerate(CALLS)]
    rule = finding(tmp_path / "rules", "some")
    found = findings.find(fathom.open(written(tmp_path, sites, calls)), [rule])
    lines = [line for one in found.conclusions for line in one.lines]
    helper = [f"p.c:7 save, called from p.c:{20 + n} step{n}" for n in range(callers)]
    assert sorted(set(lines)) == (helper if callers == 3 else ["p.c:7 save"])


def test_a_finding_names_the_layers_that_the_run_has(path: Path, tmp_path: Path) -> None:
    header = HEADER.replace("layer:  posix", "layer:  hdf5, posix, mpiio")
    found = findings.find(fathom.open(path), [finding(tmp_path / "rules", "some", header=header)])
    assert {one.rule.layer for one in found.conclusions} == {"posix"}


def test_dangers_come_last_and_a_column_says_how_sure(path: Path, tmp_path: Path) -> None:
    sql = "select null as lost, 0.9 as sure union all select 1.5, null"
    ranked = find(path, finding(tmp_path, "mixed", sql)).conclusions
    assert [(one.lost, one.sure) for one in ranked] == [(1.5, 0.5), (None, 0.9)]


def test_what_loses_next_to_nothing_is_not_said(path: Path, tmp_path: Path) -> None:
    sql = "select unnest([0.099, 0.101]) as lost"
    assert [one.lost for one in find(path, finding(tmp_path, "noise", sql)).conclusions] == [0.101]


@pytest.mark.parametrize(
    ("lost", "calls", "is_said"),
    [
        (0.05, [0], False),  # what a stall of one call explains
        (0.08, [0], True),
        (0.35, [1], True),  # longer than a stall
        (0.1001, [1], False),
        (0.05, [], True),
    ],
)
def test_one_long_call_is_no_habit(
    tmp_path: Path, lost: float, calls: list[int], is_said: bool
) -> None:
    """Of the run's two calls one takes 50 ms, the other 400 ms."""
    rows = [
        {
            "id": n,
            "layer": "posix",
            "op": "write",
            "kind": "write",
            "start": 0,
            "duration": ms * 10**6,
        }
        for n, ms in enumerate((50, 400))
    ]
    path = write_run(
        tmp_path / "some.fathom",
        runs=[{"name": "some", "duration": SECOND}],
        calls=rows,
        counters=counters_of(rows),
    )
    file = finding(tmp_path, "one", f"select {lost} as lost, {calls}::ubigint[] as calls")
    assert bool(find(path, file).conclusions) == is_said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEADER.replace("-- sure:   0.5\n", ""), "x.sql: a finding needs sure"),
        (HEADER.replace("title", "tilte"), "x.sql:1: no key 'tilte' in a finding; there are title"),
        (HEADER.replace("0.5", "quite"), "x.sql: sure is a number from 0 to 1, not 'quite'"),
        (HEADER.replace("0.5", "50"), "x.sql: sure is a number from 0 to 1, not '50'"),
        ("-- " + HEADER, "x.sql:1: '-- key: value' is expected, then the SQL"),
        (HEADER + "--no blank", "x.sql:10: '-- key: value' is expected, then the SQL"),
        (
            HEADER.replace("0.5", "0.5\n-- needs:  callz"),
            "x.sql: needs is of calls, counters, ranks, samples; not 'callz'",
        ),
    ],
)  # fmt: skip
def test_a_header_that_is_wrong_is_said_with_file_and_line(
    tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(UsageError) as error:
        findings.read(finding(tmp_path, "x", "\nselect 1 as lost", text))
    assert f"{tmp_path}/{says}" in str(error.value)


def test_a_condition_that_cannot_be_asked_silences_its_own_rule(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conditions = {"wrong": "exists (from nowhere)", "false": "1 > 2", "true": "1 < 2"}
    headers = {name: f"{HEADER}-- when:   {text}\n" for name, text in conditions.items()}
    files = [finding(tmp_path, name, header=header) for name, header in headers.items()]
    # Only rules of the catalogue have conditions.
    monkeypatch.setattr(findings, "catalog", lambda: files)
    concluded = find(path, *files)
    assert {one.rule.name for one in concluded.conclusions} == {"true"}
    assert [Path(file).stem for file in concluded.broken] == ["wrong"]


def test_a_table_that_cannot_be_read_is_no_mistake_of_a_finding(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is damaged is said once, not of each rule that reads it."""
    monkeypatch.setattr(database, "_small", lambda *_: frozenset())  # which are held in memory
    run: Run = fathom.open(path)
    assert run.sql("select 1 as n").num_rows == 1
    marks = path / "tables" / "marks.parquet"
    marks.write_bytes(marks.read_bytes()[:100])
    reads = finding(tmp_path, "reads", "select count(*) as lost from marks")
    with pytest.raises(DamagedTable, match=r"marks\.parquet"):
        findings.find(run, [reads, reads])


def test_a_table_that_cannot_be_read_for_a_moment_is_none_either(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked whether a rule could find something: an error of reading is no answer, and no rule's fault."""
    monkeypatch.setattr(database, "_small", lambda *_: frozenset())  # which are held in memory
    run: Run = fathom.open(path)
    assert run.sql("select 1 as n").num_rows == 1
    counters, is_about = path / "tables" / "counters.parquet", findings.Questions.is_about
    whole, asked = counters.read_bytes(), []

    def about(questions: findings.Questions, rule: findings.Rule) -> bool:
        asked.append(rule)
        if len(asked) == 1:
            counters.write_bytes(whole[:100])
        try:
            return is_about(questions, rule)
        finally:
            counters.write_bytes(whole)

    monkeypatch.setattr(findings.Questions, "is_about", about)
    with pytest.raises(DamagedTable, match=r"counters\.parquet"):
        findings.find(run, findings.catalog())


def test_a_header_without_sql_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a finding needs its SQL"):
        findings.read(finding(tmp_path, "x", ""))


def test_a_broken_finding_is_said_and_the_others_are_kept(path: Path, tmp_path: Path) -> None:
    wrong = {
        "column": "select nothing as lost from calls",
        "without": "select 1 as won",
        "writes": "copy calls to '/tmp/calls.csv'",
        "part": "select 1 as lost from nowhere()",
        "text": "select 'much' as lost",
        "list": "select 1 as lost, 'x' as calls",
    }
    files = [finding(tmp_path, name, sql) for name, sql in wrong.items()]
    concluded = find(path, *files, finding(tmp_path, "good"))
    assert {one.rule.name for one in concluded.conclusions} == {"good"}
    says = {Path(file).stem: why for file, why in concluded.broken.items()}
    assert says.keys() == wrong.keys()
    for name, part in {
        "column": "nothing",
        "without": "no column 'lost'",
        "writes": "only reading is allowed",
        "part": "Function with name nowhere does not exist",
        "text": "'lost' is a number of seconds or null, not 'much'",
        "list": "'calls' is a list of calls.id",
    }.items():
        assert part in says[name]


def test_a_run_of_counters_only_is_asked_what_counters_can_answer(tmp_path: Path) -> None:
    own = {
        "id": 9,
        "layer": "fathom",
        "op": "seal",
        "start": 0,
        "duration": 5,
    }  # a row all the same
    counted = [row | {"recorded": 0} for row in counters_of(CALLS)] + counters_of([own])
    path = write_run(
        tmp_path / "counted.fathom",
        runs=[{"name": "counted", "duration": 10 * SECOND, "counted": 3, "events": 1}],
        counters=counted,
    )
    by_time = """select 'write' as op, sum(calls) as n, 3 as seconds, sum(time) / 1e9 as lost
        from counters where layer = 'posix'"""
    header = HEADER.replace("-- seen", "-- needs:  counters\n-- seen")
    files = [finding(tmp_path, "calls"), finding(tmp_path, "counters", by_time, header)]
    concluded = find(path, *files)
    assert [(one.rule.name, one.lost) for one in concluded.conclusions] == [("counters", 3)]
    assert concluded.without == {"calls": ["calls"]}


def test_all_findings_hold_of_a_run_without_anything(tmp_path: Path) -> None:
    path = write_run(tmp_path / "empty.fathom", runs=[{"name": "empty"}])
    concluded = find(path, *findings.catalog())
    assert not concluded.broken
    assert not concluded.conclusions


def test_all_findings_hold_of_small_runs(run_directory: Path) -> None:
    assert not find(run_directory, *findings.catalog()).broken


def show(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main(["show", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_users_own_folder_takes_part(
    capsys: pytest.CaptureFixture[str],
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finding(tmp_path / "mine", "own-one")
    monkeypatch.setenv("FATHOM_FINDINGS", str(tmp_path / "mine"))
    status, out, _ = show(capsys, path, "--findings", "own-one", "--json")
    assert status == 0
    first, second = json.loads(out)
    assert (first["finding"], first["lost_seconds"], first["calls"]) == ("own-one", 2, ["1", "2"])
    assert (first["says"], second["says"]) == (
        "pwrite took 2 s in 2 calls",
        "write took 1 s in 1 call",
    )
    status, out, _ = show(capsys, path)
    assert "pwrite took 2 s in 2 calls" in " ".join(out.split())
    assert "--findings" in out
    monkeypatch.setenv("FATHOM_FINDINGS", str(tmp_path / "not there"))
    status, out, err = show(capsys, path, "--findings")
    assert (status, out) == (2, "")
    assert "not there is no folder of findings" in err


def test_a_limit_makes_the_exit_status(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    file = finding(tmp_path, "much")
    assert show(capsys, path, "--findings", file, "--fail-over", 1.9)[0] == 1
    assert show(capsys, path, "--findings", file, "--fail-over", 2)[0] == 0
    # Only a part is shown; what is not shown counts as well.
    assert show(capsys, path, "--findings", file, "--fail-over", 0.5, "--top", 1)[0] == 1
    wrong = finding(tmp_path, "wrong", "select oops as lost")
    status, out, err = show(capsys, path, "--findings", file, wrong)
    assert status == 2
    assert "pwrite took 2 s" in out
    assert err.count("fathom: ") == 1
    assert str(wrong) in err and "select oops as lost" in err


@pytest.mark.parametrize(
    ("exe", "source", "says"),
    [
        ("/usr/bin/python3.11", "sim.py", "do Dataset.sync(); rdcc_nbytes= of h5py.File"),
        ("/home/me/s3d", "io/write.F90", "do nf90_sync; h5pset_chunk_cache_f"),
        ("/home/me/s3d", "write.c", "do nc_sync; H5Pset_chunk_cache"),
    ],
)
def test_advice_is_in_the_program_s_language(
    tmp_path: Path, exe: str, source: str, says: str
) -> None:
    run = write_run(
        tmp_path / "spoken.fathom",
        runs=[{"name": "spoken", "duration": SECOND}],
        processes=[{"process": 0, "exe": exe}],
        sites=[{"site": 0, "module": exe, "source": source, "line": 7}],
    )
    header = HEADER.replace("fix:    less {op}", "fix:    do {what}; H5Pset_chunk_cache")
    header = header.replace(
        "says:   {op} took {seconds:seconds} in", "needs:  counters\n-- says:   {what} in"
    )
    sql = "select 'nc_sync' as what, 0 as n, null as lost"
    (found,) = find(run, finding(tmp_path, "spoken", sql, header)).conclusions
    assert sentence(found.rule.fix, found.values) == says


@pytest.mark.parametrize(
    ("exes", "module", "is_"),
    [
        (["/usr/bin/python3.11"], "/usr/bin/python3.11", "python"),
        (["/usr/bin/bash", "/usr/bin/python3"], "/usr/bin/python3", "python"),
        (["/usr/lib/jvm/java-17/bin/java"], "/usr/lib/jvm/java-17/lib/server/libjvm.so", "java"),
        (["/usr/bin/node"], "/usr/bin/node", "other"),
        (["/usr/lib/R/bin/exec/R"], "/usr/lib/R/lib/libR.so", "other"),
        (["/usr/bin/octave-cli-7.3.0"], "/usr/lib/libstdc++.so.6", "other"),
        (["/usr/bin/bash", "/home/me/sim"], "/lib/libstdc++.so.6", "cpp"),
        (["/home/me/sim"], "/home/me/sim", "c"),
        (["/home/me/java_reader"], "/home/me/java_reader", "c"),
        ([None], "sim", "c"),
    ],
)
def test_the_language_of_a_program(
    tmp_path: Path, exes: list[str | None], module: str, is_: str
) -> None:
    run = write_run(
        tmp_path / "spoken.fathom",
        runs=[{"name": "spoken", "duration": SECOND}],
        processes=[{"process": i, "exe": exe} for i, exe in enumerate(exes)],
        sites=[{"site": 0, "module": module, "users_module": module, "function": "main"}],
    )
    assert fathom.open(run).sql("select language() as l").to_pylist() == [{"l": is_}]


@pytest.mark.parametrize(
    ("used", "says"),
    [
        ({"posix"}, "call "),
        ({"hdf5"}, "call A, with a cache"),
        ({"hdf5", "netcdf"}, "call A; B, with a cache"),
        ({"netcdf"}, "call B, with a cache"),
        ({"mpiio below"}, "call . In MPI-IO: hints"),
        ({"python"}, "call , less"),
    ],
)
def test_advice_is_about_what_the_program_uses(used: set[str], says: str) -> None:
    text = "call [hdf5: A][netcdf: B][hdf5|netcdf: , with a cache][mpiio below: . In MPI-IO: hints][python: , less]"
    assert fitting(text, frozenset(used)) == says


def with_libraries(tmp_path: Path, libraries: str | None) -> Run:
    """A run of a program that uses HDF5, and of which this is known."""
    run = write_run(
        tmp_path / "used.fathom",
        runs=[{"name": "used", "duration": SECOND}],
        processes=[{"process": 0, "exe": "/a", "libraries": libraries}],
        counters=[{"process": 0, "layer": "hdf5", "op": "some", "kind": "read", "calls": 1}],
    )
    return fathom.open(run)


@pytest.mark.parametrize(
    ("libraries", "says"),
    [
        (None, "one dataset, H5Dwrite_multi"),
        ("HDF5 1.14.3, h5py 3.9.0", "one dataset, H5Dwrite_multi"),
        ("HDF5 1.10.8, HDF5 1.14.3", "one dataset"),  # what both have
        ("HDF5 1.8.16", "one dataset, or a newer HDF5"),
    ],
)
def test_advice_is_what_the_library_s_version_has(
    tmp_path: Path, libraries: str | None, says: str
) -> None:
    used = findings.Questions(with_libraries(tmp_path, libraries)).used
    text = "one dataset[hdf5 1.14: , H5Dwrite_multi][hdf5 before 1.10.2: , or a newer HDF5]"
    assert fitting(text + "[netcdf 4.9: , Blosc]", used) == says


@pytest.mark.parametrize(
    ("h5py", "says"), [("3.11.0", "H5Pset_fill_time"), ("3.12.1", "create_dataset(fill_time=")]
)
def test_a_keyword_is_of_who_has_it(h5py: str, says: str) -> None:
    used = Program(frozenset(("hdf5", "python")), lowest_versions([f"h5py {h5py}"]))
    text = "[hdf5: H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER)]"
    assert advice(text, used, "python").startswith(says)


@pytest.mark.parametrize(
    ("libraries", "romio"),
    [(None, "romio321"), ("Open MPI 4.1.4", "romio321"), ("Open MPI 5.0.3", "romio341")],
)
def test_romio_has_the_name_of_the_open_mpi(
    tmp_path: Path, libraries: str | None, romio: str
) -> None:
    rows = with_libraries(tmp_path, libraries).sql("select romio_component() as name")
    assert rows["name"].to_pylist() == [romio]


@pytest.mark.parametrize(
    ("layer", "has"), [("hdf5", True), ("posix", False)], ids=["hdf5", "without"]
)
def test_a_chunk_cache_is_for_who_uses_hdf5(tmp_path: Path, layer: str, has: bool) -> None:
    call = {"layer": layer, "op": "some", "kind": "read", "calls": 1}
    run = write_run(
        tmp_path / "used.fathom",
        runs=[{"name": "used", "duration": SECOND}],
        processes=[{"process": 0, "exe": "/usr/bin/python3"}],
        counters=[call | {"process": 0}],
    )
    rule = findings.read(catalog_path("findings", "reads-again.sql"))
    assert ("rdcc_nbytes" in findings.Questions(fathom.open(run)).fitted(rule).fix) == has


LIBRARY = re.compile(r"H5[A-Z]|HDF5|h5py|netCDF|PnetCDF|\bnc(mpi)?_|MPI-IO|MPI_File_")


@pytest.mark.parametrize("path", findings.catalog(), ids=lambda path: path.stem)
def test_a_program_without_libraries_hears_of_none(path: Path) -> None:
    """Advice of ranks may name MPI-IO, which all have; that of a library's layer its library."""
    rule = findings.read(path)
    if rule.layers & findings.LIBRARIES:
        return
    knob = re.sub(r"\[in \{holder\}[^]]*\]", "", rule.knob)  # where it is known
    texts = [rule.fix, knob, *re.findall(r"'((?:[^'\n]|'')*)'", rule.sql)]
    used = frozenset({"posix", "stdio", "python"})
    named = {word[0] for text in texts if (word := LIBRARY.search(advice(text, used, "python")))}
    assert named <= ({"MPI_File_"} if {"ranks"} & rule.needs else set())


def test_a_condition_must_be_of_something(tmp_path: Path) -> None:
    file = finding(tmp_path, "of-what", header=HEADER.replace("less {op}", "less[hdf6: , or more]"))
    with pytest.raises(UsageError, match=r"of-what.sql: \[hdf6: …\] is about no layer"):
        findings.read(file)


def test_what_cannot_be_found_is_not_asked(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All conditions are one statement. Of the user's own rules each is asked, so that a mistake is heard."""
    words = [
        ("true", "1"),
        ("exists (from calls where op = 'read')", "1"),
        ("false", "1"),
        ("false", "oops"),
    ]
    files = [
        finding(tmp_path, f"rule{at}", f"select {lost} as lost", f"{HEADER}-- when: {when}\n")
        for at, (when, lost) in enumerate(words)
    ]
    assert find(path, *files).broken.keys() == {str(files[-1])}
    monkeypatch.setattr(findings, "catalog", lambda: files)
    found = find(path, *files)
    assert [one.rule.name for one in found.conclusions] == ["rule0"] and not found.broken


def test_what_was_found_is_kept(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the same run, rules and texts of these; not with a rule that is broken."""
    monkeypatch.setattr(conclusions, "SLOW", -1.0)
    file = finding(tmp_path, "much")
    first = conclusions.find(fathom.open(path), [file])
    assert first == find(path, file) and first.conclusions and first.bar.slowest
    monkeypatch.setattr(findings, "find", lambda *_: pytest.fail("it was asked again"))
    assert conclusions.find(fathom.open(path), [file]) == first
    monkeypatch.undo()
    monkeypatch.setattr(conclusions, "SLOW", -1.0)
    finding(tmp_path, "much", BY_OP + " having op = 'write'")
    assert len(conclusions.find(fathom.open(path), [file]).conclusions) == 1
    wrong = finding(tmp_path, "wrong", "select oops as lost")
    assert conclusions.find(fathom.open(path), [wrong]).broken
    assert conclusions.find(fathom.open(path), [wrong]).broken
    assert len(list((path / "tables" / conclusions.FOLDER).iterdir())) == 2


def test_the_page_of_many_events_names_the_command_only(
    capsys: pytest.CaptureFixture[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.pages.page.FINDINGS_ON_PAGE", 2)
    _, out, _ = show(capsys, path)
    assert "What loses time?  fathom show some --findings" in out
    assert json.loads(show(capsys, path, "--json")[1])["findings"] is None


def test_no_more_can_be_won_than_the_io_lasted(path: Path, tmp_path: Path) -> None:
    """Threads side by side, or estimates of a log of sums, come to more."""
    file = finding(tmp_path, "much", BY_OP.replace("seconds, seconds as", "spent, 9 * spent as"))
    assert [one.lost for one in find(path, file).conclusions] == [3, 3]


def test_no_more_can_be_won_than_the_sentence_says(path: Path, tmp_path: Path) -> None:
    more = "9 * seconds as lost, 8 * seconds as low, 10 * seconds as high"
    rule = findings.read(finding(tmp_path, "much", BY_OP.replace("seconds as lost", more)))
    for row in findings.Questions(fathom.open(path)).rows(rule):
        assert row["lost"] == row["low"] == row["high"] == row["seconds"] > 0


def test_one_of_a_kind_is_one() -> None:
    template = "{calls:count} calls on {files:count} files by {n:count} {what}s"
    one = {"calls": 2, "files": 1, "n": 1, "what": "read"}
    assert sentence(template, one) == "2 calls on 1 file by 1 read"


def test_what_is_not_known_is_left_out_of_a_sentence() -> None:
    template = "rank {rank} moved all[; half of the others waited {waited:seconds} and longer]"
    assert sentence(template, {"rank": 3, "waited": None}) == "rank 3 moved all"
    assert sentence(template, {"rank": 3, "waited": 0.5}).endswith("waited 500 ms and longer")


@pytest.mark.parametrize(("moving", "says"), [(0.0, "waits 2 µs"), (1e-9, "waits 2 µs and 1 ns")])
def test_a_share_of_no_time_is_not_said(moving: float, says: str) -> None:
    template = "waits {waits:seconds}[ and {moving:seconds}]"
    assert sentence(template, {"waits": 2e-6, "moving": moving}) == says


def test_one_rank_without_communication_claims_no_waiting(tmp_path: Path) -> None:
    """Where not even counters have communication, nobody knows how long the others waited."""
    calls = [call | {"process": 0, "rank": 0, "stream": 0, "state": "done"} for call in CALLS]
    ranks = [{"process": rank, "rank": rank} for rank in range(4)]
    run = write_run(
        tmp_path / "r.fathom", runs=[{"ranks": 4, "ranks_seen": 4, "duration": 10 * SECOND}], processes=ranks,
        files=[{"file": 0, "path": "/d/f", "kind": "regular"}], calls=calls,
        counters=counters_of(calls),
    )  # fmt: skip
    (one,) = find(run, catalog_path("findings", "one-rank.sql")).conclusions
    sentence_ = sentence(one.rule.says, one.values)
    assert sentence_.endswith("in 3 s; how long the others waited was not recorded")
