"""A log of strace of a run whose sums pass every limit of 64-bit numbers: 7e19 ns and 3e19 bytes."""

from __future__ import annotations

PROCESSES = 10
#: Of one call; its begin and end are still instants of 64 bits.
SECONDS, BYTES = 7_000_000_000, 3 * 10**18
BEGIN = 1_700_000_000


def log() -> str:
    """Each process writes a file of its own, once, and reads it never."""
    return "".join(map(_process, range(1, PROCESSES + 1)))


def _process(pid: int) -> str:
    file = f"3</scratch/out.{pid}>"
    return (
        f'{pid} {BEGIN}.000000 openat(AT_FDCWD, "/scratch/out.{pid}", O_RDWR|O_CREAT, 0644) = {file} <0.000010>\n'
        f'{pid} {BEGIN}.100000 pwrite64({file}, ""..., {BYTES}, 0) = {BYTES} <{SECONDS}.000000>\n'
        f"{pid} {BEGIN + SECONDS + 1}.000000 close({file}) = 0 <0.000010>\n"
    )
