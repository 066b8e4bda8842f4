"""Words before a command that take something from it."""

from __future__ import annotations

import os

#: Root reads and writes anything, unless these are taken from it.
USER = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
#: A full disk that needs no mount: no file longer than 1 KiB.
FULL = ("bash", "-c", 'ulimit -f 1; exec "$@"', "-")
