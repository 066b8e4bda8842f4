"""Programs that we did not make, at real work, under Fathom: they do what they do without, and strace saw the same."""

from __future__ import annotations

import functools
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

from harness import paths, runner
from harness.case import Case

from torture.part import Part, shared

LISTED = Path(__file__).with_name("programs.toml")
#: Texts that the programs are given; scripts.
TEXTS = {
    "text": "".join(f"line {n}: import of words, é and \t tabs {n * n}\n" for n in range(4000)),
    "odd": "".join(f"line {n}: import of words, é and \t tabs {n * n}\n" for n in range(1, 8000, 2)),
    "numbers": "".join(f"{(n * 7919) % 100003:06d}\n" for n in range(4000)),
    "pairs": "".join(f"{n} {n + 1}\n" for n in range(2000)),
    "main.c": "#include <stdio.h>\nint main(void) { puts(\"done\"); return 0; }\n",
    "two.s": ".globl two\ntwo:\n\tret\n",
    "sums.bc": "s = 0\nfor (n = 0; n < 2000; n++) s += n * n\ns\nquit\n",
    "script.ed": "1,100d\n$a\nlast\n.\nw edited\nq\n",
    "copy.tcl": "set f [open text]; set g [open copied w]; fcopy $f $g; close $g; close $f\n",
    "rules": "all: one two\none: text\n\tcp text one\ntwo: one\n\twc one > two\n",
    "list": "text\nnumbers\nodd\n",
    "list.json": "[" + ",".join(map(str, range(20000))) + "]",
    "make.cdl": "netcdf made { dimensions: x = 5000; variables: double x(x); data: x = "
    + ",".join(map(str, range(5000)))
    + "; }\n",
}  # fmt: skip
MADE = (
    "tar --sort=name --mtime=2020-01-01 -cf made.tar tree",
    "zip -qrX made.zip tree",
    "gcc -g -c -o main.o main.c",
    "ar Drc lib.a main.o",
    "ncgen -k nc4 -o made.nc make.cdl",
    "cp made.nc made.h5",
    "sqlite3 base.sqlite 'create table t (n); with recursive r(n) as (select 1 union all select n + 1 from r"
    " where n < 20000) insert into t select n from r'",
    "sh -c 'sort -o numbers numbers; sha256sum text made.tar > sums; diff -u text odd > change.diff; rm -r tree/cli'",
)


@functools.cache
def ready() -> Path:
    """A place that every round begins with a copy of."""
    place = shared()
    sources = paths.ROOT / "python" / "fathom"
    for name in ("tree", "twin"):
        shutil.copytree(sources, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in TEXTS.items():
        (place / name).write_text(text)
    for command in MADE:
        subprocess.run(shlex.split(command), cwd=place, check=True)
    (place / "new").mkdir()
    return place


@functools.cache
def commands() -> dict[str, str]:
    """Those that this machine has."""
    listed: dict[str, str] = tomllib.loads(LISTED.read_text())["shell"]
    return {name: line for name, line in listed.items() if shutil.which(line.split()[0])}


def files(place: Path) -> dict[str, bytes]:
    """By name; of a link where it leads. git's index and sockets of times are none of a program's output."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if path.is_symlink():
            found[name] = str(path.readlink()).encode()
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def same_as_bare(place: Path, seed: int) -> int:
    """The seed's program, bare and under Fathom, each in a copy of the place at the same path."""
    name, line = list(commands().items())[seed % len(commands())]
    work = place / "work"
    shutil.copytree(ready(), work, symlinks=True)
    bare = subprocess.run(
        shlex.split(line.format(d=work)), cwd=work, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )  # fmt: skip
    without = files(work)
    shutil.rmtree(work)
    shutil.copytree(ready(), work, symlinks=True)
    run = f"fathom run -- {line}".replace("{d}", str(work))
    case = Case(
        path=LISTED, variant=name, run=run, exit=bare.returncode, oracle="strace", level="call"
    )
    known = runner.words(case, place)
    command = runner.watched(runner.under_fathom(run, known), known, place / "strace")
    done = runner.execute(command, {}, 300, work)
    assert (done.returncode, done.stdout) == (
        bare.returncode,
        bare.stdout.decode(errors="replace"),
    ), (
        f"{name}: status {done.returncode} for {bare.returncode}, or another output: {done.stderr[-500:]}"
    )
    changed = [path for path, content in files(work).items() if without.get(path) != content]
    assert not changed and len(files(work)) == len(without), f"{name}: other files: {changed[:5]}"
    lines = runner.look(case, Path(known["run"]), place / "strace", known)
    assert not lines, f"{name}: " + "\n".join(lines[:8])
    return 1


PARTS = (
    Part(
        "programs",
        "programs of /usr/bin give the same status, output and files; each system call is a row (strace)",
        "programs",
        same_as_bare,
    ),
)
