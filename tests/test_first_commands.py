"""README's and the tutorial's commands, from a clean shell of each kind, in a directory that looks like the sources."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import gallery, needs, paths

#: A shell without anybody's settings, and where it has the last command's exit status.
SHELLS = {
    "bash": (["bash", "--noprofile", "--norc"], "$?"),
    "zsh": (["zsh", "-f"], "$?"),
    "fish": (["fish", "--no-config"], "$status"),
}
#: Page -> its part that a newcomer types, and what it needs besides MPI.
PAGES = {"README.md": ("## Five minutes", "## More"), "docs/tutorial.md": ("## 1.", "## Then")}
FENCE = re.compile(r"^```(?:console)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Many runs, of minutes: not in each shell of each test.
LONG = "fathom tune"


def typed(page: str) -> list[gallery.Step]:
    """Its commands in order; a block without `$ ` has nothing else."""
    text = (paths.ROOT / page).read_text(encoding="utf-8")
    begin, end = PAGES[page]
    out: list[gallery.Step] = []
    for block in FENCE.findall(text[text.index(begin) : text.index(end)]):
        bare = not re.search(r"^\$ ", block, re.MULTILINE)
        out += gallery.steps(
            re.sub("^", "$ ", block.rstrip(), flags=re.MULTILINE) if bare else block
        )
    return out


def script(steps: list[gallery.Step], status: str) -> str:
    """Each command, then a line with its number and exit status."""
    lines = []
    for number, step in enumerate(steps):
        lines += [step.command, f'echo "@@ {number} {status}"']
    return "\n".join(lines)


def source_directory(folder: Path, steps: list[gallery.Step]) -> None:
    """What the commands name is there: build, sources, and files whose text the page shows by `cat`."""
    for name in ("examples", "kernels"):
        (folder / name).symlink_to(paths.ROOT / name)
    (folder / "build").symlink_to(paths.BUILD)
    for step in steps:
        if name := re.fullmatch(r"cat (\S+)", step.command):
            (folder / name[1]).write_text("\n".join([*step.printed, ""]))


def run(page: str, shell: str, folder: Path, long: bool) -> None:
    words, status = SHELLS[shell]
    needs.require([shell, *needs.of_mpi("mpich"), "h5diff"])
    steps = [one for one in typed(page) if long or not one.command.startswith(LONG)]
    assert len(steps) > 3, page
    source_directory(folder, steps)
    clean = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin", "HWLOC_COMPONENTS": "-gl"}
    done = subprocess.run(
        [*words, "-c", script(steps, status)], cwd=folder, env=clean, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=540, check=False,
    )  # fmt: skip
    ends = re.findall(r"@@ (\d+) (\d+)", done.stdout)
    assert ends == [(str(number), "0") for number in range(len(steps))], done.stdout
    printed = re.split(r"@@ .*\n", done.stdout)
    for step, text in zip(steps, printed, strict=False):
        assert bool(step.printed) <= bool(text.strip()), (step.command, done.stdout)


@pytest.mark.some(2)
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("page", PAGES)
def test_commands(page: str, shell: str, tmp_path: Path) -> None:
    run(page, shell, tmp_path, long=False)


@pytest.mark.full
@pytest.mark.parametrize("shell", SHELLS)
def test_all_of_the_tutorial(shell: str, tmp_path: Path) -> None:
    run("docs/tutorial.md", shell, tmp_path, long=True)


def test_more_ranks_than_processors_by_open_mpi(tmp_path: Path) -> None:
    """README says how, for a machine with fewer processors than ranks."""
    needs.require(needs.of_mpi("ompio"))
    text = (paths.ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"`(mpiexec\.openmpi --oversubscribe [^`]+)`", text)
    assert command
    (tmp_path / "build").symlink_to(paths.BUILD)
    (tmp_path / "out").mkdir()
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(command[1], shell=True, cwd=tmp_path, env=env, timeout=300, check=True)
