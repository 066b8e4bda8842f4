"""Names of functions in advice: each is of a rule, and where Python's libraries are installed they have it."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest
from fathom.analysis import findings
from fathom.catalog.languages import names, spoken
from fathom.catalog.layers import catalog_data

ROWS = catalog_data("languages.toml")["name"]
#: Module, and what of it has the names.
CLASSES = (
    ("h5py", "File"),
    ("h5py", "Group"),
    ("h5py", "Dataset"),
    ("h5py._hl.dataset", "make_new_dset"),  # what create_dataset passes its keywords to
    ("netCDF4", "Dataset"),
    ("netCDF4", "Variable"),
    ("mpi4py.MPI", "File"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["c"])
def test_a_rule_says_it(row: dict[str, str]) -> None:
    assert any(row["c"] in path.read_text("utf-8") for path in findings.catalog())
    assert row.keys() <= {"c", "python", "fortran"} and len(row) > 1


@pytest.mark.parametrize("language", ["python", "fortran", "c"])
def test_longer_names_go_first(language: str) -> None:
    assert all(spoken(name, language) == said for name, said in names(language).items())
    assert spoken("H5Pset_chunks", language) == "H5Pset_chunks"


def _has(thing: Any, name: str) -> bool:
    """A member, or a parameter of one."""
    members = [thing, *(getattr(thing, part) for part in dir(thing) if not part.startswith("__"))]
    parameters = []
    for member in filter(callable, members):
        try:
            parameters += inspect.signature(member).parameters
        except (TypeError, ValueError):
            continue
    return hasattr(thing, name) or name in parameters


@pytest.mark.parametrize("said", sorted(names("python").values()))
def test_python_s_libraries_have_it(said: str) -> None:
    words = re.findall(r"(?:\.|\b)(\w+)(?==|\()", said) or re.findall(r"\.(\w+)$", said)
    things = []
    for module, name in CLASSES:
        try:
            things.append(getattr(importlib.import_module(module), name))
        except ImportError:
            continue
    if not words or len(things) < len(CLASSES):
        pytest.skip("names no function, or h5py, netCDF4 and mpi4py are not all installed")
    if said == "with dset.collective" and not importlib.import_module("h5py").get_config().mpi:
        pytest.skip("h5py has it where it was built with MPI")
    for word in words:
        assert any(_has(thing, word) for thing in things), word
