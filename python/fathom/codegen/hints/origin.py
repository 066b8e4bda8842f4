"""Where hints come from: a run, or a file with a header. What they will save of a run's calls."""

from dataclasses import dataclass
from pathlib import Path

import fathom
from fathom.analysis import Remembered
from fathom.analysis.distribution.choice import check_any, of_files
from fathom.analysis.distribution.patterns import patterns
from fathom.codegen.generate.plan import Plan
from fathom.codegen.generate.spec import Spec
from fathom.codegen.hints import file, run
from fathom.codegen.hints.sketch import Sketch
from fathom.errors import FathomError, UsageError, why
from fathom.files import replace_text
from fathom.text import numbers
from fathom.text.tables import shown


@dataclass(frozen=True)
class Hints:
    """Hints, and of a run what it did."""

    sketch: Sketch
    observed: run.Observed | None = None

    def compared(self, spec: Spec, plans: list[Plan]) -> list[str]:
        """Calls that were seen, and those that the code will make."""
        lines = [f"fathom: left out: {one}" for one in self.sketch.left_out]
        seen = self.observed
        if seen is None:
            return lines
        for plan in plans:
            kind, count = ("reads", seen.reads) if plan.reading else ("writes", seen.writes)
            files = numbers.things(seen.files, "file")
            mean = "" if count == int(count) else " on average"  # files of the same use differ
            lines.append(
                f"fathom: {plan.point.kind}: {count:,.0f} raw {kind} of {files}{mean} were seen; the code for"
                f" {spec.library} makes {plan.raw[spec.processes[0]]:,} of data (ROMIO, one node)"
            )
        return lines


def read_hints(origin: str, library: str | None, glob: str | None, kind: str | None) -> Hints:
    """Hints from what this names."""
    path = Path(origin)
    if path.is_file() and file.kind_of(path):
        if glob or kind:
            raise UsageError(f"generate: --files and --type say nothing of {origin}: it is no run")
        of_file = "hdf5" if file.kind_of(path) == "hdf5" else "pnetcdf"
        return Hints(file.sketch(path, library or of_file))
    opened = fathom.open(origin)
    source = Remembered(opened)
    seen = patterns(source)
    if glob:
        seen = of_files("generate", seen, opened.name, glob)
    check_any(seen, opened)
    group = run.group_of(seen, opened.name)
    library = library or run.library_of(group)
    return Hints(run.sketch(seen, group, opened.name, library, kind), run.observed(source, group))


def write(path: Path, text: str) -> None:
    """Never over a file that says something else."""
    try:
        if path.exists():
            if path.read_text(encoding="utf-8", errors="surrogateescape") != text:
                raise UsageError(
                    f"{path}: is there, and is not what would be written: generate from it, move it away,"
                    " or choose another directory (-o)"
                )
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        raise FathomError(f"{path}: {why(error)}") from error
    print(shown(path))
