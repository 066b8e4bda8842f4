"""Long work gives way: it, and what it starts, has less weight than its caller."""

import os
import threading
from pathlib import Path

import duckdb
import pytest
from fathom.run.background import NICE, in_background


def nice(thread: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, thread)


def threads() -> set[int]:
    return {int(one.name) for one in Path("/proc/self/task").iterdir()}


def test_work_and_the_database_it_opens_give_way() -> None:
    """Its caller does not, nor what its caller opens later."""
    mine, before = nice(threading.get_native_id()), threads()

    def work() -> tuple[int, set[int], duckdb.DuckDBPyConnection]:
        here = threading.get_native_id()
        opened = duckdb.connect(":memory:", config={"threads": 4})
        return nice(here), threads() - before - {here}, opened

    weight, started, opened = in_background(work)
    least = max(NICE, mine)
    assert weight == least
    assert started and {nice(one) for one in started} == {least}
    opened.close()
    assert nice(threading.get_native_id()) == mine


def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        in_background(lambda: 1 // 0)
