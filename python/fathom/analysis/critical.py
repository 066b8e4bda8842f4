"""The critical I/O path: whom the agent found to hold the others up, phase by phase, and what its time was (IOPin)."""

import pyarrow as pa

from fathom.analysis import Source


def phases(source: Source) -> pa.Table:
    """Who was critical when, and why."""
    return source.sql("from critical_phases()")


def path(source: Source) -> pa.Table:
    """What it did: its calls, those inside them, and what servers did for these."""
    looked = source.sql("select count(*) as n from samples where what = 'critical'")
    return source.sql("from critical_path($known)", known=bool(looked["n"][0].as_py()))
