"""What the page asks for: requests in the order in which a report keeps them (docs/view-api.md, A report)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs

# What is asked for, and no more: forms and searches have large modules of their own.
screens.load(
    "access", "account", "breakdown", "compare", "coverage", "critical", "files", "lanes", "latency", "one_call",
    "overview", "runs", "servers", "strips", "tile",
)  # fmt: skip

CALLS = 200  # slowest calls whose chains are kept
FILES = 12  # files whose pictures are kept, those with the most time first
STRIP = 1024  # width that the timeline asks for
LANES = 16  # that it shows at once
NAMED = 4096  # lanes up to which it asks for their names: web/src/state/lanes.ts


@dataclass(frozen=True)
class Request:
    """A name with parameters."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """As the page writes it: `requestKey` of web/src/source/source.ts."""
        given = sorted((name, text) for name, text in self.parameters.items() if text)
        pairs = "&".join(f"{_encoded(name)}={_encoded(text)}" for name, text in given)
        return f"{self.name}?{pairs}" if pairs else self.name


def _encoded(text: str) -> str:
    """As URLSearchParams does."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def whole(run: str, selection: Mapping[str, str]) -> Iterator[Request]:
    """The screens of one selection."""
    scope = {"run": run} | dict(selection)
    yield Request("overview", scope)
    yield Request("slowest", scope)
    for by in ("layer", "op", "lane", "server", "call"):
        for of in ("inclusive", "exclusive"):
            yield Request("breakdown", scope | {"by": by, "of": of})
    for by in ("file", "rank", "op", "call"):
        yield Request("files", scope | {"by": by})
    for name in ("latency", "servers", "samples"):
        yield Request(name, scope)


def _part(run: str, selection: Mapping[str, str]) -> Iterator[Request]:
    """Of the screens of one selection those that are looked at first."""
    scope = {"run": run} | dict(selection)
    yield Request("overview", scope)
    yield Request("slowest", scope)
    yield Request("breakdown", scope | {"by": "op", "of": "inclusive"})
    yield Request("files", scope | {"by": "file"})
    yield Request("latency", scope)


def first(runs: Runs) -> Iterator[Request]:
    """All screens of all runs with nothing selected; first what the page opens with, which says what is not here."""
    yield Request("runs")
    for run in runs.all:
        yield Request("overview", {"run": run})
        yield Request("account", {"run": run})
    for run, opened in runs.all.items():
        count = opened.run.sql("select count(*) as n from processes")["n"][0].as_py()
        if count <= NAMED:
            yield Request("lanes", {"run": run})
        for name in ("zooms", "findings", "critical"):
            yield Request(name, {"run": run})
        lanes = "" if count <= LANES else f"0-{LANES - 1}"
        yield Request("strips", {"run": run, "width": str(STRIP), "lanes": lanes})
        yield from whole(run, {})
        for other in runs.all:
            if other != run:
                yield Request("compare", {"run": run, "with": other})


def of_files(run: str, answers: Mapping[str, Any]) -> Iterator[Request]:
    """Folders of the tree that lie open; pictures of the file that is opened first, and of those with the most time."""
    files: list[list[Any]] = []
    requests = [Request("files", {"run": run, "by": "file"})]
    for _ in range(FILES):
        answer = answers.get(requests.pop(0).key) if requests else None
        if answer is None:
            break
        rows = answer["table"]["rows"]
        files += [row for row in rows if row[0] is not None]
        for path in [row[1] for row in rows if row[0] is None][:3]:
            requests.append(Request("files", {"run": run, "by": "file", "under": path}))
            yield requests[-1]
    most = [str(row[0]) for row in sorted(files, key=lambda row: -row[-1])]
    for file in ["", *most[:FILES]]:
        yield from pictures(run, file)


def pictures(run: str, file: str = "") -> Iterator[Request]:
    """Where in a file it was read and written; none given: in the one that the screen begins with."""
    for across in ("time", "lane"):
        yield Request("access", {"run": run, "file": file, "across": across})
    yield Request("coverage", {"run": run, "file": file})


def of_findings(run: str, answers: Mapping[str, Any]) -> Iterator[Request]:
    """All screens of each finding's selection and of each landmark's."""
    overview = answers.get(Request("overview", {"run": run}).key) or {}
    for pointed in [*overview.get("landmarks", []), *_findings(run, answers)]:
        selection = {key: str(text) for key, text in pointed["selection"].items() if key != "call"}
        if selection:
            yield from _part(run, selection)


def chains(run: str, answers: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Calls of which is kept what is above, below and beside them: those that findings stand on, and the slowest."""
    overview = answers.get(Request("overview", {"run": run}).key) or {}
    slowest = answers.get(Request("slowest", {"run": run}).key)
    pointed = [one["selection"].get("call") for one in overview.get("landmarks", [])]
    pointed += [call for one in _findings(run, answers) for call, _ in one["evidence"]]
    first = list(dict.fromkeys(str(call) for call in pointed if call))
    rows = slowest["rows"][:CALLS] if slowest else []
    return first, [row[0] for row in rows if row[0] not in first]


def _findings(run: str, answers: Mapping[str, Any]) -> list[dict[str, Any]]:
    answer = answers.get(Request("findings", {"run": run}).key) or {}
    findings: list[dict[str, Any]] = answer.get("findings", [])
    return findings


def outermost(answer: Mapping[str, Any]) -> str:
    """The call whose tree the page asks for."""
    return str((answer["ancestors"] or [answer["call"]])[0]["call"])


def tiles(run: str, answers: Mapping[str, Any]) -> Iterator[tuple[int, Iterator[Request]]]:
    """Tiles of each zoom of the run's pictures that lies ready, the coarsest first."""
    zooms = answers.get(Request("zooms", {"run": run}).key) or {"zooms": []}
    facts = next(one for one in answers[Request("runs").key]["runs"] if one["name"] == run)
    for zoom in (one for one in zooms["zooms"] if one["ready"]):
        yield zoom["z"], _tiles(run, zoom, facts["layers"])


def _tiles(run: str, zoom: Mapping[str, int], layers: list[str]) -> Iterator[Request]:
    for layer in layers:
        for y in range(-(-zoom["rows"] // 64)):
            for x in range(-(-zoom["bins"] // 256)):
                place = {"z": str(zoom["z"]), "x": str(x), "y": str(y)}
                yield Request("tile", {"run": run, "layer": layer} | place)
