"""docs/forwarding-semantics.md: the same checks on a local ext4, a mount, under the preload library, by the C calls.
`python -m forward.semantics` in tests/ writes it; why a column differs stands in semantics.toml."""

from __future__ import annotations

import os
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from .test_c_client import Server
from .test_fuse import Place
from .wire import ROOT

PROGRAMS = ROOT / "build/tests/forward_semantics"
PAGE = ROOT / "docs/forwarding-semantics.md"
REASONS = ROOT / "tests/forward/semantics.toml"
COLUMNS = {"fuse": "mount", "preload": "preload", "api": "C interface"}
EXT4 = "ef53"

BEGIN = """# Forwarding: what each call means

What a program sees of a forwarded file, beside a local ext4.
Every row is made by one check that was run on all of them (`tests/forward_semantics`).
The test `tests/forward/test_semantics.py` runs the checks again and compares them with this page.

| column | is |
|---|---|
| ext4 | a local directory |
| mount | [fathom-forward-fuse](forwarding-fuse.md) |
| preload | an unmodified program under the [preload library](forwarding-preload.md) |
| C interface | [fathom_fwd.h](forwarding-api.md) |

`=` is as on ext4; an empty place: there is no such call.
`ok` is 0; a file's bytes are in quotes, with `.` for a zero.
"""


@dataclass(frozen=True)
class Row:
    """What one check did: its outcome on ext4, and by column."""

    subject: str
    what: str
    local: str
    ours: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"{self.subject}: {self.what}"

    def differs(self) -> dict[str, str]:
        return {column: said for column, said in self.ours.items() if said != self.local}


def outcomes() -> list[Row]:
    """All rows, in the order of the checks."""
    with ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory())
        Path(folder).chmod(0o755)  # other users come, too
        place = Place(Path(folder))
        ends.callback(place.end)
        local = _run("semantics", place.local)
        ours = {
            "fuse": _run("semantics", place.at),
            "preload": _preloaded(place.server),
            "api": _run("semantics_api", place.server.address),
        }
        assert place.server.process.poll() is None
    assert ours["api"].keys() <= local.keys(), ours["api"].keys() - local.keys()
    return [
        Row(*name, outcome, {column: said[name] for column, said in ours.items() if name in said})
        for name, outcome in local.items()
    ]


def _run(program: str, *words: str | Path, **environment: str) -> dict[tuple[str, str], str]:
    done = subprocess.run(
        [PROGRAMS / program, *words], capture_output=True, text=True, timeout=600, check=True,
        env=os.environ | environment,
    )  # fmt: skip
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return {(subject, what): outcome for subject, what, outcome in lines}


def _preloaded(server: Server) -> dict[tuple[str, str], str]:
    (server.export / "preloaded").mkdir()
    return _run(
        "semantics", "/fathom-forwarded/preloaded",
        LD_PRELOAD=str(ROOT / "build/libfathom_fwd_preload.so"),
        FATHOM_FORWARD_PREFIX="/fathom-forwarded",
        FATHOM_FORWARD_SERVERS=server.address,
        FATHOM_FORWARD_TIMEOUT="20",
    )  # fmt: skip


def reasons() -> dict[str, dict[str, str]]:
    """Why a column differs: by row, then column."""
    return tomllib.loads(REASONS.read_text())


def page(rows: list[Row]) -> str:
    """The whole page."""
    why, parts = reasons(), [BEGIN]
    for subject, group in groupby(rows, key=lambda row: row.subject):
        parts.append(f"\n## {subject[0].upper()}{subject[1:]}\n\n")
        parts.append(f"| what is done | ext4 | {' | '.join(COLUMNS.values())} | why |\n")
        parts.append("|---" * (len(COLUMNS) + 3) + "|\n")
        parts += [_line(row, why.get(row.name, {})) for row in group]
    return "".join(parts)


def _line(row: Row, why: Mapping[str, str]) -> str:
    cells = [_text(row.what), _text(row.local)]
    for column in COLUMNS:
        said = row.ours.get(column)
        cells.append("" if said is None else "=" if said == row.local else _text(said))
    columns: dict[str, list[str]] = {}
    for column, reason in why.items():
        columns.setdefault(reason, []).append(COLUMNS[column])
    told = [f"{', '.join(who)}: {reason}" for reason, who in columns.items()]
    return f"| {' | '.join([*cells, '; '.join(told)])} |\n"


def _text(outcome: str) -> str:
    return outcome.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(outcomes()))
