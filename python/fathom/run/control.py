"""What of a run is recorded, changed while its processes run (docs/control-page.md)."""

import contextlib
import fcntl
import mmap
import os
import select
import subprocess
import sys
from pathlib import Path

from fathom.errors import NotARun, RunError
from fathom.files import is_folder, listed, open_to_append, replace_text
from fathom.run import engine, manifest, paths
from fathom.run.directory import resolve
from fathom.run.filter import asks_who_is_critical
from fathom.run.rings import MAGIC, PAGE, RUN

PATIENCE = 60  # seconds, for an agent that asks other programs
#: Which of its 64-bit numbers says what settings hold for files that are opened later.
TUNED = 48 // 8


def run_of(pid: int) -> Path | None:
    """The run that a process is recorded in, by the page that it has mapped; None: in none, or nobody can tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines():
            path = line.split(maxsplit=5)[5:]
            if not path or not path[0].endswith(b"/control"):
                continue
            page = Path(os.fsdecode(path[0])).read_bytes()
            if page[: len(MAGIC)] == MAGIC and len(page) == PAGE:
                name = page[RUN:].partition(b"\0")[0]
                return Path(os.fsdecode(name)) if name else None
    return None


def named(name: str, command: str) -> Path:
    """The run that a user means by its name, or by a process of it; a run directory that is a number comes first."""
    try:
        return resolve(name)
    except NotARun:
        if not name.isdigit():
            raise
    run = run_of(int(name))
    if run is not None:
        return resolve(str(run))
    if not is_folder(Path(f"/proc/{name}")):
        raise RunError(f"{command}: there is no run and no process {name} here")
    raise RunError(
        f"{command}: process {name} is not recorded, or not yours; `fathom attach {name}` records it"
    )


class Node:
    """The processes of one run on this node, by its folder of rings."""

    def __init__(self, rings: Path) -> None:
        """Of a folder that `fathom run` made."""
        self.rings = rings

    def processes(self) -> list[int]:
        """Those that live and have made a call that is seen."""
        pids = (path.name.partition(".")[0] for path in listed(self.rings, "*.ring"))
        return [int(pid) for pid in pids if pid.isdigit() and Path(f"/proc/{pid}").is_dir()]

    def programs(self) -> list[Path]:
        """What they run."""
        executables = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                executables.add(Path(f"/proc/{pid}/exe").readlink())
        return sorted(path for path in executables if path.is_file())

    def change(self, compiled: str) -> int:
        """Puts the compiled selection in force. Returns its number."""
        return int(engine.ask(["select-into", str(self.rings)], compiled))

    def asks_who_is_critical(self) -> bool:
        """The selection says so: an agent is to find out."""
        return any(map(asks_who_is_critical, listed(self.rings, "selection.*")))

    def judge_words(self, run: Path, watch: int) -> list[str]:
        """The agent that says who is critical, as a command: it ends with `watch` and the processes recorded here."""
        words = [str(paths.engine()), "agent", str(run), "--ring", str(self.rings)]
        return [*words, "--sample", "0", "--watch", str(watch)]

    def tune(self, compiled: str) -> int:
        """Puts compiled settings in force for files that are opened from now on. Returns their number.

        Files of earlier ones stay: a rank may be about to read one.
        """
        with (
            (self.rings / "select.lock").open("ab") as lock,
            (self.rings / "control").open("r+b") as file,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX)
            with mmap.mmap(file.fileno(), PAGE) as page, memoryview(page).cast("Q") as numbers:
                number = numbers[TUNED] + 1
                replace_text(self.rings / f"tuned.{number}", compiled)
                numbers[TUNED] = number
        return number

    def tuned(self) -> tuple[int, str]:
        """The number of what `tune` put in force last, and its text; 0: nothing."""
        with (self.rings / "control").open("rb") as file:
            number = int.from_bytes(file.read(PAGE)[TUNED * 8 :][:8], "little")
        file_of = self.rings / f"tuned.{number}"
        return number, file_of.read_text(encoding="utf-8") if number else ""

    def critical(self) -> set[int]:
        """Processes that an agent says are critical now."""
        numbers = [path.suffix[1:] for path in listed(self.rings, "selection.*")]
        last = max((int(number) for number in numbers if number.isdigit()), default=None)
        with contextlib.suppress(OSError):
            lines = (self.rings / f"selection.{last}").read_text(encoding="utf-8").splitlines()
            words = [line.split() for line in lines]
            return {int(two[1]) for two in words if two[0] == "critical" and two[1].isdigit()}
        return set()

    def start_agent(self, run: Path, watch: int, ceph: Path | None = None) -> None:
        """Where the selection asks who is critical, or Ceph's storage daemons are to be asked, by their sockets in
        `ceph`. It ends with the process `watch` and those recorded here, or with the folder of rings, and at once where
        the node has one. Returns when it asks.
        """
        if not (ceph or self.asks_who_is_critical()):
            return
        words = [*self.judge_words(run, watch), *(["--ceph", str(ceph)] if ceph else [])]
        log = manifest.own_node(run) / "agent.log"
        of_other_runs = ("FATHOM_COLLECT", "FATHOM_RING")  # of another run, that we are in
        environment = {key: value for key, value in os.environ.items() if key not in of_other_runs}
        with os.fdopen(open_to_append(log), "ab") as errors:
            agent = subprocess.Popen(
                words,
                env=environment,
                cwd="/",
                start_new_session=True,  # a Ctrl-C is for us
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if ceph else subprocess.DEVNULL,
                stderr=errors,
            )
        if agent.stdout:
            with agent.stdout as ready:
                if not (select.select([ready], [], [], PATIENCE)[0] and ready.readline()):
                    line = "fathom: no word from the agent: what Ceph's daemons did first may be missing"
                    print(line, file=sys.stderr)
