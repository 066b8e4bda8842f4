"""What `fathom show` prints of a run but its kept screen: the page, one table, findings, the next run."""

import argparse
import itertools
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from fathom.analysis import findings as conclusions
from fathom.cache import conclusions as cached
from fathom.errors import UsageError, printable
from fathom.files import replacing
from fathom.pages import answers, coverage_footer, findings, page, screen, screen_content, written
from fathom.pages.part import Page
from fathom.pages.screen import Content
from fathom.pages.sections import rows_by, words_by
from fathom.run.limitations import every_call, explain_missing
from fathom.run.store import Run, open_run
from fathom.text import tables
from fathom.text.quoting import json_text

# Why a table by this key has no row.
NOTHING = {
    "server": "no server was traced, and of no call is it known on which file it was: record at level file",
    "time": "of no call is it known when it ran (levels file and call)",
    "line": "no call was recorded in full: fathom show RUN --next prepares the run that knows lines",
    **dict.fromkeys(
        ("collective", "collective-function", "aggregator"),
        "of no collective read or write of MPI-IO is it known who made it together (level call; not in imported runs)",
    ),
    **dict.fromkeys(
        ("critical", "critical-path"),
        "nobody was found critical: fathom run --select critical looks for who is",
    ),
    **dict.fromkeys(
        ("tree", "frames"),
        "no I/O call of the program was recorded in full: record at level call",
    ),
    "percentile": "no call was recorded in full: record at level call",
    "loader": "no process reads what processes that it started, and that read files, wrote to pipes or sockets;"
    " at level job this is not known",
    "checkpoint": "no files of 1 MiB and more were made and written from start to end more than once (level call)",
    "hint": "no hint, property or layout of a file is known (levels file and call)",
    "mapped": "no file is known to have been mapped into memory (levels file and call)",
    "sieving": "no reads or writes of MPI-IO are known by file (levels file and call)",
    "sieved-call": "no call of MPI-IO that was recorded in full moved more than it asked for",
}


def content(run: str | PathLike[str], with_runtime: bool) -> Content:
    """What the screen of a run says, kept for who looks next."""
    return screen_content.keep(open_run(run, with_runtime=with_runtime))


def run(arguments: argparse.Namespace) -> int:
    """Prints it; the status."""
    if arguments.on is not None:
        return _print_elsewhere(arguments)
    if arguments.findings is not None:
        return _print_findings(arguments)
    opened = open_run(arguments.run, with_runtime=arguments.with_runtime)
    content = page.of_run(opened)
    if arguments.svg and arguments.by:
        _save_flames(arguments.svg, opened, arguments.by == ["frames"])
    elif arguments.next:
        _print_next(opened, content)
    elif arguments.by:
        _print_table(arguments, opened, content)
    elif arguments.json:
        from fathom.assist import explain  # which other pages do without

        written.show(explain.with_tables(content, arguments.top))
    elif arguments.svg:
        from fathom.pages import picture  # which other pages do without

        _save(arguments.svg, lambda path: picture.save(path, lambda: _print(content, arguments)))
    else:
        page.print_page(content, arguments.top or 10)
    return 0


def _print(content: Page, arguments: argparse.Namespace) -> None:
    if arguments.all:
        page.print_page(content, arguments.top or 10)
    else:
        print(screen.text(screen_content.of(content)))


def _print_elsewhere(arguments: argparse.Namespace) -> int:
    from fathom.analysis import on_store  # the catalog of stores, which other pages do without
    from fathom.pages import on_store as elsewhere

    others = (arguments.by, arguments.svg, arguments.csv, arguments.next, arguments.findings)
    if any(other is not None and other is not False for other in others):
        raise UsageError("show: --on goes alone or with --json")
    if arguments.on == "list":
        print("\n".join(elsewhere.stores_listed()))
        return 0
    store = on_store.named(arguments.on)
    opened = open_run(arguments.run, with_runtime=arguments.with_runtime)
    prediction = on_store.predict(opened, store)
    if arguments.json:
        content = elsewhere.as_json(opened.name, prediction, arguments.top)
        print(json_text(content))
    else:
        elsewhere.print_prediction(opened.name, prediction, arguments.top or 10)
    return 0


def _print_findings(arguments: argparse.Namespace) -> int:
    if arguments.by or arguments.svg or arguments.csv or arguments.next:
        raise UsageError("show: --findings goes alone or with --json")
    paths = conclusions.rules(arguments.findings)
    opened = open_run(arguments.run, with_runtime=arguments.with_runtime)
    all_ = cached.find(opened, paths)
    if arguments.json:
        listed = findings.listed(opened, opened.manifest, all_.conclusions[: arguments.top])
        print(json_text(listed))
    else:
        findings.print_findings(opened, all_, arguments.top)
    findings.complain(all_)
    if all_.broken:
        return UsageError.status
    over = arguments.fail_over is not None and any(
        (finding.lost or 0) > arguments.fail_over for finding in all_.conclusions
    )
    return 1 if over else 0


def _print_table(arguments: argparse.Namespace, source: Run, content: Page) -> None:
    with explain_missing(source.manifest, every_call):
        columns, rows = rows_by(source, arguments.by)
    rows = rows.slice(0, arguments.top)
    if arguments.json:
        written.show(rows)
    elif arguments.csv:
        tables.write_csv(rows)
    else:
        tables.show(columns, rows)
        for line in words_by(content, arguments.by):
            tables.note(line)
    for key, why in NOTHING.items():
        if key in arguments.by and not rows.num_rows:
            tables.note(f"fathom: {why}", sys.stderr)
    tables.note(f"fathom: {coverage_footer.one_line(content)}", sys.stderr)


def _print_next(opened: Run, content: Page) -> None:
    from fathom.analysis import next_selection  # which other pages do without
    from fathom.pages import next_selection as words

    step = next_selection.step(content.source)
    if step.level == "none":
        seen = bool(content.table("layers").num_rows)
        print("This run has the calls themselves:" if seen else "No I/O call was recorded")
        for line in answers.lines(content.answers, content.name, content.manifest) if seen else ():
            tables.note(f"  {line}")
    else:
        path = _write_selection(opened.name, words.selection(step, opened.name))
        print(words.command(path, opened.name, opened.manifest))
        tables.note(f"fathom: {path} selects {words.why(step)}", sys.stderr)
        launcher = opened.manifest.get("launcher")
        if launcher:
            how = f"start it inside the launcher ({launcher}), as this run was"
            tables.note(f"fathom: {how}", sys.stderr)
    tables.note(f"fathom: {coverage_footer.one_line(content)}", sys.stderr)


def _write_selection(name: str, content: str) -> str:
    """Into NAME.next.toml here; a file that says something else is left alone, and the next free name taken."""
    for number in itertools.count(1):
        path = Path(f"{name}.next{'' if number == 1 else f'.{number}'}.toml")
        try:
            if path.exists() and path.read_text(encoding="utf-8") != content:
                continue
            path.write_text(content, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"show: cannot write {path}: {error}") from error
        return str(path)
    raise AssertionError


def _save_flames(path: Path, source: Run, frames: bool) -> None:
    from fathom.pages import flame  # which other pages do without

    with explain_missing(source.manifest, every_call):
        _save(path, lambda where: flame.save(where, source.name, source, frames))


def _save(path: Path, save: Callable[[Path], None]) -> None:
    try:
        with replacing(path) as partial:
            save(partial)
    except OSError as error:
        raise UsageError(f"show: cannot write {path}: {error.strerror}") from error
    print(f"picture: {printable(path)}", file=sys.stderr)
