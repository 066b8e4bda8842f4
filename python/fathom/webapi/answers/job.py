"""A program that is to be recorded, and how: what the form of the screen Setup says."""

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAUNCHERS: dict[str, tuple[str, ...]] = {
    "none": (),
    "mpich": ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    "openmpi": ("mpiexec.openmpi", "mpiexec"),
    "srun": ("srun",),
}


@dataclass(frozen=True)
class Job:
    """A program that is to be recorded, and how."""

    program: str
    arguments: list[str] = field(default_factory=list)
    build: list[str] = field(default_factory=list)
    directory: str = ""
    name: str = ""
    ranks: int = 1
    nodes: int = 1
    minutes: int = 30
    mpi: str = "none"
    level: str = "call"
    layers: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # of the source: a.c:10-20
    operations: str = "both"
    files: list[str] = field(default_factory=list)
    record: str = ""  # ranks to be recorded
    servers: list[dict[str, Any]] = field(default_factory=list)
    batch: str = "plain"

    @property
    def run(self) -> str:
        """Name of the run directory, without its suffix."""
        return (
            self.name
            or re.sub(r"[^A-Za-z0-9._-]", "_", Path(self.program).name).lstrip(".-")
            or "run"
        )

    @property
    def is_selective(self) -> bool:
        """Is a selection file needed?"""
        return bool(self.lines or self.operations != "both")

    def options(self, selection: str) -> list[str]:
        """Of `fathom run`; `selection`: where the selection file lies."""
        words = ["--no-show", "-o", self.run]
        if self.is_selective:
            return [*words, "--select", selection]
        words += ["--level", self.level]
        if self.layers:
            words += ["--layers", ",".join(self.layers)]
        if self.record:
            words += ["--ranks", self.record]
        for glob in self.files:
            words += ["--files", glob]
        return words

    def launcher(self) -> list[str]:
        """Words before the program."""
        if self.mpi == "none":
            return []
        known = LAUNCHERS[self.mpi]
        starter = next((one for one in known if shutil.which(one)), known[-1])
        return [starter, "-n", str(self.ranks)]

    def command(self, selection: str) -> list[str]:
        """What records it here: in front of the launcher."""
        inner = [*self.launcher(), self.program, *self.arguments]
        return ["fathom", "run", *self.options(selection), "--", *inner]


def form_of(manifest: Mapping[str, Any], ranks: int | None, nodes: int | None) -> dict[str, str]:
    """The fields of the form that recorded a run as it was."""
    command = [str(word) for word in manifest.get("command", [])]
    names = [Path(word).name for word in command]
    launcher = next(
        (mpi for mpi, known in LAUNCHERS.items() if names and names[0] in known), "none"
    )
    program = str(manifest.get("program", ""))
    at = names.index(program) if program in names else 0
    configuration = manifest.get("configuration", {})
    form = {
        "program": command[at] if command else "",
        "arguments": shlex.join(command[at + 1 :]),
        "directory": manifest.get("directory"),
        "mpi": launcher,
        "ranks": ranks or 1,
        "nodes": nodes or 1,
        "level": configuration.get("level"),
        "layers": str(configuration.get("layers_asked", "")),
        "files": ", ".join(configuration.get("files", [])),
        "record": configuration.get("ranks"),
    }
    return {name: str(value) for name, value in form.items() if value}
