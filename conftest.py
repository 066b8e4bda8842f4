"""The same surroundings for every test, whoever starts it and where: what a test wants otherwise it says itself
(tests/test_surroundings.py has the product in odd ones)."""

import os

import pytest

#: Beginnings of variables that change what programs do, Fathom, MPI and libraries of mathematics among them.
HEARD = (
    "FATHOM_", "GOMP_", "HDF5_", "HYDRA_", "I_MPI_", "LC_", "MKL_", "MPICH_", "MPIR_", "NETCDF_", "OMPI_", "OMP_",
    "OPENBLAS_", "PMIX_", "PMI_", "PNETCDF_", "PRTE_", "ROMIO_", "SLURM_", "UCX_",
)  # fmt: skip
ALSO = (
    "COLUMNS",
    "LANG",
    "LANGUAGE",
    "LD_PRELOAD",
    "LINES",
    "NO_COLOR",
    "PAGER",
    "PYTHONDONTWRITEBYTECODE",  # each command would compile all of Fathom
    "PYTHONWARNINGS",
    "TZ",
)
#: What `make` tells the tests.
ASKED = ("FATHOM_BUILD", "FATHOM_FORESTS", "FATHOM_FUZZ", "FATHOM_TEST_KILLS")
#: Where daemons lie, which not every user's PATH has.
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def settle() -> None:
    """Before a test is even read: some ask for tools when they are."""
    for name in list(os.environ):
        if name not in ASKED and (name.startswith(HEARD) or name in ALSO):
            del os.environ[name]
    os.environ |= {"LC_ALL": "C.UTF-8", "TERM": "dumb"}
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", "/usr/bin:/bin"), *SBIN])
    os.umask(0o022)


settle()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that @pytest.mark.some leaves out of `make test` are long ones."""
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("full"):
            parent = item.parent.nodeid if item.parent else ""
            cases.setdefault((parent, getattr(item, "originalname", "")), []).append(item)
    for of_one in cases.values():
        (wanted,) = of_one[0].get_closest_marker("some").args
        kept = {number * len(of_one) // wanted for number in range(wanted)}
        for number, item in enumerate(of_one):
            if number not in kept:
                item.add_marker("full")
