"""A finding's remedy: the settings that its knob names with their values, which `fathom tune --try` proves."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fathom.analysis import Source, findings
from fathom.analysis.findings import Finding
from fathom.analysis.sentence import SETTING, sentence
from fathom.cache import conclusions
from fathom.catalog.knobs import SAFETY, Knob
from fathom.errors import UsageError, unknown
from fathom.run.store import Run
from fathom.text import numbers
from fathom.tune.search import default_space
from fathom.tune.search.execute import OUT
from fathom.tune.search.options import Options
from fathom.tune.search.prediction import Prediction
from fathom.tune.search.space import Dimension, Space
from fathom.tune.settings.prove import Verdict
from fathom.tune.settings.settings import OF_DATASETS, catalog

#: In place of a name: the finding with the most seconds that has a remedy.
TOP = "top"


def check(name: str) -> None:
    """Is there such a finding? Errors: UsageError with the names."""
    names = [path.stem for path in findings.rules()]
    if name not in (TOP, *names):
        lists = "docs/findings.md lists them"
        raise UsageError(unknown("tune: --try: no finding", name, names, lists))


def settings(finding: Finding, layers: Collection[str]) -> dict[str, Any]:
    """Knobs of these layers, as `layer.name`, and the values that the finding gives them."""
    words = sentence(finding.rule.knob, finding.values)
    values = {one[1] or one[3]: one[2] or one[4] for one in SETTING.finditer(words)}
    return {
        knob.key: int(value) if value.isdigit() else value
        for name, value in values.items()
        for knob in catalog().values()
        if knob.name == name and knob.layer.name in layers
    }


def commands(
    source: Source, manifest: Mapping[str, Any], concluded: Sequence[Finding]
) -> list[str | None]:
    """Of each, the command that proves it; None where nothing can be set from outside."""
    layers = default_space.stacks(source, manifest.get("command") or ()) if concluded else {}
    return [
        f"fathom tune --try {one.rule.name} -- PROGRAM…" if settings(one, layers) else None
        for one in concluded
    ]


def of(run: Run, name: str, layers: Collection[str]) -> tuple[Prediction, dict[str, Any]]:
    """What this run's finding of that name predicts, and its settings. Errors: default_space.Refused."""
    concluded = conclusions.find(run, findings.rules()).conclusions
    named = [one for one in concluded if name in (TOP, one.rule.name)]
    mended = [one for one in named if settings(one, layers)]
    if not mended:
        raise default_space.Refused(f"tune: --try {name}: {_why(concluded, named, name)}")
    first = mended[0]
    same = [one for one in mended if one.rule.name == first.rule.name]
    lost = [one.lost for one in same if one.lost is not None]
    between = [one.between for one in same if one.between is not None]
    low, high = map(sum, zip(*between, strict=True)) if between else (None, None)
    prediction = Prediction(first.rule.name, sum(lost) if lost else None, low, high)
    return prediction, settings(first, layers)


def _why(concluded: Sequence[Finding], named: Sequence[Finding], name: str) -> str:
    """Why there is nothing to try."""
    if not named or name == TOP:
        mended = "no finding of this run has a setting from outside"
        what = mended if name == TOP else "none of this run's findings"
        listed = ", ".join(f"{one.rule.name} ({_lost(one)})" for one in concluded)
        return f"{what}; there are {listed or 'none'}"
    fix = sentence(named[0].rule.fix, named[0].values)
    every = {knob.layer.name for knob in catalog().values()}
    if other := settings(named[0], every):
        names = ", ".join(dict.fromkeys(catalog()[key].name for key in other))
        return f"no library of this program is known here that takes {names}; {fix}"
    return f"no setting from outside mends it; in the program: {fix}"


def _lost(finding: Finding) -> str:
    return "danger" if finding.lost is None else numbers.seconds(finding.lost)


def space(
    run: Run, options: Options, finding: str, given: Mapping[str, Any]
) -> tuple[Space, list[str]]:
    """The settings that are alive here, one value each, and lines on what was left out. Errors: Refused."""
    dimensions: list[Dimension] = []
    lines: list[str] = []
    safeties: dict[str, None] = {}
    for knob, stack, verdict in default_space.known(run, options.program):
        if knob.key not in given:
            continue
        if why := _left_out(knob, stack, verdict, options.verify):
            lines.append(f"{knob.key}: {why}")
            continue
        where = {"dataset": "*"} if knob.list in OF_DATASETS else {}
        dimensions.append(Dimension(knob.name, knob.key, (None, given[knob.key]), where))
        safeties |= {knob.safety: None}
    if not dimensions:
        raise default_space.Refused(f"tune: --try {finding}: {'; '.join(lines)}")
    return Space(tuple(dimensions), accept=tuple(one for one in safeties if one != "free")), lines


def _left_out(knob: Knob, stack: str, verdict: Verdict | None, verify: str) -> str | None:
    """Why a knob is not tried; None: it is."""
    if verdict is not None and verdict.verdict == "dead":
        why = knob.dead.get(stack, "fathom list knobs --prove shows no effect")
        return f"it does nothing here: {why}"
    if verdict is None and knob.proof is not None:
        return f"it is not known to be alive here: fathom list knobs --prove {knob.key}"
    if knob.safety != "free" and verify == "none":
        return f"{SAFETY[knob.safety]}: write {OUT} where the program's words name its output"
    if knob.safety == "changes-file" and verify == "checksum":
        return f"{SAFETY[knob.safety]}: --verify h5diff, or a command"
    return None
