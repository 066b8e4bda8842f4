"""A run with a database of its own, for answers that make many tables."""

from typing import Any

import pyarrow as pa

from fathom.run.store import Run
from fathom.webapi.answers.session import MEMORY, Stop, View


class Stoppable(Run):
    """A run that is asked nothing more when nobody waits."""

    def __init__(self, view: View) -> None:
        """The run of this request, opened again."""
        super().__init__(view.run.path, MEMORY, view.run.with_runtime)
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
