"""The writer: events of each stream, then the definitions of what was met."""

from pathlib import Path

from fathom import __version__
from fathom.interop.exports.otf2.definitions import Definitions
from fathom.interop.exports.otf2.events import Events
from fathom.interop.exports.otf2.library import Archive, translated_errors
from fathom.interop.exports.otf2.metrics import Metrics
from fathom.interop.exports.otf2.tables import Tables
from fathom.interop.exports.progress import Progress
from fathom.interop.exports.rates import OF_FILES
from fathom.interop.exports.selected import Selected


def write(selected: Selected, out: Path, progress: Progress) -> list[str]:
    """As `fathom.interop.exports.formats.Writer` says."""
    tables = Tables(selected)
    with translated_errors():
        archive = Archive(out, len(tables.speakers))
        archive.describe(f"Fathom {__version__}", selected.run.name)
        Events(selected, tables, archive, progress).write()
        metrics = Metrics(selected, archive)
        metrics.write()
        archive.finish(lambda writer: Definitions(writer, tables, metrics).write(archive.counted))
    return [*tables.left_out(), *([OF_FILES] if selected.part.file is not None else [])]
