"""Runs one case of cases.toml: builds its programs, runs it without and with the edges, compares.

usage: run.py CASE LIBRARY   (CASE "list" prints the names)

A case runs once alone and once with LIBRARY preloaded. Standard output, standard error and exit
status must be the same, but for lines that `differs` (a regular expression) names; the record that
probe.c wrote must hold the lines of `expect`, and for each name in `calls` that many calls.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def shell(command: str, tmp: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=tmp, env=env, text=True, capture_output=True, timeout=300
    )


def build(case: dict, tmp: Path) -> None:
    env = os.environ | {"S": str(HERE / "programs"), "CC": os.environ.get("CC", "gcc")}
    for command in case.get("build", []):
        done = shell(command, tmp, env)
        if done.returncode:
            sys.exit(f"{case['name']}: {command}: {done.stderr}")


def environment(case: dict, library: str | None, record: Path) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "EDGES_"))}
    env["PATH"] = "/usr/bin:/bin"
    env |= case.get("env", {})
    tools = case.get("preload", ["LIBRARY"])
    if library:
        env["EDGES_OUT"] = str(record)
        tools = [library if t == "LIBRARY" else t for t in tools]
    else:
        tools = [t for t in tools if t != "LIBRARY"]
    if tools:
        env["LD_PRELOAD"] = ":".join(tools)
    return env


def outcome(done: subprocess.CompletedProcess[str], case: dict) -> tuple[int, list[str], list[str]]:
    differs = re.compile(case.get("differs", r"(?!)"))

    def keep(text: str) -> list[str]:
        return [line for line in text.splitlines() if not differs.search(line)]

    return done.returncode, keep(done.stdout), keep(done.stderr)


def counted(record: list[str], name: str) -> int:
    """All calls of `name`, over processes and copies."""
    rows = [line.split() for line in record if line.startswith(f"call {name} ")]
    return sum(int(row[4]) for row in rows)


def check(case: dict, tmp: Path, library: str) -> list[str]:
    record_path = tmp / "record"
    alone = shell(case["run"], tmp, environment(case, None, record_path))
    seen = shell(case["run"], tmp, environment(case, library, record_path))
    record = record_path.read_text().splitlines() if record_path.exists() else []
    wrong = []
    if outcome(alone, case) != outcome(seen, case):
        wrong.append(f"alone:  {outcome(alone, case)}\nwith:   {outcome(seen, case)}")
    if alone.returncode != case.get("status", 0):
        wrong.append(f"status {alone.returncode}: {alone.stderr}")
    wrong += [f"no line: {line}" for line in case.get("expect", []) if line not in record]
    wrong += [
        f"unexpected: {line}" for line in record if line.startswith("note") and "expect" not in case
    ]
    for name, number in case.get("calls", {}).items():
        if counted(record, name) != number:
            wrong.append(f"{name}: {counted(record, name)} calls, expected {number}")
    return wrong + ["record:", *record] if wrong else []


def main() -> int:
    cases = tomllib.loads((HERE / "cases.toml").read_text())["case"]
    if sys.argv[1:] == ["list"]:
        print(";".join(case["name"] for case in cases), end="")
        return 0
    name, library = sys.argv[1:]
    (case,) = [case for case in cases if case["name"] == name]
    tmp = Path(tempfile.mkdtemp(prefix="edges."))
    try:
        build(case, tmp)
        wrong = check(case, tmp, library)
    finally:
        shutil.rmtree(tmp)
    print("\n".join(wrong) or "ok")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
