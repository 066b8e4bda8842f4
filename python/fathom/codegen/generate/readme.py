"""What lies beside the generated code: how to build it, what was decided and why, what it will do."""

from pathlib import Path

from fathom.codegen.generate.emit.context import PointText
from fathom.codegen.generate.emit.libraries import LIBRARIES, Library
from fathom.codegen.generate.emit.seal import digest
from fathom.codegen.generate.plan import Plan
from fathom.codegen.generate.spec import Spec

_COMPILERS = {"c": "mpicc -std=c11", "c++": "mpicxx -std=c++17", "fortran": "mpifort"}


def build_line(spec: Spec, names: list[str]) -> str:
    """What compiles it."""
    sources = " ".join(n for n in names if n.endswith((".c", ".cpp", ".f90")))
    library, fortran = LIBRARIES[spec.library], spec.language == "fortran"
    flags = "".join(f" -I{place}" for place in _places(library, fortran))
    flags += f" -l{library.fortran}" if fortran and library.fortran else ""
    flags += f" $(pkg-config --cflags --libs {library.packages})" if library.packages else ""
    path = Path(spec.source.path)
    program = f"{path.stem} {path.name}" if spec.source.language else "PROGRAM PROGRAM_SOURCES"
    if (
        spec.language == "fortran" and spec.source.language
    ):  # modules come before those that use them
        program, sources = f"{path.stem} {sources}", path.name
    return f"{_COMPILERS[spec.language]} -O2 -o {program} {sources}{flags}"


def _places(library: Library, fortran: bool) -> list[Path]:
    """Directories of this machine that a compiler does not look into, as Debian's, with what the library needs."""
    given = [name for name in library.besides if name.endswith(".mod") == fortran]
    places = (sorted(Path("/usr/lib").glob(f"*/{name}")) for name in given)
    return [paths[-1].parent for paths in places if paths]


def explain(plan: Plan) -> list[str]:
    """Each decision with its rule, its reason, and what says otherwise."""
    point = " ".join(filter(None, (plan.point.kind, plan.point.name)))
    lines = [f"{point}:"]
    for d in plan.decisions:
        other = f" (option {d.option})" if d.option else ""
        lines.append(f"  rule {d.rule:2}  {d.subject}: {d.choice}{other}; {d.reason}")
    kind = "reads" if plan.reading else "writes"
    for nprocs, count in plan.raw.items():
        what = kind if count != 1 else kind.removesuffix("s")
        lines.append(f"  with {nprocs} processes: {count} raw {what} of data ({_where(plan)})")
    return lines


def _where(plan: Plan) -> str:
    """Under what a count holds."""
    if plan.spec.library == "posix":
        return "each rank its own"
    return "ROMIO, one node; of Open MPI's OMPIO it is not known"


def steps(plan: Plan) -> list[str]:
    """The calls of a point, in order."""
    point = " ".join(filter(None, (plan.point.kind, plan.point.name)))
    return [f"{point}:", *(f"  {step.call} {step.object}" for step in plan.steps)]


def text(spec: Spec, plans: list[Plan], points: list[PointText], names: list[str]) -> str:
    """The page, in Markdown."""
    lines = [f"# {spec.name}: parallel I/O by {LIBRARIES[spec.library].title}", ""]
    lines += ["Functions: " + ", ".join(f"`{p.function}`" for p in points) + ".", ""]
    own = [name for name in names if "_check." not in name]
    lines += ["Build:", "", "```", build_line(spec, own), "```", ""]
    lines += ["## The plan", "", "```"]
    for plan in plans:
        lines += [*explain(plan), *steps(plan), ""]
    return "\n".join([*lines[:-1], "```", ""])


def copy_line(name: str, text: str) -> str:
    """How the page says what a copy of a program's source was when it was written."""
    return f"`{name}` as it was written: [{digest(text)}]."


def with_copy(page: str, name: str, text: str) -> str:
    return f"{page}\n{copy_line(name, text)}\n"
