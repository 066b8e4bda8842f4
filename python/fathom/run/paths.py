"""Where the parts made in other languages lie: engine, native command, library, catalogs."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from fathom.errors import FathomError

PACKAGE = Path(__file__).resolve().parents[1]
SOURCE_TREE = PACKAGE.parents[1]


def _first(candidates: list[Path]) -> Path | None:
    return next((path for path in candidates if path.is_file()), None)


def _holding(file: str, folders: Iterable[Path], lack: str) -> Path:
    """The first of the folders that has the file; `lack` says what is missing where none has."""
    for folder in folders:
        if (folder / file).is_file():
            return folder
    raise FathomError(f"{lack} from this installation of Fathom")


def _named(variable: str) -> Path | None:
    """The file that an environment variable names; naming what is not there is an error."""
    name = os.environ.get(variable)
    if not name:
        return None
    path = Path(name)
    if not path.is_file():
        raise FathomError(f"{variable} names {name}, which is no file")
    return path


def _beside_us(name: str) -> list[Path]:
    directories = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    command = os.environ.get("FATHOM_COMMAND")  # set by the native command that started us
    if command:
        directories.insert(0, Path(command).parent)
    installed = shutil.which(name)
    return [directory / name for directory in directories] + (
        [Path(installed)] if installed else []
    )


def module(name: str) -> list[str]:
    """The command of a module of ours by this Python. None of the directory we stand in: a stranger's may have a
    json.py."""
    return [sys.executable, "-P", "-m", name]


def engine() -> Path:
    """fathom-engine: $FATHOM_ENGINE, else the source tree's, else beside the command."""
    built = SOURCE_TREE / "engine" / "target" / "release" / "fathom-engine"
    path = _named("FATHOM_ENGINE") or _first([built, *_beside_us("fathom-engine")])
    if path is None:
        raise FathomError("no fathom-engine beside this command; build it, or set FATHOM_ENGINE")
    return path


def native_command() -> Path:
    """The native `fathom`: the one that started us, else the source tree's, else beside Python."""
    command = os.environ.get("FATHOM_COMMAND")
    candidates = [Path(command)] if command else []
    path = _first([*candidates, SOURCE_TREE / "build" / "fathom", *_beside_us("fathom")])
    if path is None:
        raise FathomError("no native fathom command beside this Python; build it (make build)")
    return path


def library() -> Path | None:
    """libfathom.so as the native command would find it, or None."""
    beside = native_command().resolve().parent
    return _named("FATHOM_LIB") or _first(
        [beside / "libfathom.so", beside.parent / "lib" / "fathom" / "libfathom.so"]
    )


def linked() -> Path:
    """The folder of libfathom-static.a and what goes with it: beside libfathom.so."""
    path = (library() or native_command()).resolve().parent
    if not (path / "libfathom-static.a").is_file():
        raise FathomError(f"{path}/libfathom-static.a is missing: build or install it")
    return path


def preload() -> Path:
    """libfathom_fwd_preload.so, which brings a program's files to forwarding servers: beside libfathom.so."""
    path = (library() or native_command()).resolve().parent / "libfathom_fwd_preload.so"
    if not path.is_file():
        raise FathomError(f"{path} is missing: build or install forwarding")
    return path


def mounter() -> Path:
    """fathom-forward-fuse, which makes a forwarding server's files a file system: beside libfathom.so."""
    path = (library() or native_command()).resolve().parent / "fathom-forward-fuse"
    if not path.is_file():
        raise FathomError(f"{path} is missing: it is built where libfuse is (libfuse3-dev)")
    return path


def include() -> Path:
    """The folder of fathom.h and fathom.f90: inside the package when installed, else the source tree's."""
    folders = (PACKAGE / "include", SOURCE_TREE / "runtime" / "user")
    return _holding("fathom.h", folders, "fathom.h is missing")


def runtime() -> Path:
    """The folder of the C files that a library of the user's own probes is built with."""
    folders = (PACKAGE / "runtime", SOURCE_TREE / "runtime")
    return _holding("user/probe_glue.c", folders, "the parts for --probes are missing")


def demo() -> Path:
    """The folder of the programs of `fathom demo`: inside the package when installed, else the source tree's."""
    folders = (PACKAGE / "examples" / "demo", SOURCE_TREE / "examples" / "demo")
    return _holding("heat.py", folders, "examples/demo is missing")


def page() -> Path | None:
    """The page of the web UI: inside the package when installed, else as the source tree built it; None: not built."""
    return _first([PACKAGE / "web" / "index.html", SOURCE_TREE / "web" / "dist" / "index.html"])


def user_cache() -> Path:
    """The folder of what is worked out again where it is gone (XDG). Errors: RuntimeError of a user without a home."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home, "fathom")


def own_findings() -> Path | None:
    """The folder of the user's own findings."""
    folder = os.environ.get("FATHOM_FINDINGS")
    return Path(folder) if folder else None
