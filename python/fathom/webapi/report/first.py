"""The first screen of a report as plain HTML: read where no script runs, and until one does.

Its colours are classes that the page brings along (web/vite.config.ts).
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fathom.text import numbers
from fathom.webapi.report.requests import Request

#: Findings that the first screen has.
WORST = 3
WIDE, HIGH = 1000, 28  # units of a bar's picture
TEXTURES = {"upright": "M4 0V8", "diagonal": "M0 8L8 0"}

Answers = Mapping[str, Any]


def _textures() -> str:
    patterns = (
        f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path class="ground" d="{line}"/></pattern>'
        for name, line in TEXTURES.items()
    )
    return f'<svg class="unseen" aria-hidden="true"><defs>{"".join(patterns)}</defs></svg>'


def _class(cause: str) -> str:
    return cause.replace(" ", "-").replace("/", "")


def _swatch(cause: str, x: float, width: float) -> str:
    """A cause's colour and its texture over it."""
    place = f'x="{x:.1f}" width="{max(0.0, width):.1f}" height="{HIGH}"'
    return f'<rect class="fill cause-{_class(cause)}" {place}/><rect class="over-{_class(cause)}" {place}/>'


def _bar(share: Mapping[str, Any], account: Mapping[str, Any]) -> Iterator[str]:
    run_seconds, whole = account["seconds"], account["width"] or 1.0

    def says(part: Mapping[str, Any]) -> str:
        of_run = numbers.percent(part["seconds"] / run_seconds) if run_seconds else "-"
        return f"{part['cause']} {numbers.seconds(part['seconds'])} · {of_run}"

    yield f"<p>{escape(share['title'])}</p>"
    label = escape(", ".join(map(says, share["parts"])), quote=True)
    yield (
        f'<svg class="split" viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none" role="img" aria-label="{label}">'
    )
    reached = 0.0
    for part in share["parts"]:
        yield _swatch(part["cause"], reached / whole * WIDE, part["seconds"] / whole * WIDE - 1)
        reached += part["seconds"]
    yield '</svg><ul class="legend">'
    for part in share["parts"]:
        inside = _swatch(part["cause"], 0, HIGH)
        mark = f'<svg class="swatch" viewBox="0 0 {HIGH} {HIGH}" aria-hidden="true">{inside}</svg>'
        yield f"<li>{mark} {escape(says(part))}</li>"
    yield "</ul>"


def _account(account: Mapping[str, Any] | None) -> Iterator[str]:
    if not account:
        return
    yield "<h2>Where the time went, by cause</h2>"
    if not account["processes"]:
        yield f"<p>{escape(account['table']['note'] or '')}</p>"
    for share in account["processes"]:
        yield from _bar(share, account)


def _finding(one: Mapping[str, Any]) -> Iterator[str]:
    won = one["level"] if one["seconds"] is None else numbers.seconds(one["seconds"])
    between = " to ".join(map(numbers.seconds, one["between"] or ()))
    yield f'<li><div class="won"><strong class="{escape(one["level"])}">{won}</strong><span>{between}</span></div><div>'
    yield f"<h3>{escape(one['title'])}</h3><p>{escape(one['sentence'])}</p>"
    yield f"<p><strong>Do</strong> {escape(one['advice'])}</p>"
    if one["knob"]:
        yield f"<p><strong>Knob</strong> <code>{escape(one['knob'])}</code></p>"
    if one["proof"]:
        yield f"<p><strong>Proof</strong> <code>{escape(one['proof'])}</code></p>"
    for site in one["sites"]:
        yield f"<p>line <code>{escape(site)}</code></p>"
    yield "</div></li>"


def _findings(answer: Mapping[str, Any] | None) -> Iterator[str]:
    if answer is None:
        return
    yield '<section class="worst"><h2>What loses time, and what to do</h2>'
    worst = answer["findings"][:WORST]
    if not worst:
        yield f"<p>No findings: none of the {answer['asked']} rules that were asked sees time lost</p>"
    else:
        yield "<ol>"
        for one in worst:
            yield from _finding(one)
        yield "</ol>"
    yield "</section>"


def _run(name: str, command: str, answers: Answers, drawn: str) -> Iterator[str]:
    def of(what: str) -> Any:
        return answers.get(Request(what, {"run": name}).key)

    overview = of("overview") or {"verdict": "", "sentences": []}
    yield f'<h1>{escape(name)}</h1><p class="quiet"><code>{escape(command)}</code></p>'
    yield from _account(of("account"))
    yield f'<p class="verdict">{escape(overview["verdict"])}</p>'
    yield from _findings(of("findings"))
    yield '<ul class="sentences">'
    yield from (f"<li>{escape(one)}</li>" for one in overview["sentences"])
    yield f"</ul><h2>When it happened</h2>{drawn}"


def screen(answers: Answers, drawn: Mapping[str, str]) -> str:
    """Of every run in the report: bars by cause, the verdict, what loses most, what to do; `drawn`: its pictures."""
    runs = (answers.get(Request("runs").key) or {"runs": []})["runs"]
    body = "\n".join(
        line
        for one in runs
        for line in _run(one["name"], one["command"], answers, drawn.get(one["name"], ""))
    )
    return f'<div class="first" role="main">{_textures()}{body}</div>'
