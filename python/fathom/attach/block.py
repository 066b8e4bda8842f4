"""A part of this process is recorded, from one moment to another, by the process itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from fathom import regions
from fathom.attach import attached, target
from fathom.attach.door import Door
from fathom.attach.injector import Status
from fathom.errors import FathomError, UsageError, printable
from fathom.run import paths
from fathom.run.directory import to_make


class Block:
    """`with` it: what this process does meanwhile, in all of its threads, is in the run `directory`; also where an
    exception ends it. Errors: `FathomError` where the process cannot be recorded."""

    def __init__(self, name: str | os.PathLike[str] | None, options: Sequence[str]) -> None:
        """Without a name the run is block.1, block.2 …; `options` are those of `fathom attach`."""
        self._name, self._options = name, list(options)
        self._directory: Path | None = None
        self._door: Door | None = None  # while it is recorded

    @property
    def directory(self) -> Path:
        """Of the run, which is whole when the block has ended."""
        if self._directory is None:
            raise UsageError("record: nothing is recorded yet: `with` the recording")
        if self._door:
            raise UsageError(
                f"record: {printable(self._directory)} is being recorded; look when the block has ended"
            )
        return self._directory

    def __enter__(self) -> Self:
        if self._directory is not None:
            raise UsageError("record: a recording is of one block; make another for this one")
        library = paths.library()
        if library is None:
            raise FathomError("no libfathom.so beside this command; build it, or set FATHOM_LIB")
        name = attached.free("block") if self._name is None else os.fspath(self._name)
        directory = to_make(Path(name).absolute())
        if directory.exists():
            raise FathomError(f"{printable(directory)} exists; name another, or remove it")
        door, this = Door(library), target.find(os.getpid())
        settings = attached.create(str(directory), self._options)
        try:
            attached.note(directory, [this])
            answer = door.attach(settings | this.variables)
        except BaseException:
            attached.discard(settings)
            raise
        if answer.status is not Status.DONE:
            attached.discard(settings)
            raise FathomError(
                f"record: this process is recorded already, in {printable(answer.run)};"
                " fathom.region names a part of it"
            )
        self._directory, self._door = directory, door
        regions.look_again()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._door and self._directory
        self._door.detach()
        self._door = None
        attached.detached(self._directory, [os.getpid()])
