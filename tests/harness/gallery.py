"""python -m harness.gallery [PAGE…]: runs the commands in the docs' blocks of `console`, and writes below each what it
printed on 80 columns. So are made the gallery, the pages of jobs, README's first screen and its picture."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass, field
from pathlib import Path

from harness import paths, wild

#: Each is recorded in a folder of its own, which looks like the source directory.
PAGES = ("README.md", "docs/gallery.md", "docs/python-jobs.md", "docs/training-jobs.md")
#: What `fathom show` prints of README's run.
PICTURE = "docs/show.svg"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINES, COLUMNS = 50, 80


@dataclass
class Step:
    """A command and what it printed."""

    command: str
    printed: list[str] = field(default_factory=list)


def steps(block: str) -> list[Step]:
    """Those of a block: `$ ` begins a command; it goes on in the next line while a quote is open."""
    out: list[Step] = []
    for line in block.splitlines():
        if out and out[-1].command.count('"') % 2:
            out[-1].command += f"\n{line}"
        elif line.startswith("$ "):
            out.append(Step(line[2:]))
        else:
            out[-1].printed.append(line)
    return out


def blocks(page: str) -> list[list[Step]]:
    """All of a page."""
    text = (paths.ROOT / page).read_text(encoding="utf-8")
    return [steps(block) for block in BLOCK.findall(text)]


def written(of: list[Step]) -> str:
    """A block of them."""
    lines = [line for step in of for line in (f"$ {step.command}", *step.printed)]
    return "\n".join(["```console", *lines, "```"])


def furnish(folder: Path) -> None:
    """What the commands name: the parts of the source directory, and logs of others where they are."""
    for name in ("examples", "kernels"):
        (folder / name).symlink_to(paths.ROOT / name)
    (folder / "build").symlink_to(paths.BUILD)
    if logs := wild.folder():
        (folder / "wild").symlink_to(logs)


def environment(folder: Path) -> dict[str, str]:
    """A user's, with Fathom and its Python first on the path."""
    path = f"{paths.BUILD}:{Path(paths.PYTHON).parent}:{os.environ['PATH']}"
    plain = {
        "HWLOC_COMPONENTS": "-gl",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**os.environ, **plain, "PATH": path, "HOME": str(folder)}


def run(command: str, folder: Path) -> tuple[int, list[str]]:
    """Exit status, and what a terminal of 80 columns shows: stdout, then stderr but for Fathom's own lines."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (LINES, COLUMNS))
    with tempfile.TemporaryFile() as errors:
        began = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=its, stderr=errors,
        )  # fmt: skip
        os.close(its)
        raw = _all(ours)
        status = began.wait(timeout=300)
        errors.seek(0)
        said = errors.read().decode()
    out = raw.decode().replace("\r\n", "\n") + re.sub(r"(?m)^fathom(-engine)?: .*\n", "", said)
    for place in (folder, paths.ROOT):
        out = out.replace(f"{place}/", "")
    return status, [line.rstrip() for line in out.rstrip("\n").split("\n")] if out.strip() else []


def _all(terminal: int) -> bytes:
    """All that is written to it: its end is an error of Linux."""
    out = b""
    try:
        while part := os.read(terminal, 1 << 16):
            out += part
    except OSError:
        pass
    os.close(terminal)
    return out


def of_others(of: list[Step]) -> bool:
    """Whether a block needs logs that are not in the repository."""
    return any(re.search(r"\bwild/", step.command) for step in of)


def ended_by_timeout(step: Step, status: int) -> bool:
    """As a run that hangs shall end."""
    return status == 124 and " timeout " in step.command


def record(page: str, folder: Path) -> None:
    """Runs the page's commands and writes it anew; blocks of logs that are not here stay as they are."""
    furnish(folder)
    path = paths.ROOT / page

    def again(block: re.Match[str]) -> str:
        of = steps(block[1])
        if of_others(of) and not wild.folder():
            return block[0]
        for step in of:
            status, step.printed = run(step.command, folder)
            print(f"{page}: {step.command}", flush=True)
            if status and not ended_by_timeout(step, status):
                raise SystemExit("\n".join([f"{page}: exit status {status}", *step.printed]))
        return written(of)

    path.write_text(BLOCK.sub(again, path.read_text(encoding="utf-8")), encoding="utf-8")
    if page == "README.md":
        run(f"fathom show s3d --svg {paths.ROOT / PICTURE}", folder)


def main() -> None:
    """Records those that are named, or all."""
    for page in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            record(page, Path(folder))


if __name__ == "__main__":
    main()
