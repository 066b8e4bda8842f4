"""A program: can it be recorded, and which of its layers?"""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath

from fathom.catalog.layers import catalog_files, layers
from fathom.catalog.load import load
from fathom.catalog.model import CatalogError
from fathom.doctor.finding import Finding
from fathom.errors import FathomError, UsageError
from fathom.run import elf
from fathom.run.launchers import starts_others

MPIS = (
    ("MPICH", "libmpich"),
    ("MPICH", "libmpi.so.12"),
    ("Open MPI", "libmpi.so.40"),
    ("Open MPI", "libmpi.so.20"),
)
# As many functions of a layer a program may have by chance.
FEW = 3
GNU_LOADER = "ld-linux-"  # musl's and Android's have other names
SHOWN = 4  # functions named of a layer
LIBRARY = re.compile(r"^\s*(\S+)(?: => (.+?))?(?: \(0x[0-9a-f]+\))?$")


def libraries_of(path: Path) -> dict[str, Path | None]:
    """What the loader would load: soname, and where it is found, if it is."""
    done = subprocess.run(
        ["ldd", str(path)], capture_output=True, text=True, errors="replace", check=False
    )
    libraries: dict[str, Path | None] = {}
    for line in done.stdout.splitlines():
        words = LIBRARY.match(line)
        if words and words[2]:
            libraries[words[1]] = None if words[2] == "not found" else Path(words[2])
    return libraries


@cache
def _catalog() -> Mapping[str, tuple[str, str]]:
    """Symbol to layer and op."""
    read = load(catalog_files("probes"))
    return {
        symbol: (api.layer, call.op)
        for api, call in read.calls()
        if call.row and not (api.layer == "mpiio" and call.kind == "comm")
        for symbol in (*call.symbols(), *call.fortran)
    }


def _by_layer(symbols: frozenset[str]) -> dict[str, list[str]]:
    """Functions of the catalog among the symbols."""
    known = _catalog()
    functions: dict[str, set[str]] = {}
    for symbol in symbols & known.keys():
        layer, op = known[symbol]
        functions.setdefault(layer, set()).add(op)
    return {layer: sorted(functions[layer]) for layer in sorted(functions)}


def find(name: str) -> Path:
    """The executable file of this name."""
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"doctor: {name}: no such executable program")
    return Path(path)


def check(path: Path) -> Iterator[Finding]:
    """Everything about this program."""
    yield from _rights(path)
    try:
        image = elf.read(path)
    except OSError as error:
        yield Finding(
            "program",
            "limit",
            f"{path} cannot be read ({error.strerror}), so nothing is known of it",
            "ask for read access",
        )
        return
    if image is None:
        yield Finding(
            "program", "limit", f"{path} is neither an ELF file nor a script: a shell runs it"
        )
    elif image.script is not None:
        yield Finding(
            "program",
            "ok",
            f"{path}, a script of {image.script}: what counts is that, and what it starts",
        )
        interpreter = shutil.which(image.script)
        if interpreter:
            yield from _binary(elf.read(Path(interpreter)), Path(interpreter))
    else:
        yield from _binary(image, path)


def _rights(path: Path) -> Iterator[Finding]:
    """The loader ignores LD_PRELOAD where a program gets other rights than its caller's."""
    advice = "run a copy without them"
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        yield Finding(
            "set-user-id",
            "problem",
            f"{path} runs with other rights: no library can be brought in",
            advice,
        )
    elif "security.capability" in os.listxattr(path):
        yield Finding(
            "capabilities",
            "problem",
            f"{path} has capabilities: no library can be brought in",
            advice,
        )


def _static_program(path: Path) -> Finding:
    """Fathom may have been linked into it (runtime/linked/start.c leaves a note)."""
    if b"\x07\0\0\0\x04\0\0\0\x02\0\0\0Fathom\0" in path.read_bytes():
        return Finding("program", "ok", f"{path}, static, with Fathom inside")
    detail = f"{path} is static: no library can be brought in"
    advice = "link it with `fathom cc`, or without -static; as it is: fathom run --strace, slower"
    return Finding("program", "problem", detail, advice)


def _binary(image: elf.Program | None, path: Path) -> Iterator[Finding]:
    if image is None:
        return
    if image.loader is None:
        yield _static_program(path)
    elif image.bits != 64 or not PurePath(image.loader).name.startswith(GNU_LOADER):
        detail = f"{path} needs {image.loader}; libfathom.so is 64-bit for the GNU C library"
        advice = "build it for that; as it is: fathom run --strace, slower"
        yield Finding("program", "problem", detail, advice)
    else:
        yield _dynamic_program(image, path)
        loaded = libraries_of(path)
        yield from _missing(loaded)
        yield from _mpi(loaded)
        yield from _layers(image, loaded)
        yield from _static(image, loaded)
        yield from _lines(image)


def _dynamic_program(image: elf.Program, path: Path) -> Finding:
    """Is all that it does recorded?"""
    if starts_others(path.name):
        detail = f"{path} is a shell or launcher: its own calls are not recorded, those of programs that it starts are"
        return Finding("program", "limit", detail, "record a shell's own files with --strace")
    if image.has(".note.go.buildid"):
        detail = f"{path} is a Go program: what Go reads and writes by its own system calls is not recorded"
        return Finding("program", "limit", detail, "fathom run --strace, slower")
    return Finding("program", "ok", f"{path}, dynamic")


def _missing(loaded: Mapping[str, Path | None]) -> Iterator[Finding]:
    missing = [name for name, path in loaded.items() if path is None]
    if missing:
        detail = f"not found: {', '.join(missing)}; it does not start"
        yield Finding("libraries", "problem", detail, "load its modules, or set LD_LIBRARY_PATH")


def _mpi(loaded: Mapping[str, Path | None]) -> Iterator[Finding]:
    mpis = sorted({mpi for mpi, start in MPIS if any(name.startswith(start) for name in loaded)})
    if len(mpis) > 1:
        detail = f"two MPIs in one program: {' and '.join(mpis)}; it aborts in MPI_Init"
        yield Finding("MPI", "problem", detail, "link libraries that are built for one of them")
    elif mpis:
        yield Finding("MPI", "ok", mpis[0])


def _layers(image: elf.Program, loaded: Mapping[str, Path | None]) -> Iterator[Finding]:
    """What it calls itself, and what its libraries call beside."""
    try:
        imported = _by_layer(image.imports)
    except (FathomError, CatalogError):
        return  # an installation without catalogs: nothing to compare with
    for layer, ops in imported.items():
        shown = ", ".join(ops[:SHOWN]) + (
            f" and {len(ops) - SHOWN} more" if len(ops) > SHOWN else ""
        )
        yield Finding(f"layer {layer}", "ok", shown)
    if not imported:
        yield Finding(
            "layers", "limit", "it calls no function of the catalog itself; its libraries may"
        )
    common = {layer.name for layer in layers() if layer.common}
    for name, path in loaded.items():
        library = elf.read(path) if path and path.is_file() and not _is_mpis(name) else None
        called = _by_layer(library.imports) if library else {}
        beside = [layer for layer in called if layer not in common]
        if beside:
            yield Finding("by a library", "ok", f"{name} calls {', '.join(beside)}")


def _is_mpis(name: str) -> bool:
    """MPI's own libraries: what they call of each other is no event."""
    return name.startswith(("libmpi", "libopen-", "libmca_", "libfathom"))


def _static(image: elf.Program, loaded: Mapping[str, Path | None]) -> Iterator[Finding]:
    """A library that was linked in is called without a slot that could be pointed elsewhere."""
    inside = _by_layer(image.defines - image.imports)
    telling = {layer.name: layer.telling for layer in layers() if layer.telling}
    for layer, symbol in telling.items():
        stripped = not image.has(".symtab") and symbol not in image.imports and image.names(symbol)
        hidden = stripped and not _brought(layer, loaded)
        if symbol in image.defines or len(inside.get(layer, ())) > FEW or hidden:
            detail = "linked in statically: no call of it is seen, those below are"
            advice = "link its shared library" + (" (h5pcc -shlib)" if layer == "hdf5" else "")
            yield Finding(f"layer {layer}", "limit", detail, advice)


def _brought(layer: str, loaded: Mapping[str, Path | None]) -> bool:
    """Does a shared library of that layer come along? Then the name may be its."""
    return any(name.startswith(f"lib{layer.removesuffix('io')}") for name in loaded)


def _lines(image: elf.Program) -> Iterator[Finding]:
    """Can an address be told as a line of the program?"""
    if image.has(".debug_line"):
        yield Finding("source lines", "ok", "told: the program has DWARF")
    elif image.has(".symtab"):
        yield Finding(
            "source lines",
            "limit",
            "no DWARF: calls are told by function, not by line",
            "compile with -g",
        )
    else:
        yield Finding(
            "source lines",
            "limit",
            "stripped: calls are told by address"
            + (", its debug file is not read" if image.has(".gnu_debuglink") else ""),
            "compile with -g, and do not strip",
        )
