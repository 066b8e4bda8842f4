"""What a study file says (docs/commands/study.md), and the runs that follow from it."""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fathom.errors import UsageError

Values = Mapping[str, Any]
KEYS = {"name", "directory", "repeat", "timeout", "servers", "vary", "programs", "mixes", "record"}
RECORD = {
    "level": "--level",
    "layers": "--layers",
    "ranks": "--ranks",
    "select": "--select",
    "budget": "--budget",
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", re.ASCII)
HOLE = re.compile(r"\{(\w+)\}")
SERVERS = "servers"  # how many of them, of what is varied; their directories, in a program's line


@dataclass(frozen=True)
class Program:
    """One program of a run: where it is recorded, and its words."""

    run: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """Programs that run at once, with these values."""

    mix: str
    values: tuple[tuple[str, Any], ...]
    repetition: int
    programs: tuple[Program, ...]


@dataclass(frozen=True)
class Plan:
    """A study. `folder`: where its runs go; `directory`: where programs start."""

    folder: Path
    directory: Path
    repeat: int
    timeout: float | None
    servers: tuple[str, ...]
    vary: Mapping[str, Sequence[Any]]
    programs: Mapping[str, tuple[str, ...]]
    mixes: Mapping[str, tuple[str, ...]]
    record: tuple[str, ...]

    def points(self) -> Iterator[Point]:
        """Every combination of the values that a mix's programs name, as often as it is to be repeated, turn by turn:
        what drifts on the machine then meets all of them alike."""
        for turn in range(self.repeat):
            for mix, names in self.mixes.items():
                used = {
                    hole
                    for name in names
                    for word in self.programs[name]
                    for hole in HOLE.findall(word)
                }
                varied = [name for name in self.vary if name in used]
                for values in product(*(self.vary[name] for name in varied)):
                    yield self._point(mix, dict(zip(varied, values, strict=True)), turn)

    def _point(self, mix: str, values: Values, turn: int) -> Point:
        names = self.mixes[mix]
        parts = [
            f"{name}-{re.sub(r'[^A-Za-z0-9]+', '_', str(value))}" for name, value in values.items()
        ]
        numbered = [
            f"{name}-{names[: at + 1].count(name)}" if names.count(name) > 1 else name
            for at, name in enumerate(names)
        ]
        programs = []
        for name, own in zip(names, numbered, strict=True):
            whole = [mix, *([own] if own != mix else []), *parts, str(turn + 1)]
            run = ".".join(whole)
            words = tuple(self._filled(word, values, run) for word in self.programs[name])
            programs.append(Program(run, tuple(one for each in words for one in each)))
        return Point(mix, tuple(values.items()), turn, tuple(programs))

    def _filled(self, word: str, values: Values, run: str) -> list[str]:
        """A word with values in their places; `{servers}` alone is as many words as there are servers."""
        folders = [
            str(self.directory / server)
            for server in self.servers[: values.get(SERVERS, len(self.servers))]
        ]
        if word == "{servers}":
            return folders
        given = dict(values) | {SERVERS: ",".join(folders), "run": run}
        return [HOLE.sub(lambda hole: str(given[hole[1]]), word)]


def read(path: Path) -> Plan:
    """The plan in a file. Errors: UsageError, one line that says where."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from error
    return _Reader(path, content).plan()


class _Reader:
    """Checks each key, with the file's name in what it says."""

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path, self.content = path, content

    def wrong(self, says: str) -> UsageError:
        return UsageError(f"{self.path}: {says}")

    def plan(self) -> Plan:
        for key in self.content.keys() - KEYS:
            raise self.wrong(f"no key '{key}'; there are {', '.join(sorted(KEYS))}")
        repeat, timeout = self._whole("repeat", 1), self._whole("timeout", 0)
        programs, vary = self._programs(), self._vary()
        servers = self._texts("servers", self.content.get("servers", []))
        self._check_holes(programs, vary)
        if any(not isinstance(n, int) or not 0 < n <= len(servers) for n in vary.get(SERVERS, [])):
            raise self.wrong(
                f"vary.servers: how many of the {len(servers)} directories in 'servers', as [1, 2]"
            )
        directory = (self.path.parent / str(self.content.get("directory", "."))).resolve()
        if not directory.is_dir():
            raise self.wrong(f"directory: {directory} is none")
        return Plan(
            folder=directory / f"{self._name()}.study", directory=directory, repeat=repeat,
            timeout=timeout or None, servers=servers, vary=vary, programs=programs,
            mixes=self._mixes(programs), record=self._record(),
        )  # fmt: skip

    def _name(self) -> str:
        name = str(self.content.get("name", self.path.stem))
        if not NAME.fullmatch(name):
            raise self.wrong(f"name: '{name}': letters, digits and dashes are expected")
        return name

    def _whole(self, key: str, default: int) -> int:
        value = self.content.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < default:
            raise self.wrong(f"{key}: a whole number from {default} is expected")
        return value

    def _texts(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(f"{key}: a list of texts is expected")
        return tuple(value)

    def _table(self, key: str) -> dict[str, Any]:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"{key}: a table is expected, [{key}]")
        for name in value:
            if not NAME.fullmatch(name):
                raise self.wrong(f"{key}: '{name}': letters, digits and dashes are expected")
        return value

    def _programs(self) -> dict[str, tuple[str, ...]]:
        programs = {}
        for name, line in self._table("programs").items():
            try:
                programs[name] = tuple(
                    shlex.split(line)
                    if isinstance(line, str)
                    else self._texts(f"programs.{name}", line)
                )
            except ValueError as error:
                raise self.wrong(f"programs.{name}: {error}") from error
            if not programs[name]:
                raise self.wrong(f"programs.{name}: a command line is expected")
        if not programs:
            raise self.wrong(
                'no program: [programs] has lines, as write = "mpiexec -n {ranks} ./write"'
            )
        return programs

    def _vary(self) -> dict[str, Sequence[Any]]:
        vary = self._table("vary")
        for name, values in vary.items():
            good = (
                isinstance(values, list)
                and values
                and all(isinstance(v, str | int | float) for v in values)
            )
            if not good or len(set(map(str, values))) < len(values):
                raise self.wrong(f"vary.{name}: a list of different numbers or texts is expected")
        return vary

    def _check_holes(self, programs: Mapping[str, tuple[str, ...]], vary: Values) -> None:
        for name, words in programs.items():
            for hole in {one for word in words for one in HOLE.findall(word)} - {
                *vary,
                SERVERS,
                "run",
            }:
                raise self.wrong(f"programs.{name}: {{{hole}}} is not in [vary]")

    def _mixes(self, programs: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Mixes that are named; none: each program alone."""
        mixes = {
            name: self._texts(f"mixes.{name}", names)
            for name, names in self._table("mixes").items()
        }
        for mix, names in mixes.items():
            for name in names:
                if name not in programs:
                    raise self.wrong(
                        f"mixes.{mix}: no program '{name}'; there are {', '.join(programs)}"
                    )
            if not names:
                raise self.wrong(f"mixes.{mix}: names of programs are expected")
        return mixes or {name: (name,) for name in programs}

    def _record(self) -> tuple[str, ...]:
        words: list[str] = []
        for key, value in self._table("record").items():
            if key not in RECORD:
                raise self.wrong(f"record: no key '{key}'; there are {', '.join(RECORD)}")
            words += [RECORD[key], ",".join(value) if isinstance(value, list) else str(value)]
        return tuple(words)
