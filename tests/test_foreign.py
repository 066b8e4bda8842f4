"""A run directory that somebody else prepared: reading it costs the reader no file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fathom.errors import RunError
from fathom.run import manifest
from harness import needs, paths, tables
from harness.readers import ENGINE

WRITES = paths.PROGRAMS / "programs" / "writes"


def fathom(*words: object, cwd: Path | None = None, status: int = 0, **env: str) -> str:
    """What it says on stderr."""
    done = subprocess.run(
        [str(paths.FATHOM), *map(str, words)], cwd=cwd, env={**os.environ, **env},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr + done.stdout
    return done.stderr


def record(place: Path, name: str, *end: str) -> Path:
    run = place / f"{name}.fathom"
    command = (WRITES, place / f"{name}.data", 100, 8, *end)
    subprocess.run(
        [str(word) for word in (paths.FATHOM, "run", "--no-show", "-o", run, "--", *command)],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    return run


@pytest.mark.parametrize("name", ["json", "numpy"])
def test_python_of_the_directory_is_not_run(name: str, tmp_path: Path) -> None:
    """Whoever looks at a log in a folder that somebody sent runs none of its modules."""
    needs.require(["python:darshan"])
    import darshan

    log = min(Path(darshan.__file__).parent.rglob("*.darshan"), key=lambda log: log.stat().st_size)
    shutil.copy(log, tmp_path / "log")
    (tmp_path / f"{name}.py").write_text("open('run', 'x')\n")
    fathom("import", "darshan", "log", "-o", "x", cwd=tmp_path)
    assert not (tmp_path / "run").exists()


def change(run: Path, **configuration: object) -> None:
    content = json.loads((run / "run.json").read_text())
    content["configuration"] |= configuration
    (run / "run.json").write_text(json.dumps(content))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder with files that bear the names of Fathom's own."""
    folder = tmp_path / "precious"
    folder.mkdir()
    for name in ("control", "select.sql", "selection.1", "selected-results.csv", "tuned.1"):
        (folder / name).write_text("precious")
    return folder


@pytest.mark.parametrize("way", ["folder", "link", "empty"])
def test_a_folder_that_run_json_names_is_left_alone(
    tmp_path: Path, precious: Path, way: str
) -> None:
    run = record(tmp_path, "sent", "exit")
    if way == "link":
        (tmp_path / "link").symlink_to(precious)
    if way == "empty":
        for path in precious.iterdir():
            path.unlink()
    before = contents(precious)
    change(run, ring=str(tmp_path / "link" if way == "link" else precious))
    assert "left alone" in fathom("show", run, "--all")
    fathom("select", run, "--level", "off", status=3)
    fathom("pack", "--force", run)
    assert contents(precious) == before


def test_rings_of_another_run_are_not_taken(tmp_path: Path) -> None:
    """Those of a killed process are its calls' only place."""
    rings = tmp_path / "rings"
    killed = tmp_path / "killed.fathom"
    command = (WRITES, tmp_path / "data", 1000, 8, "kill")
    fathom("run", "--no-show", "-o", killed, "--", *command, status=-9, FATHOM_RING=str(rings))
    assert list(rings.glob("*.ring"))
    sent = record(tmp_path, "sent", "exit")
    change(sent, ring=str(rings))
    assert f"they are of {killed}" in fathom("show", sent, "--all")
    question = "select count(*) from calls where op = 'pwrite'"
    assert tables.ask(tables.connect(sent), question) == [[100]]
    assert tables.ask(tables.connect(killed), question) == [[1000]]
    assert not rings.exists()


def test_a_killed_run_that_was_moved_has_its_calls(tmp_path: Path) -> None:
    run = record(tmp_path, "killed", "kill")
    moved = run.rename(tmp_path / "moved.fathom")
    question = "select count(*) from calls where op = 'pwrite'"
    assert tables.ask(tables.connect(moved), question) == [[100]]
    ring = Path(json.loads((moved / "run.json").read_text())["configuration"]["ring"])
    fathom("show", moved)
    assert not ring.exists()


def test_recovering_leaves_nothing_in_memory(tmp_path: Path) -> None:
    """Nodes other than the reader's are given back after it."""
    run = record(tmp_path, "killed", "kill")
    place = Path(json.loads((run / "run.json").read_text())["configuration"]["ring"])
    assert list(place.glob("*.ring"))
    fathom("pack", "--recover", run)
    assert not place.exists()
    assert list(run.glob("streams/*/*.fts"))


#: Names under which files of a run directory are made, once its streams' folder is known.
CREATED = [".pack.lock", "tables.old", "{node}/agent.log"]


@pytest.mark.parametrize("name", CREATED)
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    run = record(tmp_path, "sent", "exit")
    (node,) = (run / "streams").iterdir()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    link = run / name.format(node=node.relative_to(run))
    link.symlink_to(precious)
    words = [str(paths.FATHOM), "pack", "--force", str(run)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    lines = done.stderr.strip().splitlines()
    if name == ".pack.lock":
        assert done.returncode == 3 and len(lines) == 1 and "no regular file" in lines[0]
    else:
        assert done.returncode == 0, done.stderr
    assert precious.read_text() == "precious"


def test_what_was_changed_is_not_written_through_a_link(tmp_path: Path) -> None:
    run = record(tmp_path, "sent", "exit")
    (run / "selections.jsonl").symlink_to(tmp_path / "made")
    with pytest.raises(RunError, match=r"selections\.jsonl"):
        manifest.keep_change(run, "selections.jsonl", 1, selection="[job]")
    precious = tmp_path / "precious"
    precious.write_bytes((run / "run.json").read_bytes())
    (run / "run.json").unlink()
    (run / "run.json").symlink_to(precious)
    before = precious.read_bytes()
    with pytest.raises(RunError, match="is a link"):
        manifest.add(run, {"end_ns": 1})
    assert precious.read_bytes() == before


def test_a_dangling_link_makes_no_file(tmp_path: Path) -> None:
    run = record(tmp_path, "killed", "kill")
    (node,) = (run / "streams").iterdir()
    for name in ("mounts", "node"):
        (node / name).unlink()
        (node / name).symlink_to(tmp_path / f"made-{name}")
    fathom("pack", run)
    assert not list(tmp_path.glob("made-*"))
    assert tables.ask(tables.connect(run), "select count(*) from calls where op = 'pwrite'") == [
        [100]
    ]


ODD = {
    "copy.fts": "is not named PID.INSTANCE.fts",
    "1.1.fts": "is no regular file",
    "2.2.fts": "is a link, which is not followed",
    "3.3.fts": "is a link, which is not followed",
}


def test_what_is_no_stream_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    run = record(tmp_path, "some")
    (node,) = (path for path in (run / "streams").iterdir() if path.is_dir())
    (stream,) = node.glob("*.fts")
    (node / "copy.fts").write_bytes(stream.read_bytes())
    (node / "1.1.fts").mkdir()
    (node / "2.2.fts").symlink_to("nowhere")
    (node / "3.3.fts").symlink_to(stream.name)
    host = node.name[37:]  # behind the id of its boot
    con = tables.connect(run)
    said = tables.ask(con, "select detail from marks where kind = 'missing stream' order by 1")
    assert said == [[f"{name} of {host} {ODD[name]}"] for name in sorted(ODD)]
    assert tables.ask(con, "select count(*) from calls where kind = 'write'") == [[100]]
    shown = subprocess.run(
        [str(paths.FATHOM), "show", str(run)], capture_output=True, text=True, check=True
    )
    assert "missing stream: 1.1.fts" in shown.stdout and "3 more" in shown.stdout, shown.stdout


def test_pipes_make_no_engine_wait(tmp_path: Path) -> None:
    """And devices do not fill its memory."""
    run = record(tmp_path, "some", "exit")
    (node,) = (path for path in (run / "streams").iterdir() if path.is_dir())
    names = ("node", "mounts", "agent.log", "attached.json", "9.9.fts")
    for name in names:
        (node / name).unlink(missing_ok=True)
        os.mkfifo(node / name)
    (node / "8.8.fts").symlink_to("/dev/zero")
    said = packed_by_engine(run, status=0)
    for name in names:
        assert f"{name} of " in said and "is no regular file" in said


def packed_by_engine(run: Path, status: int) -> str:
    """What it says."""
    words = [str(ENGINE), "pack", str(run)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", ["run.json", "tables/packed", "sink/0.blocks"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_file_of_a_run_is_a_regular_one(tmp_path: Path, name: str, kind: str) -> None:
    run = record(tmp_path, "some", "exit")
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to("/dev/zero")
    assert "is no regular file" in packed_by_engine(run, status=3)


@pytest.mark.parametrize("name", ["notes", "run.json"])
def test_a_part_with_a_link_is_not_joined(tmp_path: Path, name: str) -> None:
    """Else the joined run, which may be given away, has a file of the one who joins."""
    into, part = record(tmp_path, "whole"), record(tmp_path, "part")
    for run in into, part:
        content = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(content | {"job": "7"}))
    (node,) = (path for path in (part / "streams").iterdir() if path.is_dir())
    secret = tmp_path / "secret"
    secret.write_text(json.dumps({"job": "7", "secret": 1}))
    link = node / "notes" if name == "notes" else part / "run.json"
    link.unlink(missing_ok=True)
    link.symlink_to(secret)
    assert name in fathom("pack", into, part, status=3)
    assert not [one for one in into.rglob("*.json") if "secret" in one.read_text()]
    assert not list(into.rglob("notes"))
