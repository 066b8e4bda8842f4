"""What `fathom run --tuned` came to, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.errors import FathomError
from fathom.pages.part import Page
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import text

if TYPE_CHECKING:
    from fathom.tune.settings.settings import Settings

TUNED = (
    Column("setting", "setting", text, right=False),
    Column("value", "value", text, right=False),
    Column("became", "became", text, right=False),
    Column("files", "files", numbers.count),
    Column("objects", "objects", numbers.count, spare=1),
    Column("as in", "example", text, right=False, is_path=True),
)


def _read(written: str) -> Settings:
    from fathom.tune.settings import toml, xml  # with all knobs, which few pages need

    return (xml.read if written.lstrip().startswith("<") else toml.read)("settings", written)


def title(page: Page) -> str:
    """Of a run that has settings."""
    return "Settings of this run (--tuned)" if _written(page) else ""


def _written(page: Page) -> str:
    return str(page.manifest.get("configuration", {}).get("tuned", ""))


def words(page: Page) -> list[str]:
    """Settings that met nothing; those of the launch; those that are dead on this machine."""
    try:
        read = _read(_written(page))
    except FathomError:
        return []  # another release's catalog
    from fathom.tune.settings.prove import StoredVerdicts, provable

    applied = {row["setting"] for row in page.rows("tuned")}
    by_name = {setting.knob.name: setting.knob for rule in read.rules for setting in rule.settings}
    remarks = [
        f"{name}: met no open, creation or transfer" for name in by_name if name not in applied
    ]
    remarks += [f"{one.knob.name} = {one.text}, for the whole launch" for one in read.launch]
    proofs = StoredVerdicts()
    for name in (name for name in by_name if name in applied):
        dead = [
            stack.name
            for stack in provable(by_name[name])
            if (verdict := proofs.of(by_name[name], stack)) and verdict.verdict == "dead"
        ]
        if dead:
            remarks.append(
                f"{name}: no effect on {', '.join(dead)}, by fathom list knobs --prove here"
            )
    return remarks
