"""The writer: events of each stream, then the definitions of what was met."""

from pathlib import Path
from typing import Any

from fathom import __version__
from fathom.export.otf2.definitions import Definitions
from fathom.export.otf2.events import Events
from fathom.export.otf2.library import Archive, told
from fathom.export.otf2.tables import Tables
from fathom.export.progress import Progress
from fathom.export.selected import Selected


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.export.formats.Writer` says."""
    tables = Tables(selected)
    with told():
        archive = Archive(out)
        archive.describe(f"Fathom {__version__}", selected.run.name)
        counted = Events(selected, tables, archive, progress).write()

        def define(writer: Any) -> None:
            definitions = Definitions(writer)
            definitions.clock(tables.started - tables.shift, 0, tables.last)
            definitions.attributes()
            definitions.system(tables, counted)
            definitions.regions(tables)

        archive.finish(define, list(counted))
    return []
