"""Collective calls of MPI-IO: who moved whose bytes, how the file was dealt out, where the time went; and what
data sieving moved beyond what was asked for.

Two-phase I/O and data sieving: Thakur, Gropp, Lusk, "Data Sieving and Collective I/O in ROMIO", 1999. File domains:
Liao, Choudhary, "Dynamically Adapting File Domain Partitioning Methods for Collective I/O Based on Underlying Parallel
File System Locking Protocols", 2008. Times are in seconds; errors: `fathom.errors.RunError` of a damaged run.
"""

from fathom.analysis.collectives.operations import (
    aggregators,
    exchange,
    functions,
    joined,
    operations,
)
from fathom.analysis.collectives.sieving import sieved_calls, sieving

__all__ = [
    "aggregators",
    "exchange",
    "functions",
    "joined",
    "operations",
    "sieved_calls",
    "sieving",
]
