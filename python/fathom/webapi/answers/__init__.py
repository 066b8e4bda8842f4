"""Answers to what the UI asks (docs/view-api.md): a function each, in a module of its own, with its SQL beside it.

`fathom view` gives them over HTTP, `fathom report` puts those of `webapi/report/requests.py` into the page; both call
`ask`. web/src/source/answers.ts has their types, a screen takes one by `useAnswer`.
"""

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

import duckdb

from fathom.analysis import selection
from fathom.cache.answers import to_json
from fathom.errors import FathomError, UsageError
from fathom.webapi.answers.session import Runs, Stop, View
from fathom.webapi.answers.table import Table

Reader = Callable[[str, str], Any]
"""Gives the value of a parameter, of its name and its text, or UsageError."""


@dataclass(frozen=True)
class Answer:
    """A name that can be asked."""

    function: Callable[..., Any]
    readers: Mapping[str, Reader]  # of its own parameters
    required: tuple[str, ...]
    of_all: bool  # of all open runs, so no `run` is given
    each: str = (
        ""  # parameter of which the function takes a list, and gives an answer for each value
    )
    missing: str = ""  # what is wrong with a value that it gives none for


#: Names that do something, or are given a whole source: asked for by POST, which a page of another origin cannot send
#: unseen.
ACTS = frozenset({"again", "hints", "archive", "save"})

#: Puts in what is not the program's but a run-time's (docs/tables.md, `runtime`).
ALL = "all"

#: Answers of the moment: never kept.
MOMENT = frozenset({"now", "again"})

#: Answers of the whole run, whatever is selected.
WHOLE = frozenset(("account", "overview", "findings", "zooms"))
# What else is kept in files when nothing is selected: nothing outside the run has a part in it.
LASTING = WHOLE | {
    "lanes", "slowest", "breakdown", "files", "access", "coverage", "servers", "samples", "latency"
}  # fmt: skip

_ANSWERS: dict[str, Answer] = {}
Function = Callable[..., Any]


def answer(
    name: str, /, *, required: tuple[str, ...] = (), of_all: bool = False, **readers: Reader
) -> Callable[[Function], Function]:
    """The function answers `name`: `(view, selection, own parameters by name)`, or `(runs)` where it is of all runs.
    Parameters that are not `required` have a default in the function."""
    return _register(name, lambda function: Answer(function, readers, required, of_all))


def answer_each(
    name: str, each: str, missing: str, /, **readers: Reader
) -> Callable[[Function], Function]:
    """The same of a function that takes a list of what parameter `each` may be, and gives a dictionary with an answer
    for each; `missing` says what is wrong with one that is not there."""
    return _register(
        name, lambda function: Answer(function, readers, (each,), False, each, missing)
    )


def _register(name: str, make: Callable[[Function], Answer]) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        if name in _ANSWERS:
            raise ValueError(f"two functions answer '{name}'")
        _ANSWERS[name] = make(function)
        return function

    return register


@cache
def answers() -> Mapping[str, Answer]:
    """All names: every module of this folder is looked at."""
    load(*(module.name for module in pkgutil.iter_modules(__path__)))
    return dict(sorted(_ANSWERS.items()))


def load(*modules: str) -> None:
    """These modules of this folder, so that their answers are known."""
    for module in modules:
        importlib.import_module(f"{__name__}.{module}")


def named(name: str) -> Answer:
    """The answer of this name: of modules that are loaded, else of all. Errors: UsageError, there is none."""
    if name not in _ANSWERS and name not in answers():
        raise UsageError(f"no answer {name[:40]!r}; there are {', '.join(answers())}")
    return _ANSWERS[name]


def number(least: int = 0, most: int = selection.MOST) -> Reader:
    """Reads a whole number."""
    return lambda name, word: selection.whole(name, word, least, most)


def choice(*words: str) -> Reader:
    """Reads one of these words."""

    def read(name: str, word: str) -> str:
        if word not in words:
            raise UsageError(f"{name}={word[:40]!r}: one of {', '.join(words)} is expected")
        return word

    return read


def text(_: str, word: str) -> str:
    """Takes any text."""
    return word


def _everything(name: str, parameters: Mapping[str, str]) -> bool:
    word = parameters.get(ALL, "")
    if word not in ("", "1"):
        raise UsageError(f"{name}: {ALL}={word[:40]!r}: 1 is expected")
    return bool(word)


def _own(name: str, answer_: Answer, parameters: Mapping[str, str]) -> dict[str, Any]:
    known = {*answer_.readers, *selection.READERS, "run", ALL}
    for key in parameters.keys() - known:
        raise UsageError(f"{name}: no parameter {key[:40]!r}; there are {', '.join(sorted(known))}")
    for key in answer_.required:
        if not parameters.get(key):
            raise UsageError(f"{name}: parameter '{key}' is missing")
    return {
        key: read(key, parameters[key])
        for key, read in answer_.readers.items()
        if parameters.get(key)
    }


def ask(runs: Runs, name: str, parameters: Mapping[str, str], stop: Stop | None = None) -> Any:
    """The answer, as JSON has it, or bytes. `stop` ends it from another thread. Errors: UsageError of a name,
    parameter or value; `opened.NoSuchRun`, `opened.OverLimit`."""
    written = ask_written(runs, name, parameters, stop)
    return written if isinstance(written, bytes) else json.loads(written)


def ask_written(
    runs: Runs, name: str, parameters: Mapping[str, str], stop: Stop | None = None
) -> str | bytes:
    """The same as the JSON that it is, since that is what an answer is kept as."""
    before = runs.generation
    try:
        return _answer(runs, name, parameters, stop)
    except (FathomError, duckdb.Error, OSError):
        if not runs.have_changed(before):
            raise
    return _answer(runs, name, parameters, stop)  # the tables were made anew while it read them


def ask_each(
    runs: Runs, name: str, parameters: Mapping[str, str], words: Sequence[str]
) -> list[Any]:
    """Answers to one name for many values of its parameter `each`, worked out together; of one that cannot be answered
    the UsageError."""
    answer_ = named(name)
    read = answer_.readers[answer_.each]
    values = [read(answer_.each, word) for word in words]
    own = _own(name, answer_, {**parameters, answer_.each: words[0]}) if words else {}
    view = runs.view(parameters["run"], None, _everything(name, parameters))
    own[answer_.each] = values
    replies = answer_.function(view, selection.read(parameters), **own) if words else {}
    return [
        json.loads(to_json(plain(replies[value])))
        if value in replies
        else _no_answer(answer_, value)
        for value in values
    ]


def _no_answer(answer_: Answer, value: Any) -> UsageError:
    return UsageError(f"{answer_.each}={value}: {answer_.missing}")


def _one(answer_: Answer, view: View, chosen: selection.Selection, own: dict[str, Any]) -> Any:
    if not answer_.each:
        return answer_.function(view, chosen, **own)
    value = own[answer_.each]
    replies = answer_.function(view, chosen, **{**own, answer_.each: [value]})
    if value not in replies:
        raise _no_answer(answer_, value)
    return replies[value]


def _answer(runs: Runs, name: str, parameters: Mapping[str, str], stop: Stop | None) -> str | bytes:
    answer_ = named(name)
    own = _own(name, answer_, parameters)
    if answer_.of_all:
        return to_json(plain(answer_.function(runs, **own)))
    if not parameters.get("run"):
        raise UsageError(f"{name}: parameter 'run' is missing")
    view = runs.view(parameters["run"], stop, _everything(name, parameters))
    chosen = selection.read(parameters)
    chosen = selection.Selection() if name in WHOLE else chosen

    def make() -> Any:
        return plain(_one(answer_, view, chosen, own))

    if name in MOMENT:
        return to_json(make())
    is_whole = is_lasting(name, parameters)
    return view.opened.answers.answer_json(
        _question(name, parameters), is_whole, make, view.stop.check
    )


def is_lasting(name: str, parameters: Mapping[str, str]) -> bool:
    """Is it worked out once for a run, however long it takes, and kept? Errors: UsageError of a selection's value."""
    return name in WHOLE or (
        name in LASTING and selection.read(parameters) == selection.Selection()
    )


def _question(name: str, parameters: Mapping[str, str]) -> str:
    """A request without what plays no part in its answer."""
    left_out = selection.READERS if name in WHOLE else ()
    given = [
        (key, word) for key, word in sorted(parameters.items()) if word and key not in left_out
    ]
    return f"{name}?{urlencode(given, errors='surrogatepass')}"


def plain(value: Any) -> Any:
    """Tables and dataclasses inside an answer as JSON has them."""
    if isinstance(value, Table):
        return value.as_json()
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
