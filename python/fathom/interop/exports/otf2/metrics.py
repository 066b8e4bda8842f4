"""Bytes per second as metrics: a location of their own in each process, an instance for each layer and direction."""

import ctypes
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import _otf2

from fathom.interop.exports.otf2 import library
from fathom.interop.exports.otf2.library import POINTER, U8, U32, U64, Archive, check
from fathom.interop.exports.rates import rates
from fathom.interop.exports.selected import Selected

#: Numbers of locations of metrics: of a process, so much more. Above those of all threads.
METRICS = 1 << 63


@dataclass(frozen=True)
class Rate:
    """What a metric's instance is of: a process, and which metric class."""

    process: int
    kind: int


class Metrics:
    """Writes their events, and keeps what has to be defined."""

    def __init__(self, selected: Selected, archive: Archive) -> None:
        self.selected, self.archive = selected, archive
        #: The latest event: a rate's bin may reach beyond the last call.
        self.last = 0
        kinds = selected.run.sql("select distinct layer, operation from heat order by all")
        #: Number of the metric class of each layer and direction; instances are numbered behind them.
        self.kinds = {
            (row["layer"], row["operation"]): number for number, row in enumerate(kinds.to_pylist())
        }
        self.instances: dict[Rate, int] = {}

    def write(self) -> None:
        """All events, process by process."""
        put = library.function("EvtWriter_Metric", POINTER, POINTER, U64, U32, U8, POINTER, POINTER)
        form, value = U8(_otf2.TYPE_DOUBLE.value), ctypes.c_double()
        names = ("process", "time", "layer", "operation", "rate")
        rows = (
            row
            for batch in rates(self.selected)
            for row in zip(*(batch[name].to_pylist() for name in names), strict=True)
        )
        for process, own in groupby(rows, key=itemgetter(0)):
            writer = self.archive.open(METRICS + process)
            for _, time, layer, operation, rate in own:
                value.value, self.last = rate, max(time, self.last)
                instance = self._instance(Rate(process, self.kinds[layer, operation]))
                check(put(writer, None, time, instance, 1, ctypes.byref(form), ctypes.byref(value)))
            self.archive.close(writer)

    def _instance(self, of: Rate) -> int:
        return self.instances.setdefault(of, len(self.kinds) + len(self.instances))
