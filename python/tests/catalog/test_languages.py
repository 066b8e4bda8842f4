"""Names of functions in advice: each is of a rule, and where Python's libraries are installed they have it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from fathom.analysis import findings
from fathom.catalog.languages import names, spoken
from fathom.catalog.layers import catalog_data

ROWS = catalog_data("languages.toml")["name"]
#: Prints the names that no library has, in a process of its own: MPI, once it is loaded, changes the environment.
ASK = """
import importlib, inspect, json, sys
import mpi4py
mpi4py.rc.initialize = False
CLASSES = (
    ("h5py", "File"), ("h5py", "Group"), ("h5py", "Dataset"),
    ("h5py._hl.dataset", "make_new_dset"),  # what create_dataset passes its keywords to
    ("netCDF4", "Dataset"), ("netCDF4", "Variable"), ("mpi4py.MPI", "File"),
)
things = [getattr(importlib.import_module(module), name) for module, name in CLASSES]
names = set()
for thing in things:
    names.update(dir(thing))
    for member in (thing, *(getattr(thing, part) for part in dir(thing) if not part.startswith("__"))):
        try:
            names.update(inspect.signature(member).parameters)
        except (TypeError, ValueError):
            continue
if not importlib.import_module("h5py").get_config().mpi:
    names.add("collective")  # h5py has it where it was built with MPI
print(json.dumps([name for name in sys.argv[1:] if name not in names]))
"""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["c"])
def test_a_rule_says_it(row: dict[str, str]) -> None:
    assert any(row["c"] in path.read_text("utf-8") for path in findings.catalog())
    assert row.keys() <= {"c", "cpp", "python", "fortran", "needs"} and len(row) > 1


@pytest.mark.parametrize("language", ["python", "fortran", "c"])
def test_longer_names_go_first(language: str) -> None:
    assert all(spoken(name, language) == said for name, said in names(language).items())
    assert spoken("H5Pset_chunks", language) == "H5Pset_chunks"


def test_python_s_libraries_have_it() -> None:
    lacking = [name for name in ("h5py", "netCDF4", "mpi4py") if find_spec(name) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    named = [
        word
        for said in names("python").values()
        for word in re.findall(r"(?:\.|\b)(\w+)(?==|\()", said) or re.findall(r"\.(\w+)$", said)
    ]
    asked = subprocess.run(
        [sys.executable, "-c", ASK, *named], capture_output=True, text=True, check=True
    )
    assert len(named) > 10 and json.loads(asked.stdout) == []
