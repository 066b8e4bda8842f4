"""Lets the tests here import their neighbours, as bench/run.py does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
