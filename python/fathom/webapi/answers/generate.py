"""`form`, `hints`, `archive`, `save`: the form of `fathom generate` (docs/generate-language.md).

The text is the one truth: the page edits it, as text or by the places that `hints` says, and sends it whole.
"""

import base64
import io
import zipfile
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from fathom.codegen.generate import build, command, readme
from fathom.codegen.generate.emit.libraries import LIBRARIES
from fathom.codegen.generate.emit.shared import RAW
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.language.outline import offset, outline
from fathom.codegen.generate.language.source import Source, language_of, scan
from fathom.codegen.generate.optimise.rules import OVERRIDES
from fathom.codegen.generate.options import LAYOUT
from fathom.codegen.generate.plan import Plan
from fathom.codegen.generate.spec import LANGUAGES, TYPES, Spec
from fathom.errors import FathomError, UsageError
from fathom.webapi.answers import answer, choice, number, text
from fathom.webapi.answers.declare import declare_at
from fathom.webapi.answers.owners import owners
from fathom.webapi.answers.session import Runs

#: Ranks that a check while one types may have; more is `fathom generate --check`.
MOST_RANKS = 4096
#: The level of I/O at which a library works, as the thesis names them.
LEVELS = {"pnetcdf": "high", "hdf5": "high", "netcdf4": "high", "mpiio": "middle", "posix": "low"}


@dataclass(frozen=True)
class Program:
    """The source that `fathom view --generate` was given, if any, and whether the page may write beside it."""

    path: Path | None
    may_write: bool


def file_name(name: str, word: str) -> str:
    """A file's name without a directory."""
    if word != Path(word).name or not word.isprintable() or len(word) > 255:
        raise UsageError(f"{name}={word[:40]!r}: the name of a source, without a directory")
    return word


READERS = {
    "name": file_name,
    "text": text,
    "ends": choice("lf", "crlf"),
    "check": choice("yes", "no"),
}


def _beginning(name: str) -> str:
    folder = resources.files("fathom.webapi.answers").joinpath("beginnings")
    return folder.joinpath(name).read_text("utf-8")


@answer("form", of_all=True)
def form(runs: Runs) -> dict[str, Any]:
    """What the form is made of: the source, words to choose from, programs to begin with."""
    program: Program | None = runs.program
    source = None
    if program is not None and program.path is not None:
        content = command.text_of(program.path)
        source = {"name": program.path.name, "path": str(program.path), "text": content}
    return {
        "source": source,
        "may write": source is not None and program is not None and program.may_write,
        "libraries": [
            {"name": name, "title": library.title, "level": LEVELS[name]}
            for name, library in LIBRARIES.items()
        ],
        "languages": LANGUAGES,
        "types": list(TYPES),
        "overrides": OVERRIDES,
        "layout": list(LAYOUT),
        "beginnings": {"c": _beginning("c.txt"), "fortran": _beginning("fortran.txt")},
    }


def _place(source: Source, wrong: Mistake) -> dict[str, Any]:
    place = wrong.place
    return {
        "line": place.line,
        "column": place.column,
        "at": offset(source, place.line, place.column),
        "what": wrong.what,
        "remedy": wrong.remedy,
        "picture": wrong.picture,
    }


def _few(spec: Spec) -> None:
    """Refuses what would be worked out for longer than somebody who types waits."""
    most = max(spec.processes)
    if most > MOST_RANKS:
        raise Mistake(
            spec.options["processes"].place,
            f"{most} processes are more than the form checks while you type",
            f"say {MOST_RANKS} at most here, and check more by `fathom generate --check`",
        )


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "point": " ".join(filter(None, (plan.point.kind, plan.point.name))),
        "reading": plan.reading,
        "decisions": [asdict(d) for d in plan.decisions],
        "raw": list(plan.raw.items()),
        "steps": [asdict(step) for step in plan.steps],
    }


def _with_ends(text: str, ends: str) -> str:
    return text.replace("\n", "\r\n") if ends == "crlf" else text


def _generated(name: str, text: str, check: str) -> dict[str, Any]:
    """What a text without mistakes gives."""
    generated = command.generate(Path(name), {}, check == "yes", text)
    spec = generated.spec
    own = [n for n in generated.texts if n != name and "_check." not in n and not n.endswith(".md")]
    line = readme.build_line(spec, own)
    program = Path(name).stem
    if spec.source.language:
        line = line.replace("PROGRAM_SOURCES", name).replace("PROGRAM", program)
    notes = []
    if spec.attributes and spec.library in RAW:
        notes.append("attributes are left out: a plain file has no place for them")
    return {
        "files": [{"name": one, "text": words} for one, words in generated.texts.items()],
        "plans": [_plan(one) for one in generated.plans],
        "build": line,
        "start": f"mpiexec -n {spec.processes[0]} ./{program if spec.source.language else 'PROGRAM'}",
        "notes": notes,
    }


NOTHING: dict[str, Any] = {"files": [], "plans": [], "build": "", "start": "", "notes": []}


@answer("hints", of_all=True, required=("name",), processes=number(1, MOST_RANKS), **READERS)
def hints(
    _: Runs, name: str, text: str = "", ends: str = "lf", check: str = "no", processes: int = 0
) -> dict[str, Any]:
    """A text's blocks by their places, its first mistake or else what is made of it, and who owns what."""
    form: dict[str, Any] = {
        "language": language_of(name), "declare": 0, "blocks": None, "mistake": None, "owners": [], "processes": 0,
        "library": "", "title": "", **NOTHING,
    }  # fmt: skip
    bare = Source(name, text.splitlines(keepends=True), [], form["language"])
    form["declare"] = offset(bare, declare_at(bare) + 1, 1)
    try:
        source = scan(name, text)
        form["blocks"] = [asdict(block) for block in outline(source)]
        spec = build.read(name, text)
        form |= {"library": spec.library, "title": LIBRARIES[spec.library].title}
        _few(spec)
        form["processes"] = processes or spec.processes[0]
        form["owners"] = owners(spec, form["processes"])
        form |= _generated(name, _with_ends(text, ends), check)
    except Mistake as wrong:
        form["mistake"] = _place(bare, wrong)
    except FathomError as error:
        form["mistake"] = _of_the_whole(name, error)
    return form


def _of_the_whole(name: str, error: FathomError) -> dict[str, Any]:
    what = str(error).removeprefix(f"{name}:").strip()
    return {"line": 1, "column": 1, "at": 0, "what": what, "remedy": "", "picture": ""}


@answer("archive", of_all=True, required=("name", "text"), **READERS)
def archive(_: Runs, name: str, text: str, ends: str = "lf", check: str = "no") -> dict[str, str]:
    """All files in one, zipped. Errors: what is wrong with the text."""
    source = _with_ends(text, ends)
    generated = command.generate(Path(name), {}, check == "yes", source)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as folder:
        for one, words in ({name: source} | generated.texts).items():
            folder.writestr(zipfile.ZipInfo(one), words)
    return {
        "name": f"{generated.spec.name}.zip",
        "base64": base64.b64encode(packed.getvalue()).decode(),
    }


@answer("save", of_all=True, required=("name", "text"), was=text, **READERS)
def save(
    runs: Runs, name: str, text: str, was: str = "", ends: str = "lf", check: str = "no"
) -> dict[str, Any]:
    """Writes the source and all files beside it, but over nothing that was edited. `was`: the source when opened."""
    program: Program | None = runs.program
    if program is None or program.path is None or not program.may_write:
        raise UsageError(
            "nothing is written from here: fathom view --generate SOURCE --allow-write lets it"
        )
    path = program.path
    if name != path.name:
        raise UsageError(f"{name} is not the source that this page was opened with, {path.name}")
    if command.text_of(path) != was:
        raise UsageError(
            f"{path} has changed since it was opened here: download yours, reload the page, and bring both together"
        )
    source = _with_ends(text, ends)
    generated = command.generate(path, {}, check == "yes", source)
    generated.texts.setdefault(path.name, source)
    written = command.write(generated, path, path.parent)
    return {"written": [one.name for one in written], "text": generated.texts[path.name]}
