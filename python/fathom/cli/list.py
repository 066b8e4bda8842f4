"""fathom list: what Fathom can see, and what can be set.

probes  the functions that are recorded; check and build catalogs of your own
knobs   the settings of I/O libraries, how safe they are, which of them are alive here

examples:
  fathom list probes --layers mpiio
  fathom list knobs --prove cb_nodes
  fathom help list knobs
"""

import argparse

from fathom.errors import UsageError

#: Each is a module of its own, list_WORD.
VERBS = ("probes", "knobs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to list; all else is said by what stands behind it."""
    parser.add_argument("what", metavar="WHAT", choices=VERBS, help=" or ".join(VERBS))


def run(arguments: argparse.Namespace) -> int:
    """Of words before WHAT."""
    raise UsageError(f"list: begin with it: fathom list {arguments.what} …")
