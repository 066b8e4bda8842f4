"""Where the built things are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
BUILD = Path(os.environ.get("FATHOM_BUILD", ROOT / "build"))
PROGRAMS = BUILD / "tests"
FATHOM = BUILD / "fathom"
LIBRARY = BUILD / "libfathom.so"
ORACLE = BUILD / "generated" / "oracle.json"
PYTHON = sys.executable
