"""What `make demo` compiles: the part of the engine that packs runs, with the crates that this takes and no more."""

from __future__ import annotations

import re
import subprocess

from harness import needs, paths

#: Without forwarding, agents, attaching and other tools' logs; with them there are 31 more.
MOST = 105


def crates(*words: str) -> set[str]:
    """Of fathom-engine, for this machine."""
    tree = ["cargo", "tree", "--offline", "--locked", "-p", "fathom-engine", *words]
    done = subprocess.run(
        [*tree, "--edges", "normal,build", "--prefix", "none", "--format", "{p}"],
        cwd=paths.ROOT / "engine", capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {" ".join(line.split()[:2]) for line in done.stdout.splitlines() if line}


def test_the_demo_compiles_a_part() -> None:
    needs.require(["cargo"])
    words = re.search(
        r"^PART := .*,-p fathom-engine (.*)\)$", (paths.ROOT / "Makefile").read_text(), re.M
    )
    assert words
    part, whole = crates(*words[1].split()), crates()
    assert part < whole and len(part) <= MOST, sorted(part)
    left_out = {
        name.split()[0].removeprefix("fathom-") for name in whole - part if "fathom" in name
    }
    assert left_out >= {"agent", "attach", "forward", "prologue", "strace", "traces", "watch"}
