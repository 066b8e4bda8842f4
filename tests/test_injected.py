"""Each system call that Fathom makes in a program fails once, in each of its usual ways: the program's output,
files and status are those without Fathom. The same of `fathom run` itself, which may also refuse with one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import injected, needs, paths, tables

TINY = paths.PROGRAMS / "programs" / "tiny"
HARD = TINY.with_name("tiny_hard")

Trial = Callable[[Path, injected.Fault, Path], injected.Outcome]


def bare(program: Path, tmp: Path) -> injected.Outcome:
    directory = tmp / "bare"
    directory.mkdir()
    outcome = injected.outcome([str(program), str(directory)], directory)
    assert outcome.status == 3 and len(outcome.files) == 2, outcome
    return outcome


def command(program: Path, tmp: Path) -> list[str]:
    (tmp / "looked").mkdir()
    return [str(program), str(tmp / "looked")]


def each(
    trial: Trial, program: Path, tmp: Path, faults: list[injected.Fault]
) -> list[tuple[injected.Fault, injected.Outcome]]:
    def one(numbered: tuple[int, injected.Fault]) -> tuple[injected.Fault, injected.Outcome]:
        number, fault = numbered
        return fault, trial(program, fault, tmp / str(number))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, enumerate(faults)))


def assert_harmless(bad: list[str], ours: dict[str, set[int]], count: int) -> None:
    assert not bad, f"{len(bad)} of {count}:\n" + "\n".join(bad)
    print(f"{count} faults in {sum(map(len, ours.values()))} calls, none harms")


def test_every_call_of_ours_may_fail_in_the_program(tmp_path: Path) -> None:
    """Its slots are closed, so that they must be opened."""
    needs.require(["strace"])
    expected = bare(HARD, tmp_path)
    ours = injected.made_by_fathom(command(HARD, tmp_path), tmp_path)
    faults = injected.faults(ours)
    assert len(faults) > 300 and {"mmap", "mprotect", "rt_sigprocmask"} <= set(ours), ours
    outcomes = each(injected.with_fault, HARD, tmp_path, faults)
    bad = [f"{fault}: {outcome}" for fault, outcome in outcomes if outcome != expected]
    assert_harmless(bad, ours, len(faults))


def test_every_call_of_the_command_may_fail(tmp_path: Path) -> None:
    needs.require(["strace"])
    expected = bare(TINY, tmp_path)
    ours = injected.made_by_the_command(command(TINY, tmp_path), tmp_path)
    faults = injected.faults(ours)
    assert len(faults) > 300 and {"wait4", "rt_sigtimedwait", "clone"} <= set(ours), ours

    outcomes = each(injected.with_fault_in_command, TINY, tmp_path, faults)
    bad = [f"{f}: {o}" for f, o in outcomes if o != expected and not o.refused]
    assert_harmless(bad, ours, len(faults))


def test_a_module_whose_slots_stay_closed_is_named(tmp_path: Path) -> None:
    """As a kernel answers that has sealed them: the program's are the only ones that must be opened."""
    needs.require(["strace"])
    expected = bare(HARD, tmp_path)
    ours = injected.made_by_fathom(command(HARD, tmp_path), tmp_path)
    (tmp_path / "files").mkdir()
    strace = injected.injecting(injected.Fault("mprotect", min(ours["mprotect"]), "EPERM"), "-f")
    run = tmp_path / "run.fathom"
    done = injected.outcome(
        injected.fathom_run(run, [*strace, str(HARD), str(tmp_path / "files")]), tmp_path / "files"
    )
    assert done == expected
    notes = tables.ask(tables.connect(run), "select detail from marks where kind = 'note'")
    closed = [note for (note,) in notes if "cannot be made writable (errno 1)" in note]
    assert len(closed) == 1 and "calls of the program and of " in closed[0], notes
