"""One specification to its files: what `fathom generate` does between reading and writing."""

from dataclasses import dataclass
from pathlib import Path

from fathom.codegen.generate import build, readme
from fathom.codegen.generate.analysis.check import check
from fathom.codegen.generate.emit import c, fortran
from fathom.codegen.generate.emit.context import PointText
from fathom.codegen.generate.emit.seal import check_unedited
from fathom.codegen.generate.emit.seal import sealed as sealed_text
from fathom.codegen.generate.emit.shared import uses_memory
from fathom.codegen.generate.language.fortran import check_use
from fathom.codegen.generate.optimise.memory import in_memory
from fathom.codegen.generate.plan import Plan, plan
from fathom.codegen.generate.restructure import restructure
from fathom.codegen.generate.spec import Option, Point, Spec
from fathom.codegen.generate.splice import splice
from fathom.errors import FathomError, UsageError, why
from fathom.files import replace_bytes


@dataclass(frozen=True)
class Generated:
    spec: Spec
    plans: list[Plan]
    texts: dict[str, str]  # by file name; the spliced source among them
    sealed: list[str]  # those that carry a hash of their own


def text_of(path: Path) -> str:
    """What a source says. Errors: UsageError."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not text in UTF-8 (byte {error.start})") from error


def checked(
    path: Path, instead: dict[str, str], text: str | None = None
) -> tuple[Spec, list[Plan]]:
    """The specification, with options replaced by `instead`, and its plans; a FathomError for what is wrong with it.
    `text`: instead of what the file says."""
    spec = build.read(str(path), text_of(path) if text is None else text)
    own, other = spec.source.language, instead.get("language")
    if own and other and own != other and path.suffix != ".h":
        raise UsageError(
            f"{path}: this is a program in {own}; code in {other} does not fit into it"
        )
    for name, word in instead.items():
        spec.options[name] = Option((word,), spec.source.place(0, 1))
    restructure(spec)
    check(spec)
    points = {id(point.block) for point in spec.points}
    first = next((block for block in spec.source.blocks if id(block) not in points), None)
    if own == "fortran" and first is not None:
        check_use(spec.source, first)
    if uses_memory(spec):
        spec.in_memory = in_memory(spec)
    return spec, [plan(spec, point) for point in spec.points]


def generate(
    path: Path, instead: dict[str, str], self_check: bool, text: str | None = None
) -> Generated:
    """All files of a specification, as text."""
    spec, plans = checked(path, instead, text)
    make = fortran.generate if spec.language == "fortran" else c.generate
    files = make(spec, plans, self_check)
    texts = dict(files.texts)
    sealed = [*texts, f"{spec.name}_io.md"]
    page = f"{spec.name}_io.md"
    if spec.source.language:
        calls = {id(p.plan.point): p for p in files.points}
        texts[path.name] = splice(spec.source, _regions(spec, calls))
    own = [name for name in texts if name != path.name]
    page_text = readme.text(spec, plans, files.points, own)
    if path.name in texts:
        page_text = readme.with_copy(page_text, path.name, texts[path.name])
    texts[page] = sealed_text(page_text, "<!-- ", " -->")
    return Generated(spec, plans, texts, sealed)


def _regions(spec: Spec, calls: dict[int, PointText]) -> dict[int, list[str]]:
    """Lines behind each I/O point, and behind the first other block what makes the functions known."""
    emitter = fortran if spec.language == "fortran" else c
    regions: dict[int, list[str]] = {}
    points: dict[int, Point] = {id(point.block): point for point in spec.points}
    brought = False
    for number, block in enumerate(spec.source.blocks):
        if id(block) in points:
            text = calls[id(points[id(block)])]
            regions[number] = emitter.call_lines(spec, text)
        elif not brought:
            regions[number] = emitter.bring_lines(spec)
            brought = True
    return regions


def write(generated: Generated, source: Path, out: Path) -> list[Path]:
    """Writes what is new or changed; refuses, before it writes anything, what was edited."""
    for name in generated.sealed:
        check_unedited(out / name)
    copy = out / source.name
    if source.name in generated.texts and copy.exists() and not copy.samefile(source):
        _check_copy(generated, copy)
    path = out
    try:
        out.mkdir(parents=True, exist_ok=True)
        written = []
        for name, text in generated.texts.items():
            path = out / name
            if not path.exists() or path.read_bytes() != text.encode():
                replace_bytes(path, text.encode())
                written.append(path)
    except OSError as error:
        raise FathomError(f"{path}: {why(error)}") from error
    return written


def _check_copy(generated: Generated, path: Path) -> None:
    """A copy from an earlier run is replaced only as it was written: the page beside it has its hash."""
    page = path.with_name(f"{generated.spec.name}_io.md")
    text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    known = page.read_text(encoding="utf-8") if page.exists() else ""
    if readme.copy_line(path.name, text) not in known:
        raise UsageError(
            f"{path}: is there, and not as fathom generate wrote it; move your change into the source, or"
            " the file away, and generate again"
        )
