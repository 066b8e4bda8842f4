"""What the first screen of `fathom show` says of a run, whatever its width; `fathom.pages.screen` lays it out."""

from __future__ import annotations

from pathlib import PurePath

from fathom.analysis.findings import Finding
from fathom.analysis.part import in_part
from fathom.analysis.sentence import SETTING, sentence
from fathom.cache.screens import Screen
from fathom.pages import answers, coverage_footer, facts, findings, page
from fathom.pages.part import Page
from fathom.pages.screen import LINE, MAPPED, VERDICT, Content, Loss, as_json
from fathom.run.manifest import TOOLS, command_line, imported_by
from fathom.run.store import Run
from fathom.text import numbers
from fathom.text.tables import printable


def keep(run: Run) -> Content:
    """That of an opened run, kept for who looks next unless a rule could not be asked."""
    asked = page.of_run(run)
    content = of(asked)
    if content.bar is None or not (asked.findings and asked.findings.broken):
        Screen(run.path, run.with_runtime).write(as_json(content))
    return content


def of(asked: Page) -> Content:
    """All of it. Where no call was recorded nothing more is asked."""
    title, line = facts.of(asked)
    nothing = asked.is_empty
    found = None if nothing else asked.findings
    missing, summed_up = _missing(asked)
    return Content(
        name=asked.name,
        title=title,
        short_title=f"{printable(asked.name)}: {printable(command_line(asked.manifest, short=True))}",
        line=line,
        in_part=[printable(less) for less in in_part(asked.source, asked.manifest)],
        nothing=list(facts.nothing(asked)) if nothing else [],
        bar=found.bar if found else None,
        answers={} if nothing else _answers(asked),
        first=[] if nothing else _first(asked),
        losses=_losses(asked, found.conclusions) if found else [],
        conclusions=len(found.conclusions) if found else 0,
        unanswered=findings.unanswered(found, asked.name, asked.manifest) if found else "",
        missing=missing,
        summed_up=summed_up,
        more=_more(asked),
    )


def _answers(asked: Page) -> dict[str, str]:
    """Of answers of several lines the first."""
    by_question = answers.sentences(asked.answers, asked.name, asked.manifest)
    return {question: lines[0] for question, lines in by_question if lines}


def _first(asked: Page) -> list[str]:
    """Questions that are answered whatever the room."""
    lines = asked.answers.lines
    known = lines is not None and lines.num_rows > 0 and lines["source"][0].as_py()
    mapped = [MAPPED] if asked.answers.mapped else []
    return [VERDICT, *mapped, *([LINE] if known else [])]


def _losses(asked: Page, conclusions: list[Finding]) -> list[Loss]:
    directory = asked.manifest.get("directory")
    below = f"{directory}/" if directory else ""
    return [_loss(one, below) for one in conclusions[: findings.WORST]]


def _loss(finding: Finding, directory: str) -> Loss:
    rule, path = finding.rule, finding.values.get("path")
    knob = sentence(rule.knob, finding.values)
    return Loss(
        title=rule.title,
        lost=findings.lost(finding),
        seconds=finding.lost,
        path=printable(path.removeprefix(directory)) if isinstance(path, str) else None,
        place=printable(PurePath(finding.lines[0]).name) if finding.lines else "",
        says=sentence(rule.says, finding.values),
        lines=[printable(line) for line in finding.lines],
        do=sentence(rule.fix, finding.values),
        knob=knob if SETTING.search(knob) else "",
    )


def _missing(asked: Page) -> tuple[list[str], str]:
    """What is not in the tables, the most frequent first, what a log never has last; a sentence where that is all."""
    missing = [line.strip() for line in coverage_footer.missing(asked, usual=False)]
    noted = [line for line in missing if line.startswith(tuple(TOOLS))]
    if noted and noted == missing:
        things = numbers.things(len(missing), "thing")
        return [], f"{things} that {imported_by(asked.manifest)} did not record (--all)"
    return [line for line in missing if line not in noted] + noted, ""


def _more(asked: Page) -> str:
    is_of_several = not asked.is_empty and asked.answers.time.busiest_program
    return f"--all, --findings, {'--by program, --by line' if is_of_several else '--by line'}"
