"""Proves knobs by effect: recorded with two values, a program does other I/O, or the knob is dead."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fathom.catalog.knobs import Knob
from fathom.errors import FathomError, RunError
from fathom.files import alone, replace_text
from fathom.run import paths, programs
from fathom.run.store import open_run
from fathom.text.quoting import toml
from fathom.tune.settings.settings import catalog
from fathom.tune.settings.stacks import Stack, installed_stacks

RANKS = 4
SECONDS = 120
PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Verdict:
    """What became of a knob on a stack."""

    knob: str
    stack: str
    verdict: str  # alive, dead, inverted, failed
    shows: str
    settings: tuple[str, str]
    values: tuple[str, str]  # of what is shown, for each setting
    why: str = ""


class StoredVerdicts:
    """Verdicts of this machine, by the stack's fingerprint."""

    def __init__(self) -> None:
        self.path = paths.user_cache() / "knobs.json"
        self.data = self._read()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            data: dict[str, dict[str, Any]] = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            data = {}
        return data

    def of(self, knob: Knob, stack: Stack) -> Verdict | None:
        entry = self.data.get(stack.fingerprint, {}).get(knob.key)
        if entry is None:
            return None
        pairs = {key: tuple(entry[key]) for key in ("settings", "values")}
        return Verdict(**{**entry, **pairs})

    def keep(self, stack: Stack, verdict: Verdict) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with alone(self.path):
            self.data = self._read()  # others prove, too
            self.data.setdefault(stack.fingerprint, {})[verdict.knob] = asdict(verdict)
            replace_text(self.path, json.dumps(self.data, indent=1))


def provable(knob: Knob) -> list[Stack]:
    """The stacks of this machine that it can be proved on."""
    if knob.proof is None:
        return []
    return [installed_stacks()[name] for name in knob.layer.stacks if name in installed_stacks()]


class Bench:
    """A folder to build and run in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0

    def prove(self, knob: Knob, stack: Stack) -> Verdict:
        """Runs the knob's two settings on the stack."""
        assert knob.proof is not None
        first, second = knob.proof.settings
        try:
            values = (self._shown(knob, stack, first), self._shown(knob, stack, second))
        except FathomError as error:
            return self._verdict(knob, stack, "failed", ("", ""), str(error))
        verdict = "dead" if values[0] == values[1] else "alive"
        if verdict == "alive" and knob.inverted and int(values[0]) > int(values[1]):
            verdict = "inverted"
        return self._verdict(knob, stack, verdict, values)

    def _verdict(
        self, knob: Knob, stack: Stack, verdict: str, values: tuple[str, str], why: str = ""
    ) -> Verdict:
        assert knob.proof is not None
        settings = (",".join(knob.proof.settings[0]), ",".join(knob.proof.settings[1]))
        return Verdict(knob.key, stack.name, verdict, knob.proof.shows, settings, values, why)

    def _program(self, stack: Stack) -> Path:
        out = self.folder / f"{stack.api}-{stack.name}"
        if not out.exists():
            source = str(PROGRAMS / f"{stack.api}.c")
            words = [
                stack.compiler,
                "-std=gnu11",
                "-O1",
                "-w",
                "-o",
                str(out),
                source,
                *stack.flags,
            ]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                line = next(iter(done.stderr.splitlines()), "")
                raise RunError(f"{stack.compiler} cannot build {source}: {line}")
        return out

    def _shown(self, knob: Knob, stack: Stack, given: Sequence[str]) -> str:
        assert knob.proof is not None
        program = self._program(stack)
        self.runs += 1
        place = self.folder / str(self.runs)
        place.mkdir()
        (place / "settings.toml").write_text(_settings(knob, given), encoding="utf-8")
        data = place / "data"
        data.mkdir()
        words: list[str | Path] = [
            paths.native_command(), "run", "--no-show", "-o", place / "run",
            "--layers", "posix,mpiio,hdf5,pnetcdf,aio,server,disk", *_between(stack, place),
            "--tuned", place / "settings.toml", "--",
            stack.launcher, "-n", str(RANKS), program, data / "f", knob.proof.mode,
        ]  # fmt: skip
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("FATHOM_RUN")
        }
        done = programs.run(words, SECONDS, environment=environment | stack.environment)
        if done is None:
            raise RunError(f"{_as_text(given)}: no end after {SECONDS} s")
        if done.returncode:
            line = next((line for line in done.stderr.splitlines() if line.strip()), "")
            raise RunError(f"{_as_text(given)}: exit status {done.returncode}: {line}")
        run = open_run(place / "run.fathom", quiet=True)
        row = run.sql(
            "from knob_effects($path, $folder)", path=str(data / "f"), folder=str(data)
        ).to_pylist()[0]
        return str(row[knob.proof.shows.replace("-", "_")])


def _between(stack: Stack, place: Path) -> list[str | Path]:
    """Options for the servers of a stack that has some."""
    if not stack.servers:
        return []
    (place / "storage").mkdir()
    storage: list[str | Path] = ["--forward-storage", place / "storage"]
    return [f"--forward={stack.servers}", "--forward-path", place / "data", *storage]


def _as_text(given: Sequence[str]) -> str:
    return ",".join(given)


def _settings(knob: Knob, given: Sequence[str]) -> str:
    """A settings file of this knob, and of those without which it does nothing."""
    known = {one.name: one for one in catalog().values() if one.layer == knob.layer}
    beside = {name: _toml(known[name], value.split(",")) for name, value in knob.beside.items()}
    own = _toml(knob, given)
    lines = [f"{name} = {value}" for name, value in (beside | {knob.name: own}).items()]
    table = f"[[file]]\n[file.{knob.layer.name}]"
    if knob.route in ("environment", "mca", "option"):
        table = f"[launch.{knob.layer.name}]"
    return "\n".join(['accept = ["all-ranks"]', table, *lines]) + "\n"


def _toml(knob: Knob, given: Sequence[str]) -> str:
    return toml(given if len(knob.values) > 1 or knob.values[0].many else given[0])


def prove(
    pairs: Iterable[tuple[Knob, Stack]], again: bool = False
) -> Iterator[tuple[Knob, Verdict]]:
    """Verdicts as they come, of knobs each on one stack; those that are known are not proved anew unless `again`."""
    stored = StoredVerdicts()
    with tempfile.TemporaryDirectory(prefix="fathom-knobs.") as folder:
        bench = Bench(Path(folder))
        for knob, stack in pairs:
            verdict = None if again else stored.of(knob, stack)
            if verdict is None:
                verdict = bench.prove(knob, stack)
                if verdict.verdict != "failed":
                    stored.keep(stack, verdict)
            yield knob, verdict
