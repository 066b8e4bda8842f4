"""Findings as text: what loses how many seconds, how sure that is, what to do, and where in the program."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis import Source
from fathom.analysis.findings import Finding, Findings
from fathom.analysis.sentence import sentence
from fathom.run.manifest import imported_by
from fathom.run.store import Run
from fathom.text import numbers
from fathom.text.quoting import shell
from fathom.text.tables import emphasised, heading, note, printable


def as_json(finding: Finding) -> dict[str, Any]:
    """One finding for other programs."""
    rule = finding.rule
    return {
        "finding": rule.name,
        "title": rule.title,
        "layer": rule.layer,
        "says": sentence(rule.says, finding.values),
        "lost_seconds": finding.lost,
        "lost_between_seconds": finding.between and list(finding.between),
        "sure": finding.sure,
        "fix": sentence(rule.fix, finding.values),
        "knob": sentence(rule.knob, finding.values) or None,
        "limit": rule.limit,
        "estimate": rule.lost,
        "seen": rule.seen,
        "calls": [str(call) for call in finding.calls],
        "lines": finding.lines,
    }


def listed(
    source: Source, manifest: Mapping[str, Any], findings: Sequence[Finding]
) -> list[dict[str, Any]]:
    """Findings of a run, each with the command that proves it, or None."""
    proofs = _proofs(source, manifest, findings)
    return [as_json(one) | {"proof": proof} for one, proof in zip(findings, proofs, strict=True)]


def _proofs(
    source: Source, manifest: Mapping[str, Any], findings: Sequence[Finding]
) -> list[str | None]:
    from fathom.tune.search import remedy  # with all knobs, which the page does without

    return remedy.commands(source, manifest, findings)


def lost(finding: Finding) -> str:
    """`1.25 s`; of a danger that word."""
    return "danger" if finding.lost is None else numbers.seconds(finding.lost)


def _print(number: int, finding: Finding, proof: str | None) -> None:
    rule = finding.rule
    between = " to ".join(map(numbers.seconds, finding.between or ()))
    about = [between, rule.layer, f"{numbers.percent(finding.sure)} sure"]
    heading(f"\n{number}. {lost(finding)}: {rule.title} ({', '.join(filter(None, about))})")
    emphasised("   ", sentence(rule.says, finding.values))
    emphasised("   do    ", sentence(rule.fix, finding.values))
    if knob := sentence(rule.knob, finding.values):
        emphasised("   knob  ", knob)
    if proof:
        emphasised("   proof ", proof)
    for line in finding.lines:
        emphasised("   line  ", printable(line))


# What a page has room for.
WORST = 3
# Of the run time: of so much I/O something is expected.
MUCH = 0.2


def complain(findings: Findings) -> None:
    """Of rules that cannot be asked."""
    for path, why in findings.broken.items():
        print(f"fathom: {why if why.startswith(path) else f'{path}: {why}'}", file=sys.stderr)


def print_worst(findings: Findings | None, name: str) -> None:
    """The worst of them, a sentence each, and the command that says more; none: they were not asked."""
    command = f"fathom show {shell([name])} --findings"
    if findings is None:
        print()
        emphasised("What loses time?  ", f"{command} says it")
        return
    if not findings.conclusions:
        return
    shown = findings.conclusions[:WORST]
    of = (
        f"{len(shown)} of {len(findings.conclusions)}, "
        if len(findings.conclusions) > WORST
        else ""
    )
    heading(f"\nWhat loses time ({of}and what to do: {command})")
    for finding in shown:
        emphasised(
            f"{lost(finding):>9}  ",
            f"{finding.rule.title}. {sentence(finding.rule.says, finding.values)}",
        )
        emphasised(f"{'do':>9}  ", sentence(finding.rule.fix, finding.values))


def unanswered(findings: Findings, name: str, manifest: Mapping[str, Any]) -> str:
    """That nothing is concluded of much I/O, and why where most rules need every call; empty: that is not so."""
    slowest, rules = findings.bar.slowest, findings.without.get("calls")
    if findings.conclusions or not slowest:
        return ""
    if slowest.seconds < MUCH * findings.bar.run_seconds:
        return ""
    if not rules:
        return "no rule finds a mistake in it"
    tool = imported_by(manifest)
    more = f", which {tool} did not record"
    if not tool:
        more = f": fathom show {shell([name])} --next prepares that"
    return f"nothing that sums tell; {numbers.things(len(rules), 'rule')} need every call{more}"


def not_asked(findings: Findings) -> list[str]:
    """Which rules this run cannot answer, and why, in a line for each reason."""

    def why(lacking: str) -> str:
        if lacking == "ranks":
            return "not all ranks were recorded alike"
        return f"this run has no {lacking}"

    return [
        f"Not asked, {why(lacking)}: {', '.join(names)}"
        for lacking, names in findings.without.items()
    ]


def print_findings(run: Run, findings: Findings, top: int | None) -> None:
    """The findings, the most seconds first."""
    shown = findings.conclusions[:top]
    cut = (
        f", {len(shown)} of {len(findings.conclusions)} shown"
        if len(shown) < len(findings.conclusions)
        else ""
    )
    heading(
        f"Findings: {numbers.things(len(findings.conclusions), 'conclusion')} of "
        f"{numbers.things(findings.rules_asked, 'rule')}{cut} (seconds of run time that mending would win; "
        f"they may overlap)"
    )
    proofs = _proofs(run, run.manifest, shown)
    for number, (finding, proof) in enumerate(zip(shown, proofs, strict=True), 1):
        _print(number, finding, proof)
    for line in not_asked(findings):
        print()
        note(line)
