"""A run for answers that make many tables: on a connection of its own, and of a large run with a database of its own,
which gives way to what others ask."""

from typing import Any

import pyarrow as pa

from fathom.run import macros
from fathom.run.database import FEWER
from fathom.run.store import Run
from fathom.webapi.answers.session import MEMORY, Stop, View


class Stoppable(Run):
    """A run that is asked nothing more when nobody waits."""

    def __init__(self, view: View) -> None:
        """The run of this request, connected to again."""
        super().__init__(view.run.path, MEMORY, view.run.with_runtime)
        if view.opened.calls <= FEWER:
            self.connection = macros.cursor(view.run.connection)  # its tables are in memory
        self._stop = Stop()
        self.hold(view)

    def hold(self, view: View) -> None:
        """From here on it is asked for this request."""
        self._stop = view.stop
        self._stop.watch(self.connection)

    def release(self) -> None:
        """The request has its answer: its end stops nothing here any more."""
        self._stop.leave(self.connection)
        self._stop = Stop()

    def sql(self, text: str, **values: Any) -> pa.Table:
        """As Run has it."""
        self._stop.check()
        return super().sql(text, **values)

    def keep(self, name: str, text: str) -> None:
        """As Run has it."""
        self._stop.check()
        super().keep(name, text)
