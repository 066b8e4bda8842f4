"""Programs in the kernel, and what it said of calls."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import time
from collections.abc import Callable
from pathlib import Path

from fathom.run.store import Run


def in_account(recorded: Run, op: str) -> dict[str | None, float]:
    """What the kernel did in the account's ns of a function, before it is asked who waited for a processor."""
    sql = "select kernel, sum(time) as ns from account_storage() where op = $op group by kernel"
    return {row["kernel"]: row["ns"] for row in recorded.sql(sql, op=op).to_pylist()}


def loaded_by(process: int) -> set[int]:
    """Numbers of the programs in the kernel that a process holds: others load theirs meanwhile."""
    texts = [path.read_text() for path in Path(f"/proc/{process}/fdinfo").iterdir()]
    return {int(number) for text in texts for number in re.findall(r"^prog_id:\t(\d+)", text, re.M)}


def loaded() -> set[int]:
    """Numbers of the programs in the kernel."""
    libc, numbers = ctypes.CDLL(None, use_errno=True), set()
    call, next_program = (321 if os.uname().machine == "x86_64" else 280), 11
    attributes = ctypes.create_string_buffer(64)
    while libc.syscall(call, next_program, attributes, 64) == 0:
        number = struct.unpack_from("II", attributes.raw)[1]
        numbers.add(number)
        struct.pack_into("I", attributes, 0, number)
    return numbers


def eventually(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def recorder_of(command: int) -> int | None:
    """The process that loaded the programs for a command."""
    words = f"kernel\0--parent\0{command}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().endswith(words):
                return int(path.parent.name)
        except OSError:
            continue
    return None
