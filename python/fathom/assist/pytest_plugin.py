"""The plugin of pytest: `@pytest.mark.io(opens="<= 10", bytes_moved="<= 1.1 * needed")` records a test's I/O, and fails
the test where that breaks a limit.

Each pytest that finds Fathom loads it: what records is imported by a test with the mark alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fathom.api import Recording
    from fathom.assist.limits import Limit

MARK = "io"
#: Keywords of the mark that name a part; the others are quantities.
PART = ("files", "region")


def pytest_configure(config: pytest.Config) -> None:
    """The mark is known."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(files=…, region=…, opens=…, …): Fathom records the test, whose I/O keeps these limits",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The test in a recording; its run is kept as long as the session's temporary files."""
    marks = list(item.iter_markers(MARK))
    if not marks:
        return (yield)
    limits, recording = _begin(item, marks)
    try:
        result = yield
    finally:
        recording.__exit__(None, None, None)
    if words := _broken(recording, limits):
        pytest.fail(words, pytrace=False)
    return result


def _begin(item: pytest.Item, marks: list[pytest.Mark]) -> tuple[list[Limit], Recording]:
    import fathom
    from fathom.errors import FathomError

    try:
        limits = [one for mark in marks for one in _limits(mark)]
        folder = item.config._tmp_path_factory.mktemp("io")  # type: ignore[attr-defined]
        recording = fathom.record(folder / "test")
        recording.__enter__()
    except FathomError as error:
        words = str(error)
    else:
        return limits, recording
    pytest.fail(words, pytrace=False)


def _limits(mark: pytest.Mark) -> Iterator[Limit]:
    from fathom.analysis.limits import Part
    from fathom.assist import limits
    from fathom.errors import UsageError

    where = f"@pytest.mark.{MARK}"
    if mark.args:
        raise UsageError(f"{where}: limits are given by name, as opens='<= 10'")
    part = Part(**{name: mark.kwargs[name] for name in PART if name in mark.kwargs})
    for name, text in mark.kwargs.items():
        if name not in PART:
            yield limits.limit(where, part, name, text)


def _broken(recording: Recording, limits: list[Limit]) -> str:
    """Each limit that is broken, the lines that did it, and where the run is; nothing where all are kept."""
    from fathom.analysis.limits import Amounts
    from fathom.assist import check

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Arrow output on a DB-API result")  # run/database.py
        verdicts = check.verdicts(Amounts(recording.run), limits)
    broken = [one for one in verdicts if not one.holds]
    lines = [f"{check.sentence(one)}\n    {check.blame(one)}" for one in broken]
    return "\n".join([*lines, f"the run: {recording.directory}"]) if broken else ""
