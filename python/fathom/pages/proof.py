"""What `fathom tune` found, for people."""

from typing import Any

from fathom.run import database
from fathom.text import numbers
from fathom.text.column import Column
from fathom.text.tables import emphasised, heading, show, text
from fathom.tune.search.compared import Compared
from fathom.tune.search.prediction import Prediction
from fathom.tune.search.search import in_words
from fathom.tune.search.verdict import Result, times


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _seconds(value: float) -> str:
    return f"{value:.0f}" if value else ""


COMPARED = (
    Column("times as good", "ratio", times),
    Column("95 % sure", "interval", text),
    Column("delta", "delta", _number, spare=2),
    Column("p", "p", lambda value: "" if value is None else f"{value:.2g}"),
)


def _compared(compared: Compared | None) -> dict[str, Any]:
    if compared is None:
        return {"ratio": None, "interval": None, "delta": None, "p": None}
    between = None if compared.low is None else f"{times(compared.low)} to {times(compared.high)}"
    return {"ratio": compared.ratio, "interval": between, "delta": compared.delta, "p": compared.p}


def _methods(result: Result) -> None:
    heading("Methods, by fresh runs with the best settings of each")
    columns = (
        Column("method", "method", text, right=False),
        Column("trials", "trials", lambda value: f"{value:,}" if value else ""),
        Column("tuning s", "seconds", _seconds),
        Column("fresh", "runs", text),
        Column("failed", "failed", lambda value: f"{value}" if value else "", spare=2),
        Column(f"{result.objective} {result.unit}".rstrip(), "score", _number),
        Column("run s", "runtime", _number, spare=1),
        *COMPARED,
        Column("settings", "settings", text, right=False, spare=3),
    )
    rows = [
        {**vars(method), **_compared(method.compared), "settings": in_words(method.settings)}
        for method in result.methods
    ]
    names = [column.name for column in columns]
    show(columns, database.table_of([{name: row[name] for name in names} for row in rows]))


def _knobs(result: Result) -> None:
    heading("What each setting does: the winner against itself without it")
    columns = (
        Column("setting", "knob", text, right=False),
        Column("value", "value", text, right=False),
        Column("became", "became", text, right=False),
        *COMPARED,
    )
    rows = [
        {
            "knob": knob.knob,
            "value": str(knob.value),
            "became": knob.became,
            **_compared(knob.compared),
        }
        for knob in result.knobs
    ]
    show(columns, database.table_of(rows))


def _prediction(prediction: Prediction) -> str:
    """What was said of the run time beside what was seen."""
    words = f"{prediction.finding} predicted "
    if prediction.lost is None:
        words += "no seconds (a danger)"
    else:
        words += f"{numbers.seconds(prediction.lost)} less run time"
    if prediction.low is not None and prediction.high is not None:
        words += f" ({numbers.seconds(prediction.low)} to {numbers.seconds(prediction.high)})"
    if prediction.seen is None:
        return words
    more = "less" if prediction.seen >= 0 else "more"
    words += f"; seen: {numbers.seconds(abs(prediction.seen))} {more}"
    if prediction.inside is not None:
        words += f", {'inside' if prediction.inside else 'outside'} that interval"
    return words


def proof(result: Result) -> None:
    """The verdict and what it stands on."""
    emphasised("verdict: ", result.sentence)
    if result.prediction is not None:
        emphasised("finding: ", _prediction(result.prediction))
    print()
    _methods(result)
    if result.knobs:
        print()
        _knobs(result)
    cost = result.cost
    line = f"{cost.trials} trials, {cost.failed} of them failed, hung or wrong: {cost.search:.0f} s for the search"
    if cost.comparing:
        line += f", {cost.comparing:.0f} s for what it is compared with"
    print(f"\ncost: {line}, {cost.proof:.0f} s for the proof")
    if result.saved is not None and result.saved > 0:
        print(f"saved: {result.saved:.4g} s of run time, by each run")
