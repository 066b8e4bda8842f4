"""What of a run is recorded, changed while its processes run (docs/control-page.md)."""

import contextlib
import os
import subprocess
from pathlib import Path

from fathom import engine, manifest, places

MAGIC = b"FATHOMCP"
#: Bytes of the page, and where it names the run.
PAGE, RUN = 4096, 1024


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


class Node:
    """The processes of one run on this node, by its folder of rings."""

    def __init__(self, rings: Path) -> None:
        """Of a folder that `fathom run` made."""
        self.rings = rings

    def processes(self) -> list[int]:
        """Those that live and have made a call that is seen."""
        pids = (path.name.partition(".")[0] for path in self.rings.glob("*.ring"))
        return [int(pid) for pid in pids if pid.isdigit() and Path(f"/proc/{pid}").is_dir()]

    def programs(self) -> list[Path]:
        """What they run."""
        found = set()
        for pid in self.processes():
            with contextlib.suppress(OSError):
                found.add(Path(f"/proc/{pid}/exe").readlink())
        return sorted(path for path in found if path.is_file())

    def change(self, compiled: str) -> int:
        """Puts the compiled selection in force. Returns its number."""
        return int(engine.ask(["select-into", str(self.rings)], compiled))

    def asks_who_is_critical(self) -> bool:
        """The selection says so: an agent is to find out."""
        texts = (path.read_text(encoding="utf-8") for path in self.rings.glob("selection.*"))
        return any("\ncritical " in text for text in texts)

    def judge(self, run: Path, watch: int) -> None:
        """Where the selection asks who is critical, starts the agent that says so: it ends with the process `watch` and
        those recorded here, and at once where the node has one.
        """
        if not self.asks_who_is_critical():
            return
        words = [str(places.engine()), "agent", str(run), "--ring", str(self.rings)]
        words += ["--sample", "0", "--watch", str(watch)]
        log = manifest.own_node(run) / "agent.log"
        environment = {key: value for key, value in os.environ.items() if key != "FATHOM_COLLECT"}
        with log.open("ab") as errors:
            subprocess.Popen(
                words,
                env=environment,
                cwd="/",
                start_new_session=True,  # a Ctrl-C is for us
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
