"""One task on each node of an attached job of Slurm: becomes the agent that says who is critical.

The step lasts as long as processes of the job are recorded: the agent would not outlast that which attached them.
"""

import os
import sys
from pathlib import Path

from fathom.attach import attached
from fathom.run import control
from fathom.run.rings import own_rings


def main(run: Path) -> None:
    """Does nothing on a node that has no process of the run."""
    rings, pids = own_rings(run), attached.processes(run)
    if rings is None or not pids or not attached.is_here(run):
        return
    words = control.Node(rings).judge_words(run, pids[0])
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # not the one that the step was given
    for theirs in ("FATHOM_COLLECT", "FATHOM_RING"):  # of another run, that we are in
        os.environ.pop(theirs, None)
    os.execv(words[0], words)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
