"""What is installed beside the commands: man pages, completion in real shells, module files in a real Lmod."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fathom import __version__
from fathom.cli.commands import COMMANDS
from harness import needs, offered, paths

PACKAGING = paths.ROOT / "packaging"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("share")
    subprocess.run([sys.executable, PACKAGING / "share.py", paths.FATHOM, place], check=True)
    return place


def test_man_pages(share: Path) -> None:
    """Each command has one, groff finds nothing to warn of, and nothing of Markdown is left."""
    needs.require(["man", "groff"])
    pages = sorted((share / "man" / "man1").iterdir())
    assert {page.name for page in pages} == {"fathom.1", *(f"fathom-{name}.1" for name in COMMANDS)}
    # Each by itself, as `man` shows it: all together are broken into sheets, which no table's cell may be cut by.
    words = ["groff", "-man", "-t", "-k", "-Tutf8", "-ww", "-P-c"]
    said = [
        subprocess.run([*words, page], capture_output=True, text=True, check=True) for page in pages
    ]
    assert {
        page.name: done.stderr for page, done in zip(pages, said, strict=True) if done.stderr
    } == {}
    text = re.sub(".\b", "", "".join(done.stdout for done in said))
    assert text.count("\nNAME\n") == text.count("\nSYNOPSIS\n") == len(pages)
    assert "](" not in text and "**" not in text
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
    words = ["man", "-P", "cat", "-l", str(share / "man" / "man1" / "fathom-landscape.1")]
    text = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
    assert "fathom-landscape - many runs in one table" in text
    assert re.search(r"\n +--baseline RUN\n +adds speed-ups over this run", text)


class Terminal:
    """A shell at a terminal."""

    def __init__(self, words: list[str], setup: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PS1="> ", HISTFILE="/dev/null", LC_ALL="C.UTF-8")
            os.execvp(words[0], words)
        self.said = ""
        self.type(f"{setup}; echo ready$((40 + 2))\n")
        self.until("ready42")

    def type(self, text: str) -> None:
        self.said = ""
        os.write(self.fd, text.encode())

    def until(self, wanted: str) -> None:
        end = time.monotonic() + 60
        while wanted not in self.said:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"not '{wanted}' but {self.said!r}"
            # A shell may say a letter again and go back over it.
            self.said = re.sub(
                ".\b", "", self.said + os.read(self.fd, 4096).decode(errors="replace")
            )

    def end(self) -> None:
        os.close(self.fd)  # hangs up
        os.waitpid(self.pid, 0)


#: What is typed, and the line that it becomes.
TYPED = {
    "fathom qu\t": "fathom query ",
    "fathom help lands\t": "fathom help landscape ",
    "fathom list pro\t": "fathom list probes ",
    "fathom show --by func\t": "fathom show --by function ",
    "fathom show --findings small-acc\t": "fathom show --findings small-accesses ",
    "fathom run --layers pos\t": "fathom run --layers posix ",
    "fathom show a-r\t": "fathom show a-run.fathom",
    "fathom diff job\t": "fathom diff job.darshan ",
    "fathom landscape --base\t": "fathom landscape --baseline ",
    "fathom run --level j\t": "fathom run --level job ",
    "fathom env --tuna\t": "fathom env --tunable ",
    "fathom forward sta\t": "fathom forward status ",
    "fathom run --no-show -- mkfif\t": "fathom run --no-show -- mkfifo ",
    "fathom study --list a-pl\t": "fathom study --list a-plan.toml ",
}


def typed_in(folder: Path) -> None:
    """A run among other directories and files."""
    for name in ("a-run.fathom", "a-result", "jobs"):
        (folder / name).mkdir()
    for name in ("a-plan.toml", "job.darshan", "job.txt"):
        (folder / name).touch()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_at_a_terminal(share: Path, tmp_path: Path, shell: str) -> None:
    needs.require([shell])
    typed_in(tmp_path)
    setup = {
        "bash": f"cd {tmp_path}; . {share}/bash-completion/completions/fathom",
        "zsh": f"cd {tmp_path}; fpath=({share}/zsh/site-functions $fpath); autoload compinit; compinit -D -u",
    }[shell]
    words = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
    terminal = Terminal(words[shell], setup)
    try:
        for typed, line in TYPED.items():
            terminal.type(typed)
            terminal.until(line.rstrip())  # zsh joins a value by =
            terminal.type("\x15")
    finally:
        terminal.end()


def test_completion_in_fish(share: Path, tmp_path: Path) -> None:
    needs.require(["fish"])
    typed_in(tmp_path)
    asked = "; ".join(f"complete -C '{typed.rstrip()}' | head -n 1" for typed in TYPED)
    script = f"source {share}/fish/vendor_completions.d/fathom.fish; {asked}"
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert found == [line.split()[-1] for line in TYPED.values()]


@pytest.mark.parametrize("command", ["run", "env", "landscape"])
def test_all_options(share: Path, command: str) -> None:
    """What completion offers is what `--help` says: no option more, none less."""
    script = (share / "bash-completion" / "completions" / "fathom").read_text()
    found = re.search(rf"^\t{command}\) options='([^']*)'", script, re.M)
    assert found and {
        word for word in found[1].split() if word.startswith("--")
    } == offered.options(command)


@pytest.mark.parametrize("kind", ["", ".lua"])
def test_modulefiles(tmp_path: Path, kind: str) -> None:
    """Loaded, PATH, headers and man pages are there; unloaded, all is as it was."""
    lmod = Path("/usr/share/lmod/lmod/libexec/lmod")
    needs.require([str(lmod)])
    template = (PACKAGING / "modulefiles" / f"fathom{kind or '.tcl'}").read_text()
    folder = tmp_path / "modulefiles" / "fathom"
    folder.mkdir(parents=True)
    (folder / f"{__version__}{kind}").write_text(template.replace("@PREFIX@", "/opt/fathom"))
    names = ("PATH", "CPATH", "XDG_DATA_DIRS", "MANPATH")
    show = "; ".join(f'echo "{name}=${name}"' for name in names)
    script = f"""
        module() {{ eval "$({lmod} bash "$@")"; }}
        {show}; module load fathom && {{ {show}; }}; module unload fathom && {{ {show}; }}"""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MODULEPATH": str(folder.parent)}
    env["XDG_DATA_DIRS"] = "/usr/share"
    done = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=True
    )
    before, loaded, after = (done.stdout.splitlines()[at : at + 4] for at in (0, 4, 8))
    assert before == after, done.stderr
    assert loaded[:3] == [
        "PATH=/opt/fathom/bin:/usr/bin:/bin",
        "CPATH=/opt/fathom/include",
        "XDG_DATA_DIRS=/opt/fathom/share:/usr/share",
    ], done.stderr
    assert re.fullmatch("MANPATH=/opt/fathom/share/man:+", loaded[3])
