"""The first facts of a run: what was run, when, how long and on how much; and why no call of it is known."""

from typing import Any

from fathom.analysis.part import is_all_own
from fathom.pages.part import Page
from fathom.run import lost
from fathom.run.launchers import starts_others
from fathom.run.manifest import command_line, failure, imported_by
from fathom.text import numbers
from fathom.text.quoting import shell
from fathom.text.tables import printable


def of(page: Page) -> tuple[str, str]:
    """What was run; when, how long and on how much."""
    runs, manifest = page.runs, page.manifest
    started = numbers.moment(runs["started"]) or "start not recorded"
    ranks = f", {numbers.things(runs['ranks'], 'rank')}" if runs["ranks"] else ""
    if runs["ranks"] and runs["ranks_seen"] < runs["ranks"]:
        ranks += f" ({runs['ranks_seen']:,} recorded)"
    servers = f", {numbers.things(page.servers, 'server')}" if page.servers else ""
    own = runs["processes"] - page.servers
    processes = (
        ""
        if ranks and own == runs["ranks_seen"]
        else f", {numbers.things(own, 'process', 'processes')}"
    )
    return (
        f"{printable(page.name)}: {printable(command_line(manifest))}",
        f"{started}, ran {numbers.seconds(runs['duration'] / 1e9)}"
        f"{ranks}{processes}{servers}{_nodes(page)}{_exit(manifest)}",
    )


def libraries(page: Page) -> str:
    """MPI and libraries of data with their versions, as those told them that were called."""
    names = page.source.sql("from versions_of_libraries()")["name"].to_pylist()
    return printable(", ".join(names))


def knows_nodes(page: Page) -> bool:
    """Does the run say on how many it was? The logs of some tools name none."""
    named = "select count(*) as n from nodes where host <> 'unknown'"
    return not imported_by(page.manifest) or bool(page.source.sql(named)["n"][0].as_py())


def _nodes(page: Page) -> str:
    return f" on {numbers.things(page.runs['nodes'], 'node')}" if knows_nodes(page) else ""


def _exit(manifest: dict[str, Any]) -> str:
    ending = failure(manifest)
    return f", {ending}" if ending else ""


def nothing(page: Page) -> tuple[str, str]:
    """Of a run without calls: that, and why."""
    why = _why_nothing(page)
    return f"No I/O call {'' if why else 'of the program itself '}was recorded", why


def _why_nothing(page: Page) -> str:
    """What is known of a run of which no call is; nothing where calls are left out, which the end of the page says."""
    if not is_all_own(page.source):
        return ""
    tool, command = imported_by(page.manifest), page.manifest.get("command")
    if tool:
        unreadable = page.source.sql("select 1 from marks where kind = 'unreadable'").num_rows
        rest = ", but parts of it could not be read" if unreadable else ""
        return f"what was imported from {tool} has none{rest}"
    if lost.first(page.source.sql):
        return "what it recorded is damaged or missing"
    if page.runs["processes"]:
        return "its processes made none on the layers that are recorded"
    if not command:
        return "no process was recorded"
    program = str(command[0])
    if starts_others(program):
        name = printable(program)
        return f"{name} is a shell or launcher, whose own calls are not recorded, and no program that it started was"
    return f"it made none, or it cannot be recorded: fathom doctor {shell([program])} says which"
