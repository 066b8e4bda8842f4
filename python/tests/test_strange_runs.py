"""Runs that are damaged, or that somebody prepared: reading one ends in an answer or in one line."""

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fathom.__main__ import main
from fathom.cache import answers, conclusions, seal, statements
from fathom.cache.files import CacheFolder
from fathom.errors import DamagedRun
from fathom.run import database, manifest, onefile, scratch
from fathom.run.store import open_run
from fathom.run.strange import strange
from schema import table

READERS = (("show",), ("show", "--findings"), ("landscape",), ("diff", "{run}"), ("patterns",))
VALUES = (None, -1, "x", [1], [None], {"a": 1}, 1e308, True, 10**30)


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Asks a reader about a run: an answer, or one line, which is given."""

    def ask(reader: tuple[str, ...], run: Path) -> str:
        words = [word.format(run=run) for word in reader]
        status = main([words[0], str(run), *words[1:]])
        error = capsys.readouterr().err
        assert status in (0, 2, 3)
        lines = [line for line in error.splitlines() if line.startswith("fathom: ")]
        assert status == 0 or lines, error
        return lines[-1] if status else ""

    return ask


def small_manifest() -> dict[str, Any]:
    return {
        "format": 1, "id": "1", "program": "s3d", "command": ["s3d"], "environment": {"LD_X": "1"},
        "configuration": {"layers": ["posix"], "counted": [], "files": [], "ring": "/nowhere"},
        "nodes": [{"host": "n"}], "versions": {"libc": "2"}, "start_ns": 1, "end_ns": 2, "exit": {"status": 0},
        "layers_fired": ["posix"], "cut": [], "selections": [], "attached": [], "mounts": {},
    }  # fmt: skip


def changed() -> Iterator[dict[str, Any]]:
    """run.json with each of its values in turn by others."""
    for key in small_manifest():
        for value in VALUES:
            yield small_manifest() | {key: value}
    for key in small_manifest()["configuration"]:
        for value in VALUES:
            content = small_manifest()
            content["configuration"][key] = value
            yield content
    for key, inner in (("nodes", "host"), ("cut", "kind"), ("attached", "pid"), ("exit", "status")):
        content = small_manifest()
        content[key] = {inner: [5]} if key == "exit" else [{inner: [5]}, 5]
        yield content
    yield small_manifest() | {"command": ["\ud800"], "program": "\ud800"}


def test_run_json_of_other_types(run_directory: Path, asked: Callable[..., str]) -> None:
    refused = 0
    for content in changed():
        (run_directory / "run.json").write_text(json.dumps(content))
        for reader in READERS[:1]:
            refused += "run.json" in asked(reader, run_directory)
    assert refused > 50
    (run_directory / "run.json").write_text(json.dumps(small_manifest() | {"nodes": 5}))
    for reader in READERS:
        assert "run.json: nodes: a list is expected" in asked(reader, run_directory)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"x":' * 200_000, "", "[]", "null", '{"a"', "\xff"]
)
def test_run_json_that_is_none(run_directory: Path, asked: Callable[..., str], text: str) -> None:
    (run_directory / "run.json").write_bytes(text.encode("latin-1"))
    for reader in READERS:
        assert "run.json" in asked(reader, run_directory)


@pytest.mark.parametrize("name", ["selections.jsonl", "streams/n/attached.json"])
@pytest.mark.parametrize("text", ["[" * 200_000, '{"x":' * 200_000, "[]", '{"a"', '{"pid": "x"}'])
def test_notes_that_are_none(
    run_directory: Path, asked: Callable[..., str], name: str, text: str
) -> None:
    (run_directory / "streams" / "n").mkdir(parents=True)
    (run_directory / name).write_text(text)
    for reader in READERS[:3]:
        said = asked(reader, run_directory)
        assert Path(name).name in said or text == '{"pid": "x"}'


def test_answers_that_came_along_are_not_believed(
    run_directory: Path, asked: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged ones, and those that somebody else worked out."""
    for user in (answers, conclusions, statements):
        monkeypatch.setattr(user, "SLOW", 0)
    readers = (("show", "--all"), ("report", "-o", "{run}.html"))
    for reader in readers:
        assert asked(reader, run_directory) == ""
    tables = run_directory / "tables"
    kept = [one for name in ("answers", "findings", "page") for one in (tables / name).iterdir()]
    for number, one in enumerate(kept):
        text = b"5" if number % 2 else b"[" * 100_000
        one.write_bytes(one.read_bytes().partition(b"\n")[0] + b"\n" + text)
    for reader in readers:
        assert asked(reader, run_directory) == ""
    folder = CacheFolder(tables / "answers", lambda: "same")
    folder.write("key", b"value")
    assert folder.read("key") == b"value"
    monkeypatch.setattr(seal, "_secret", lambda: bytes(seal.BYTES))  # another user's
    assert folder.read("key") is None


def test_half_a_letter_is_none(run_directory: Path) -> None:
    (run_directory / "run.json").write_text('{"command": ["a\\ud800b", "\\ud83d\\ude00"]}')
    assert manifest.read(run_directory)["command"] == ["a?b", "\N{GRINNING FACE}"]


PLACES = ("run.json", "selections.jsonl", "tables/files.parquet", "tables/calls/x.parquet", "streams/n/node",
          "streams/n/1.1.fts", "streams/n/attached.json", "tables/packed", "sink/0.blocks")  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_pipes_and_devices_are_not_opened(
    run_directory: Path, asked: Callable[..., str], place: str, kind: str
) -> None:
    path = run_directory / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for reader in READERS:
        assert f"{place}: is no regular file" in asked(reader, run_directory)


@pytest.mark.parametrize("name", ["tables", "tables/calls", "tables/files.parquet"])
def test_a_table_elsewhere_is_not_read(
    run_directory: Path, asked: Callable[..., str], name: str
) -> None:
    path, secret = run_directory / name, run_directory.parent / "secret"
    path.rename(secret)
    path.symlink_to(secret)
    before = sorted(secret.parent.rglob("*"))
    for reader in (*READERS, ("view", "--prepare")):
        assert "no file of this run" in asked(reader, run_directory)
    with pytest.raises(DamagedRun, match="no file of this run"):
        onefile.write(run_directory, run_directory.parent / "sent.zip")
    assert sorted(secret.parent.rglob("*")) == before


def test_answers_are_not_written_elsewhere(run_directory: Path, asked: Callable[..., str]) -> None:
    elsewhere = run_directory.parent / "elsewhere"
    elsewhere.mkdir()
    for name in ("answers", "findings", "screens", "page"):
        (run_directory / "tables" / name).symlink_to(elsewhere)
    for reader in (*READERS, ("view", "--prepare")):
        asked(reader, run_directory)
    assert list(elsewhere.iterdir()) == []


def test_the_name_of_a_file_is_no_sql(run_directory: Path, asked: Callable[..., str]) -> None:
    tables = run_directory / "tables"
    name = 'zz" as select 1; create view "evil" as select \'ran\' as said; create view "yy.parquet'
    (tables / name).write_bytes((tables / "runs.parquet").read_bytes())
    assert "evil does not exist" in asked(("query", "--sql", "from evil"), run_directory)


def other_shapes() -> Iterator[tuple[str, Callable[[pa.Table], pa.Table]]]:
    for name, column in (
        ("streams", "path"), ("files", "path"), ("runs", "duration"), ("processes", "rank"), ("counters", "bytes"),
        ("counters", "layer"), ("marks", "kind"),
    ):  # fmt: skip
        yield name, lambda rows, column=column: rows.drop_columns([column])
        for values in (pa.nulls, lambda n: pa.array(["x"] * n), lambda n: pa.array([[1]] * n)):
            yield (
                name,
                lambda rows, column=column, values=values: rows.set_column(
                    rows.column_names.index(column), column, values(rows.num_rows)
                ),
            )
    yield "selections", lambda rows: rows.slice(0, 0)


@pytest.mark.some(12)
@pytest.mark.parametrize(("name", "change"), list(other_shapes()))
def test_tables_of_another_shape(
    run_directory: Path,
    asked: Callable[..., str],
    name: str,
    change: Callable[[pa.Table], pa.Table],
) -> None:
    (run_directory / "streams").mkdir(exist_ok=True)
    file = run_directory / "tables" / f"{name}.parquet"
    pq.write_table(change(pq.read_table(file)), file)
    for reader in READERS:
        asked(reader, run_directory)


@pytest.mark.parametrize("column", ["duration", "start", "op", "process", "file"])
def test_calls_that_no_engine_writes(
    run_directory: Path, asked: Callable[..., str], column: str
) -> None:
    """What is missing in each row, or is of nothing, is said when a reader fails of it."""
    (file,) = (run_directory / "tables" / "calls").glob("*.parquet")
    rows = pq.read_table(file)
    kind = rows.schema.field(column).type
    values = [77] * rows.num_rows if column == "file" else [None] * rows.num_rows
    changed = rows.set_column(rows.column_names.index(column), column, pa.array(values, kind))
    pq.write_table(changed, file)
    for reader in (("show",), ("view", "--prepare"), ("report", "-o", "{run}.html")):
        said = asked(reader, run_directory)
        assert not said or column in said


@pytest.mark.parametrize("name", ["calls", "objects"])
def test_a_table_that_is_damaged_while_it_is_open(
    run_directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_small", lambda *_: frozenset())  # which are held in memory
    run = open_run(run_directory)
    assert run.sql("select 1 as n").num_rows == 1
    tables = run_directory / "tables"
    for file in [tables / f"{name}.parquet", *(tables / name).glob("*.parquet")]:
        if file.is_file():
            file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DamagedRun, match="get the run again"):
        run.sql(f"select * from {name}")


def test_a_file_that_is_not_there(run_directory: Path, asked: Callable[..., str]) -> None:
    """Readers go without its name; of one that cannot, this is why."""
    assert strange(run_directory) is None
    (file,) = (run_directory / "tables" / "calls").glob("*.parquet")
    rows = pq.read_table(file)
    at = rows.column_names.index("file")
    far = pa.array([4_000_000_000] * rows.num_rows, pa.uint32())
    pq.write_table(rows.set_column(at, "file", far), file)
    for reader in (*READERS, ("view", "--prepare"), ("report", "-o", "{run}.html")):
        asked(reader, run_directory)
    assert "file 4000000000 is none of table files" in str(strange(run_directory))


@pytest.fixture
def archive(run_directory: Path) -> Path:
    """The run in one file, compressed as `zip -r` does it."""
    onefile.write(run_directory, run_directory.parent / "stored.zip")
    packed = run_directory.parent / "small.zip"
    with (
        zipfile.ZipFile(run_directory.parent / "stored.zip") as stored,
        zipfile.ZipFile(packed, "w") as to,
    ):
        for one in stored.infolist():
            to.writestr(one.filename, stored.read(one), zipfile.ZIP_DEFLATED)
    return packed


def test_a_damaged_run_in_one_file(archive: Path, asked: Callable[..., str]) -> None:
    good, dice = archive.read_bytes(), random.Random(7)
    for _ in range(150):
        content = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            content[dice.randrange(len(content))] = dice.randrange(256)
        archive.write_bytes(content)
        line = asked(("query", "--sql", "select count(*) from calls"), archive)
        assert scratch.PREFIX not in line


def test_an_encrypted_one_is_refused(archive: Path, asked: Callable[..., str]) -> None:
    content = bytearray(archive.read_bytes())
    at = -1
    while (at := content.find(b"PK\x01\x02", at + 1)) >= 0:
        content[at + 8] |= 1
    archive.write_bytes(content)
    assert "encrypted" in asked(("show",), archive)


def test_what_unpacks_to_a_disk_full_is_left_alone(
    archive: Path, asked: Callable[..., str]
) -> None:
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as to:
        to.writestr("small.fathom/zeros", bytes(200 << 20))
    assert asked(("show",), archive) == ""  # no part of a run
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as to:
        to.writestr("small.fathom/tables/zeros.parquet", bytes(200 << 20))
    assert "it is left alone" in asked(("show",), archive)


def test_one_without_a_table_is_no_whole_run(archive: Path, asked: Callable[..., str]) -> None:
    with (
        zipfile.ZipFile(archive) as whole,
        zipfile.ZipFile(archive.with_name("part.zip"), "w") as to,
    ):
        for one in whole.infolist():
            if not one.filename.endswith("counters.parquet"):
                to.writestr(one, whole.read(one))
    assert "part.zip: small.fathom: no table counters" in asked(
        ("show",), archive.with_name("part.zip")
    )


def test_what_spills_is_ones_own(
    run_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch._of_process.cache_clear()
    before = os.umask(0)
    try:
        run = open_run(run_directory, memory="40 MiB")
        run.sql(
            "select max(s) from (select a.range::text || repeat('x', 40) as s from range(3000000) a order by s)"
        )
        modes = [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.glob(f"{scratch.PREFIX}*")]
    finally:
        os.umask(before)
        scratch._of_process.cache_clear()
    assert modes == [0o700]


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    script = (
        "from fathom.run.scratch import Scratch; s = Scratch(); print(s.path, flush=True); input()"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=-1, stdout=-1, text=True, env=environment
        )
        for _ in range(2)
    ]
    killed, lives = (Path(one.stdout.readline().strip()) for one in started if one.stdout)
    started[0].send_signal(signal.SIGKILL)
    started[0].wait()
    assert killed.is_dir()
    script = "from fathom.run.scratch import Scratch; Scratch()"
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    assert not killed.exists() and lives.is_dir()
    started[1].communicate("\n", timeout=100)
    assert not lives.exists()


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "words", [["show"], ["show", "--json"], ["landscape"], ["query", "--sql", "from runs"]]
)
@pytest.mark.parametrize("to", ["full", "closed"])
def test_an_output_that_takes_nothing(shared_run: Path, words: list[str], to: str) -> None:
    command = [sys.executable, "-m", "fathom", words[0], str(shared_run), *words[1:]]
    redirected = {"full": ">/dev/full", "closed": ">&-"}[to]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {redirected}', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr and "fathom: standard output: " in done.stderr


def test_tables_of_another_run_are_refused(run_directory: Path, asked: Callable[..., str]) -> None:
    file = run_directory / "tables" / "streams.parquet"
    node = run_directory / "streams" / "n1"
    node.mkdir(parents=True)
    rows = table("streams", [{"stream": 0, "path": "streams/elsewhere/1.1.fts"}])
    pq.write_table(rows, file)
    assert asked(("show",), run_directory) == ""  # its streams were deleted
    (node / "2.2.fts").write_bytes(b"")
    assert "its tables are of another run" in asked(("show",), run_directory)


def test_a_picture_that_finds_no_room_is_not_left(
    run_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object, **__: object) -> int:
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    place = tmp_path / "pictures"
    place.mkdir()
    monkeypatch.setattr(Path, "write_text", full)
    assert main(["show", str(run_directory), "--svg", str(place / "page.svg")]) == 2
    assert list(place.iterdir()) == []
