"""What the other languages make, for the wheel: commands into bin/, the libraries into lib/fathom/, the web page.

An installed wheel has the layout of any prefix, so the command finds its library beside it. One
wheel serves every Python; its platform tag names the oldest GNU C library that all three run with.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: What portable.sh linked for a wheel; else what `make build` left, for this machine alone.
NATIVE = os.environ.get("FATHOM_NATIVE", "build")
LIBRARIES = (f"{NATIVE}/libfathom.so", f"{NATIVE}/libfathom_fwd_preload.so")
LINKED = tuple(
    f"{NATIVE}/{name}"
    for name in ("libfathom-static.a", "libfathom-names.a", "fathom.specs", "fathom.ld")
)
MOUNTER = f"{NATIVE}/fathom-forward-fuse"
PAGE = "web/dist/index.html"
ENGINE = "engine/target/release" if NATIVE == "build" else NATIVE
COMMANDS = (f"{NATIVE}/fathom", f"{ENGINE}/fathom-engine")
SHARE = "build/share"
REGIONS = "runtime/python/sitecustomize.py"
SHIM = """#!/bin/sh
# The native command of the source tree, with the Python of this environment.
FATHOM_PYTHON="${{FATHOM_PYTHON:-${{0%/*}}/python3}}" exec '{command}' "$@"
"""
GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)")


def oldest_glibc(files: list[Path]) -> tuple[int, int]:
    """The newest symbol version that any of the files asks libc for."""
    needed = {(2, 17)}  # the oldest that a platform tag can name on most machines
    for file in files:
        symbols = subprocess.run(
            ["objdump", "-T", file], capture_output=True, text=True, check=True
        ).stdout
        needed |= {(int(major), int(minor)) for major, minor in GLIBC.findall(symbols)}
    return max(needed)


def fuse_library(mounter: Path) -> dict[str, str]:
    """libfuse itself, where the mounter looks for it: no wheel may ask a machine for it. A copy of its own, as its
    licence (LGPL 2.1) wants it."""
    listing = subprocess.run(["ldd", mounter], capture_output=True, text=True, check=True).stdout
    fuse = re.search(r"(libfuse3\.so\.\d+) => (/\S+)", listing)
    return {fuse[2]: f"lib/fathom/{fuse[1]}"} if fuse else {}


class NativeParts(BuildHookInterface[Any]):
    """Adds the commands and the libraries; an editable install starts those of the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if version == "editable":
            # It goes with this hook, at the build's end.
            self.folder = tempfile.TemporaryDirectory(prefix="fathom-shim.")
            shim = Path(self.folder.name, "fathom")
            shim.write_text(SHIM.format(command=Path(self.root, "build", "fathom")))
            shim.chmod(0o755)
            build_data["shared_scripts"] = {str(shim): "fathom"}
            return
        self.add_page(build_data)
        libraries = [Path(self.root, name) for name in LIBRARIES]
        commands = [Path(self.root, name) for name in COMMANDS]
        if Path(self.root, MOUNTER).is_file():  # it takes libfuse to build
            libraries.append(Path(self.root, MOUNTER))
        files = [*libraries, *commands]
        for file in [*files, *(Path(self.root, name) for name in LINKED)]:
            if not file.is_file():
                raise FileNotFoundError(f"{file} is missing; run `make build` before the wheel")
        major, minor = oldest_glibc(files)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{major}_{minor}_{os.uname().machine}"
        build_data["shared_scripts"] = {str(file): file.name for file in commands}
        libraries += [Path(self.root, name) for name in LINKED]
        build_data["shared_data"] = {str(file): f"lib/fathom/{file.name}" for file in libraries}
        build_data["shared_data"][str(Path(self.root, REGIONS))] = (
            f"lib/fathom/python/{Path(REGIONS).name}"
        )
        if Path(self.root, MOUNTER).is_file():
            build_data["shared_data"] |= fuse_library(Path(self.root, MOUNTER))
        if Path(self.root, SHARE).is_dir():  # man pages, completions: `make wheel` makes them
            build_data["shared_data"][str(Path(self.root, SHARE))] = "share"

    def add_page(self, build_data: dict[str, Any]) -> None:
        """The web UI is the only part that may be missing: it takes Node to build."""
        page = Path(self.root, PAGE)
        if page.is_file():
            build_data["force_include"][str(page)] = "fathom/web/index.html"
        else:
            self.app.display_warning(
                f"{PAGE} is missing: this wheel has no web UI; `make web` builds it"
            )
