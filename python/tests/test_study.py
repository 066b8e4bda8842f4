"""`fathom study`: the runs that a plan makes, and real programs recorded by it, one after the other and at once."""

import json
import sys
from pathlib import Path

import pytest
from fathom.errors import UsageError
from fathom.tune.sweep.plan import read
from test_commands import fathom, refused

WRITE = """
import os, sys
count, folders = int(sys.argv[1]), sys.argv[2:]
for folder in folders:
    with open(os.path.join(folder, 'f'), 'wb', buffering=0) as file:
        for _ in range(count):
            file.write(b'x' * 4096)
print('wrote', count)
"""
PLAN = f"""
repeat = 2
servers = ["s0", "s1"]
[vary]
count = [3, 5]
servers = [1, 2]
[programs]
write = "{sys.executable} w.py {{count}} {{servers}}"
other = ["{sys.executable}", "w.py", "2", "."]
[mixes]
write = ["write"]
both = ["write", "other"]
"""


def plan(folder: Path, text: str = PLAN) -> Path:
    (folder / "w.py").write_text(WRITE)
    path = folder / "small.toml"
    path.write_text(text)
    return path


def test_points_are_the_combinations_that_programs_name(tmp_path: Path) -> None:
    study = read(plan(tmp_path))
    points = list(study.points())
    assert len(points) == 2 * (4 + 4)
    assert [p.repetition for p in points] == [0] * 8 + [1] * 8
    runs = [program.run for point in points for program in point.programs]
    assert len(runs) == len(set(runs)) == 24
    first = points[0].programs[0]
    assert first.run == "write.count-3.servers-1.1"
    assert first.words == (sys.executable, "w.py", "3", str(tmp_path / "s0"))
    assert points[1].programs[0].words[3:] == (str(tmp_path / "s0"), str(tmp_path / "s1"))
    alone = read(plan(tmp_path, '[vary]\nn = [1, 2]\n[programs]\na = "true {n}"\nb = "true"\n'))
    assert [p.programs[0].run for p in alone.points()] == ["a.n-1.1", "a.n-2.1", "b.1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "no key 'x'"), ("repeat = 0\n", "from 1"),
        ("[vary]\nn = []\n[programs]\na = 'true'\n", "vary.n"),
        ("[programs]\na = 'true {n}'\n", "{n} is not in"), ("[programs]\na = \"'x\"\n", "programs.a"),
        ("", "no program"),
        ("[programs]\na = 'true'\n[mixes]\nm = ['b']\n", "no program 'b'"), ("[programs\n", "small.toml: "),
        ("servers = ['s']\n[vary]\nservers = [2]\n[programs]\na = 'true {servers}'\n", "how many of the 1"),
        ("[programs]\na = 'true'\n[record]\nx = 1\n", "record"), ("[programs]\n\"../a\" = 'true'\n", "'../a'"),
    ],
)  # fmt: skip
def test_a_wrong_plan_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"small\.toml") as error:
        read(plan(tmp_path, text))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_study_runs_resumes_and_ends_in_a_landscape(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = (
        PLAN.replace("repeat = 2", "repeat = 1").replace("[3, 5]", "[3]").replace("[1, 2]", "[2]")
    )
    path = plan(tmp_path, text)
    _, listed, _ = fathom(capfd, "study", path, "--list")
    assert [line.split("\t")[0] for line in listed.splitlines()] == [
        "write.count-3.servers-2.1", "both.write.count-3.servers-2.1", "both.other.count-3.servers-2.1",
    ]  # fmt: skip
    assert not (tmp_path / "small.study").exists()
    status, out, err = fathom(capfd, "study", path, "--json")
    assert status == 0, err
    content = json.loads(out)
    assert [one["status"] for one in content["points"]] == [0, 0, 0]
    assert content["points"][0]["values"] == {"count": 3, "servers": 2}
    written = {row["run"]: row["bytes_written"] for row in content["runs"]}
    assert written["write.count-3.servers-2.1"] >= 2 * 3 * 4096
    assert (
        (tmp_path / "small.study" / "write.count-3.servers-2.1.out")
        .read_text()
        .startswith("wrote 3")
    )
    before = (tmp_path / "small.study" / "study.json").read_bytes()
    status, out, err = fathom(capfd, "study", path)
    assert status == 0 and "1 of 2" not in err
    assert "both.other.count-3.servers-2.1" in out and "--interference" in err
    assert (tmp_path / "small.study" / "study.json").read_bytes() == before
    path.write_text(text.replace('"w.py", "2"', '"w.py", "4"'))
    assert "another command line" in refused(capfd, 2, "study", path)


def test_failed_and_interrupted_runs_are_said_and_kept(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "small.study"
    (folder / "late.1.fathom").mkdir(parents=True)
    path = plan(
        tmp_path, "timeout = 2\n[programs]\nbad = 'false'\nlate = 'sleep 60'\ngood = 'true'\n"
    )
    status, out, err = fathom(capfd, "study", path, "--json")
    assert status == 3
    statuses = {one["run"]: one["status"] for one in json.loads(out)["points"]}
    assert statuses == {"bad.1": 1, "late.1": "timed out", "good.1": 0}
    assert "failed: bad.1: exit status 1" in err and "failed: late.1: timed out" in err
    assert (folder / "late.1.try-1.fathom").is_dir()
    assert (folder / "bad.1.fathom").is_dir()
    path.write_text(path.read_text().replace("timeout = 2\n", ""))
    status, _, err = fathom(capfd, "study", path, "--json")
    assert status == 3 and "1 of 3" not in err
