"""Fathom itself: are its parts there, does the loader take the library, what is recorded by default?"""

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fathom.doctor.finding import Finding
from fathom.errors import FathomError, install
from fathom.run import cost, paths, programs
from fathom.text import numbers


def parts() -> Iterator[Finding]:
    """Are the native parts there?"""
    for name, find in (("command", paths.native_command), ("engine", paths.engine)):
        try:
            yield Finding(name, "ok", str(find()))
        except FathomError as error:
            yield Finding(
                name, "problem", str(error), "build Fathom (make build), or install it whole"
            )


def strace() -> Iterator[Finding]:
    """Is the tool there that records what no library can be brought into?"""
    if path := shutil.which("strace"):
        yield Finding("strace", "ok", f"{path}, for `fathom run --strace`")
    else:
        detail = "not installed: `fathom run --strace` (static programs, Go) cannot work"
        yield Finding("strace", "limit", detail, "install strace")


def kernel() -> Iterator[Finding]:
    """May the kernel be asked what it does?"""
    try:
        words = [str(paths.engine()), "kernel", "--parent", str(os.getpid())]
        done = subprocess.run(words, input="", capture_output=True, text=True, check=False)
    except FathomError:
        return
    if done.stdout == "loaded\n":
        yield Finding("kernel", "ok", "may be watched, for `fathom run --kernel`")
    else:
        detail = f"`fathom run --kernel` cannot work: {done.stdout.strip()}"
        yield Finding("kernel", "limit", detail, "docs/kernel.md says what it needs")


#: Optional Python packages: what each extra of pyproject.toml is for.
EXTRAS = {
    "dask": ("distributed", "`fathom query --cluster`"),
    "darshan": ("darshan", "`fathom import darshan`"),
    "hdf5": ("h5py", "`fathom generate --from FILE`, `fathom tune --verify h5diff`"),
    "otf2": ("otf2", "`fathom export --to otf2`"),
    "pandas": ("pandas", "`fathom.to_pandas`"),
    "plot": ("matplotlib", "`fathom query --plot`, figures in notebooks"),
    "polars": ("polars", "`fathom.to_polars`"),
    "tune": ("optuna", "`fathom tune --sampler tpe`"),
}


def extras() -> Iterator[Finding]:
    """Are the optional Python packages there?"""
    missing = [extra for extra, (name, _) in EXTRAS.items() if not importlib.util.find_spec(name)]
    if not missing:
        names = ", ".join(name for name, _ in EXTRAS.values())
        yield Finding("Python packages", "ok", f"all optional ones: {names}")
        return
    without = ", ".join(f"{EXTRAS[extra][0]} ({EXTRAS[extra][1]})" for extra in missing)
    do = install(*missing)
    yield Finding("Python packages", "limit", f"not installed: {without}", do)


def library() -> Iterator[Finding]:
    """Does the loader take the library, and what does a call cost?"""
    try:
        path = paths.library()
    except FathomError as error:
        yield Finding("library", "problem", str(error), "unset FATHOM_LIB, or name libfathom.so")
        return
    if path is None:
        yield Finding(
            "library",
            "problem",
            "no libfathom.so beside the command",
            "build it, or set FATHOM_LIB",
        )
        return
    done = subprocess.run(
        ["/bin/true"], env={"LD_PRELOAD": str(path)}, capture_output=True, text=True, check=False
    )
    if done.returncode or done.stderr:
        errors = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        yield Finding(
            "library",
            "problem",
            f"the loader does not take it: {errors[0]}",
            "build Fathom on this machine",
        )
        return
    yield Finding("library", "ok", str(path))
    added = cost.per_call()
    if added is not None:
        yield Finding(
            "cost", "ok", f"recording adds {numbers.seconds(added)} to an empty call here"
        )


def layers() -> Iterator[Finding]:
    """Which layers are recorded when the user names none? The native command is asked: it decides."""
    try:
        command = paths.native_command()
        with tempfile.TemporaryDirectory(prefix="fathom-doctor.") as scratch:
            clean = {
                k: v
                for k, v in os.environ.items()
                if not k.startswith("FATHOM_") or k == "FATHOM_LIB"
            }
            words: list[str | Path] = [command, "env", "-o", f"{scratch}/x", "--shell", "json"]
            environment = clean | {"FATHOM_RING": f"{scratch}/ring"}
            done = programs.run(words, programs.ANSWER_SECONDS, environment=environment)
        layer_words = json.loads(done.stdout if done else "")["FATHOM_LAYERS"].split(",")
    except (FathomError, OSError, ValueError, KeyError):
        return  # `parts` and `library` have said why
    full = [name for name in layer_words if not name.endswith(":counted")]
    counted = [name.removesuffix(":counted") for name in layer_words if name.endswith(":counted")]
    line = f"by default {', '.join(full)}"
    line += f"; counted only: {', '.join(counted)}" if counted else ""
    yield Finding("layers", "ok", f"{line}; more by --layers +threads,+mpi")


def temporary() -> Iterator[Finding]:
    """DuckDB spills there when a question is larger than memory."""
    place = Path(os.environ.get("TMPDIR") or "/tmp")
    if not os.access(place, os.W_OK):
        yield Finding("temporary files", "limit", f"{place} is not writable", "set TMPDIR")


def forwarding() -> Iterator[Finding]:
    """Which of what forwarding may load is there?"""
    remarks = ["by Unix sockets and TCP"]
    for what, name in (("munge", "libmunge.so.2"), ("ofi", "libfabric.so.1")):
        try:
            ctypes.CDLL(name)
            remarks.append(f"{what}: {name} is there")
        except OSError:
            remarks.append(f"{what}: {name} is not installed")
    yield Finding("forwarding", "ok", "; ".join(remarks))


CHECKS = (parts, strace, kernel, extras, library, layers, temporary, forwarding)
