"""How much of what is selected was recorded in full, and what to say where it was not."""

from dataclasses import dataclass, replace

from fathom.analysis import conditions
from fathom.analysis.selection import Selection
from fathom.run.limitations import reads_and_writes
from fathom.webapi.answers.session import View


def no_files(view: View) -> str:
    """Where no call is known by its file."""
    again = reads_and_writes(view.run.manifest, "run with --level file or call")
    return f"not captured: no call is known by its file; {again}"


@dataclass(frozen=True)
class Captured:
    """Of the selected I/O calls, whatever their time: how many were made, how many are in `calls`."""

    calls: int
    events: int
    again: str = "run with --level call"  # what to do about those that are not

    @property
    def complete(self) -> bool:
        """Are all of them in `calls`?"""
        return self.events == self.calls

    @property
    def note(self) -> str | None:
        """One line where some are missing; none where all are there."""
        if self.complete:
            return None
        if not self.events:
            return f"not captured: these calls were counted, not recorded one by one; {self.again}"
        return f"{self.events:,} of {self.calls:,} selected calls were recorded one by one; the others are missing here"


def captured(view: View, selection: Selection) -> Captured:
    """Of what is selected, but for its time: counters have none."""
    text = f"from captured_calls({conditions.calls(replace(selection, t=None))})"
    (row,) = view.once(("captured", text), lambda: view.rows(text))
    again = reads_and_writes(view.run.manifest, Captured.again)
    return Captured(row["calls"], row["events"], again)


def missing(view: View, selection: Selection) -> str | None:
    """What to say where calls of a selection are missing; of a run that has them all nothing is looked up."""
    return None if captured(view, Selection()).complete else captured(view, selection).note
