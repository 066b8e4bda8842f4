"""Programs that everybody uses, as they are: nothing is wrong with their I/O, and no finding says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import fathom
import pytest
from fathom.analysis import findings
from fathom.analysis.sentence import sentence
from harness import layouts, needs, paths

#: Of a run's time.
LITTLE = 0.02
#: What else runs beside a test is none of the program's doing.
OF_THE_MACHINE = {"busy-processors"}
PYTHON = {
    "imports": "import asyncio, json, sqlite3, xml.dom.minidom",
    "sqlite": """
import sqlite3
base = sqlite3.connect("base")
base.execute("create table t (n)")
base.executemany("insert into t values (?)", ((n,) for n in range(100000)))
base.commit()
print(base.execute("select sum(n) from t").fetchone())""",
    "csv": """
import csv
with open("table.csv", "w") as file:
    csv.writer(file).writerows([n] * 10 for n in range(50000))
print(sum(1 for _ in csv.reader(open("table.csv"))))""",
    "json": """
import json
json.dump(list(range(300000)), open("list.json", "w"))
print(len(json.load(open("list.json"))))""",
    "pickle": """
import pickle
pickle.dump([bytes(1000) for _ in range(20000)], open("list.pickle", "wb"))
print(len(pickle.load(open("list.pickle", "rb"))))""",
    "numpy": """
import numpy
numpy.save("x.npy", numpy.zeros(5_000_000))
print(numpy.load("x.npy").sum())""",
    "h5py": """
import h5py, numpy
with h5py.File("x.h5", "w") as file:
    file["whole"] = numpy.zeros((1000, 5000))
    file.create_dataset("chunks", data=numpy.zeros((1000, 1000)), chunks=(100, 1000))
print(h5py.File("x.h5")["whole"][:].sum())""",
    "netcdf": """
import netCDF4, numpy
with netCDF4.Dataset("x.nc", "w") as file:
    file.createDimension("t", None)
    file.createDimension("x", 100000)
    variable = file.createVariable("v", "f8", ("t", "x"))
    for step in range(50):
        variable[step] = numpy.zeros(100000)""",
    "parquet": """
import pyarrow, pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table({"n": range(300000)}), "x.parquet")
print(pyarrow.parquet.read_table("x.parquet").num_rows)""",
}
SHELL = {
    "tar": "tar cf tree.tar tree",
    "untar": "tar xf made.tar -C new",
    "tar-gz": "tar czf tree.tgz tree",
    "gzip": "gzip -k made.tar",
    "git-clone": "git clone -q tree new/clone",
    "git-log": "git -C tree log --stat",
    "git-status": "git -C tree status",
    "find": "find tree -name *.py",
    "grep": "grep -rc import tree",
    "copy": "cp -r twin new",
    "remove": "rm -r twin",
    "md5sum": "md5sum made.tar",
    "sort": "sort -o sorted made.tar",
    "dd": "dd if=/dev/zero of=zeros bs=1M count=100 status=none",
    "diff": "diff -r -x .git tree twin",
    "du": "du -s tree",
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree under git, as it is published: nothing compiled, objects packed; a copy and an archive of it."""
    place = tmp_path_factory.mktemp("ready")
    sources = paths.ROOT / "python" / "fathom"
    shutil.copytree(sources, place / "tree", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["tar", "cf", "made.tar", "tree"], cwd=place, check=True)
    shutil.copytree(place / "tree", place / "twin")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in ["init", "-q", "."], ["add", "-A"], ["commit", "-qm", "all"], ["gc", "-q"]:
        subprocess.run([*git, *words], cwd=place / "tree", check=True)
    (place / "new").mkdir()
    return place


def wrong(run: Path) -> dict[str, str]:
    """By rule, findings that claim more than a little, with their seconds."""
    opened = fathom.open(run)
    seconds = opened.sql("select duration / 1e9 as s from runs")["s"][0].as_py()
    concluded = findings.find(opened, findings.catalog())
    assert not concluded.broken, concluded.broken
    return {
        one.rule.name: f"{one.lost} of {seconds} s: {sentence(one.rule.says, one.values)}"
        for one in concluded.conclusions
        if one.rule.name not in OF_THE_MACHINE and (one.lost is None or one.lost > LITTLE * seconds)
    }


def recorded(command: list[str], ready: Path, place: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What is wrong with a run of it, on the disk that it was on, and had it been on a network's file system."""
    run, work = place / "run.fathom", place / "work"
    shutil.copytree(ready, work, symlinks=True)
    words = [str(paths.FATHOM), "run", "--no-show", "-o", str(run), "--", *command]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    here = wrong(run)
    layouts.mount(run, {str(work): "nfs4"})
    return here, wrong(run)


@pytest.mark.some(6)
@pytest.mark.parametrize("name", [*SHELL, *PYTHON])
def test_nothing_is_wrong_with(name: str, ready: Path, tmp_path: Path) -> None:
    """A machine whose processors others take makes calls slow: what it did is not there a second time."""
    command = SHELL[name].split() if name in SHELL else [sys.executable, "-c", PYTHON[name]]
    needs.require([command[0]])
    first = recorded(command, ready, tmp_path / "first")
    if any(first):
        second = recorded(command, ready, tmp_path / "second")
        assert not any(
            one.keys() & other.keys() for one, other in zip(first, second, strict=True)
        ), (first, second)
